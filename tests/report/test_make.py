"""What is gathered of inputs that allow much, little, or nothing."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import rote
from rote import templates
from rote.core.errors import InputError, MissingExtra, OptionError, UnknownName
from rote.core.progress import Silent
from rote.corpus import ReadOptions
from rote.measure import Settings, panel
from rote.report import builder
from rote.report.builder import MAX_ROWS, make_report
from rote.report.options import ReportOptions, list_offered, plan_measures
from rote.report.report import Report
from rote.report.summary import summary
from tests.indexes import build_index
from tests.report.written import PLACES, records, write

_FIELDS = ("source", "reference", "document")
QUICK = Settings(by=("source",), reference="human", permutations=19, matched=False)
FEW = ReportOptions(sentences=40)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("report")


@pytest.fixture(scope="module")
def texts(folder: Path) -> Path:
    return write(folder / "texts.jsonl", records(), "reference", "document")


@pytest.fixture(scope="module")
def corpus(folder: Path) -> Path:
    """What one of the texts repeats word for word."""
    held = [
        {
            "id": "book-1",
            "author": "A",
            "text": "The old mill stands as a testament to the beauty.",
        },
        {"id": "book-2", "author": "B", "text": "They open late. Rivers rise in the north."},
    ]
    return write(folder / "corpus.jsonl", held)


@pytest.fixture(scope="module")
def whole(folder: Path, corpus: Path) -> Report:
    """Everything: fields, a corpus, a training set."""
    full = write(folder / "full.jsonl", records())
    train = write(folder / "train.jsonl", [{"id": "t", "text": "Anna Keller built the mill."}])
    options = replace(FEW, corpus=str(corpus), train=str(train), examples=2)
    return make_report([full], options, settings=QUICK)


def omitted(study: Report) -> dict[str, str]:
    return {one.section: one.reason for one in study.omitted}


def test_inputs_with_everything_are_measured_by_everything(whole: Report) -> None:
    left = {name for one in whole.omitted for name in one.section.split(", ")}
    measured = dict.fromkeys(result.measure for result in whole.results)
    # No prompt has two answers of one source.
    assert left == {"evaluate", "memorization", "popularity", "distinct"}
    # The order is that of the report, but for measures of fields, which are read apart.
    assert set(measured) == set(list_offered()) - left
    first = [name for name, _ in panel()]
    assert [r.measure for r in whole.results][: len(first)] == first


def test_what_was_measured_and_against_what_is_named_with_fingerprints(whole: Report) -> None:
    by_role = {given.role: given for given in whole.materials}
    assert list(by_role) == ["texts", "corpus", "train"]
    assert by_role["texts"].name == "full.jsonl"
    assert by_role["texts"].facts["sources"]["model"]["texts"] == len(PLACES)
    assert "input documents" not in by_role["texts"].facts["sources"]
    assert by_role["corpus"].facts["documents"] == 2
    assert all(given.fingerprint for given in whole.materials)
    assert "/" not in "".join(given.name for given in whole.materials)


def test_tools_are_those_of_the_signatures_with_licences(whole: Report) -> None:
    tools = {tool.name: tool for tool in whole.tools}
    assert tools["rote"].licence == "Apache-2.0"
    assert "CC BY-SA 4.0" in tools["rote's English models"].licence
    assert tools["all-MiniLM-L6-v2 (sentence-transformers)"].licence
    assert any(name.startswith("rote's tokenizer rouge") for name in tools)
    assert all(tool.licence and tool.version and tool.use for tool in whole.tools)


def test_a_study_comes_back_from_json_as_it_was(whole: Report) -> None:
    again = Report.from_json(whole.to_json())
    assert again.evidence == whole.evidence
    assert again.materials == whole.materials
    assert again.to_json() == whole.to_json()
    assert summary(again) == summary(whole)


def test_half_a_surrogate_pair_does_not_keep_a_study_from_being_written(whole: Report) -> None:
    odd = replace(whole, title="half \udc80")
    odd.to_json().encode("utf-8")
    assert Report.from_json(odd.to_json()).title == "half \udc80"


def test_marks_stand_where_they_say(whole: Report) -> None:
    by_section: dict[str, list[Any]] = {}
    for one in whole.evidence:
        by_section.setdefault(one.section, []).append(one)
        assert all(0 <= mark.start < mark.end <= len(one.text) for mark in one.marks)
    assert set(by_section) == {"templates", "originality", "novelty"}
    (copied,) = (m for e in by_section["novelty"] for m in e.marks if e.id == "model-mill")
    text = next(e.text for e in by_section["novelty"] if e.id == "model-mill")
    assert text[copied.start : copied.end] == "The old mill stands as a testament to the beauty"
    assert copied.sources[0]["document"] == "book-1"
    cited = [m for e in by_section["originality"] for m in e.marks if m.kind == "cited"]
    assert cited
    assert {place["author"] for mark in cited for place in mark.sources} <= {"A", "B"}
    for one in by_section["templates"]:
        assert all(mark.label.count(" ") == 5 for mark in one.marks)


def test_templates_are_marked_as_the_measure_itself_marks_them(texts: Path) -> None:
    study = make_report([texts], ReportOptions(measures=("templates",)), settings=QUICK)
    assert len(study.evidence) == 8
    for one in study.evidence:
        (row,) = templates([texts], by="source", highlight=one.id).tables["highlight"]
        spans = {(span["start"], span["end"], span["template"]) for span in row["spans"]}
        assert {(mark.start, mark.end, mark.label) for mark in one.marks} == spans
        assert one.text == row["text"]


def test_an_index_without_tags_is_asked_for_words_alone(folder: Path, texts: Path) -> None:
    index = folder / "words"
    build_index(["The old mill stands as a testament to it."], index, layers="lower")
    options = ReportOptions(corpus=str(index), measures=("templates", "novelty"))
    study = make_report([texts], options, settings=QUICK)
    assert [result.measure for result in study.results] == ["templates", "novelty"]
    assert set(omitted(study)) == {"templates, in part", "novelty, in part"}
    assert "add-layer" in omitted(study)["novelty, in part"]
    assert study.materials[1].facts["kind"] == "index"
    assert study.materials[1].facts["documents"] == 1


def test_without_a_corpus_fields_and_reference_the_rest_is_measured(texts: Path) -> None:
    options = ReportOptions(
        measures=("lexical", "templates", "keyness", "precision-recall", "novelty", "score")
    )
    study = make_report([texts], options, settings=replace(QUICK, reference=None))
    assert [result.measure for result in study.results] == ["lexical", "templates", "keyness"]
    assert "--reference" in omitted(study)["precision-recall"]
    assert omitted(study)["keyness, in part"].startswith("patterns of grammar: no reference")
    assert "with --reference" in omitted(study)["keyness, in part"]
    assert "--corpus" in omitted(study)["novelty"]
    assert "'reference'" in omitted(study)["score"]
    assert study.reference is None


def test_texts_in_memory_can_be_gathered() -> None:
    study = make_report(
        {"a": ["One text here.", "Another one."], "b": ["A third text.", "The last of them."]},
        ReportOptions(measures=("lexical",)),
    )
    assert set(study.results[0].by_source) == {"a", "b"}
    assert study.materials[0].name == "a, b"


def failing(error: Exception) -> Callable[..., Any]:
    def rows(*given: Any) -> Any:
        raise error

    return rows


def broken(monkeypatch: pytest.MonkeyPatch, name: str, **changed: Any) -> None:
    module = importlib.import_module(f"rote.measure.{name}")
    monkeypatch.setattr(module, "METRIC", replace(module.METRIC, **changed))


def test_a_measure_that_fails_leaves_the_rest(texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, "self_repetition", rows=failing(OptionError("no luck today")))
    options = ReportOptions(measures=("lexical", "self-repetition", "homogenization"))
    study = make_report([texts], options, settings=QUICK)
    assert [result.measure for result in study.results] == ["lexical", "homogenization"]
    assert omitted(study)["self-repetition"] == "no luck today"


def test_a_missing_extra_leaves_out_what_needs_it_and_keeps_what_does_not(
    texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = MissingExtra("onnxruntime", "semantic", "The embedder minilm")
    broken(monkeypatch, "semantic", check=failing(missing))

    def check(options: Any, signature: str) -> None:
        if "meaning" in options.on:
            raise missing

    broken(monkeypatch, "precision_recall", check=check)
    options = replace(FEW, measures=("lexical", "semantic", "precision-recall"))
    study = make_report([texts], options, settings=QUICK)
    assert [result.measure for result in study.results] == ["lexical", "precision-recall"]
    assert ".[semantic]" in omitted(study)["semantic"]
    assert ".[semantic]" in omitted(study)["precision-recall, in part"]
    assert all(name.startswith("tree") for name in study.results[1].by_source["model"].values)


def test_an_unexpected_error_is_not_hidden(texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, "lexical", rows=failing(ZeroDivisionError("a mistake of ours")))
    with pytest.raises(ZeroDivisionError):
        make_report([texts], ReportOptions(measures=("lexical",)), settings=QUICK)


def test_texts_of_one_author_answer_no_prompt() -> None:
    """Unless a measure of answers to prompts is named."""
    settings = replace(QUICK, cluster="author")
    for names in ((), ("distinct", "sameness")):
        plan, left_out = plan_measures(
            ("text", "author", "doc_id"), ReportOptions(measures=names), settings, {}
        )
        planned, reasons = {metric.name for metric, _ in plan}, {one.section for one in left_out}
        assert {"distinct", "sameness"} <= (planned if names else reasons)


def test_a_field_that_some_records_lack_leaves_out_only_its_measures(folder: Path) -> None:
    rows = records()
    del rows[-1]["reference"]
    file = write(folder / "lacking.jsonl", rows, "document")
    study = make_report([file], ReportOptions(measures=("lexical", "score")), settings=QUICK)
    assert [result.measure for result in study.results] == ["lexical"]
    assert "lacking.jsonl, line 16, field 'reference'" in omitted(study)["score"]


def test_nothing_to_measure_is_an_error_that_says_why(texts: Path) -> None:
    with pytest.raises(OptionError, match=r"nothing could be measured.*--corpus"):
        make_report([texts], ReportOptions(measures=("novelty",)), settings=QUICK)


def test_names_that_are_not_there_are_refused_before_anything_is_read(texts: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean 'lexical'"):
        make_report([texts], ReportOptions(measures=("lexica",)), settings=QUICK)
    with pytest.raises(InputError, match="nowhere"):
        make_report([texts], ReportOptions(corpus="nowhere/index"), settings=QUICK)
    with pytest.raises(UnknownName, match="did you mean 'human'"):
        make_report(
            [texts],
            ReportOptions(measures=("lexical",)),
            settings=replace(QUICK, reference="humans"),
        )


def test_a_sample_is_taken_and_said(texts: Path) -> None:
    options = ReportOptions(measures=("lexical",))
    study = make_report([texts], options, settings=replace(QUICK, sample=5))
    assert study.results[0].by_source["model"].texts == 5
    assert "sample:5" in str(study.results[0].signature)
    assert study.notes[0].startswith("lexical: up to 5 texts per source")


def test_a_large_input_is_drawn_before_it_is_annotated(
    texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The numbers are those of a sample of the same size that was annotated whole."""
    options = ReportOptions(measures=("lexical", "templates"))
    settings = replace(QUICK, sample=5)
    small = make_report([texts], options, settings=settings)
    monkeypatch.setattr(builder, "is_large", lambda texts, sample: True)
    large = make_report([texts], options, settings=settings)
    assert [r.to_dict() for r in large.results] == [r.to_dict() for r in small.results]
    assert large.materials == small.materials


