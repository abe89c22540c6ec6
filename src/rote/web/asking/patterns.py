"""Regular expressions that a stranger may send: those that could run for ever are refused.

Python's engine tries every way to split a word among the repetitions of a pattern, and nothing
can stop it meanwhile. A repetition of something that repeats or branches itself, `(a+)+`, has
exponentially many ways and is refused; of the others the ways are counted, over all words that the
pattern is tried on. On the command line it is one's own time; here it is everybody's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import OptionError
from rote.index import query as queries
from rote.index.querying.tree import Query, error_at

MOST_WAYS = 2e8
"""Ways to match all words of a layer, at worst: some seconds of work."""
Lengths = NDArray[np.float64]
"""The lengths of all words of a layer."""
LONGEST = 2_000
"""Characters of a query."""
_SET = r"\[\^?\]?(?:\\.|[^\]\\])*\]"
_PARTS = re.compile(rf"\\.|{_SET}|\(\?[a-zA-Z:=!<>#-]*|[()|]|[*+?]|\{{\d*,?\d*\}}|.", re.DOTALL)


def checked(query: str, layer: str, lengths: Callable[[str], Lengths]) -> Query:
    """The query, read; one whose patterns could take too long is refused at the place."""
    if len(query) > LONGEST:
        raise OptionError(
            f"a query has at most {LONGEST:,} characters, and this one {len(query):,}"
        )
    parsed = queries.parse(query, layer)
    for test in parsed.tests:
        problem = costly(test.pattern, partial(lengths, test.layer))
        if problem:
            raise error_at(query, test.at, problem)
    return parsed


def lengths_of(vocabulary: Sequence[str]) -> Lengths:
    return np.fromiter(map(len, vocabulary), np.float64, len(vocabulary))


def costly(pattern: str, lengths: Callable[[], Lengths]) -> str:
    """Why a regular expression may take too long; empty if it does not."""
    open_ones, ways = 0, 1.0
    depth = list[bool]()
    closed = wild = False
    for part in _PARTS.findall(pattern):
        if part.startswith("("):
            depth.append(wild)
            wild = closed = False
            continue
        if part == ")":
            closed, wild = wild, (depth.pop() if depth else False) or wild
            continue
        if part in ("*", "+") or part.startswith("{"):
            if closed:
                return (
                    "a repetition of something that repeats or branches itself could be tried for "
                    "ever: write the pattern without one inside the other"
                )
            choices = _choices(part)
            open_ones, ways = open_ones + (choices is None), ways * (choices or 1)
            wild = True
        elif part in ("?", "|"):
            ways *= 2
            wild = True
        closed = False
    # One repetition alone is tried once for each letter, which every search does anyway.
    if (open_ones > 1 or ways > 2) and float((ways * lengths() ** open_ones).sum()) > MOST_WAYS:
        return (
            "so many repetitions in one pattern could be tried for ever on the words of this "
            "index: write it with fewer"
        )
    return ""


def _choices(part: str) -> int | None:
    """How many numbers of times a repetition allows; None for any number."""
    least, comma, most = part.strip("{}").partition(",")
    if part in ("*", "+") or (comma and not most):
        return None
    return int(most) - int(least or 0) + 1 if comma else 1
