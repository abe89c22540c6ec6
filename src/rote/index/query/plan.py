"""From a query to its matches in one segment.

1. The pattern becomes an automaton (`automaton.py`), and what it asks of a layer a table over
   the layer's vocabulary (`conditions.py`).
2. The rarest run of items that every match must hold, its *anchor*, is looked up in the sorted
   suffixes. If there is none, or it is not rare, every position is tried in turn.
3. The automaton runs from each of these positions.

An anchor gram is a run of items of one layer, each with a few possible numbers, that stands `low`
to `high` items behind the start of a match. A set of grams is an anchor if every match holds one of
them. Sorted suffixes say exactly how often a gram occurs, so the rarest anchor is known before a
single position is tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from math import prod

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import OptionError
from rote.index.columns.compressed_suffix_array import CompressedStream
from rote.index.columns.layer_column import LayerColumn
from rote.index.columns.packed_array import ItemStream, PackedArray, pack
from rote.index.counts.lookup import Lookup
from rote.index.query import automaton
from rote.index.query.automaton import (
    MAX_ITEMS,
    Conjunct,
    build_automaton,
    collect_ranges,
    conjuncts_of,
)
from rote.index.query.conditions import ConditionTables, RegexMemo
from rote.index.query.tree import (
    Alternation,
    Concatenation,
    Condition,
    ItemPattern,
    Pattern,
    Query,
    Repeat,
    alignment_error,
    check_layers,
)

Places = NDArray[np.int64]
# Trying a position from a list costs about as much as trying so many positions in turn.
_LIST_COST = 16
_CHUNK = 1 << 20
_FIRST_CHUNK = 1 << 14
# Of a compressed layer so many items are unpacked at a time.
_UNPACKED = 1 << 18


def find(
    query: Query,
    columns: Mapping[str, LayerColumn],
    *,
    sentence_last: PackedArray | None = None,
    limit: int | None = None,
    memo: RegexMemo | None = None,
) -> tuple[Places, Places]:
    """Where it matches in one segment: positions [start, end), one for each start, ascending.

    `sentence_last` has a bit for each position, 1 at the last item of a sentence. `memo` belongs
    to the segment and remembers what regular expressions matched in its vocabularies.
    """
    search = _Search(query, columns, sentence_last, memo)
    pieces = [np.empty((2, 0), np.int64)]
    most = len(search) if limit is None else limit
    pieces += [piece.copy() for piece in search.pieces(longest=True, limit=most)]
    starts, ends = np.concatenate(pieces, axis=1)
    return starts, ends


def count(
    query: Query,
    columns: Mapping[str, LayerColumn],
    *,
    sentence_last: PackedArray | None = None,
    memo: RegexMemo | None = None,
) -> int:
    """How many matches `find` would give, for less."""
    search = _Search(query, columns, sentence_last, memo)
    counted = search.count_by_ranges()
    if counted is not None:
        return counted
    return sum(piece.shape[1] for piece in search.pieces(longest=False, limit=len(search)))


class _Search:
    def __init__(
        self,
        query: Query,
        columns: Mapping[str, LayerColumn],
        sentence_last: PackedArray | None,
        memo: RegexMemo | None,
    ) -> None:
        self._query = query
        self._layers = _aligned_layers(query, columns)
        self._columns = [columns[layer] for layer in self._layers]
        self._sentence_last = _sentence_bits(query, self._columns[0], sentence_last)
        self._automaton = build_automaton(query)
        # A memo that is empty still has to be filled.
        self._tables = ConditionTables(columns, RegexMemo() if memo is None else memo)
        self._anchor = _AnchorFinder(self._tables).best(query.pattern)

    def __len__(self) -> int:
        return len(self._columns[0].ids)

    def count_by_ranges(self) -> int | None:
        """How many matches there are if sorted suffixes say so: every state is in one gram."""
        if self._anchor is None or len(self._anchor) > 1 or self._query.within:
            return None
        if not self._anchor:
            return 0
        gram = self._anchor[0]
        conjuncts = self._automaton.conjuncts
        if gram.length != len(conjuncts) or any(
            set(conjunct) != {gram.layer} for conjunct in conjuncts
        ):
            return None
        return gram.starts

    def pieces(self, *, longest: bool, limit: int) -> Iterator[Places]:
        """Yield rows of starts and of ends, in order; a piece is valid until the next is made."""
        positions, stop = np.empty(0, np.int64), len(self)
        if self._anchor is not None and anchor_size(self._anchor) * _LIST_COST < len(self):
            positions = anchor_starts(self._anchor, self._tables)
            stop = len(positions)
        machine = self._machine() if stop else None
        buffer = np.empty((2, min(_CHUNK, stop)), np.int64)
        start, chunk = 0, _FIRST_CHUNK
        while start < stop and limit > 0:
            end = min(start + chunk, stop)
            starts, ends = buffer[:, : min(end - start, limit)]
            if machine is not None:
                matches = automaton.match_machine(
                    machine, positions, start, end, longest, starts, ends
                )
            else:
                end = min(end, start + (_UNPACKED // self._width if len(positions) else chunk))
                matches = self._match_unpacked(positions, start, end, longest, starts, ends)
            yield buffer[:, :matches]
            start, limit = end, limit - matches
            # Small pieces first: few matches are soon found, and then the rest is not read.
            chunk = min(chunk * 2, _CHUNK)

    def _machine(self) -> automaton.Machine | None:
        """The machine over the layers as they are; None if one of them is compressed."""
        streams = [column.ids for column in self._columns if isinstance(column.ids, ItemStream)]
        if len(streams) < len(self._columns):
            return None
        tables = [self._states(layer) for layer in self._layers]
        # Numbers of a stream may have to be looked up: their states are, instead.
        tables = [t[ids.table] if len(ids.table) else t for t, ids in zip(tables, streams)]
        return self._over([ids.packed for ids in streams], tables, self._sentence_last)

    def _match_unpacked(
        self, positions: Places, start: int, end: int, longest: bool, starts: Places, ends: Places
    ) -> int:
        """As `match_machine`, on what stands behind the positions that are asked for, unpacked."""
        firsts, width, inner = np.array([start]), end - start + automaton.MAX_ITEMS, positions[:0]
        if len(positions):
            firsts, width = positions[start:end], self._width
            inner = np.arange(len(firsts), dtype=np.int64) * width
        columns = [pack(_read_runs(c.ids, firsts, width), c.ids.bits) for c in self._columns]
        last = self._sentence_last
        sentences = None if last is None else pack(_read_runs(ItemStream(last), firsts, width), 1)
        machine = self._over(columns, [self._states(layer) for layer in self._layers], sentences)
        matches: int = automaton.match_machine(
            machine, inner, 0, end - start, longest, starts, ends
        )
        rows = starts[:matches] // width
        moved = firsts[rows] - rows * width
        starts[:matches] += moved
        ends[:matches] += moved
        return matches

    @property
    def _width(self) -> int:
        """As many items as a match may have, and one more."""
        return min(pattern_lengths(self._query.pattern)[1], automaton.MAX_ITEMS) + 1

    def _over(
        self,
        columns: Sequence[PackedArray],
        tables: Sequence[NDArray[np.uint64]],
        sentences: PackedArray | None,
    ) -> automaton.Machine:
        machine, data = self._automaton, [column.data for column in columns]
        addresses = np.array([column.ctypes.data for column in data], np.int64)
        return automaton.Machine(
            origin=data[0],
            offsets=addresses - addresses[0],
            bits=np.array([column.bits for column in columns], np.int64),
            bases=np.cumsum([0, *map(len, tables[:-1])], dtype=np.int64),
            tables=np.concatenate(tables),
            follow=np.array(machine.follow, np.uint64),
            first=np.uint64(machine.first),
            last=np.uint64(machine.last),
            sentence_last=data[0] if sentences is None else sentences.data,
            within=sentences is not None,
        )

    def _states(self, layer: str) -> NDArray[np.uint64]:
        """For each entry of a layer the states that it may be read in."""
        bits: dict[Condition | None, int] = {}
        for state, conjunct in enumerate(self._automaton.conjuncts):
            condition = conjunct.get(layer)
            bits[condition] = bits.get(condition, 0) | 1 << state
        states = np.full(len(self._tables.columns[layer].vocabulary), bits.pop(None, 0), np.uint64)
        states[0] = 0
        for condition, states_of_condition in bits.items():
            assert condition is not None
            states[self._tables.table(layer, condition)] |= np.uint64(states_of_condition)
        return states


def _read_runs(ids: ItemStream | CompressedStream, firsts: Places, width: int) -> Places:
    if len(firsts) == 1:
        return ids.slice(int(firsts[0]), int(firsts[0]) + width)
    return ids.runs(firsts, width)


def _aligned_layers(query: Query, columns: Mapping[str, LayerColumn]) -> tuple[str, ...]:
    """The names of the layers that are read, all there and with the same items."""
    check_layers(query, columns)
    first = columns[query.layers[0]]
    for test in query.tests:
        column = columns[test.layer]
        if len(column.ids) != len(first.ids) or not (
            column.document_ends is first.document_ends
            or np.array_equal(column.document_ends, first.document_ends)
        ):
            raise alignment_error(query, test)
    # Small tables first: they are in the nearest cache, and may settle it.
    return tuple(sorted(query.layers, key=lambda layer: columns[layer].ids.bits))


def _sentence_bits(
    query: Query, column: LayerColumn, sentence_last: PackedArray | None
) -> PackedArray | None:
    if not query.within:
        return None
    if sentence_last is None or len(sentence_last) != len(column.ids):
        raise OptionError(
            f"the sentences of the layer '{query.layers[0]}' are not known; leave out `within s`"
        )
    return sentence_last


# An item with more possible numbers is not looked up, nor is a run with more possible grams.
_MOST_NUMBERS = 1 << 16
_MOST_GRAMS = 1 << 12


@dataclass(frozen=True, slots=True)
class AnchorGram:
    """The ranges of a layer's sorted suffixes that begin with a run of `length` items."""

    layer: str
    length: int
    ranges: tuple[Places, Places]
    low: int
    high: int

    @property
    def starts(self) -> int:
        """How many positions it leaves for the start of a match."""
        return int((self.ranges[1] - self.ranges[0]).sum()) * (self.high - self.low + 1)

    def shift(self, low: int, high: int) -> AnchorGram:
        return replace(self, low=self.low + low, high=min(self.high + high, MAX_ITEMS - 1))