def test_large_files_that_name_their_sources_are_drawn_too(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same ids occur in both files: a text is known by file and id."""
    rows = [{**row, "id": row["doc_id"]} for row in records()]
    files = [
        write(folder / f"{name}.jsonl", [r for r in rows if r["source"] == name], *_FIELDS)
        for name in ("human", "model")
    ]
    settings = replace(QUICK, by=(), sample=5)
    options = ReportOptions(measures=("lexical",))
    small = make_report(files, options, settings=settings)
    monkeypatch.setattr(builder, "is_large", lambda texts, sample: True)
    large = make_report(files, options, settings=settings)
    assert set(large.results[0].by_source) == {"human", "model"}
    assert large.results[0].to_dict() == small.results[0].to_dict()


def test_large_files_with_the_same_ids_and_sources_are_drawn_too(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = []
    for name in ("one", "two"):
        rows = [{**row, "text": f"{name} {row['text']}"} for row in records()]
        files.append(write(folder / f"{name}.jsonl", rows, "reference", "document"))
    settings = replace(QUICK, sample=5, per_text=True)
    options = ReportOptions(measures=("lexical",))
    small = make_report(files, options, settings=settings)
    monkeypatch.setattr(builder, "is_large", lambda texts, sample: True)
    large = make_report(files, options, settings=settings)
    for source, held in small.results[0].by_source.items():
        values = large.results[0].by_source[source].values
        assert values == pytest.approx(held.values, nan_ok=True)
    rows = large.results[0].tables["texts"]
    assert {row["file"] for row in rows} == {str(file) for file in files}
    assert len({(row["file"], row["id"]) for row in rows}) == len(rows) == 10


def test_long_tables_are_cut_and_that_is_said(texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def tables(rows: Any, comparison: Any, options: Any) -> Any:
        rows = [{"source": "human", "longest": n} for n in range(MAX_ROWS + 7)]
        return {"long": rows, "short": rows[:2]}

    broken(monkeypatch, "lexical", tables=tables)
    study = make_report([texts], ReportOptions(measures=("lexical",)), settings=QUICK)
    kept = study.results[0].tables["long"]
    assert [row["longest"] for row in kept] == list(range(MAX_ROWS + 6, 6, -1))
    assert any(f"{MAX_ROWS} of its {MAX_ROWS + 7} rows" in note for note in study.notes)


def test_copies_are_noted(folder: Path) -> None:
    rows = records()
    rows.append({**rows[0], "id": "again"})
    file = write(folder / "copies.jsonl", rows, "reference", "document")
    study = make_report([file], ReportOptions(measures=("lexical",)), settings=QUICK)
    assert any("1 of 9 texts are duplicates" in note for note in study.notes)


def test_test_items_are_measured_by_popularity_alone(folder: Path, corpus: Path) -> None:
    index = folder / "index"
    build_index(corpus, index, layers="lower")
    items = [
        {"goal": "open late", "sol1": "they open late", "sol2": "rivers rise early", "label": 0},
        {"goal": "rivers rise", "sol1": "in the far east", "sol2": "in the north", "label": 1},
    ]
    file = write(folder / "piqa.jsonl", items)
    study = make_report([file], ReportOptions(corpus=str(index)))
    assert [result.measure for result in study.results] == ["popularity"]
    assert [given.role for given in study.materials] == ["items", "corpus"]
    assert "not texts" in omitted(study)["diversity"]
    assert any("popularity is that of" in note for note in study.notes)
    with pytest.raises(OptionError, match="--corpus"):
        make_report([file])


def test_items_whose_text_field_is_named_are_texts(folder: Path) -> None:
    items = [
        {"goal": "one two", "sol1": "a b", "sol2": "c d"},
        {"goal": "x y", "sol1": "", "sol2": ""},
    ]
    file = write(folder / "goals.jsonl", items)
    options = ReportOptions(measures=("lexical",))
    study = make_report([file], options, read=ReadOptions(text_field="goal"))
    assert study.results[0].measure == "lexical"


class Cancelled(Exception):
    """What somebody's reporter raises to stop the work."""


@pytest.mark.parametrize(("jobs", "where"), [(1, "templates"), (2, "lexical")])
def test_work_can_be_stopped_from_outside(texts: Path, jobs: int, where: str) -> None:
    class Stopping(Silent):
        def stage(self, title: str, total: float | None, unit: str = "") -> Any:
            if where in title:
                raise Cancelled
            return super().stage(title, total, unit)

    with pytest.raises(Cancelled):
        make_report(
            [texts],
            ReportOptions(measures=("lexical", "templates")),
            settings=replace(QUICK, jobs=jobs),
            reporter=Stopping(),
        )


def test_the_headline_counts_the_texts_that_were_measured(texts: Path) -> None:
    from rote.report.methods import write_methods
    from rote.report.sections import lead_lines

    settings = replace(QUICK, sample=4, permutations=0, interval=0)
    study = make_report(texts, ReportOptions(measures=("lexical",)), settings=settings)
    measured = sum(source.texts for source in study.results[0].by_source.values())
    read = study.materials[0].facts["texts"]
    assert measured < read
    assert lead_lines(study)[0].startswith(f"{measured:,} of {read:,} texts")
    assert f"We measured {measured:,} of {read:,} texts" in write_methods(study).paragraphs[0]
    everything = make_report(
        texts, ReportOptions(measures=("lexical",)), settings=replace(settings, sample=None)
    )
    assert lead_lines(everything)[0].startswith(f"{read:,} texts")


def test_models_are_asked_about_items_and_saved_results_are_parts(tmp_path: Path) -> None:
    from tests.cli.calls import World

    world = World(tmp_path)
    model = world.model.partition("=")[2]
    saved = rote.correlate(world.results, values="all", quality=world.quality)
    saved.save(tmp_path / "correlate.json")
    made = rote.report(world.items, model=model, results=tmp_path / "correlate.json")
    assert [one.measure for one in made.results] == ["evaluate", "memorization", "correlate"]
    assert [one.section for one in made.omitted] == ["diversity", "popularity"]
    page = made.markdown()
    assert "### Memorization" in page
    assert "Accuracy of the halves" in page
    assert saved.signature.settings[0] in made.results[2].signature.settings
