"""Where documents and sentences of a segment end, and where each item stands in its text.

Layers that align with `word` share its positions, which are stored with the documents; a layer with
items of its own (subwords, trees) has its own positions, stored with the layer.

A character span takes about one byte. An item begins a few characters behind the end of the item
before it, and is a few characters long: three bits and five. Every 64 positions the offset is
stored in full, so that finding one span reads one or two cache lines. What does not fit the byte
(long words, wide gaps, subwords that overlap) is in three columns of exceptions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import InputError, OptionError
from rote.core.kernels import njit
from rote.core.layer import Layer
from rote.index.columns.packed_array import PackedArray
from rote.index.grams import MAX_POSITIONS
from rote.index.segments.part import RESTORE, PartWriter, SegmentPart, Target, release_pages

_COPY_AT_ONCE = 1 << 22


@dataclass(frozen=True, slots=True)
class Positions:
    """What all layers over the same items share.

    `document_ends` are the positions behind each document's last item, ascending.
    `sentence_last`, where sentences are known, is 1 at the last item of each.
    """

    document_ends: NDArray[np.int64]
    sentence_last: PackedArray | None
    spans: CharacterSpans

    def __len__(self) -> int:
        """The number of positions: items, and one for each document's end."""
        return int(self.document_ends[-1]) + 1 if len(self.document_ends) else 0

    @property
    def items(self) -> int:
        return len(self) - len(self.document_ends)

    def start_of(self, document: int) -> int:
        """The position of a document's first item, or of its end if it holds none."""
        return int(self.document_ends[document - 1]) + 1 if document else 0

    def document_of(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.searchsorted(self.document_ends, positions).astype(np.int64)


def read_positions(part: SegmentPart) -> Positions:
    return Positions(
        document_ends=part["document_ends"],
        sentence_last=part.packed.get("sentence_last"),
        spans=CharacterSpans(part),
    )


def document_end_positions(layer: Layer) -> NDArray[np.int64]:
    """The positions behind a layer's texts, if it were a whole segment."""
    return layer.text_ends + np.arange(len(layer))


def item_mask(layer: Layer) -> NDArray[np.bool_]:
    """For each position of a layer's texts whether it holds an item, or ends a text."""
    is_item = np.ones(len(layer.ids) + len(layer), np.bool_)
    is_item[document_end_positions(layer)] = False
    return is_item


class PositionsWriter:
    """Appends the texts of a layer, or another segment's positions, to a part."""

    def __init__(self, target: Target, part: PartWriter) -> None:
        self._part = part
        self._document_ends = part.column("document_ends", "int64")
        self._spans = CharacterSpansWriter(part)
        self._last = target.scratch("uint8")
        self._sentences_known = True
        self.places = self.documents = 0

    @property
    def items(self) -> int:
        return self.places - self.documents

    def add(self, layer: Layer) -> NDArray[np.bool_]:
        """The texts of a layer; gives, for each of its positions, whether it holds an item."""
        is_item = item_mask(layer)
        if layer.sentence_ends is None:
            self._sentences_known = False
        elif self._sentences_known:
            is_last = np.zeros(len(layer.ids), np.uint8)
            is_last[layer.sentence_ends - 1] = 1
            row = np.zeros(len(is_item), np.uint8)
            row[is_item] = is_last
            self._last.append(row)
        self._spans.add(layer, is_item)
        self._grow(document_end_positions(layer), len(is_item))
        return is_item

    def copy(self, other: Positions) -> None:
        if other.sentence_last is None:
            self._sentences_known = False
        elif self._sentences_known:
            for start in range(0, len(other), _COPY_AT_ONCE):
                self._last.append(other.sentence_last.slice(start, start + _COPY_AT_ONCE))
        self._spans.copy(other.spans)
        self._grow(other.document_ends, len(other))

    def finish(self) -> None:
        last = self._last.take()
        if self._sentences_known:
            self._part.pack("sentence_last", last, 1)

    def _grow(self, document_ends: NDArray[np.int64], positions: int) -> None:
        self._document_ends(document_ends + self.places)
        self.documents += len(document_ends)
        self.places += positions
        if self.places > MAX_POSITIONS:
            raise OptionError(
                f"a segment of an index holds at most {MAX_POSITIONS:,} words and documents: give "
                "--memory less, for smaller segments"
            )


LENGTH_BITS = 5
_LONGEST = (1 << LENGTH_BITS) - 1
_WIDEST = 5
# The two gaps that are none.
DOCUMENT_END = 6 << LENGTH_BITS
EXCEPTION = 7 << LENGTH_BITS
STEP_BITS = 6
_STEP = 1 << STEP_BITS

Int64s = NDArray[np.int64]
Int32s = NDArray[np.int32]
Steps = NDArray[np.uint8]
Exceptions = tuple[Int32s, Int32s, Int32s]


class CharacterSpans:
    """The character span of every position.

    The upper bits of `steps[p]` are how far behind the end of the item before it item p begins
    (behind 0 for the first of a document), the lower ones its length. `exceptions` are positions,
    gaps and lengths. `anchors[k]` is the end of the item at position 64 k - 1, or 0 if a document
    ends there.
    """

    def __init__(self, part: SegmentPart) -> None:
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
            self._steps, self._exceptions = _read_format_1(self._part, self._exceptions)
        return self._steps, self._exceptions

    def spans(self, positions: Int64s) -> tuple[Int64s, Int64s]:
        """Starts and ends in the document's text; both 0 where a document ends."""
        starts, ends = np.empty(len(positions), np.int64), np.empty(len(positions), np.int64)
        if len(positions) and not 0 <= positions.min() <= positions.max() < len(self):
            raise IndexError(f"places beyond {len(self)}")
        if not positions.flags.writeable:
            positions = positions.copy()  # to numba a read-only array is another type
        _locate_spans(self.steps, self.anchors, *self.exceptions, positions, starts, ends)
        return starts, ends


class CharacterSpansWriter:
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
        """The texts of a layer; `is_item` says of each position if it holds an item."""
        before = np.zeros(len(layer.ends) + 1, np.int32)
        before[1:] = layer.ends
        before[layer.text_ends] = 0
        steps, exceptions = _encode_spans(
            layer.starts - before[:-1], layer.ends - layer.starts, is_item
        )
        ends = np.zeros(len(is_item), np.int32)
        ends[is_item] = layer.ends
        self._steps(steps)
        self._grow(exceptions, ends[self._anchored(len(ends))], len(ends))

    def copy(self, other: CharacterSpans) -> None:
        """Append another segment's spans: only the anchors are made anew."""
        for start in range(0, len(other), _COPY_AT_ONCE):
            self._steps(other.steps[start : start + _COPY_AT_ONCE])
        ends = other.spans(self._anchored(len(other)))[1]
        self._grow(other.exceptions, ends, len(other))
        release_pages(other.steps)

    def _grow(self, exceptions: Exceptions, anchors: NDArray[Any], positions: int) -> None:
        self._anchors(anchors)
        if len(exceptions[0]):
            append_place, append_gap, append_length = self._exceptions
            append_place(exceptions[0].astype(np.int64) + self._places)
            append_gap(exceptions[1])
            append_length(exceptions[2])
        self._places += positions

    def _anchored(self, positions: int) -> Int64s:
        """Of the next positions, those whose end is an anchor: each before a multiple of 64."""
        behind = np.arange(-self._places % _STEP, positions, _STEP, dtype=np.int64)
        # The position before the first is a document's end, as the last one is too: both are 0.
        return np.where(behind == 0, positions, behind) - 1


def _encode_spans(
    gaps: Int32s, lengths: Int32s, is_item: NDArray[np.bool_]
) -> tuple[Steps, Exceptions]:
    """Steps of all positions, and exceptions, from the gaps and lengths of the items."""
    odd = (gaps < 0) | (gaps > _WIDEST) | (lengths < 0) | (lengths > _LONGEST)
    steps = np.full(len(is_item), DOCUMENT_END, np.uint8)
    steps[is_item] = np.where(odd, EXCEPTION, (gaps << LENGTH_BITS) | lengths)
    positions = np.flatnonzero(steps == EXCEPTION).astype(np.int32)
    return steps, (positions, gaps[odd], lengths[odd])


def _read_format_1(part: SegmentPart, exceptions: Exceptions) -> tuple[Steps, Exceptions]:
    """Then gaps and lengths had a byte each, with two gaps that were none."""
    positions, odd_gaps, odd_lengths = exceptions
    gaps, lengths = (part[f"spans.{name}"].astype(np.int32) for name in ("gaps", "lengths"))
    if len(gaps) != len(lengths) or not np.array_equal(np.flatnonzero(gaps == -128), positions):
        raise InputError("the spans do not match", file=part.where, remedy=RESTORE)
    is_item = gaps != 127
    gaps[positions], lengths[positions] = odd_gaps, odd_lengths
    return _encode_spans(gaps[is_item], lengths[is_item], is_item)


@njit(cache=True, nogil=True)
def _locate_spans(steps, anchors, odd_places, odd_gaps, odd_lengths, positions, starts, ends):  # type: ignore[no-untyped-def]
    for i in range(len(positions)):
        position = positions[i]
        block = position >> STEP_BITS
        start = end = np.int64(anchors[block])
        for p in range(block << STEP_BITS, position + 1):
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
