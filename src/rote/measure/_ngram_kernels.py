"""N-grams of all texts as numbers, and what a group makes of those that several texts hold.

N-grams are numbered exactly, each from the numbers of the two (n-1)-grams in it, one 64-bit key.
Those that stand only once get no number: anything longer around them stands only once too and never
has to be looked up. A group has to look only at n-grams of more than one text; all others, in most
texts the large majority, are a count per text.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

from rote.core.array_types import Array
from rote.core.column import empty, room
from rote.core.errors import OptionError
from rote.core.kernels import njit

Integer: TypeAlias = int | np.integer[Any]

BYTES = 36
"""Of memory for each n-gram, while those of a text are numbered."""
MOST_PARTS = 1 << 12
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
EMPTY = -1
ONCE = -1
AHEAD = 256
MOST = 2**31 - 1 - AHEAD


def number_ngrams(
    ids: Array, starts: Array, ends: Array, kinds: int, longest: int
) -> Iterator[tuple[int, Array, int, int]]:
    """For n = 1, 2, ... `longest`: n, numbers by place, how many there are, how many stand once.

    `numbers[p]` belongs to the n-gram that starts at p: ONCE if it stands nowhere
    else, without meaning where a text holds no such n-gram. They follow the order in which n-grams
    first stand. It is the same array each time, overwritten for the next n.
    """
    numbers = empty(len(ids), np.int32)
    repeated, once = number_words(ids, kinds, numbers)
    yield 1, numbers, repeated, once
    for n in range(2, longest + 1):
        repeated, once = _longer(numbers, starts, ends, n)
        yield n, numbers, repeated, once


def _longer(numbers: Array, starts: Array, ends: Array, n: int) -> tuple[int, int]:
    """The numbers of (n-1)-grams become those of n-grams, in place: how many stand more than once,
    and how many only once. Where there is no room for a table of all, it is done in parts."""
    parts = min(MOST_PARTS, max(1, math.ceil(len(numbers) * BYTES / room())))
    before = numbers
    if parts > 1:
        before = empty(len(numbers), np.int32)
        before[:] = numbers
    repeated = once = 0
    for part in range(parts):
        repeated, alone = lengthen(before, numbers, starts, ends, n, parts, part, repeated)
        once += alone
        if repeated < 0:
            raise OptionError(
                "more than 2,147,483,647 different n-grams cannot be numbered: take fewer texts, "
                "or leave the measure out (for lexical: ngram_max 0)"
            )
    if parts > 1:
        put_in_order(numbers, starts, ends, n, repeated)
    return repeated, once


@njit(cache=True, nogil=True, inline="always")
def _spread(key: Integer) -> Any:
    spread = np.uint64(key) * GOLDEN
    spread ^= spread >> np.uint64(32)
    return spread * GOLDEN


@njit(cache=True, nogil=True, inline="always")
def _slot(key: Integer, size: int) -> Integer:
    return np.int64(_spread(key) >> np.uint64(20)) & (size - 1)


@njit(cache=True, nogil=True, inline="always")
def _part(key: Integer, parts: int) -> Integer:
    """By the highest bits, which no table is large enough for."""
    return np.int64((_spread(key) >> np.uint64(52)) * np.uint64(parts) >> np.uint64(12))


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
def number_words(ids: Array, kinds: int, numbers: Array) -> tuple[int, int]:
    """Number the words that stand more than once; how many do, and how many do not."""
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
    for place in range(len(ids)):
        numbers[place] = renumbered[ids[place]]
    return repeated, once


@njit(cache=True, nogil=True)
def _look_up(
    table: Array,
    first: int,
    kinds: int,
    keys: Array,
    places: Array,
    numbers: Array,
    again: Array,
) -> int:
    """Number the n-grams with these keys from `first` on; how many there are then."""
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
        numbers[places[step]] = first + table[slot, 1]
    return kinds


@njit(cache=True, nogil=True)
def lengthen(
    before: Array,
    numbers: Array,
    starts: Array,
    ends: Array,
    n: int,
    parts: int,
    part: int,
    first: int,
) -> tuple[int, int]:
    """Number the n-grams of a part from `first` on, by the numbers of (n-1)-grams from `before`.

    Gives the next number, negative where there is none left, and how many stand only once. With
    one part `before` may be `numbers` itself.
    """
    size = 4 * AHEAD
    while size < min(2 * len(numbers), 1 << 16):  # to fill a large one takes longer than few texts
        size *= 2
    table = np.full((size, 2), EMPTY, np.int64)
    again = np.empty(len(table), np.bool_)
    keys = np.empty(AHEAD, np.int64)
    places = np.empty(AHEAD, np.int64)
    kinds = 0
    once = 0
    waiting = 0
    for text in range(len(starts)):
        for place in range(starts[text], ends[text] - n + 1):
            # Writing at a place is safe: only the place before it reads it, and has done so.
            if before[place] == ONCE or before[place + 1] == ONCE:
                numbers[place] = ONCE
                once += part == 0
                continue
            key = (np.int64(before[place]) << 32) | np.int64(before[place + 1])
            if parts > 1 and _part(key, parts) != part:
                if part == 0:
                    numbers[place] = ONCE
                continue
            keys[waiting] = key
            places[waiting] = place
            waiting += 1
            if waiting == AHEAD:
                kinds = _look_up(table, first, kinds, keys, places, numbers, again)
                waiting = 0
                if first + kinds > MOST:
                    return -1, 0
                if 3 * (kinds + AHEAD) > 2 * len(table):
                    table = _grown(table)
                    more = np.empty(len(table), np.bool_)
                    for number in range(kinds):
                        more[number] = again[number]
                    again = more
    kinds = _look_up(table, first, kinds, keys[:waiting], places[:waiting], numbers, again)

    renumbered = np.full(kinds, ONCE, np.int32)
    repeated = first
    for number in range(kinds):
        if again[number]:
            renumbered[number] = repeated
            repeated += 1
        else:
            once += 1
    for text in range(len(starts)):
        for place in range(starts[text], ends[text] - n + 1):
            if numbers[place] >= first:
                numbers[place] = renumbered[numbers[place] - first]
    return repeated, once


@njit(cache=True, nogil=True)
def put_in_order(numbers: Array, starts: Array, ends: Array, n: int, kinds: int) -> None:
    """Number n-grams anew, in the order in which they first stand."""
    renumbered = np.full(kinds, ONCE, np.int32)
    known = 0
    for text in range(len(starts)):
        for place in range(starts[text], ends[text] - n + 1):
            number = numbers[place]
            if number != ONCE:
                if renumbered[number] == ONCE:
                    renumbered[number] = known
                    known += 1
                numbers[place] = renumbered[number]


def shared_sets(
    numbers: Array, starts: Array, ends: Array, n: int, kinds: int, *, counted: bool = False
) -> tuple[Array, Array, Array, Array, int]:
    """Each text's set of n-grams, split by whether another text holds the n-gram too.

    Gives: how many n-grams of its own each text has; the shared ones, renumbered,
    text after text, with their counts in the text if they are `counted`; where each text ends
    there; how many shared ones there are.
    """
    own, renumbered, shared_kinds, most = _shared(numbers, starts, ends, n, kinds)
    shared, counts = empty(most, np.int32), empty(most if counted else 0, np.int32)
    shared_ends = _fill(numbers, starts, ends, n, renumbered, shared_kinds, shared, counts)
    filled = int(shared_ends[-1]) if len(shared_ends) else 0
    return own, shared[:filled], counts[:filled], shared_ends, shared_kinds


@njit(cache=True, nogil=True)
def _shared(
    numbers: Array, starts: Array, ends: Array, n: int, kinds: int
) -> tuple[Array, Array, int, int]:
    """How many n-grams only one text holds, by text; the others numbered anew, and how many those
    are; how often they occur in all."""
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
    shared_kinds = 0
    for number in range(kinds):  # in place: owners become numbers
        if owner[number] == several:
            owner[number] = shared_kinds
            shared_kinds += 1
        elif owner[number] >= 0:
            own[owner[number]] += 1
            owner[number] = -1
    most = 0
    for text in range(len(starts)):
        for place in range(starts[text], ends[text] - n + 1):
            most += numbers[place] != ONCE and owner[numbers[place]] >= 0
    return own, owner, shared_kinds, most


@njit(cache=True, nogil=True)
def _fill(
    numbers: Array,
    starts: Array,
    ends: Array,
    n: int,
    renumbered: Array,
    shared_kinds: int,
    shared: Array,
    counts: Array,
) -> Array:
    """Write each text's shared n-grams; where each text ends there."""
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
                if len(counts):
                    counts[entry[number]] += 1
            else:
                entry[number] = filled
                shared[filled] = number
                if len(counts):
                    counts[filled] = 1
                filled += 1
        shared_ends[text] = filled
    return shared_ends


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
