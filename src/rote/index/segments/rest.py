"""A segment read back as pieces, without some of its documents: nothing is annotated again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rote.core.layer import Layer
from rote.index.segments.frame import Frame
from rote.index.segments.segment import WORD, Segment
from rote.index.segments.write import Piece

_PLACES_AT_ONCE = 1 << 21


def rest_of(segment: Segment, keep: NDArray[np.bool_]) -> Iterator[Piece]:
    """The documents that are to be kept, in order, with all their layers."""
    ends = segment.frames[WORD].document_ends
    strings = {name: column.vocabulary.strings() for name, column in segment.columns.items()}
    start = 0
    while start < len(ends):
        first = segment.frames[WORD].start_of(start)
        stop = max(start + 1, int(np.searchsorted(ends, first + _PLACES_AT_ONCE)))
        kept = keep[start:stop]
        if kept.any():
            yield _piece(segment, strings, start, kept)
        start = stop


def _piece(
    segment: Segment, strings: dict[str, list[str]], start: int, kept: NDArray[np.bool_]
) -> Piece:
    frames = {name: _Kept(frame, start, kept) for name, frame in segment.frames.items()}
    aligned: dict[str, Layer] = {}
    own: dict[str, Layer] = {}
    for name, column in segment.columns.items():
        frame = frames.get(name, frames[WORD])
        layer = frame.layer(name, column.ids.slice(frame.first, frame.last), strings[name])
        (own if name in frames and name != WORD else aligned)[name] = layer
    held = segment.documents
    numbers = (start + np.flatnonzero(kept)).tolist()
    return Piece([held.document(number) for number in numbers], aligned, own)


class _Kept:
    """The items of some neighbouring documents, those apart that are not kept."""

    def __init__(self, frame: Frame, start: int, kept: NDArray[np.bool_]) -> None:
        ends = frame.document_ends[start : start + len(kept)]
        self.first, self.last = frame.start_of(start), int(ends[-1]) + 1
        lengths = np.diff(ends, prepend=self.first - 1)
        is_kept = np.repeat(kept, lengths)
        is_kept[ends - self.first] = False  # the ends of documents are no items
        self.items = np.flatnonzero(is_kept)
        self.text_ends = np.cumsum(lengths[kept] - 1)
        assert frame.spans is not None  # only segments in memory are without
        self.starts, self.ends = frame.spans.spans(self.items + self.first)
        self.sentence_ends = None
        if frame.sentence_last is not None:
            last = frame.sentence_last.slice(self.first, self.last)[self.items]
            self.sentence_ends = np.flatnonzero(last) + 1

    def layer(self, name: str, numbers: NDArray[np.int64], strings: list[str]) -> Layer:
        return Layer(
            name=name,
            ids=numbers[self.items].astype(np.int32),
            vocabulary=strings,
            starts=self.starts.astype(np.int32),
            ends=self.ends.astype(np.int32),
            text_ends=self.text_ends,
            sentence_ends=self.sentence_ends,
        )
