"""Ranks without a reference: letters against every group there could be, values at equal length."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from rote.core.facets import EACH
from rote.core.result import Result
from rote.report.result_tables import rank_sheet
from rote.report.summary import summary
from rote.report.verdicts import Verdicts, assign_letters, judge_facets, rank_aspect, rank_sources
from tests.report.made_results import result, study

NAMES = "abcdefg"
PAIRS = [frozenset(pair) for pair in combinations(NAMES, 2)]


@given(st.sets(st.sampled_from(PAIRS)), st.integers(1, len(NAMES)))
def test_letters_are_the_largest_groups_without_a_difference(
    drawn: set[frozenset[str]], count: int
) -> None:
    names = NAMES[:count]
    apart = [pair for pair in drawn if pair <= set(names)]
    letters = assign_letters(names, apart)
    groups = {
        frozenset(name for name in names if letter in letters[name])
        for letter in "".join(letters.values())
    }
    alike = [
        frozenset(group)
        for size in range(1, count + 1)
        for group in combinations(names, size)
        if not any(pair <= set(group) for pair in apart)
    ]
    assert groups == {group for group in alike if not any(group < other for other in alike)}
    for pair in combinations(names, 2):
        shared = set(letters[pair[0]]) & set(letters[pair[1]])
        assert bool(shared) == (frozenset(pair) not in apart)


def each(higher: str = "diverse", short: str = "", b: float = 0.6) -> Result:
    """a, b and c at equal length 0.5, 0.6 and 0.9, whole texts the other way round; c differs."""
    equal = {"a": 0.5, "b": b, "c": 0.9}
    made = result(
        *("lexical", "unique", {"a": (0.9, 0.01), "b": (0.8, 0.01), "c": (0.7, 0.01)}),
        higher=higher,
        length_sensitive=True,
        matched={name: value for name, value in equal.items() if name != short},
        reference=None,
    )
    rows = []
    for first, second in combinations("abc", 2):
        p = 0.005 if "c" in (first, second) else 0.6
        row = {"source": first, "reference": second, "value": "unique", "permutations": 9999}
        row |= {"difference": 0.1, "p": 0.005, "p_corrected": 0.005, "tested": True}
        if short not in (first, second):
            row |= {"matched_difference": equal[first] - equal[second], "matched_p": p}
            row |= {"matched_p_corrected": p, "matched_tested": True}
        rows.append(row)
    return replace(made, reference=EACH, comparisons=rows)


def facet(one: Result) -> Verdicts:
    (found,) = judge_facets([one])
    return found


def test_ranks_are_those_at_equal_length_and_1_is_the_most_diverse() -> None:
    (aspect,) = facet(each()).aspects
    found = rank_aspect(aspect)
    assert {name: (own.rank, own.letters, own.value) for name, own in found.items()} == {
        "c": (1, "a", 0.9),
        "b": (2, "b", 0.6),
        "a": (3, "b", 0.5),
    }
    (aspect,) = facet(each(higher="repetitive")).aspects
    assert [*rank_aspect(aspect)] == ["a", "b", "c"]


def test_equal_values_have_the_same_rank() -> None:
    (aspect,) = facet(each(b=0.5)).aspects
    assert {name: own.rank for name, own in rank_aspect(aspect).items()} == {"c": 1, "a": 2, "b": 2}


def test_a_source_without_an_equal_length_has_no_rank() -> None:
    found = facet(each(short="b"))
    order, own = rank_sources(found)
    assert order == ["c", "a", "b"]
    assert "b" not in own["Words"]
    assert "a − b" in found.unequal_note


def test_a_source_that_an_aspect_has_no_rank_for_comes_last() -> None:
    (words,), (other,) = facet(each(short="c")).aspects, facet(each()).aspects
    both = replace(facet(each()), aspects=(words, replace(other, name="Meaning")))
    order, own = rank_sources(both)
    assert own["Meaning"]["c"].rank == 1
    assert order == ["b", "a", "c"]


def test_the_table_has_a_row_for_each_source_with_rank_letters_and_value() -> None:
    sheet = rank_sheet(facet(each()))
    rows = [[cell.line for cell in cells] for _, cells in sheet.rows()]
    assert rows == [["c", "1 a (0.9000)"], ["b", "2 b (0.6000)"], ["a", "3 b (0.5000)"]]
    assert "Sources that share a letter do not differ significantly." in sheet.note
    assert [column.heading for column in sheet.columns] == ["source", "Words"]


def test_letters_that_are_shared_for_want_of_texts_are_named() -> None:
    made = each()
    few = {name: replace(source, texts=8) for name, source in made.by_source.items() if name != "c"}
    verdicts = facet(replace(made, by_source={**made.by_source, **few}))
    note = rank_sheet(verdicts).note
    assert "1 of 3 comparisons found nothing but lacked power" in note
    assert "fewer than 10 independent texts (a has 8 and b has 8)" in note
    assert not facet(made).power_note


def test_a_report_without_a_reference_opens_with_ranks() -> None:
    report = study([each()], EACH)
    page = report.page()
    assert page.index('id="verdicts-ranks"') < page.index('class="rote-found"')
    assert "<h3><bdi>Pairs of sources</bdi></h3>" in page
    assert "compared with each other" in page
    assert "2 b" in report.markdown()


def test_sentences_compare_pairs_at_equal_length() -> None:
    said = [one.text for one in summary(study([each()], EACH))]
    assert said[0] == "2 of 3 pairs of sources differ in the one aspect."
    assert "at equal length" in said[1]
    assert not any("0.700 against" in text for text in said)
    assert not any(math.isnan(one.difference or 0) for one in summary(study([each()], EACH)))
