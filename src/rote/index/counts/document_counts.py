"""From ranges of sorted positions to documents and authors: how many hold each n-gram, and which.

A search gives ranges of the sorted suffixes; here their positions become documents, and documents
become groups (each its own group, or all of an author one). `rote count` and `rote top` show these
numbers beside the occurrences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import InputError, OptionError
from rote.core.kernels import njit
from rote.index.answers import Holders
from rote.index.columns.compressed_suffix_array import CompressedOrder, CompressedPositions
from rote.index.columns.layer_column import LayerColumn
from rote.index.columns.packed_array import OUT_OF_RANGE, Bytes, PackedArray, read
from rote.index.counts.lookup import Range, as_kernel_array, map_segments, threads_for
from rote.index.grams import Counts
from rote.index.segments.segment import WORD, Segment


@dataclass(frozen=True, slots=True)
class NgramRanges:
    layer: str
    grams: int
    ranges: Sequence[Range]

    @property
    def occurrences(self) -> Counts:
        return sum((high - low for low, high in self.ranges), np.zeros(self.grams, np.int64))


class DocumentCounts:
    """Counts by document and by author; what finds a position's document is made once."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        self._segments = segments
        self._tables: dict[tuple[int, str], DocumentTable] = {}

    @property
    def has_authors(self) -> bool:
        return any(len(segment.documents.author.vocabulary) > 1 for segment in self._segments)

    def document_counts(self, ranges: NgramRanges, threads: int) -> Counts:
        def count(number: int) -> Counts:
            numbers = np.arange(len(self._segments[number].documents), dtype=np.int32)
            return self._distinct(number, ranges, numbers, len(numbers))

        each = map_segments(count, range(len(ranges.ranges)), threads_for(threads, ranges.grams))
        return sum(each, np.zeros(ranges.grams, np.int64))

    def author_counts(self, ranges: NgramRanges) -> Counts:
        if not self.has_authors:
            return np.zeros(ranges.grams, np.int64)
        if len(ranges.ranges) == 1:
            authors = self._segments[0].documents.author
            # Number 0 is "no author given", which is nobody.
            return self._distinct(0, ranges, authors.numbers - 1, len(authors.vocabulary))
        names: list[set[str]] = [set() for _ in range(ranges.grams)]
        for number, (low, high) in enumerate(ranges.ranges):
            for g in np.flatnonzero(high > low).tolist():
                names[g].update(self.authors(ranges.layer, number, int(low[g]), int(high[g])))
        return np.array([len(authors_of_gram) for authors_of_gram in names], np.int64)

    def documents(self, layer: str, number: int, low: int, high: int) -> Counter[str]:
        """How often each document of a segment stands in a range."""
        documents = self._segments[number].documents
        numbers = np.arange(len(documents), dtype=np.int32)
        counts: Counter[str] = Counter()
        for document, occurrences in self._tally(number, layer, low, high, numbers, len(numbers)):
            counts[documents.id(document)] += occurrences
        return counts

    def authors(self, layer: str, number: int, low: int, high: int) -> Counter[str]:
        """How often each author; documents without one are not counted."""
        authors = self._segments[number].documents.author
        names = authors.vocabulary
        counts = self._tally(number, layer, low, high, authors.numbers - 1, len(names))
        return Counter({names[author + 1]: occurrences for author, occurrences in counts})

    def holders(self, ranges: NgramRanges, within: int | None) -> Holders:
        """Which documents hold each n-gram, or which stretches of `within` items."""
        none = np.empty(0, np.int64)
        grams, units, total = [none], [none], 0
        for number, (low, high) in enumerate(ranges.ranges):
            column, table = (
                self._segments[number].columns[ranges.layer],
                self._table(number, ranges.layer),
            )
            some = np.flatnonzero(high > low)
            positions = [first_positions(column, int(low[g]), int(high[g])) for g in some]
            places = np.concatenate([none, *positions])
            units_here, count = find_documents(table, places).astype(np.int64), len(table.ends)
            if within is not None:
                starts = np.concatenate(([0], table.ends + 1))
                stretches = -(-(table.ends - starts[:-1]) // within)
                first = np.concatenate(([0], np.cumsum(stretches)))
                units_here, count = (
                    first[units_here] + (places - starts[units_here]) // within,
                    int(first[-1]),
                )
            grams.append(np.repeat(some, (high - low)[some]))
            units.append(total + units_here)
            total += count
        wide = max(1, total)
        different = np.unique(np.concatenate(grams) * wide + np.concatenate(units))
        gram, unit = np.divmod(different, wide)
        return Holders(np.cumsum(np.bincount(gram, minlength=ranges.grams)), unit, total)

    def _distinct(
        self, number: int, ranges: NgramRanges, of: NDArray[np.int32], groups: int
    ) -> Counts:
        column = self._segments[number].columns[ranges.layer]
        low, high = ranges.ranges[number]
        return count_groups(column, low, high, of, groups, self._table(number, ranges.layer))

    def _tally(
        self, number: int, layer: str, low: int, high: int, of: NDArray[np.int32], groups: int
    ) -> list[tuple[int, int]]:
        column, table = self._segments[number].columns[layer], self._table(number, layer)
        groups_found, occurrences = count_by_group(column, low, high, of, groups, table)
        return list(zip(groups_found.tolist(), occurrences.tolist()))

    def _table(self, number: int, layer: str) -> DocumentTable:
        positions = self._segments[number].positions
        name = layer if layer in positions else WORD
        if (number, name) not in self._tables:
            self._tables[number, name] = document_table(positions[name].document_ends)
        return self._tables[number, name]


Int64s = NDArray[np.int64]
Int32s = NDArray[np.int32]
KernelArguments = tuple[Bytes | CompressedPositions, int, Int64s, int, Int32s, Int32s]
# Stretches of a document table that are shorter would take too much memory.
_MIN_SHIFT = 6
# First positions are looked for in so many at a time.
_CHUNK = 1 << 17
# Odd and without pattern: the base of the rolling hash of n-grams that do not fit 64 bits.
_BASE = 0xD6E8FEB86659FD93


@dataclass(frozen=True, slots=True)
class DocumentTable:
    """Finds a position's document: in which document each block of 2**shift positions begins."""

    ends: Int64s
    shift: int
    first: Int32s


def document_table(document_ends: Int64s) -> DocumentTable:
    """Prepared once for a segment; with some stretches for each document it stays small."""
    positions = int(document_ends[-1]) + 1 if len(document_ends) else 0
    shift = max(1, positions // max(1, len(document_ends))).bit_length() - 1
    # Of long documents most stretches lie in one, which needs no second look.
    shift = max(min(shift, _MIN_SHIFT), shift - 3)
    starts = np.arange((positions >> shift) + 2, dtype=np.int64) << shift
    first = np.searchsorted(document_ends, starts).astype(np.int32)
    return DocumentTable(
        as_kernel_array(document_ends, np.int64), shift, as_kernel_array(first, np.int32)
    )


def find_documents(table: DocumentTable, positions: Int64s) -> Int32s:
    """The number of the document that each position lies in; its end is part of a document."""
    out = np.empty(len(positions), np.int32)
    _fill_documents(table.ends, table.shift, table.first, as_kernel_array(positions, np.int64), out)
    return out


def count_groups(
    column: LayerColumn,
    low: Int64s,
    high: Int64s,
    group_of_document: Int32s,
    groups: int,
    table: DocumentTable | None = None,
) -> Int64s:
    """How many groups each range of the sorted suffixes touches; group -1 is not counted."""
    low, high = as_kernel_array(low, np.int64), as_kernel_array(high, np.int64)
    if int((high - low).sum()) > len(column.ids):
        column = column.plain()  # compressed positions are dear one by one
    widest = int((high - low).max(initial=0))
    # At most half full, whichever of the two bounds the number of groups in a range.
    slot_bits = max(1, 2 * min(groups, widest)).bit_length()
    slots = np.zeros(1 << slot_bits, np.uint64)
    out = np.zeros(len(low), np.int64)
    find = _kernel_arguments(column, group_of_document, table)
    _count_groups(*find, low, high, groups, slot_bits, slots, out)
    return out


def count_by_group(
    column: LayerColumn,
    low: int,
    high: int,
    group_of_document: Int32s,
    groups: int,
    table: DocumentTable | None = None,
) -> tuple[Int32s, Int64s]:
    """The groups that a range touches, ascending, and how often each; without group -1."""
    find = _kernel_arguments(column, group_of_document, table)
    if high - low < groups:
        groups_of_range = np.empty(max(0, high - low), np.int32)
        _fill_groups(*find, low, groups_of_range)
        names, occurrences = np.unique(groups_of_range[groups_of_range >= 0], return_counts=True)
        return names, occurrences.astype(np.int64)
    counts = np.zeros(groups, np.int64)
    _count_by_group(*find, low, high, counts)
    touched = np.flatnonzero(counts)
    return touched.astype(np.int32), counts[touched]


def count_documents(column: LayerColumn, positions: Int64s, n: int) -> Int64s:
    """How many documents hold each of these different n-grams, given by a position of each.

    One pass over the whole text, however many they are.
    """
    ids = column.stream()
    if n * ids.bits <= 64:
        base, exact = 1 << ids.bits, True
    else:
        base, exact = _BASE, False
    if len(positions) and int(positions.max()) + n > len(ids):
        raise InputError(OUT_OF_RANGE)
    out = np.zeros(len(positions), np.int64)
    _count_documents(
        ids.data,
        ids.bits,
        column.document_ends,
        n,
        as_kernel_array(positions, np.int64),
        np.uint64(base),
        np.uint64(pow(base, n - 1, 1 << 64)),
        exact,
        max(1, 2 * len(positions)).bit_length(),
        out,
    )
    return out


def first_positions(column: LayerColumn, low: int, high: int, limit: int | None = None) -> Int64s:
    """The smallest positions of a range, ascending; all of them without a limit."""
    order = _suffix_order(column)
    if limit is None or limit >= high - low:
        return np.sort(order.slice(low, high))
    best = np.empty(0, np.int64)
    for start in range(low, high, _CHUNK) if limit > 0 else ():
        positions = order.slice(start, min(start + _CHUNK, high))
        if len(best) == limit:
            positions = positions[positions < best[-1]]
        best = np.concatenate([best, positions])
        if len(best) >= limit:
            best = np.partition(best, limit - 1)[:limit]  # the largest of them comes last
    return np.sort(best)


def _kernel_arguments(
    column: LayerColumn, group_of_document: Int32s, table: DocumentTable | None
) -> KernelArguments:
    """What kernels need to go from a number in the order to a group."""
    order = _suffix_order(column)
    table = table or document_table(column.document_ends)
    group_of_document = as_kernel_array(group_of_document, np.int32)
    return order.data, order.bits, table.ends, table.shift, table.first, group_of_document


def _suffix_order(column: LayerColumn) -> PackedArray | CompressedOrder:
    if column.suffixes is None:
        raise OptionError(
            f"the layer '{column.name}' has no sorted suffixes. "
            f"Add them with: rote index add-layer INDEX {column.name}"
        )
    return column.suffixes.order


_SCATTER = np.uint64(0x9E3779B97F4A7C15)
_FREE, _ONE, _HALF = np.uint64(0), np.uint64(1), np.uint64(32)


@njit(inline="always")
def document_of(ends, shift, first, position):  # type: ignore[no-untyped-def]
    """The first document that ends at the position or behind it."""
    low, high = np.int64(first[position >> shift]), np.int64(first[(position >> shift) + 1])
    # Where many short documents lie in one stretch they are halved, not walked.
    while high - low > 4:
        middle = (low + high) >> 1
        if ends[middle] < position:
            low = middle + 1
        else:
            high = middle
    while ends[low] < position:
        low += 1
    return low


@njit(cache=True, nogil=True)
def _fill_documents(ends, shift, first, positions, out):  # type: ignore[no-untyped-def]
    for i in range(len(positions)):
        out[i] = document_of(ends, shift, first, positions[i])


@njit(cache=True, nogil=True)
def _fill_groups(order, bits, ends, shift, first, group_of, low, out):  # type: ignore[no-untyped-def]
    """The group of each of the positions from `low` on in the order."""
    for i in range(len(out)):
        out[i] = group_of[document_of(ends, shift, first, read(order, bits, low + i))]


@njit(cache=True, nogil=True)
def _count_by_group(order, bits, ends, shift, first, group_of, low, high, counts):  # type: ignore[no-untyped-def]
    for i in range(low, high):
        group = group_of[document_of(ends, shift, first, read(order, bits, i))]
        if group >= 0:
            counts[group] += 1


@njit(cache=True, nogil=True)
def _count_groups(  # type: ignore[no-untyped-def]
    order, bits, ends, shift, first, group_of, lows, highs, most, slot_bits, slots, out
):
    """Count the groups of each range in a table of hashes.

    A slot holds a group, and above it the number of the range that put it there; what older
    ranges left counts as free, so that nothing is ever emptied.
    """
    mask, drop = np.int64(len(slots) - 1), np.uint64(64 - slot_bits)
    for j in range(len(lows)):
        stamp = np.uint64(j + 1) << _HALF
        distinct = 0
        for i in range(lows[j], highs[j]):
            group = group_of[document_of(ends, shift, first, read(order, bits, i))]
            if group < 0:
                continue
            mine = stamp | np.uint64(group)
            slot = np.int64((np.uint64(group) * _SCATTER) >> drop)
            while slots[slot] >= stamp and slots[slot] != mine:
                slot = (slot + 1) & mask
            if slots[slot] < stamp:
                slots[slot] = mine
                distinct += 1
                if distinct == most:
                    break
        out[j] = distinct


@njit(cache=True, nogil=True)
def _is_same(data, bits, first, second, n):  # type: ignore[no-untyped-def]
    shared = 0
    while shared < n and read(data, bits, first + shared) == read(data, bits, second + shared):
        shared += 1
    return shared == n


@njit(inline="always")
def _slot_mark(key):  # type: ignore[no-untyped-def]
    """The hash as it stands in a slot, where 0 means free."""
    return key if key != _FREE else _ONE


@njit(cache=True, nogil=True)
def _count_documents(data, bits, ends, n, positions, base, top, exact, slot_bits, out):  # type: ignore[no-untyped-def]
    """Count for each n-gram the documents that hold it, by one pass over the text.

    The hash of a window is its numbers as digits to this base, modulo 2**64; `top` is the worth
    of the first digit. With a base of 2**bits, and n numbers that fit, it is the window itself
    (`exact`); if not, windows with equal hashes are compared.
    """
    mask, drop = np.uint64((1 << slot_bits) - 1), np.uint64(64 - slot_bits)
    marks = np.zeros(1 << slot_bits, np.uint64)
    numbers = np.empty(1 << slot_bits, np.int32)  # of the n-gram in each slot
    last = np.full(len(positions), -1, np.int32)  # the document where each was last seen
    for j in range(len(positions)):
        key = np.uint64(0)
        for i in range(n):
            key = key * base + np.uint64(read(data, bits, positions[j] + i))
        slot = (key * _SCATTER) >> drop
        while marks[slot] != _FREE:
            slot = (slot + _ONE) & mask
        marks[slot], numbers[slot] = _slot_mark(key), j
    start = np.int64(0)
    for document in range(len(ends)):
        key = np.uint64(0)
        for i in range(start, min(start + n - 1, ends[document])):
            key = key * base + np.uint64(read(data, bits, i))
        for i in range(start + n - 1, ends[document]):
            key = key * base + np.uint64(read(data, bits, i))
            slot, mark = (key * _SCATTER) >> drop, _slot_mark(key)
            slot_mark = marks[slot]
            while slot_mark != _FREE:
                if slot_mark == mark:
                    j = numbers[slot]
                    if exact or _is_same(data, bits, positions[j], i - n + 1, n):
                        if last[j] != document:
                            last[j] = document
                            out[j] += 1
                        break
                slot = (slot + _ONE) & mask
                slot_mark = marks[slot]
            # The next window has this one's numbers without the first, and one more.
            key -= np.uint64(read(data, bits, i - n + 1)) * top
        start = ends[document] + 1
