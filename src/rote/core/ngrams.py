"""N-grams of all texts as numbers, and what a group makes of those that several texts hold.

N-grams are numbered exactly, each from the numbers of the two (n-1)-grams in it, one 64-bit key.
Those that stand only once get no number: anything longer around them stands only once too and never
has to be looked up. A group has to look only at n-grams of more than one text; all others, in most
texts the large majority, are a count per text.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from rote.core.arrays import Array, Floats, Integers, empty, room
from rote.core.errors import OptionError
from rote.core.kernels import njit
from rote.core.layer import Ids, Offsets
from rote.core.sample import Take

Integer: TypeAlias = int | np.integer[Any]

BYTES = 36
"""Of memory for each n-gram, while those of a text are numbered."""
MAX_PARTS = 1 << 12
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
EMPTY = -1
ONCE = -1
AHEAD = 256
MAX_NGRAMS = 2**31 - 1 - AHEAD
LANES = 128
"""Groups whose n-grams are counted in one pass: two words of 64 bits for each text. Of 1, 2, 4 and
8 words two are the quickest for the hundred or so groups that are asked for at once."""
LEVELS = 33
"""Bits of a number of n-grams, and one more."""
COLUMNS = 64
"""Groups that have a column of counts in one pass, where that takes no more than COLUMN_BYTES."""
COLUMN_BYTES = 1 << 27
RARE = 3
"""How often n-grams are in all texts, at most, that are counted by bits in each group."""


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
        repeated, once = _number_longer(numbers, starts, ends, n)
        yield n, numbers, repeated, once


def number_pairs(ids: Array, starts: Array, ends: Array, kinds: int, gap: int) -> tuple[Array, int]:
    """Numbers by place of every two items `gap` apart, as `number_ngrams` gives those of n-grams,
    and how many there are: with n-grams of n items for ids and gap n, of 2 n items."""
    numbers = empty(len(ids), np.int32)
    number_words(ids, kinds, numbers)
    repeated, _ = _number_longer(numbers, starts, ends, gap + 1, gap)
    return numbers, repeated


def _number_longer(
    numbers: Array, starts: Array, ends: Array, n: int, gap: int = 1
) -> tuple[int, int]:
    """The numbers of (n - gap)-grams become those of n-grams, in place: how many stand more than
    once, and how many only once. Where there is no room for a table of all, it is done in parts."""
    parts = min(MAX_PARTS, max(1, math.ceil(len(numbers) * BYTES / room())))
    before = numbers
    if parts > 1:
        before = empty(len(numbers), np.int32)
        before[:] = numbers
    repeated = once = 0
    for part in range(parts):
        repeated, alone = lengthen(before, numbers, starts, ends, n, gap, parts, part, repeated)
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
def _mix(key: Integer) -> Any:
    spread = np.uint64(key) * GOLDEN
    spread ^= spread >> np.uint64(32)
    return spread * GOLDEN


@njit(cache=True, nogil=True, inline="always")
def _slot(key: Integer, size: int) -> Integer:
    return np.int64(_mix(key) >> np.uint64(20)) & (size - 1)


@njit(cache=True, nogil=True, inline="always")
def _part(key: Integer, parts: int) -> Integer:
    """By the highest bits, which no table is large enough for."""
    return np.int64((_mix(key) >> np.uint64(52)) * np.uint64(parts) >> np.uint64(12))


@njit(cache=True, nogil=True)
def _grow(table: Array) -> Array:
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
    table: Array, first: int, kinds: int, keys: Array, places: Array, numbers: Array, again: Array
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
    gap: int,
    parts: int,
    part: int,
    first: int,
) -> tuple[int, int]:
    """Number the n-grams of a part from `first` on, by the numbers of (n - gap)-grams that begin
    `gap` apart, from `before`.

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
            # Writing at a place is safe: only a place before it reads it, and has done so.
            if before[place] == ONCE or before[place + gap] == ONCE:
                numbers[place] = ONCE
                once += part == 0
                continue
            key = (np.int64(before[place]) << 32) | np.int64(before[place + gap])
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
                if first + kinds > MAX_NGRAMS:
                    return -1, 0
                if 3 * (kinds + AHEAD) > 2 * len(table):
                    table = _grow(table)
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
    numbers: Array, starts: Array, ends: Array, n: int, kinds: int
) -> tuple[Array, Array, Array, int]:
    """Each text's set of the n-grams that another text holds too.

    Gives: these n-grams, renumbered, text after text, and their counts in the text; where each text
    ends there; how many there are.
    """
    renumbered, shared_kinds, most = _shared(numbers, starts, ends, n, kinds)
    shared, counts = empty(most, np.int32), empty(most, np.int32)
    shared_ends = _fill(numbers, starts, ends, n, renumbered, shared_kinds, shared, counts)
    filled = int(shared_ends[-1]) if len(shared_ends) else 0
    return shared[:filled], counts[:filled], shared_ends, shared_kinds


