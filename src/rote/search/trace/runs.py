"""Runs that texts share with documents: the pieces that gapped matches are made of.

A run is a stretch of words that stands in a text and in a document, and that cannot be made
longer on either side. Every window of `seed` words that is rare enough leads to the runs it lies
in, by its places in the sorted suffixes; windows of one run lie on one diagonal (place minus word
number), so each run is compared once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit
from rote.core.layer import Layer, items_of
from rote.index.columns.packed import read
from rote.index.columns.parts import ABSENT
from rote.index.counting.batch import ranges_of
from rote.index.counting.buckets import prefetch
from rote.index.counting.lookup import Lookup, fixed
from rote.index.grams import Grams
from rote.search.trace.bounds import SEEN, SLACK, Bar, most_gained

Numbers = NDArray[np.int64]
# Words of the texts that are looked up at once need fewer, and so do places.
_BITS = 31
_WORDS = 1 << _BITS
_AHEAD = 8


@dataclass(frozen=True, slots=True)
class Runs:
    """`length` words from `first` on (in the layer) stand at `place` of a segment's stream.

    In the order of diagonals.
    """

    first: Numbers
    place: Numbers
    length: Numbers

    def __len__(self) -> int:
        return len(self.first)


def shared_runs(
    lookups: Sequence[Lookup],
    layer: Layer,
    seed: int,
    most: int,
    *,
    lengths: NDArray[np.int32] | None = None,
    bar: Bar | None = None,
) -> list[Runs]:
    """The runs of at least `seed` words in each segment.

    A run counts if it holds a window of `seed` words that stands at most `most` times in all
    segments together. `lengths` of the longest matches say which windows stand there at all. With
    a `bar`, runs are left out that no alignment which clears it can begin with.
    """
    if lengths is None:
        windows, starts = Grams.windows(layer, seed)
    else:
        starts = np.flatnonzero(lengths >= seed)
        ids = layer.ids[starts[:, None] + np.arange(seed)].reshape(-1)
        windows = Grams(ids, np.arange(1, len(starts) + 1) * seed, layer.vocabulary)
    ranges = [ranges_of(lookup, windows) for lookup in lookups]
    total = sum((high - low for low, high in ranges), np.zeros(len(starts), np.int64))
    rare = (total > 0) & (total <= most)
    found = []
    for lookup, (low, high) in zip(lookups, ranges):
        found.append(_runs(lookup, layer, starts[rare], low[rare], high[rare], bar))
    return found


def numbers_in(lookup: Lookup, layer: Layer) -> NDArray[np.int32]:
    """The words of a layer, numbered as a segment does."""
    table = np.append(lookup.column.vocabulary.numbers(layer.vocabulary), np.int32(ABSENT))
    return fixed(table[layer.ids], np.int32)


def _runs(
    lookup: Lookup, layer: Layer, starts: Numbers, low: Numbers, high: Numbers, bar: Bar | None
) -> Runs:
    hits, ends = items_of(low, high)
    first = np.repeat(starts, np.diff(ends, prepend=0))
    order = lookup.column.suffixes
    assert order is not None
    place = order.order.take(hits)
    # By diagonal, then by word: as one number they are sorted far faster.
    keys = np.sort((place - first + _WORDS) << _BITS | first)
    texts = np.diff(layer.text_ends, prepend=0)
    out = np.empty((3, len(keys)), np.int64)
    bar = bar or Bar(np.zeros(len(layer.ids)), -np.inf, 0)
    count = _extend(
        lookup.parts.ids,
        lookup.parts.ids_bits,
        lookup.parts.last,
        numbers_in(lookup, layer),
        fixed(np.repeat(layer.text_starts, texts), np.int64),
        fixed(np.repeat(layer.text_ends, texts), np.int64),
        keys,
        fixed(bar.weights, np.float64),
        float(bar.least),
        int(bar.drop),
        out,
    )
    return Runs(*(column[:count].copy() for column in out))


@njit(cache=True, nogil=True)
def _extend(data, bits, last, ids, text_starts, text_ends, keys, weights, least, drop, out):  # type: ignore[no-untyped-def]
    """Make each hit as long as it gets; hits inside a run that is known are left out."""
    count, diagonal, known = 0, np.int64(0), np.int64(-1)
    seen = np.full(SEEN, -1, np.int64)
    for h in range(len(keys)):
        ahead = keys[min(h + _AHEAD, len(keys) - 1)]
        prefetch(data, (((ahead >> _BITS) - _WORDS + (ahead & (_WORDS - 1))) * bits) >> 3)
        first = keys[h] & (_WORDS - 1)
        place = (keys[h] >> _BITS) - _WORDS + first
        if known >= 0 and place - first == diagonal and first < known:
            continue
        # A document's end is 0 and no word is, so no run crosses it.
        low, high = text_starts[first], text_ends[first]
        begin, at = first, place
        while begin > low and at > 0 and read(data, bits, at - 1) == ids[begin - 1]:
            begin -= 1
            at -= 1
        end, behind = first, place
        while end < high and read(data, bits, behind) == ids[end]:
            end += 1
            behind += 1
        diagonal, known = place - first, end
        if least > -np.inf:
            hope = SLACK
            for i in range(begin, end):
                hope += weights[i]
            hope += most_gained(
                data,
                bits,
                last,
                ids,
                weights,
                begin - 1,
                at - 1,
                -1,
                begin - low,
                drop,
                seen,
                2 * h,
            )
            if hope < np.inf:
                hope += most_gained(
                    data,
                    bits,
                    last,
                    ids,
                    weights,
                    end,
                    behind,
                    1,
                    high - end,
                    drop,
                    seen,
                    2 * h + 1,
                )
            if hope < least:
                continue
        out[0, count], out[1, count], out[2, count] = begin, at, end - begin
        count += 1
    return count
