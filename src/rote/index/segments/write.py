"""Annotated documents in, a segment out: the stream is read once, piece by piece.

Texts, metadata and spans go straight to their final columns; numbers of items wait in scratch
columns until all are known. The same code writes to a folder and to memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rote.annotate.layers import DERIVED, derive
from rote.core.annotation import Annotation
from rote.core.document import Document
from rote.core.errors import InputError, OptionError
from rote.core.layer import Ids, Layer
from rote.core.progress import Reporter, Silent
from rote.corpus import Batch
from rote.index.columns.parts import Vocabulary
from rote.index.segments.column import LayerWriter, write_column
from rote.index.segments.documents import AUTHOR, DocumentsWriter
from rote.index.segments.frame import FrameWriter, end_places
from rote.index.segments.part import DOCUMENTS, LAYER, PartRecord
from rote.index.segments.segment import WORD, Segment, SegmentRecord, read_segment
from rote.index.segments.target import MemoryTarget, PartWriter, Target

_AT_ONCE = 1 << 16
_SILENT = Silent()


@dataclass(frozen=True, slots=True)
class Piece:
    """Some documents and their layers; those in `own` have items of their own."""

    documents: Sequence[Document]
    aligned: Mapping[str, Layer]
    own: Mapping[str, Layer] = field(default_factory=dict)


def write_segment(
    target: Target,
    pieces: Iterable[tuple[Batch, Annotation]],
    *,
    layers: Sequence[str],
    sorted_layers: Sequence[str],
    author_field: str = AUTHOR,
    threads: int = 1,
    compact: bool = False,
    reporter: Reporter = _SILENT,
) -> SegmentRecord:
    """Write one segment of all pieces; `word` is always among its layers."""
    names = tuple(dict.fromkeys((WORD, *layers)))
    unknown = [name for name in sorted_layers if name not in names]
    if unknown:
        raise OptionError(f"'{unknown[0]}' is to be searched but is not among the layers")
    return write_pieces(
        target,
        (_piece(batch, annotation, names) for batch, annotation in pieces),
        names,
        sorted_layers,
        author_field=author_field,
        threads=threads,
        compact=compact,
        reporter=reporter,
    )


def write_pieces(
    target: Target,
    pieces: Iterable[Piece],
    names: Sequence[str],
    sorted_layers: Sequence[str],
    *,
    author_field: str = AUTHOR,
    threads: int = 1,
    compact: bool = False,
    reporter: Reporter = _SILENT,
) -> SegmentRecord:
    """As `write_segment`, from pieces that hold exactly the layers named."""
    try:
        part = target.part(DOCUMENTS, DOCUMENTS, DOCUMENTS)
        documents, frame = DocumentsWriter(part, author_field), FrameWriter(target, part)
        growing: dict[str, LayerWriter] = {}
        for piece in pieces:
            documents.add(piece.documents)
            _add_layers(target, piece, frame, growing)
            del piece  # the last one would stay while suffixes are sorted
        growing |= {name: LayerWriter(target, name) for name in names if name not in growing}
        documents.finish()
        frame.finish()
        del documents
        records = [part.seal()]
        for writer in growing.values():
            writer.settle()
        with reporter.stage("indexing layers", frame.places * len(names)) as advance:
            words = None
            for name in names:
                sort = name in sorted_layers
                writer = growing.pop(name)
                records.append(
                    writer.finish(sort=sort, threads=threads, words=words, compact=compact)
                )
                del writer
                if name == WORD:
                    words = target.sealed(WORD).packed.get("ids")
                advance(frame.places)
        return SegmentRecord(frame.documents, frame.items, frame.places, tuple(records))
    finally:
        target.close()


def _add_layers(
    target: Target, piece: Piece, frame: FrameWriter, growing: dict[str, LayerWriter]
) -> None:
    shared = next(iter(piece.aligned.values()))
    is_item = frame.add(shared)
    for name, layer in (*piece.aligned.items(), *piece.own.items()):
        if name not in growing:
            growing[name] = LayerWriter(target, name, own=name in piece.own)
        _check_alignment(piece, name, layer, shared)
        growing[name].add(layer, is_item)


def write_layer(
    target: Target,
    segment: Segment,
    name: str,
    layers: Iterable[Layer],
    *,
    sort: bool = True,
    own: bool = False,
    folder: str | None = None,
    threads: int = 1,
    compact: bool = False,
    reporter: Reporter = _SILENT,
) -> PartRecord:
    """Add one layer to a segment: its documents in order, in batches of any size."""
    expected = segment.frames[WORD].document_ends
    places = documents = 0
    try:
        writer = LayerWriter(target, name, own=own, folder=folder)
        for layer in layers:
            there = expected[documents : documents + len(layer)]
            fits = own or np.array_equal(there, end_places(layer) + places)
            if not fits or len(there) != len(layer):
                raise _does_not_fit(name, segment)
            writer.add(layer)
            places += len(layer.ids) + len(layer)
            documents += len(layer)
        if documents != len(expected):
            raise _does_not_fit(name, segment)
        writer.settle()
        with reporter.stage(f"indexing {name}", None):
            words = segment.words
            return writer.finish(sort=sort, threads=threads, words=words, compact=compact)
    finally:
        target.close()


def write_streams(
    target: Target,
    streams: Mapping[str, tuple[Ids, Sequence[str]]],
    *,
    sorted_layers: Sequence[str],
    threads: int = 1,
    compact: bool = False,
) -> SegmentRecord:
    """A segment of numbers alone: layers that align, `word` the first if it is there.

    The strings of a layer are sorted, and item 1 is the first of them.
    """
    try:
        ends = np.flatnonzero(next(iter(streams.values()))[0] == 0)
        part = target.part(DOCUMENTS, DOCUMENTS, DOCUMENTS)
        frame = FrameWriter(target, part, spans=False)
        frame.add_ends(ends)
        frame.finish()
        records = [nameless_documents(part, len(ends))]
        words = None
        for name, (ids, strings) in streams.items():
            records.append(
                write_column(
                    target.part(name, name, LAYER),
                    ids,
                    Vocabulary.of(strings),
                    sort=name in sorted_layers,
                    threads=threads,
                    words=words,
                    compact=compact,
                )
            )
            if name == WORD:
                words = target.sealed(WORD).packed.get("ids")
        return SegmentRecord(frame.documents, frame.items, frame.places, tuple(records))
    finally:
        target.close()


def nameless_documents(part: PartWriter, number: int) -> PartRecord:
    """Documents of which nothing is known: no text, and their numbers for ids."""
    documents = DocumentsWriter(part)
    for start in range(0, number, _AT_ONCE):
        stop = min(start + _AT_ONCE, number)
        documents.add([Document(str(i), "") for i in range(start, stop)])
    documents.finish()
    return part.seal()


def _piece(batch: Batch, annotation: Annotation, names: Sequence[str]) -> Piece:
    """What the segment keeps of an annotated batch; what follows from the words is made here."""
    aligned, own = {}, {}
    for name in names:
        if name in annotation.layers:
            aligned[name] = annotation.layers[name]
        elif name in annotation.trees:
            own[name] = annotation.trees[name]
        elif name in DERIVED:
            aligned[name] = derive(annotation.word, name)
        else:
            raise InputError(
                f"the texts were annotated without the layer '{name}'",
                file=batch.file,
                remedy="Annotate them again with this layer, or leave it out",
            )
    return Piece(batch.documents, aligned, own)


def _check_alignment(piece: Piece, name: str, layer: Layer, shared: Layer) -> None:
    """Places of one layer must mean the same in all others: a miscount would be silent."""
    aligned = name in piece.own or np.array_equal(layer.text_ends, shared.text_ends)
    if not aligned or not len(piece.documents) == len(layer) == len(shared):
        raise InputError(
            f"the layer '{name}' does not fit its documents",
            remedy="All layers of a piece must come from the same texts",
        )


def _does_not_fit(name: str, segment: Segment) -> InputError:
    return InputError(
        f"the layer '{name}' does not fit the words of segment {segment.name}",
        remedy="Add layers with the annotator that the index was built with, over the same texts",
    )


def memory_segment(
    pieces: Iterable[tuple[Batch, Annotation]],
    *,
    layers: Sequence[str],
    sorted_layers: Sequence[str],
    author_field: str = AUTHOR,
    threads: int = 1,
    compact: bool = False,
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
        compact=compact,
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