Anchor = tuple[AnchorGram, ...]


def anchor_size(anchor: Anchor) -> int:
    """How many positions it leaves for the start of a match; some perhaps twice."""
    return sum(gram.starts for gram in anchor)


def anchor_starts(anchor: Anchor, tables: ConditionTables) -> Places:
    starts = [np.empty(0, np.int64)]
    for gram in anchor:
        suffixes = tables.columns[gram.layer].suffixes
        assert suffixes is not None
        low, high = gram.ranges
        at = np.empty(int((high - low).sum()), np.int64)
        collect_ranges(suffixes.order.data, suffixes.order.bits, low, high, at)
        starts += [at - shift for shift in range(gram.low, gram.high + 1)]
    positions = np.sort(np.concatenate(starts))
    fresh = positions >= 0
    fresh[1:] &= positions[1:] != positions[:-1]
    return positions[fresh]


class _AnchorFinder:
    def __init__(self, tables: ConditionTables) -> None:
        self._tables = tables
        self._lookups: dict[str, Lookup] = {}

    def best(self, pattern: Pattern) -> Anchor | None:
        """The anchor that leaves the fewest positions, or None if there is no anchor."""
        return min(self._anchors(pattern), key=anchor_size, default=None)

    def _anchors(self, pattern: Pattern) -> Iterator[Anchor]:
        steps = _RequiredSteps()
        steps.add(pattern)
        items = [conjuncts_of(s) if isinstance(s, ItemPattern) else () for s, _, _ in steps.all]
        for i, (step, low, high) in enumerate(steps.all):
            if isinstance(step, Alternation):
                step_anchors = _join_alternatives([self.best(part) for part in step.parts])
            elif len(items[i]) > 1:
                singles = [self._runs([conjunct]) for conjunct in items[i]]
                step_anchors = _join_alternatives(
                    [min(anchors, key=anchor_size, default=None) for anchors in singles]
                )
            else:
                alone = takewhile(lambda conjuncts: len(conjuncts) == 1, items[i:])
                step_anchors = self._runs([conjuncts[0] for conjuncts in alone])
            yield from (tuple(gram.shift(low, high) for gram in anchor) for anchor in step_anchors)

    def _runs(self, run: Sequence[Conjunct]) -> Iterator[Anchor]:
        """Anchors that begin with the first item of a run, one for each of its layers."""
        for layer in run[0] if run else ():
            numbers: list[Places] = []
            for conjunct in run:
                if layer not in conjunct:
                    break
                possible = self._tables.numbers(layer, conjunct[layer])
                if numbers and prod(map(len, numbers)) * len(possible) > _MOST_GRAMS:
                    break
                numbers.append(possible)
            if not all(map(len, numbers)):
                yield ()  # nothing can match
            elif self._tables.columns[layer].suffixes and len(numbers[0]) <= _MOST_NUMBERS:
                yield (self._gram(layer, numbers),)

    def _gram(self, layer: str, numbers: Sequence[Places]) -> AnchorGram:
        if layer not in self._lookups:
            self._lookups[layer] = Lookup(self._tables.columns[layer])
        all_grams = np.stack(np.meshgrid(*numbers, indexing="ij"), axis=-1).astype(np.int32)
        ends = np.arange(len(numbers), all_grams.size + 1, len(numbers), dtype=np.int64)
        low, high = self._lookups[layer].ranges(all_grams.reshape(-1), ends)
        occurs = low < high
        return AnchorGram(layer, len(numbers), (low[occurs], high[occurs]), 0, 0)


