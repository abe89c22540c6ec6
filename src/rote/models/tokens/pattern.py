"""The expression that cuts a text into words, carried over to Python's `re`.

Tokenizers cut with the Oniguruma library. What both read alike is carried over; `\\s` is written
out, since Python counts four control characters more as spaces. Anything else is left to the
`tokenizers` package: a cut in another place would be another model.
"""

from __future__ import annotations

import re

_SPACES = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_ESCAPES = {"n": r"\n", "r": r"\r", "t": r"\t"}
_GROUPS = ("(?:", "(?!", "(?=")
_COUNT = re.compile(r"\{\d+(?:,\d*)?\}")


def carried_over(pattern: str) -> re.Pattern[str] | None:
    """The same expression for Python; None where it may mean something else there."""
    written: list[str] = []
    at = 0
    while at < len(pattern):
        found = _next(pattern, at)
        if found is None:
            return None
        text, at = found
        written.append(text)
    try:
        compiled = re.compile("".join(written))
    except re.error:
        return None
    return None if compiled.match("") else compiled


def _next(pattern: str, at: int) -> tuple[str, int] | None:
    """The next part of an expression and where it ends."""
    letter = pattern[at]
    if letter == "\\":
        return _escape(pattern[at + 1 : at + 2], at, within=False)
    if letter == "[":
        return _class(pattern, at)
    if letter == "(":
        for group in _GROUPS:
            if pattern.startswith(group, at):
                return group, at + len(group)
        return None if pattern.startswith("(?", at) else ("(?:", at + 1)
    if letter in ")|":
        return letter, at + 1
    if letter in "?*+{":
        return _repeat(pattern, at)
    if letter in ".^$]}":
        return None
    return re.escape(letter), at + 1


def _repeat(pattern: str, at: int) -> tuple[str, int] | None:
    if pattern[at] == "{":
        count = _COUNT.match(pattern, at)
        # After a count, both marks mean different things to the two.
        if count is None or pattern[count.end() : count.end() + 1] in ("?", "+"):
            return None
        return count.group(), count.end()
    follower = pattern[at + 1 : at + 2]
    if follower in ("+", "*", "{"):
        return None
    lazy = "?" if follower == "?" else ""
    return pattern[at] + lazy, at + 1 + len(lazy)


def _escape(letter: str, at: int, *, within: bool) -> tuple[str, int] | None:
    if letter == "s":
        return (_SPACES if within else f"[{_SPACES}]"), at + 2
    if letter == "S" and not within:
        return f"[^{_SPACES}]", at + 2
    if letter in _ESCAPES:
        return _ESCAPES[letter], at + 2
    if letter and letter.isascii() and not letter.isalnum():
        return re.escape(letter), at + 2
    return None


def _class(pattern: str, at: int) -> tuple[str, int] | None:
    """`[...]`, without classes inside and without operators."""
    written = "["
    at += 1
    if pattern.startswith("^", at):
        written, at = "[^", at + 1
    first = at
    while at < len(pattern):
        letter = pattern[at]
        if letter == "]":
            return (written + "]", at + 1) if at > first else None
        if letter == "[" or pattern.startswith("&&", at):
            return None
        if letter == "\\":
            found = _escape(pattern[at + 1 : at + 2], at, within=True)
            if found is None:
                return None
            text, at = found
        else:
            text, at = (letter if letter == "-" else re.escape(letter)), at + 1
        written += text
    return None