@njit(cache=True, nogil=True)
def _shared(
    numbers: Array, starts: Array, ends: Array, n: int, kinds: int
) -> tuple[Array, int, int]:
    """The n-grams of several texts numbered anew, and how many those are; how often they occur in
    all."""
    several = -2
    owner = np.full(kinds, -1, np.int32)
    for text in range(len(starts)):
        for place in range(starts[text], ends[text] - n + 1):
            number = numbers[place]
            if number == ONCE:
                continue
            if owner[number] == -1:
                owner[number] = text
            elif owner[number] != text:
                owner[number] = several
    shared_kinds = 0
    for number in range(kinds):  # in place: owners become numbers
        if owner[number] == several:
            owner[number] = shared_kinds
            shared_kinds += 1
        else:
            owner[number] = -1
    most = 0
    for text in range(len(starts)):
        for place in range(starts[text], ends[text] - n + 1):
            most += numbers[place] != ONCE and owner[numbers[place]] >= 0
    return owner, shared_kinds, most


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
                counts[entry[number]] += 1
            else:
                entry[number] = filled
                shared[filled] = number
                counts[filled] = 1
                filled += 1
        shared_ends[text] = filled
    return shared_ends


@dataclass(frozen=True, slots=True)
class Postings:
    """For each n-gram the texts that hold it, ascending, n-gram after n-gram.

    An n-gram of only one text has no list, and `alone` counts such n-grams by text. With `counts`,
    how often each text of a list holds the n-gram, only those that stand once have none.
    The first `rare` lists are of n-grams that stand up to RARE times, none stands more than `most`.
    """

    alone: Integers
    texts: Ids
    ends: Offsets
    counts: Ids
    rare: int
    most: int
    parts: dict[bytes, tuple[Array, Array, Array]] = field(default_factory=dict)
    """What is left of the lists in some texts: those that were asked for last."""

    @classmethod
    def build(
        cls, numbers: Array, starts: Array, ends: Array, n: int, kinds: int, *, counted: bool
    ) -> Postings:
        """Of n-grams that have these numbers by place, fewer than `kinds` (`number_ngrams`)."""
        alone, places, list_ends, rare, most = _list_postings(
            numbers, starts, ends, n, kinds, counted
        )
        size = int(list_ends[-1]) if len(list_ends) else 0
        texts, counts = empty(size, np.int32), empty(size if counted else 0, np.int32)
        _fill_postings(numbers, starts, ends, n, places, texts, counts)
        return cls(alone, texts, list_ends, counts, rare, most)

    def distinct(self, groups: TextGroups) -> Integers:
        """How many different n-grams each group of texts holds."""
        wanted = np.zeros(len(self.alone), np.bool_)
        wanted[groups.texts] = True
        if len(groups.ends) < LANES // 2 or 2 * np.count_nonzero(wanted) > len(wanted):
            return _distinct_in_groups(self.alone, self.texts, self.ends, *groups)
        # Groups of the same texts are asked for again and again.
        key = wanted.tobytes()
        if (lists := self.parts.get(key)) is None:
            lists = _lists_within(self.alone, self.texts, self.ends, wanted)
            self.parts.clear()
            self.parts[key] = lists
        return _distinct_in_groups(*lists, *groups)

    def summed(self, groups: TextGroups, tables: Floats, chosen: Integers) -> Floats:
        """For each group g the sum of `tables[chosen[g], c]` over the n-grams that have lists,
        where c is how often the group holds the n-gram. A table begins with 0, and its last entry
        counts for more."""
        lists, size = (self.texts, self.counts, self.ends, self.rare), len(self.alone)
        if (missing := RARE + 1 - tables.shape[1]) > 0:
            tables = np.pad(tables, ((0, 0), (0, missing)), mode="edge")
        width = tables.shape[1]
        steps = np.diff(tables[:, : RARE + 1])[chosen]
        sums = (steps * _rare_in_groups(lists, size, *groups).T).sum(axis=1)
        kind = np.uint16 if self.most < 1 << 16 else np.int32
        for part, is_member, wanted in _columns(groups, size, kind):
            where = (tables.ravel(), chosen[part] * width, width - 1)
            sums[part] += _sum_counts(lists, is_member, wanted, *where)
        return np.asarray(sums)

    def elsewhere(self, groups: TextGroups) -> Integers:
        """For each text of each group, one group after another: in how many other texts of the
        group its n-grams stand, summed."""
        counts = np.empty(len(groups.texts), np.int64)
        for part, is_member, wanted in _columns(groups, len(self.alone), np.int32):
            _count_elsewhere(self.texts, self.ends, is_member, wanted, *groups, part.start, counts)
        return counts


