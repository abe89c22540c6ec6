"""Meanings: a vector for each sentence of a segment, in two bits for each of its numbers.

A vector is turned first, by signs and Hadamard matrices that are the same for all, so that its
numbers are about alike whichever embedder made it. The *signs* are the coarse code: sentences are
near in it where few differ, which one pass over all of them finds, exactly, without a graph. The
*sizes* say which numbers are large; both bits together are the best two bits for a normal
distribution (Lloyd 1982), and give the cosine with a query's own vector to about 0.02.

Codes of segments are joined by writing one behind the other, and no answer depends on how they
are cut up: near are the sentences of the whole index whose signs differ least, ties included, in
the order of their similarity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import shake_128
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from rote.annotate.embeddings import Embedder
from rote.core.errors import InputError, OptionError
from rote.core.kernels import njit
from rote.core.progress import Reporter, Silent
from rote.index.columns.intrinsics import count_ones
from rote.index.segments.documents import Documents
from rote.index.segments.part import MEANINGS, RESTORE, PartRecord, SegmentPart, Target
from rote.index.segments.positions import Positions

Vectors = NDArray[np.float32]
Words = NDArray[np.uint64]

_WORD_BITS = 64
# Four values that stand for a normal distribution, as whole numbers in their proportion; what parts
# them; and the cosine of a vector and its code.
SMALL, LARGE = 3, 10
_BOUND = 0.9816
_FIDELITY = 0.9394
_QUERY_UNIT = 8192
"""The length of a query's vector in whole numbers."""
_TEXTS_AT_ONCE = 4096


@dataclass(frozen=True, slots=True)
class Meanings:
    """The codes of a segment's sentences, a row for each."""

    signs: Words
    sizes: Words
    dimensions: int

    def __len__(self) -> int:
        return len(self.signs)


