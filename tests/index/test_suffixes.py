"""Sorted suffixes and their table, by radix and by `sais`, against plain sorting."""

from random import Random

import numpy as np
import pytest
from hypothesis import given

from rote.index.columns import suffix_sort
from rote.index.columns.layer_column import Suffixes
from rote.index.columns.packed_array import bits_for, pack
from rote.index.columns.suffix_sort import (
    SortedSuffixes,
    build_alphabetic_code,
    sort_suffixes,
)
from tests.examples import drawn, some
from tests.index import twins


def pack_suffixes(sorted_suffixes: SortedSuffixes, positions: int) -> Suffixes:
    """Ready for queries, as `write_column` keeps them; `positions`: the length of the stream."""
    order = pack(sorted_suffixes.order, bits_for(max(1, positions - 1)))
    return Suffixes(order, sorted_suffixes.lengths, pack(sorted_suffixes.table, order.bits))


@drawn
def streams(chance: Random) -> tuple[np.ndarray, int]:
    """A stream of a few documents, some of them empty, alike or repeated."""
    most = chance.choice([1, 2, 3, 60])
    texts = some(some(range(1, most + 1), 30), 8)(chance)
    if chance.random() < 0.5:
        texts += [text * chance.randint(1, 12) for text in texts]
    numbers = [number for text in texts for number in [*text, 0]]
    return np.array(numbers, np.int32), most + 1 + chance.randint(0, 3)


def tiled(most: int = 3) -> np.ndarray:
    """A text of 500 items that changes little, 400 times over, each ending on its own."""
    rng = np.random.default_rng(5)
    text = rng.integers(1, most + 1, 500)
    copies = np.tile(text, (400, 1))
    copies[rng.random(copies.shape) < 0.002] = 1
    copies[:, -1] = 0
    return copies.ravel().astype(np.int32)


def natural(items: int = 200_000, most: int = 300) -> np.ndarray:
    """Numbers with a few frequent ones, in documents of about 100."""
    rng = np.random.default_rng(6)
    ids = np.minimum(rng.zipf(1.3, items), most).astype(np.int32)
    ids[rng.random(items) < 0.01] = 0
    ids[-1] = 0
    return ids


def contents(ids: np.ndarray, order: np.ndarray) -> list[list[int]]:
    numbers = ids.tolist()
    return [numbers[place : numbers.index(0, place)] for place in order.tolist()]


def table_by_hand(ids: np.ndarray, found: SortedSuffixes) -> list[int]:
    """From every suffix's code as a string of bits."""
    whole = [f"{code:064b}" for code in found.codes.tolist()]
    codes = [code[:length] for code, length in zip(whole, found.lengths.tolist(), strict=True)]
    bits = (len(found.table) - 1).bit_length() - 1
    heads = [
        int("".join(codes[number] for number in [*content, 0])[:bits].ljust(bits, "0"), 2)
        for content in contents(ids, found.order)
    ]
    return [sum(head < entry for head in heads) for entry in range(2**bits + 1)]


def in_order(ids: np.ndarray, order: np.ndarray) -> bool:
    """By the first item, then by how the rests are ranked; document ends rank by place."""
    ends = np.flatnonzero(ids == 0)
    rank = np.empty(len(ids), np.int64)
    rank[ends], rank[order] = np.arange(len(ends)), len(ends) + np.arange(len(order))
    firsts, rests = ids[order], rank[order.astype(np.int64) + 1]
    alike = np.diff(firsts) == 0
    return bool(
        np.array_equal(np.sort(order), np.flatnonzero(ids))
        and (np.diff(firsts) >= 0).all()
        and (np.diff(rests)[alike] > 0).all()
    )


