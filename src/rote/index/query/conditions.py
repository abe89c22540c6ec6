"""Which entries of a layer's vocabulary a condition holds for.

A pattern without signs of regular expressions is looked up, not tried on every entry; one that
begins with plain letters is tried only on entries that begin with them.

Regular expressions as Python writes them, for an engine that cannot be hung by one.

Python's engine tries every way to split a word among the repetitions of an expression, and nothing
can stop it meanwhile: one line sent by a stranger could hold the app for ever. Rust's engine,
which polars brings, reads every letter once. It writes some things otherwise, and means other
things by what looks the same (`a++`, `[a&&b]`, `\\<`); so Python's own parser reads the expression
and it is written anew. What cannot be matched letter by letter is refused.
"""

from __future__ import annotations

import re
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.index.columns.layer_column import ABSENT, END, LayerColumn, Vocabulary, decode_string
from rote.index.query.tree import And, Condition, Not, Test

Numbers = NDArray[np.int64]
_CACHED_TESTS = 256
_BLOCK = 1 << 16
_SIGNS = frozenset(".^$*+?{}[]|()")


class RegexMemo:
    """What regular expressions matched in the vocabularies of one segment."""

    def __init__(self) -> None:
        self._held: dict[Test, Numbers] = {}

    def numbers(self, test: Test, vocabulary: Vocabulary) -> Numbers:
        """The numbers of all entries that pass the test, ascending."""
        numbers = self._held.get(test)
        if numbers is None:
            if len(self._held) >= _CACHED_TESTS:
                self._held.clear()
            numbers = self._held[test] = matching_entries(test, vocabulary)
        return numbers


class ConditionTables:
    """The conditions of one query over the columns of one segment, each worked out once."""

    def __init__(self, columns: Mapping[str, LayerColumn], memo: RegexMemo) -> None:
        self.columns = columns
        self._memo = memo
        self._held: dict[tuple[str, Condition], NDArray[np.bool_]] = {}

    def table(self, layer: str, condition: Condition) -> NDArray[np.bool_]:
        """For each entry of the layer whether the condition, on this layer alone, holds."""
        table = self._held.get((layer, condition))
        if table is None:
            table = self._work_out(self.columns[layer].vocabulary, condition)
            table[END] = False
            self._held[layer, condition] = table
        return table

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


def matching_entries(test: Test, vocabulary: Vocabulary) -> Numbers:
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


def check_test(test: Test) -> Regex | None:
    """The expression of a test, refused if it is none; None for plain text, which is looked up."""
    is_literal = not test.ignore_case and plain_prefixes(test.pattern)[1]
    return None if is_literal else compile_regex(test.pattern, test.ignore_case)


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


_MOST = (1 << 32) - 1
"""What the parser writes for "as often as you like"; no engine takes so many."""
_FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL | re.ASCII
_LONE = re.compile("[\ud800-\udfff]")
_LOST = 0xFFFD
"""Half a surrogate pair has no place in UTF-8; a pattern that is no plain text sees this."""
_SETS = {
    "DIGIT": (r"\p{Nd}", "0-9"),
    "SPACE": (r"\s\x1c-\x1f", r" \t-\r"),
    "WORD": (r"\p{L}\p{N}_", "A-Za-z0-9_"),
}
"""Digits, spaces and letters as Python knows them: Unicode's, and those of ASCII."""
_PLACES = {
    "AT_BEGINNING": (r"\A", "(?m:^)"),
    "AT_END": (r"\z", "(?m:$)"),
    "AT_BEGINNING_STRING": (r"\A",) * 2,
    "AT_END_STRING": (r"\z",) * 2,
    "AT_BOUNDARY": (r"\b",) * 2,
    "AT_NON_BOUNDARY": (r"\B",) * 2,
}
_REFUSED = {
    "ASSERT": "look-ahead and look-behind",
    "ASSERT_NOT": "look-ahead and look-behind",
    "GROUPREF": "references to a group",
    "GROUPREF_EXISTS": "references to a group",
    "ATOMIC_GROUP": "atomic groups",
    "POSSESSIVE_REPEAT": "possessive repetitions",
}


@dataclass(frozen=True, slots=True)
class Regex:
    """An expression as Rust writes it, and how many letters it has, repetitions written out."""

    text: str
    letters: int = 0


class NotARegex(ValueError):
    """`at` is the place in the expression, as far as it is known."""

    def __init__(self, problem: str, at: int = 0) -> None:
        super().__init__(problem)
        self.at = at


