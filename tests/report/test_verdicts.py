"""The verdicts that a report opens with: states, sides, equal lengths, and what a reader sees."""

from __future__ import annotations

import io
import math
import re
from dataclasses import replace

import pytest

from rote.core.result import Result
from rote.report.report import Report
from rote.report.result_tables import draw_bar
from rote.report.summary import print_summary, summarize
from rote.report.terminal import make_console
from rote.report.verdicts import STATES, VerdictComparison, Verdicts, judge_facets
from tests.report.made_results import NAN, result, study

SURE = {"p": 0.005, "p_corrected": 0.005}
OPEN = {"p": 0.04, "p_corrected": 0.05, "borderline": True}
NONE = {"p": 0.6, "p_corrected": 0.6}
ALIKE = {**NONE, "margin": 0.05, "equivalence_p_corrected": 0.01}
LENGTH = {**SURE, "matched_difference": 0.002, "matched_p": 0.7, "matched_p_corrected": 0.7}


def two(measure: str, value: str, gpt: float, test: dict[str, float], **more: object) -> Result:
    return result(
        *(measure, value, {"human": (0.5, 0.01), "gpt": (gpt, 0.01)}),
        {"gpt": test},
        **more,  # type: ignore[arg-type]
    )


def only(one: Result) -> VerdictComparison:
    (facet,) = judge_facets([one])
    (comparison,) = facet.comparisons
    return comparison


def every_state() -> Report:
    """One aspect for each state."""
    novelty = two("novelty", "coverage_8", 0.6, SURE)
    whole = replace(novelty.by_source["human"], values={"coverage_8": 1.0})
    few = two("syntactic", "wl", 0.501, NONE)
    clusters = {name: replace(one, clusters=8) for name, one in few.by_source.items()}
    return study(
        [
            two("lexical", "unique", 0.6, SURE, higher="diverse"),
            two("templates", "per_token", 0.6, SURE),
            two("homogenization", "rouge_l", 0.501, NONE),
            two("self-repetition", "self_repetition", 0.501, ALIKE),
            two("compression", "gzip", 0.6, {"p": 0.2, "p_corrected": 0.2, "tested": False}),
            two("style", "dimension_1", 0.6, SURE, higher="neither"),
            two("semantic", "semantic", 0.52, OPEN, higher="diverse"),
            replace(few, by_source=clusters),
            replace(novelty, by_source={**novelty.by_source, "human": whole}),
        ]
    )


def of(report: Report) -> Verdicts:
    (facet,) = judge_facets(report.results)
    return facet


def test_every_state_occurs_and_is_named_in_the_key() -> None:
    facet = of(every_state())
    assert {one.state for one in facet.comparisons} == set(STATES) == {*facet.key, "circular"}


def test_right_is_more_repetitive_whichever_way_the_value_runs() -> None:
    more = only(two("templates", "per_token", 0.6, SURE))
    assert (more.effect, more.direction) == (pytest.approx(1.0), "more repetitive")
    diverse = only(two("lexical", "unique", 0.6, SURE, higher="diverse"))
    assert (diverse.effect, diverse.direction) == (pytest.approx(-1.0), "more diverse")
    low, high = diverse.effect_interval
    assert low < diverse.effect < high


def test_an_aspect_that_is_neither_has_words_of_its_own() -> None:
    (aspect,) = of(study([two("style", "dimension_1", 0.6, SURE, higher="neither")])).aspects
    assert aspect.ways == ("more informational", "more involved")
    assert aspect.comparisons[0].direction == "more involved"


def test_the_verdict_is_that_at_equal_length_and_whole_texts_are_told_beside_it() -> None:
    one = only(
        two(
            *("lexical", "unique", 0.4, LENGTH),
            higher="diverse",
            length_sensitive=True,
            matched={"human": 0.5, "gpt": 0.502},
        )
    )
    assert (one.equal, one.state) == (True, "not found")
    assert (one.value, one.other_value) == (0.502, 0.5)
    assert one.effect == pytest.approx(-0.02)
    assert one.whole_text_values == "0.400 against 0.500"


