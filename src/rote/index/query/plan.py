"""From a query to its matches in one segment.

1. The pattern becomes a machine (`automaton.py`), and what it asks of a layer a table over
   the layer's vocabulary (`tables.py`).
2. The rarest run of items that every match must hold is looked up in the sorted suffixes
   (`anchors.py`). If there is none, or it is not rare, every place is tried in turn.
3. The machine runs from each of these places (`match.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import OptionError
from rote.index.columns.compact import ChainedStream
from rote.index.columns.packed import Packed, Stream, pack
from rote.index.columns.parts import Column
from rote.index.query import anchors, match
from rote.index.query.automaton import automaton
from rote.index.query.tables import Memo, Tables
from rote.index.query.tree import Condition, Query, check_layers, not_aligned

Places = NDArray[np.int64]
# Trying a place from a list costs about as much as trying so many places in turn.
_DEAR = 16
_CHUNK = 1 << 20
_FIRST_CHUNK = 1 << 14
# Of a layer that is kept as a chain so many items are unpacked at a time.
_UNPACKED = 1 << 18


def find(
    query: Query,
    columns: Mapping[str, Column],
    *,
    sentence_last: Packed | None = None,
    limit: int | None = None,
    memo: Memo | None = None,
) -> tuple[Places, Places]:
    """Where it matches in one segment: places [start, end), one for each start, ascending.

    `sentence_last` has a bit for each place, 1 at the last item of a sentence. `memo` belongs
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
    columns: Mapping[str, Column],
    *,
    sentence_last: Packed | None = None,
    memo: Memo | None = None,
) -> int:
    """How many matches `find` would give, for less."""
    search = _Search(query, columns, sentence_last, memo)
    whole = search.counted_by_ranges()
    if whole is not None:
        return whole
    return sum(piece.shape[1] for piece in search.pieces(longest=False, limit=len(search)))


