"""Sort all suffixes of a stream in linear time, whatever repeats: SA-IS (Nong, Zhang, Chan 2009).

A sort that looks some words ahead is at its best on natural text, and lost in a corpus that says
everything twenty times over. This one does not mind. Its steps:

1. A *valley* is a position whose suffix is smaller than those on either side of it (in papers: a
   leftmost S-type, LMS). At most every second position is one; a *piece* runs from one valley to
   the next. The pieces are sorted by inducing.
2. Equal pieces get equal names, names follow their order. The row of names is a text of its own,
   at most half as long, and is sorted the same way. Pieces that occur once need no more sorting,
   so most of them are left out of it.
3. From the valleys in order follow all positions in order, again by inducing.

**Inducing.** All suffixes that begin with the same symbol form a bucket, a range of the result.
Where a suffix is larger than the one behind it (it *falls*) it stands at its bucket's front, where
it is smaller (it *rises*) at its bucket's back. A sweep upwards that meets a suffix knows that the
one before it, if it falls, is the next at the front of its own bucket; a sweep downwards does the
same for those that rise. Behind the last symbol is an end that is smaller than everything. Whether
the position before rises or falls is known when a position is written, and stored in the number's
sign bit. The sweeps jump all over text and result, so they prefetch well before they read.

**Names.** Of two neighbours at most one is a valley, so position // 2 tells valleys apart: what is
known of a valley is noted there, behind the list of valleys, in the order of the text. A name that
occurs once decides every comparison that reaches it. So nothing behind it matters to others, and
its own suffix is in order already: a single piece behind a single piece is left out.

**Memory.** Everything happens inside the array that will hold the result. On the way down it is

    suffixes of the names | room for their buckets | valleys left out, in order | the names

and the first, the room and the names are text and result of the next level. Beside it are only
two numbers for each distinct item and two bits for each valley.

Ends of documents are ordinary items, the smallest: suffixes that are equal up to their document's
end are in the order of what follows it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit
from rote.index.columns.intrinsics import prefetch
from rote.index.grams import MAX_POSITIONS

# Leaving out single pieces costs a pass over all; below one in so many it gains nothing.
_WORTH_LEAVING_OUT = 8


def sais(ids: Int32s, entries: int) -> Int32s:
    """The positions of all items of a stream (ends of documents are none) in suffix order.

    `entries` is the size of the vocabulary, the document's end included.
    """
    if len(ids) > MAX_POSITIONS:
        raise ValueError(f"{len(ids)} places; one segment holds at most {MAX_POSITIONS}")
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
    count_symbols(text, counts)
    place_valleys(text, order, counts, buckets)
    induce(text, order, counts, buckets, True)
    valleys = gather_valleys(order)
    names, single = name_pieces(text, order, valleys)
    if names < valleys:
        _sort_valleys(text, order, valleys, names, single)
    spread_valleys(text, order, valleys, counts, buckets)
    induce(text, order, counts, buckets, False)


def _sort_valleys(text: Int32s, order: Int32s, valleys: int, names: int, single: int) -> None:
    """Bring the valleys, which are sorted by their pieces only, into the order of suffixes."""
    # Which valleys are left out: by their rank among pieces, and by their turn in the text.
    ranks, turns = _new_bits(valleys), _new_bits(valleys)
    out = 0
    if single > valleys // _WORTH_LEAVING_OUT:
        out = drop_single_pieces(order, valleys, ranks, turns)
    remaining = valleys - out
    squeeze_names(order, valleys, remaining)
    room = order[remaining : len(order) - valleys]
    counts, room = _take_room(room, names - out)
    buckets, room = _take_room(room, names - out)
    _sort(_read_only(order[len(order) - remaining :]), order[:remaining], counts, buckets)
    merge_valleys(text, order, valleys, remaining, ranks, turns)


def _take_room(room: Int32s, size: int) -> tuple[Int32s, Int32s]:
    """An array of this size and the room that is left; a new array where there is too little."""
    if len(room) < size:
        return np.empty(size, np.int32), room
    return room[:size], room[size:]


def _new_bits(size: int) -> Bits:
    return np.zeros(size // 8 + 1, np.uint8)


def _read_only(text: Int32s) -> Int32s:
    """To numba an array that is read-only is a type of its own; so there is one for all levels."""
    view = np.ascontiguousarray(text).view()
    view.flags.writeable = False
    return view


Int32s = NDArray[np.int32]
MARK = np.int32(-(2**31))
UNMARK = np.int32(2**31 - 1)
# How many steps before its use a cache line is asked for.
AHEAD = 32
# So many positions are searched for valleys at once.
CHUNK = 1024


@njit(cache=True, nogil=True)
def find_valleys(text, low, high, rises, valleys):  # type: ignore[no-untyped-def]
    """The valleys from low + 1 to high, downwards, into `valleys`.

    `rises` says whether the suffix at high does; returned are how many valleys there are and
    whether the suffix at low rises. What is no valley is overwritten by the next rather than
    skipped, since whether it is one cannot be foreseen and a wrong guess costs more.
    """
    count = np.int64(0)
    after = np.int64(text[high])
    for i in range(high - 1, low - 1, -1):
        here = np.int64(text[np.uint64(i)])
        behind = rises
        # An equal symbol does what the one behind it does.
        rises = np.int64(here < after + rises)
        valleys[np.uint64(count)] = np.int32(i + 1)
        count += behind & ~rises
        after = here
    return count, rises


@njit(cache=True, nogil=True)
def count_symbols(text, counts):  # type: ignore[no-untyped-def]
    counts[:] = 0
    for i in range(len(text)):
        counts[np.uint32(text[i])] += 1


@njit(cache=True, nogil=True)
def _fronts(counts, buckets):  # type: ignore[no-untyped-def]
    total = np.int32(0)
    for symbol in range(len(counts)):
        buckets[symbol] = total
        total += counts[symbol]


@njit(cache=True, nogil=True)
def _backs(counts, buckets):  # type: ignore[no-untyped-def]
    total = np.int32(0)
    for symbol in range(len(counts)):
        total += counts[symbol]
        buckets[symbol] = total


@njit(inline="always")
def _push_back(order, buckets, symbol, value):  # type: ignore[no-untyped-def]
    at = np.uint32(buckets[symbol]) - np.uint32(1)
    buckets[symbol] = np.int32(at)
    order[at] = value


@njit(inline="always")
def _push_front(order, buckets, symbol, value):  # type: ignore[no-untyped-def]
    at = np.uint32(buckets[symbol])
    buckets[symbol] = np.int32(at + np.uint32(1))
    order[at] = value


@njit(inline="always")
def _falling(text, position):  # type: ignore[no-untyped-def]
    """The symbol of a position that falls, and the position, marked if the one before it rises."""
    symbol = np.uint32(text[np.uint32(position)])
    before = np.uint32(text[np.uint32(max(position - 1, 0))])
    return symbol, np.int32(position | (MARK if before < symbol else np.int32(0)))


@njit(inline="always")
def _rising(text, position):  # type: ignore[no-untyped-def]
    """The symbol of a position that rises, and the position, marked if the one before it falls."""
    symbol = np.uint32(text[np.uint32(position)])
    before = np.uint32(text[np.uint32(max(position - 1, 0))])
    return symbol, np.int32(position | (MARK if before > symbol else np.int32(0)))


@njit(inline="always")
def _prefetch_next(text, order, buckets, far, near):  # type: ignore[no-untyped-def]
    """Ask for what the sweep will need when it comes to these two numbers of `order`."""
    # Marked and empty ones need nothing; the text's beginning is in the cache.
    prefetch(text, np.int64(max(far, np.int32(2))) - 2)
    symbol = np.uint32(text[np.uint32(max(near, np.int32(1)) - 1)])
    prefetch(order, np.int64(buckets[symbol]))


@njit(cache=True, nogil=True)
def place_valleys(text, order, counts, buckets):  # type: ignore[no-untyped-def]
    """All valleys at the backs of their buckets, in any order; the rest of `order` is 0."""
    _backs(counts, buckets)
    order[:] = 0
    valleys = np.empty(CHUNK, np.int32)
    high, rises = len(text) - 1, np.int64(0)
    while high > 0:
        low = max(high - CHUNK, 0)
        count, rises = find_valleys(text, low, high, rises, valleys)
        for i in range(count):
            _push_back(order, buckets, np.uint32(text[np.uint32(valleys[i])]), valleys[i])
        high = low


@njit(cache=True, nogil=True)
def induce(text, order, counts, buckets, pieces):  # type: ignore[no-untyped-def]
    """From sorted valleys to all positions in suffix order.

    Or, for `pieces`, from valleys in any order to valleys in the order of their pieces, marked; the
    rest is 0. What has been used is then emptied, so that in the end only the valleys are left.
    Place 0 looks like an empty one: nothing is before it, and it is no valley.
    """
    last = len(text) - 1
    _fronts(counts, buckets)
    symbol, value = _falling(text, np.int32(last))
    _push_front(order, buckets, symbol, value)
    for i in range(last + 1):
        far = order[np.uint64(min(i + 2 * AHEAD, last))]
        _prefetch_next(text, order, buckets, far, order[np.uint64(min(i + AHEAD, last))])
        here = order[np.uint64(i)]
        if pieces:
            order[np.uint64(i)] = min(here, np.int32(0)) & UNMARK
        else:
            # Unmarked are now those behind one that rises, which the second sweep needs.
            order[np.uint64(i)] = here ^ MARK
        if here > 0:
            symbol, value = _falling(text, np.int32(here - 1))
            _push_front(order, buckets, symbol, value)
    _backs(counts, buckets)
    for i in range(last, -1, -1):
        far = order[np.uint64(max(i - 2 * AHEAD, 0))]
        _prefetch_next(text, order, buckets, far, order[np.uint64(max(i - AHEAD, 0))])
        here = order[np.uint64(i)]
        if not pieces:
            order[np.uint64(i)] = here & UNMARK
        elif here > 0:
            order[np.uint64(i)] = 0
        if here > 0:
            symbol, value = _rising(text, np.int32(here - 1))
            _push_back(order, buckets, symbol, value)


@njit(cache=True, nogil=True)
def gather_valleys(order):  # type: ignore[no-untyped-def]
    """Move the marked positions to the beginning; how many there are."""
    gathered = np.int64(0)
    for i in range(len(order)):
        here = order[i]
        order[np.uint64(gathered)] = here & UNMARK
        gathered += np.int64(here < 0)
    return gathered


@njit(cache=True, nogil=True)
def spread_valleys(text, order, valleys, counts, buckets):  # type: ignore[no-untyped-def]
    """From the beginning of `order` to the backs of their buckets, order kept; the rest is 0."""
    _backs(counts, buckets)
    order[valleys:] = 0
    for i in range(valleys - 1, -1, -1):
        prefetch(text, np.int64(order[np.uint64(max(i - AHEAD, 0))]))
        position = order[np.uint64(i)]
        order[np.uint64(i)] = 0
        _push_back(order, buckets, np.uint32(text[np.uint32(position)]), position)


Bits = NDArray[np.uint8]


@njit(inline="always")
def _set_bit(bits, i, bit):  # type: ignore[no-untyped-def]
    bits[np.uint64(i >> 3)] |= np.uint8(bit << (i & 7))


@njit(inline="always")
def _get_bit(bits, i):  # type: ignore[no-untyped-def]
    return (bits[np.uint64(i >> 3)] >> (i & 7)) & 1


@njit(cache=True, nogil=True)
def _note_lengths(text, order, valleys):  # type: ignore[no-untyped-def]
    """The length of each valley's piece; 0 for the last, which is like no other."""
    order[valleys:] = 0
    chunk_valleys = np.empty(CHUNK, np.int32)
    high, rises, next_valley = len(text) - 1, np.int64(0), np.int64(0)
    while high > 0:
        low = max(high - CHUNK, 0)
        count, rises = find_valleys(text, low, high, rises, chunk_valleys)
        for i in range(count):
            position = np.int64(chunk_valleys[i])
            order[np.uint64(valleys + (position >> 1))] = max(next_valley - position, 0)
            next_valley = position
        high = low


