"""Where each item stands in its document's text, in about one byte.

An item begins a few characters behind the end of the item before it, and is a few characters
long: three bits and five. Every 64 places the position is written down whole, so that finding one
span reads one cache line or two. What does not fit the byte (long words, wide gaps, subwords that
overlap) stands in three columns of exceptions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import InputError
from rote.core.kernels import njit
from rote.core.layer import Layer
from rote.index.segments.part import RESTORE, Part, let_go
from rote.index.segments.target import PartWriter

LENGTH_BITS = 5
_LONGEST = (1 << LENGTH_BITS) - 1
_WIDEST = 5
# The two gaps that are none.
DOCUMENT_END = 6 << LENGTH_BITS
EXCEPTION = 7 << LENGTH_BITS
STEP_BITS = 6
_STEP = 1 << STEP_BITS
_COPY_AT_ONCE = 1 << 22

Places = NDArray[np.int64]
Int32s = NDArray[np.int32]
Steps = NDArray[np.uint8]
Exceptions = tuple[Int32s, Int32s, Int32s]


class Spans:
    """The character span of every place.

    The upper bits of `steps[p]` are how far behind the end of the item before it item p begins
    (behind 0 for the first of a document), the lower ones its length. `exceptions` are places,
    gaps and lengths. `anchors[k]` is the end of the item at place 64 k - 1, or 0 if a document
    ends there.
    """

    __slots__ = ("_exceptions", "_part", "_steps", "anchors")

    def __init__(self, part: Part) -> None:
        self._part = part
        self.anchors: Int32s = part["spans.anchors"]
        self._steps: Steps | None = part.arrays.get("spans.steps")
        self._exceptions: Exceptions = (
            part["spans.exceptions.places"],
            part["spans.exceptions.gaps"],
            part["spans.exceptions.lengths"],
        )

    @property
    def steps(self) -> Steps:
        return self._columns()[0]

    @property
    def exceptions(self) -> Exceptions:
        return self._columns()[1]

    def __len__(self) -> int:
        return len(self.steps)

    def _columns(self) -> tuple[Steps, Exceptions]:
        if self._steps is None:
            self._steps, self._exceptions = _from_format_1(self._part, self._exceptions)
        return self._steps, self._exceptions

    def spans(self, places: Places) -> tuple[Places, Places]:
        """Starts and ends in the document's text; both 0 where a document ends."""
        starts, ends = np.empty(len(places), np.int64), np.empty(len(places), np.int64)
        if len(places) and not 0 <= places.min() <= places.max() < len(self):
            raise IndexError(f"places beyond {len(self)}")
        if not places.flags.writeable:
            places = places.copy()  # to numba a read-only array is another type
        _locate(self.steps, self.anchors, *self.exceptions, places, starts, ends)
        return starts, ends


class SpansWriter:
    """Appends the spans of a layer's texts, or of another segment's."""

    def __init__(self, part: PartWriter) -> None:
        self._steps = part.column("spans.steps", "uint8")
        self._anchors = part.column("spans.anchors", "int32")
        self._exceptions = (
            part.column("spans.exceptions.places", "int32"),
            part.column("spans.exceptions.gaps", "int32"),
            part.column("spans.exceptions.lengths", "int32"),
        )
        self._places = 0

    def add(self, layer: Layer, is_item: NDArray[np.bool_]) -> None:
        """The texts of a layer; `is_item` says of each place if it holds an item."""
        before = np.zeros(len(layer.ends) + 1, np.int32)
        before[1:] = layer.ends
        before[layer.text_ends] = 0
        steps, exceptions = _coded(layer.starts - before[:-1], layer.ends - layer.starts, is_item)
        ends = np.zeros(len(is_item), np.int32)
        ends[is_item] = layer.ends
        self._steps(steps)
        self._grow(exceptions, ends[self._anchored(len(ends))], len(ends))

    def copy(self, other: Spans) -> None:
        """Append another segment's spans: only the anchors are made anew."""
        for start in range(0, len(other), _COPY_AT_ONCE):
            self._steps(other.steps[start : start + _COPY_AT_ONCE])
        ends = other.spans(self._anchored(len(other)))[1]
        self._grow(other.exceptions, ends, len(other))
        let_go(other.steps)

    def _grow(self, exceptions: Exceptions, anchors: NDArray[Any], places: int) -> None:
        self._anchors(anchors)
        if len(exceptions[0]):
            append_place, append_gap, append_length = self._exceptions
            append_place(exceptions[0].astype(np.int64) + self._places)
            append_gap(exceptions[1])
            append_length(exceptions[2])
        self._places += places

    def _anchored(self, places: int) -> Places:
        """Of the next places, those whose end is an anchor: each before a multiple of 64."""
        behind = np.arange(-self._places % _STEP, places, _STEP, dtype=np.int64)
        # The place before the first is a document's end, as the last one is too: both are 0.
        return np.where(behind == 0, places, behind) - 1


def _coded(gaps: Int32s, lengths: Int32s, is_item: NDArray[np.bool_]) -> tuple[Steps, Exceptions]:
    """Steps of all places, and exceptions, from the gaps and lengths of the items."""
    odd = (gaps < 0) | (gaps > _WIDEST) | (lengths < 0) | (lengths > _LONGEST)
    steps = np.full(len(is_item), DOCUMENT_END, np.uint8)
    steps[is_item] = np.where(odd, EXCEPTION, (gaps << LENGTH_BITS) | lengths)
    places = np.flatnonzero(steps == EXCEPTION).astype(np.int32)
    return steps, (places, gaps[odd], lengths[odd])


def _from_format_1(part: Part, exceptions: Exceptions) -> tuple[Steps, Exceptions]:
    """Then gaps and lengths had a byte each, with two gaps that were none."""
    places, odd_gaps, odd_lengths = exceptions
    gaps, lengths = (part[f"spans.{name}"].astype(np.int32) for name in ("gaps", "lengths"))
    if len(gaps) != len(lengths) or not np.array_equal(np.flatnonzero(gaps == -128), places):
        raise InputError("the spans do not fit each other", file=part.where, remedy=RESTORE)
    is_item = gaps != 127
    gaps[places], lengths[places] = odd_gaps, odd_lengths
    return _coded(gaps[is_item], lengths[is_item], is_item)


@njit(cache=True, nogil=True)
def _locate(steps, anchors, odd_places, odd_gaps, odd_lengths, places, starts, ends):  # type: ignore[no-untyped-def]
    for i in range(len(places)):
        place = places[i]
        block = place >> STEP_BITS
        start = end = np.int64(anchors[block])
        for p in range(block << STEP_BITS, place + 1):
            step = np.int64(steps[p])
            if step == DOCUMENT_END:
                start = end = np.int64(0)
            elif step == EXCEPTION:
                k = np.searchsorted(odd_places, p)
                start = end + odd_gaps[k]
                end = start + odd_lengths[k]
            else:
                start = end + (step >> LENGTH_BITS)
                end = start + (step & _LONGEST)
        starts[i] = start
        ends[i] = end
