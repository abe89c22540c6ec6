"""Where each item stands in its document's text, in about two bytes.

An item begins a few characters behind the end of the item before it, and is a few characters
long: one byte each. Every 64 places the position is written down whole, so that finding one
span reads one cache line or two. What does not fit a byte (long words, wide gaps, subwords that
overlap far back) stands in three columns of exceptions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit
from rote.core.layer import Layer
from rote.index.segments.part import Part, let_go
from rote.index.segments.target import PartWriter

# The two gaps that are none.
EXCEPTION = -128
DOCUMENT_END = 127
STEP_BITS = 6
_STEP = 1 << STEP_BITS
_COPY_AT_ONCE = 1 << 22

Places = NDArray[np.int64]


class Spans:
    """The character span of every place.

    `gaps[p]` is how far behind the end of the item before it item p begins (behind 0 for the
    first of a document), `lengths[p]` its length; `anchors[k]` is the end of the item at place
    64 k - 1, or 0 if a document ends there.
    """

    __slots__ = ("anchors", "exceptions", "gaps", "lengths")

    def __init__(self, part: Part) -> None:
        self.gaps: NDArray[np.int8] = part["spans.gaps"]
        self.lengths: NDArray[np.uint8] = part["spans.lengths"]
        self.anchors: NDArray[np.int32] = part["spans.anchors"]
        self.exceptions: tuple[Places, NDArray[np.int32], NDArray[np.int32]] = (
            part["spans.exceptions.places"],
            part["spans.exceptions.gaps"],
            part["spans.exceptions.lengths"],
        )

    def __len__(self) -> int:
        return len(self.gaps)

    def spans(self, places: Places) -> tuple[Places, Places]:
        """Starts and ends in the document's text; both 0 where a document ends."""
        starts, ends = np.empty(len(places), np.int64), np.empty(len(places), np.int64)
        if len(places) and not 0 <= places.min() <= places.max() < len(self):
            raise IndexError(f"places beyond {len(self)}")
        if not places.flags.writeable:
            places = places.copy()  # to numba a read-only array is another type
        _locate(self.gaps, self.lengths, self.anchors, *self.exceptions, places, starts, ends)
        return starts, ends


class SpansWriter:
    """Appends the spans of a layer's texts, or of another segment's."""

    def __init__(self, part: PartWriter) -> None:
        self._gaps = part.column("spans.gaps", "int8")
        self._lengths = part.column("spans.lengths", "uint8")
        self._anchors = part.column("spans.anchors", "int32")
        self._exceptions = (
            part.column("spans.exceptions.places", "int64"),
            part.column("spans.exceptions.gaps", "int32"),
            part.column("spans.exceptions.lengths", "int32"),
        )
        self._places = 0

    def add(self, layer: Layer, is_item: NDArray[np.bool_]) -> None:
        """The texts of a layer; `is_item` says of each place if it holds an item."""
        lengths = layer.ends - layer.starts
        before = np.zeros(len(layer.ends) + 1, np.int32)
        before[1:] = layer.ends
        before[layer.text_ends] = 0
        gaps = layer.starts - before[:-1]
        odd = (gaps <= EXCEPTION) | (gaps >= DOCUMENT_END) | (lengths < 0) | (lengths > 255)
        exceptions = np.flatnonzero(odd)
        self._except(np.flatnonzero(is_item)[exceptions], gaps[exceptions], lengths[exceptions])
        gaps[exceptions], lengths[exceptions] = EXCEPTION, 0
        row = np.full(len(is_item), DOCUMENT_END, np.int8)
        row[is_item] = gaps
        self._gaps(row)
        row = np.zeros(len(is_item), np.uint8)
        row[is_item] = lengths
        self._lengths(row)
        ends = np.zeros(len(is_item), np.int32)
        ends[is_item] = layer.ends
        self._anchors(ends[self._anchored(len(ends))])
        self._places += len(ends)

    def copy(self, other: Spans) -> None:
        """Append another segment's spans: only the anchors are made anew."""
        for start in range(0, len(other), _COPY_AT_ONCE):
            self._gaps(other.gaps[start : start + _COPY_AT_ONCE])
            self._lengths(other.lengths[start : start + _COPY_AT_ONCE])
        self._except(*other.exceptions)
        self._anchors(other.spans(self._anchored(len(other)))[1])
        let_go(other.gaps)
        let_go(other.lengths)
        self._places += len(other)

    def _except(self, places: Places, gaps: NDArray[Any], lengths: NDArray[Any]) -> None:
        if len(places):
            append_place, append_gap, append_length = self._exceptions
            append_place(places + self._places)
            append_gap(gaps)
            append_length(lengths)

    def _anchored(self, places: int) -> Places:
        """Of the next places, those whose end is an anchor: each before a multiple of 64."""
        behind = np.arange(-self._places % _STEP, places, _STEP, dtype=np.int64)
        # The place before the first is a document's end, as the last one is too: both are 0.
        return np.where(behind == 0, places, behind) - 1


@njit(cache=True, nogil=True)
def _locate(  # type: ignore[no-untyped-def]
    gaps, lengths, anchors, odd_places, odd_gaps, odd_lengths, places, starts, ends
):
    for i in range(len(places)):
        place = places[i]
        block = place >> STEP_BITS
        start = end = np.int64(anchors[block])
        for p in range(block << STEP_BITS, place + 1):
            gap = np.int64(gaps[p])
            if gap == DOCUMENT_END:
                start = end = np.int64(0)
            elif gap == EXCEPTION:
                k = np.searchsorted(odd_places, p)
                start = end + odd_gaps[k]
                end = start + odd_lengths[k]
            else:
                start = end + gap
                end = start + lengths[p]
        starts[i] = start
        ends[i] = end