@njit(cache=True, nogil=True)
def name_pieces(text, order, valleys):  # type: ignore[no-untyped-def]
    """Note for each valley the name of its piece, from 1 on, marked where no other has it.

    Returned are how many names there are, and how many of them are single.
    """
    _note_lengths(text, order, valleys)
    name, single = np.int64(0), np.int64(0)
    place_before, length_before, spot_before = np.int64(0), np.int64(-1), np.int64(0)
    new_before = np.int64(0)
    for i in range(valleys):
        ahead = np.int64(order[np.uint64(min(i + AHEAD, valleys - 1))])
        prefetch(text, ahead)
        prefetch(order, valleys + (ahead >> 1))
        position = np.int64(order[np.uint64(i)])
        spot = valleys + (position >> 1)
        length = np.int64(order[np.uint64(spot)])
        k = np.int64(-1)
        if length == length_before:
            k = np.int64(0)
            # The next valley is compared too: it belongs to both pieces.
            while k <= length and (
                text[np.uint64(position + k)] == text[np.uint64(place_before + k)]
            ):
                k += 1
        new = np.int64(k <= length)
        if new & new_before:
            order[np.uint64(spot_before)] |= MARK
            single += 1
        name += new
        order[np.uint64(spot)] = np.int32(name)
        place_before, length_before, spot_before, new_before = position, length, spot, new
    if new_before:
        order[np.uint64(spot_before)] |= MARK
        single += 1
    return name, single


