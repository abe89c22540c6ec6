"""A chain holds what it was made of; every rank leads to the place behind its own."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rote.core.kernels import njit
from rote.index.columns import compressed_suffix_array as kernels
from rote.index.columns.compressed_suffix_array import decompress
from tests.examples import lists, some
from tests.index import twins

documents = lists(some(range(1, 10), 80), 6)


def stream_of(texts: list[list[int]]) -> np.ndarray:
    return np.array([n for text in texts for n in [*text, 0]], np.int32)


@given(documents, lists(lambda chance: chance.random(), 11, 2))
def test_items_and_places_come_back(texts: list[list[int]], parts: list[float]) -> None:
    ids = stream_of(texts)
    order = twins.sorted_places(ids)
    stream, places = twins.chain_of(ids, order, 10)
    assert (len(stream), len(places)) == (len(ids), len(order))
    assert stream.all().tolist() == ids.tolist()
    assert places.all().tolist() == order
    assert [stream[i] for i in range(0, len(ids), 7)] == ids[::7].tolist()
    assert [places[i] for i in range(0, len(order), 7)] == order[::7]
    plain, sorted_places = decompress(stream.csa, len(ids))
    assert plain.all().tolist() == ids.tolist()
    assert sorted_places.all().tolist() == order
    if len(ids):
        start, stop = sorted(round(part * len(ids)) for part in parts[:2])
        assert stream.slice(start, stop).tolist() == ids[start:stop].tolist()
        starts = np.array([int(part * len(ids)) for part in parts[2:]], np.int64)
        expected = [ids[(s + i) % len(ids)] for s in starts.tolist() for i in range(5)]
        assert stream.runs(starts, 5).tolist() == expected


@given(documents)
def test_the_chain_is_the_rank_of_the_place_behind(texts: list[list[int]]) -> None:
    ids = stream_of(texts)
    order = twins.sorted_places(ids)
    stream, _ = twins.chain_of(ids, order, 10)
    row = [*np.flatnonzero(ids == 0).tolist(), *order]
    expected = [row.index((place + 1) % len(ids)) for place in row]
    assert stream.links(0, len(ids)).tolist() == expected


def test_places_may_be_sorted_in_any_way_where_suffixes_are_equal() -> None:
    """Numbers then fall within a block, which a chain must bear."""
    ids = stream_of([[1, 2, 3]] * 50)
    order = [p for n in (1, 2, 3) for p in np.flatnonzero(ids == n)[::-1].tolist()]
    stream, places = twins.chain_of(ids, order, 4)
    assert stream.all().tolist() == ids.tolist()
    assert places.all().tolist() == order


@njit
def _select(word, k):  # type: ignore[no-untyped-def]
    return kernels.select(word, k)


@given(st.integers(1, 2**64 - 1), st.data())
def test_a_one_is_found_by_its_number(word: int, data: st.DataObject) -> None:
    places = [i for i in range(64) if word >> i & 1]
    k = data.draw(st.integers(0, len(places) - 1))
    assert _select(np.uint64(word), k) == places[k]
