"""Which entries of a layer's vocabulary a condition holds for.

A pattern without signs of regular expressions is looked up, not tried on every entry; one that
begins with plain letters is tried only on entries that begin with them.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rote.index.columns.parts import ABSENT, END, Column, Vocabulary, decoded
from rote.index.query.regexes import Regex, matches, regex
from rote.index.query.tree import And, Condition, Not, Test

Numbers = NDArray[np.int64]
_REMEMBERED = 256
_BLOCK = 1 << 16
_SIGNS = frozenset(".^$*+?{}[]|()")


class Memo:
    """What regular expressions matched in the vocabularies of one segment."""

    def __init__(self) -> None:
        self._held: dict[Test, Numbers] = {}

    def numbers(self, test: Test, vocabulary: Vocabulary) -> Numbers:
        """The numbers of all entries that pass the test, ascending."""
        held = self._held.get(test)
        if held is None:
            if len(self._held) >= _REMEMBERED:
                self._held.clear()
            held = self._held[test] = matching(test, vocabulary)
        return held


class Tables:
    """The conditions of one query over the columns of one segment, each worked out once."""

    def __init__(self, columns: Mapping[str, Column], memo: Memo) -> None:
        self.columns = columns
        self._memo = memo
        self._held: dict[tuple[str, Condition], NDArray[np.bool_]] = {}

    def table(self, layer: str, condition: Condition) -> NDArray[np.bool_]:
        """For each entry of the layer whether the condition, on this layer alone, holds."""
        held = self._held.get((layer, condition))
        if held is None:
            held = self._work_out(self.columns[layer].vocabulary, condition)
            held[END] = False
            self._held[layer, condition] = held
        return held

    def numbers(self, layer: str, condition: Condition) -> Numbers:
        """The numbers of the entries for which it holds; a rare word needs no table at all."""
        if isinstance(condition, Test):
            return self._memo.numbers(condition, self.columns[layer].vocabulary)
        return np.flatnonzero(self.table(layer, condition))

    def _work_out(self, vocabulary: Vocabulary, condition: Condition) -> NDArray[np.bool_]:
        if isinstance(condition, Test):
            table = np.zeros(len(vocabulary), np.bool_)
            table[self._memo.numbers(condition, vocabulary)] = True
            return table
        if isinstance(condition, Not):
            return ~self._work_out(vocabulary, condition.part)
        join = np.logical_and if isinstance(condition, And) else np.logical_or
        table = self._work_out(vocabulary, condition.parts[0])
        for part in condition.parts[1:]:
            join(table, self._work_out(vocabulary, part), out=table)
        return table


def matching(test: Test, vocabulary: Vocabulary) -> Numbers:
    """The numbers of all entries that pass the test, ascending."""
    low, high = 1, len(vocabulary)
    if not test.ignore_case:
        alternatives, whole = plain(test.pattern)
        if whole:
            known = {vocabulary.find(literal) for literal in alternatives} - {ABSENT}
            return np.array(sorted(known), np.int64)
        if len(alternatives) == 1 and "|" not in test.pattern:
            prefix = alternatives[0]
            low = bisect_left(vocabulary, prefix, low)
            high = bisect_right(vocabulary, prefix, low, key=lambda entry: entry[: len(prefix)])
    found = [np.empty(0, np.int64)]
    expression = regex(test.pattern, test.ignore_case)
    for start, strings in _blocks(vocabulary, low, high):
        found.append(np.flatnonzero(matches(expression, strings)) + start)
    return np.concatenate(found)


def checked(test: Test) -> Regex | None:
    """The expression of a test, refused if it is none; None for plain text, which is looked up."""
    whole = not test.ignore_case and plain(test.pattern)[1]
    return None if whole else regex(test.pattern, test.ignore_case)


def plain(pattern: str) -> tuple[list[str], bool]:
    """The strings between the signs `|`, and whether they are all of the pattern.

    If not, they go up to the first thing that is not a plain character, and the last of them
    is what every match of that alternative begins with.
    """
    alternatives = [""]
    for piece in re.findall(r"\\.|.", pattern, re.DOTALL):
        if piece == "|":
            alternatives.append("")
        elif piece in _SIGNS or (piece[0] == "\\" and (piece[1].isalnum() or piece[1] == "_")):
            if piece in "*?{":
                # It may be there no time at all.
                alternatives[-1] = alternatives[-1][:-1]
            return alternatives, False
        else:
            alternatives[-1] += piece[-1]
    return alternatives, True


def _blocks(vocabulary: Vocabulary, low: int, high: int) -> Iterator[tuple[int, list[str]]]:
    """Entries in blocks: one by one would be slow, all at once would take too much memory."""
    for start in range(low, high, _BLOCK):
        ends = vocabulary.ends[start - 1 : min(start + _BLOCK, high)]
        block = vocabulary.data[int(ends[0]) : int(ends[-1])].tobytes()
        places = pairwise((ends - ends[0]).tolist())
        yield start, [decoded(block[at:end]) for at, end in places]