def test_whole_texts_are_no_ground_where_others_are_compared_at_equal_length() -> None:
    sources = {"human": (0.5, 0.01), "gpt": (0.4, 0.01), "short": (0.7, 0.01)}
    made = result(
        *("lexical", "unique", sources, {"gpt": LENGTH, "short": SURE}),
        higher="diverse",
        length_sensitive=True,
        matched={"human": 0.5, "gpt": 0.502},
    )
    facet = of(study([made]))
    short = next(one for one in facet.comparisons if one.source == "short")
    assert (short.state, short.why, short.size) == ("not tested", "no usable equal length", "–")
    assert math.isnan(short.effect), "a difference that lengths make is not drawn"
    assert facet.unequal_note == (
        "short: no usable equal length with human, so not compared in 1 aspect that moves with "
        "length."
    )
    assert "short" not in study([made]).page().split("rote-aspects")[1].split("</summary>")[0]


def test_a_note_that_no_length_is_equal_leaves_nothing_to_judge() -> None:
    made = two("lexical", "unique", 0.6, SURE, higher="diverse", length_sensitive=True)
    assert only(made).state == "differs"
    note = "lexical: no usable equal length for gpt: more than a tenth of the texts are shorter"
    assert only(replace(made, notes=(note,))).state == "not tested"


def test_few_clusters_have_no_power_and_fewer_are_not_compared() -> None:
    eight = two("templates", "per_token", 0.62, NONE, texts={"human": 100, "gpt": 8})
    assert only(eight).state == "no power"
    assert only(eight).verdict == "no power: 8 independent texts"
    three = two("templates", "per_token", 0.6, SURE, texts={"human": 100, "gpt": 3})
    assert only(three).state == "not tested"


def test_sizes_are_shares_where_the_reference_is_clear_of_zero() -> None:
    one = only(two("templates", "per_token", 0.6, SURE))
    assert (one.size, one.size_interval) == ("+20 %", "+17 to +23 %")
    assert one.how_much == "+20 %, 95 % interval +17 to +23 %, p = 0.005"
    zero = result(
        *("templates", "per_token", {"human": (0.0, 0.0), "gpt": (0.02, 0.002)}), {"gpt": SURE}
    )
    assert only(zero).size == "+0.0200"
    assert only(zero).size_interval == "+0.0180 to +0.0220"


def test_an_aspect_that_is_undefined_is_left_out_and_named() -> None:
    gone = two("lexical", "unique", NAN, {"p": NAN, "p_corrected": NAN})
    facet = of(study([two("templates", "per_token", 0.6, SURE), gone]))
    assert [aspect.name for aspect in facet.aspects] == ["Templates"]
    assert facet.left_out == {"Words": "undefined for these texts"}
    assert (
        "Left out: words (undefined for these texts)."
        in study([two("templates", "per_token", 0.6, SURE), gone]).page()
    )


def held(value: float, reference: float) -> Report:
    """A corpus that holds so much of gpt and of the reference; templates differ."""
    sources = {"human": (reference, 0.0), "gpt": (value, 0.0), "other": (0.2, 0.01)}
    tests = {"gpt": SURE, "other": SURE}
    of_corpus = [
        result("novelty", "coverage_8", sources, tests),
        result("contamination", "contaminated", sources, tests),
    ]
    own = {"human": (0.5, 0.01), "gpt": (0.6, 0.01), "other": (0.6, 0.01)}
    return study([*of_corpus, result("templates", "per_token", own, tests)])


def states(report: Report, name: str) -> dict[str, str]:
    (aspect,) = (one for one in of(report).aspects if one.name == name)
    return {one.source: one.state for one in aspect.comparisons}


def test_a_source_that_occurs_in_the_corpus_has_no_verdict_there() -> None:
    report = held(1.0, 0.1)
    for name in ("Overlap with the corpus", "Contamination"):
        assert states(report, name) == {"gpt": "circular", "other": "differs"}
    said = [one.text for one in summarize(report).statements]
    assert "gpt is more repetitive than human in the one aspect." in said
    assert "other is more repetitive than human in 3 of 3 aspects." in said


def test_texts_that_the_corpus_holds_in_part_are_no_circle() -> None:
    assert "circular" not in states(held(0.9, 0.1), "Overlap with the corpus").values()


def test_a_measure_that_a_study_holds_twice_has_two_rows() -> None:
    one = two("templates", "per_token", 0.6, SURE)
    assert [aspect.name for aspect in of(study([one, one])).aspects] == [
        "Templates",
        "Templates (2)",
    ]


