"""The pattern of a query as a machine that reads one item after the other.

Glushkov's construction: a state for each item of the pattern, repetitions written out, so that
every step reads an item. `[pos="JJ" | lower="x"]` becomes two states, so that a state asks every
layer for one thing. Made once for a query; the tables of a segment come later (`plan.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import TypeAlias

from rote.core.errors import OptionError
from rote.index.query.match import MOST_STATES
from rote.index.query.tree import (
    And,
    Chain,
    Condition,
    Item,
    Not,
    Or,
    Pattern,
    Query,
    Repeat,
    tests_of,
)

Conjunct: TypeAlias = Mapping[str, Condition]
"""What each layer is asked for."""


@dataclass(frozen=True, slots=True)
class Automaton:
    """What the item read in each state is asked for, and which states may follow; sets are bits."""

    asked: tuple[Conjunct, ...]
    follow: tuple[int, ...]
    first: int
    last: int


def automaton(query: Query) -> Automaton:
    """The pattern as a machine; refused if it needs too many states."""
    building = _Building(query)
    part = building.part(query.pattern)
    return Automaton(tuple(building.asked), tuple(building.follow), part.first, part.last)


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of the machine: whether it can be nothing, its first states, its last."""

    nothing: bool
    first: int
    last: int


@dataclass(slots=True)
class _Building:
    query: Query
    asked: list[Conjunct] = field(default_factory=list)
    follow: list[int] = field(default_factory=list)

    def part(self, pattern: Pattern) -> _Part:
        if isinstance(pattern, Item):
            states = 0
            for conjunct in asked_of(pattern):
                states |= self.state(conjunct)
            return _Part(False, states, states)
        if isinstance(pattern, Repeat):
            return self.repeated(pattern)
        if isinstance(pattern, Chain):
            whole = _Part(True, 0, 0)
            for part in pattern.parts:
                whole = self.joined(whole, self.part(part))
            return whole
        parts = [self.part(part) for part in pattern.parts]
        first = last = 0
        for one in parts:
            first, last = first | one.first, last | one.last
        return _Part(any(one.nothing for one in parts), first, last)

    def state(self, asked: Conjunct) -> int:
        if len(self.asked) == MOST_STATES:
            raise OptionError(
                f"the query needs more than {MOST_STATES} items, repetitions written out"
                f" ([]{{1,3}} counts as 3); ask for less\n  {self.query.text}"
            )
        self.asked.append(asked)
        self.follow.append(0)
        return 1 << (len(self.asked) - 1)

    def joined(self, left: _Part, right: _Part) -> _Part:
        self.lead(left.last, right.first)
        first = left.first | right.first if left.nothing else left.first
        last = left.last | right.last if right.nothing else right.last
        return _Part(left.nothing and right.nothing, first, last)

    def lead(self, states: int, following: int) -> None:
        for state in range(len(self.follow)):
            if states >> state & 1:
                self.follow[state] |= following

    def repeated(self, pattern: Repeat) -> _Part:
        """As x x (x (x)?)?: what may be left out is nested, so that few states are on at once."""
        copies = max(1, pattern.least) if pattern.most is None else pattern.most
        parts = [self.part(pattern.part) for _ in range(copies)]
        if pattern.most is None:
            self.lead(parts[-1].last, parts[-1].first)
        whole = _Part(True, 0, 0)
        for i in reversed(range(copies)):
            whole = self.joined(parts[i], whole)
            if i >= pattern.least:
                whole = _Part(True, whole.first, whole.last)
        return whole


def asked_of(item: Item) -> tuple[Conjunct, ...]:
    """What an item is asked for, as alternatives that ask each layer for one thing."""
    return ({},) if item.condition is None else tuple(_alternatives(item.condition, False))


def _alternatives(condition: Condition, negated: bool) -> list[dict[str, Condition]]:
    layers = {test.layer for test in tests_of(condition)}
    if len(layers) == 1:
        return [{layers.pop(): Not(condition) if negated else condition}]
    if isinstance(condition, Not):
        return _alternatives(condition.part, not negated)
    assert isinstance(condition, And | Or)
    parts = [_alternatives(part, negated) for part in condition.parts]
    if isinstance(condition, Or) != negated:
        return _merged([one for part in parts for one in part])
    found: list[dict[str, Condition]] = [{}]
    for part in parts:
        found = [_both(left, right) for left, right in product(found, part)]
        if len(found) > MOST_STATES:
            raise OptionError(
                "the conditions of an item have too many combinations of | and & over several"
                f" layers; ask for less\n  [{condition}]"
            )
    return found


def _both(left: dict[str, Condition], right: dict[str, Condition]) -> dict[str, Condition]:
    both = dict(left)
    for layer, condition in right.items():
        both[layer] = And((both[layer], condition)) if layer in both else condition
    return both


def _merged(alternatives: list[dict[str, Condition]]) -> list[dict[str, Condition]]:
    """Those that ask one layer only become one for each layer: fewer states."""
    alone: dict[str, Condition] = {}
    others = []
    for one in alternatives:
        if len(one) > 1:
            others.append(one)
            continue
        ((layer, condition),) = one.items()
        alone[layer] = Or((alone[layer], condition)) if layer in alone else condition
    return [{layer: condition} for layer, condition in alone.items()] + others
