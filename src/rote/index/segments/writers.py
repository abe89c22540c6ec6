"""Write a segment: from annotated documents, or from segments that are there.

Annotated documents are read once, batch by batch. Texts, metadata and spans go straight to their
final columns; numbers of items wait in scratch columns until all are known. The same code writes to
a folder and to memory.

A merge is exactly the segment that all documents would have made at once: texts, metadata and spans
are copied; numbers of items move to one vocabulary; suffixes are sorted anew, which takes less time
than merging them. Segments are mapped and read in pieces, so that memory is that of writing one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rote.core.document import Annotation, Document
from rote.core.errors import InputError, OptionError
from rote.core.layer import DERIVED, Layer, derive
from rote.core.progress import Reporter, Silent
from rote.corpus import Batch
from rote.index.columns.packed_array import PackedArray
from rote.index.segments.documents import AUTHOR, DocumentsWriter
from rote.index.segments.part import DOCUMENTS, LAYER, MemoryTarget, PartRecord, PartWriter, Target
from rote.index.segments.positions import Positions, PositionsWriter, document_end_positions
from rote.index.segments.segment import (
    WORD,
    LayerForms,
    LayerWriter,
    Segment,
    SegmentRecord,
    join_ids,
    read_segment,
    write_column,
)

_SILENT = Silent()


@dataclass(frozen=True, slots=True)
class AnnotatedDocuments:
    """Some documents and their layers; those in `separate` have items of their own."""

    documents: Sequence[Document]
    aligned: Mapping[str, Layer]
    separate: Mapping[str, Layer] = field(default_factory=dict)


def write_segment(
    target: Target,
    pieces: Iterable[tuple[Batch, Annotation]],
    forms: LayerForms,
    *,
    layers: Sequence[str],
    author_field: str = AUTHOR,
    reporter: Reporter = _SILENT,
) -> SegmentRecord:
    """Write one segment of all pieces; `word` is always among its layers."""
    names = tuple(dict.fromkeys((WORD, *layers)))
    unknown = [name for name in forms.sorted_layers if name not in names]
    if unknown:
        raise OptionError(f"'{unknown[0]}' is to be searchable but is not among the layers")
    selected = (_select_layers(batch, annotation, names) for batch, annotation in pieces)
    return write_pieces(target, selected, names, forms, author_field, reporter)


def write_pieces(
    target: Target,
    pieces: Iterable[AnnotatedDocuments],
    names: Sequence[str],
    forms: LayerForms,
    author_field: str = AUTHOR,
    reporter: Reporter = _SILENT,
) -> SegmentRecord:
    """As `write_segment`, from pieces that hold exactly the layers named."""
    try:
        part = target.part(DOCUMENTS, DOCUMENTS, DOCUMENTS)
        documents, positions = DocumentsWriter(part, author_field), PositionsWriter(target, part)
        growing: dict[str, LayerWriter] = {}
        for piece in pieces:
            documents.add(piece.documents)
            _add_layers(target, piece, positions, growing)
            del piece  # the last one would stay while suffixes are sorted
        growing |= {name: LayerWriter(target, name) for name in names if name not in growing}
        documents.finish()
        positions.finish()
        del documents
        for writer in growing.values():
            writer.settle()
        del writer

        def write(name: str, words: PackedArray | None) -> PartRecord:
            return growing.pop(name).finish(forms, words)

        return _write_layers(target, part, positions, names, write, reporter)
    finally:
        target.close()


def _write_layers(
    target: Target,
    part: PartWriter,
    positions: PositionsWriter,
    names: Sequence[str],
    write: Callable[[str, PackedArray | None], PartRecord],
    reporter: Reporter = _SILENT,
) -> SegmentRecord:
    """Seal the documents and write the layers; some may follow from the words, the first."""
    records, words = [part.seal()], None
    with reporter.stage("indexing layers", positions.places * len(names)) as advance:
        for name in names:
            records.append(write(name, words))
            if name == WORD:
                words = target.sealed(WORD).packed.get("ids")
            advance(positions.places)
    return SegmentRecord(positions.documents, positions.items, positions.places, tuple(records))


def _add_layers(
    target: Target,
    piece: AnnotatedDocuments,
    positions: PositionsWriter,
    growing: dict[str, LayerWriter],
) -> None:
    shared = next(iter(piece.aligned.values()))
    is_item = positions.add(shared)
    for name, layer in (*piece.aligned.items(), *piece.separate.items()):
        if name not in growing:
            growing[name] = LayerWriter(target, name, has_own_items=name in piece.separate)
        _check_alignment(piece, name, layer, shared)
        growing[name].add(layer, is_item)


def write_layer(
    target: Target,
    segment: Segment,
    name: str,
    layers: Iterable[Layer],
    forms: LayerForms,
    *,
    has_own_items: bool = False,
    folder: str | None = None,
) -> PartRecord:
    """Add one layer to a segment: its documents in order, in batches of any size."""
    expected = segment.positions[WORD].document_ends
    positions = documents = 0
    try:
        writer = LayerWriter(target, name, has_own_items=has_own_items, folder=folder)
        for layer in layers:
            there = expected[documents : documents + len(layer)]
            fits = has_own_items or np.array_equal(there, document_end_positions(layer) + positions)
            if not fits or len(there) != len(layer):
                raise _layer_mismatch(name, segment)
            writer.add(layer)
            positions += len(layer.ids) + len(layer)
            documents += len(layer)
        if documents != len(expected):
            raise _layer_mismatch(name, segment)
        writer.settle()
        return writer.finish(forms, segment.words)
    finally:
        target.close()


def _select_layers(
    batch: Batch, annotation: Annotation, names: Sequence[str]
) -> AnnotatedDocuments:
    """What the segment keeps of an annotated batch; what follows from the words is made here."""
    aligned, separate = {}, {}
    for name in names:
        if name in annotation.layers:
            aligned[name] = annotation.layers[name]
        elif name in annotation.trees:
            separate[name] = annotation.trees[name]
        elif name in DERIVED:
            aligned[name] = derive(annotation.word, name)
        else:
            raise InputError(
                f"the texts were annotated without the layer '{name}'",
                file=batch.file,
                remedy="Annotate them again with this layer, or leave it out",
            )
    return AnnotatedDocuments(batch.documents, aligned, separate)


def _check_alignment(piece: AnnotatedDocuments, name: str, layer: Layer, shared: Layer) -> None:
    """Positions of one layer must mean the same in all others: a miscount would be silent."""
    aligned = name in piece.separate or np.array_equal(layer.text_ends, shared.text_ends)
    if not aligned or not len(piece.documents) == len(layer) == len(shared):
        raise InputError(
            f"the layer '{name}' does not fit its documents",
            remedy="All layers of a piece must come from the same texts",
        )


def _layer_mismatch(name: str, segment: Segment) -> InputError:
    return InputError(
        f"the layer '{name}' does not fit the words of segment {segment.name}",
        remedy="Add layers with the annotator that the index was built with, over the same texts",
    )


def build_memory_segment(
    pieces: Iterable[tuple[Batch, Annotation]],
    *,
    layers: Sequence[str],
    sorted_layers: Sequence[str],
    author_field: str = AUTHOR,
    compact: bool = False,
) -> Segment:
    target, forms = MemoryTarget(), LayerForms(sorted_layers, compact)
    write_segment(target, pieces, forms, layers=layers, author_field=author_field)
    return read_segment("memory", target.parts.values())


def build_layer_segment(layers: Mapping[str, Layer], *, sorted_layers: Sequence[str]) -> Segment:
    """A segment in memory of aligned layers alone: texts are empty, ids are numbers."""
    target = MemoryTarget()
    texts = len(next(iter(layers.values())))
    piece = AnnotatedDocuments([Document(str(i), "") for i in range(texts)], layers)
    write_pieces(target, [piece], tuple(layers), LayerForms(sorted_layers))
    return read_segment("memory", target.parts.values())


def merge_segments(target: Target, segments: Sequence[Segment], forms: LayerForms) -> SegmentRecord:
    names = _common_layers(segments)
    try:
        part = target.part(DOCUMENTS, DOCUMENTS, DOCUMENTS)
        documents = DocumentsWriter(part)
        for segment in segments:
            documents.copy(segment.documents)
        documents.finish()
        positions = _copy_positions(target, part, segments, WORD)

        def write(name: str, words: PackedArray | None) -> PartRecord:
            return _merge_layer(target, segments, name, forms, words)

        return _write_layers(target, part, positions, names, write)
    finally:
        target.close()


def sort_layer(
    target: Target, segment: Segment, name: str, forms: LayerForms, *, folder: str
) -> PartRecord:
    """A layer that is there without sorted suffixes, written again with them."""
    try:
        words = segment.words if name != WORD else None
        return _merge_layer(target, [segment], name, forms, words, folder)
    finally:
        target.close()


def _merge_layer(
    target: Target,
    segments: Sequence[Segment],
    name: str,
    forms: LayerForms,
    words: PackedArray | None,
    folder: str | None = None,
) -> PartRecord:
    """One layer of all segments; `words` are those of the new segment, if they are there."""
    part = target.part(folder or name, name, LAYER)
    if name != WORD and name in segments[0].positions:
        _copy_positions(target, part, segments, name)
        words = None
    ids, vocabulary = join_ids([segment.columns[name] for segment in segments])
    return write_column(part, name, ids, vocabulary, forms, words)


def _copy_positions(
    target: Target, part: PartWriter, segments: Sequence[Segment], name: str
) -> PositionsWriter:
    writer = PositionsWriter(target, part)
    for segment in segments:
        writer.copy(segment.positions[name])
    writer.finish()
    return writer


def _common_layers(segments: Sequence[Segment]) -> list[str]:
    """The layers of all segments; with different ones, positions would mean different things."""
    first, *rest = segments
    for segment in rest:
        if (first.columns.keys(), first.positions.keys()) != (
            segment.columns.keys(),
            segment.positions.keys(),
        ):
            raise OptionError(
                f"segment {first.name} has the layers {', '.join(first.columns)} and "
                f"{segment.name} has {', '.join(segment.columns)}: give all the same layers first, "
                "with `rote index add-layer`"
            )
    # Words first: other layers may follow from them.
    return sorted(first.columns, key=lambda name: name != WORD)


_POSITIONS_AT_ONCE = 1 << 21


def read_kept_documents(segment: Segment, keep: NDArray[np.bool_]) -> Iterator[AnnotatedDocuments]:
    """The documents that are to be kept, in order, with all their layers."""
    ends = segment.positions[WORD].document_ends
    strings = {name: column.vocabulary.strings() for name, column in segment.columns.items()}
    start = 0
    while start < len(ends):
        first = segment.positions[WORD].start_of(start)
        stop = max(start + 1, int(np.searchsorted(ends, first + _POSITIONS_AT_ONCE)))
        is_kept = keep[start:stop]
        if is_kept.any():
            yield _read_kept_piece(segment, strings, start, is_kept)
        start = stop


def _read_kept_piece(
    segment: Segment, strings: dict[str, list[str]], start: int, is_kept: NDArray[np.bool_]
) -> AnnotatedDocuments:
    all_positions = {
        name: _KeptItems(positions, start, is_kept) for name, positions in segment.positions.items()
    }
    aligned: dict[str, Layer] = {}
    separate: dict[str, Layer] = {}
    for name, column in segment.columns.items():
        positions = all_positions.get(name, all_positions[WORD])
        layer = positions.layer(
            name, column.ids.slice(positions.first, positions.last), strings[name]
        )
        (separate if name in all_positions and name != WORD else aligned)[name] = layer
    documents = segment.documents
    numbers = (start + np.flatnonzero(is_kept)).tolist()
    return AnnotatedDocuments([documents.document(number) for number in numbers], aligned, separate)


class _KeptItems:
    """The items of some neighbouring documents, those apart that are not kept."""

    def __init__(self, positions: Positions, start: int, documents_kept: NDArray[np.bool_]) -> None:
        ends = positions.document_ends[start : start + len(documents_kept)]
        self.first, self.last = positions.start_of(start), int(ends[-1]) + 1
        lengths = np.diff(ends, prepend=self.first - 1)
        is_kept = np.repeat(documents_kept, lengths)
        is_kept[ends - self.first] = False  # the ends of documents are no items
        self.items = np.flatnonzero(is_kept)
        self.text_ends = np.cumsum(lengths[documents_kept] - 1)
        self.starts, self.ends = positions.spans.spans(self.items + self.first)
        self.sentence_ends = None
        if positions.sentence_last is not None:
            last = positions.sentence_last.slice(self.first, self.last)[self.items]
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
