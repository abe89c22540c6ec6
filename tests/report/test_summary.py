"""What a summary says of results whose numbers are known, word by word."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.core.result import Result
from rote.measure import metrics
from rote.report._grid import GridRow, grid
from rote.report.report import Judged, Statement
from rote.report.summary import summarized, summary
from rote.report.summary.contrast import contrasts
from tests.report.made_results import NAN, result, study

HEADLINES = [(metric.name, headline) for metric in metrics() for headline in metric.headlines]


def templates(p: float = 0.002, gpt: float = 0.063, **more: object) -> Result:
    return result(
        *("templates", "per_token", {"human": (0.041, 0.002), "gpt": (gpt, 0.003)}),
        {"gpt": {"p": p, "p_corrected": p}},
        **more,  # type: ignore[arg-type]
    )


def equal_length(difference: float, p: float) -> dict[str, dict[str, float]]:
    """A test that tells the two apart, and one at equal length."""
    matched = {"matched_difference": difference, "matched_p": p, "matched_p_corrected": p}
    return {"gpt": {"p": 0.005, "p_corrected": 0.005, **matched}}


def in_matrix(one: Result) -> Judged:
    """The only cell."""
    ((cell,),) = ([*row.values()] for row in summarized(study([one])).matrices[0].cells.values())
    return cell


def of_kind(statements: list[Statement], kind: str) -> list[Statement]:
    return [one for one in statements if one.kind == kind]


def test_a_difference_is_told_with_its_size_interval_and_p() -> None:
    (one,) = of_kind(summary(study([templates()])), "difference")
    # 0.063 / 0.041 - 1 = 53.7 %; hypot(0.003 / 0.041, 1.537 * 0.002 / 0.041) = 0.1049.
    assert one.text == (
        "gpt repeats templates of grammar more than human: 0.0630 against 0.0410 templates per "
        "word (+54 %, 95 % interval +44 to +64 %, p = 0.002)."
    )
    assert (one.measure, one.value, one.source) == ("templates", "per_token", "gpt")
    assert (one.direction, one.sure, one.p) == ("more repetitive", "sure", 0.002)
    assert one.difference == pytest.approx(0.022)
    assert one.relative == pytest.approx(0.022 / 0.041)


def test_a_source_is_first_described_as_a_whole() -> None:
    lexical = result(
        *("lexical", "unique", {"human": (0.55, 0.02), "gpt": (0.52, 0.02)}),
        {"gpt": {"p": 0.4, "p_corrected": 0.4}},
        higher="diverse",
    )
    said = summary(study([templates(), lexical]))
    assert said[0].kind == "overall"
    assert said[0].text == (
        "gpt is more repetitive than human in 1 of 2 respects; in 1 no difference was found."
    )


def test_lower_diversity_counts_as_more_repetitive() -> None:
    lexical = result(
        *("lexical", "unique", {"human": (0.55, 0.01), "gpt": (0.50, 0.01)}),
        {"gpt": {"p": 0.005, "p_corrected": 0.005}},
        higher="diverse",
    )
    (one,) = of_kind(summary(study([lexical])), "difference")
    assert one.direction == "more repetitive"
    assert one.text.startswith("gpt uses less varied words than human: share of different n-grams")


def test_what_is_not_significant_is_said_to_be_not_found_with_how_large_it_may_be() -> None:
    said = summary(study([templates(p=0.3, gpt=0.042)]))
    # +2.4 %, and hypot(0.003 / 0.041, 1.024 * 0.002 / 0.041) = 8.9 %, so up to 11 %.
    assert ": could be up to 11 % (" in in_matrix(templates(p=0.3, gpt=0.042)).said
    assert said[0].text == "No difference between gpt and human was found."
    assert not of_kind(said, "difference")


def test_a_test_without_an_interval_that_agrees_is_told_as_probable() -> None:
    (one,) = of_kind(summary(study([templates(p=0.03, gpt=0.043)])), "difference")
    assert one.sure == "likely"
    assert one.text.startswith("gpt probably repeats templates of grammar more than human")


def test_a_difference_that_is_not_found_at_equal_length_is_told_as_length() -> None:
    one = result(
        *("lexical", "unique", {"human": (0.60, 0.01), "gpt": (0.50, 0.01)}),
        equal_length(0.002, 0.7),
        higher="diverse",
        length_sensitive=True,
        matched={"human": 0.598, "gpt": 0.600},
    )
    said = summary(study([one]))
    (found,) = of_kind(said, "length")
    assert found.text == (
        "gpt uses less varied words than human (share of different n-grams 0.500 "
        "against 0.600), but at equal length no difference was found: 0.600 against 0.598 "
        "(p = 0.70)."
    )
    assert (found.direction, found.sure) == ("", "not")
    assert not of_kind(said, "difference")
    assert said[0].text == "No difference between gpt and human was found at equal length."


def test_a_difference_that_is_not_found_at_equal_length_is_not_said_to_be_gone() -> None:
    """Windows hold less text: 1.33 against 0.59 may be as large a difference as before."""
    one = result(
        *("lexical", "unique", {"human": (0.60, 0.01), "gpt": (0.50, 0.01)}),
        equal_length(-0.15, 0.1),
        higher="diverse",
        length_sensitive=True,
        matched={"human": 0.60, "gpt": 0.45},
    )
    said = summary(study([templates(), one]))
    assert said[0].text == (
        "gpt is more repetitive than human in 1 of 2 respects; in 1 a difference was found, but "
        "not at equal length."
    )
    (found,) = of_kind(said, "length")
    assert found.text.endswith("no difference was found: 0.450 against 0.600 (p = 0.10).")


def test_a_difference_that_stays_at_equal_length_says_so() -> None:
    one = result(
        *("lexical", "unique", {"human": (0.60, 0.01), "gpt": (0.50, 0.01)}),
        equal_length(-0.06, 0.005),
        higher="diverse",
        length_sensitive=True,
        matched={"human": 0.60, "gpt": 0.54},
    )
    (found,) = of_kind(summary(study([one])), "difference")
    assert found.text.endswith("p = 0.005). At equal length: 0.540 against 0.600.")


def test_a_difference_that_only_equal_length_shows_is_told_from_there() -> None:
    one = result(
        *("lexical", "unique", {"human": (0.60, 0.01), "gpt": (0.62, 0.01)}),
        equal_length(-0.06, 0.005),
        higher="diverse",
        length_sensitive=True,
        matched={"human": 0.60, "gpt": 0.54},
    )
    (found,) = of_kind(summary(study([one])), "difference")
    assert found.text == (
        "At equal length gpt uses less varied words than human: share of different n-grams "
        "0.540 against 0.600 (p = 0.005); over all texts it is 0.620 against 0.600, "
        "which length moves."
    )
    assert found.direction == "more repetitive"
    assert found.difference == pytest.approx(-0.06)


def test_texts_of_another_length_are_told_and_hedge_values_that_move_with_it() -> None:
    said = summary(
        study([templates(length_sensitive=True, words={"human": 40_000, "gpt": 20_000})])
    )
    assert said[0].text == "The texts of gpt are 50 % shorter than those of human."
    (found,) = of_kind(said, "difference")
    assert found.text.endswith("Its texts are 50 % shorter, and this value moves with length.")


def test_without_a_reference_sources_stand_side_by_side_and_nothing_is_tested() -> None:
    one = result(
        *("templates", "per_token", {"a": (0.04, 0.002), "b": (0.06, 0.002), "c": (0.05, 0.002)}),
        reference=None,
    )
    said = summary(study([one], None))
    assert said[0].kind == "scope"
    assert said[0].text.startswith("There is no reference")
    assert said[1].text == (
        "Templates of grammar: from 0.0400 (a) to 0.0600 (b) templates per word; their intervals "
        "do not meet."
    )
    assert all(one.p is None for one in said)


def test_intervals_that_overlap_leave_the_order_open() -> None:
    one = result("templates", "per_token", {"a": (0.04, 0.02), "b": (0.05, 0.02)}, reference=None)
    assert summary(study([one], None))[1].text.endswith("so that the order is open.")


def test_one_source_alone_is_compared_with_nothing() -> None:
    one = result("templates", "per_token", {"a": (0.04, 0.002)}, reference=None)
    said = summary(study([one], None))
    assert said[0].text == "There is one source and no reference: nothing is compared."
    assert "0.0400 templates per word, a (95 % interval" in said[1].text


def test_too_few_texts_are_said_to_be_too_few_and_nothing_is_compared() -> None:
    said = summary(study([templates(texts={"human": 100, "gpt": 3})]))
    assert [one.kind for one in said] == ["scope"]
    assert said[0].text == "gpt has 3 texts: too few to say what differs."


def test_few_texts_are_compared_with_a_warning() -> None:
    said = summary(study([templates(texts={"human": 100, "gpt": 8})]))
    assert said[0].text.startswith("gpt has 8 texts: intervals are rough")
    assert of_kind(said, "difference")


def test_an_undefined_value_is_shown_as_undefined() -> None:
    lexical = result(
        *("lexical", "unique", {"human": (0.55, 0.02), "gpt": (NAN, 0.0)}),
        {"gpt": {"p": NAN, "p_corrected": NAN}},
        higher="diverse",
    )
    assert not summary(study([lexical]))
    assert in_matrix(lexical).line == "–"


def test_a_reference_of_zero_has_no_relative_difference() -> None:
    one = result(
        *("templates", "per_token", {"human": (0.0, 0.0), "gpt": (0.02, 0.002)}),
        {"gpt": {"p": 0.005, "p_corrected": 0.005}},
    )
    (found,) = of_kind(summary(study([one])), "difference")
    assert "difference +0.0200, 95 % interval +0.0180 to +0.0220, p = 0.005" in found.text
    assert found.relative is None


def test_without_tests_nothing_is_said_to_differ_or_not_to() -> None:
    one = result("templates", "per_token", {"human": (0.041, 0.002), "gpt": (0.063, 0.003)})
    (found,) = summary(study([one]))
    assert (found.kind, found.sure) == ("untested", "untested")
    assert found.text == (
        "Whether gpt differs from human was not tested in 1 respect; the notes of the measures say "
        "why."
    )
    assert in_matrix(one).said.endswith("(+54 %, 95 % interval +44 to +64 %)")


@pytest.mark.parametrize("p", [0.05, 0.3])
def test_too_few_permutations_to_find_anything_are_told_first(p: float) -> None:
    made = templates(p=p)
    rows = [{**row, "floor": 0.05, "tested": False} for row in made.comparisons]
    said = summary(study([replace(made, comparisons=rows, notes=("not tested against x: y",))]))
    assert [one.kind for one in said] == ["scope", "untested"]
    assert said[0].text == "Not tested against x: y."
    # Beside others that are tested it names the measure.
    untested = replace(made, comparisons=rows, notes=("not tested against x: y",))
    other = {"human": (0.8, 0.01), "gpt": (0.7, 0.01)}
    tested = result("lexical", "mattr", other, {"gpt": {"p": 0.01, "p_corrected": 0.01}})
    assert summary(study([untested, tested]))[0].text == "Templates: not tested against x: y."
    # What an older version kept does not say whether it was tested, but how often it drew.
    rows = [{**row, "permutations": 19} for row in made.comparisons]
    assert [one.kind for one in summary(study([replace(made, comparisons=rows)]))] == ["untested"]


def test_what_is_told_apart_at_equal_length_alone_is_told_though_the_rest_was_not_tested() -> None:
    equal = {"matched_difference": 0.02, "matched_p": 0.01, "matched_p_corrected": 0.01}
    made = result(
        *("templates", "per_token", {"human": (0.041, 0.002), "gpt": (0.063, 0.003)}),
        {"gpt": {"p": 0.2, "p_corrected": 0.2, "tested": False, "matched_tested": True, **equal}},
    )
    kinds = [one.kind for one in summary(study([made]))]
    assert "untested" not in kinds
    assert "difference" in kinds


def test_recall_stands_beside_what_halves_of_the_reference_reach() -> None:
    made = result("precision-recall", "tree_recall", {"human": (NAN, 0), "gpt": (0.4, 0.05)})
    halves = [
        {"source": name, "value": "tree_recall", "mean": mean, "sd": 0.01, "draws": 50}
        for name, mean in (("human", 0.7), ("gpt", 0.3))
    ]
    said = summary(study([replace(made, tables={**made.tables, "baseline": halves})]))
    assert [one.text for one in said] == [
        "gpt reaches 40 % of human's sentence structures (95 % interval 35 % to 45 %). Halves of "
        "the texts that share no doc_id: gpt 30 %, human itself 70 %."
    ]


def test_a_value_that_is_nowhere_is_told_as_none() -> None:
    made = result(
        *("contamination", "contaminated", {"human": (0.0, 0.0), "gpt": (0.0, 0.0)}),
        {"gpt": {"p": 1.0, "p_corrected": 1.0}},
    )
    assert ": none in either" in in_matrix(made).said


def test_scores_that_rise_towards_the_training_set_are_told_without_a_cause() -> None:
    made = result("overlap", "rouge_2_ratio", {"human": (1.0, 0.2), "gpt": (3.0, 0.5)})
    said = [one.text for one in of_kind(summary(study([made])), "found")]
    assert said == [
        "The ROUGE-2 of gpt is 3.00 times as high on the items closest to the training set as on "
        "the farthest (95 % interval 2.50 to 3.50). Such items may also be easier."
    ]


def test_sources_that_differ_most_come_first_and_a_facet_is_named() -> None:
    names = {"news|human": (0.04, 0.001), "news|a": (0.04, 0.001), "news|b": (0.08, 0.001)}
    one = result(
        *("templates", "per_token", names),
        {"news|a": {"p": 0.9, "p_corrected": 0.9}, "news|b": {"p": 0.005, "p_corrected": 0.01}},
    )
    said = summary(study([one]))
    assert said[0].text.startswith("news: b is more repetitive than human")
    assert said[0].source == "news|b"
    assert said[0].facet == "news"


def test_many_differences_are_told_one_by_one_only_so_far() -> None:
    sources = {"human": (0.5, 0.001), **{f"model-{n}": (0.6, 0.001) for n in range(8)}}
    tests = {name: {"p": 0.005, "p_corrected": 0.04} for name in sources if name != "human"}
    results = [
        result(measure, headline.value, sources, tests)
        for measure, headline in HEADLINES
        if measure in ("templates", "lexical", "semantic", "homogenization")
    ]
    said = summary(study(results))
    assert len(of_kind(said, "overall")) == 8
    assert len([one for one in of_kind(said, "difference") if one.measure]) == 16


def test_a_difference_in_the_other_direction_is_not_lost_among_many() -> None:
    """The weakest of eight is the only one that is more diverse: it is told by itself."""
    results = [
        result(
            *(
                measure,
                headline.value,
                {"human": (0.5, 0.01), "gpt": (0.6 + n / 50, 0.01)},
            ),
            {"gpt": {"p": 0.005, "p_corrected": 0.005}},
            higher="diverse" if n == 0 else "repetitive",
        )
        for n, (measure, headline) in enumerate(HEADLINES[:8])
    ]
    said = summary(study(results))
    told = [one for one in of_kind(said, "difference") if one.measure]
    assert [one.direction for one in told].count("more diverse") == 1
    assert said[0].text.startswith("gpt is more repetitive than human in 7 of 8 respects and more")


def test_no_statement_speaks_of_causes() -> None:
    said = summary(study([templates(), templates(p=0.4)]))
    assert not any(word in one.text for one in said for word in ("because", "cause", "due to"))


def test_popularity_is_told_with_its_interval() -> None:
    values = {"accuracy_difference": 0.1, "accuracy_high": 0.8, "accuracy_low": 0.7, "ips": 5.0}
    made = result("popularity", "ips", {"piqa": (5.0, 0.1)}, reference=None)
    source = replace(
        made.sources["piqa"], values=values, intervals={"accuracy_difference": (0.02, 0.18)}
    )
    said = summary(study([replace(made, sources={"piqa": source})], None))
    assert [one.text for one in said] == [
        "piqa: accuracy is 80 % on the more popular half and 70 % on the less popular one (+10.0 "
        "points, 95 % interval +2.0 points to +18.0 points)."
    ]


@given(st.integers(0, 2**32))
def test_the_interval_of_a_ratio_is_that_of_drawn_pairs(seed: int) -> None:
    """That of the logarithm beside 2,000 pairs of normal numbers."""
    rng = random.Random(seed)
    reference, own = rng.uniform(0.5, 2), rng.uniform(0.5, 2)
    reach, other = (rng.uniform(0.002, 0.02) for _ in range(2))
    made = result("templates", "per_token", {"human": (reference, other), "gpt": (own, reach)})
    headline = dict(HEADLINES)["templates"]
    (found,) = contrasts(made, headline)
    ratios = [
        rng.gauss(own, reach / 1.96) / rng.gauss(reference, other / 1.96) for _ in range(2_000)
    ]
    mean = sum(ratios) / len(ratios)
    spread = math.sqrt(sum((ratio - mean) ** 2 for ratio in ratios) / len(ratios))
    low, high = found.relative_ends
    assert (high - low) / 2 == pytest.approx(1.96 * spread, rel=0.1)
    assert low < found.relative < high
    assert found.relative == pytest.approx(mean - 1, abs=0.01)


def test_the_work_of_a_summary_grows_with_the_sources_and_no_faster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def made(sources: int) -> tuple[int, int]:
        """How often results were laid out, and cells made."""
        names = [f"s{number}" for number in range(sources)]
        tests = {name: {"p": 0.5, "p_corrected": 0.5, "permutations": 9999} for name in names}
        results = [
            result(
                *(
                    measure,
                    one.value,
                    {"human": (0.5, 0.1), **dict.fromkeys(names, (0.4, 0.1))},
                ),
                tests,
            )
            for measure, one in HEADLINES
        ]
        count = {"grid": 0, "cells": 0}

        def counted(of: Result) -> list[GridRow]:
            rows = grid(of)
            count["grid"] += 1
            count["cells"] += sum(len(row.cells) for row in rows)
            return rows

        monkeypatch.setattr("rote.report.summary.contrast.grid", counted)
        summary(study(results))
        return count["grid"], count["cells"]

    (few, cells), (many, more) = made(5), made(40)
    assert few == many > 0
    assert more / cells == pytest.approx(41 / 6)
