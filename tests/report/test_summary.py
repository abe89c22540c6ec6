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
from rote.report.grid import GridRow, make_grid
from rote.report.report import Statement
from rote.report.summary import summarize, summary
from rote.report.verdicts import judge_facets
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


def of_kind(statements: list[Statement], kind: str) -> list[Statement]:
    return [one for one in statements if one.kind == kind]


def test_a_difference_is_told_with_its_size_interval_and_p_and_where_there_is_more() -> None:
    (one,) = of_kind(summary(study([templates()])), "difference")
    # 0.063 / 0.041 - 1 = 53.7 %; hypot(0.003 / 0.041, 1.537 * 0.002 / 0.041) = 0.1049.
    assert one.text == (
        "gpt repeats templates more than human: 0.0630 against 0.0410 templates per word (+54 %, "
        "95 % interval +44 to +64 %, p = 0.002)."
    )
    assert (one.measure, one.value, one.source) == ("templates", "per_token", "gpt")
    assert (one.direction, one.state, one.p) == ("more repetitive", "differs", 0.002)
    assert (one.section, one.aspect) == ("values-templates", "Templates")
    assert one.difference == pytest.approx(0.022)
    assert one.relative == pytest.approx(0.022 / 0.041)


def test_what_is_not_found_is_told_with_its_size_and_what_would_have_been_detected() -> None:
    made = templates(p=0.3, gpt=0.042)
    rows = [{**row, "detectable": 0.0041} for row in made.comparisons]
    said = summary(study([replace(made, comparisons=rows)]))
    assert [one.text for one in said] == [
        "gpt shows no difference from human in the one aspect.",
        # +2.4 %; a tenth of 0.041 would have been detected.
        "Templates: no difference found for gpt and human (+2.4 %, 95 % interval −6 to +11 %, "
        "p = 0.30; 10 % or more would have been detected).",
    ]


def test_a_verdict_at_equal_length_is_told_with_the_values_at_equal_length() -> None:
    one = result(
        *("lexical", "unique", {"human": (0.60, 0.01), "gpt": (0.62, 0.01)}),
        equal_length(-0.06, 0.005),
        higher="diverse",
        length_sensitive=True,
        matched={"human": 0.60, "gpt": 0.54},
    )
    (found,) = of_kind(summary(study([one])), "difference")
    assert found.text == (
        "gpt uses less varied words than human: at equal length unique 0.540 "
        "against 0.600 (−10.0 %, p = 0.005)."
    )
    assert found.direction == "more repetitive"
    assert found.difference == pytest.approx(-0.06)


def test_values_that_move_with_length_are_ranked_by_no_sentence() -> None:
    one = result(
        *("lexical", "unique", {"a": (0.5, 0.01), "b": (0.7, 0.01), "c": (0.6, 0.01)}),
        reference=None,
        length_sensitive=True,
    )
    assert summary(study([one], None)) == []


def test_without_tests_nothing_is_said_to_differ_or_not_to() -> None:
    one = result("templates", "per_token", {"human": (0.041, 0.002), "gpt": (0.063, 0.003)})
    assert summary(study([one])) == []


def test_a_facet_is_named_and_so_is_each_of_two_sources() -> None:
    names = {"news|human": (0.04, 0.001), "news|a": (0.04, 0.001), "news|b": (0.08, 0.001)}
    one = result(
        *("templates", "per_token", names),
        {"news|a": {"p": 0.9, "p_corrected": 0.9}, "news|b": {"p": 0.005, "p_corrected": 0.01}},
    )
    said = summary(study([one]))
    assert [one.text for one in said[:2]] == [
        "news: b is more repetitive than human in the one aspect.",
        "news: a shows no difference from human in the one aspect.",
    ]
    assert (said[0].source, said[0].facet) == ("b", "news")


