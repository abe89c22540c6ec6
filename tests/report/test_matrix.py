"""The matrix that a report opens with: states, strength, circles, and what a reader can do."""

from __future__ import annotations

import io
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from rote.core.result import Result
from rote.report.report import STATES, Report
from rote.report.summary import print_summary, summarized
from rote.report.terminal import console
from tests.report.made_results import NAN, result, study

SURE = {"p": 0.005, "p_corrected": 0.005}
ALIKE = {"p": 0.6, "p_corrected": 0.6, "margin": 0.05, "equivalence_p_corrected": 0.01}
LENGTH = {**SURE, "matched_difference": 0.002, "matched_p": 0.7, "matched_p_corrected": 0.7}


def two(measure: str, value: str, gpt: float, test: dict[str, float], **more: object) -> Result:
    return result(
        *(measure, value, {"human": (0.5, 0.01), "gpt": (gpt, 0.01)}),
        {"gpt": test},
        **more,  # type: ignore[arg-type]
    )


def every_state() -> Report:
    """One respect for each state."""
    novelty = two("novelty", "coverage_8", 0.6, SURE)
    whole = replace(novelty.sources["human"], values={"coverage_8": 1.0})
    return study(
        [
            two("lexical", "unique", 0.6, SURE, higher="diverse"),
            two("templates", "per_token", 0.6, SURE),
            two("homogenization", "rouge_l", 0.501, {"p": 0.6, "p_corrected": 0.6}),
            two("self-repetition", "self_repetition", 0.501, ALIKE),
            two("compression", "gzip", 0.6, {"p": 0.2, "p_corrected": 0.2, "tested": False}),
            two("style", "dimension_1", 0.6, SURE, higher="neither"),
            two(
                *("semantic", "semantic", 0.4, LENGTH),
                length_sensitive=True,
                matched={"human": 0.5, "gpt": 0.502},
            ),
            two("syntactic", "wl", NAN, {"p": NAN, "p_corrected": NAN}),
            replace(novelty, sources={**novelty.sources, "human": whole}),
        ]
    )


def test_every_state_has_a_cell_a_mark_and_a_line_in_the_key() -> None:
    (shown,) = summarized(every_state()).matrices
    states = {row["gpt"].state for row in shown.cells.values()}
    assert states == set(STATES)
    marks = [mark for mark, _ in STATES.values()]
    assert len(set(marks)) == len(marks)  # they are told apart without a colour
    assert [state for state, _, _ in shown.key] == list(STATES)


def test_the_key_has_what_occurs() -> None:
    (shown,) = summarized(study([two("templates", "per_token", 0.6, SURE)])).matrices
    assert [words for _, _, words in shown.key] == ["more repetitive"]


def test_a_difference_that_the_correction_takes_away_is_none() -> None:
    lost = two("templates", "per_token", 0.6, {"p": 0.01, "p_corrected": 0.08})
    (shown,) = summarized(study([lost])).matrices
    assert shown.cells["Templates of grammar"]["gpt"].state == "same"


@pytest.mark.parametrize(("gpt", "strength"), [(0.515, 1), (0.53, 2), (0.56, 3), (0.44, 3)])
def test_strength_is_the_difference_in_halves_of_its_interval(gpt: float, strength: int) -> None:
    # The half width of the difference's interval is hypot(0.01, 0.01) = 0.0141.
    (shown,) = summarized(study([two("templates", "per_token", gpt, SURE)])).matrices
    cell = shown.cells["Templates of grammar"]["gpt"]
    assert cell.strength == len(cell.mark) == strength
    assert cell.state == ("repetitive" if gpt > 0.5 else "diverse")


def test_a_cell_says_both_values_the_interval_and_p() -> None:
    (shown,) = summarized(study([two("templates", "per_token", 0.6, SURE)])).matrices
    assert shown.cells["Templates of grammar"]["gpt"].said == (
        "0.600 against 0.500 templates per word (+20 %, 95 % interval +17 to +23 %, p = 0.005)"
    )


def test_too_few_texts_leave_cells_untested_though_a_test_was_made() -> None:
    few = two("templates", "per_token", 0.6, SURE, texts={"human": 100, "gpt": 3})
    (shown,) = summarized(study([few])).matrices
    assert shown.cells["Templates of grammar"]["gpt"].state == "untested"


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


def states(report: Report, respect: str) -> dict[str, str]:
    (shown,) = summarized(report).matrices
    return {source: one.state for source, one in shown.cells[respect].items()}


def test_a_source_that_occurs_in_the_corpus_is_named_and_not_counted() -> None:
    report = held(1.0, 0.1)
    for respect in ("Runs of 8 words that the corpus holds", "Texts that the corpus largely holds"):
        assert states(report, respect) == {"gpt": "circular", "other": "repetitive"}
    said = [one.text for one in summarized(report).statements]
    assert "gpt is more repetitive than human in 1 of 1 respects." in said
    assert "other is more repetitive than human in 3 of 3 respects." in said
    assert summarized(report).opening()[0].text == (
        "gpt occurs in the corpus that it is held against: what that says (2 respects) is left out "
        "of the count."
    )


