"""What every measure must do, run over every file in measure/ by itself."""

from __future__ import annotations

import csv
import io
import json
import math
import pickle
import re
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from statistics import NormalDist
from typing import Any, get_args, get_type_hints

import numpy as np
import pytest

from rote.core import plugins
from rote.core.document import Document
from rote.core.errors import UnknownName
from rote.core.metric import Metric
from rote.core.registry import title_of
from rote.core.result import Result
from rote.core.signature import option_settings
from rote.corpus import ReadOptions
from rote.measure import Settings, panel, style
from rote.measure.driver import collection
from rote.measure.driver.compute import compute
from rote.measure.driver.equal_lengths import compared_names
from rote.report import result_tables as tables
from rote.report.charts import draw_panel_figures
from rote.report.export import results_csv, results_latex
from rote.report.grid import make_grid
from rote.report.output import render_report_markdown
from rote.report.summary import summary
from rote.report.svg import chart_spec
from rote.report.value_tables import across_sheet
from rote.report.verdicts import judge_facets
from rote.run.processes import Processes
from tests.indexes import build_index
from tests.kit import write_jsonl
from tests.spellings import PLAIN, typeset

from ..report.made_results import study as made_study
from .by_path import lengths

NAMES = sorted(plugins.members("measure"))
DOCS = Path(__file__).parents[2] / "docs" / "measures"
QUICK = Settings(permutations=9, matched=False)

VARIED = [
    "The heron stood in the shallow water and waited for something to move.",
    "Nobody had opened the letter, although it lay there for a week in plain sight.",
    "My uncle repaired clocks; none of them ever agreed about the time again.",
    "Rain came down so hard that the cellar filled, and the cat moved upstairs.",
    "She read the timetable twice and still took the wrong train to the coast.",
    "Six oranges, a lamp and half a loaf: that was the whole of the inheritance.",
]
REPEATED = ["The heron stood in the shallow water and waited for something to move."] * 6


class StandIn:
    """An embedder without weights: which letters a text holds, and how often."""

    name = signature = "stand-in"
    dimensions = 256
    english = True

    def check(self) -> None:
        return None

    def cut(self, texts: Sequence[str]) -> Any:
        return np.zeros(len(texts), np.bool_)

    def __call__(self, texts: Sequence[str], reporter: Any = None) -> Any:
        found = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in zip(found, texts):
            np.add.at(row, list(text.encode()), 1)
        return found / np.linalg.norm(found, axis=1, keepdims=True)


