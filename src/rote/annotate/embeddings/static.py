"""Static vectors of English words, and of sentences as the sums of their words: the embedder
`static`.

Each word was read once by all-MiniLM-L6-v2 by itself (`training/static_vectors.py`). What all
words share was taken away, and a word counts the less the more frequent it is (Arora et al.
2017). No model runs, so a sentence costs microseconds: a sieve before a better embedder, and the
neighbours of a word in a query.

Rows are whole numbers and sums of them are exact, so a vector has the same bits on every machine.
A word without a row of its own is the mean of its word pieces, cut as MiniLM cuts them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import blake2b
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rote.annotate import words
from rote.annotate._weights import load as load_weights
from rote.annotate.embeddings import Batches, Flags, Vectors
from rote.annotate.embeddings.minilm import vocabulary as read_pieces
from rote.annotate.glyphs import fold
from rote.core.errors import OptionError
from rote.core.kernels import njit
from rote.core.layer import Offsets
from rote.core.progress import Reporter, Silent

VERSION = "1"
DIMENSIONS = 256
CACHED = False
"""Vectors are computed faster than they are read from disk."""
UNIT = 512
"""The length of a quantized vector, which is cut at 127."""
_RAREST = 255
"""The weight of a word that is hardly ever used."""
_PARTS = re.compile(r"[^\W_]+")
Rows = NDArray[np.int16]
Sums = NDArray[np.int64]


class WordTable:
    """The words that have a row, with their numbers, rows and weights."""

    def __init__(self) -> None:
        arrays, _ = load_weights("static")
        pieces = read_pieces()
        extra = arrays["words"].tobytes().decode("utf-8").split("\n")
        self.pieces = {piece: number for number, piece in enumerate(pieces)}
        """Word pieces; those inside of a word begin with ##."""
        self.numbers = {word: number for word, number in self.pieces.items() if word[:2] != "##"}
        self.numbers |= {word: number for number, word in enumerate(extra, len(pieces))}
        self.rows: NDArray[np.int8] = arrays["rows"]
        """One direction for each number."""
        self.weights: NDArray[np.uint8] = arrays["weights"]
        state = blake2b(digest_size=4)
        for array in (arrays["words"], self.rows, self.weights):
            state.update(array.tobytes())
        self.signature = f"static/{VERSION}/{state.hexdigest()}"
        self.is_word = np.zeros(len(self.rows), np.bool_)
        """Which rows are of whole words that are more than marks."""
        self.is_word[list(self.numbers.values())] = True
        self.is_word &= self.weights > 0
        self._parts: dict[str, Rows] = {}

    @cached_property
    def lengths(self) -> NDArray[np.float64]:
        """Of the rows, about 64; rounding made them differ a little."""
        lengths: NDArray[np.float64] = np.sqrt((self.rows.astype(np.int32) ** 2).sum(axis=1))
        return lengths

    @cached_property
    def weighted(self) -> Rows:
        return self.rows.astype(np.int16) * self.weights[:, None].astype(np.int16)

    def find(self, strings: Sequence[str]) -> NDArray[np.int32]:
        """The number of each string that has a row of its own, -1 for others."""
        numbers = self.numbers
        return np.array([numbers.get(normalize(string), -1) for string in strings], np.int32)

    def join_parts(self, string: str) -> Rows:
        """The row of a string without one: the sum of its parts, each a word or word pieces."""
        string = normalize(string)
        row = self._parts.get(string)
        if row is None:
            total = np.zeros(DIMENSIONS, np.int32)
            for part in _PARTS.findall(string):
                number = self.numbers.get(part)
                total += self._mean_pieces(part) if number is None else self.weighted[number]
            row = np.clip(total, -32767, 32767).astype(np.int16)
            if len(self._parts) < 1 << 16:
                self._parts[string] = row
        return row

    def _mean_pieces(self, word: str) -> NDArray[np.int32]:
        numbers = self.cut(word)
        if not numbers:
            return np.zeros(DIMENSIONS, np.int32)
        mean = self.rows[numbers].sum(axis=0, dtype=np.int32) / len(numbers)
        row: NDArray[np.int32] = np.rint(mean * _RAREST).astype(np.int32)
        return row

    def cut(self, word: str) -> list[int]:
        """The word pieces of a word, the longest first; none if a character is unknown."""
        numbers, start = [], 0
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(len(word), start, -1):
                number = self.pieces.get(prefix + word[start:end])
                if number is not None:
                    break
            else:
                return []
            numbers.append(number)
            start = end
        return numbers


@cache
def table() -> WordTable:
    return WordTable()


def normalize(string: str) -> str:
    """A word as MiniLM reads it: in plain glyphs, lower case, without accents.

    >>> normalize("Café")
    'cafe'
    """
    if string.isascii():
        return string.lower()
    plain = unicodedata.normalize("NFD", fold(string).lower())
    return "".join(character for character in plain if unicodedata.category(character) != "Mn")


