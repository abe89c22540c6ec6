"""A segment: documents and their layers, opened from a folder or made in memory.

It never changes. Adding documents makes another segment, adding a layer another part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rote.core.errors import InputError
from rote.core.json_reader import JsonObject
from rote.index.columns.packed import Packed, Stream
from rote.index.columns.parts import Column
from rote.index.segments.column import read_column
from rote.index.segments.documents import Documents
from rote.index.segments.frame import Frame, has_frame, read_frame
from rote.index.segments.part import (
    DOCUMENTS,
    LAYER,
    RESTORE,
    Part,
    PartRecord,
    is_whole,
    open_part,
)

WORD = "word"


@dataclass(frozen=True, slots=True)
class Segment:
    """Columns by the names of their layers, the frames they stand in, and the documents."""

    name: str
    columns: Mapping[str, Column]
    frames: Mapping[str, Frame]
    documents: Documents

    def frame_of(self, layer: str) -> Frame:
        """That of `word`, unless the layer has items of its own."""
        return self.frames[layer if layer in self.frames else WORD]

    @property
    def tokens(self) -> int:
        return self.frames[WORD].items

    @property
    def words(self) -> Packed | None:
        """The numbers of the words, if they are kept as such."""
        ids = self.columns[WORD].ids if WORD in self.columns else None
        return ids.packed if isinstance(ids, Stream) else None

    @property
    def places(self) -> int:
        return len(self.frames[WORD])


@dataclass(frozen=True, slots=True)
class SegmentRecord:
    """What a manifest keeps of a segment."""

    documents: int
    tokens: int
    places: int
    parts: tuple[PartRecord, ...]

    @property
    def bytes(self) -> int:
        return sum(part.bytes for part in self.parts)

    def to_json(self) -> dict[str, Any]:
        names = PartRecord.__dataclass_fields__
        parts = [{name: getattr(part, name) for name in names} for part in self.parts]
        sizes = {"documents": self.documents, "tokens": self.tokens, "places": self.places}
        return {**sizes, "parts": parts}

    @classmethod
    def from_json(cls, held: JsonObject) -> SegmentRecord:
        parts = tuple(map(PartRecord.from_json, held.objects("parts")))
        held.check_names((part.folder for part in parts), "parts", ".folder")
        held.check_once((part.name for part in parts), "parts", ".name")
        return cls(held.count("documents"), held.count("tokens"), held.count("places"), parts)


def open_segment(
    folder: Path, parts: Sequence[PartRecord] | None = None, name: str | None = None
) -> Segment:
    """Map a segment; without `parts` all that are whole."""
    if parts is None:
        found = [open_part(place) for place in sorted(folder.iterdir()) if is_whole(place)]
    else:
        found = [open_part(folder / part.folder, part.checksum) for part in parts]
    return read_segment(name or folder.name, found, str(folder))


def read_segment(name: str, parts: Iterable[Part], where: str = "memory") -> Segment:
    """A segment of its parts, which have to belong together."""
    held = list(parts)
    documents = next((part for part in held if part.kind == DOCUMENTS), None)
    if documents is None:
        raise InputError("the segment's documents are missing", file=where, remedy=RESTORE)
    layers = [part for part in held if part.kind == LAYER]
    frames = {WORD: read_frame(documents)}
    frames |= {part.name: read_frame(part) for part in layers if has_frame(part)}
    columns: dict[str, Column] = {}
    words = next((part for part in layers if part.name == WORD), None)
    for part in layers:
        frame = frames[part.name if part.name in frames else WORD]
        columns[part.name] = column = read_column(part, frame.document_ends, words)
        if len(column.ids) != len(frame) or len(frame.document_ends) != len(
            frames[WORD].document_ends
        ):
            problem = "this layer does not fit the segment's documents"
            raise InputError(problem, file=part.where, remedy=RESTORE)
    segment = Segment(name, columns, frames, Documents(documents))
    if len(segment.documents) != len(frames[WORD].document_ends):
        problem = "the segment's documents and layers do not fit each other"
        raise InputError(problem, file=where, remedy=RESTORE)
    return segment
