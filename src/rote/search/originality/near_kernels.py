"""The same lists as `_reach`, for single places of a text: from their nearest suffixes outwards.

A place of a text stands somewhere between the sorted suffixes, and those that share most with it
are its neighbours there. Going outwards, always on the side that shares more, its list is complete
as soon as it is full and nobody further out can share more than its last entry. Among many
sources that takes a few steps, however large the ground truth is. Where one source has
written nearly everything it can take any number; such places are given up, and left to `_reach`.
"""

from __future__ import annotations

from rote.core.kernels import njit
from rote.index.columns.cursor import item_at, skip, suffix_at
from rote.index.columns.packed import read
from rote.index.counting.tally_kernels import document_of
from rote.search.originality.neighbour_kernels import LEAST, rest_of_sentence
from rote.search.originality.reach_kernels import put


@njit(inline="always")
def _shares(parts, text, i, rank, most):  # type: ignore[no-untyped-def]
    """How many items, up to `most`, the text from i on shares with a suffix."""
    at = suffix_at(parts.order, parts.order_bits, rank)
    shared = 0
    while shared < most and item_at(parts.ids, parts.ids_bits, at) == text[i + shared]:
        at = skip(parts.ids, at, 1)
        shared += 1
    return shared


@njit(cache=True, nogil=True)
def reach_nearby(  # type: ignore[no-untyped-def]
    parts,
    last,
    table,
    source_of,
    text,
    asked,
    lows,
    highs,
    most,
    suffixes,
    needed,
    steps,
    found_sources,
    found_lengths,
    solved,
):
    """For the place `asked[q]` of a text, the list of its longest matches, none above `most[q]`.

    `lows[q]` to `highs[q]` are the suffixes that share most with it, at least `most[q]` items.
    The list is full with `needed` entries. `solved[q]` says whether so many steps were enough.
    """
    ends, shift, first = table
    for q in range(len(asked)):
        i, limit = asked[q], most[q]
        sources, lengths = found_sources[q], found_lengths[q]
        # The next suffix on either side, and what the text shares with it.
        above, below = lows[q], lows[q] - 1
        shares_above = limit
        shares_below = _shares(parts, text, i, below, limit) if below >= 0 else 0
        left = steps
        while True:
            shared = max(shares_above, shares_below)
            if shared < LEAST or lengths[needed - 1] >= shared:
                solved[q] = True
                break
            if left == 0:
                break
            left -= 1
            rank = above if shares_above >= shares_below else below
            place = read(parts.order, parts.order_bits, rank)
            rest = rest_of_sentence(last, place)
            source = source_of[document_of(ends, shift, first, place)]
            put(sources, lengths, source, min(shared, rest))
            if rank == above:
                above += 1
                if above >= suffixes:
                    shares_above = 0
                elif above >= highs[q]:
                    shares_above = _shares(parts, text, i, above, shares_above)
            else:
                below -= 1
                shares_below = _shares(parts, text, i, below, shares_below) if below >= 0 else 0
