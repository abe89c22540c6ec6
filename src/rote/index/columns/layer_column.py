"""One layer of one segment, in memory or mapped: the stream of items, its vocabulary, its suffixes.

**The stream.** The items of all documents are in one row, and every document, an empty one too,
is followed by one 0: number 0 is the document's end and no item. So a run of items that crosses a
document's end holds a 0, no query does, and no match can cross it. A *position* is an index into
the stream. Layers that align (word, lower, pos, ...) share positions.

**Numbers follow the strings.** Items are numbered from 1 in the order of their strings, so
sorted suffixes are in the order of their strings too, whatever the segment. Where numbers of
several segments have to meet, they share one vocabulary (`share_vocabulary`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import InputError
from rote.index.columns.compressed_suffix_array import CompressedOrder, CompressedStream, decompress
from rote.index.columns.packed_array import Bytes, ItemStream, PackedArray
from rote.index.grams import ABSENT


def decode_string(data: bytes) -> str:
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise InputError(f"a string of the index is damaged: {data[:40]!r}") from None


# Halving for one string costs about as much as reading this many in a row.
_FEW = 50
_REMEMBERED = 1 << 16


class Vocabulary(Sequence[str]):
    """Distinct strings in order; `vocabulary[0]` is the document's end, items begin at 1.

    Strings lie in one row of UTF-8 (lone surrogates passed through) and are found by halving,
    so that opening costs nothing; those asked for are remembered.
    """

    def __init__(self, data: Bytes, ends: NDArray[np.int64]) -> None:
        self.data = data
        """All strings in one row."""
        self.ends = ends
        """`ends[i]` is where string i ends in `data`; string 0 is empty."""
        self.known: dict[str, int] = {}
        """What was looked up before; ABSENT strings too, as many as there are entries."""
        self._all_known = False
        self._last: tuple[Sequence[str], NDArray[np.int32]] = ((), np.empty(0, np.int32))

    @classmethod
    def of(cls, strings: Iterable[str]) -> Vocabulary:
        """From distinct strings in order, without the document's end."""
        encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
        ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
        data = np.frombuffer(b"".join(encoded), np.uint8)
        return cls(data, ends)

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        if not 0 <= i < len(self):
            raise IndexError(i)
        return decode_string(self._raw(i))

    def strings(self) -> list[str]:
        """All entries at once, far faster than one by one."""
        data, ends = self.data.tobytes(), self.ends.tolist()
        return [""] + [decode_string(data[start:end]) for start, end in pairwise(ends)]

    def find(self, item: str) -> int:
        number = self.known.get(item)
        if number is None:
            wanted = item.encode("utf-8", "surrogatepass")
            number = bisect_left(range(len(self)), wanted, 1, key=self._raw)
            if number >= len(self) or self._raw(number) != wanted:
                number = ABSENT
            if number != ABSENT or len(self.known) < 2 * len(self) + _FEW:
                self.known[item] = number
        return number

    def numbers(self, items: Sequence[str]) -> NDArray[np.int32]:
        """The number of each of many items, ABSENT for those that it does not hold.

        A text asks for its words several times in a row: those asked for last are remembered.
        """
        last, numbers = self._last
        if items is last:
            return numbers
        numbers = self._numbers(items)
        numbers.flags.writeable = False
        if isinstance(items, tuple) and len(items) <= _REMEMBERED:
            self._last = items, numbers
        return numbers

    def _numbers(self, items: Sequence[str]) -> NDArray[np.int32]:
        if len(items) * _FEW > len(self) and not self._all_known:
            # Reading everything once is cheaper than halving for each.
            self.known.update(zip(self.strings()[1:], range(1, len(self))))
            self._all_known = True
        if self._all_known:
            return np.array([self.known.get(item, ABSENT) for item in items], np.int32)
        return np.array([self.find(item) for item in items], np.int32)

    def _raw(self, i: int) -> bytes:
        start = int(self.ends[i - 1]) if i else 0
        return self.data[start : int(self.ends[i])].tobytes()


@dataclass(frozen=True, slots=True)
class Suffixes:
    """All positions that hold an item, sorted by what follows them up to the document's end.

    A prefix code over the numbers keeps their order: the code of number t is the top
    `lengths[t]` bits of `codes()[t]`, the rest is zero. The code of a run of items is their
    codes one behind the other. `table[b]` says how many suffixes have a code whose top bits are
    below b, so that `order[table[b]:table[b + 1]]` are those that begin with the bits b; `table`
    has `2**table_bits + 1` entries, of as many bits as those of `order`.
    """

    order: PackedArray | CompressedOrder
    lengths: NDArray[np.uint8]
    table: PackedArray

    @property
    def table_bits(self) -> int:
        return (len(self.table) - 1).bit_length() - 1

    def codes(self) -> NDArray[np.uint64]:
        """They follow from their lengths: each begins where the one before it ends."""
        ends = np.cumsum(np.uint64(1) << (np.uint64(64) - self.lengths), dtype=np.uint64)
        codes = np.concatenate([np.zeros(1, np.uint64), ends[:-1]])
        codes.flags.writeable = False
        return codes


@dataclass(frozen=True, slots=True)
class LayerColumn:
    """One layer of one segment: the stream of numbers, their strings and their sorted positions."""

    name: str
    ids: ItemStream | CompressedStream
    vocabulary: Vocabulary
    suffixes: Suffixes | None
    document_ends: NDArray[np.int64]
    """The position of the 0 behind each document; ascending."""

    @property
    def items(self) -> int:
        """How many items there are, document ends not counted."""
        return len(self.ids) - len(self.document_ends)

    def stream(self) -> ItemStream:
        """The stream as packed numbers; in memory, if the layer is compressed."""
        ids = self.plain().ids
        assert isinstance(ids, ItemStream)
        return ids

    def plain(self) -> LayerColumn:
        """The same with packed columns, for those who go through all of it; in memory, if new."""
        if isinstance(self.ids, ItemStream):
            return self
        ids, order = decompress(self.ids.csa, len(self.ids))
        suffixes = None if self.suffixes is None else replace(self.suffixes, order=order)
        return replace(self, ids=ids, suffixes=suffixes)


Numbers = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class SharedVocabulary:
    """All strings in order, the document's end as entry 0, and how each segment numbers them.

    `up[s][i]` is the shared number of the segment's own number i; `down[s]` is the reverse,
    ABSENT where the segment does not hold the string.
    """

    strings: Sequence[str]
    up: Sequence[Numbers]
    down: Sequence[Numbers]


def share_vocabulary(columns: Sequence[LayerColumn]) -> SharedVocabulary:
    segment_strings = [column.vocabulary.strings()[1:] for column in columns]
    strings = sorted(set().union(*segment_strings))
    number = {string: i for i, string in enumerate(strings, 1)}
    up = [np.array([0, *map(number.__getitem__, each)], np.int32) for each in segment_strings]
    down = []
    for table in up:
        back = np.full(len(strings) + 1, ABSENT, np.int32)
        back[table] = np.arange(len(table), dtype=np.int32)
        down.append(back)
    return SharedVocabulary(["", *strings], up, down)
