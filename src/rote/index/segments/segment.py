"""A segment: documents and their layers, opened from a folder or made in memory.

It never changes. Adding documents makes another segment, adding a layer another part.

**Writing a layer.** While texts come in, items are numbered as they appear, into a scratch column.
In the end the vocabulary is sorted, the numbers follow it, suffixes are sorted where the layer is
to be searched, and everything is packed. Only then the next layer begins, so that one layer at a
time is in memory: 4 bytes an item, 16 while suffixes are sorted.

**Checking what is read.** Checksums tell that files are as they were written, not who wrote them.
Kernels read without checking bounds, so everything that leads them somewhere is checked: numbers
that ascend or stay in range, columns that fit each other. It costs about as much as reading the
files. That suffixes are sorted is not checked, which would cost as much as sorting: kernels stay
within the columns if they are not, and then count wrongly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import InputError
from rote.core.json_reader import JsonObject
from rote.core.layer import Ids, Layer
from rote.index.columns.compressed_suffix_array import (
    BLOCK,
    BLOCK_HEAD,
    ITEM_STEP,
    SAMPLE_STEP,
    CompressedOrder,
    CompressedStream,
    CompressedSuffixArray,
    encode_blocks,
)
from rote.index.columns.layer_column import LayerColumn, Suffixes, Vocabulary, share_vocabulary
from rote.index.columns.packed_array import (
    MAX_BITS,
    PADDING,
    ItemStream,
    PackedArray,
    bits_for,
    pack,
    packed_size,
)
from rote.index.columns.suffix_sort import (
    MAX_CODE_BITS,
    MAX_TABLE_BITS,
    MIN_TABLE_BITS,
    TableSize,
    sort_suffixes,
)
from rote.index.grams import END, MAX_POSITIONS
from rote.index.segments.documents import (
    CHUNK,
    CompressedTexts,
    Documents,
    read_vocabulary,
    write_vocabulary,
)
from rote.index.segments.meanings import Meanings, code_words, read_meanings, sentence_positions
from rote.index.segments.part import (
    DOCUMENTS,
    LAYER,
    MEANINGS,
    RESTORE,
    PartRecord,
    PartWriter,
    SegmentPart,
    Target,
    is_sealed,
    open_part,
    release_pages,
)
from rote.index.segments.positions import (
    EXCEPTION,
    STEP_BITS,
    CharacterSpans,
    Positions,
    PositionsWriter,
    item_mask,
    read_positions,
)

WORD = "word"


@dataclass(frozen=True, slots=True)
class Segment:
    """Columns and positions by the names of their layers, and the documents."""

    name: str
    columns: Mapping[str, LayerColumn]
    positions: Mapping[str, Positions]
    documents: Documents
    meanings: Meanings | None = None
    """Vectors of the sentences, if it has that layer."""

    def positions_of(self, layer: str) -> Positions:
        """That of `word`, unless the layer has items of its own."""
        return self.positions[layer if layer in self.positions else WORD]

    @property
    def tokens(self) -> int:
        return self.positions[WORD].items

    @property
    def words(self) -> PackedArray | None:
        """The numbers of the words, if they are kept as such."""
        ids = self.columns[WORD].ids if WORD in self.columns else None
        return ids.packed if isinstance(ids, ItemStream) else None

    @property
    def places(self) -> int:
        return len(self.positions[WORD])


@dataclass(frozen=True, slots=True)
class LayerForms:
    """Which layers are sorted, in which form, and how many threads sort."""

    sorted_layers: Sequence[str] = ()
    compact: bool = False
    threads: int = 1


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

    @classmethod
    def from_json(cls, json_object: JsonObject) -> SegmentRecord:
        parts = tuple(map(PartRecord.from_json, json_object.objects("parts")))
        json_object.check_names((part.folder for part in parts), "parts", ".folder")
        json_object.check_once((part.name for part in parts), "parts", ".name")
        documents, tokens, places = map(json_object.count, ("documents", "tokens", "places"))
        return cls(documents, tokens, places, parts)


def open_segment(
    folder: Path, parts: Sequence[PartRecord] | None = None, name: str | None = None
) -> Segment:
    """Map a segment; without `parts` all that are whole."""
    if parts is None:
        opened = [open_part(place) for place in sorted(folder.iterdir()) if is_sealed(place)]
    else:
        opened = [open_part(folder / part.folder, part.checksum) for part in parts]
    return read_segment(name or folder.name, opened, str(folder))


def read_segment(name: str, parts: Iterable[SegmentPart], where: str = "memory") -> Segment:
    """A segment of its parts, which have to belong together."""
    all_parts = list(parts)
    documents = next((part for part in all_parts if part.kind == DOCUMENTS), None)
    if documents is None:
        raise InputError("the segment's documents are missing", file=where, remedy=RESTORE)
    layers = [part for part in all_parts if part.kind == LAYER]
    all_positions = {WORD: read_positions(documents)}
    # Those of layers with items of their own.
    all_positions |= {
        part.name: read_positions(part) for part in layers if "document_ends" in part.arrays
    }
    columns: dict[str, LayerColumn] = {}
    words = next((part for part in layers if part.name == WORD), None)
    for part in layers:
        positions = all_positions[part.name if part.name in all_positions else WORD]
        columns[part.name] = column = read_column(part, positions.document_ends, words)
        if len(column.ids) != len(positions) or len(positions.document_ends) != len(
            all_positions[WORD].document_ends
        ):
            problem = "this layer does not fit the segment's documents"
            raise InputError(problem, file=part.where, remedy=RESTORE)
    meanings = next((read_meanings(part) for part in all_parts if part.kind == MEANINGS), None)
    segment = Segment(name, columns, all_positions, Documents(documents), meanings)
    if len(segment.documents) != len(all_positions[WORD].document_ends):
        problem = "the segment's documents and layers do not match"
        raise InputError(problem, file=where, remedy=RESTORE)
    return segment


_CHUNK = 1 << 20  # positions; of a compressed layer whole blocks


class LayerWriter:
    """One layer as it comes in; END is 0 already, items are numbered from 1 as they appear.

    A layer with items of its own brings its positions, which go to the same part.
    """

    def __init__(
        self, target: Target, name: str, *, has_own_items: bool = False, folder: str | None = None
    ) -> None:
        self._target, self._name, self._folder = target, name, folder or name
        self._part = self._new_part() if has_own_items else None
        self._positions = PositionsWriter(target, self._part) if self._part is not None else None
        self._ids = target.scratch("int32")
        self._seen: dict[str, int] = {}
        self._table, self._vocabulary = np.zeros(1, np.int32), Vocabulary.of(())

    def add(self, layer: Layer, is_item: NDArray[np.bool_] | None = None) -> None:
        """The items of some documents; `is_item`, if known, says which positions hold one."""
        if self._positions is not None:
            is_item = self._positions.add(layer)
        elif is_item is None:
            is_item = item_mask(layer)
        used = np.zeros(len(layer.vocabulary), np.bool_)
        used[layer.ids] = True
        table, entries, numbers_of = np.zeros(len(used), np.int32), layer.vocabulary, self._seen
        there = np.flatnonzero(used).tolist()
        table[there] = [numbers_of.setdefault(entries[i], len(numbers_of) + 1) for i in there]
        row = np.zeros(len(is_item), np.int32)
        row[is_item] = table[layer.ids]
        self._ids.append(row)

    def settle(self) -> None:
        """All is in: sort the vocabulary, and keep bytes for strings, which take far more room."""
        ordered = sorted(self._seen)
        self._table = np.zeros(len(ordered) + 1, np.int32)
        self._table[[self._seen[entry] for entry in ordered]] = np.arange(1, len(ordered) + 1)
        self._vocabulary = Vocabulary.of(ordered)
        self._seen = {}
        if self._positions is not None:
            self._positions.finish()

    def finish(self, forms: LayerForms, words: PackedArray | None = None) -> PartRecord:
        """After `settle`: give the items their final numbers, and write the part."""
        ids: Ids = self._ids.take()
        for start in range(0, len(ids), _CHUNK):
            piece = ids[start : start + _CHUNK]
            piece[:] = self._table[piece]
        part = self._part if self._part is not None else self._new_part()
        words = words if self._positions is None else None
        return write_column(part, self._name, ids, self._vocabulary, forms, words)

    def _new_part(self) -> PartWriter:
        return self._target.part(self._folder, self._name, LAYER)


def write_column(
    part: PartWriter,
    name: str,
    ids: Ids,
    vocabulary: Vocabulary,
    forms: LayerForms,
    words: PackedArray | None = None,
) -> PartRecord:
    """The stream of a layer, final numbers, into its part, which is sealed.

    `words` are the numbers of the segment's words, if they stand in the same positions: a layer
    that follows from them keeps what each word is in it, and no stream.
    """
    ids = ids.view()
    ids.flags.writeable = False  # as all arrays that kernels see; the caller's stays as it was
    sort, entries = name in forms.sorted_layers, len(vocabulary)
    write_vocabulary(part, "vocabulary", vocabulary)
    size: TableSize = "usual"
    if sort and forms.compact:
        size = "small"
    else:
        bits = bits_for(entries - 1)
        table = None if words is None else _word_table(words, ids)
        if table is not None and table.nbytes < packed_size(len(ids), bits):
            size = "large"  # looking up what a word is takes time, which a larger table saves
            part.column("of_words", "int32")(table)
        else:
            part.pack("ids", ids, bits)
    if sort:
        suffixes = sort_suffixes(ids, entries, threads=forms.threads, table=size)
        if forms.compact:
            write_compressed(part, ids, suffixes.order, entries)
        else:
            part.pack("order", suffixes.order, bits_for(len(ids) - 1))
        part.column("code_lengths", "uint8")(suffixes.lengths)
        part.pack("table", suffixes.table, bits_for(len(ids) - 1))
    return part.seal()


def _word_table(words: PackedArray, ids: Ids) -> NDArray[np.int32] | None:
    """What each word is in a layer; None where the same word is now this, now that."""
    table = np.full(1 << words.bits, -1, np.int32)
    table[END], last = END, END
    for start in range(0, len(ids), _CHUNK):
        there, items = words.slice(start, start + _CHUNK), ids[start : start + _CHUNK]
        new = table[there] < 0
        table[there[new]] = items[new]
        if not np.array_equal(table[there], items):
            return None
        last = max(last, int(there.max()))
    return table[: last + 1]


def read_column(
    part: SegmentPart, document_ends: NDArray[np.int64], words: SegmentPart | None = None
) -> LayerColumn:
    """A layer; `words` is the part that holds the words, for those that follow from them."""
    vocabulary = read_vocabulary(part, "vocabulary")
    ids: ItemStream | CompressedStream
    order: PackedArray | CompressedOrder | None = part.packed.get("order")
    if "chain.blocks" in part.arrays:
        ids, order = open_compressed(part, document_ends)
    elif "of_words" in part.arrays and words is not None:
        ids = ItemStream(words.numbers("ids"), part["of_words"])
    else:
        ids = ItemStream(part.numbers("ids"))
    suffixes = None
    if order is not None:
        # In format 1 the table was not packed.
        plain = "table" in part.arrays
        table = pack(part["table"], order.bits) if plain else part.numbers("table")
        suffixes = Suffixes(order, part["code_lengths"], table)
    return LayerColumn(part.name, ids, vocabulary, suffixes, document_ends)


def write_compressed(
    part: PartWriter, ids: NDArray[np.int32], order: NDArray[np.int32], entries: int
) -> None:
    """Code a stream and its sorted positions; blocks, which may be large, piece by piece."""
    blocks = part.column("chain.blocks", "uint32")
    length, ends = len(ids), np.flatnonzero(ids == 0).astype(np.int32)
    ranks = np.empty(length, np.int32)
    ranks[ends] = np.arange(len(ends), dtype=np.int32)
    ranks[order] = np.arange(len(ends), length, dtype=np.int32)
    rank_bits = bits_for(length - 1)
    samples, begins, begin, marks = [np.empty(0, np.int32)], [], 0, 0
    for start in range(0, length, _CHUNK):
        stop = min(start + _CHUNK, length)
        inner = slice(max(0, start - len(ends)), max(0, stop - len(ends)))
        positions = np.concatenate([ends[start:stop], order[inner]])
        sampled = positions % SAMPLE_STEP == 0
        # Behind the last position stands the first.
        behind = ranks[(positions + 1) % length].astype(np.int64)
        block_begins = np.empty(-(-len(positions) // BLOCK), np.int64)
        out = np.zeros(len(block_begins) * (BLOCK_HEAD + BLOCK) + 1, np.uint32)
        size = encode_blocks(behind, sampled, rank_bits, marks, block_begins, out)
        blocks(out[:size])
        begins.append(block_begins + begin)
        samples.append(positions[sampled] // SAMPLE_STEP)
        begin, marks = begin + size, marks + int(sampled.sum())
    blocks(np.zeros(PADDING // 4, np.uint32))
    firsts = np.concatenate([[0], np.bincount(ids, minlength=entries).cumsum(), [length]])
    marked = np.minimum(np.arange(length // ITEM_STEP + 2) * ITEM_STEP, max(0, length - 1))
    items = np.searchsorted(firsts[1:-1], marked, side="right").clip(0, entries - 1)
    part.column("chain.begins", "uint32")(np.concatenate([*begins, [begin, begin]]))
    part.column("chain.firsts", "uint32")(firsts)
    part.pack("chain.items", items, bits_for(entries - 1))
    sample_bits = bits_for(max(0, length - 1) // SAMPLE_STEP)
    part.pack("chain.samples", np.concatenate(samples), sample_bits)
    part.pack("chain.ranks", ranks[::SAMPLE_STEP], rank_bits)


def open_compressed(
    part: SegmentPart, ends: NDArray[np.int64]
) -> tuple[CompressedStream, CompressedOrder]:
    length = int(ends[-1]) + 1 if len(ends) else 0
    begins, blocks, firsts = (part[f"chain.{name}"] for name in ("begins", "blocks", "firsts"))
    items, samples, ranks = (
        part.numbers(f"chain.{name}") for name in ("items", "samples", "ranks")
    )
    arrays = (begins, blocks, firsts, items.data, samples.data, ranks.data, ends)
    csa = CompressedSuffixArray(
        begins.ctypes.data,
        blocks.ctypes.data,
        firsts.ctypes.data,
        items.data.ctypes.data,
        items.bits,
        samples.data.ctypes.data,
        samples.bits,
        ranks.data.ctypes.data,
        ranks.bits,
        ends.ctypes.data,
        len(ends),
        length,
    )
    stream = CompressedStream(csa, length, arrays, items, samples, ranks)
    return stream, CompressedOrder(csa, length - len(ends), arrays)


def join_ids(columns: Sequence[LayerColumn]) -> tuple[Ids, Vocabulary]:
    """The streams of one layer of several segments as one, with one vocabulary."""
    shared = share_vocabulary(columns)
    tables, vocabulary = shared.up, Vocabulary.of(shared.strings[1:])
    del shared
    ids = np.empty(sum(len(column.ids) for column in columns), np.int32)
    base = 0
    for column, table in zip(columns, tables):
        for start in range(0, len(column.ids), _CHUNK):
            piece = column.ids.slice(start, start + _CHUNK)
            ids[base + start : base + start + len(piece)] = table[piece]
        for array in column.ids.arrays:
            release_pages(array)
        base += len(column.ids)
    return ids, vocabulary


_CHECKED_AT_ONCE = 1 << 20


class _Invalid(Exception):
    """What is wrong, in a few words."""


def validate_segment(segment: Segment, where: str) -> None:
    """Refuse a segment whose columns lead out of each other."""
    try:
        _check_documents(segment.documents)
        for name, positions in segment.positions.items():
            _require(len(positions.document_ends) == len(segment.documents), f"documents of {name}")
            _check_positions(positions, name)
        for column in segment.columns.values():
            _check_column(column, segment)
        if segment.meanings is not None:
            _check_meanings(segment.meanings, segment.positions[WORD])
    except _Invalid as problem:
        raise InputError(
            f"its {problem} make no sense, though the checksums fit: this was not written by rote",
            file=where,
            remedy=RESTORE,
        ) from None


def _check_documents(documents: Documents) -> None:
    count = len(documents)
    for texts, name in ((documents.texts, "texts"), (documents.metas, "metadata")):
        _check_texts(texts, name)
        _require(len(texts) == count, name)
    data, ends = documents.raw_ids
    _check_ends(ends, len(data), "ids of documents")
    for labels, name in ((documents.author, "authors"), (documents.source, "sources")):
        _check_vocabulary(labels.vocabulary, name)
        _check_types(name, (labels.numbers, np.int32))
        _require(len(labels.numbers) == count, name)
        _check_range(labels.numbers, len(labels.vocabulary), name)
    hashes, numbers = documents.hashes
    _check_types("hashes of ids", (hashes, np.uint64), (numbers, np.int32))
    _require(len(hashes) == len(numbers) == count, "hashes of ids")
    _check_range(numbers, count, "hashes of ids")


def _check_texts(texts: CompressedTexts, name: str) -> None:
    _check_ends(texts.offsets, len(texts.data), name)
    _check_types(name, (texts.data, np.uint8), (texts.firsts, np.int64), (texts.ends, np.int64))
    _require(len(texts.offsets) == len(texts.firsts) >= 1, name)
    _require(int(texts.offsets[0]) == int(texts.firsts[0]) == 0, name)
    _check_ends(texts.firsts, int(texts.firsts[-1]), name)
    _require(int(np.diff(texts.firsts).max(initial=0)) <= CHUNK, name)
    if len(texts.ends):
        _require(int(texts.ends[-1]) <= int(texts.firsts[-1]), name)
        _check_ends(texts.ends, int(texts.ends[-1]), name)


def _check_vocabulary(vocabulary: Vocabulary, name: str) -> None:
    _check_ends(vocabulary.ends, len(vocabulary.data), f"strings of {name}")
    _check_types(f"strings of {name}", (vocabulary.data, np.uint8))
    _require(len(vocabulary) >= 1 and int(vocabulary.ends[0]) == 0, f"strings of {name}")


def _check_positions(positions: Positions, name: str) -> None:
    ends, what = positions.document_ends, f"ends of documents in {name}"
    _check_types(what, (ends, np.int64))
    _require(bool((np.diff(ends, prepend=-1) >= 1).all()), what)
    _require(len(positions) <= MAX_POSITIONS, what)
    last = positions.sentence_last
    if last is not None:
        _require((last.length, last.bits) == (len(positions), 1), f"sentences of {name}")
        # Whoever looks for the end of a sentence must find one in the end.
        filled = np.flatnonzero(np.diff(ends, prepend=-1) > 1)
        if len(filled):
            _require(last[int(ends[filled[-1]]) - 1] == 1, f"sentences of {name}")
    _check_spans(positions.spans, len(positions), f"spans of {name}")


def _check_spans(spans: CharacterSpans, positions: int, what: str) -> None:
    odd, odd_gaps, odd_lengths = spans.exceptions
    _check_types(what, (spans.steps, np.uint8), (spans.anchors, np.int32))
    _check_types(what, (odd, np.int32), (odd_gaps, np.int32), (odd_lengths, np.int32))
    _require(len(spans.steps) == positions, what)
    _require(len(spans.anchors) == -(-positions >> STEP_BITS), what)
    _require(len(odd) == len(odd_gaps) == len(odd_lengths), what)
    checked = 0
    for start in range(0, positions, _CHECKED_AT_ONCE):
        there = start + np.flatnonzero(spans.steps[start : start + _CHECKED_AT_ONCE] == EXCEPTION)
        _require(np.array_equal(odd[checked : checked + len(there)], there), what)
        checked += len(there)
    _require(checked == len(odd), what)


def _check_column(column: LayerColumn, segment: Segment) -> None:
    name, ends = column.name, column.document_ends
    _check_vocabulary(column.vocabulary, name)
    if isinstance(column.ids, CompressedStream):
        _check_compressed(column, column.ids)
    elif len(column.ids.table):
        _check_word_table(column.ids, segment.columns[WORD], name)
    first = 0  # of the documents that end from here on
    for start, numbers in _read_chunks(column.ids):
        _check_range(numbers, len(column.vocabulary), f"items of {name}")
        behind = int(np.searchsorted(ends, start + len(numbers)))
        # A 0 stands behind every document and nowhere else: it is what stops a match.
        _require(
            np.array_equal(np.flatnonzero(numbers == 0) + start, ends[first:behind]),
            f"ends of documents in {name}",
        )
        first = behind
    if column.suffixes is not None:
        _check_suffixes(column, column.suffixes)


def _check_meanings(meanings: Meanings, positions: Positions) -> None:
    what = "vectors of sentences"
    _require(positions.sentence_last is not None, what)
    rows = len(sentence_positions(positions).ends)
    for codes in (meanings.signs, meanings.sizes):
        _check_types(what, (codes, np.uint64))
        _require(codes.shape == (rows, code_words(meanings.dimensions)), what)


def _check_compressed(column: LayerColumn, stream: CompressedStream) -> None:
    """Check that all links lead to ranks and positions that there are."""
    what, entries, length = f"links of {column.name}", len(column.vocabulary), len(stream)
    begins, blocks, firsts, *_ = stream.arrays
    _check_types(what, (begins, np.uint32), (blocks, np.uint32), (firsts, np.uint32))
    number = -(-length // BLOCK)
    _require(len(begins) == number + 2 and len(firsts) == entries + 2, what)
    _require(
        len(stream.items) == length // ITEM_STEP + 2
        and len(stream.ranks) == -(-length // SAMPLE_STEP),
        what,
    )
    _require(len(stream.samples) == len(stream.ranks), what)
    starts = begins.astype(np.int64)
    widths = np.diff(starts[:-1]) - BLOCK_HEAD
    _require(bool(((widths >= 0) & (widths <= MAX_BITS)).all()), what)
    _require(int(starts[0]) == 0 and len(blocks) == int(starts[-1]) + PADDING // 4, what)
    _require(int(firsts[0]) == 0 and int(firsts[-1]) == int(firsts[-2]) == length, what)
    _require(bool((firsts[1:] >= firsts[:-1]).all()), what)
    _require(length == 0 or int(firsts[1]) == len(column.document_ends), what)
    marked = np.minimum(np.arange(len(stream.items)) * ITEM_STEP, max(0, length - 1))
    expected = np.searchsorted(firsts[1:-1].astype(np.int64), marked, side="right")
    _require(np.array_equal(stream.items.all(), expected.clip(0, entries - 1)), what)
    _check_range(stream.samples.all(), len(stream.ranks), what)
    _check_range(stream.ranks.all(), length, what)
    sampled = np.ascontiguousarray(blocks[starts[:-2] + 3]).view(np.uint8)
    marks = np.unpackbits(sampled).reshape(-1, BLOCK).sum(axis=1, dtype=np.int64)
    before = np.cumsum(marks) - marks
    _require(np.array_equal(blocks[starts[:-2] + 4], before), what)
    _require(int(marks.sum()) == len(stream.samples), what)
    for start in range(0, length, _CHECKED_AT_ONCE):
        _check_range(stream.links(start, start + _CHECKED_AT_ONCE), length, what)


def _check_word_table(stream: ItemStream, words: LayerColumn, name: str) -> None:
    """The words of a layer that follows from them, and what each is."""
    what, table = f"items of {name}", stream.table
    _check_types(what, (table, np.int32))
    _require(len(table) == len(words.vocabulary), what)
    for _, numbers in _read_chunks(stream.packed):
        _check_range(numbers, len(table), what)


def _check_suffixes(column: LayerColumn, suffixes: Suffixes) -> None:
    what, entries = f"sorted places of {column.name}", len(column.vocabulary)
    lengths = suffixes.lengths
    _check_types(what, (lengths, np.uint8))
    _require(len(suffixes.order) == column.items, what)
    for _, positions in _read_chunks(suffixes.order):
        _check_range(positions, len(column.ids), what)
    _require(len(lengths) == entries, what)
    _require(bool(((lengths >= 1) & (lengths <= MAX_CODE_BITS)).all()), what)
    # Behind its own bits a code is zero: codes are laid side by side.
    _require(not (suffixes.codes() << lengths.astype(np.uint64)).any(), what)
    bits, packed_table = suffixes.table_bits, suffixes.table
    _require(
        MIN_TABLE_BITS <= bits <= MAX_TABLE_BITS and len(packed_table) == (1 << bits) + 1, what
    )
    _require(packed_table.bits == suffixes.order.bits, what)
    table = packed_table.all()
    _require(int(table[0]) == 0 and int(table[-1]) == len(suffixes.order), what)
    _require(bool((table[1:] >= table[:-1]).all()), what)


def _read_chunks(
    packed: PackedArray | ItemStream | CompressedStream | CompressedOrder,
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    for start in range(0, len(packed), _CHECKED_AT_ONCE):
        yield start, packed.slice(start, start + _CHECKED_AT_ONCE)


def _check_ends(ends: NDArray[np.int64], last: int, what: str) -> None:
    """Ascending from 0 on, up to the end of what they part."""
    _check_types(what, (ends, np.int64))
    _require(bool((np.diff(ends, prepend=0) >= 0).all()), what)
    _require((int(ends[-1]) if len(ends) else 0) == last, what)


def _check_range(numbers: NDArray[Any], most: int, what: str) -> None:
    if len(numbers):
        _require(int(numbers.min()) >= 0 and int(numbers.max()) < most, what)


def _check_types(what: str, *columns: tuple[NDArray[Any], Any]) -> None:
    _require(all(column.dtype == kind for column, kind in columns), what)


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise _Invalid(what)
