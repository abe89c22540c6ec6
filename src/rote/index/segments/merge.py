"""One segment of several, exactly as if all documents had been written at once.

Texts, metadata and spans are copied; numbers of items move to one vocabulary; suffixes are
sorted anew, which takes less time than merging them. Segments are mapped and read in pieces,
so that memory is that of writing one segment.
"""

from __future__ import annotations

from collections.abc import Sequence

from rote.core.errors import OptionError
from rote.core.progress import Reporter, Silent
from rote.index.columns.packed import Packed
from rote.index.segments.column import joined_ids, write_column
from rote.index.segments.documents import DocumentsWriter
from rote.index.segments.frame import Frame, FrameWriter
from rote.index.segments.part import DOCUMENTS, LAYER, PartRecord
from rote.index.segments.segment import WORD, Segment, SegmentRecord
from rote.index.segments.target import PartWriter, Target

_SILENT = Silent()


def merge_segments(
    target: Target,
    segments: Sequence[Segment],
    *,
    sorted_layers: Sequence[str],
    threads: int = 1,
    compact: bool = False,
    reporter: Reporter = _SILENT,
) -> SegmentRecord:
    """Write one segment with the documents of all, in order."""
    names = _layers(segments)
    try:
        part = target.part(DOCUMENTS, DOCUMENTS, DOCUMENTS)
        documents = DocumentsWriter(part)
        for segment in segments:
            documents.copy(segment.documents)
        documents.finish()
        frame = copy_frames(target, part, [segment.frames[WORD] for segment in segments])
        records = [part.seal()]
        with reporter.stage("merging layers", frame.places * len(names)) as advance:
            words = None
            for name in names:
                records.append(
                    merge_layer(
                        target,
                        segments,
                        name,
                        sort=name in sorted_layers,
                        threads=threads,
                        words=words,
                        compact=compact,
                    )
                )
                if name == WORD:
                    words = target.sealed(WORD).packed.get("ids")
                advance(frame.places)
        return SegmentRecord(frame.documents, frame.items, frame.places, tuple(records))
    finally:
        target.close()


def sort_layer(
    target: Target,
    segment: Segment,
    name: str,
    *,
    folder: str,
    threads: int = 1,
    compact: bool = False,
    reporter: Reporter = _SILENT,
) -> PartRecord:
    """A layer that is there without sorted suffixes, written again with them."""
    try:
        with reporter.stage(f"indexing {name}", None):
            words = segment.words if name != WORD else None
            return merge_layer(
                target,
                [segment],
                name,
                sort=True,
                threads=threads,
                folder=folder,
                words=words,
                compact=compact,
            )
    finally:
        target.close()


def merge_layer(
    target: Target,
    segments: Sequence[Segment],
    name: str,
    *,
    sort: bool,
    threads: int,
    folder: str | None = None,
    words: Packed | None = None,
    compact: bool = False,
) -> PartRecord:
    """One layer of all segments; `words` are those of the new segment, if they are there."""
    part = target.part(folder or name, name, LAYER)
    if name != WORD and name in segments[0].frames:
        copy_frames(target, part, [segment.frames[name] for segment in segments])
        words = None
    ids, vocabulary = joined_ids([segment.columns[name] for segment in segments])
    return write_column(
        part, ids, vocabulary, sort=sort, threads=threads, words=words, compact=compact
    )


def copy_frames(target: Target, part: PartWriter, frames: Sequence[Frame]) -> FrameWriter:
    writer = FrameWriter(target, part, spans=all(frame.spans is not None for frame in frames))
    for frame in frames:
        writer.copy(frame)
    writer.finish()
    return writer


def _layers(segments: Sequence[Segment]) -> list[str]:
    """The layers of all segments; with different ones, places would mean different things."""
    first, *others = segments
    for other in others:
        if (first.columns.keys(), first.frames.keys()) != (
            other.columns.keys(),
            other.frames.keys(),
        ):
            raise OptionError(
                f"segment {first.name} has the layers {', '.join(first.columns)} and "
                f"{other.name} has {', '.join(other.columns)}: give all the same layers first, "
                "with `rote index add-layer`"
            )
    # Words first: other layers may follow from them.
    return sorted(first.columns, key=lambda name: name != WORD)