@pytest.fixture(autouse=True)
def no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor as many half-samples as are usual: how many there are is not what is tested."""
    monkeypatch.setattr("rote.annotate.embeddings.get", lambda name, **_: StandIn())
    monkeypatch.setattr("rote.compare.intervals.HALF_SAMPLES", 40)


def metric_of(name: str) -> Metric:
    found: Metric = plugins.load("measure", name).METRIC
    return found


def fields_beside(name: str, **options: Any) -> dict[str, str]:
    """What the records must hold beside their text, if the measure compares the text with it."""
    needs = metric_of(name).needs(metric_of(name).options(**options))
    return {need.field: REPEATED[0] for need in needs if need.field is not None}


def given(texts: Any, beside: dict[str, str]) -> Any:
    """Texts as measures get them: plain, or as records that hold the fields too."""
    if not beside:
        return texts
    if isinstance(texts, dict):
        return {source: _documents(own, source, beside) for source, own in texts.items()}
    return _documents(texts, "texts", beside)


def _documents(texts: Sequence[str], source: str, beside: dict[str, str]) -> list[Document]:
    return [Document(f"{source}:{n}", text, dict(beside)) for n, text in enumerate(texts, 1)]


@pytest.fixture(autouse=True, scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What measures that hold texts against a corpus are given: one of the texts."""
    path = tmp_path_factory.mktemp("corpus") / "corpus.txt"
    path.write_text(VARIED[0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.measure.test_contract.CORPUS", str(path))
        yield


CORPUS = ""
KNOWN: dict[str, tuple[Metric, Result]] = {}


def corpus_options(name: str) -> set[str]:
    held = fields(metric_of(name).options)
    return {one.name for one in held if one.metadata.get("needed") and "takes" in one.metadata}


def run(name: str, texts: Any, settings: Settings = QUICK, **options: Any) -> Result:
    for corpus in corpus_options(name):
        options.setdefault(corpus, CORPUS)
    inputs = given(texts, fields_beside(name, **options))
    # Many tests look at the same result; a record that a test has put in its place is another.
    key = repr((name, id(metric_of(name)), inputs, settings, options))
    if key not in KNOWN:
        chosen = {name: metric_of(name).options(**options)}
        KNOWN[key] = (metric_of(name), compute(chosen, inputs, settings=settings)[0])
    return KNOWN[key][1]


def values(result: Result, source: str = "texts") -> dict[str, float]:
    return dict(result.by_source[source].values)


def variants(name: str) -> tuple[str, ...]:
    return get_args(get_type_hints(metric_of(name).options).get("variant"))


@pytest.mark.parametrize("name", NAMES)
def test_the_record_is_complete(name: str) -> None:
    metric = metric_of(name)
    assert metric.name == name
    assert metric.title
    assert metric.citation
    assert plugins.summary("measure", name).endswith(".")
    assert all("help" in field.metadata for field in fields(metric.options))


@pytest.mark.parametrize("name", NAMES)
def test_option_names_do_not_collide_with_the_common_ones(name: str) -> None:
    common = {field.name for kind in (Settings, ReadOptions) for field in fields(kind)}
    assert not common & {field.name for field in fields(metric_of(name).options)}


@pytest.mark.parametrize("name", NAMES)
def test_every_declared_value_is_given_and_no_other(name: str) -> None:
    chosen = [{"variant": variant} for variant in variants(name)] or [{}]
    for options in chosen:
        result = run(name, VARIED, **options)
        declared = metric_of(name).values(metric_of(name).options(**options))
        assert list(values(result)) == [value.name for value in declared]


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_texts_does_not_matter_unless_declared(name: str) -> None:
    forwards, backwards = values(run(name, VARIED)), values(run(name, VARIED[::-1]))
    if metric_of(name).order_matters:
        assert list(forwards) == list(backwards)
    else:
        assert forwards == pytest.approx(backwards, nan_ok=True)


@pytest.mark.parametrize("name", NAMES)
def test_repeated_text_moves_every_value_in_its_direction(name: str) -> None:
    varied, repeated = values(run(name, VARIED)), values(run(name, REPEATED))
    for value in metric_of(name).values(metric_of(name).options()):
        if math.isnan(varied[value.name]) or math.isnan(repeated[value.name]):
            continue
        # Values of single texts cannot see that the same text comes again.
        if value.higher == "neither":
            continue
        if value.higher == "diverse":
            assert repeated[value.name] <= varied[value.name] + 1e-9 or not value.moves_with_texts
        else:
            assert repeated[value.name] > varied[value.name]


# Of the characters as they came, or by a model that reads them.
RAW = {"compression", "semantic"}
WORDS = {"score": {"scores": ("rouge", "fragments", "entities")}}
SPELLED = [(name, {"variant": v}) for name in NAMES for v in variants(name)]
SPELLED += [(name, {}) for name in NAMES if not variants(name)]
SPELLED = [(name, {**own, **WORDS.get(name, {})}) for name, own in SPELLED if name not in RAW]
SPELLED += [("compression", {"layer": layer}) for layer in ("word", "lower", "pos", "upos", "dep")]


@pytest.mark.parametrize(("name", "own"), SPELLED)
def test_values_do_not_depend_on_typography(name: str, own: dict[str, Any], tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text(" ".join([typeset(PLAIN[0]), PLAIN[2]]))
    found = []
    for spelled in (str, typeset):
        texts = [spelled(text) for text in PLAIN]
        beside = dict.fromkeys(fields_beside(name, **own), spelled(PLAIN[1]))
        sources = {"a": texts, "b": [*texts[3:], spelled(PLAIN[0])]}
        options = {**own, **dict.fromkeys(corpus_options(name), str(corpus))}
        chosen = {name: metric_of(name).options(**options)}
        settings = Settings(permutations=9, matched=False, per_text=True)
        result = compute(chosen, given(sources, beside), settings=settings)[0]
        rows = [{**row, "id": ""} for row in result.tables.get("texts", [])]
        found.append(json.dumps([[s.values for s in result.by_source.values()], rows]))
    assert found[0] == found[1]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("texts", [["One short text."], ["!"], ["word"], ["a b", "c d"]])
def test_very_little_text_gives_numbers_or_nan_never_a_crash(name: str, texts: list[str]) -> None:
    found = values(run(name, texts))
    assert found
    assert all(isinstance(value, float) for value in found.values())
    assert not any(math.isinf(value) for value in found.values())


@pytest.mark.parametrize("name", NAMES)
def test_an_undefined_value_comes_with_a_note(name: str) -> None:
    result = run(name, ["word"])
    source = result.by_source["texts"]
    if any(math.isnan(value) for value in source.values.values()):
        assert source.notes


@pytest.mark.parametrize("name", NAMES)
def test_json_round_trip(name: str) -> None:
    settings = Settings(reference="a", permutations=9, per_text=True)
    result = run(name, {"a": VARIED, "b": REPEATED}, settings)
    again = Result.from_json(result.to_json())
    assert again == result
    assert again.to_json() == result.to_json()
    assert again != replace(result, notes=("another",))
    assert again != result.to_dict()


@pytest.mark.parametrize("name", NAMES)
def test_every_value_has_its_place_in_a_two_way_table(name: str) -> None:
    """Two tasks with the same two sources: each value once in each row and column, with its
    difference from the reference of its task."""
    settings = Settings(reference="a", permutations=9, per_text=True)
    result = run(name, {"a": VARIED, "b": REPEATED}, settings)
    tasks, named = ("x", "y"), ("source", "reference", "other")

    def rows(some: Sequence[Any]) -> list[dict[str, Any]]:
        groups = [{n: row[n] for n in named if row.get(n)} for row in some]
        return [
            {**row, **{n: f"{task}|{group}" for n, group in own.items()}}
            for task in tasks
            for row, own in zip(some, groups)
        ]

    tables = {name: result.tables.get(name, ()) for name in ("values", "matched")}
    result = replace(
        result,
        by=("task", "source"),
        by_source={f"{task}|{n}": own for task in tasks for n, own in result.by_source.items()},
        comparisons=rows(result.comparisons),
        tables={"values": tables["values"], "matched": rows(tables["matched"])},
    )
    sheet = across_sheet(result, "task")
    assert sheet is not None
    lines = [row for row in sheet.data if not row["value"].endswith("at equal length")]
    titles = [value["title"] for value in result.tables["values"]]
    assert [(row["value"], row["source"]) for row in lines] == [
        (t, s) for t in titles for s in "ab"
    ]
    for row, value in zip(lines[1::2], result.tables["values"]):
        a, b = (result.by_source[f"x|{n}"].values[value["value"]] for n in "ab")
        for task in tasks:
            assert row[f"{task}_estimate"] == pytest.approx(b, nan_ok=True)
            if not math.isnan(row[f"{task}_delta"]):
                assert row[f"{task}_delta"] == pytest.approx((b - a) / abs(a))
    for written in (
        result.table(across="task"),
        result.to_latex(across="task"),
        result.to_markdown(across="task"),
        result.to_html(across="task"),
    ):
        shown = [cell.text for cell in sheet.make(lines[0])[2:]]
        assert all(text in written for text in shown if text != "–")
    with pytest.raises(UnknownName, match="'colour'"):
        result.table(across="colour")


NOT_SHARES = {
    *("ngram_diversity", "mtld", "entropy", "creativity", "longest", "perplexity", "cosine"),
    *("sentence_length", "nearest", "vendi", "mean_distance", "gzip", "self_repetition"),
    *("tree_density", "meaning_density", "cr", "length", "per_token", "distinct"),
    *("bits_per_word", "bits_per_byte", "density", "compression"),
    *(value.name for value in style.values(style.Options())),
}
"""Values that may lie beyond 0 and 1 or are no share of anything; all others are shares."""


@pytest.mark.parametrize("name", NAMES)
def test_intervals_of_shares_stay_between_0_and_1(name: str) -> None:
    options = metric_of(name).options
    for own in [{"variant": variant} for variant in variants(name)] or [{}]:
        shares = {value.name for value in metric_of(name).values(options(**own)) if value.share}
        known = {value.name for value in metric_of(name).values(options(**own))}
        scores = {v for v in known if v.endswith(("_ratio", "_rho", "_excess", "_rise"))}
        assert shares >= known - NOT_SHARES - scores
        for texts in (VARIED, REPEATED, VARIED[:2]):
            found = run(name, texts, **own).by_source["texts"]
            for value, (low, high) in found.intervals.items():
                assert low - 1e-9 <= found.values[value] <= high + 1e-9
                if value in shares:
                    assert 0 <= low <= high <= 1
    counts = {value.name for value in metric_of(name).values(options()) if value.of_texts}
    found = run(name, REPEATED).by_source["texts"]
    for value in counts:
        low, high = found.intervals[value]
        assert high - low > 0.1


def bounds(rows: Sequence[Any]) -> list[tuple[float, float]]:
    """The ends of all intervals in the rows of a table."""
    if not rows:
        return []
    # A bin has ends of its own.
    names = {name for row in rows for name in row} - ({"low"} if "bin" in rows[0] else set())
    pairs = [(n, n.removesuffix("low") + "high") for n in sorted(names) if n.endswith("low")]
    every = [(row.get(low), row.get(high)) for row in rows for low, high in pairs if high in row]
    numbers = [tuple(math.nan if n is None else float(n) for n in pair) for pair in every]
    return [(low, high) for low, high in numbers if not math.isnan(low)]


@pytest.mark.parametrize("name", NAMES)
def test_every_table_has_the_level_that_was_asked_for(name: str, tmp_path: Path) -> None:
    own: dict[str, Any] = {}
    if name == "templates":
        index = tmp_path / "index"
        build_index(CORPUS, index, layers=("pos",))
        own = {"corpus": (str(index),), "min_count": 1}
    texts = {"a": VARIED, "b": [f"{text} There it was." for text in VARIED]}
    common: dict[str, Any] = {"reference": "a", "permutations": 0, "matched": False}
    none, less, more = (
        run(name, texts, Settings(interval=level, **common), **own) for level in (0, 0.8, 0.95)
    )
    assert none.interval is None
    assert not any(source.intervals for source in none.by_source.values())
    assert less.interval is not None
    assert less.interval.level == 0.8
    for table in more.tables:
        assert not bounds(none.tables[table]), table
        narrow, wide = bounds(less.tables[table]), bounds(more.tables[table])
        assert len(narrow) == len(wide)
        for (low, high), (lowest, highest) in zip(narrow, wide):
            assert high - low < highest - lowest or highest == lowest, table


def told(results: Sequence[Result]) -> str:
    """All that is written of results: tables, CSV, LaTeX, summary and Markdown."""
    study = made_study(results)
    return "\n".join(
        (
            tables.results_text(results),
            results_csv(results),
            results_latex(results),
            *(statement.text for statement in summary(study)),
            render_report_markdown(study),
        )
    )


@pytest.mark.parametrize(
    # Without a test nothing is left that is another measure's own: some stand for all.
    ("permutations", "name"),
    [*((19, name) for name in NAMES), *((0, name) for name in ("lexical", "style", "keyness"))],
)
def test_what_could_not_be_found_is_never_called_no_difference(
    permutations: int, name: str
) -> None:
    texts = {"human": VARIED, "a": REPEATED, "b": [f"{text} b" for text in VARIED]}
    # 1 / (19 + 1) is not below 0.05, whatever the texts.
    settings = Settings(reference="human", permutations=permutations)
    result = run(name, texts, settings)
    if permutations and metric_of(name).tested:
        assert result.comparisons
        undefined = all(math.isnan(row["p"]) for row in result.comparisons)
        assert undefined or any("--permutations 39" in note for note in result.notes)
    for row in result.comparisons:
        assert row["tested"] is False
        assert math.isnan(row["p"]) or row["p_corrected"] >= row["floor"] >= 0.05
    one = Result.from_json(result.to_json())
    assert one == result
    said = told([one])
    assert not re.search(r"no difference|,not found|\\(up|down)arrow", said, re.I)
    kinds = {statement.kind for statement in summary(made_study([one]))}
    assert kinds <= {"found"}
    cells = [cell for row in make_grid(one) for cell in row.cells.values()]
    assert {mark for cell in cells for mark in (cell.mark, cell.matched.mark)} <= {"", "?"}
    if any(not math.isnan(row["difference"]) for row in result.comparisons):
        assert "?" in tables.results_text([one])
        assert "not tested" in said
    assert {made.state for facet in judge_facets([one]) for made in facet.comparisons} <= {
        "not tested",
        "circular",
    }


@pytest.mark.parametrize("name", NAMES)
def test_values_of_each_text_are_in_every_form_or_said_to_be_missing(name: str) -> None:
    settings = Settings(permutations=0, matched=False, interval=0, per_text=True)
    result = run(name, {"a": VARIED, "b": VARIED[::-1]}, settings)
    rows = result.tables.get("texts", [])
    if not rows:
        assert any("no per-text values" in note for note in result.notes)
        return
    assert [row["source"] for row in rows] == ["a"] * 6 + ["b"] * 6
    columns = set(rows[0]) - {"source", "id", "file", "words"}
    assert columns
    assert "Values of each text" in tables.results_text([result])
    lines = list(csv.DictReader(io.StringIO(results_csv([result]))))
    texts = [line for line in lines if line["table"] == "texts"]
    assert len(texts) == 12
    for line, row in zip(texts, rows):
        assert (line["id"], line["source"]) == (row["id"], row["source"])
        for column in columns:
            assert float(line[column] or "nan") == row[column] or math.isnan(row[column])
    assert f"% {name}: texts\n\\begin{{tabular}}" in results_latex([result])


@pytest.mark.parametrize("name", NAMES)
def test_a_variants_signature_says_what_it_does_not_what_was_asked(name: str) -> None:
    metric = metric_of(name)
    for variant in variants(name):
        plain = metric.options(variant=variant)
        signed = option_settings(plain)
        layers = {need.layer for need in metric.needs(plain)}
        assert signed.get("layer") in {None, *layers}, variant
        if name == "semantic":
            assert signed["unit"] == plain.choice.unit
        if name in ("semantic", "syntactic"):
            draws = plain.choice.count if name == "semantic" else plain.most
            assert signed["sentences"] == draws
        # What a variant does not look at leaves no trace.
        for field, other in (("layer", "upos"), ("unit", "text"), ("min_count", 3)):
            if field in signed:
                changed = metric.options(**{"variant": variant, field: other})
                same = option_settings(changed)[field] == signed[field]
                assert same is (variant in _IGNORE.get((name, field), ())), (variant, field)


_IGNORE = {
    ("lexical", "layer"): ("paper", "package"),
    ("self-repetition", "layer"): ("package",),
    ("homogenization", "layer"): ("package",),
    ("semantic", "unit"): ("package",),
    ("templates", "min_count"): ("paper", "package"),
}
"""Settings that some variants of a measure have their own way with."""


@pytest.mark.parametrize("name", NAMES)
def test_a_difference_from_the_reference_is_found(name: str) -> None:
    varied = [
        f"{text} {number} {word}" for number, word in enumerate("abcdefgh") for text in VARIED
    ]
    repeated = [f"{text} again" for text in REPEATED * 8]
    settings = Settings(reference="varied", permutations=99, matched=False)
    result = run(name, {"varied": varied, "repeated": repeated}, settings)
    if not metric_of(name).tested:
        assert not result.comparisons
        return
    # All values of a source may be undefined here: these texts hold no names, for one.
    found = [p for p in (row["p_corrected"] for row in result.comparisons) if not math.isnan(p)]
    undefined = any(
        all(math.isnan(value) for value in values(result, source).values())
        for source in ("varied", "repeated")
    )
    assert min(found, default=1.0) < 0.05 or undefined
    tested = {v.name for v in metric_of(name).values(metric_of(name).options()) if v.tested}
    assert {row["value"] for row in result.comparisons} == tested & set(values(result, "varied"))


@pytest.mark.parametrize("name", [name for name in NAMES if metric_of(name).headlines])
def test_an_aspect_has_one_name_in_help_figure_table_heading_and_json(name: str) -> None:
    metric = metric_of(name)
    texts = {"human": VARIED * 2, "model": [f"{text} Anna left Paris." for text in REPEATED * 2]}
    result = run(name, texts, Settings(reference="human", permutations=39, matched=False))
    rows = json.loads(result.to_json())["tables"]["values"]
    title = title_of(result)
    headlines = {one.value: metric.aspect(one) for one in metric.headlines}
    for row in rows:
        assert row["aspect"] == headlines.get(row["value"], title)
    aspects = {headlines[row["value"]] for row in rows if row["value"] in headlines}
    shown = {aspect.name for facet in judge_facets([result]) for aspect in facet.aspects}
    assert shown <= aspects
    if len([one for one in metric.headlines if not one.detail]) == 1:
        assert title == metric.title
        assert plugins.summary("measure", name).startswith(title)
        heading = (DOCS / f"{name}.md").read_text(encoding="utf-8").splitlines()[0]
        assert heading.removeprefix("# ").removeprefix(f"{name}: ").lower() == title.lower()
    assert f"{title}: values" in render_report_markdown(made_study([result]))
    assert f" {title}:" in tables.results_text([result])
    # Long titles are lists of lines.
    figures = {
        name: chart_spec(one).replace('", "', " ")
        for name, one in draw_panel_figures([result]).items()
    }
    assert title in figures["values"]
    assert all(name in figures.get("verdicts", name) for name in shown)


_NOUNS = (
    *("heron letter clock rain cat train orange lamp loaf river stone garden").split(),
    *("window ladder spoon village bridge coat horse ship Anna Paris Berlin Peter").split(),
)
_VERBS = ("stood waited repaired moved filled opened carried watched followed painted").split()
_ADJECTIVES = ("old small quiet heavy wooden bright empty narrow cold green").split()


def paired_documents(beside: dict[str, str], answers: int) -> list[Document]:
    """Two sources on 24 doc_ids, whose words differ much in number; the second repeats two of
    twelve sentences of the first."""
    rng, found = np.random.default_rng(0), []

    def sentence(kinds: int) -> str:
        def pick(words: Sequence[str]) -> str:
            return words[rng.integers(min(kinds, len(words)))]

        one, other, last = (pick(_NOUNS) for _ in range(3))
        how, where = pick(_ADJECTIVES), pick(_ADJECTIVES)
        return f"The {how} {one} {pick(_VERBS)} the {other} near the {where} {last}."

    for doc_id in range(24):
        kinds = int(rng.integers(2, 25))
        shared = [sentence(kinds) for _ in range(12)]
        for source in "ab":
            for answer in range(answers):
                own = [*shared]
                own[rng.integers(12)] = sentence(24)
                own[:3] = own[:1] * 3 if source == "b" else own[:3]
                meta = {"doc_id": str(doc_id), "source": source, **dict.fromkeys(beside, shared[5])}
                found.append(Document(f"{source} {doc_id} {answer}", " ".join(own), meta))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_interval_of_a_paired_difference_says_what_its_test_says(name: str) -> None:
    """Doc_ids differ far more than the two answers to one: intervals as of independent sources hold
    0 where the test, which exchanges labels within a doc_id, is sure."""
    answers = 2 if name == "distinct" else 1
    documents = paired_documents(fields_beside(name), answers)
    settings = Settings(by=("source",), reference="a", permutations=199, matched=False)
    options = dict.fromkeys(corpus_options(name), CORPUS)
    (result,) = compute({name: metric_of(name).options(**options)}, documents, settings=settings)
    closely = {"lexical", "semantic", "syntactic", "coverage", "density", "compression", "cosine"}
    for row in result.comparisons:
        if math.isnan(row["p"]) or "difference_low" not in row:
            continue
        low, high = row["difference_low"], row["difference_high"]
        assert low <= row["difference"] <= high
        if {name, row["value"]} & closely and low < high and row["p"] > 0.01:
            errors = 1.96 * 2 * abs(row["difference"]) / (high - low)
            # As of independent sources it is 0.3 to 0.6 larger for some value of each of these.
            assert 2 * NormalDist().cdf(-errors) == pytest.approx(row["p"], abs=0.15), row
        if row["p"] <= 0.01:
            assert not low <= 0 <= high, row
        if row["p"] > 0.2:
            assert low <= 0 <= high, row
        if "relative_low" in row:
            other = result.by_source["a"].values[row["value"]]
            assert row["relative_low"] <= row["difference"] / other <= row["relative_high"]
            assert (row["relative_low"] <= 0 <= row["relative_high"]) is (low <= 0 <= high)


LONG = [" ".join([*VARIED[n:], *VARIED[:n], f"Anna Berg went to Paris in {n}."]) for n in range(6)]
SHORT = {1: ["Word", "Other"], 6: ["The rain came down all day.", "She reads it twice every week."]}
"""Texts of so many words, in which some values are undefined."""


@pytest.mark.parametrize(
    # Texts of one word, or of six, for one measure after the other.
    ("name", "words"),
    [(name, [*SHORT][place % 2]) for place, name in enumerate(NAMES)],
)
def test_values_undefined_for_more_than_a_tenth_of_the_texts_are_not_tested_raw(
    name: str, words: int
) -> None:
    """Which values that are is seen from texts that are all too short."""
    settings = Settings(permutations=19, matched=False, interval=0, reference="y")
    short = values(run(name, {"texts": SHORT[words] * 2, "y": SHORT[words] * 2}, settings))
    undefined = {value for value, number in short.items() if math.isnan(number)}
    few = {"x": [*LONG * 3, *SHORT[words]], "y": LONG * 3}
    many = {"x": [*LONG * 3, *SHORT[words] * 2], "y": LONG * 3}
    for texts, named in ((few, set[str]()), (many, undefined)):
        result = run(name, texts, settings)
        for row in result.comparisons:
            missing = row["value"] in named or math.isnan(row["difference"])
            assert math.isnan(row["p"]) is missing, row["value"]
            assert not (missing and row["tested"])
        notes = [note for note in result.notes if "undefined for 4 of 22 texts of x" in note]
        said = {value for note in notes for value in note.split(": ")[1].split(", ")}
        differ = {r["value"] for r in result.comparisons if not math.isnan(r["difference"])}
        assert said & differ == named & differ
        assert all(note.startswith("not tested against y: ") for note in notes)


@pytest.mark.parametrize("name", [name for name in NAMES if metric_of(name).many])
def test_many_groups_at_once_are_the_groups_one_by_one(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {"varied": VARIED * 3, "mixed": [*VARIED, "!", *REPEATED, "Two words."]}
    settings = Settings(reference="varied", permutations=19)
    together = run(name, texts, settings)
    slow = replace(metric_of(name), many=None)
    monkeypatch.setattr(plugins.load("measure", name), "METRIC", slow)
    alone = run(name, texts, settings)
    assert together.comparisons
    for row, other in zip(together.comparisons, alone.comparisons, strict=True):
        assert row == pytest.approx(other, abs=1e-12, nan_ok=True)
    for source, found in together.by_source.items():
        assert found.values == alone.by_source[source].values
        assert set(found.intervals) == set(alone.by_source[source].intervals)
        for value, ends in found.intervals.items():
            assert ends == pytest.approx(alone.by_source[source].intervals[value], abs=1e-12)


@pytest.mark.parametrize("name", [n for n in NAMES if metric_of(n).match in ("words", "sentences")])
def test_where_lengths_differ_whole_texts_test_no_length(name: str) -> None:
    texts = {"a": [" ".join([text] * 3) for text in VARIED] * 3}
    texts["b"] = [" ".join([text] * 9) for text in VARIED] * 3
    result = run(name, texts, Settings(reference="a", permutations=19))
    at_equal_length = [row for row in result.comparisons if "matched_p" in row]
    assert at_equal_length
    for row in at_equal_length:
        assert math.isnan(row["p"]), "the test of whole texts would be one of length"
        assert not math.isnan(row["matched_p"])


@pytest.mark.parametrize("name", NAMES)
def test_results_are_byte_identical_at_any_number_of_jobs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside, pieces = fields_beside(name), []

    def sent(engine: Any, function: Any, items: Any, **_: str) -> Iterator[Any]:
        """As several processes: function, pieces and results are pickled. They start too slowly
        to be started for every measure; `tests/run` tries them."""
        for item in items:
            pieces.append(engine.jobs)
            yield pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(function))(item)))

    monkeypatch.setattr(Processes, "map", sent)
    monkeypatch.setattr(collection, "_SMALL", 0)
    for number, texts in enumerate((VARIED, REPEATED, VARIED[::-1])):
        records = [{"text": text, "source": "one", **beside} for text in texts]
        write_jsonl(tmp_path / f"{number}.jsonl", records)
    results = [
        compute(
            {name: metric_of(name).options()},
            [tmp_path / f"{number}.jsonl" for number in range(3)],
            settings=Settings(by=("source",), permutations=9, jobs=jobs),
        )[0].to_json()
        for jobs in (1, 2)
    ]
    assert results[0] == results[1]
    assert pieces.count(2) >= 3


@pytest.mark.parametrize("name", NAMES)
def test_equal_sizes_are_given_for_what_moves_with_length(name: str) -> None:
    metric = metric_of(name)
    # Long enough for a window.
    texts = [" ".join(VARIED[n:] + VARIED[:n]) for n in range(6)]
    result = run(name, {"few": texts * 2, "many": texts * 8}, Settings(permutations=9))
    compared = compared_names(metric, metric.options())
    if metric.match is None or not compared:
        assert "matched" not in result.tables
    else:
        assert {row["value"] for row in result.tables["matched"]} == set(compared)
        # Where all windows are blended, every text gives its own.
        per_text = {row[metric.match] / row.get("windows", 1) for row in result.tables["matched"]}
        assert len(per_text) == 1
        growing = [v for v in metric.values(metric.options()) if v.moves_with_texts]
        assert {row["source"] for row in result.tables["curve"]} == (
            {"few", "many"} if growing else set()
        )


@pytest.mark.parametrize("name", NAMES)
def test_a_value_that_moves_with_the_length_of_texts_has_a_partner_or_a_reason(name: str) -> None:
    metric = metric_of(name)
    moving = [v for v in metric.values(metric.options()) if v.moves_with_length and not v.size]
    assert not moving or metric.match in ("words", "sentences") or metric.uncut_reason


@pytest.fixture(scope="module")
def chapters() -> list[list[str]]:
    texts = list(lengths.sentences_of("bible:kjv", least=8, most=8))
    return texts[:: len(texts) // 128][:128]


@pytest.mark.parametrize("name", NAMES)
def test_the_record_says_what_a_value_moves_with(
    name: str, chapters: list[list[str]], tmp_path: Path
) -> None:
    """As measured: four times as many texts, and texts that are four times as long."""
    metric, corpus = metric_of(name), tmp_path / "others.txt"
    corpus.write_text(" ".join(sentence for text in chapters[1::2] for sentence in text))
    corpora = corpus_options(name)
    options = metric.options(**dict.fromkeys(corpora, str(corpus)))
    if any(need.field for need in metric.needs(options)):
        return  # it is about pairs of texts
    # Of very many values one seems to move by chance where there are few groups of texts.
    many = len(metric.values(options)) > 20
    own, groups = (chapters, 16) if many else (chapters[::2], 8)
    changes = lengths.measured_moves(name, options, own, groups=groups)
    for value in metric.values(options):
        if value.name in changes:
            said = (value.moves_with_texts, value.moves_with_length)
            for change, moves in zip(changes[value.name], said, strict=True):
                assert not (change.seen and not moves), (value.name, said, changes[value.name])
                assert not (change.still and moves), (value.name, said, changes[value.name])


def test_the_panel_names_measures_that_exist() -> None:
    assert {name for name, _ in panel()} <= set(NAMES)
