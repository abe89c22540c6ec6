"""Corrections, equivalence and tests of every two sources, over all measures."""

from __future__ import annotations

import json
import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import rote
from rote.compare.multiple_testing import CORRECTIONS, Correction
from rote.core.document import Document
from rote.core.errors import OptionError
from rote.core.result import Result
from rote.measure import Settings
from rote.measure.driver.compute import compute
from rote.measure.lexical import Options
from rote.report.export import results_csv, results_latex, results_markdown
from rote.report.result_tables import results_text
from rote.report.wording import describe_correction

from .test_contract import NAMES, REPEATED, VARIED, metric_of, no_weights, run

__all__ = ["no_weights"]  # embeddings without weights
TEXTS = {"a": VARIED, "b": [f"{text} b" for text in VARIED[:5]], "c": REPEATED}
WORDS = "heron water letter clock uncle rain cellar train coast orange lamp loaf".split()


def documents(sources: str = "abc", tasks: tuple[str, ...] = ("news",), texts: int = 12) -> Any:
    """Texts on shared prompts; `a` has few words, all others many."""
    rng = np.random.default_rng(3)
    return [
        Document(
            f"{task}-{source}-{n}",
            " ".join(rng.choice(WORDS[:3] if source == "a" else WORDS, 30)),
            {"source": source, "task": task, "doc_id": f"{task}{n}"},
        )
        for task in tasks
        for source in sources
        for n in range(texts)
    ]


def lexical(texts: Any, **settings: Any) -> Result:
    given = {"by": ("source",), "permutations": 99, **settings}
    return compute({"lexical": Options()}, texts, settings=Settings(**given))[0]


# Two measures stand for all where only the name of the correction is another.
@pytest.mark.parametrize(
    ("correction", "name"),
    [*(("holm", name) for name in NAMES), ("bh", "lexical"), ("bh", "semantic")],
)
def test_every_measure_corrects_over_all_its_values(name: str, correction: Correction) -> None:
    settings = Settings(reference="a", permutations=19, correction=correction)
    result = run(name, TEXTS, settings)
    if not metric_of(name).tested:
        assert not result.comparisons
        return
    every = [row for row in result.comparisons if not math.isnan(row["p"])]
    equal = [r for r in result.comparisons if not math.isnan(r.get("matched_p", math.nan))]
    p = [row["p"] for row in every] + [row["matched_p"] for row in equal]
    found = [row["p_corrected"] for row in every] + [row["matched_p_corrected"] for row in equal]
    # Six texts can be exchanged in few ways: no p is below that. Verdicts are a family apart.
    assert all(a >= b - 1e-9 for a, b in zip(found, p, strict=True))
    if len(p) > 1:
        families = result.tables["family"]
        assert {family["correction"] for family in families} == {correction}
        assert sum(family["tests"] for family in families) >= len(p)
        for family in families:
            if family["tests"] > 1:
                said = f"{CORRECTIONS[correction]} over {family['tests']} tests"
                assert said in " ".join(results_text([result]).split())


def test_a_panel_is_one_family_with_a_name() -> None:
    chosen = {name: metric_of(name).options() for name in ("compression", "self-repetition")}
    settings = Settings(by=("source",), reference="a", matched=False, correction="holm")
    found = compute(chosen, documents(), settings=settings, panel=True)
    rows = [row for result in found for row in result.comparisons]
    values = {(result.signature, row["value"]) for result in found for row in result.comparisons}
    assert len(rows) == 2 * len(values)
    said = f"Holm over {len(rows)} tests: {len(values)} values × 2 sources"
    assert describe_correction(found) == said
    assert f"corrected: {said}" in results_text(found)
    # Enough permutations that something can be found.
    assert all(row["permutations"] >= 40 * len(rows) - 1 for row in rows)
    assert all(row["tested"] for row in rows)


def test_facets_are_families_of_their_own() -> None:
    texts = documents(tasks=("news", "story"))
    result = lexical(texts, by=("task", "source"), reference="a", matched=False)
    families = {(row["facet"], row["of"]): row["tests"] for row in result.tables["family"]}
    assert families == {
        ("news", "verdicts"): 2,
        ("news", "details"): 14,
        ("story", "verdicts"): 2,
        ("story", "details"): 14,
    }
    assert describe_correction([result]) == (
        "verdicts: Westfall-Young over 2 tests: 1 value × 2 sources, in each facet; "
        "details: Westfall-Young over 14 tests: 7 values × 2 sources, in each facet"
    )


def test_too_few_permutations_for_holm_are_said_to_be_too_few() -> None:
    result = lexical(documents(), reference="a", correction="holm", matched=False)
    tested = {row["value"] for row in result.comparisons if row["tested"]}
    assert tested == {"unique"}  # the verdict has a family of its own


# Equivalence


@pytest.mark.parametrize("name", NAMES)
def test_every_measure_tests_equivalence(name: str) -> None:
    settings = Settings(reference="a", permutations=19, matched=False, equivalent="20%")
    result = run(name, TEXTS, settings)
    for row in result.comparisons:
        own, other = (result.by_source[row[who]] for who in ("source", "reference"))
        assert row["margin"] == pytest.approx(0.2 * abs(other.values[row["value"]]), nan_ok=True)
        known = all(row["value"] in source.intervals for source in (own, other))
        assert known or math.isnan(row["equivalence_p"])
        assert row["equivalent"] is (row["equivalence_p_corrected"] < 0.05)
    again = Result.from_json(result.to_json())
    assert again == result