@dataclass(frozen=True, slots=True)
class SentencePositions:
    """The first position of each sentence of a segment, and the one behind its last."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


def sentence_positions(positions: Positions) -> SentencePositions:
    """Where the sentences of a segment stand in the stream of its words."""
    if positions.sentence_last is None:
        raise OptionError(
            "the index has no sentence boundaries, so it has no meanings: its annotator marks none"
        )
    ends = positions.document_ends
    last = np.flatnonzero(positions.sentence_last.all())
    first_of_document = np.concatenate([np.zeros(1, np.int64), ends[:-1] + 1])[: len(ends)]
    after_the_last = np.concatenate([np.zeros(1, np.int64), last[:-1] + 1])[: len(last)]
    starts = np.maximum(first_of_document[positions.document_of(last)], after_the_last)
    return SentencePositions(starts, last + 1)


def write_meanings(
    target: Target,
    positions: Positions,
    documents: Documents,
    embedder: Embedder,
    *,
    folder: str = MEANINGS,
    reporter: Reporter | None = None,
) -> PartRecord:
    part = target.part(folder, MEANINGS, MEANINGS)
    signs, sizes = part.column("signs", "uint64"), part.column("sizes", "uint64")
    count = len(sentence_positions(positions).ends)
    with (reporter or Silent()).stage("embedding sentences", count) as advance:
        strings = sentence_texts(positions, documents)
        for texts in iter(lambda: list(islice(strings, _TEXTS_AT_ONCE)), []):
            codes = encode(embedder(texts))
            signs(codes.signs.reshape(-1))
            sizes(codes.sizes.reshape(-1))
            advance(len(texts))
    part.column("dimensions", "int64")(np.array([embedder.dimensions], np.int64))
    return part.seal()


def copy_meanings(
    target: Target, parts: Sequence[tuple[Meanings, NDArray[np.bool_] | None]]
) -> PartRecord:
    """Codes that are there, one behind the other; of each segment all rows, or those to keep."""
    part = target.part(MEANINGS, MEANINGS, MEANINGS)
    signs, sizes = part.column("signs", "uint64"), part.column("sizes", "uint64")
    for meanings, keep in parts:
        rows = slice(None) if keep is None else keep
        signs(meanings.signs[rows].reshape(-1))
        sizes(meanings.sizes[rows].reshape(-1))
    part.column("dimensions", "int64")(np.array([parts[0][0].dimensions], np.int64))
    return part.seal()


def read_meanings(part: SegmentPart) -> Meanings:
    dimensions = part["dimensions"]
    if len(dimensions) != 1 or not 0 < int(dimensions[0]) < 1 << 20:
        raise InputError("its vectors have no length", file=part.where, remedy=RESTORE)
    width = code_words(int(dimensions[0]))
    signs, sizes = part["signs"], part["sizes"]
    if len(signs) % width or len(signs) != len(sizes):
        raise InputError("its codes do not match", file=part.where, remedy=RESTORE)
    return Meanings(signs.reshape(-1, width), sizes.reshape(-1, width), int(dimensions[0]))


def sentence_texts(positions: Positions, documents: Documents) -> Iterator[str]:
    """The text of each sentence, with single spaces."""
    if positions.spans is None:
        raise OptionError("this index contains only numbers, so there is no text to embed")
    sentences = sentence_positions(positions)
    holders = positions.document_of(sentences.starts)
    number, text = -1, ""
    for first in range(0, len(holders), _TEXTS_AT_ONCE):
        some = slice(first, first + _TEXTS_AT_ONCE)
        starts = positions.spans.spans(sentences.starts[some])[0].tolist()
        ends = positions.spans.spans(sentences.ends[some] - 1)[1].tolist()
        for holder, start, end in zip(holders[some].tolist(), starts, ends):
            if holder != number:
                number, text = holder, documents.text(holder)
            yield " ".join(text[start:end].split())


def code_words(dimensions: int) -> int:
    """How many 64-bit words one bit of each number takes."""
    return -(-dimensions // _WORD_BITS)


def turn(vectors: Vectors) -> Vectors:
    """The vectors in other coordinates, padded to whole words of bits: cosines stay.

    Single precision, added in one order: the same bits on every machine.
    """
    width = code_words(vectors.shape[1]) * _WORD_BITS
    block = width & -width
    turned = np.zeros((len(vectors), width), np.float32)
    turned[:, : vectors.shape[1]] = vectors
    for signs in _signs(width):
        turned *= signs
        half = 1
        while half < block:
            pairs = turned.reshape(len(turned), width // (2 * half), 2, half)
            left, right = pairs[:, :, 0], pairs[:, :, 1]
            turned = np.stack([left + right, left - right], axis=2).reshape(len(turned), width)
            half *= 2
        turned *= np.float32(1 / np.sqrt(block))
        # What stood side by side in a block is spread over all of them.
        blocks = turned.reshape(len(turned), width // block, block)
        turned = blocks.transpose(0, 2, 1).reshape(len(turned), width)
    return np.ascontiguousarray(turned)


@cache
def _signs(width: int) -> Vectors:
    data = np.frombuffer(shake_128(b"rote meanings").digest(2 * width // 8), np.uint8)
    return np.where(np.unpackbits(data), 1, -1).astype(np.float32).reshape(2, width)


def encode(vectors: Vectors) -> Meanings:
    turned = turn(np.asarray(vectors, np.float32))
    width = code_words(vectors.shape[1])
    bound = np.float32(_BOUND / np.sqrt(turned.shape[1]))
    signs, sizes = (
        np.packbits(bits, axis=1, bitorder="little")
        .view("<u8")
        .astype(np.uint64)
        .reshape(-1, width)
        for bits in (turned >= 0, np.abs(turned) > bound)
    )
    return Meanings(signs, sizes, vectors.shape[1])


@dataclass(frozen=True, slots=True)
class MeaningQuery:
    """Vectors that are looked for: their signs, and their numbers in whole numbers."""

    signs: Words
    numbers: NDArray[np.int32]

    @classmethod
    def of(cls, vectors: Vectors) -> MeaningQuery:
        turned = turn(np.asarray(vectors, np.float32))
        return cls(encode(vectors).signs, np.rint(turned * _QUERY_UNIT).astype(np.int32))


def count_candidates(k: int) -> int:
    """How many sentences are looked at closely for the k nearest."""
    return max(2000, 20 * k)


def find_nearest(
    segments: Sequence[Meanings], query: MeaningQuery, number: int, k: int
) -> tuple[Vectors, NDArray[np.int64]]:
    """The k sentences most similar to one query, of all segments: similarities, numbers over all
    segments.

    Equal similarities are in the order of the sentences.
    """
    signs, numbers = query.signs[number], query.numbers[number]
    distances, counts = [], np.zeros(signs.size * _WORD_BITS + 1, np.int64)
    for meanings in segments:
        of_segment = np.empty(len(meanings), np.uint16)
        _measure(meanings.signs, signs, of_segment, counts)
        distances.append(of_segment)
    reached = np.flatnonzero(np.cumsum(counts) >= min(count_candidates(k), counts.sum()))
    most = int(reached[0])
    all_rows, all_similarities, base = [], [], 0
    for meanings, of_segment in zip(segments, distances):
        rows = np.flatnonzero(of_segment <= most)
        similarities = np.empty(len(rows), np.float32)
        _estimate(meanings.signs, meanings.sizes, rows, numbers, similarities)
        all_rows.append(rows + base)
        all_similarities.append(similarities)
        base += len(meanings)
    rows, similarities = np.concatenate(all_rows), np.concatenate(all_similarities)
    order = np.lexsort((rows, -similarities))[:k]
    return similarities[order], rows[order]


@njit(cache=True, nogil=True)
def _measure(
    signs: Words, query: Words, distances: NDArray[np.uint16], counts: NDArray[np.int64]
) -> None:
    """In how many signs each row differs from the query, and how many rows differ in so many."""
    for row in range(len(signs)):
        distance = 0
        for word in range(len(query)):
            distance += count_ones(signs[row, word] ^ query[word])
        distances[row] = distance
        counts[distance] += 1


@njit(cache=True, nogil=True)
def _estimate(
    signs: Words,
    sizes: Words,
    rows: NDArray[np.int64],
    query: NDArray[np.int32],
    similarities: Vectors,
) -> None:
    """The cosine of the query and what each row stands for."""
    width = signs.shape[1]
    for place in range(len(rows)):
        row = rows[place]
        total, large = np.int64(0), 0
        for word in range(width):
            sign, size = signs[row, word], sizes[row, word]
            large += count_ones(size)
            for bit in range(_WORD_BITS):
                value = SMALL + (LARGE - SMALL) * np.int64((size >> np.uint64(bit)) & np.uint64(1))
                if (sign >> np.uint64(bit)) & np.uint64(1):
                    total += value * query[word * _WORD_BITS + bit]
                else:
                    total -= value * query[word * _WORD_BITS + bit]
        square = SMALL * SMALL * (width * _WORD_BITS - large) + LARGE * LARGE * large
        length = np.sqrt(np.float64(square)) * _QUERY_UNIT * _FIDELITY
        similarities[place] = min(1.0, max(-1.0, total / length))
