"""Single searches and batches against slices of the sorted suffixes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rote.index.columns.layer_column import LayerColumn
from rote.index.counts.lookup import MAX_RUN, SEARCHES, Lookup
from tests.examples import lists, some
from tests.index import coded, twins

runs = some(coded.numbers, 6)


def range_twin(column: LayerColumn, gram: list[int]) -> tuple[int, int] | None:
    """The range of suffixes that begin with the run; None if there is none."""
    assert column.suffixes is not None
    ids = column.ids.all().tolist()
    begins = [
        ids[place : place + len(gram)] == gram and 0 not in gram[:-1]
        for place in column.suffixes.order.all().tolist()
    ]
    if not any(begins):
        return None
    low = begins.index(True)
    assert all(begins[low : low + sum(begins)])
    return low, low + sum(begins)


def flat(grams: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    ends = np.cumsum([len(gram) for gram in grams], dtype=np.int64)
    return np.array([number for gram in grams for number in gram], np.int32), ends


@given(
    coded.columns, lists(runs, 20), lists(lambda chance: (chance.random(), chance.randint(0, 8)), 9)
)
def test_a_batch_finds_what_single_searches_and_the_twin_find(
    column: LayerColumn, grams: list[list[int]], held: list[tuple[float, int]]
) -> None:
    ids = column.ids.all().tolist()
    # Runs that do occur, some up to a document's end; longer ones are rare among random runs.
    starts = [(int(part * len(ids)), length) for part, length in held]
    grams += [ids[start : start + length] for start, length in starts]
    lookup = Lookup(column)
    expected = [range_twin(column, gram) for gram in grams]
    low, high = lookup.ranges(*flat(grams))
    for g, gram in enumerate(grams):
        single = lookup.range(gram)
        assert single == (low[g], high[g])
        assert low[g] == high[g] if expected[g] is None else single == expected[g]
        assert lookup.count(gram) == high[g] - low[g]


@given(
    coded.columns,
    lists(runs, 20, 1),
    st.sampled_from([0, 1, SEARCHES - 1, SEARCHES, SEARCHES + 1, 3 * SEARCHES + 7]),
)
def test_batches_of_any_size(column: LayerColumn, grams: list[list[int]], size: int) -> None:
    batch = [grams[g % len(grams)] for g in range(size)]
    lookup = Lookup(column)
    low, high = lookup.ranges(*flat(batch))
    assert list(zip(low.tolist(), high.tolist())) == [lookup.range(gram) for gram in batch]


@given(coded.documents, lists("abc", 4))
@example([["a"], [], ["a", "a"]], ["a"])
@example([], [])
def test_counts_are_those_of_windows(texts: list[list[str]], gram: list[str]) -> None:
    column = twins.column(texts)
    lookup = Lookup(column)
    numbers = [column.vocabulary.find(item) for item in gram]
    assert lookup.count(numbers) == (twins.count(texts, gram) if gram else column.items)
    if gram:
        ended = sum(text[-len(gram) :] == gram for text in texts)
        assert lookup.count([*numbers, 0]) == ended


def test_a_run_that_cannot_occur_has_an_empty_range() -> None:
    lookup = Lookup(twins.column([["a", "b"], ["b", "c"], ["a", "c", "b"]]))
    a, b, c = 1, 2, 3
    # Each item is there, and so is each pair of neighbours, but not the whole.
    assert lookup.count([a, b, c]) == 0
    assert lookup.count([a, -1]) == lookup.count([-1]) == lookup.count([-1, b]) == 0
    assert lookup.count([a, 4]) == lookup.count([4]) == 0
    # What stands behind a document's end is another document.
    assert lookup.count([a, b, 0]) == 1
    assert lookup.count([a, b, 0, b]) == lookup.count([a, b, 0, 0]) == 0


@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize("size", [MAX_RUN, MAX_RUN + 1, 2 * MAX_RUN])
def test_long_runs(size: int, uneven: bool) -> None:
    column = coded.column([["a"] * 100, ["b"] * 40], 4, uneven=uneven)
    for lookup in (Lookup(column), Lookup(twins.as_chain(column))):
        assert lookup.count([1] * size) == 101 - size
        assert lookup.count([2] * size) == max(0, 41 - size)
        assert lookup.count([1] * size + [0]) == 1
        assert lookup.count([1] * size + [2]) == 0


def test_any_sequence_of_numbers_can_be_asked_for() -> None:
    lookup = Lookup(twins.column([["a", "b", "a"]]))
    for gram in ([1, 2], (1, 2), np.array([1, 2]), np.array([1, 2], np.int32)):
        assert lookup.count(gram) == 1  # type: ignore[arg-type]


def test_threads_do_not_disturb_each_other() -> None:
    texts = [["a"] * 50, ["b"] * 20, ["a", "b"] * 30]
    lookup = Lookup(twins.column(texts))
    grams = [[1] * n for n in range(1, 30)] + [[2] * n for n in range(1, 30)]
    expected = [lookup.count(gram) for gram in grams]
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: [lookup.count(gram) for gram in grams], range(40)):
            assert found == expected


def test_a_batch_that_does_not_fit_together_is_refused() -> None:
    lookup = Lookup(twins.column([["a"]]))
    with pytest.raises(ValueError, match="end where the numbers end"):
        lookup.ranges(np.array([1, 1], np.int32), np.array([1, 3]))
