"""N-grams of all texts as numbers, and what a group makes of those that several texts hold.

N-grams are numbered exactly, each from the numbers of the two (n-1)-grams in it, one 64-bit key.
Those that stand only once get no number: anything longer around them stands only once too and never
has to be looked up. A group has to look only at n-grams of more than one text; all others, in most
texts the large majority, are a count per text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

from rote.core.array_types import Array
from rote.core.errors import OptionError
from rote.core.kernels import njit

Integer: TypeAlias = int | np.integer[Any]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
EMPTY = -1
ONCE = -1
AHEAD = 256


def number_ngrams(
    ids: Array, starts: Array, ends: Array, kinds: int, longest: int
) -> Iterator[tuple[int, Array, int, int]]:
    """For n = 1, 2, ... `longest`: n, numbers by place, how many there are, how many stand once.

    `numbers[p]` belongs to the n-gram that starts at p: ONCE if it stands nowhere
    else, without meaning where a text holds no such n-gram. It is the same array
    each time, overwritten for the next n.
    """
    check_countable(ids)
    numbers, repeated, once = number_words(ids, kinds)
    yield 1, numbers, repeated, once
    for n in range(2, longest + 1):
        repeated, once = lengthen(numbers, starts, ends, n)
        yield n, numbers, repeated, once


def check_countable(ids: Array) -> None:
    """Numbers of n-grams are 32-bit: refuse what would overflow instead of miscounting."""
    if len(ids) >= 2**31:
        raise OptionError(
            "exact sets of n-grams hold at most 2,147,483,647 words: take fewer texts, "
            "or leave the measure out (for lexical: ngram_max 0)"
        )


@njit(cache=True, nogil=True, inline="always")
def _slot(key: Integer, size: int) -> Integer:
    spread = np.uint64(key) * GOLDEN
    spread ^= spread >> np.uint64(32)
    return np.int64((spread * GOLDEN) >> np.uint64(20)) & (size - 1)


@njit(cache=True, nogil=True)
def _grown(table: Array) -> Array:
    size = 2 * len(table)
    larger = np.full((size, 2), EMPTY, np.int64)
    for number in range(len(table)):
        key = table[number, 0]
        if key != EMPTY:
            slot = _slot(key, size)
            while larger[slot, 0] != EMPTY:
                slot = (slot + 1) & (size - 1)
            larger[slot, 0] = key
            larger[slot, 1] = table[number, 1]
    return larger


@njit(cache=True, nogil=True)
def number_words(ids: Array, kinds: int) -> tuple[Array, int, int]:
    """Numbers of the words that stand more than once; how many do, and how many do not."""
    counts = np.zeros(kinds, np.int64)
    for word in ids:
        counts[word] += 1
    renumbered = np.full(kinds, ONCE, np.int32)
    repeated = 0
    once = 0
    for word in range(kinds):
        if counts[word] > 1:
            renumbered[word] = repeated
            repeated += 1
        else:
            once += counts[word]
    numbers = np.empty(len(ids), np.int32)
    for place in range(len(ids)):
        numbers[place] = renumbered[ids[place]]
    return numbers, repeated, once


@njit(cache=True, nogil=True)
def _look_up(
    table: Array, kinds: int, keys: Array, places: Array, numbers: Array, again: Array
) -> int:
    """Number the n-grams with these keys, new ones from `kinds` on; the next free number."""
    size = len(table)
    # All first slots are read before any is acted on, so that memory is waited for once.
    slots = np.empty(len(keys), np.int64)
    heads = np.empty(len(keys), np.int64)
    for step in range(len(keys)):
        slots[step] = _slot(keys[step], size)
        heads[step] = table[slots[step], 0]
    for step in range(len(keys)):
        key = keys[step]
        slot = slots[step]
        if heads[step] != key:
            while table[slot, 0] != key and table[slot, 0] != EMPTY:
                slot = (slot + 1) & (size - 1)
        if table[slot, 0] == EMPTY:
            table[slot, 0] = key
            table[slot, 1] = kinds
            again[kinds] = False
            kinds += 1
        else:
            again[table[slot, 1]] = True
        numbers[places[step]] = table[slot, 1]
    return kinds


@njit(cache=True, nogil=True)
def lengthen(numbers: Array, starts: Array, ends: Array, n: int) -> tuple[int, int]:
    """Turn the numbers of (n-1)-grams into those of n-grams, in place.

    Gives how many n-grams stand more than once, and how many only once.
    """
    candidates = 0
    once = 0
    for text in range(len(starts)):
        for place in range(starts[text], ends[text] - n + 1):
            if numbers[place] != ONCE and numbers[place + 1] != ONCE:
                candidates += 1
            else:
                once += 1

    table = np.full((1 << 16, 2), EMPTY, np.int64)
    again = np.empty(candidates, np.bool_)
    keys = np.empty(AHEAD, np.int64)
    places = np.empty(AHEAD, np.int64)
    kinds = 0
    waiting = 0
    for text in range(len(starts)):
        for place in range(starts[text], ends[text] - n + 1):
            # Writing at a place is safe: only the place before it reads it, and has done so.
            if numbers[place] == ONCE or numbers[place + 1] == ONCE:
                numbers[place] = ONCE
                continue
            keys[waiting] = (np.int64(numbers[place]) << 32) | np.int64(numbers[place + 1])
            places[waiting] = place
            waiting += 1
            if waiting == AHEAD:
                kinds = _look_up(table, kinds, keys, places, numbers, again)
                waiting = 0
                if 3 * (kinds + AHEAD) > 2 * len(table):
                    table = _grown(table)
    kinds = _look_up(table, kinds, keys[:waiting], places[:waiting], numbers, again)

    renumbered = np.full(kinds, ONCE, np.int32)
    repeated = 0
    for number in range(kinds):
        if again[number]:
            renumbered[number] = repeated
            repeated += 1
        else:
            once += 1
    for text in range(len(starts)):
        for place in range(starts[text], ends[text] - n + 1):
            if numbers[place] != ONCE:
                numbers[place] = renumbered[numbers[place]]
    return repeated, once


@njit(cache=True, nogil=True)
def shared_sets(
    numbers: Array, starts: Array, ends: Array, n: int, kinds: int
) -> tuple[Array, Array, Array, Array, int]:
    """Each text's set of n-grams, split by whether another text holds the n-gram too.

    Gives: how many n-grams of its own each text has; the shared ones, renumbered,
    text after text, with their counts in the text; where each text ends there;
    how many shared ones there are.
    """
    several = -2
    own = np.zeros(len(starts), np.int64)
    owner = np.full(kinds, -1, np.int32)
    for text in range(len(starts)):
        for place in range(starts[text], ends[text] - n + 1):
            number = numbers[place]
            if number == ONCE:
                own[text] += 1
            elif owner[number] == -1:
                owner[number] = text
            elif owner[number] != text:
                owner[number] = several

    renumbered = np.full(kinds, -1, np.int32)
    shared_kinds = 0
    for number in range(kinds):
        if owner[number] == several:
            renumbered[number] = shared_kinds
            shared_kinds += 1
        elif owner[number] >= 0:
            own[owner[number]] += 1

    most = 0
    for text in range(len(starts)):
        for place in range(starts[text], ends[text] - n + 1):
            most += numbers[place] != ONCE and renumbered[numbers[place]] >= 0
    shared = np.empty(most, np.int32)
    counts = np.empty(most, np.int32)
    shared_ends = np.empty(len(starts), np.int64)
    entry = np.full(shared_kinds, -1, np.int64)
    filled = 0
    for text in range(len(starts)):
        begin = filled
        for place in range(starts[text], ends[text] - n + 1):
            if numbers[place] == ONCE:
                continue
            number = renumbered[numbers[place]]
            if number < 0:
                continue
            if entry[number] >= begin:
                counts[entry[number]] += 1
            else:
                entry[number] = filled
                shared[filled] = number
                counts[filled] = 1
                filled += 1
        shared_ends[text] = filled
    return own, shared[:filled].copy(), counts[:filled].copy(), shared_ends, shared_kinds


@njit(cache=True, nogil=True)
def distinct_in_group(
    own: Array, shared: Array, shared_ends: Array, shared_kinds: int, take: Array
) -> int:
    """How many different n-grams the chosen texts hold together."""
    marked = np.zeros(shared_kinds, np.uint8)
    distinct = 0
    for text in take:
        distinct += own[text]
        first = shared_ends[text - 1] if text else 0
        for entry in range(first, shared_ends[text]):
            number = shared[entry]
            distinct += 1 - marked[number]
            marked[number] = 1
    return distinct


@njit(cache=True, nogil=True)
def texts_elsewhere(shared: Array, shared_ends: Array, shared_kinds: int, take: Array) -> Array:
    """For each chosen text: in how many other chosen texts its n-grams stand, summed."""
    frequency = np.zeros(shared_kinds, np.int64)
    for text in take:
        first = shared_ends[text - 1] if text else 0
        for entry in range(first, shared_ends[text]):
            frequency[shared[entry]] += 1
    summed = np.zeros(len(take), np.int64)
    for number in range(len(take)):
        text = take[number]
        first = shared_ends[text - 1] if text else 0
        for entry in range(first, shared_ends[text]):
            summed[number] += frequency[shared[entry]] - 1
    return summed
