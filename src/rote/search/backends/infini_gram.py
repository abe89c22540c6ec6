"""Counts by a folder of infini-gram (Liu et al. 2024), read as it is.

A shard is three files: `tokenized.S`, the documents' tokens as little-endian numbers of 1, 2 or 4
bytes, each document behind a separator (all bits set); `table.S`, the suffix array, one pointer
for each token, as many bytes as the size of `tokenized.S` needs; `offset.S`, where each document
begins, 8 bytes each. Nothing says how wide a token is, but the three sizes leave one possibility.
Files are mapped, not read. Indexes of version 5 hold their documents backwards: a folder whose
name begins with `v5` is asked for the n-grams backwards.

Suffixes are in the order of their bytes, not of their tokens' numbers: of tokens of two bytes, 256
(00 01) comes before 1 (01 00).

**Tokens as numbers.** A layer holds the tokenizer's own strings, each of which has one number in
the tokenizer.json; so n-grams travel as they do everywhere, and become numbers where they are
counted. With `ids` texts are numbers already: `"5613 4086 9068"`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.annotate import words
from rote.core.arrays import Array
from rote.core.errors import InputError, OptionError
from rote.core.files import open_regular
from rote.core.kernels import njit
from rote.core.layer import Layer
from rote.core.progress import Reporter
from rote.index.grams import Counts, Grams
from rote.search.backends import BackendOptions, backend_signature

IDS = "ids"
UNKNOWN = -1
"""Of a token that has no number: it stands nowhere."""


@dataclass(frozen=True, slots=True)
class TokenIds:
    """A tokenizer by the path of its tokenizer.json, or `ids`."""

    path: str
    signature: str

    def layer(self, texts: Sequence[str]) -> Layer:
        if self.path != IDS:
            return words.get(self.path)(texts)
        layer = words.get("whitespace")(texts)
        words_of = layer.vocabulary
        wrong = next((w for w in words_of if not (w.isascii() and w.isdigit())), None)
        if wrong is not None:
            raise InputError(
                f"{wrong!r} is not a token id",
                remedy="With --tokenizer ids texts are token ids separated by spaces; other texts "
                "need the tokenizer.json of the index",
            )
        return layer

    def numbers(self, vocabulary: Sequence[str]) -> NDArray[np.int64]:
        if self.path == IDS:
            numbers = [int(token) for token in vocabulary]
        else:
            from rote.annotate.words.subwords import load

            known = load(self.path).token_to_id
            numbers = [UNKNOWN if (i := known(token)) is None else i for token in vocabulary]
        return np.array(numbers, np.int64).reshape(len(vocabulary))


def token_ids(tokenizer: str | None, corpus: str) -> TokenIds:
    """The tokenizer that was given; an index of numbers says nothing of its own."""
    if tokenizer is None:
        raise OptionError(
            f"{corpus} contains token ids: name the tokenizer.json that made them with --tokenizer "
            "(or ids, if the texts are token ids)"
        )
    if tokenizer == IDS:
        return TokenIds(IDS, IDS)
    return TokenIds(tokenizer, words.get(tokenizer).signature)


NAME = "infini-gram"
WIDTHS = (1, 2, 4)
_TEXT, _TABLE, _OFFSET = "tokenized", "table", "offset"
_BACKWARDS = "v5"
_PIECE = 10_000
"""N-grams that a thread looks up before the next piece of progress."""
_OCCURRENCES = 1 << 22
"""Occurrences whose documents are looked up at a time."""
_HASHED = 1 << 20
_AS_BUILT = "Copy the folder again, or build it again with infini_gram.indexing"

Bytes = NDArray[np.uint8]


def accepts(corpus: str) -> bool:
    return next(_shards(Path(corpus)), None) is not None


def opened(corpus: str, options: BackendOptions, reporter: Reporter) -> InfiniGram:
    path = Path(corpus)
    shards = tuple(_open_shard(path, end) for end in sorted(_shards(path)))
    widths = {shard.token for shard in shards}
    if len(widths) > 1:
        raise InputError(
            f"tokens are {' and '.join(map(str, sorted(widths)))} bytes wide in different shards",
            file=corpus,
            remedy=_AS_BUILT,
        )
    return InfiniGram(
        shards=shards,
        ids=token_ids(options.tokenizer, corpus),
        index=f"{path.resolve().name}={_index_digest(shards)}",
        count=options.count,
        backwards=path.resolve().name.startswith(_BACKWARDS),
        jobs=options.jobs,
    )


@dataclass(frozen=True)
class InfiniGramShard:
    """The files of one shard, mapped; `token` and `pointer` are their widths in bytes."""

    text: Bytes
    table: Bytes
    offsets: NDArray[np.uint64]
    token: int
    pointer: int


@dataclass(frozen=True)
class InfiniGram:
    shards: tuple[InfiniGramShard, ...]
    ids: TokenIds
    index: str
    count: str = "occurrences"
    backwards: bool = False
    jobs: int = 1
    name: str = NAME

    @property
    def tokenizer(self) -> str:
        return self.ids.signature

    @cached_property
    def signature(self) -> str:
        return backend_signature(self.name, self.tokenizer, self.index, self.count)

    def tokenize(self, texts: Sequence[str], reporter: Reporter) -> Layer:
        return self.ids.layer(texts)

    def counts(self, grams: Grams, reporter: Reporter) -> Counts:
        queries, sizes, known = self._queries(grams)
        total = np.zeros(len(grams), np.int64)
        ends = np.concatenate(([0], np.cumsum(sizes)))
        bounds = [*range(0, len(grams), _PIECE), len(grams)]
        # Most of the time goes into waiting for the disk: threads wait at the same time.
        with (
            reporter.stage("counting", len(grams), "n-grams") as advance,
            ThreadPoolExecutor(self.jobs) as pool,
        ):

            def piece(bound: tuple[int, int]) -> tuple[int, int, Counts]:
                first, last = bound
                part = queries[ends[first] : ends[last]]
                counts = sum(
                    (self._count_in_shard(shard, part, sizes[first:last]) for shard in self.shards),
                    np.zeros(last - first, np.int64),
                )
                return first, last, counts

            for first, last, counts in pool.map(piece, pairwise(bounds)):
                total[first:last] = counts
                advance(last - first)
        return np.where(known, total, 0)

    def _queries(self, grams: Grams) -> tuple[Bytes, NDArray[np.int64], NDArray[np.bool_]]:
        """All n-grams as bytes, their sizes, and which of them consist of known tokens."""
        width = self.shards[0].token
        numbers = self.ids.numbers(grams.vocabulary)
        # The largest number is the separator's.
        possible = (numbers >= 0) & (numbers < 2 ** (8 * width) - 1)
        ids = grams.ids
        if self.backwards:
            starts = np.concatenate(([0], grams.ends[:-1]))[: len(grams)]
            sizes = np.diff(grams.ends, prepend=0)
            mirrored = np.repeat(starts + grams.ends - 1, sizes) - np.arange(len(ids))
            ids = ids[mirrored]
        tokens = np.where(possible, numbers, 0).astype(f"<u{width}")
        positions = np.concatenate(([0], np.cumsum(~possible[grams.ids])))
        lengths = np.diff(grams.ends, prepend=0)
        unknown = positions[grams.ends] - positions[grams.ends - lengths]
        return tokens[ids].view(np.uint8), lengths * width, unknown == 0

    def _count_in_shard(
        self, shard: InfiniGramShard, queries: Bytes, sizes: NDArray[np.int64]
    ) -> Counts:
        ranks = _search_ranks(shard.text, shard.table, shard.pointer, queries, sizes)
        if self.count == "documents":
            document_counts = [_count_documents(shard, low, high) for low, high in ranks.tolist()]
            return np.array(document_counts, np.int64)
        return np.asarray(ranks[:, 1] - ranks[:, 0])


def _count_documents(shard: InfiniGramShard, low: int, high: int) -> int:
    """In how many documents the suffixes of these ranks begin."""
    if high - low < 2:
        return high - low
    holders = np.empty(0, np.int64)
    for first in range(low, high, _OCCURRENCES):
        positions = _read_pointers(
            shard.table, shard.pointer, first, min(first + _OCCURRENCES, high)
        )
        documents = np.searchsorted(shard.offsets, positions.astype(np.uint64), side="right")
        holders = np.union1d(holders, documents)
    return len(holders)


def _shards(path: Path) -> Iterator[str]:
    """How the names of each shard's files end."""
    if path.is_dir():
        for file in path.glob(f"{_TEXT}*"):
            end = file.name.removeprefix(_TEXT)
            if (not end or end[0] == ".") and (path / f"{_TABLE}{end}").is_file():
                yield end