class _RequiredSteps:
    """The parts that every match holds, with how far behind its start they can stand.

    What a match may hold or not stands between them as None, so that neighbours in the list
    are neighbours in the match.
    """

    def __init__(self) -> None:
        self.all: list[tuple[ItemPattern | Alternation | None, int, int]] = []
        self._low = self._high = 0

    def add(self, pattern: Pattern) -> None:
        if isinstance(pattern, Concatenation):
            for part in pattern.parts:
                self.add(part)
        elif isinstance(pattern, Repeat):
            for _ in range(pattern.least):
                self.add(pattern.part)
            if pattern.least != pattern.most:
                self.all.append((None, self._low, self._high))
                most = MAX_ITEMS if pattern.most is None else pattern.most
                self._high += (most - pattern.least) * pattern_lengths(pattern.part)[1]
        else:
            self.all.append((pattern, self._low, self._high))
            least, most = pattern_lengths(pattern)
            self._low += least
            self._high += most


def pattern_lengths(pattern: Pattern) -> tuple[int, int]:
    """The fewest and the most items that it can stand for."""
    if isinstance(pattern, ItemPattern):
        return 1, 1
    if isinstance(pattern, Repeat):
        least, most = pattern_lengths(pattern.part)
        times = MAX_ITEMS if pattern.most is None else pattern.most
        return least * pattern.least, most * times
    fewest, most_of_all = zip(*map(pattern_lengths, pattern.parts))
    if isinstance(pattern, Concatenation):
        return sum(fewest), sum(most_of_all)
    return min(fewest), max(most_of_all)


def _join_alternatives(anchors: Sequence[Anchor | None]) -> Iterator[Anchor]:
    """The anchors of all alternatives make one, if each has one."""
    if None not in anchors:
        yield tuple(gram for anchor in anchors if anchor is not None for gram in anchor)