def test_alike_is_said_only_where_it_was_tested() -> None:
    texts = documents("bcd", texts=40)
    plain = lexical(texts, reference="b", matched=False)
    assert "≈" not in results_text([plain])
    assert "No difference found" in results_text([plain])
    wide = lexical(texts, reference="b", matched=False, equivalent="50%")
    known = [row for row in wide.comparisons if not math.isnan(row["equivalence_p"])]
    assert {row["equivalent"] for row in known} == {True}
    for shown in (results_text([wide]), results_markdown([wide])):
        assert "≈" in shown
    assert r"\approx" in results_latex([wide])
    assert "≈ within 50% of b: two one-sided tests" in results_text([wide])
    tight = lexical(texts, reference="b", matched=False, equivalent="0.001%")
    assert {row["equivalent"] for row in tight.comparisons} == {False}
    far = lexical(documents("ab", texts=40), reference="b", matched=False, equivalent="5%")
    assert not any(row["equivalent"] for row in far.comparisons if row["value"] != "mattr")


def test_equivalence_needs_intervals_and_a_margin() -> None:
    with pytest.raises(OptionError, match="needs the intervals"):
        Settings(equivalent="5%", interval=0)
    with pytest.raises(OptionError, match="a margin is a percentage"):
        Settings(equivalent="much")


def test_the_smallest_difference_is_smaller_with_more_texts() -> None:
    few, many = (
        {
            row["value"]: row["detectable"]
            for row in lexical(documents("bc", texts=n), reference="b", matched=False).comparisons
        }
        for n in (20, 80)
    )
    # Means over texts: half as large with four times as many.
    for name in ("mattr", "mtld", "hdd"):
        if few[name] == few[name]:
            assert many[name] < 0.75 * few[name]


# Every two sources


@pytest.mark.parametrize("name", NAMES)
def test_every_measure_tests_every_two_sources_or_says_that_it_does_not(name: str) -> None:
    settings = Settings(reference="each", permutations=19)
    if not metric_of(name).tested:
        with pytest.raises(OptionError, match=f"{name} compares sources with one reference"):
            run(name, TEXTS, settings)
        return
    result = run(name, TEXTS, settings)
    assert result.reference == "each"
    pairs = list(dict.fromkeys((row["source"], row["reference"]) for row in result.comparisons))
    assert pairs == list(combinations(TEXTS, 2))
    # What is written comes from the JSON as well.
    again = Result.from_json(result.to_json())
    assert again == result
    assert "a − b" in results_text([again])
    assert "\npairs," in results_csv([again])
    if any(not math.isnan(row["difference"]) for row in result.comparisons):
        assert " − " in results_markdown([again])


def test_a_pair_is_tested_as_against_one_reference() -> None:
    every = lexical(documents(), reference="each")
    for reference in "bc":
        one = lexical(documents(), reference=reference)
        theirs = {(row["source"], row["value"]): row for row in one.comparisons}
        mine = [row for row in every.comparisons if row["reference"] == reference]
        assert mine
        for row in mine:
            other = theirs[row["source"], row["value"]]
            for field in ("difference", "p", "expected", "matched_p", "matched_difference"):
                assert repr(row.get(field)) == repr(other.get(field)), field
    alone = {row["value"]: row["p"] for row in every.comparisons}
    assert alone
    for row in every.comparisons:
        assert not row["p_corrected"] < row["p"]
    assert {family["pairs"] for family in every.tables["family"]} == {3}
    assert "× 3 pairs" in describe_correction([every])


def test_pairs_stay_within_the_values_of_the_other_fields() -> None:
    texts = documents("abc", tasks=("news", "story"), texts=6)
    result = lexical(texts, by=("task", "source"), reference="each", matched=False)
    pairs = {(row["source"], row["reference"]) for row in result.comparisons}
    assert pairs == {
        (f"{task}|{a}", f"{task}|{b}")
        for task in ("news", "story")
        for a, b in combinations("abc", 2)
    }
    shown = results_text([result])
    assert "story" in shown
    assert "a − b" in shown


def test_each_is_refused_where_it_makes_no_sense() -> None:
    with pytest.raises(OptionError, match="there is only one"):
        lexical(documents("a"), reference="each")
    with pytest.raises(OptionError, match="is called 'each'"):
        lexical({"each": VARIED, "b": VARIED}, by=(), reference="each")


def test_what_a_saved_result_says_of_its_tests_stays(tmp_path: Any) -> None:
    saved = lexical(documents(), reference="a", matched=False)
    path = tmp_path / "lexical.json"
    path.write_text(saved.to_json())
    made = rote.report(
        documents(),
        by=("source",),
        reference="a",
        measures=("compression",),
        results=(path,),
        permutations=99,
    )
    kept = next(one for one in made.results if one.measure == "lexical")
    assert json.loads(kept.to_json())["comparisons"] == json.loads(saved.to_json())["comparisons"]