@lru_cache(maxsize=256)
def compile_regex(pattern: str, ignore_case: bool = False) -> Regex:
    """The expression, to match a string from end to end; refused with what is wrong about it."""
    import polars as pl

    parsed, flags = _parsed(pattern, re.IGNORECASE if ignore_case else 0)
    inside = _all(parsed, flags)
    whole = Regex(rf"\A{_in_case(inside.text, flags)}\z", inside.letters)
    try:
        pl.Series([""], dtype=pl.String).str.contains(whole.text)
    except pl.exceptions.PolarsError:
        # Written by us, so that there is one thing only that can be wrong with it.
        raise NotARegex("it is too large: write it with fewer or smaller repetitions") from None
    return whole


def match_strings(found: Regex, strings: Sequence[str]) -> NDArray[np.bool_]:
    """Which of the strings match."""
    import polars as pl

    try:
        column = pl.Series(strings, dtype=pl.String)
    except UnicodeEncodeError:
        column = pl.Series([_LONE.sub(chr(_LOST), one) for one in strings], dtype=pl.String)
    held: NDArray[np.bool_] = column.str.contains(found.text).to_numpy()
    return held


def _parsed(pattern: str, flags: int) -> tuple[Any, int]:
    if hasattr(re, "_parser"):
        parser = re._parser
    else:  # Python 3.10
        import sre_parse as parser
    with warnings.catch_warnings():
        # "[[]" is a fine way to ask for a bracket, whatever sets may mean one day.
        warnings.simplefilter("ignore", FutureWarning)
        try:
            parsed = parser.parse(pattern, flags)
        except re.error as error:
            raise NotARegex(error.msg, error.pos or 0) from None
        except (OverflowError, RecursionError) as error:
            raise NotARegex(str(error)) from None
    return parsed, parsed.state.flags & _FLAGS


def _all(nodes: Iterable[Any], flags: int) -> Regex:
    parts = [_one(str(op), given, flags) for op, given in nodes]
    return Regex("".join(part.text for part in parts), sum(part.letters for part in parts))


def _one(op: str, given: Any, flags: int) -> Regex:
    if op == "LITERAL":
        return Regex(_letter(given), 1)
    if op == "NOT_LITERAL":
        return Regex(f"[^{_letter(given)}]", 1)
    if op == "ANY":
        return Regex("(?s:.)" if flags & re.DOTALL else r"[^\n]", 1)
    if op == "IN":
        return Regex("[" + "".join(_member(str(o), g, flags) for o, g in given) + "]", 1)
    if op == "AT":
        return Regex(_PLACES[str(given)][bool(flags & re.MULTILINE)])
    if op == "BRANCH":
        parts = [_all(part, flags) for part in given[1]]
        text = "|".join(part.text for part in parts)
        return Regex(f"(?:{text})", sum(part.letters for part in parts))
    if op == "SUBPATTERN":
        _, on, off, nodes = given
        inner = (flags | on & _FLAGS) & ~off
        part = _all(nodes, inner)
        return Regex(_in_case(part.text, inner), part.letters)
    if op in ("MAX_REPEAT", "MIN_REPEAT"):
        least, most, nodes = given
        part, most = _all(nodes, flags), int(most)
        times = f"{{{least},}}" if most >= _MOST else f"{{{least},{most}}}"
        written_out = int(least) + 1 if most >= _MOST else most
        return Regex(f"(?:{part.text}){times}", part.letters * written_out)
    what = _REFUSED.get(op, f"{op.lower()} in a pattern")
    raise NotARegex(
        f"{what} cannot be matched here: say it in several conditions, such as "
        '[lower="un.*" & lower!=".*ly"]'
    )


def _in_case(text: str, flags: int) -> str:
    return f"(?{'i' if flags & re.IGNORECASE else '-i'}:{text})"


def _member(op: str, given: Any, flags: int) -> str:
    """One thing in a set."""
    if op == "NEGATE":
        return "^"
    if op == "LITERAL":
        return _letter(given)
    if op == "RANGE":
        low, high = given
        # Whatever lies between the two halves of UTF-16 has no place.
        low, high = (0xE000 if _is_half(low) else low), (0xD7FF if _is_half(high) else high)
        return f"{_letter(low)}-{_letter(high)}" if low <= high else _letter(_LOST)
    name = str(given).removeprefix("CATEGORY_")
    text = _SETS[name.removeprefix("NOT_")][bool(flags & re.ASCII)]
    return f"[^{text}]" if name.startswith("NOT_") else text


def _letter(code: int) -> str:
    return rf"\x{{{_LOST if _is_half(code) else code:x}}}"


def _is_half(code: int) -> bool:
    return 0xD800 <= code <= 0xDFFF
