"""Check once, before anyone reads them, that the columns of a segment can be what they say.

Checksums tell that files are as they were written, not who wrote them. Kernels read without
checking bounds, so everything that leads them somewhere is checked here: numbers that ascend or
stay in range, columns that fit each other. It costs about as much as reading the files. That
suffixes are sorted is not checked, which would cost as much as sorting: kernels stay within the
columns if they are not, and then count wrongly, as anything in a stranger's index may be wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import InputError
from rote.index.columns.compressed_suffix_array import (
    BLOCK,
    BLOCK_HEAD,
    ITEM_STEP,
    SAMPLE_STEP,
    CompressedOrder,
    CompressedStream,
)
from rote.index.columns.layer_column import LayerColumn, Suffixes, Vocabulary
from rote.index.columns.packed_array import MAX_BITS, PADDING, ItemStream, PackedArray
from rote.index.columns.suffix_sort import MAX_CODE_BITS, MAX_TABLE_BITS, MIN_TABLE_BITS
from rote.index.grams import MAX_POSITIONS
from rote.index.segments.documents import CHUNK, CompressedTexts, Documents, Labels
from rote.index.segments.meanings import Meanings, code_words, sentence_positions
from rote.index.segments.part import RESTORE
from rote.index.segments.positions import EXCEPTION, STEP_BITS, CharacterSpans, Positions
from rote.index.segments.segment import WORD, Segment

_CHUNK = 1 << 20


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
            f"its {problem} make no sense, though the checksums fit: rote has not written this",
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
        _check_labels(labels, count, name)
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


def _check_labels(labels: Labels, count: int, name: str) -> None:
    _check_vocabulary(labels.vocabulary, name)
    _check_types(name, (labels.numbers, np.int32))
    _require(len(labels.numbers) == count, name)
    _check_range(labels.numbers, len(labels.vocabulary), name)


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
    for start in range(0, positions, _CHUNK):
        there = start + np.flatnonzero(spans.steps[start : start + _CHUNK] == EXCEPTION)
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
    """A row of whole words for each sentence."""
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
    for start in range(0, length, _CHUNK):
        _check_range(stream.links(start, start + _CHUNK), length, what)


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
    for start in range(0, len(packed), _CHUNK):
        yield start, packed.slice(start, start + _CHUNK)


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