@njit(cache=True, nogil=True)
def drop_single_pieces(order, valleys, ranks, turns):  # type: ignore[no-untyped-def]
    """Delete the names of pieces to leave out, close the gaps, and say how many they are.

    Their valleys are moved to the beginning of `order`, the other valleys are forgotten. Bits are
    set in `ranks` by number in the order of pieces, in `turns` by number in the text.
    """
    turn, behind_single = np.int64(0), np.int64(1)
    for spot in range(valleys, valleys + (len(order) + 1) // 2):
        name = order[np.uint64(spot)]
        single = np.int64(name < 0)
        out = single & behind_single
        order[np.uint64(spot)] = name if out else name & UNMARK
        _set_bit(turns, turn, out)
        turn += np.int64(name != 0)
        behind_single = single if name != 0 else behind_single
    total = np.int64(0)
    for rank in range(valleys):
        ahead = np.int64(order[np.uint64(min(rank + AHEAD, valleys - 1))])
        prefetch(order, valleys + (ahead >> 1))
        position = order[np.uint64(rank)]
        spot = valleys + (np.int64(position) >> 1)
        name = order[np.uint64(spot)]
        out = np.int64(name < 0)
        order[np.uint64(spot)] = np.int32(0 if out else name - total)
        order[np.uint64(total)] = position
        _set_bit(ranks, rank, out)
        total += out
    return total


@njit(cache=True, nogil=True)
def squeeze_names(order, valleys, remaining):  # type: ignore[no-untyped-def]
    """The names as a text, from 0 on, to the end of `order`; before it the valleys left out."""
    at = np.int64(len(order))
    for spot in range(valleys + (len(order) + 1) // 2 - 1, valleys - 1, -1):
        name = order[np.uint64(spot)]
        order[np.uint64(at - 1)] = (name & UNMARK) - np.int32(1)
        at -= np.int64(name != 0)
    out = valleys - remaining
    for i in range(out):
        order[at - out + i] = order[i]


@njit(cache=True, nogil=True)
def merge_valleys(text, order, valleys, remaining, ranks, turns):  # type: ignore[no-untyped-def]
    """All valleys in suffix order at the beginning of `order`, where the sorted names stand."""
    size = len(text)
    chunk_valleys = np.empty(CHUNK, np.int32)
    high, rises = size - 1, np.int64(0)
    turn, at = np.int64(valleys), np.int64(size)
    while high > 0:
        low = max(high - CHUNK, 0)
        count, rises = find_valleys(text, low, high, rises, chunk_valleys)
        for i in range(count):
            turn -= 1
            if not _get_bit(turns, turn):
                at -= 1
                order[np.uint64(at)] = chunk_valleys[i]
        high = low
    # Downwards, so that no sorted name is overwritten before it is read.
    left_out, name = at, np.int64(remaining)
    for rank in range(valleys - 1, -1, -1):
        ahead = order[np.uint64(max(name - np.int64(AHEAD), np.int64(0)))]
        prefetch(order, at + np.int64(ahead))
        if _get_bit(ranks, rank):
            left_out -= 1
            order[np.uint64(rank)] = order[np.uint64(left_out)]
        else:
            name -= 1
            order[np.uint64(rank)] = order[np.uint64(at + order[np.uint64(name)])]
