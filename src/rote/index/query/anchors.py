"""Where a match can begin at all: the rarest thing that every match holds.

A gram is a run of items of one layer, each with a few possible numbers, that stands `low` to
`high` items behind the start of a match. A set of grams is an anchor if every match holds one of
them. Sorted suffixes say exactly how often a gram occurs, so the rarest anchor is known before
a single place is tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from math import prod

import numpy as np
from numpy.typing import NDArray

from rote.index.counting.lookup import Lookup
from rote.index.query.automaton import Conjunct, asked_of
from rote.index.query.match import MOST_ITEMS, collect
from rote.index.query.tables import Tables
from rote.index.query.tree import Chain, Either, Item, Pattern, Repeat

Places = NDArray[np.int64]
# An item with more possible numbers is not looked up, nor is a run with more possible grams.
_MOST_NUMBERS = 1 << 16
_MOST_GRAMS = 1 << 12


@dataclass(frozen=True, slots=True)
class Gram:
    """The ranges of a layer's sorted suffixes that begin with a run of `length` items."""

    layer: str
    length: int
    ranges: tuple[Places, Places]
    low: int
    high: int

    @property
    def starts(self) -> int:
        """How many places it leaves for the start of a match."""
        return int((self.ranges[1] - self.ranges[0]).sum()) * (self.high - self.low + 1)

    def shifted(self, low: int, high: int) -> Gram:
        return replace(self, low=self.low + low, high=min(self.high + high, MOST_ITEMS - 1))


Anchor = tuple[Gram, ...]


def size(anchor: Anchor) -> int:
    """How many places it leaves for the start of a match; some perhaps twice."""
    return sum(gram.starts for gram in anchor)


def starts(anchor: Anchor, tables: Tables) -> Places:
    """The places where a match can begin, ascending."""
    found = [np.empty(0, np.int64)]
    for gram in anchor:
        suffixes = tables.columns[gram.layer].suffixes
        assert suffixes is not None
        low, high = gram.ranges
        at = np.empty(int((high - low).sum()), np.int64)
        collect(suffixes.order.data, suffixes.order.bits, low, high, at)
        found += [at - shift for shift in range(gram.low, gram.high + 1)]
    places = np.sort(np.concatenate(found))
    fresh = places >= 0
    fresh[1:] &= places[1:] != places[:-1]
    return places[fresh]


def best(pattern: Pattern, tables: Tables) -> Anchor | None:
    """The anchor that leaves the fewest places, or None if there is no anchor."""
    return _Finder(tables).best(pattern)


class _Finder:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._lookups: dict[str, Lookup] = {}

    def best(self, pattern: Pattern) -> Anchor | None:
        return min(self._anchors(pattern), key=size, default=None)

    def _anchors(self, pattern: Pattern) -> Iterator[Anchor]:
        steps = _Steps()
        steps.add(pattern)
        items = [asked_of(s) if isinstance(s, Item) else () for s, _, _ in steps.all]
        for i, (step, low, high) in enumerate(steps.all):
            if isinstance(step, Either):
                found = _joined([self.best(part) for part in step.parts])
            elif len(items[i]) > 1:
                singles = [self._runs([conjunct]) for conjunct in items[i]]
                found = _joined([min(anchors, key=size, default=None) for anchors in singles])
            else:
                alone = takewhile(lambda conjuncts: len(conjuncts) == 1, items[i:])
                found = self._runs([conjuncts[0] for conjuncts in alone])
            yield from (tuple(gram.shifted(low, high) for gram in anchor) for anchor in found)

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

    def _gram(self, layer: str, numbers: Sequence[Places]) -> Gram:
        if layer not in self._lookups:
            self._lookups[layer] = Lookup(self._tables.columns[layer])
        all_grams = np.stack(np.meshgrid(*numbers, indexing="ij"), axis=-1).astype(np.int32)
        ends = np.arange(len(numbers), all_grams.size + 1, len(numbers), dtype=np.int64)
        low, high = self._lookups[layer].ranges(all_grams.reshape(-1), ends)
        held = low < high
        return Gram(layer, len(numbers), (low[held], high[held]), 0, 0)


class _Steps:
    """The parts that every match holds, with how far behind its start they can stand.

    What a match may hold or not stands between them as None, so that neighbours in the list
    are neighbours in the match.
    """

    def __init__(self) -> None:
        self.all: list[tuple[Item | Either | None, int, int]] = []
        self._low = self._high = 0

    def add(self, pattern: Pattern) -> None:
        if isinstance(pattern, Chain):
            for part in pattern.parts:
                self.add(part)
        elif isinstance(pattern, Repeat):
            for _ in range(pattern.least):
                self.add(pattern.part)
            if pattern.least != pattern.most:
                self.all.append((None, self._low, self._high))
                most = MOST_ITEMS if pattern.most is None else pattern.most
                self._high += (most - pattern.least) * lengths(pattern.part)[1]
        else:
            self.all.append((pattern, self._low, self._high))
            least, most = lengths(pattern)
            self._low += least
            self._high += most


def lengths(pattern: Pattern) -> tuple[int, int]:
    """The fewest and the most items that it can stand for."""
    if isinstance(pattern, Item):
        return 1, 1
    if isinstance(pattern, Repeat):
        least, most = lengths(pattern.part)
        times = MOST_ITEMS if pattern.most is None else pattern.most
        return least * pattern.least, most * times
    fewest, most_of_all = zip(*map(lengths, pattern.parts))
    if isinstance(pattern, Chain):
        return sum(fewest), sum(most_of_all)
    return min(fewest), max(most_of_all)


def _joined(anchors: Sequence[Anchor | None]) -> Iterator[Anchor]:
    """The anchors of all alternatives make one, if each has one."""
    if None not in anchors:
        yield tuple(gram for anchor in anchors if anchor is not None for gram in anchor)