def same(one: SortedSuffixes, other: SortedSuffixes) -> bool:
    names = ("order", "codes", "lengths", "table")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def sais_calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of the streams that are handed to `sais` from now on."""
    calls = []
    by_sais = suffix_sort._sort_by_sais

    def noted(ids, *rest):  # type: ignore[no-untyped-def]
        calls.append(len(ids))
        return by_sais(ids, *rest)

    monkeypatch.setattr(suffix_sort, "_sort_by_sais", noted)
    return calls


@given(streams)
def test_order_and_table_equal_plain_sorting(stream: tuple[np.ndarray, int]) -> None:
    ids, entries = stream
    found = sort_suffixes(ids, entries)
    assert found.order.tolist() == twins.sorted_places(ids)
    assert found.table.tolist() == table_by_hand(ids, found)
    codes, lengths = build_alphabetic_code(np.bincount(ids, minlength=entries))
    assert (found.codes == codes).all()
    assert (found.lengths == lengths).all()
    assert ids.flags.writeable


@given(streams)
def test_by_sais_the_contents_and_the_table_are_the_same(stream: tuple[np.ndarray, int]) -> None:
    ids, entries = stream
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(suffix_sort, "_sort_by_radix", lambda *_: None)
        found = sort_suffixes(ids, entries)
    expected = sort_suffixes(ids, entries)
    assert sorted(found.order.tolist()) == sorted(expected.order.tolist())
    assert contents(ids, found.order) == contents(ids, expected.order)
    assert (found.table == expected.table).all()


@given(streams)
def test_the_budget_turns_to_sais(stream: tuple[np.ndarray, int]) -> None:
    ids, entries = stream
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_BUDGET", "_FAIR", "_MIN_BUDGET"):
            patch.setattr(suffix_sort, name, 0)
        found = sort_suffixes(ids, entries)
    assert contents(ids, found.order) == contents(ids, sort_suffixes(ids, entries).order)


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = sais_calls(monkeypatch)
    ids = natural()
    found = sort_suffixes(ids, 301)
    assert same(found, sort_suffixes(ids, 301, threads=2))
    assert same(found, sort_suffixes(ids, 301, threads=5))
    assert not calls
    assert in_order(ids, found.order)


def test_a_sample_that_repeats_is_left_to_sais(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = sais_calls(monkeypatch)
    ids = tiled()
    found = sort_suffixes(ids, 4)
    assert calls == [len(ids)]
    assert same(found, sort_suffixes(ids, 4, threads=2))
    assert len(calls) == 2
    assert sorted(found.order.tolist()) == np.flatnonzero(ids).tolist()


def test_work_that_outgrows_its_budget_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = sais_calls(monkeypatch)
    monkeypatch.setattr(suffix_sort, "_FAIR", 10**6)
    ids = tiled()
    found = sort_suffixes(ids, 4)
    assert same(found, sort_suffixes(ids, 4, threads=2))
    assert calls == [len(ids)] * 2


def test_without_a_limit_repeats_are_sorted_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_BUDGET", "_FAIR"):
        monkeypatch.setattr(suffix_sort, name, 10**6)
    calls = sais_calls(monkeypatch)
    ids = tiled()[:150_000]
    found = sort_suffixes(ids, 4)
    assert same(found, sort_suffixes(ids, 4, threads=2))
    assert not calls
    assert in_order(ids, found.order)


def test_runs_that_nest_too_deep_are_left_to_sais(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_BUDGET", "_FAIR"):
        monkeypatch.setattr(suffix_sort, name, 10**6)
    calls = sais_calls(monkeypatch)
    # The smallest suffixes are the nine whole documents, alike for 40,000 items.
    text = [1, *np.random.default_rng(7).integers(2, 200, 40_000), 0]
    ids = np.tile(np.array(text, np.int32), 9)
    sort_suffixes(ids, 200)
    assert calls == [len(ids)]


def test_large_ranges_of_keys_are_sorted_in_place() -> None:
    rng = np.random.default_rng(8)
    for high in (2, 2**20, 2**63):
        keys = rng.integers(0, high, 3 * suffix_sort.CACHED_KEYS, np.uint64)
        places = np.arange(len(keys), dtype=np.int32)
        expected, held = np.sort(keys), keys.copy()
        room = (
            np.empty(suffix_sort.CACHED_KEYS, np.uint64),
            np.empty(suffix_sort.CACHED_KEYS, np.int32),
        )
        counts = np.empty(1 << suffix_sort.DIGIT, np.int32)
        suffix_sort.sort_keys(keys, places, 0, len(keys), *room, counts)
        assert (keys == expected).all()
        assert (held[places] == keys).all()
        assert len(np.unique(places)) == len(places)


def test_packed_suffixes() -> None:
    ids = np.array([2, 1, 2, 0, 0, 1, 0], np.int32)
    found = sort_suffixes(ids, 3)
    held = pack_suffixes(found, len(ids))
    assert held.order.all().tolist() == found.order.tolist() == [5, 1, 2, 0]
    assert held.order.bits == 3
    assert held.table_bits == 4
    assert (held.codes() == found.codes).all()
    assert held.table.all().tolist() == found.table.tolist()
    for array in (held.order.data, held.codes(), held.lengths, held.table.data, found.order):
        assert not array.flags.writeable
    empty = pack_suffixes(sort_suffixes(np.empty(0, np.int32), 1), 0)
    assert len(empty.order) == 0
    assert not empty.table.all().any()


def test_what_cannot_be_sorted_is_refused() -> None:
    with pytest.raises(ValueError, match="end of a document"):
        sort_suffixes(np.array([1, 2], np.int32), 3)
    with pytest.raises(ValueError, match="place 1 holds 3"):
        sort_suffixes(np.array([1, 3, 0], np.int32), 3)
    with pytest.raises(ValueError, match="place 0 holds -1"):
        sort_suffixes(np.array([-1, 0], np.int32), 3)
    with pytest.raises(TypeError, match="int64"):
        sort_suffixes(np.array([1, 0]), 2)
