"""Regular expressions that a stranger may send: those that could run for ever are refused.

Python's engine tries every way to split a word among the repetitions of a pattern, and nothing
can stop it meanwhile. A repetition of something that repeats or branches itself, `(a+)+`, has
exponentially many ways. On the command line it is one's own time; here it is everybody's.
"""

from __future__ import annotations

import re

from rote.core.errors import OptionError
from rote.index import query as queries
from rote.index.querying.tree import Query, error_at

MOST_REPEATS = 4
"""Open repetitions beside each other: each multiplies the time by a word's length."""
LONGEST = 2_000
"""Characters of a query."""
_SET = r"\[\^?\]?(?:\\.|[^\]\\])*\]"
_PARTS = re.compile(rf"\\.|{_SET}|\(\?[a-zA-Z:=!<>#-]*|[()|]|[*+?]|\{{\d*,?\d*\}}|.", re.DOTALL)


def checked(query: str, layer: str) -> Query:
    """The query, read; one whose patterns could take too long is refused at the place."""
    if len(query) > LONGEST:
        raise OptionError(
            f"a query has at most {LONGEST:,} characters, and this one {len(query):,}"
        )
    parsed = queries.parse(query, layer)
    for test in parsed.tests:
        problem = costly(test.pattern)
        if problem:
            raise error_at(query, test.at, problem)
    return parsed


def costly(pattern: str) -> str:
    """Why a regular expression may take too long; empty if it does not."""
    repeats, depth = 0, list[bool]()
    closed = wild = False
    for part in _PARTS.findall(pattern):
        if part.startswith("("):
            depth.append(wild)
            wild = closed = False
            continue
        if part == ")":
            closed, wild = wild, (depth.pop() if depth else False) or wild
            continue
        if part == "|":
            wild = True
        elif part in ("*", "+") or part.startswith("{"):
            if closed:
                return (
                    "a repetition of something that repeats or branches itself could be tried for "
                    "ever: write the pattern without one inside the other"
                )
            if part in ("*", "+") or part.endswith(",}"):
                repeats += 1
            wild = True
        elif part == "?":
            wild = True
        closed = False
    if repeats > MOST_REPEATS:
        return f"more than {MOST_REPEATS} open repetitions in one pattern could be tried for ever"
    return ""
