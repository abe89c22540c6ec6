"""Similarity in meaning: cosines by a stand-in embedder, BERTScore by a stand-in package."""

from __future__ import annotations

import importlib.util
import math
import string
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import rote
from rote.annotate import embeddings
from rote.core.errors import InputError, MissingExtra, OptionError, UnknownName
from rote.core.result import Result
from rote.measure.reference_scores import neural

VECTORS = {
    "east": (1.0, 0.0),
    "north": (0.0, 1.0),
    "north-east": (math.sqrt(0.5), math.sqrt(0.5)),
    "west": (-1.0, 0.0),
    "nowhere": (0.0, 0.0),
}


class Compass:
    """Vectors that can be worked out by hand; remembers what it was asked for."""

    name = signature = "compass"
    dimensions = 2
    english = True

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def check(self) -> None:
        return None

    def cut(self, texts: Sequence[str]) -> Any:
        return np.array([text == "north-east" for text in texts], np.bool_)

    def __call__(self, texts: Sequence[str], reporter: Any = None) -> Any:
        self.asked.append(list(texts))
        return np.array([VECTORS[text] for text in texts], np.float32)


@pytest.fixture(autouse=True)
def compass(monkeypatch: pytest.MonkeyPatch) -> Compass:
    found, real = Compass(), embeddings.get
    monkeypatch.setattr(
        embeddings, "get", lambda name, **more: found if name == "compass" else real(name, **more)
    )
    return found


def documents(pairs: Sequence[tuple[str, Any]], **more: Any) -> list[rote.Document]:
    return [
        rote.Document(str(number), text, {"reference": reference, **more})
        for number, (text, reference) in enumerate(pairs)
    ]


def similarity(texts: Any, *, scores: str = "cosine", **options: Any) -> Result:
    return rote.score(texts, scores=scores, **options)


def columns(texts: Sequence[rote.Document], **options: Any) -> dict[str, list[float]]:
    found = similarity(list(texts), per_text=True, **options)
    names = found.by_source["texts"].values
    return {name: [row[name] for row in found.tables["texts"]] for name in names}


def test_the_cosine_is_that_of_the_two_vectors() -> None:
    pairs = [("east", "east"), ("east", "north"), ("east", "west"), ("north", "north-east")]
    found = columns(documents(pairs), embedder="compass")
    assert found == {"cosine": pytest.approx([1, 0, -1, math.sqrt(0.5)])}


def test_values_are_means_over_texts_with_the_jackknife_of_a_mean() -> None:
    texts = documents([("east", "east"), ("east", "north"), ("east", "west"), ("east", "east")])
    found = similarity(texts, embedder="compass")
    source = found.by_source["texts"]
    assert source.values["cosine"] == pytest.approx(0.25)
    reach = 3.182446305 * np.std([1, 0, -1, 1], ddof=1) / 2
    assert source.intervals["cosine"] == pytest.approx((0.25 - reach, 0.25 + reach), abs=1e-6)
    assert found.interval is not None
    assert found.interval.method == "jackknife over texts; Student's t"


def test_of_several_references_the_nearest_counts() -> None:
    texts = documents([("east", ["west", "north-east", "north"]), ("east", ["north"])])
    assert columns(texts, embedder="compass")["cosine"] == pytest.approx([math.sqrt(0.5), 0])


def test_what_cannot_be_compared_is_left_out_and_said() -> None:
    texts = documents(
        [("east", ""), ("east", ["", " "]), ("nowhere", "east"), ("east", "north-east")]
    )
    found = similarity(texts, embedder="compass", per_text=True)
    source = found.by_source["texts"]
    assert source.values["cosine"] == pytest.approx(math.sqrt(0.5))
    assert [math.isnan(row["cosine"]) for row in found.tables["texts"]] == [True] * 3 + [False]
    assert "left out: 2 of 4 texts, whose 'reference' is empty" in source.notes
    assert "cosine: left out 1 of 4 texts without a vector" in source.notes
    assert any("1 of 4 fields 'reference' are longer" in note for note in source.notes)


def test_nothing_to_compare_at_all_is_nan_with_a_note() -> None:
    source = similarity(documents([("east", "")]), embedder="compass").by_source["texts"]
    assert math.isnan(source.values["cosine"])
    assert source.notes


def test_any_field_may_be_compared_with_and_a_missing_one_is_named() -> None:
    texts = documents([("east", "north")], input="east")
    assert columns(texts, embedder="compass", reference_field="input")["cosine"] == pytest.approx(
        [1]
    )
    with pytest.raises(InputError, match="field 'document'"):
        similarity(texts, embedder="compass", reference_field="document")