def test_a_reference_that_occurs_in_the_corpus_leaves_nothing_to_compare_there() -> None:
    report = held(0.3, 1.0)
    respect = "Runs of 8 words that the corpus holds"
    assert states(report, respect) == {"gpt": "circular", "other": "circular"}
    said = [one.text for one in summarized(report).statements]
    assert "other is more repetitive than human in 1 of 1 respects." in said
    assert any(text.startswith("human occurs in the corpus") for text in said)


def test_texts_that_the_corpus_holds_in_part_are_no_circle() -> None:
    report = held(0.9, 0.1)
    assert "circular" not in states(report, "Runs of 8 words that the corpus holds").values()
    assert not [one for one in summarized(report).statements if one.kind == "circular"]


def many() -> Report:
    names = [f"model-{n}" for n in range(8)]
    return study(
        [
            result(
                *(
                    "templates",
                    "per_token",
                    {"human": (0.5, 0.01)} | dict.fromkeys(names, (0.6, 0.01)),
                ),
                dict.fromkeys(names, SURE),
            )
        ]
    )


def test_five_statements_open_a_report_and_none_is_lost() -> None:
    found = summarized(many())
    assert len(found.opening()) == 5
    whole, *others = (one.text for one in found.opening())
    assert whole == (
        "model-0, model-1, model-2, model-3, model-4, model-5, model-6 and model-7 are more "
        "repetitive than human in 1 of 1 respects."
    ), "of whom the same is said has one sentence"
    said = [one.text for one in found.statements]
    assert sorted([*others, *(one.text for one in found.rest())]) == sorted(said)


def test_sources_of_which_something_else_is_said_have_their_own_sentence() -> None:
    values = {"human": (0.5, 0.01), "a": (0.6, 0.01), "b": (0.4, 0.01), "c": (0.6, 0.01)}
    made = study([result("templates", "per_token", values, dict.fromkeys("abc", SURE))])
    opening = [one.text for one in summarized(made).opening()]
    assert opening[:2] == [
        "a and c are more repetitive than human in 1 of 1 respects.",
        "b is more diverse than human in 1 of 1 respects.",
    ]


def test_a_measure_that_a_study_holds_twice_has_two_rows() -> None:
    one = two("templates", "per_token", 0.6, SURE)
    (shown,) = summarized(study([one, one])).matrices
    assert list(shown.cells) == ["Templates of grammar", "Templates of grammar (2)"]


def test_every_facet_has_its_own() -> None:
    names = {f"{task}|{who}": (0.04, 0.001) for task in ("news", "tales") for who in ("human", "a")}
    tests = {name: {"p": 0.9, "p_corrected": 0.9} for name in names if name.endswith("|a")}
    made = study([result("templates", "per_token", names, tests)])
    shown = summarized(made).matrices
    assert [one.title for one in shown] == [
        *("Differences from human: news", "Differences from human: tales")
    ]
    assert [one.sources for one in shown] == [["a"], ["a"]]
    assert 'id="matrix-2"' in made.page()


def test_without_a_reference_there_is_no_matrix() -> None:
    one = result("templates", "per_token", {"a": (0.04, 0.002), "b": (0.06, 0.002)}, reference=None)
    assert not summarized(study([one], None)).matrices


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_the_page_opens_with_a_matrix_that_can_be_heard_tapped_and_read_without_colour() -> None:
    page = every_state().page()
    start = page.index('<div class="rote-matrix"')
    assert start < page.index('<ul class="rote-found rote-short"') < page.index("More on what")
    block = page[start : page.index("</table>", start)]
    tags = _Tags()
    tags.feed(block)
    by_name = [tag for tag, _ in tags.found]
    assert by_name.count("caption") == 1
    assert all(attrs["scope"] in ("col", "row") for tag, attrs in tags.found if tag == "th")
    cells = by_name.count("td")
    assert cells == len(STATES) == by_name.count("details") == by_name.count("summary")
    assert all(attrs["title"] for tag, attrs in tags.found if tag == "summary")
    for mark, words in STATES.values():
        assert f'<span aria-hidden="true">{mark}' in block
        assert f'<span class="rote-hidden">{words}' in block
    assert '<ul aria-label="Key">' in page


def test_markdown_and_terminal_have_the_matrix_as_a_table() -> None:
    report = every_state()
    out = io.StringIO()
    print_summary(report, console(file=out, width=120, color_system=None))
    for written in (report.markdown(), out.getvalue()):
        assert "Templates of grammar" in written
        assert "■■■ +20 %" in written
        assert "◆ more diverse; ■ more repetitive; ○ no difference found; ≈ alike" in written
