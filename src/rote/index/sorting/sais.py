"""All suffixes of a stream in order, in linear time whatever repeats.

A sort that looks some words ahead is at its best on natural text, and lost in a corpus that says
everything twenty times over. This one does not mind. It is induced sorting (SA-IS: Nong, Zhang,
Chan 2009), in these steps:

1. A *valley* is a place whose suffix is smaller than those on either side of it (in papers: a
   leftmost S-type, LMS). At most every second place is one; a *piece* runs from one valley to
   the next. The pieces are sorted by inducing (`sais_induce`).
2. Equal pieces get equal names, names follow their order (`sais_names`). The row of names is a
   text of its own, at most half as long, and is sorted the same way. Pieces that occur
   once need no more sorting, so most of them are left out of it.
3. From the valleys in order follow all places in order, again by inducing.

**Memory.** Everything happens inside the array that will hold the result. On the way down it is

    suffixes of the names | room for their buckets | valleys left out, in order | the names

and the first, the room and the names are text and result of the next level. Beside it stand only
two numbers for each distinct item and two bits for each valley.

Ends of documents are ordinary items, the smallest: suffixes that are equal up to their document's
end are in the order of what follows it.
"""

from __future__ import annotations

import numpy as np

from rote.index.columns.parts import MOST_PLACES
from rote.index.sorting.sais_induce import (
    Int32s,
    count,
    gather_valleys,
    induce_all,
    induce_pieces,
    place_valleys,
    spread_valleys,
)
from rote.index.sorting.sais_names import Bits, leave_out, merge_valleys, name_pieces, squeeze_names

# Leaving out single pieces costs a pass over all; below one in so many it gains nothing.
_WORTH_LEAVING_OUT = 8


def sais(ids: Int32s, entries: int) -> Int32s:
    """The places of all items of a stream (ends of documents are none) in suffix order.

    `entries` is the size of the vocabulary, the document's end included.
    """
    if len(ids) > MOST_PLACES:
        raise ValueError(f"{len(ids)} places; one segment holds at most {MOST_PLACES}")
    order = np.empty(len(ids), np.int32)
    if not len(ids):
        return order
    if ids.min() < 0 or ids.max() >= entries:
        # The kernels check no bounds.
        raise ValueError(f"numbers {ids.min()} to {ids.max()} in a vocabulary of {entries}")
    counts = np.empty(entries, np.int32)
    _sort(_read_only(ids), order, counts, np.empty(entries, np.int32))
    return order[counts[0] :]


def _sort(text: Int32s, order: Int32s, counts: Int32s, buckets: Int32s) -> None:
    """Fill `order`; the other two are room for one number for each symbol of the text."""
    count(text, counts)
    place_valleys(text, order, counts, buckets)
    induce_pieces(text, order, counts, buckets)
    valleys = gather_valleys(order)
    names, single = name_pieces(text, order, valleys)
    if names < valleys:
        _sort_valleys(text, order, valleys, names, single)
    spread_valleys(text, order, valleys, counts, buckets)
    induce_all(text, order, counts, buckets)


def _sort_valleys(text: Int32s, order: Int32s, valleys: int, names: int, single: int) -> None:
    """Bring the valleys, which are sorted by their pieces only, into the order of suffixes."""
    # Which valleys are left out: by their rank among pieces, and by their turn in the text.
    ranks, turns = _bits(valleys), _bits(valleys)
    out = 0
    if single > valleys // _WORTH_LEAVING_OUT:
        out = leave_out(order, valleys, ranks, turns)
    kept = valleys - out
    squeeze_names(order, valleys, kept)
    room = order[kept : len(order) - valleys]
    counts, room = _take(room, names - out)
    buckets, room = _take(room, names - out)
    _sort(_read_only(order[len(order) - kept :]), order[:kept], counts, buckets)
    merge_valleys(text, order, valleys, kept, ranks, turns)


def _take(room: Int32s, size: int) -> tuple[Int32s, Int32s]:
    """An array of this size and the room that is left; a new array where there is too little."""
    if len(room) < size:
        return np.empty(size, np.int32), room
    return room[:size], room[size:]


def _bits(size: int) -> Bits:
    return np.zeros(size // 8 + 1, np.uint8)


def _read_only(text: Int32s) -> Int32s:
    """To numba an array that is read-only is a type of its own; so there is one for all levels."""
    view = np.ascontiguousarray(text).view()
    view.flags.writeable = False
    return view