def test_options_that_make_no_sense_are_refused() -> None:
    texts = documents([("east", "north")])
    with pytest.raises(OptionError, match="bertscore needs a model: name one with bertscore"):
        similarity(texts, scores="bertscore")
    with pytest.raises(OptionError, match="must name fields"):
        similarity(texts, embedder="compass", reference_field="")
    with pytest.raises(OptionError, match="not be negative"):
        similarity(texts, bertscore="model", bertscore_layer=-1)
    with pytest.raises(UnknownName, match="embedder"):
        similarity(texts, embedder="minilms")


# BERTScore, by a package that is not there


class Scorer:
    """Stands in for bert_score.BERTScorer: precision is the share of the text's letters that the
    reference holds, recall the reverse; of several references the best of each, as there."""

    calls: list[int] = []  # noqa: RUF012

    def __init__(self, model_type: str, num_layers: int | None) -> None:
        if model_type == "broken":
            raise OSError("no file named config.json\nand more")
        self.layer = num_layers
        self._model = SimpleNamespace(config=SimpleNamespace(max_position_embeddings=130))
        self._tokenizer = SimpleNamespace(model_max_length=int(1e30))

    def score(self, texts: list[str], references: list[list[str]]) -> tuple[Any, ...]:
        self.calls.append(len(texts))
        rows = []
        for text, own in zip(texts, references):
            pairs = [(_held(text, other), _held(other, text)) for other in own]
            scores = [(p, r, 2 * p * r / (p + r) if p + r else 0.0) for p, r in pairs]
            rows.append([max(column) for column in zip(*scores)])
        return tuple(np.array(column, np.float32) for column in zip(*rows))


def _held(one: str, other: str) -> float:
    return sum(letter in other for letter in one) / len(one)


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Scorer]]:
    module: Any = ModuleType("bert_score")
    module.BERTScorer = Scorer
    utils: Any = ModuleType("bert_score.utils")
    utils.model2layers = {"known": 9, "broken": 9}
    monkeypatch.setitem(sys.modules, "bert_score", module)
    monkeypatch.setitem(sys.modules, "bert_score.utils", utils)
    monkeypatch.setattr(neural, "version", lambda name: "0")
    monkeypatch.setattr(Scorer, "calls", [])
    neural._load_bertscore.cache_clear()
    yield Scorer
    neural._load_bertscore.cache_clear()


@pytest.mark.usefixtures("package")
def test_bertscore_gives_precision_recall_and_f_beside_the_cosine() -> None:
    found = columns(documents([("east", "north")]), embedder="compass", bertscore="known")
    assert list(found) == ["cosine", "bertscore_precision", "bertscore_recall", "bertscore_f"]
    # t alone is in both: 1 of 4 letters, and 1 of 5.
    assert found["bertscore_precision"] == pytest.approx([1 / 4])
    assert found["bertscore_recall"] == pytest.approx([1 / 5])
    assert found["bertscore_f"] == pytest.approx([2 / 9])


@pytest.mark.usefixtures("package")
def test_bertscore_alone_and_of_the_best_reference_and_without_empty_fields() -> None:
    texts = documents([("ab", ["cd", "abcd"]), ("ab", ""), ("ab", "ab")])
    found = columns(texts, scores="bertscore", bertscore="known")
    assert "cosine" not in found
    assert found["bertscore_precision"] == pytest.approx([1, math.nan, 1], nan_ok=True)
    assert found["bertscore_recall"] == pytest.approx([0.5, math.nan, 1], nan_ok=True)


