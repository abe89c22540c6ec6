"""The most frequent n-grams of a layer of one segment, exactly: `rote top` and templates ask this.
Two ways give the same answer. N-grams of any length are read off the sorted suffixes
(`top_order`). Where the n numbers fit into 64 bits, all windows can be counted by hashing instead
(`top_keys`): faster for the few n-grams of a short n, and the only way for a layer without sorted
suffixes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import OptionError
from rote.index.columns.packed import Items
from rote.index.columns.parts import Column, Suffixes
from rote.index.counting import top_best, top_keys, top_order

Found = tuple[NDArray[np.int64], NDArray[np.int64]]
Text = tuple[Items, int, NDArray[np.int64], int]
KEY_BITS = 64
MEMORY = 2 << 30
"""Bytes that hashes of the text in hand take at most."""
# A part of so many windows is counted in the cache, even if no two are equal.
_PART = 1 << 13
# More parts at once would each need a page of their own at hand while the hashes are dealt out.
_MOST_PART_BITS = 12
# So many different n-grams are counted in the cache without dealing them out. Only then is
# hashing faster than the walk over sorted suffixes.
_FEW = 1 << 17


def frequent(
    column: Column,
    n: int,
    *,
    least: int = 1,
    most: int | None = None,
    memory: int = MEMORY,
) -> Found:
    """All n-grams that occur at least `least` times: the first place of each, and its count.

    With `most` only so many of the highest counts, and all that tie with the last of them. The
    most frequent come first; equal counts stand in the order of the n-grams. No n-gram crosses
    a document's end. Hashes of the text in hand take at most `memory` bytes; a longer text is
    gone through several times.
    """
    if n < 1 or least < 1 or (most is not None and most < 0):
        raise OptionError(
            f"n-grams of {n}, at least {least} times, at most {most}: "
            "n and least begin at 1, most at 0"
        )
    if most == 0 or column.items == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    column = column.plain()
    suffixes, fits = column.suffixes, n * column.ids.bits <= KEY_BITS
    if fits and (suffixes is None or _few(column, n)):
        part_bits = _part_bits(column, n, memory // 8)
        return by_hashing(column, n, least, most, part_bits=part_bits, room=memory // 8)
    if suffixes is None:
        raise OptionError(
            f"n-grams of {n} items are found in sorted suffixes, and the layer "
            f"'{column.name}' has none. Add them with: rote index add-layer INDEX {column.name}"
        )
    return by_order(column, suffixes, n, least, most)


def by_order(column: Column, suffixes: Suffixes, n: int, least: int, most: int | None) -> Found:
    """Off the sorted suffixes; for any n."""
    order, ids = suffixes.order, column.ids
    best, tallies, state = top_best.empty(least, most)
    best = top_order.count_sorted(
        order.data, order.bits, len(order), ids.data, ids.bits, n, best, tallies, state
    )
    rows = top_best.chosen(best, state)
    # They come in the order of the n-grams, which a stable sort keeps for equal counts.
    by_count = np.argsort(-rows[:, top_best.COUNT], kind="stable")
    return rows[by_count, top_best.FIRST], rows[by_count, top_best.COUNT]


def by_hashing(
    column: Column, n: int, least: int, most: int | None, *, part_bits: int, room: int
) -> Found:
    """By counting all windows in 2**part_bits parts, with room for so many hashes at a time.

    For n-grams that fit into KEY_BITS.
    """
    ids = column.stream()
    text: Text = (ids.data, ids.bits, column.document_ends, n)
    best, tallies, state = top_best.empty(least, most)
    rounds = list(_rounds(text, part_bits, room))
    # Made once, and by numpy, which asks for large pages: dealing writes in many places at once.
    dealt = np.empty(max(0 if bounds is None else bounds[-1] for _, bounds in rounds), np.uint64)
    for low, bounds in rounds:
        if bounds is None:
            best = top_keys.count_streamed(*text, part_bits, low, best, tallies, state)
        else:
            top_keys.deal(*text, part_bits, low, bounds, dealt)
            best = top_keys.count_dealt(dealt, bounds, part_bits, best, tallies, state)
    del dealt
    rows = top_best.chosen(best, state)
    hashes, counts = rows[:, top_best.KEY].view(np.uint64), rows[:, top_best.COUNT]
    parts = ((hashes >> np.uint64(1)) >> np.uint64(63 - part_bits)).astype(np.int64)
    # Parts come one after the other, and in a part n-grams stand as they were first seen.
    ranks = rows[:, top_best.FIRST].copy()
    places = top_keys.places_of(*text, part_bits, parts, ranks)
    order = np.argsort(hashes * np.uint64(top_keys.GATHER))
    order = order[np.argsort(-counts[order], kind="stable")]
    return places[order], counts[order]


def _few(column: Column, n: int) -> bool:
    """Whether there are so few possible n-grams that they can be counted in the cache."""
    return float(len(column.vocabulary) - 1) ** n <= _FEW


def _part_bits(column: Column, n: int, room: int) -> int:
    """Into how many parts the windows should be dealt, as a power of two; 0: do not deal."""
    if _few(column, n):
        return 0
    wanted = (column.items // _PART).bit_length()
    rounds = column.items // max(1, room)
    return min(wanted, _MOST_PART_BITS + rounds.bit_length())


def _rounds(
    text: Text, part_bits: int, room: int
) -> Iterator[tuple[int, NDArray[np.int64] | None]]:
    """Which parts to count together: the first, and where each begins among the hashes dealt.

    Without bounds: this one part alone has no room, or there is only one, so it should be
    counted without storing it. A large part is no worry for that, as it is large by what
    repeats in it.
    """
    if part_bits == 0:
        yield 0, None
        return
    sizes = top_keys.part_sizes(*text, part_bits)
    ends = np.cumsum(sizes)
    low = 0
    while low < len(sizes):
        before = int(ends[low - 1]) if low else 0
        high = int(np.searchsorted(ends, before + room, side="right"))
        if high > low:
            yield low, np.concatenate([[0], ends[low:high] - before])
            low = high
        else:
            yield low, None
            low += 1
