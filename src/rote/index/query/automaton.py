"""The pattern of a query as an automaton that reads one item after the other, and its kernel.

Glushkov's construction: a state for each item of the pattern, repetitions written out, so that
every step reads an item. `[pos="JJ" | lower="x"]` becomes two states, so that a state asks every
layer for one thing. Made once for a query; the tables of a segment come later (`plan.py`).

The kernel holds at most 64 states as the bits of one number: state s is "the item just read was
the one at position s of the pattern". For every number of a layer's vocabulary a table says at
which positions it may stand; an item of several layers may stand where all of them allow it. The
document's end may stand nowhere, so no match crosses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import OptionError
from rote.core.kernels import njit
from rote.index.columns.intrinsics import load64
from rote.index.columns.packed_array import Bytes, read
from rote.index.query.tree import (
    And,
    Concatenation,
    Condition,
    ItemPattern,
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

    conjuncts: tuple[Conjunct, ...]
    follow: tuple[int, ...]
    first: int
    last: int


def build_automaton(query: Query) -> Automaton:
    """The pattern as a machine; refused if it needs too many states."""
    building = _AutomatonBuilder(query)
    part = building.part(query.pattern)
    return Automaton(tuple(building.conjuncts), tuple(building.follow), part.first, part.last)


@dataclass(frozen=True, slots=True)
class _StateSet:
    """A part of the machine: whether it can be nothing, its first states, its last."""

    nothing: bool
    first: int
    last: int


@dataclass(slots=True)
class _AutomatonBuilder:
    query: Query
    conjuncts: list[Conjunct] = field(default_factory=list)
    follow: list[int] = field(default_factory=list)

    def part(self, pattern: Pattern) -> _StateSet:
        if isinstance(pattern, ItemPattern):
            states = 0
            for conjunct in conjuncts_of(pattern):
                states |= self.state(conjunct)
            return _StateSet(False, states, states)
        if isinstance(pattern, Repeat):
            return self.repeat(pattern)
        if isinstance(pattern, Concatenation):
            states_so_far = _StateSet(True, 0, 0)
            for part in pattern.parts:
                states_so_far = self.join(states_so_far, self.part(part))
            return states_so_far
        parts = [self.part(part) for part in pattern.parts]
        first = last = 0
        for states_of_part in parts:
            first, last = first | states_of_part.first, last | states_of_part.last
        return _StateSet(any(states_of_part.nothing for states_of_part in parts), first, last)

    def state(self, conjunct: Conjunct) -> int:
        if len(self.conjuncts) == MAX_STATES:
            raise OptionError(
                f"the query needs more than {MAX_STATES} items, repetitions written out ([]{{1,3}} "
                f"counts as 3); simplify it\n  {self.query.text}"
            )
        self.conjuncts.append(conjunct)
        self.follow.append(0)
        return 1 << (len(self.conjuncts) - 1)

    def join(self, left: _StateSet, right: _StateSet) -> _StateSet:
        self.lead(left.last, right.first)
        first = left.first | right.first if left.nothing else left.first
        last = left.last | right.last if right.nothing else right.last
        return _StateSet(left.nothing and right.nothing, first, last)

    def lead(self, states: int, following: int) -> None:
        for state in range(len(self.follow)):
            if states >> state & 1:
                self.follow[state] |= following

    def repeat(self, pattern: Repeat) -> _StateSet:
        """As x x (x (x)?)?: what may be left out is nested, so that few states are on at once."""
        copies = max(1, pattern.least) if pattern.most is None else pattern.most
        parts = [self.part(pattern.part) for _ in range(copies)]
        if pattern.most is None:
            self.lead(parts[-1].last, parts[-1].first)
        states = _StateSet(True, 0, 0)
        for i in reversed(range(copies)):
            states = self.join(parts[i], states)
            if i >= pattern.least:
                states = _StateSet(True, states.first, states.last)
        return states


def conjuncts_of(item: ItemPattern) -> tuple[Conjunct, ...]:
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
        return _merge_single_layer([alternative for part in parts for alternative in part])
    combinations: list[dict[str, Condition]] = [{}]
    for part in parts:
        combinations = [
            _join_conjuncts(first, second) for first, second in product(combinations, part)
        ]
        if len(combinations) > MAX_STATES:
            raise OptionError(
                "the conditions of an item have too many combinations of | and & over several "
                f"layers; simplify them\n  [{condition}]"
            )
    return combinations


def _join_conjuncts(
    left: dict[str, Condition], right: dict[str, Condition]
) -> dict[str, Condition]:
    both = dict(left)
    for layer, condition in right.items():
        both[layer] = And((both[layer], condition)) if layer in both else condition
    return both


def _merge_single_layer(alternatives: list[dict[str, Condition]]) -> list[dict[str, Condition]]:
    """Those that ask one layer only become one for each layer: fewer states."""
    alone: dict[str, Condition] = {}
    others = []
    for alternative in alternatives:
        if len(alternative) > 1:
            others.append(alternative)
            continue
        ((layer, condition),) = alternative.items()
        alone[layer] = Or((alone[layer], condition)) if layer in alone else condition
    return [{layer: condition} for layer, condition in alone.items()] + others


MAX_STATES = 64
MAX_ITEMS = 100
"""A match holds at most so many items, so that `[]*` costs a bounded time at every position."""


class Machine(NamedTuple):
    """A pattern over the columns of one segment, as the kernels take it.

    `origin` is the data of one column; the data of column c begins `offsets[c]` bytes behind
    its first byte. (A tuple of arrays would be compiled anew for every number of layers.) The
    table of column c begins at `bases[c]` of `tables`. State s may be followed by the states
    `follow[s]`; a match begins in one of `first` and may end in those of `last`.
    """

    origin: Bytes
    offsets: NDArray[np.int64]
    bits: NDArray[np.int64]
    bases: NDArray[np.int64]
    tables: NDArray[np.uint64]
    follow: NDArray[np.uint64]
    first: np.uint64
    last: np.uint64
    sentence_last: Bytes
    within: bool


@njit(cache=True, nogil=True)
def match_machine(machine, positions, position, stop, longest, starts, ends):  # type: ignore[no-untyped-def]
    """Try the positions from number `position` to `stop` of a list, or until `starts` is full.

    An empty list stands for that of all positions. A match goes as far as it can, or if not
    `longest` only as far as it must, which is sooner found out. Says how many there are.
    """
    # In one piece, and the machine taken apart: numba would count references to the arrays at
    # every position, at a hundred times the cost of reading it.
    origin, offsets, bits, bases, tables, follow, first, last, sentence_last, within = machine
    one_bit, bits_first = np.uint64(1), bits[0]
    matches = 0
    for i in range(position, stop):
        if matches == len(starts):
            break
        start = positions[i] if len(positions) else i
        # Most positions fail here, so the first column is asked first, and quickly.
        if tables[read(origin, bits_first, start)] & first == 0:
            continue
        at, end, reached = start, 0, first
        while reached != 0:
            states = reached
            for column in range(len(offsets)):
                bit = at * bits[column]
                word = load64(origin, offsets[column] + (bit >> 3)) >> np.uint64(bit & 7)
                number = np.int64(word & ((one_bit << np.uint64(bits[column])) - one_bit))
                states &= tables[bases[column] + number]
                if states == 0:
                    break
            if states == 0:
                break
            at += 1
            if states & last != 0:
                end = at
                if not longest:
                    break
            if at - start == MAX_ITEMS or (within and read(sentence_last, 1, at - 1) != 0):
                break
            reached, state = np.uint64(0), 0
            while states != 0:
                if states & one_bit != 0:
                    reached |= follow[state]
                states >>= one_bit
                state += 1
        if end != 0:
            starts[matches], ends[matches] = start, end
            matches += 1
    return matches


@njit(cache=True, nogil=True)
def collect_ranges(data, bits, low, high, out):  # type: ignore[no-untyped-def]
    """The numbers of a packed column in several ranges, one range behind the other."""
    filled = 0
    for i in range(len(low)):
        for j in range(low[i], high[i]):
            out[filled] = read(data, bits, j)
            filled += 1
