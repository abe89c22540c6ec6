"""Which entries of a layer's vocabulary a condition holds for.

A pattern without signs of regular expressions is looked up, not tried on every entry; one that
begins with plain letters is tried only on entries that begin with them.

Regular expressions are matched by the engine that polars brings, Rust's `regex`, in its own
syntax. It reads every letter once: Python's engine tries every way to split a word among the
repetitions of an expression, so that one line sent by a stranger could hold the app for ever.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rote.index.columns.layer_column import LayerColumn, Vocabulary, decode_string
from rote.index.grams import ABSENT, END
from rote.index.query.tree import And, Condition, LayerTest, Not

Numbers = NDArray[np.int64]
_CACHED_TESTS = 256
_BLOCK = 1 << 16
_SIGNS = frozenset(".^$*+?{}[]|()")
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:[^\]\\]|\\.)*\]|\{\d+,?\d*\}|.", re.DOTALL)


RegexMemo = dict[LayerTest, Numbers]
"""What regular expressions matched in the vocabularies of one segment."""


class ConditionTables:
    """The conditions of one query over the columns of one segment, each worked out once."""

    def __init__(self, columns: Mapping[str, LayerColumn], memo: RegexMemo) -> None:
        self.columns = columns
        self._memo = memo
        self._tables: dict[tuple[str, Condition], NDArray[np.bool_]] = {}

    def table(self, layer: str, condition: Condition) -> NDArray[np.bool_]:
        """For each entry of the layer whether the condition, on this layer alone, holds."""
        table = self._tables.get((layer, condition))
        if table is None:
            table = self._work_out(self.columns[layer].vocabulary, condition)
            table[END] = False
            self._tables[layer, condition] = table
        return table

    def numbers(self, layer: str, condition: Condition) -> Numbers:
        """The numbers of the entries for which it holds; a rare word needs no table at all."""
        if isinstance(condition, LayerTest):
            return self._matching(condition, self.columns[layer].vocabulary)
        return np.flatnonzero(self.table(layer, condition))

    def _matching(self, test: LayerTest, vocabulary: Vocabulary) -> Numbers:
        numbers = self._memo.get(test)
        if numbers is None:
            if len(self._memo) >= _CACHED_TESTS:
                self._memo.clear()
            numbers = self._memo[test] = matching_entries(test, vocabulary)
        return numbers

    def _work_out(self, vocabulary: Vocabulary, condition: Condition) -> NDArray[np.bool_]:
        if isinstance(condition, LayerTest):
            table = np.zeros(len(vocabulary), np.bool_)
            table[self._matching(condition, vocabulary)] = True
            return table
        if isinstance(condition, Not):
            return ~self._work_out(vocabulary, condition.part)
        join = np.logical_and if isinstance(condition, And) else np.logical_or
        table = self._work_out(vocabulary, condition.parts[0])
        for part in condition.parts[1:]:
            join(table, self._work_out(vocabulary, part), out=table)
        return table


def matching_entries(test: LayerTest, vocabulary: Vocabulary) -> Numbers:
    """The numbers of all entries that pass the test, ascending."""
    low, high = 1, len(vocabulary)
    if not test.ignore_case:
        alternatives, is_literal = plain_prefixes(test.pattern)
        if is_literal:
            known = {vocabulary.find(literal) for literal in alternatives} - {ABSENT}
            return np.array(sorted(known), np.int64)
        if len(alternatives) == 1 and "|" not in test.pattern:
            prefix = alternatives[0]
            low = bisect_left(vocabulary, prefix, low)
            high = bisect_right(vocabulary, prefix, low, key=lambda entry: entry[: len(prefix)])
    numbers = [np.empty(0, np.int64)]
    expression = compile_regex(test.pattern, test.ignore_case)
    for start, strings in _vocabulary_blocks(vocabulary, low, high):
        numbers.append(np.flatnonzero(match_strings(expression, strings)) + start)
    return np.concatenate(numbers)


def check_test(test: LayerTest) -> int:
    """Refuse a test whose expression the engine does not take.

    Returns how many letters it has (`_count_letters`), 0 for plain text, which is looked up.
    """
    if not test.ignore_case and plain_prefixes(test.pattern)[1]:
        return 0
    compile_regex(test.pattern, test.ignore_case)
    return _count_letters(test.pattern)


def _count_letters(pattern: str) -> int:
    """How many letters an expression has, repetitions written out; signs of groups count too."""
    sums, atom = [0], 0  # of the groups around, and the last thing that may be repeated
    for token in _TOKEN.findall(pattern):
        if token[0] == "{" and token != "{":
            sums[-1] += atom * (max(map(int, re.findall(r"\d+", token))) - 1)
        elif token == "(":
            sums.append(0)
        elif token not in ("*", "+", "?", "|"):
            # In a comment a bracket may close what was never open.
            atom = sums.pop() if token == ")" and len(sums) > 1 else 1
            sums[-1] += atom
    return sum(sums)


def plain_prefixes(pattern: str) -> tuple[list[str], bool]:
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


def _vocabulary_blocks(
    vocabulary: Vocabulary, low: int, high: int
) -> Iterator[tuple[int, list[str]]]:
    """Entries in blocks: one by one would be slow, all at once would take too much memory."""
    for start in range(low, high, _BLOCK):
        ends = vocabulary.ends[start - 1 : min(start + _BLOCK, high)]
        block = vocabulary.data[int(ends[0]) : int(ends[-1])].tobytes()
        places = pairwise((ends - ends[0]).tolist())
        yield start, [decode_string(block[at:end]) for at, end in places]


_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_REPLACEMENT = "\ufffd"
"""Half a surrogate pair has no place in UTF-8: patterns and strings hold this instead."""
_PARSE_ERROR = re.compile(r"\n    [^\n]*\n    ( *)\^+\nerror: ([^\n]*)")
_INSTEAD = ': say it in several conditions, such as [lower="un.*" & lower!=".*ly"]'


class NotARegex(ValueError):
    """`at` is the offset in the expression, as far as it is known."""

    def __init__(self, problem: str, at: int = 0) -> None:
        super().__init__(problem)
        self.at = at


@lru_cache(maxsize=256)
def compile_regex(pattern: str, ignore_case: bool = False) -> str:
    """Anchor an expression at both ends; refuse one that the engine does not take.

    >>> compile_regex("un.*able")
    '\\\\A(?:un.*able)\\\\z'
    """
    pattern = _LONE_SURROGATE.sub(_REPLACEMENT, pattern)
    _check_regex(pattern)  # by itself: `a)|(b` would close the group around it
    group = f"(?{'i' if ignore_case else ''}:{pattern}"
    try:
        _check_regex(rf"\A{group})\z")
    except NotARegex:  # it ends in a comment, which the end of the line ends
        group += "\n"
        _check_regex(rf"\A{group})\z")
    return rf"\A{group})\z"


def match_strings(expression: str, strings: Sequence[str]) -> NDArray[np.bool_]:
    import polars as pl

    try:
        column = pl.Series(strings, dtype=pl.String)
    except UnicodeEncodeError:
        column = pl.Series(
            [_LONE_SURROGATE.sub(_REPLACEMENT, string) for string in strings], dtype=pl.String
        )
    is_match: NDArray[np.bool_] = column.str.contains(expression).to_numpy()
    return is_match


def _check_regex(expression: str) -> None:
    import polars as pl

    try:
        pl.Series([""], dtype=pl.String).str.contains(expression)
    except pl.exceptions.PolarsError as error:
        parsed = _PARSE_ERROR.search(str(error))
        if parsed is None:  # the one other thing that can be wrong with it
            problem = "it is too large: write it with fewer or smaller repetitions"
            raise NotARegex(problem) from None
        instead = _INSTEAD if "not supported" in parsed[2] else ""
        raise NotARegex(parsed[2] + instead, len(parsed[1])) from None
