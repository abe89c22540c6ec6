"""Runs that texts share with documents: the pieces that gapped matches are made of.

A run is a stretch of words that stands in a text and in a document, and that cannot be made
longer on either side. Every window of `seed` words that is rare enough leads to the runs it lies
in, by its places in the sorted suffixes; windows of one run lie on one diagonal (place minus word
number), so each run is compared once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit
from rote.core.layer import Layer
from rote.index.columns.packed import read
from rote.index.columns.parts import ABSENT
from rote.index.counting.batch import ranges_of
from rote.index.counting.lookup import Lookup, fixed
from rote.index.grams import Grams

Numbers = NDArray[np.int64]


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


def shared_runs(lookups: list[Lookup], layer: Layer, seed: int, most: int) -> list[Runs]:
    """The runs of at least `seed` words in each segment.

    A run counts if it holds a window of `seed` words that stands at most `most` times in all
    segments together.
    """
    windows, starts = Grams.windows(layer, seed)
    ranges = [ranges_of(lookup, windows) for lookup in lookups]
    total = sum((high - low for low, high in ranges), np.zeros(len(starts), np.int64))
    rare = (total > 0) & (total <= most)
    found = []
    for lookup, (low, high) in zip(lookups, ranges):
        found.append(_runs(lookup, layer, starts[rare], low[rare], high[rare]))
    return found


def numbers_in(lookup: Lookup, layer: Layer) -> NDArray[np.int32]:
    """The words of a layer, numbered as a segment does."""
    table = np.append(lookup.column.vocabulary.numbers(layer.vocabulary), np.int32(ABSENT))
    return fixed(table[layer.ids], np.int32)


def _runs(lookup: Lookup, layer: Layer, starts: Numbers, low: Numbers, high: Numbers) -> Runs:
    sizes = high - low
    first = np.repeat(starts, sizes)
    offsets = np.arange(len(first)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    parts = lookup.parts
    order = lookup.column.suffixes
    assert order is not None
    place = order.order.take(np.repeat(low, sizes) + offsets)
    by_diagonal = np.lexsort((first, place - first))
    texts = np.diff(layer.text_ends, prepend=0)
    out = np.empty((3, len(first)), np.int64)
    count = _extend(
        parts.ids,
        parts.ids_bits,
        numbers_in(lookup, layer),
        fixed(np.repeat(layer.text_starts, texts), np.int64),
        fixed(np.repeat(layer.text_ends, texts), np.int64),
        fixed(first[by_diagonal], np.int64),
        fixed(place[by_diagonal], np.int64),
        out,
    )
    return Runs(*(column[:count].copy() for column in out))


@njit(cache=True, nogil=True)
def _extend(data, bits, ids, text_starts, text_ends, firsts, places, out):  # type: ignore[no-untyped-def]
    """Make each hit as long as it gets; hits inside a run that is known are left out."""
    count, diagonal, known = 0, np.int64(0), np.int64(-1)
    for h in range(len(firsts)):
        first, place = firsts[h], places[h]
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
        out[0, count], out[1, count], out[2, count] = begin, at, end - begin
        count += 1
        diagonal, known = place - first, end
    return count
