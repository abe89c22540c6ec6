"""In how many documents, or by how many authors: tallies of places by the documents they lie in.

A search gives ranges of the sorted suffixes; here their places become documents, and documents
become groups (each its own group, or all of an author one). `rote count` and `rote top` show these
numbers beside the occurrences.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import InputError, OptionError
from rote.index.columns.chain import ChainPlaces
from rote.index.columns.compact import ChainedPlaces
from rote.index.columns.packed import OUTSIDE, Bytes, Packed
from rote.index.columns.parts import Column
from rote.index.counting import tally_kernels as kernels

Numbers = NDArray[np.int64]
Groups = NDArray[np.int32]
Finding = tuple[Bytes | ChainPlaces, int, Numbers, int, Groups, Groups]
# Stretches of a document table that are shorter would take too much memory.
_STRETCH_BITS = 6
# First places are looked for in so many at a time.
_CHUNK = 1 << 17
# Odd and without pattern: the base of the rolling hash of n-grams that do not fit 64 bits.
_BASE = 0xD6E8FEB86659FD93


@dataclass(frozen=True, slots=True)
class DocumentTable:
    """Finds a place's document: stretches of 2**shift places, and the document each begins in."""

    ends: Numbers
    shift: int
    first: Groups


def document_table(document_ends: Numbers) -> DocumentTable:
    """Prepared once for a segment; with some stretches for each document it stays small."""
    places = int(document_ends[-1]) + 1 if len(document_ends) else 0
    shift = max(1, places // max(1, len(document_ends))).bit_length() - 1
    # Of long documents most stretches lie in one, which needs no second look.
    shift = max(min(shift, _STRETCH_BITS), shift - 3)
    starts = np.arange((places >> shift) + 2, dtype=np.int64) << shift
    first = np.searchsorted(document_ends, starts).astype(np.int32)
    return DocumentTable(_fixed(document_ends, np.int64), shift, _fixed(first, np.int32))


def documents_of(table: DocumentTable, places: Numbers) -> Groups:
    """The number of the document that each place lies in; its end is part of a document."""
    out = np.empty(len(places), np.int32)
    kernels.documents(table.ends, table.shift, table.first, _fixed(places, np.int64), out)
    return out


def distinct(
    column: Column,
    low: Numbers,
    high: Numbers,
    group_of_document: Groups,
    groups: int,
    table: DocumentTable | None = None,
) -> Numbers:
    """How many groups each range of the sorted suffixes touches; group -1 is not counted."""
    low, high = _fixed(low, np.int64), _fixed(high, np.int64)
    if int((high - low).sum()) > len(column.ids):
        column = column.plain()  # places of a chain are dear one by one
    widest = int((high - low).max(initial=0))
    # At most half full, whichever of the two bounds the number of groups in a range.
    slot_bits = max(1, 2 * min(groups, widest)).bit_length()
    slots = np.zeros(1 << slot_bits, np.uint64)
    out = np.zeros(len(low), np.int64)
    find = _finding(column, group_of_document, table)
    kernels.distinct(*find, low, high, groups, slot_bits, slots, out)
    return out


def tally(
    column: Column,
    low: int,
    high: int,
    group_of_document: Groups,
    groups: int,
    table: DocumentTable | None = None,
) -> tuple[Groups, Numbers]:
    """The groups that a range touches, ascending, and how often each; without group -1."""
    find = _finding(column, group_of_document, table)
    if high - low < groups:
        found = np.empty(max(0, high - low), np.int32)
        kernels.groups(*find, low, found)
        names, occurrences = np.unique(found[found >= 0], return_counts=True)
        return names, occurrences.astype(np.int64)
    counts = np.zeros(groups, np.int64)
    kernels.tally(*find, low, high, counts)
    touched = np.flatnonzero(counts)
    return touched.astype(np.int32), counts[touched]


def documents_with(column: Column, places: Numbers, n: int) -> Numbers:
    """How many documents hold each of these different n-grams, given by a place of each.

    One pass over the whole text, however many they are.
    """
    ids = column.stream()
    if n * ids.bits <= 64:
        base, exact = 1 << ids.bits, True
    else:
        base, exact = _BASE, False
    if len(places) and int(places.max()) + n > len(ids):
        raise InputError(OUTSIDE)
    out = np.zeros(len(places), np.int64)
    kernels.documents_with(
        ids.data,
        ids.bits,
        column.document_ends,
        n,
        _fixed(places, np.int64),
        np.uint64(base),
        np.uint64(pow(base, n - 1, 1 << 64)),
        exact,
        max(1, 2 * len(places)).bit_length(),
        out,
    )
    return out


def first_places(column: Column, low: int, high: int, limit: int | None = None) -> Numbers:
    """The smallest places of a range, ascending; all of them without a limit."""
    order = _order(column)
    if limit is None or limit >= high - low:
        return np.sort(order.slice(low, high))
    best = np.empty(0, np.int64)
    for start in range(low, high, _CHUNK) if limit > 0 else ():
        places = order.slice(start, min(start + _CHUNK, high))
        if len(best) == limit:
            places = places[places < best[-1]]
        best = np.concatenate([best, places])
        if len(best) >= limit:
            best = np.partition(best, limit - 1)[:limit]  # the largest of them comes last
    return np.sort(best)


def _finding(column: Column, group_of_document: Groups, table: DocumentTable | None) -> Finding:
    """What kernels need to go from a number in the order to a group."""
    order = _order(column)
    table = table or document_table(column.document_ends)
    group_of_document = _fixed(group_of_document, np.int32)
    return order.data, order.bits, table.ends, table.shift, table.first, group_of_document


def _order(column: Column) -> Packed | ChainedPlaces:
    if column.suffixes is None:
        raise OptionError(
            f"the layer '{column.name}' has no sorted suffixes. "
            f"Add them with: rote index add-layer INDEX {column.name}"
        )
    return column.suffixes.order


def _fixed(values: NDArray[Any], kind: Any) -> NDArray[Any]:
    """The same numbers read-only, the one type that kernels are compiled for."""
    if values.dtype == kind and values.flags.c_contiguous and not values.flags.writeable:
        return values
    view = np.ascontiguousarray(values, kind).view()
    view.flags.writeable = False
    return view
