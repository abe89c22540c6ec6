"""No model reads a language that it does not know, in any measure; and others can be named."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rote.annotate import annotators, store
from rote.core import plugins
from rote.core.document import Document
from rote.core.metric import Metric
from rote.core.progress import Silent
from rote.core.result import Result
from rote.corpus import open_corpus
from rote.measure import Settings, panel
from rote.measure.driver import languages
from rote.measure.driver.compute import compute
from rote.measure.driver.languages import UnknownLanguage, needs_language
from tests.german import TEXTS as GERMAN
from tests.german import save_pipeline

from .test_contract import VARIED, StandIn, corpus_options, fields_beside, metric_of

INPUTS = "input documents"
QUICK: dict[str, Any] = {"by": ("source",), "permutations": 9, "matched": False, "interval": 0}
TAKING = sorted(name for name in plugins.members("measure") if metric_of(name).inputs)
# What asks a model only with an option that is not the default.
OPTIONS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in TAKING),
    ("compression", {"layer": "pos"}),
    ("self-repetition", {"layer": "lemma"}),
    ("lexical", {"layer": "lemma"}),
    ("homogenization", {"layer": "pos"}),
    ("novelty", {"tags": ""}),
]


@pytest.fixture(autouse=True)
def no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rote.annotate.embeddings.get", lambda name, **_: StandIn())


@pytest.fixture(scope="module")
def german(tmp_path_factory: pytest.TempPathFactory) -> str:
    pytest.importorskip("spacy")
    return save_pipeline(tmp_path_factory.mktemp("german") / "tiny")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("corpus") / "corpus.txt"
    path.write_text(VARIED[0])
    return str(path)


def records(inputs: Sequence[str], field: str = "document", **more: str) -> list[Document]:
    return [
        Document(
            f"{source}{n}",
            text if source == "a" else f"{text} And so on.",
            {"source": source, "doc_id": str(n), field: inputs[n], **more},
        )
        for source in ("a", "b")
        for n, text in enumerate(VARIED)
    ]


def chosen(name: str, corpus: str, own: dict[str, Any]) -> Any:
    options = metric_of(name).options
    for asked in corpus_options(name):
        own = {**own, asked: corpus}
    return options(**own)


def run(
    name: str, corpus: str, own: dict[str, Any], given: list[Document], **settings: Any
) -> Result:
    beside = fields_beside(name, **own)
    given = [Document(d.id, d.text, {**beside, **d.meta}) for d in given]
    made = Settings(**{**QUICK, **settings})
    return compute({name: chosen(name, corpus, own)}, given, settings=made)[0]


@pytest.mark.parametrize(("name", "own"), OPTIONS)
def test_inputs_of_another_language_have_no_values_of_english_models(
    name: str, own: dict[str, Any], corpus: str
) -> None:
    metric: Metric = metric_of(name)
    result = run(name, corpus, own, records(GERMAN))
    english = run(name, corpus, own, records(VARIED))
    assert INPUTS in english.by_source
    assert not any("leaves out" in note for note in english.notes)
    if not needs_language(metric, chosen(name, corpus, own)):
        assert INPUTS in result.by_source
        return
    assert set(result.by_source) == {"a", "b"}
    (note,) = [note for note in result.notes if "leaves out" in note]
    assert note.startswith(f"{name} leaves out {INPUTS}: the texts are taken for German, and ")
    tables = {table: rows for table, rows in result.tables.items() if rows}
    assert not any(INPUTS in map(str, row.values()) for rows in tables.values() for row in rows)
    # What is left is what it would be if there were no inputs at all.
    without = run(name, corpus, own, records(GERMAN), inputs="")
    assert {s: v.values for s, v in without.by_source.items()} == {
        s: v.values for s, v in result.by_source.items()
    }


@pytest.mark.parametrize(("name", "own"), OPTIONS)
def test_models_of_their_language_read_them(
    name: str, own: dict[str, Any], corpus: str, german: str
) -> None:
    metric, asked = metric_of(name), chosen(name, corpus, own)
    if metric.embeds(asked):
        own = {**own, "embedder": "de=stand-in"}
    given = records(GERMAN)
    plain = run(name, corpus, own, given, inputs="")
    result = run(name, corpus, own, given, annotator=f"de={german}", reference="a")
    if metric.english:  # no annotator makes its rules German
        assert INPUTS not in result.by_source
        assert any("its rules are about English" in note for note in result.notes)
        return
    if name == "novelty" and needs_language(metric, asked):
        # The corpus was tagged by another annotator.
        assert INPUTS not in result.by_source
        assert any(note.startswith("novelty leaves out") for note in result.notes)
        return
    if name != "perplexity":
        values = result.by_source[INPUTS].values
        assert not all(map(math.isnan, values.values()))
    # English texts are read as before.
    for source in "ab":
        before = pytest.approx(dict(plain.by_source[source].values), nan_ok=True, rel=0, abs=0)
        assert dict(result.by_source[source].values) == before
    if not needs_language(metric, asked):
        return
    assert not any(INPUTS in (row["source"], row["reference"]) for row in result.comparisons)
    assert any(f"the texts of {INPUTS} are treated as German" in note for note in result.notes)
    said = dict(result.signature.settings)["languages"]
    assert "de=" in said


def test_texts_themselves_are_left_out_too(german: str) -> None:
    texts = {"english": VARIED, "german": GERMAN}
    result = compute({"templates": metric_of("templates").options()}, texts)[0]
    assert set(result.by_source) == {"english"}
    (note,) = [note for note in result.notes if "leaves out" in note]
    assert "--annotator de=NAME names another" in note
    settings = Settings(annotator=f"de={german}", permutations=9)
    result = compute({"templates": metric_of("templates").options()}, texts, settings=settings)[0]
    assert set(result.by_source) == {"english", "german"}
    # Whoever wants it so has it so.
    settings = Settings(annotator="de=rote", permutations=9)
    result = compute({"templates": metric_of("templates").options()}, texts, settings=settings)[0]
    assert set(result.by_source) == {"english", "german"}
    with pytest.raises(UnknownLanguage, match=r"templates leaves out texts: .* German"):
        compute({"templates": metric_of("templates").options()}, GERMAN)


def test_an_annotator_of_another_language_does_not_read_english(german: str) -> None:
    settings = Settings(annotator=german, permutations=0, interval=0, matched=False)
    texts = {"english": VARIED, "german": GERMAN}
    result = compute({"templates": metric_of("templates").options()}, texts, settings=settings)[0]
    assert set(result.by_source) == {"german"}
    assert any("knows German (--annotator en=NAME" in note for note in result.notes)


def test_a_panel_goes_on_without_what_no_source_is_left_for() -> None:
    measures = [(name, metric_of(name).options(**own)) for name, own in panel()]
    results = compute(measures, {"texts": GERMAN}, settings=Settings(permutations=0), panel=True)
    names = {result.measure for result in results}
    assert {"lexical", "self-repetition"} <= names
    assert not {"syntactic", "semantic"} & names
    left_out = [note for note in results[0].notes if "leaves out texts" in note]
    assert len(left_out) >= 2


def test_what_a_record_says_counts_before_looks() -> None:
    def sources(given: list[Document], **settings: Any) -> set[str]:
        return set(run("templates", "", {}, given, **settings).by_source)

    # Of the text, not of what it was made from.
    assert INPUTS not in sources(records(GERMAN, lang="en"))
    assert INPUTS in sources(records(VARIED, lang="en"))
    assert INPUTS in sources(records(GERMAN, document_lang="en"))
    assert INPUTS not in sources(records(VARIED, document_lang="de"))
    with pytest.raises(UnknownLanguage, match="French"):
        sources(records(VARIED, lang="fr"), inputs="")
    # A field that tells sources apart may be one that says the language.
    by = run("templates", "", {}, records(GERMAN, lang="en"), by=("lang", "source"))
    assert set(by.by_source) == {"en|a", "en|b"}


def test_fields_of_another_language_are_not_compared_by_english_models() -> None:
    given = records(GERMAN, "reference")
    for name in ("cosine", "entities"):
        fields = {"document": VARIED[0]} if name == "entities" else {}
        texts = [Document(d.id, d.text, {**fields, **d.meta}) for d in given]
        own = {"score": metric_of("score").options(scores=(name,))}
        with pytest.raises(UnknownLanguage, match="the field 'reference' is taken for German"):
            compute(own, texts, settings=Settings(**QUICK))
    own = {"score": metric_of("score").options(scores=("cosine",), embedder="de=stand-in")}
    with pytest.raises(UnknownLanguage, match="vectors of different models are not comparable"):
        compute(own, given, settings=Settings(**QUICK))
    own = {"score": metric_of("score").options(scores=("rouge",))}
    assert compute(own, given, settings=Settings(**QUICK))[0].by_source


def test_a_store_says_who_read_its_texts(tmp_path: Path, german: str) -> None:
    source = tmp_path / "texts.txt"
    source.write_text("\n\n".join(GERMAN))
    for name, annotator in (("german", german), ("english", "rote")):
        store.annotate(
            open_corpus([source]),
            tmp_path / name,
            annotators.get(annotator),
            ["pos"],
            reporter=Silent(),
        )
    own = {"templates": metric_of("templates").options()}
    settings = Settings(permutations=0, interval=0, matched=False)
    assert compute(own, str(tmp_path / "german"), settings=settings)[0].by_source
    with pytest.raises(UnknownLanguage, match="the annotator rote knows English"):
        compute(own, str(tmp_path / "english"), settings=settings)


def test_most_texts_are_not_asked_for_their_language(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rote.measure.driver.preparation.languages", lambda documents: 1 / 0)
    own = {"lexical": metric_of("lexical").options()}
    assert compute(own, GERMAN, settings=Settings(permutations=0))[0].by_source
    assert not languages.needs_language(metric_of("lexical"), metric_of("lexical").options())


def test_vectors_of_each_language_are_made_by_its_own_embedder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: dict[str, list[str]] = {}

    class Named(StandIn):
        def __init__(self, name: str) -> None:
            self.embedder = name

        def __call__(self, texts: Sequence[str], reporter: Any = None) -> Any:
            asked.setdefault(self.embedder, []).extend(texts)
            return np.asarray(super().__call__(texts, reporter))

    monkeypatch.setattr("rote.annotate.embeddings.get", lambda name, **_: Named(name))
    own = {"semantic": metric_of("semantic").options(embedder="own,de=other")}
    result = compute(own, records(GERMAN), settings=Settings(**QUICK))[0]
    assert INPUTS in result.by_source
    assert set(asked) == {"own", "other"}
    assert set(asked["other"]) <= set(GERMAN)
    assert not set(asked["own"]) & set(GERMAN)
