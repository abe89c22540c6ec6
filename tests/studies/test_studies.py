"""Correlations over facets, and what a factor does, from results made by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import rote
from rote.core.errors import OptionError, UnknownName
from rote.core.result import Result
from tests.studies.saved import columns, made

X = [1.0, 2, 3, 4, 5]
Y = [2.0, 1, 4, 3, 5]


def correlated(*results: Result, **options: Any) -> Result:
    return rote.correlate(results, values="all", **options)


def row(result: Result, name: str, **wanted: object) -> Any:
    found = [r for r in result.tables[name] if all(r[k] == v for k, v in wanted.items())]
    assert len(found) == 1, found
    return found[0]


def by_task(shift: float) -> Result:
    """Two tasks; in each y falls as x rises, and the second task is higher in both."""
    held = {}
    for task, more in (("t1", 0.0), ("t2", shift)):
        for place, name in enumerate("abcd"):
            held[f"{task}|{name}"] = {"x": more + place, "y": more - place + 0.1 * (place == 2)}
        held[f"{task}|human"] = {"x": 99.0, "y": 99.0}
    return made(held, by=("task", "source"), reference="human")


def test_the_rows_hold_what_scipy_says() -> None:
    found = row(correlated(columns(x=X, y=Y)), "correlations")
    assert (found["facet"], found["a"], found["b"]) == ("", "lexical.x", "lexical.y")
    assert found["n"] == 5
    expected = stats.pearsonr(X, Y)
    low, high = expected.confidence_interval()
    assert found["pearson"] == pytest.approx(expected.statistic)
    assert (found["pearson_low"], found["pearson_high"]) == pytest.approx((low, high))
    assert found["spearman"] == pytest.approx(0.8)
    assert found["pearson_p_corrected"] == found["pearson_p"]


def test_p_values_are_corrected_over_the_pairs_of_a_facet() -> None:
    rng = np.random.default_rng(0)
    held = {name: rng.normal(size=7).tolist() for name in ("x", "y", "z")}
    found = correlated(columns(**held)).tables["correlations"]
    p = sorted(r["spearman_p"] for r in found)
    assert min(r["spearman_p_corrected"] for r in found) == pytest.approx(min(1, 3 * p[0]))
    found = correlated(columns(**held), correction="bh").tables["correlations"]
    expected = stats.false_discovery_control([r["pearson_p"] for r in found])
    assert [r["pearson_p_corrected"] for r in found] == pytest.approx(expected.tolist())


def test_facets_are_correlated_one_by_one_and_pooled_after_centring() -> None:
    found = correlated(by_task(100.0))
    for task in ("t1", "t2"):
        own = row(found, "correlations", facet=task)
        assert own["pearson"] < -0.99
        assert own["n"] == 4
    pooled = row(found, "pooled")
    assert pooled["facets"] == 2
    # Over all eight the two tasks would look like a perfect correlation the other way.
    assert pooled["pearson"] < -0.99
    assert any("t1, t2: the 4 sources that they share (a, b, c, d)" in n for n in found.notes)


def test_the_reference_counts_only_where_asked_for() -> None:
    found = correlated(by_task(0.0), with_reference=True)
    assert row(found, "correlations", facet="t1")["pearson"] > 0.9
    assert [r["name"] for r in found.tables["members"]].count("human") == 2


def test_facets_may_be_named_and_be_left_out() -> None:
    held = {f"{task}|{name}": {"x": ord(name), "y": 1.0} for task in "pq" for name in "abc"}
    held["p|a"]["y"] = held["q|b"]["y"] = 2.0
    result = made(held, by=("task", "source"))
    assert len(correlated(result).tables["correlations"]) == 1
    assert len(correlated(result, facet=("task",)).tables["correlations"]) == 2
    assert len(correlated(result, facet=("task",), without=("q",)).tables["correlations"]) == 1
    with pytest.raises(UnknownName, match="did you mean 'task'"):
        correlated(result, facet=("tsk",))
    with pytest.raises(OptionError, match="all fields"):
        correlated(result, facet=("task", "source"))


def test_facets_that_share_too_few_sources_are_not_pooled() -> None:
    held: dict[str, Any] = {}
    for task, names in (("t1", "abc"), ("t2", "cde")):
        for place, name in enumerate(f"{names}h"):
            held[f"{task}|{name}"] = {"x": place, "y": place**2}
    found = correlated(made(held, by=("task", "source"), reference="h"))
    assert found.tables["pooled"] == []
    assert "not pooled: no two facets share 3 sources" in found.notes


def test_a_constant_column_is_undefined_with_a_reason() -> None:
    found = row(correlated(columns(x=X, y=[3.0] * 5, z=Y)), "correlations", b="lexical.y")
    assert math.isnan(found["pearson"])
    assert math.isnan(found["spearman_p_corrected"])
    assert found["note"] == "the second is the same in all sources"


def test_missing_values_are_left_out_pair_by_pair_and_said() -> None:
    found = correlated(columns(x=X, y=Y, z=[1.0, 5, math.nan, 2, math.nan]))
    assert [r["n"] for r in found.tables["correlations"]] == [5, 3, 3]
    assert "lexical.z exists for 3 of 5 sources: its pairs leave out the others" in (found.notes)


def test_values_that_are_mostly_chance_are_said() -> None:
    held = {name: {"x": (X[i], 4.0), "y": (Y[i], 0.01)} for i, name in enumerate("abcde")}
    found = correlated(made(held))
    noise = {r["column"]: r["noise"] for r in found.tables["columns"]}
    # 4 / 1.984 (t of 100 texts) is the standard error, 2.5 the variance of 1 to 5.
    assert noise["lexical.x"] == 1.0
    assert noise["lexical.y"] == pytest.approx((0.01 / 1.98422) ** 2 / 2.5, rel=1e-4)
    assert any("in lexical.x may be chance" in note for note in found.notes)


def test_too_few_sources_or_columns_are_refused() -> None:
    with pytest.raises(OptionError, match="at most 2 sources have two of the columns"):
        correlated(columns(x=X[:2], y=Y[:2]))
    with pytest.raises(OptionError, match=r"needs two columns: there is only lexical\.x"):
        correlated(columns(x=X))
    apart = made({name: {"gzip": 1.0} for name in "vwxyz"}, measure="compression")
    with pytest.raises(
        OptionError, match=r"no source has two.*lexical, compression.*do the names of sources match"
    ):
        correlated(columns(x=X), apart)


LEVELS = ("0.2", "1.0", "0.6")


def swept(**by_source: tuple[float, ...]) -> Result:
    """Values of each source at the temperatures 0.2, 1.0, 0.6, with intervals."""
    held: dict[str, Any] = {
        f"{source}|{level}": {"unique": (value, 0.1)}
        for source, values in by_source.items()
        for level, value in zip(LEVELS, values)
        if not math.isnan(value)
    }
    held["human|none"] = {"unique": (0.9, 0.05)}
    return made(held, by=("source", "temperature"), reference="human")


def studied(result: Result, over: str = "temperature", **options: Any) -> Result:
    return rote.factors(result, values="all", over=over, **options)


def test_trends_slopes_and_changes_of_a_numeric_factor() -> None:
    found = studied(swept(m=(0.1, 0.5, 0.3), n=(0.4, 0.2, 0.4)))
    assert [r["level"] for r in found.tables["levels"]] == ["0.2", "0.6", "1.0"]
    trend = row(found, "trends", source="m")
    assert trend["spearman"] == pytest.approx(1)
    assert trend["p"] == pytest.approx(2 / 6)
    # Straight line: 0.4 over 0.8 degrees; x lies 0.4, 0, 0.4 from its mean, so 0.32 in squares.
    assert trend["slope"] == pytest.approx(0.5)
    # Two values of 100 texts each: 198 degrees of freedom.
    error = 0.1 / stats.t.ppf(0.975, 99)
    reach = stats.t.ppf(0.975, 198) * error * math.hypot(0.4, 0.4) / 0.32
    assert trend["slope_high"] - trend["slope"] == pytest.approx(reach)
    assert trend["change"] == pytest.approx(0.4)
    reach = stats.t.ppf(0.975, 198) * error * math.sqrt(2)
    assert trend["change"] - trend["change_low"] == pytest.approx(reach)
    assert (trend["first"], trend["last"]) == ("0.2", "1.0")


def test_changes_over_sources_are_tested_together() -> None:
    found = studied(swept(m=(0.1, 0.5, 0.3), n=(0.2, 0.3, 0.4), o=(0.3, 0.5, 0.1)))
    change = row(found, "changes")
    changes = [0.4, 0.1, 0.2]
    assert change["mean"] == pytest.approx(np.mean(changes))
    assert (change["sources"], change["up"], change["down"]) == (3, 3, 0)
    assert change["p_sign"] == change["p_wilcoxon"] == pytest.approx(0.25)
    low, high = stats.t.interval(0.95, 2, np.mean(changes), stats.sem(changes))
    assert (change["low"], change["high"]) == pytest.approx((low, high))


def test_w_is_that_of_the_levels_as_judges_of_the_sources() -> None:
    found = studied(swept(m=(0.1, 0.5, 0.2), n=(0.2, 0.6, 0.3), o=(0.3, 0.1, 0.4)))
    judged = row(found, "agreement")
    # Ranks of m, n, o: 1 2 3, 1 2 3, 2 3 1; sums 4, 7, 7 about 6: S = 6, of 18 at most.
    assert judged["w"] == pytest.approx(6 / 18)
    assert judged["sources"] == ["m", "n", "o"]
    between = {(r["level"], r["next"]): r["spearman"] for r in found.tables["neighbours"]}
    assert between == pytest.approx({("0.2", "0.6"): 1.0, ("0.6", "1.0"): -0.5})


def test_missing_cells_are_said_and_w_rests_on_what_is_whole() -> None:
    nan = math.nan
    found = studied(swept(m=(0.1, 0.5, 0.2), n=(0.2, 0.6, 0.3), o=(0.3, nan, 0.4)))
    judged = row(found, "agreement")
    # Two sources at three levels have as many cells; three sources say more of an order.
    assert (judged["sources"], judged["levels"]) == (["m", "n", "o"], ["0.2", "0.6"])
    assert "no temperature 1.0 of o" in found.notes
    assert any(n.endswith("temperature 0.2, 0.6 of m, n, o") for n in found.notes)
    assert math.isnan(row(found, "trends", source="o")["change"])
    assert row(found, "trends", source="o")["note"] == "2 levels: a trend needs 3"


def test_the_reference_is_drawn_but_not_counted_and_needs_no_level() -> None:
    found = studied(swept(m=(0.1, 0.5, 0.2), n=(0.2, 0.6, 0.3)))
    own = [r for r in found.tables["cells"] if r["reference"]]
    assert [(r["source"], r["level"], r["estimate"]) for r in own] == [("human", "none", 0.9)]
    assert "human" not in {r["source"] for r in found.tables["trends"]}


def test_one_source_has_no_agreement_and_a_reason() -> None:
    judged = row(studied(swept(m=(0.1, 0.5, 0.2))), "agreement")
    assert math.isnan(judged["w"])
    assert judged["note"] == "no two sources have the same two levels"


def test_a_pair_of_levels_gives_differences() -> None:
    held = {
        f"{source}|{stage}": {"unique": 0.5 + place / 10 + (stage == "instruct") / 100}
        for place, source in enumerate("abcde")
        for stage in ("instruct", "base", "other")
    }
    result = made(held, by=("source", "stage"))
    found = studied(result, "stage", pair=("base", "instruct"))
    change = row(found, "changes")
    assert change["mean"] == pytest.approx(0.01)
    assert change["p_wilcoxon"] == pytest.approx(2 / 32)
    assert row(found, "agreement")["w"] == pytest.approx(1)
    assert math.isnan(row(found, "trends", source="a")["slope"])
    assert "levels that were not named are left out: other" in found.notes


def test_levels_without_an_order_are_only_judges() -> None:
    held = {f"{s}|{t}": {"unique": ord(s) + len(t)} for s in "abc" for t in ("news", "stories")}
    result = made(held, by=("source", "task"))
    found = studied(result, "task")
    assert found.tables["changes"] == found.tables["neighbours"] == []
    assert row(found, "agreement")["w"] == pytest.approx(1)
    assert any("neither numbers nor ordered" in note for note in found.notes)
    assert studied(result, "task", order=("stories", "news")).tables["changes"]


def test_wide_factors_are_taken_by_their_logarithm() -> None:
    held = {f"m|{size}": {"unique": value} for size, value in (("1B", 1.0), ("8B", 4), ("64B", 7))}
    result = made(held, by=("source", "size"))
    trend = row(studied(result, "size"), "trends")
    assert (trend["per"], trend["slope"]) == ("doubling", pytest.approx(1))
    assert row(studied(result, "size", scale="linear"), "trends")["per"] == "unit"
    negative = made({f"m|{x}": {"unique": 1.0} for x in ("-1", "0", "90")}, by=("source", "x"))
    with pytest.raises(OptionError, match="numbers above 0"):
        studied(negative, "x", scale="log")


def test_facets_are_studied_one_by_one() -> None:
    held = {
        f"{task}|{source}|{level}": {"unique": level * (1 if task == "t1" else -1)}
        for task in ("t1", "t2")
        for source in ("a", "b", "human")
        for level in (1, 2, 3)
    }
    result = made(held, by=("task", "source", "level"), reference="human")
    found = studied(result, "level")
    assert row(found, "trends", facet="t1", source="a")["spearman"] == pytest.approx(1)
    assert row(found, "trends", facet="t2", source="b")["spearman"] == pytest.approx(-1)
    assert len([r for r in found.tables["cells"] if r["reference"]]) == 6
    together = studied(made(held, by=("task", "source", "level")), "level")
    assert {r["source"] for r in together.tables["trends"]} >= {"t1|a", "t2|human"}
    named = studied(made(held, by=("task", "source", "level")), "level", facet=("task",))
    assert {r["facet"] for r in named.tables["trends"]} == {"t1", "t2"}


def test_a_reference_among_the_levels_is_a_level() -> None:
    held = {f"{s}|{v}": {"unique": 0.5} for s in "ab" for v in ("base", "tuned")}
    result = made(held, by=("source", "version"), reference="base")
    found = studied(result, "version", pair=("base", "tuned"))
    assert not any(r["reference"] for r in found.tables["cells"])
    assert row(found, "changes")["sources"] == 2
    # No source changes: nothing to test.
    assert math.isnan(row(found, "changes")["p_wilcoxon"])


def test_a_factor_that_is_not_there_is_refused() -> None:
    result = swept(m=(0.1, 0.5, 0.2))
    with pytest.raises(UnknownName, match="did you mean 'temperature'"):
        studied(result, "temprature")
    with pytest.raises(OptionError, match="over takes the factor"):
        rote.factors(result)
    with pytest.raises(OptionError, match=r"only the level 0\.2: a factor needs two"):
        studied(made({"m|0.2": {"unique": 1.0}}, by=("source", "t")), "t")
    with pytest.raises(UnknownName, match="field of the sources 'temperature'"):
        studied(result, facet=("temperature",))