def test_bertscore_in_parts_gives_every_text_its_own_score(
    package: type[Scorer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neural, "PAIRS_AT_A_TIME", 2)
    texts = documents([("abcd", "a"), ("a", "a"), ("ab", "a"), ("abc", "a"), ("abcde", "a")])
    found = columns(texts, scores="bertscore", bertscore="known")
    assert found["bertscore_precision"] == pytest.approx([1 / 4, 1, 1 / 2, 1 / 3, 1 / 5])
    assert package.calls == [2, 2, 1]


@pytest.mark.usefixtures("package")
def test_a_model_that_bertscore_does_not_know_needs_its_layer() -> None:
    texts = documents([("east", "north")])
    with pytest.raises(OptionError, match="bertscore_layer"):
        similarity(texts, scores="bertscore", bertscore="some/folder")
    found = similarity(texts, scores="bertscore", bertscore="some/folder", bertscore_layer=5)
    expected = "bertscore:some/folder/bert-score-0/transformers-0|bertscore_layer:5"
    assert expected in str(found.signature)
    with pytest.raises(OptionError, match=r"cannot load 'broken'.*config.json\)"):
        similarity(texts, scores="bertscore", bertscore="broken")


@pytest.mark.usefixtures("package")
def test_a_tokenizer_without_a_limit_gets_that_of_its_model() -> None:
    assert neural._load_bertscore("known", None)._tokenizer.model_max_length == 128


def test_bertscore_without_its_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bert_score", None)
    neural._load_bertscore.cache_clear()
    with pytest.raises(MissingExtra, match=r"\.\[bertscore\]"):
        similarity(documents([("east", "north")]), scores="bertscore", bertscore="known")


@pytest.mark.skipif(
    not (importlib.util.find_spec("bert_score") and importlib.util.find_spec("torch")),
    reason="bert_score or torch is not installed",
)
@pytest.mark.filterwarnings("ignore")
def test_bertscore_by_the_package_itself_with_a_model_in_a_folder(tmp_path: Path) -> None:
    import bert_score
    import torch
    from transformers import BertConfig, BertModel, BertTokenizer

    letters = string.ascii_lowercase
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = [*special, *letters, *(f"##{letter}" for letter in letters)]
    (tmp_path / "vocab.txt").write_text("\n".join(vocabulary))
    torch.manual_seed(0)
    size = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 32}
    config = BertConfig(vocab_size=len(vocabulary), num_hidden_layers=3, **size)
    BertModel(config).save_pretrained(tmp_path)
    tokenizer = BertTokenizer(str(tmp_path / "vocab.txt"), model_max_length=510)
    tokenizer.save_pretrained(tmp_path)
    pairs = [("a ferry left", "the boat sailed"), ("it rained", ["rain came down", "it rained"])]
    neural._load_bertscore.cache_clear()
    found = columns(
        documents(pairs), scores="bertscore", bertscore=str(tmp_path), bertscore_layer=2
    )
    texts = [text for text, _ in pairs]
    references = [own if isinstance(own, list) else [own] for _, own in pairs]
    expected = bert_score.score(texts, references, model_type=str(tmp_path), num_layers=2)
    for name, column in zip(found, expected):
        assert found[name] == pytest.approx(column.tolist(), abs=1e-5)


# COMET, by a package that is not there


@pytest.fixture
def comet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A model whose score is the share of the source's letters in the text, and of the text's in
    the reference."""

    class Model:
        def predict(self, triples: list[dict[str, str]], **how: Any) -> Any:
            assert how["gpus"] == 0
            found = [_held(t["src"], t["mt"]) + _held(t["mt"], t["ref"]) for t in triples]
            return SimpleNamespace(scores=found)

    def loaded(path: str) -> Model:
        if path == "hub/broken":
            raise KeyError("no such model\nand more")
        return Model()

    module: Any = ModuleType("comet")
    module.load_from_checkpoint, module.download_model = loaded, lambda name: f"hub/{name}"
    monkeypatch.setitem(sys.modules, "comet", module)
    monkeypatch.setattr(neural, "version", lambda name: "0")
    neural._load_comet.cache_clear()
    yield
    neural._load_comet.cache_clear()


@pytest.mark.usefixtures("comet")
def test_comet_reads_what_was_translated_and_takes_the_best_reference() -> None:
    texts = documents([("abc", ["abd", "abcd"]), ("xy", "xz"), ("q", "")], document="ab")
    found = similarity(texts, scores="comet", comet="wmt", per_text=True)
    scores = [row["comet"] for row in found.tables["texts"]]
    assert scores[:2] == pytest.approx([_held("ab", "abc") + 1, _held("ab", "xy") + 0.5])
    assert np.isnan(scores[2])
    assert "comet:wmt/unbabel-comet-0" in str(found.signature)
    with pytest.raises(InputError, match="field 'input'"):
        similarity(texts, scores="comet", comet="wmt", document_field="input")
    with pytest.raises(OptionError, match="COMET cannot load 'broken'"):
        similarity(texts, scores="comet", comet="broken")


def test_comet_without_its_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "comet", None)
    neural._load_comet.cache_clear()
    with pytest.raises(MissingExtra, match=r"\.\[comet\]"):
        similarity(documents([("east", "north")]), scores="comet", comet="wmt")
