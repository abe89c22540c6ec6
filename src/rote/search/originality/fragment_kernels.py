"""From reaches to fragments: counting them by length, and naming those that decide.

A fragment is given by its first item and the place behind its last one; `edges` says which items
may stand at either end. `rests` are the items to the sentence's end.
"""

from __future__ import annotations

import numpy as np

from rote.core.kernels import njit
from rote.index.columns.packed import read
from rote.search.originality.neighbour_kernels import LEAST

# Columns of a tally by length.
FRAGMENTS, ORIGINAL, OCCURRENCES, ORIGINAL_OCCURRENCES, ONCE = range(5)
TALLIED = 5


@njit(cache=True, nogil=True)
def tally_lengths(edges, rests, common, before, alone, tally):  # type: ignore[no-untyped-def]
    """Add up the fragments of a ground truth by length; how many sentences, and original ones."""
    sentences = original = 0
    place = 0
    while place < len(rests):
        if rests[place] == 0:
            place += 1
            continue
        stop = place + rests[place]
        holds = False
        for start in range(place, stop):
            if not edges[start]:
                continue
            for end in range(start + LEAST, stop + 1):
                if not edges[end - 1]:
                    continue
                length = end - start
                tally[length, OCCURRENCES] += 1
                if length > common[start]:
                    tally[length, ORIGINAL_OCCURRENCES] += 1
                    holds = True
                if length > before[start]:
                    tally[length, FRAGMENTS] += 1
                    if length > common[start]:
                        tally[length, ORIGINAL] += 1
                if length > alone[start]:
                    tally[length, ONCE] += 1
        sentences += 1
        original += holds
        place = stop
    return sentences, original


@njit(inline="always")
def _holds(ascending, value):  # type: ignore[no-untyped-def]
    at = np.searchsorted(ascending, value)
    return at < len(ascending) and ascending[at] == value


@njit(cache=True, nogil=True)
def list_originals(edges, rests, common, before, more, shortest, place, starts, ends):  # type: ignore[no-untyped-def]
    """Original fragments from the sentence that begins at `place` on, as many as there is room for.

    Gives how many, and the sentence with which to go on. `shortest`: only those that hold no
    other. Each different one is given at one place: see `OwnReach`. The room has to be enough for
    one sentence, else none are given.
    """
    found = 0
    while place < len(rests):
        stop = place + max(1, rests[place])
        held = found
        least = stop + 1
        for start in range(stop - 1, place - 1, -1):
            if not edges[start]:
                continue
            end = start + max(LEAST, common[start] + 1)
            while end <= stop:
                if shortest and end >= least:
                    break
                if edges[end - 1]:
                    least = min(least, end)
                    if end - start > before[start] or _holds(more, start << 32 | (end - start)):
                        if found == len(starts):
                            return held, place
                        starts[found] = start
                        ends[found] = end
                        found += 1
                    if shortest:
                        break
                end += 1
        place = stop
    return found, place


@njit(cache=True, nogil=True)
def judge(edges, ends, known, common, counts, decisive):  # type: ignore[no-untyped-def]
    """The fragments of each sentence of a generated text, sorted by what is known of them.

    `counts` of each sentence: original ones, those that need a citation, common ones. Of each
    start, the fragment that decides: `decisive[0]` is the end of a shortest original one,
    `decisive[1]` of a longest that needs a citation, 0 where there is none.
    """
    start = 0
    for sentence in range(len(ends)):
        stop = ends[sentence]
        least, most = stop + 1, 0
        for i in range(stop - 1, start - 1, -1):
            decisive[0, i] = 0
            if not edges[i]:
                continue
            for end in range(i + LEAST, stop + 1):
                if not edges[end - 1]:
                    continue
                length = end - i
                if length > known[i]:
                    counts[sentence, 0] += 1
                    if end < least:
                        least = end
                        decisive[0, i] = end
                elif length > common[i]:
                    counts[sentence, 1] += 1
                else:
                    counts[sentence, 2] += 1
        for i in range(start, stop):
            decisive[1, i] = 0
            if edges[i]:
                end = i + known[i]
                while end - i > max(common[i], LEAST - 1) and end > most and not edges[end - 1]:
                    end -= 1
                if end - i > max(common[i], LEAST - 1) and end > most:
                    decisive[1, i] = most = end
        start = stop


@njit(cache=True, nogil=True)
def new_despite_others(shared, places, rests, before, edges, longest):  # type: ignore[no-untyped-def]
    """Fragments of a stretch whose words stand earlier in the order, but never as a fragment.

    The same words may be tagged in different ways, so that they are a fragment at one place and
    not at another. Each is given as its place, shifted up by 32 bits, and its length.
    """
    found = np.empty(16, np.int64)
    count = 0
    # Of each length whether the words at hand were met as a fragment.
    seen = np.zeros(longest + 1, np.bool_)
    deepest = 0
    for i in range(len(shared)):
        place = places[i]
        for length in range(max(LEAST, shared[i] + 1), deepest + 1):
            seen[length] = False
        deepest = min(deepest, shared[i])
        if not edges[place]:
            continue
        for length in range(LEAST, before[i] + 1):
            if edges[place + length - 1] and not seen[length]:
                if count == len(found):
                    found = np.append(found, found)
                found[count] = place << 32 | length
                count += 1
        follows = shared[i + 1] if i + 1 < len(shared) else 0
        for length in range(LEAST, min(follows, rests[i]) + 1):
            if edges[place + length - 1]:
                seen[length] = True
                deepest = max(deepest, length)
    return found[:count]


@njit(cache=True, nogil=True)
def fragments_up_to(edges, rests, most, starts, ends):  # type: ignore[no-untyped-def]
    """All fragments of at most `most[i]` items from each i on; gives how many there are.

    With arrays of size 0 they are counted only.
    """
    count = 0
    for i in range(len(most)):
        if edges[i]:
            for length in range(LEAST, min(most[i], rests[i]) + 1):
                if edges[i + length - 1]:
                    if count < len(starts):
                        starts[count] = i
                        ends[count] = i + length
                    count += 1
    return count


@njit(cache=True, nogil=True)
def any_is_fragment(order, order_bits, lows, highs, lengths, edges, rests, out):  # type: ignore[no-untyped-def]
    """Of each run of words, given by its suffixes, whether it stands somewhere as a fragment."""
    for g in range(len(lows)):
        for rank in range(lows[g], highs[g]):
            place = read(order, order_bits, rank)
            last = place + lengths[g] - 1
            if edges[place] and rests[place] >= lengths[g] and edges[last]:
                out[g] = True
                break