class TextGroups(NamedTuple):
    """The texts of groups one after another, and where each group ends there."""

    texts: Integers
    ends: Integers

    @classmethod
    def of(cls, takes: Sequence[Take]) -> TextGroups:
        return cls(np.concatenate(takes), np.cumsum([len(take) for take in takes]))

    def sums(self, *columns: Array) -> Floats:
        """The sums of each column of numbers per text over the texts of each group."""
        return np.asarray(_sum_by_group(np.array(columns, np.float64), *self))


def _columns(groups: TextGroups, texts: int, kind: Any) -> Iterator[tuple[slice, Array, Array]]:
    """Some groups at a time; by text and group 1 where the group holds the text, else 0; by text
    whether any does."""
    lanes = max(1, min(COLUMNS, COLUMN_BYTES // (12 * max(texts, 1))))  # a sum and a mark of each
    for first in range(0, len(groups.ends), lanes):
        part = slice(first, first + lanes)
        is_member = np.zeros((texts, len(groups.ends[part])), kind)
        wanted = np.zeros(texts, np.bool_)
        _mark(*groups, first, is_member, wanted)
        yield part, is_member, wanted


@njit(cache=True, nogil=True)
def _mark(members: Array, member_ends: Array, first: int, is_member: Array, wanted: Array) -> None:
    for group in range(first, first + is_member.shape[1]):
        for member in range(member_ends[group - 1] if group else 0, member_ends[group]):
            is_member[members[member], group - first] = 1
            wanted[members[member]] = True


@njit(cache=True, nogil=True)
def _list_postings(
    numbers: Array, starts: Array, ends: Array, n: int, kinds: int, counted: bool
) -> tuple[Array, Array, Array, int, int]:
    """By text how many n-grams have no list; by n-gram where its list begins, -1 for none; where
    lists end; how many are of rare n-grams; how often the most frequent one stands."""
    alone = np.zeros(len(starts), np.int64)
    last = np.full(kinds, -1, np.int32)
    texts = np.zeros(kinds, np.int32)
    totals = np.zeros(kinds, np.int64)
    for text in range(len(starts)):
        for place in range(starts[text], ends[text] - n + 1):
            number = numbers[place]
            if number == ONCE:
                alone[text] += 1
                continue
            totals[number] += 1
            if last[number] != text:
                last[number] = text
                texts[number] += 1
    list_ends = np.empty(kinds, np.int64)
    places = np.full(kinds, -1, np.int64)
    lists = 0
    rare = 0
    filled = 0
    most = 0
    for frequent in range(2):
        rare = lists  # those of the first turn
        for number in range(kinds):
            if (totals[number] > RARE) != frequent:
                continue
            most = max(most, totals[number])
            if texts[number] > (0 if counted else 1):
                places[number] = filled
                filled += texts[number]
                list_ends[lists] = filled
                lists += 1
            elif texts[number]:
                alone[last[number]] += 1
    return alone, places, list_ends[:lists].copy(), rare, most


@njit(cache=True, nogil=True)
def _fill_postings(
    numbers: Array, starts: Array, ends: Array, n: int, places: Array, texts: Array, counts: Array
) -> None:
    """Write the lists that begin at `places`, which move to their ends."""
    last = np.full(len(places), -1, np.int32)
    for text in range(len(starts)):
        for place in range(starts[text], ends[text] - n + 1):
            number = numbers[place]
            if number == ONCE or places[number] < 0:
                continue
            if last[number] != text:
                last[number] = text
                texts[places[number]] = text
                if len(counts):
                    counts[places[number]] = 0
                places[number] += 1
            if len(counts):
                counts[places[number] - 1] += 1


@njit(cache=True, nogil=True)
def _marks(size: int, members: Array, member_ends: Array, first: int, last: int) -> Array:
    """By text a bit for each of these groups that holds it."""
    marks = np.zeros((size, 2), np.uint64)
    for group in range(first, last):
        word = (group - first) >> 6
        bit = np.uint64(1) << np.uint64((group - first) & 63)
        for member in range(member_ends[group - 1] if group else 0, member_ends[group]):
            marks[members[member], word] |= bit
    return marks


@njit(cache=True, nogil=True, inline="always")
def _add_bits(bits: Any, first: Any, second: Any) -> tuple[Any, Any]:
    """Three bits of each group added up: the bit of the sum, and the carry."""
    either = bits ^ first
    return either ^ second, (bits & first) | (either & second)


@njit(cache=True, nogil=True)
def _add_block(block: Array, number: int, sums: Array, waiting: Array) -> None:
    """Add eight times a bit to the count of each group.

    Counts are kept bit by bit: `sums[level]` has that of 2^level for every group. Carries are added
    two by two, and the first of two waits for the other; `number` is that of the block.
    """
    for word in range(2):
        ones, twos, fours = sums[0, word], sums[1, word], sums[2, word]
        ones, two = _add_bits(ones, block[0, word], block[1, word])
        ones, other_two = _add_bits(ones, block[2, word], block[3, word])
        twos, four = _add_bits(twos, two, other_two)
        ones, two = _add_bits(ones, block[4, word], block[5, word])
        ones, other_two = _add_bits(ones, block[6, word], block[7, word])
        twos, other_four = _add_bits(twos, two, other_two)
        fours, carry = _add_bits(fours, four, other_four)
        sums[0, word], sums[1, word], sums[2, word] = ones, twos, fours
        level = 3
        while (number >> (level - 3)) & 1:
            sums[level, word], carry = _add_bits(sums[level, word], waiting[level, word], carry)
            level += 1
        waiting[level, word] = carry


@njit(cache=True, nogil=True)
def _add_counts(sums: Array, waiting: Array, blocks: int, counts: Array) -> None:
    """Add to each group's count what so many blocks have brought."""
    for level in range(len(sums)):
        for group in range(len(counts)):
            shift = np.uint64(group & 63)
            bits = (sums[level, group >> 6] >> shift) & np.uint64(1)
            if level > 2 and (blocks >> (level - 3)) & 1:
                bits += (waiting[level, group >> 6] >> shift) & np.uint64(1)
            counts[group] += np.int64(bits) << level


@njit(cache=True, nogil=True)
def _distinct_in_groups(
    alone: Array, texts: Array, ends: Array, members: Array, member_ends: Array
) -> Array:
    """`Postings.distinct`: a bit says whether a group holds a text, so that `|` over the texts of
    an n-gram says which groups hold the n-gram, for all of a pass."""
    distinct = np.zeros(len(member_ends), np.int64)
    block = np.empty((8, 2), np.uint64)
    for first in range(0, len(member_ends), LANES):
        last = min(first + LANES, len(member_ends))
        marks = _marks(len(alone), members, member_ends, first, last)
        sums = np.zeros((LEVELS, 2), np.uint64)
        waiting = np.zeros((LEVELS, 2), np.uint64)
        entry = 0
        blocks = 0
        for start in range(0, len(ends), 8):
            for step in range(8):
                low = np.uint64(0)
                high = np.uint64(0)
                end = ends[start + step] if start + step < len(ends) else entry
                while entry < end:
                    low |= marks[texts[entry], 0]
                    high |= marks[texts[entry], 1]
                    entry += 1
                block[step, 0] = low
                block[step, 1] = high
            _add_block(block, blocks, sums, waiting)
            blocks += 1
        _add_counts(sums, waiting, blocks, distinct[first:last])
        for group in range(first, last):
            for member in range(member_ends[group - 1] if group else 0, member_ends[group]):
                distinct[group] += alone[members[member]]
    return distinct


@njit(cache=True, nogil=True)
def _lists_within(alone: Array, texts: Array, ends: Array, wanted: Array) -> tuple[Any, Any, Any]:
    """`alone`, `texts` and `ends` of the wanted texts by themselves."""
    of_one = alone.copy()
    some = np.empty(len(texts), np.int32)
    some_ends = np.empty(len(ends), np.int64)
    entry = 0
    filled = 0
    lists = 0
    for end in ends:
        begin = filled
        while entry < end:
            some[filled] = texts[entry]  # overwritten by the next unless it is wanted: no branch
            filled += wanted[texts[entry]]
            entry += 1
        if filled == begin + 1:
            of_one[some[begin]] += 1
            filled = begin
        elif filled > begin:
            some_ends[lists] = filled
            lists += 1
    return of_one, some[:filled].copy(), some_ends[:lists].copy()


@njit(cache=True, nogil=True)
def _rare_in_groups(lists: tuple[Any, ...], size: int, members: Array, member_ends: Array) -> Array:
    """How many of the rare n-grams each group holds at least once, twice and three times."""
    texts, counts, ends, rare = lists
    distinct = np.zeros((RARE, len(member_ends)), np.int64)
    once = np.empty((8, 2), np.uint64)
    twice = np.empty((8, 2), np.uint64)
    thrice = np.empty((8, 2), np.uint64)
    none = np.uint64(0)
    for first in range(0, len(member_ends), LANES):
        last = min(first + LANES, len(member_ends))
        marks = _marks(size, members, member_ends, first, last)
        sums = np.zeros((RARE, LEVELS, 2), np.uint64)
        waiting = np.zeros((RARE, LEVELS, 2), np.uint64)
        of_once, of_twice, of_thrice = sums[0], sums[1], sums[2]
        for_once, for_twice, for_thrice = waiting[0], waiting[1], waiting[2]
        entry = 0
        blocks = 0
        for start in range(0, rare, 8):
            for step in range(8):
                end = ends[start + step] if start + step < rare else entry
                for word in range(2):
                    a, b, c = none, none, none
                    for place in range(entry, end):
                        mark = marks[texts[place], word]
                        for _ in range(counts[place]):
                            c |= b & mark
                            b |= a & mark
                            a |= mark
                    once[step, word], twice[step, word], thrice[step, word] = a, b, c
                entry = end
            _add_block(once, blocks, of_once, for_once)
            _add_block(twice, blocks, of_twice, for_twice)
            _add_block(thrice, blocks, of_thrice, for_thrice)
            blocks += 1
        for least in range(RARE):
            _add_counts(sums[least], waiting[least], blocks, distinct[least, first:last])
    return distinct


@njit(cache=True, nogil=True)
def _sum_counts(
    lists: tuple[Any, ...], is_member: Array, wanted: Array, tables: Array, places: Array, top: int
) -> Array:
    """`Postings.summed` of n-grams that are not rare; a group's table begins at its `places`."""
    texts, counts, ends, rare = lists
    groups = is_member.shape[1]
    summed = np.zeros(groups)
    sums = np.zeros(groups, is_member.dtype)
    entry = ends[rare - 1] if rare else 0
    for end in ends[rare:]:
        some = False
        for group in range(groups):
            sums[group] = 0
        while entry < end:
            text = texts[entry]
            if wanted[text]:
                some = True
                count = counts[entry]
                for group in range(groups):
                    sums[group] += is_member[text, group] * count
            entry += 1
        if some:
            for group in range(groups):
                summed[group] += tables[places[group] + min(np.int64(sums[group]), top)]
    return summed


@njit(cache=True, nogil=True)
def _count_elsewhere(
    texts: Array,
    ends: Array,
    is_member: Array,
    wanted: Array,
    members: Array,
    member_ends: Array,
    first: int,
    counts: Array,
) -> None:
    """`Postings.elsewhere` of the groups from `first` on."""
    groups = is_member.shape[1]
    summed = np.zeros(is_member.shape, np.int64)
    others = np.zeros(groups, np.int32)
    begin = 0
    for end in ends:
        for group in range(groups):
            others[group] = -1
        for entry in range(begin, end):
            text = texts[entry]
            if wanted[text]:
                for group in range(groups):
                    others[group] += is_member[text, group]
        for entry in range(begin, end):
            text = texts[entry]
            if wanted[text]:
                for group in range(groups):
                    summed[text, group] += others[group]
        begin = end
    for group in range(first, first + groups):
        for member in range(member_ends[group - 1] if group else 0, member_ends[group]):
            counts[member] = summed[members[member], group - first]


@njit(cache=True, nogil=True)
def _sum_by_group(columns: Array, members: Array, member_ends: Array) -> Array:
    sums = np.zeros((len(columns), len(member_ends)))
    for number in range(len(columns)):
        for group in range(len(member_ends)):
            for member in range(member_ends[group - 1] if group else 0, member_ends[group]):
                sums[number, group] += columns[number, members[member]]
    return sums
