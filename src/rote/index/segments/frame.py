"""The frame of a segment's layers: where documents and sentences end, and where items stand.

Layers that align with `word` share its frame, which lies with the documents; a layer with items
of its own (subwords, trees) has a frame of its own, which lies with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import OptionError
from rote.core.layer import Layer
from rote.index.columns.packed import Packed
from rote.index.columns.parts import MOST_PLACES
from rote.index.segments.part import Part
from rote.index.segments.spans import Spans, SpansWriter
from rote.index.segments.target import PartWriter, Target

_COPY_AT_ONCE = 1 << 22


@dataclass(frozen=True, slots=True)
class Frame:
    """What all layers over the same items share.

    `document_ends` are the places behind each document's last item, ascending.
    `sentence_last`, where sentences are known, is 1 at the last item of each. `spans` are there
    unless the segment was made from numbers alone.
    """

    document_ends: NDArray[np.int64]
    sentence_last: Packed | None
    spans: Spans | None

    def __len__(self) -> int:
        """The number of places: items, and one for each document's end."""
        return int(self.document_ends[-1]) + 1 if len(self.document_ends) else 0

    @property
    def items(self) -> int:
        return len(self) - len(self.document_ends)

    def start_of(self, document: int) -> int:
        """The place of a document's first item, or of its end if it holds none."""
        return int(self.document_ends[document - 1]) + 1 if document else 0

    def document_of(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of the document that each place belongs to."""
        return np.searchsorted(self.document_ends, places).astype(np.int64)


def read_frame(part: Part) -> Frame:
    return Frame(
        document_ends=part["document_ends"],
        sentence_last=part.packed.get("sentence_last"),
        spans=Spans(part) if "spans.anchors" in part.arrays else None,
    )


def has_frame(part: Part) -> bool:
    return "document_ends" in part.arrays


def end_places(layer: Layer) -> NDArray[np.int64]:
    """The places behind a layer's texts, if it were a whole segment."""
    return layer.text_ends + np.arange(len(layer))


def item_places(layer: Layer) -> NDArray[np.bool_]:
    """For each place of a layer's texts whether it holds an item, or ends a text."""
    is_item = np.ones(len(layer.ids) + len(layer), np.bool_)
    is_item[end_places(layer)] = False
    return is_item


class FrameWriter:
    """Appends the texts of a layer, or another segment's frame, to a part."""

    def __init__(self, target: Target, part: PartWriter, *, spans: bool = True) -> None:
        self._part = part
        self._document_ends = part.column("document_ends", "int64")
        self._spans = SpansWriter(part) if spans else None
        self._last = target.scratch("uint8")
        self._sentences_known = True
        self.places = self.documents = 0

    @property
    def items(self) -> int:
        return self.places - self.documents

    def add(self, layer: Layer) -> NDArray[np.bool_]:
        """The texts of a layer; gives, for each of its places, whether it holds an item."""
        is_item = item_places(layer)
        if layer.sentence_ends is None:
            self._sentences_known = False
        elif self._sentences_known:
            is_last = np.zeros(len(layer.ids), np.uint8)
            is_last[layer.sentence_ends - 1] = 1
            row = np.zeros(len(is_item), np.uint8)
            row[is_item] = is_last
            self._last.append(row)
        if self._spans is not None:
            self._spans.add(layer, is_item)
        self._grow(end_places(layer), len(is_item))
        return is_item

    def copy(self, other: Frame) -> None:
        """Another segment's frame behind what is there."""
        if other.sentence_last is None:
            self._sentences_known = False
        elif self._sentences_known:
            for start in range(0, len(other), _COPY_AT_ONCE):
                self._last.append(other.sentence_last.slice(start, start + _COPY_AT_ONCE))
        if self._spans is not None and other.spans is not None:
            self._spans.copy(other.spans)
        self._grow(other.document_ends, len(other))

    def add_ends(self, document_ends: NDArray[np.int64]) -> None:
        """Documents of which no more is known than their places."""
        self._sentences_known = False
        self._grow(document_ends, int(document_ends[-1]) + 1 if len(document_ends) else 0)

    def finish(self) -> None:
        last = self._last.take()
        if self._sentences_known:
            self._part.pack("sentence_last", last, 1)

    def _grow(self, document_ends: NDArray[np.int64], places: int) -> None:
        self._document_ends(document_ends + self.places)
        self.documents += len(document_ends)
        self.places += places
        if self.places > MOST_PLACES:
            raise OptionError(
                f"a segment of an index holds at most {MOST_PLACES:,} words and documents: "
                "give --memory less, so that segments become smaller"
            )
