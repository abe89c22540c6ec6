"""From reaches to fragments: listing the original ones of a ground truth, and judging a text's.

A fragment is given by its first item and the place behind its last one; `edges` says which items
may stand at either end.
"""

from __future__ import annotations

import numpy as np

from rote.core.kernels import njit
from rote.search.originality.length_kernels import is_edge
from rote.search.originality.neighbour_kernels import LEAST


@njit(inline="always")
def _holds(ascending, value):  # type: ignore[no-untyped-def]
    at = np.searchsorted(ascending, value)
    return at < len(ascending) and ascending[at] == value


@njit(cache=True, nogil=True)
def list_originals(edges, rests, reach, more, shortest, place, starts, ends):  # type: ignore[no-untyped-def]
    """Original fragments from the sentence that begins at `place` on, as many as there is room for.

    `edges` are bits, `rests` the items to the sentence's end, `reach` and `more` as in
    `originals`. Gives how many, and the sentence with which to go on. `shortest`: only those that
    hold no other. The room has to be enough for one sentence, else none are given.
    """
    found = 0
    while place < len(rests):
        stop = place + max(1, rests[place])
        held = found
        least = stop + 1
        for start in range(stop - 1, place - 1, -1):
            if not is_edge(edges, start):
                continue
            common, before = reach[start, 0], reach[start, 1]
            end = start + max(LEAST, common + 1)
            while end <= stop:
                if shortest and end >= least:
                    break
                if is_edge(edges, end - 1):
                    least = min(least, end)
                    if end - start > before or _holds(more, start << 32 | (end - start)):
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
