"""Kernels of `dedup`: which runs of words occur again, which copies go, which documents are alike.

Documents follow one another in a stream of word numbers, with an END behind each. All that is
asked follows from its sorted suffixes: places whose next words are equal are neighbours there.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit
from rote.index.columns.parts import END

Array: TypeAlias = NDArray[Any]
ONCE = -1


@njit(cache=True, nogil=True)
def _equal(ids: Array, one: int, other: int, length: int) -> bool:
    """Whether the next `length` words are the same, and within one document each."""
    for step in range(length):
        if ids[one + step] != ids[other + step] or ids[one + step] == END:
            return False
    return True


@njit(cache=True, nogil=True)
def number_runs(ids: Array, order: Array, length: int, numbers: Array) -> int:
    """The same number for all places where the same `length` words begin, by the sorted suffixes;
    ONCE where no other place has them. How many numbers there are."""
    numbers[:] = ONCE
    kinds = 0
    for rank in range(1, len(order)):
        before, place = order[rank - 1], order[rank]
        if _equal(ids, before, place, length):
            if numbers[before] == ONCE:
                numbers[before] = kinds
                kinds += 1
            numbers[place] = numbers[before]
    return kinds


@njit(cache=True, nogil=True)
def drop_repeats(
    ids: Array,
    numbers: Array,
    held: Array,
    length: int,
    dropped: Array,
    copies: Array,
    kept: Array,
) -> None:
    """Drop every run of `length` words that was kept before, or that is `held` elsewhere.

    `dropped` comes with the words of documents that are gone, and gets all others. `kept[number]`
    is where the first copy that stays begins (-1: nowhere yet); `copies[place]` where the copy of a
    run that goes begins (-1: none, -2: elsewhere). A copy counts as kept once its last word has
    been passed and none of its words was dropped.
    """
    until, run = 0, 0
    for place in range(len(ids)):
        copies[place] = -1
        if ids[place] == END:
            until, run = place, 0
            continue
        if dropped[place]:
            run = 0
            continue
        number = numbers[place]
        if number != ONCE and kept[number] >= 0:
            copies[place], until = kept[number], place + length
        elif held[place]:
            copies[place], until = -2, place + length
        if place < until:
            dropped[place] = 1
            run = 0
            continue
        run += 1
        if run >= length:
            first = numbers[place - length + 1]
            if first != ONCE and kept[first] < 0:
                kept[first] = place - length + 1


@njit(cache=True, nogil=True)
def keep_split_sentences(sentence_ends: Array, gone: Array, dropped: Array) -> None:
    """Put back what was dropped of a sentence of which words stay; `gone` are whole documents."""
    start = 0
    for end in sentence_ends:
        every = True
        for place in range(start, end):
            every = every and dropped[place] != 0
        if not every:
            for place in range(start, end):
                dropped[place] = gone[place]
        start = end


@njit(cache=True, nogil=True)
def distinct(starts: Array, ends: Array, numbers: Array, length: int) -> tuple[Array, Array, Array]:
    """Of each document the different numbers in order, where they end, and how many different runs
    of `length` words it has, those that occur once included."""
    found = np.empty(len(numbers), np.int32)
    last = np.zeros(len(starts), np.int64)
    sizes = np.zeros(len(starts), np.int64)
    filled = 0
    for document in range(len(starts)):
        first, once = filled, 0
        for place in range(starts[document], ends[document] - length + 1):
            if numbers[place] == ONCE:
                once += 1
            else:
                found[filled] = numbers[place]
                filled += 1
        own = np.unique(found[first:filled])
        found[first : first + len(own)] = own
        filled = first + len(own)
        last[document], sizes[document] = filled, once + len(own)
    return found[:filled].copy(), last, sizes


@njit(cache=True, nogil=True)
def _shared(found: Array, one: int, one_end: int, other: int, other_end: int) -> int:
    """How many numbers two sorted lists have in common."""
    shared = 0
    while one < one_end and other < other_end:
        if found[one] == found[other]:
            shared += 1
            one += 1
            other += 1
        elif found[one] < found[other]:
            one += 1
        else:
            other += 1
    return shared


@njit(cache=True, nogil=True)
def drop_alike(
    found: Array, last: Array, sizes: Array, frequency: Array, least: float, alike: Array
) -> Array:
    """Documents that are at least so similar (Jaccard) to one before them that stays.

    Gives for each the most similar of those, the first of several, in `alike` (-1: none, it
    stays), and how similar they are. Two sets this similar share one of the rarest numbers
    of each: a set of n has to share at least `least * n`, so of its n - ceil(least * n) + 1
    rarest ones it shares one. Only documents that stay are looked up by those, so none is missed.
    """
    heads = np.full(len(frequency), -1, np.int64)
    links = np.empty(len(found) + 1, np.int64)
    owners = np.empty(len(found) + 1, np.int32)
    asked = np.full(len(last), -1, np.int32)
    similar = np.zeros(len(last))
    used = 0
    for document in range(len(last)):
        first = last[document - 1] if document else 0
        end, size = last[document], sizes[document]
        alike[document] = -1
        # One less than the least number that two have to share is still too few.
        prefix = size - int(np.ceil(least * size - 1e-9)) + 1 - (size - (end - first))
        if prefix <= 0:
            continue
        own = found[first:end]
        rare = own[np.argsort(frequency[own], kind="mergesort")[:prefix]]
        for number in rare:
            at = heads[number]
            while at >= 0:
                other = owners[at]
                at = links[at]
                if asked[other] == document:
                    continue
                asked[other] = document
                if min(size, sizes[other]) < least * max(size, sizes[other]) - 1e-9:
                    continue
                begin = last[other - 1] if other else 0
                shared = _shared(found, first, end, begin, last[other])
                share = shared / (size + sizes[other] - shared)
                if share >= least and (
                    share > similar[document]
                    or (share == similar[document] and other < alike[document])
                ):
                    similar[document], alike[document] = share, other
        if alike[document] < 0:
            for number in rare:
                links[used], owners[used], heads[number] = heads[number], document, used
                used += 1
    return similar


@njit(cache=True, nogil=True)
def cover(
    starts: Array, ends: Array, numbers: Array, length: int, sets: Array, one: int, kinds: int
) -> Array:
    """Words of each set that are part of a run that set `one` holds in another document."""
    first = np.full(kinds, -1, np.int32)
    several = np.zeros(kinds, np.uint8)
    for document in range(len(starts)):
        if sets[document] != one:
            continue
        for place in range(starts[document], ends[document]):
            number = numbers[place]
            if number == ONCE or first[number] == document:
                continue
            if first[number] == -1:
                first[number] = document
            else:
                several[number] = 1
    words = np.zeros(sets.max() + 1, np.int64)
    for document in range(len(starts)):
        until = 0
        for place in range(starts[document], ends[document]):
            number = numbers[place]
            if number != ONCE and (
                several[number] or (first[number] >= 0 and first[number] != document)
            ):
                until = place + length
            words[sets[document]] += place < until
    return words