def weighted_rows(vocabulary: Sequence[str]) -> Rows:
    """A row for each string of a layer's vocabulary, by its weight; marks have zeros."""
    known = table()
    numbers = known.find(vocabulary)
    rows = known.weighted[numbers]
    for place in np.flatnonzero(numbers < 0).tolist():
        rows[place] = known.join_parts(vocabulary[place])
    return rows


NEAR = 0.5
"""The cosine from which on two words are neighbours."""
_NEIGHBOURS = 50


def find_neighbours(word: str) -> dict[int, float]:
    """The rows of the words nearest in meaning, itself among them, and their cosines.

    At most 50, the nearest first; none for a mark.
    """
    known = table()
    numbers = known.find([word])
    row = known.rows[numbers[0]] if numbers[0] >= 0 else weighted_rows([word])[0]
    products = np.zeros(len(known.rows), np.int32)
    _multiply(known.rows, row.astype(np.int32), products)
    length = np.sqrt(float((row.astype(np.int64) ** 2).sum()))
    cosines = np.where(known.is_word, products / np.maximum(known.lengths * length, 1), 0)
    near = np.flatnonzero(cosines >= NEAR)
    order = near[np.lexsort((near, -cosines[near]))][:_NEIGHBOURS]
    return dict(zip(order.tolist(), cosines[order].tolist()))


@njit(cache=True, nogil=True)
def sum_spans(rows: Rows, ids: NDArray[Any], starts: Offsets, ends: Offsets) -> Sums:
    width = rows.shape[1]
    sums = np.zeros((len(starts), width), np.int64)
    for span in range(len(starts)):
        for place in range(starts[span], ends[span]):
            row = ids[place]
            for column in range(width):
                sums[span, column] += rows[row, column]
    return sums


def unit(sums: Sums) -> Vectors:
    """Vectors of length one; a row of zeros stays what it is."""
    vectors = np.empty(sums.shape, np.float32)
    _scale(sums, np.inf, 1.0, vectors)
    return vectors


def quantize(sums: Sums) -> NDArray[np.int8]:
    """Vectors of length `UNIT` in whole numbers: products of two over `UNIT ** 2` are cosines."""
    vectors = np.empty(sums.shape, np.float32)
    _scale(sums, 127.0, float(UNIT), vectors)
    return np.rint(vectors).astype(np.int8)


@dataclass(frozen=True, slots=True)
class Static:
    """The embedder: a text is the sum of its words."""

    name: ClassVar[str] = "static"
    dimensions: ClassVar[int] = DIMENSIONS
    english: ClassVar[bool] = True

    @property
    def signature(self) -> str:
        return f"{table().signature}/{words.get().signature}"

    def check(self) -> None:
        """Nothing is needed that could be missing."""

    def cut(self, texts: Sequence[str]) -> Flags:
        return np.zeros(len(texts), np.bool_)

    def __call__(self, texts: Sequence[str], reporter: Reporter | None = None) -> Vectors:
        layer = words.get()(texts)
        with (reporter or Silent()).stage("embedding", len(texts)) as advance:
            rows = weighted_rows(layer.vocabulary)
            vectors = unit(sum_spans(rows, layer.ids, layer.text_starts, layer.text_ends))
            advance(len(texts))
        return vectors

    def batches(self, texts: Sequence[str], reporter: Reporter) -> Batches:
        if texts:
            yield list(range(len(texts))), self(texts, reporter)


def embedder(rest: str) -> Static:
    if rest:
        raise OptionError(
            f"the embedder 'static' has no variants, so 'static:{rest}' does not exist"
        )
    return Static()


@njit(cache=True, nogil=True)
def _multiply(rows: NDArray[np.int8], row: NDArray[np.int32], products: NDArray[np.int32]) -> None:
    for place in range(len(rows)):
        total = np.int32(0)
        for column in range(rows.shape[1]):
            total += np.int32(rows[place, column]) * row[column]
        products[place] = total


@njit(cache=True, nogil=True)
def _scale(sums: Sums, highest: float, length: float, vectors: Vectors) -> None:
    """Rows of a length; squares are added as whole numbers, so their order does not matter."""
    for span in range(len(sums)):
        most = np.int64(0)
        for column in range(sums.shape[1]):
            most = max(most, abs(sums[span, column]))
        shift = 0
        while most >> shift >= 1 << 26:
            shift += 1
        square = np.int64(0)
        for column in range(sums.shape[1]):
            number = sums[span, column] >> shift
            square += number * number
        norm = np.sqrt(np.float64(square)) if square else 1.0
        for column in range(sums.shape[1]):
            value = np.float64(sums[span, column] >> shift) * length / norm
            vectors[span, column] = min(highest, max(-highest, value))