class _Search:
    """A query ready to run over one segment."""

    def __init__(
        self,
        query: Query,
        columns: Mapping[str, Column],
        sentence_last: Packed | None,
        memo: Memo | None,
    ) -> None:
        self._query = query
        self._layers = _aligned(query, columns)
        self._columns = [columns[layer] for layer in self._layers]
        self._sentence_last = _sentences(query, self._columns[0], sentence_last)
        self._automaton = automaton(query)
        self._tables = Tables(columns, memo or Memo())
        self._anchor = anchors.best(query.pattern, self._tables)

    def __len__(self) -> int:
        """How many places there are."""
        return len(self._columns[0].ids)

    def counted_by_ranges(self) -> int | None:
        """How many matches there are if sorted suffixes say so: every state is in one gram."""
        if self._anchor is None or len(self._anchor) > 1 or self._query.within:
            return None
        if not self._anchor:
            return 0
        gram = self._anchor[0]
        asked = self._automaton.asked
        if gram.length != len(asked) or any(set(one) != {gram.layer} for one in asked):
            return None
        return gram.starts

    def pieces(self, *, longest: bool, limit: int) -> Iterator[Places]:
        """Rows of starts and of ends, in order of place; a piece is good until the next is made."""
        places, stop = np.empty(0, np.int64), len(self)
        if self._anchor is not None and anchors.size(self._anchor) * _DEAR < len(self):
            places = anchors.starts(self._anchor, self._tables)
            stop = len(places)
        machine = self._machine() if stop else None
        buffer = np.empty((2, min(_CHUNK, stop)), np.int64)
        start, chunk = 0, _FIRST_CHUNK
        while start < stop and limit > 0:
            end = min(start + chunk, stop)
            starts, ends = buffer[:, : min(end - start, limit)]
            if machine is not None:
                found = match.match(machine, places, start, end, longest, starts, ends)
            else:
                end = min(end, start + (_UNPACKED // self._width if len(places) else chunk))
                found = self._match_unpacked(places, start, end, longest, starts, ends)
            yield buffer[:, :found]
            start, limit = end, limit - found
            # Small pieces first: few matches are soon found, and then the rest is not read.
            chunk = min(chunk * 2, _CHUNK)

    def _machine(self) -> match.Machine | None:
        """The machine over the layers as they are; None if one of them is kept as a chain."""
        streams = [column.ids for column in self._columns if isinstance(column.ids, Stream)]
        if len(streams) < len(self._columns):
            return None
        tables = [self._states(layer) for layer in self._layers]
        # Numbers of a stream may have to be looked up: their states are, instead.
        tables = [t[ids.table] if len(ids.table) else t for t, ids in zip(tables, streams)]
        return self._over([ids.packed for ids in streams], tables, self._sentence_last)

    def _match_unpacked(
        self, places: Places, start: int, end: int, longest: bool, starts: Places, ends: Places
    ) -> int:
        """As `match.match`, on what stands behind the places that are asked for, unpacked."""
        firsts, width, inner = np.array([start]), end - start + match.MOST_ITEMS, places[:0]
        if len(places):
            firsts, width = places[start:end], self._width
            inner = np.arange(len(firsts), dtype=np.int64) * width
        held = [pack(_runs(c.ids, firsts, width), c.ids.bits) for c in self._columns]
        last = self._sentence_last
        sentences = None if last is None else pack(_runs(Stream(last), firsts, width), 1)
        machine = self._over(held, [self._states(layer) for layer in self._layers], sentences)
        found: int = match.match(machine, inner, 0, end - start, longest, starts, ends)
        rows = starts[:found] // width
        moved = firsts[rows] - rows * width
        starts[:found] += moved
        ends[:found] += moved
        return found

    @property
    def _width(self) -> int:
        """As many items as a match may have, and one more."""
        return min(anchors.lengths(self._query.pattern)[1], match.MOST_ITEMS) + 1

    def _over(
        self,
        held: Sequence[Packed],
        tables: Sequence[NDArray[np.uint64]],
        sentences: Packed | None,
    ) -> match.Machine:
        machine, data = self._automaton, [one.data for one in held]
        addresses = np.array([one.ctypes.data for one in data], np.int64)
        return match.Machine(
            origin=data[0],
            offsets=addresses - addresses[0],
            bits=np.array([one.bits for one in held], np.int64),
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
        for state, asked in enumerate(self._automaton.asked):
            condition = asked.get(layer)
            bits[condition] = bits.get(condition, 0) | 1 << state
        states = np.full(len(self._tables.columns[layer].vocabulary), bits.pop(None, 0), np.uint64)
        states[0] = 0
        for condition, held in bits.items():
            assert condition is not None
            states[self._tables.table(layer, condition)] |= np.uint64(held)
        return states


def _runs(ids: Stream | ChainedStream, firsts: Places, width: int) -> Places:
    """The items from each of these places on."""
    if len(firsts) == 1:
        return ids.slice(int(firsts[0]), int(firsts[0]) + width)
    return ids.runs(firsts, width)


def _aligned(query: Query, columns: Mapping[str, Column]) -> tuple[str, ...]:
    """The names of the layers that are read, all there and with the same items."""
    check_layers(query, columns)
    first = columns[query.layers[0]]
    for test in query.tests:
        column = columns[test.layer]
        if len(column.ids) != len(first.ids) or not (
            column.document_ends is first.document_ends
            or np.array_equal(column.document_ends, first.document_ends)
        ):
            raise not_aligned(query, test)
    # Small tables first: they are in the nearest cache, and may settle it.
    return tuple(sorted(query.layers, key=lambda layer: columns[layer].ids.bits))


def _sentences(query: Query, column: Column, sentence_last: Packed | None) -> Packed | None:
    if not query.within:
        return None
    if sentence_last is None or len(sentence_last) != len(column.ids):
        raise OptionError(
            f"the sentences of the layer '{query.layers[0]}' are not known; leave out `within s`"
        )
    return sentence_last