def test_every_facet_has_its_own() -> None:
    names = {f"{task}|{who}": (0.04, 0.001) for task in ("news", "tales") for who in ("human", "a")}
    tests = {name: {"p": 0.9, "p_corrected": 0.9} for name in names if name.endswith("|a")}
    made = study([result("templates", "per_token", names, tests)])
    shown = judge_facets(made.results)
    assert [one.title for one in shown] == [
        *("Differences from human: news", "Differences from human: tales")
    ]
    assert [list(one.sources) for one in shown] == [["a"], ["a"]]
    assert 'id="verdicts-1"' in made.page()


def test_sources_stand_in_one_order_the_most_repetitive_first() -> None:
    values = {"human": (0.5, 0.01), "a": (0.4, 0.01), "b": (0.7, 0.01), "c": (0.6, 0.01)}
    made = study(
        [
            result("templates", "per_token", values, dict.fromkeys("abc", SURE)),
            result("homogenization", "rouge_l", values, dict.fromkeys("abc", SURE)),
        ]
    )
    facet = of(made)
    assert list(facet.sources) == ["b", "c", "a"]
    for aspect in facet.aspects:
        assert [one.source for one in aspect.comparisons] == ["b", "c", "a"]


def test_every_dot_is_inside_the_strip() -> None:
    facet = of(every_state())
    low, high = facet.bounds
    assert low < 0 < high
    for one in (one for aspect in facet.drawn for one in aspect.drawn):
        assert low <= one.effect <= high
        assert 0 <= float(facet.at(one.effect).rstrip("%")) <= 100
        if max(map(abs, one.effect_interval)) <= 2 * abs(one.effect):
            assert low <= min(one.effect_interval) <= max(one.effect_interval) <= high
    assert facet.at(10 * high) == "100.0%"
    assert 0.0 in facet.grid


def test_the_page_opens_with_the_figure_and_each_row_unfolds_without_a_script() -> None:
    page = every_state().page()
    start = page.index('<figure class="rote-verdicts')
    assert start < page.index('<ul class="rote-found"')
    block = page[start : page.index("</figure>", start)]
    assert block.count('<details class="rote-aspect">') == 8, "what is circular is not drawn"
    # And one that is saved, as a file has it.
    assert block.count('<svg class="rote-strip') == block.count('role="img"') - 1 == 8
    assert block.count("<template><svg") == 1
    for link in re.findall(r'href="#([^"]+)"', block):
        assert f'id="{link}"' in page, "a row links to its section"
    for words in ("← more diverse", "more involved →"):
        assert words in block
    assert not re.search(r"style=|onclick", block)


def test_filled_holds_hollow_does_not_and_a_ring_is_borderline() -> None:
    def marks(test: dict[str, float]) -> list[str]:
        page = study([two("templates", "per_token", 0.6, test)]).page()
        strip = page[page.index('<svg class="rote-strip') :]
        return re.findall(r'<circle class="([^"]+)"', strip[: strip.index("</svg>")])

    assert marks(SURE) == ["rote-filled"]
    assert marks(NONE) == ["rote-hollow"]
    assert marks(OPEN) == ["rote-hollow", "rote-filled"]


def test_markdown_and_terminal_have_the_same_verdicts() -> None:
    report = every_state()
    out = io.StringIO()
    print_summary(report, make_console(file=out, width=140, color_system=None))
    for written in (report.markdown(), out.getvalue()):
        assert "Templates" in written
        assert "+20 %" in written
        assert "more repetitive" in written
        assert "no difference found" in written


def test_a_bar_has_zero_the_interval_and_a_mark_by_state() -> None:
    facet = of(every_state())
    by_measure = {aspect.measure: aspect.comparisons[0] for aspect in facet.aspects}
    right, left = (draw_bar(by_measure[name], facet) for name in ("templates", "lexical"))
    assert right.index("│") < right.index("●")
    assert left.index("●") < left.index("│")
    assert "○" in draw_bar(by_measure["homogenization"], facet)
    assert "◎" in draw_bar(by_measure["semantic"], facet)
    assert len({len(draw_bar(one, facet)) for one in facet.comparisons}) == 1