def _open_shard(path: Path, end: str) -> InfiniGramShard:
    text, table = (_map_file(path / f"{part}{end}", np.uint8) for part in (_TEXT, _TABLE))
    offsets = _map_file(path / f"{_OFFSET}{end}", np.dtype("<u8"))
    # Bytes of a pointer: as many as its largest value needs.
    pointer = max(1, -(-(len(text) - 1).bit_length() // 8))
    fitting = [
        width
        for width in WIDTHS
        if len(text) % width == 0 and len(table) == len(text) // width * pointer
    ]
    if not fitting:
        raise InputError(
            f"has {len(table):,} bytes, and no width of tokens fits {_TEXT}{end} "
            f"({len(text):,} bytes)",
            file=str(path / f"{_TABLE}{end}"),
            remedy=_AS_BUILT,
        )
    token = fitting[0]
    if not (text[:token] == 0xFF).all():
        raise InputError(
            "does not begin with the separator of documents",
            file=str(path / f"{_TEXT}{end}"),
            remedy=_AS_BUILT,
        )
    return InfiniGramShard(text, table, offsets, token, pointer)


def _map_file(path: Path, kind: Any) -> NDArray[Any]:
    try:
        with open_regular(path) as file:
            return np.asarray(np.memmap(file, kind, mode="r"))
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot be mapped ({why})", file=str(path), remedy=_AS_BUILT) from None


def _index_digest(shards: Sequence[InfiniGramShard]) -> str:
    """Content by its sizes and beginnings: reading terabytes for a name would take hours."""
    digest = blake2b(digest_size=6)
    for shard in shards:
        digest.update(len(shard.text).to_bytes(8, "little"))
        digest.update(shard.text[:_HASHED].tobytes())
        digest.update(shard.offsets[: _HASHED // 8].tobytes())
    return digest.hexdigest()


Integer: TypeAlias = "int | np.integer[Any]"


@njit(cache=True, nogil=True, inline="always")
def _pointer(table: Array, rank: int, width: int) -> Integer:
    """Where the suffix of this rank begins."""
    position = np.int64(0)
    for byte in range(width):
        position |= np.int64(table[rank * width + byte]) << (8 * byte)
    return position


@njit(cache=True, nogil=True, inline="always")
def _compare(text: Array, position: Integer, query: Array, first: int, last: int) -> int:
    """-1 where the suffix comes before the query, 0 where it begins with it, 1 behind it."""
    for step in range(last - first):
        if position + step >= len(text):
            return -1
        if text[position + step] != query[first + step]:
            return -1 if text[position + step] < query[first + step] else 1
    return 0


@njit(cache=True, nogil=True)
def _search_ranks(text: Array, table: Array, width: int, queries: Array, length: Array) -> Array:
    """For each query of `length` bytes, one after another, the first rank and the one behind."""
    ranks = np.zeros((len(length), 2), np.int64)
    entries = len(table) // width
    first = 0
    for q in range(len(length)):
        last = first + length[q]
        for side in range(2):
            # The ranks below `low` come before the answer, `high` and all behind do not.
            low = ranks[q, 0] if side else 0
            high = entries
            while low < high:
                middle = (low + high) // 2
                order = _compare(text, _pointer(table, middle, width), queries, first, last)
                if order < 0 or (side and order == 0):
                    low = middle + 1
                else:
                    high = middle
            ranks[q, side] = low
        first = last
    return ranks


@njit(cache=True, nogil=True)
def _read_pointers(table: Array, width: int, low: int, high: int) -> Array:
    """Where the suffixes of these ranks begin."""
    positions = np.empty(high - low, np.int64)
    for rank in range(low, high):
        positions[rank - low] = _pointer(table, rank, width)
    return positions
