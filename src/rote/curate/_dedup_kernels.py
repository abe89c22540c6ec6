"""Kernels of `dedup`: which copies of repeated runs go, which documents are alike.

Documents follow one another in a stream of word numbers, with an END behind each; runs of words
that occur again are numbered (`repeats.py`).
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit
from rote.curate._repeat_kernels import ONCE
from rote.index.columns.layer_column import END

Array: TypeAlias = NDArray[Any]
CUT, GONE = 1, 2
"""What `dropped` says of a word: cut, or gone with its document."""


@njit(cache=True, nogil=True)
def lay(
    held: Array, more: Array, starts: Array, lengths: Array, order: Array, plus: int, out: Array
) -> None:
    """Documents one after another, a zero behind each; what is not in `held` goes on in `more`."""
    at = 0
    for document in order:
        for place in range(starts[document], starts[document] + lengths[document]):
            out[at] = (held[place] if place < len(held) else more[place - len(held)]) + plus
            at += 1
        out[at] = 0
        at += 1


@njit(cache=True, nogil=True)
def lay_ends(ends: Array, starts: Array, lengths: Array, order: Array, out: Array) -> int:
    """The same for ends of sentences, of which those of a document are in order; how many."""
    at, count = 0, 0
    for document in order:
        start, stop = starts[document], starts[document] + lengths[document]
        one = np.searchsorted(ends, start, "right")
        while one < len(ends) and ends[one] <= stop:
            out[count] = at + ends[one] - start
            count += 1
            one += 1
        at += lengths[document] + 1
    return count


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
            dropped[place] = CUT
            run = 0
            continue
        run += 1
        if run >= length:
            first = numbers[place - length + 1]
            if first != ONCE and kept[first] < 0:
                kept[first] = place - length + 1


@njit(cache=True, nogil=True)
def keep_split_sentences(ids: Array, sentence_ends: Array, dropped: Array) -> None:
    """Put back what was cut of a sentence of which words stay."""
    start = 0
    for end in sentence_ends:
        while ids[start] == END:
            start += 1
        every = True
        for place in range(start, end):
            every = every and dropped[place] != 0
        if not every:
            for place in range(start, end):
                if dropped[place] == CUT:
                    dropped[place] = 0
        start = end


@njit(cache=True, nogil=True)
def list_cuts(ids: Array, dropped: Array, copies: Array, cuts: Array) -> int:
    """Of each run of words that is cut the first one, the end, and where its copy is: -2 if that is
    elsewhere. How many there are; with no room in `cuts` they are only counted."""
    count, begin = 0, 0
    for place in range(len(ids)):
        if ids[place] == END:
            begin = place + 1
        if dropped[place] != CUT or (place > begin and dropped[place - 1] == CUT):
            continue
        if len(cuts):
            end = place
            while dropped[end] == CUT:
                end += 1
            # Of a sentence that goes the run may have begun in the one before.
            from_ = place
            while from_ > begin and copies[from_] == -1:
                from_ -= 1
            copy = copies[from_]
            cuts[count, 0], cuts[count, 1] = place, end
            cuts[count, 2] = copy + place - from_ if copy >= 0 else copy
        count += 1
    return count


@njit(cache=True, nogil=True)
def distinct(
    starts: Array, ends: Array, numbers: Array, length: int, found: Array, frequency: Array
) -> tuple[Array, Array]:
    """In `found`, of each document the different numbers in order, and in `frequency` how many
    documents have each; where they end, and how many different runs of `length` words a document
    has, those that occur once included."""
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
        for number in own:
            frequency[number] += 1
        last[document], sizes[document] = filled, once + len(own)
    return last, sizes


@njit(cache=True, nogil=True)
def prefixes(last: Array, sizes: Array, least: float) -> Array:
    """How many of its rarest numbers a document is looked up by. Two sets this similar share one
    of the rarest of each: a set of n has to share at least `least * n`, so it shares one of its
    n - ceil(least * n) + 1 rarest. Those that occur once are the rarest, and none shares them."""
    found = np.zeros(len(last), np.int64)
    first = 0
    for document in range(len(last)):
        size, end = sizes[document], last[document]
        # One less than the least number that two have to share is still too few.
        prefix = size - int(np.ceil(least * size - 1e-9)) + 1 - (size - (end - first))
        found[document] = max(0, prefix)
        first = end
    return found


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
    found: Array,
    last: Array,
    sizes: Array,
    frequency: Array,
    least: float,
    rarest: Array,
    heads: Array,
    links: Array,
    owners: Array,
    alike: Array,
) -> Array:
    """Documents that are at least so similar (Jaccard) to one before them that stays.

    Gives for each the most similar of those, the first of several, in `alike` (-1: none, it
    stays), and how similar they are. Only documents that stay are looked up, each by its `rarest`
    numbers, so none is missed; `heads` (all -1), `links` and `owners` are room to work in.
    """
    asked = np.full(len(last), -1, np.int64)
    similar = np.zeros(len(last))
    used = 0
    for document in range(len(last)):
        first = last[document - 1] if document else 0
        end, size = last[document], sizes[document]
        alike[document] = -1
        if rarest[document] == 0:
            continue
        own = found[first:end]
        rare = own[np.argsort(frequency[own], kind="mergesort")[: rarest[document]]]
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
    starts: Array,
    ends: Array,
    numbers: Array,
    length: int,
    sets: Array,
    once: Array,
    more: Array,
    seen: Array,
    words: Array,
) -> None:
    """`words[s, t]`: words of set s that are part of a run that set t, one of at most 64, holds in
    another document. `once` and `more` (zeros) get the sets that hold a number in a document, and
    in several; `seen` (all -1) the last document that does."""
    for document in range(len(starts)):
        bit = np.uint64(1) << np.uint64(sets[document])
        for place in range(starts[document], ends[document]):
            number = numbers[place]
            if number == ONCE or seen[number] == document:
                continue
            seen[number] = document
            if once[number] & bit:
                more[number] |= bit
            once[number] |= bit
    until = np.zeros(words.shape[1], np.int64)
    for document in range(len(starts)):
        own = sets[document]
        bit = np.uint64(1) << np.uint64(own)
        for place in range(starts[document], ends[document]):
            number = numbers[place]
            if number == ONCE:
                continue
            held = (once[number] & ~bit) | (more[number] & bit)
            for other in range(words.shape[1]):
                if (held >> np.uint64(other)) & np.uint64(1):
                    words[own, other] += place + length - max(until[other], place)
                    until[other] = place + length


@njit(cache=True, nogil=True)
def tally(numbers: Array, times: Array, first: Array) -> None:
    """How often each number occurs, and where first."""
    for place in range(len(numbers)):
        number = numbers[place]
        if number != ONCE:
            if times[number] == 0:
                first[number] = place
            times[number] += 1


@njit(cache=True, nogil=True)
def documents_with(
    starts: Array, ends: Array, numbers: Array, wanted: Array, counts: Array
) -> None:
    """In how many documents a number occurs: `wanted` says of each which of `counts` it is, or
    -1."""
    seen = np.full(len(counts), -1, np.int64)
    for document in range(len(starts)):
        for place in range(starts[document], ends[document]):
            number = numbers[place]
            if number != ONCE and wanted[number] >= 0 and seen[wanted[number]] != document:
                seen[wanted[number]] = document
                counts[wanted[number]] += 1
