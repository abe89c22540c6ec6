"""Segments, the immutable pieces that an index is made of: everything the index uses of them.

`write_segment` makes one of annotated documents, `merge_segments` one of several,
`open_segment` maps one; `memory_segment` and `segment_of_layers` make one that lives in memory
and answers the same questions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rote.core.annotation import Annotation
from rote.core.document import Document
from rote.core.layer import Layer
from rote.corpus import Batch
from rote.index.segments.documents import AUTHOR, Documents, Labels
from rote.index.segments.frame import Frame
from rote.index.segments.merge import merge_segments, sort_layer
from rote.index.segments.opened import Segment, SegmentRecord, open_segment, read_segment
from rote.index.segments.part import PartRecord, check_part, describe, is_whole
from rote.index.segments.spans import Spans
from rote.index.segments.target import FolderTarget, MemoryTarget, Target, sync_folder
from rote.index.segments.write import Piece, write_layer, write_pieces, write_segment, write_stream

__all__ = [
    "Documents",
    "FolderTarget",
    "Frame",
    "Labels",
    "MemoryTarget",
    "PartRecord",
    "Segment",
    "SegmentRecord",
    "Spans",
    "Target",
    "check_part",
    "describe",
    "is_whole",
    "memory_segment",
    "merge_segments",
    "open_segment",
    "read_segment",
    "segment_of_layers",
    "sort_layer",
    "sync_folder",
    "write_layer",
    "write_segment",
    "write_stream",
]


def memory_segment(
    pieces: Iterable[tuple[Batch, Annotation]],
    *,
    layers: Sequence[str],
    sorted_layers: Sequence[str],
    author_field: str = AUTHOR,
    threads: int = 1,
    name: str = "memory",
) -> Segment:
    """A segment in memory of annotated documents."""
    target = MemoryTarget()
    write_segment(
        target,
        pieces,
        layers=layers,
        sorted_layers=sorted_layers,
        author_field=author_field,
        threads=threads,
    )
    return read_segment(name, target.parts.values())


def segment_of_layers(
    layers: Mapping[str, Layer],
    *,
    sorted_layers: Sequence[str],
    threads: int = 1,
    name: str = "memory",
) -> Segment:
    """A segment in memory of aligned layers alone: texts are empty, ids are numbers."""
    target = MemoryTarget()
    texts = len(next(iter(layers.values())))
    piece = Piece([Document(str(i), "") for i in range(texts)], layers)
    write_pieces(target, [piece], tuple(layers), sorted_layers, threads=threads)
    return read_segment(name, target.parts.values())