def test_many_sources_share_a_sentence_and_five_open_the_report() -> None:
    sources = {"human": (0.5, 0.001), **{f"model-{n}": (0.6, 0.001) for n in range(8)}}
    sources["model-7"] = (0.5, 0.001)
    tests = {name: {"p": 0.005, "p_corrected": 0.04} for name in sources if name != "human"}
    tests["model-7"] = {"p": 0.9, "p_corrected": 0.9}
    results = [
        result(measure, headline.value, sources, tests)
        for measure, headline in HEADLINES
        if measure in ("templates", "lexical", "semantic", "homogenization")
    ]
    found = summarize(study(results))
    (whole,) = of_kind(list(found.statements), "overall")
    assert whole.text == (
        "Of 4 aspects, model-0, model-1, model-2, model-3, model-4, model-5 and model-6 are more "
        "repetitive than human in 4; model-7 shows no difference."
    )
    opening = found.opening()
    assert len(opening) == 5
    assert opening[0] == whole
    assert len(of_kind(opening, "difference")) == 3
    assert [*opening, *found.rest()] == sorted(
        found.statements, key=[*opening, *found.rest()].index
    )


def test_a_source_is_first_described_as_a_whole() -> None:
    lexical = result(
        *("lexical", "unique", {"human": (0.55, 0.02), "gpt": (0.52, 0.02)}),
        {"gpt": {"p": 0.4, "p_corrected": 0.4}},
        higher="diverse",
    )
    said = summary(study([templates(), lexical]))
    assert said[0].kind == "overall"
    assert said[0].text == (
        "gpt is more repetitive than human in 1 of 2 aspects; 1 shows no difference."
    )


def test_lower_diversity_counts_as_more_repetitive() -> None:
    lexical = result(
        *("lexical", "unique", {"human": (0.55, 0.01), "gpt": (0.50, 0.01)}),
        {"gpt": {"p": 0.005, "p_corrected": 0.005}},
        higher="diverse",
    )
    (one,) = of_kind(summary(study([lexical])), "difference")
    assert one.direction == "more repetitive"
    assert one.text.startswith("gpt uses less varied words than human: unique")


def test_a_reference_of_zero_has_no_relative_difference() -> None:
    one = result(
        *("templates", "per_token", {"human": (0.0, 0.0), "gpt": (0.02, 0.002)}),
        {"gpt": {"p": 0.005, "p_corrected": 0.005}},
    )
    (found,) = of_kind(summary(study([one])), "difference")
    assert "(+0.0200, 95 % interval +0.0180 to +0.0220, p = 0.005" in found.text
    assert found.relative is None


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


def test_scores_that_rise_towards_the_training_set_are_told_without_a_cause() -> None:
    made = result("overlap", "rouge_2_ratio", {"human": (1.0, 0.2), "gpt": (3.0, 0.5)})
    said = [one.text for one in of_kind(summary(study([made])), "found")]
    assert said == [
        "The ROUGE-2 of gpt is 3.00 times as high on the items closest to the training set as on "
        "the farthest (95 % interval 2.50 to 3.50). Such items may also be easier."
    ]


def test_no_statement_speaks_of_causes() -> None:
    said = summary(study([templates(), templates(p=0.4)]))
    assert not any(word in one.text for one in said for word in ("because", "cause", "due to"))


def test_popularity_is_told_with_its_interval() -> None:
    values = {"accuracy_difference": 0.1, "accuracy_high": 0.8, "accuracy_low": 0.7, "ips": 5.0}
    made = result("popularity", "ips", {"piqa": (5.0, 0.1)}, reference=None)
    source = replace(
        made.by_source["piqa"], values=values, intervals={"accuracy_difference": (0.02, 0.18)}
    )
    said = summary(study([replace(made, by_source={"piqa": source})], None))
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
    (facet,) = judge_facets([made])
    (found,) = facet.comparisons
    ratios = [
        rng.gauss(own, reach / 1.96) / rng.gauss(reference, other / 1.96) for _ in range(2_000)
    ]
    mean = sum(ratios) / len(ratios)
    spread = math.sqrt(sum((ratio - mean) ** 2 for ratio in ratios) / len(ratios))
    low, high = found.relative_interval
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
                *(measure, one.value, {"human": (0.5, 0.1), **dict.fromkeys(names, (0.4, 0.1))}),
                tests,
            )
            for measure, one in HEADLINES
        ]
        count = {"grid": 0, "cells": 0}

        def counted(of: Result) -> list[GridRow]:
            rows = make_grid(of)
            count["grid"] += 1
            count["cells"] += sum(len(row.cells) for row in rows)
            return rows

        monkeypatch.setattr("rote.report.verdicts.make_grid", counted)
        summary(study(results))
        return count["grid"], count["cells"]

    (few, cells), (many, more) = made(5), made(40)
    assert few == many > 0
    assert more / cells == pytest.approx(41 / 6)
