"""Byte-level BPE in plain Python: the tokenizer of rote's open model.

A text is cut into words by an expression, a word into its UTF-8 bytes, and neighbours are merged
in the order in which the pairs were learned. Equal to the `tokenizers` library, token by token
and span by span (tests/models/test_tokens.py); every text comes back as it was. Lone surrogates,
which UTF-8 cannot hold, count as a question mark.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from rote.models.tokens.encoding import Encoded

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


_WORDS_KEPT = 50_000
_LONGEST_KEPT = 64

Spans = tuple[list[int], list[int], list[int]]


def letters() -> dict[int, str]:
    """The visible letter that stands for each byte in a vocabulary, as GPT-2 has it."""
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    found = {byte: chr(byte) for byte in visible}
    for byte in range(256):
        if byte not in found:
            found[byte] = chr(0x100 + len(found) - len(visible))
    return found


@dataclass(frozen=True, slots=True)
class ByteBPE:
    """`merges`: two tokens -> (rank, what they become)."""

    start: int
    start_text: str
    texts: Mapping[int, bytes]
    """What each token stands for; special ones are not among them."""
    added: Mapping[str, int]
    names: re.Pattern[str] | None
    """Special tokens, found in the text before anything else."""
    single: Sequence[int]
    """The token of each byte."""
    merges: Mapping[tuple[int, int], tuple[int, int]]
    words: re.Pattern[str]
    before: Sequence[int] = ()
    """Special tokens that the tokenizer puts before every text."""
    known: dict[str, Spans] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return max(*self.texts, *self.added.values()) + 1

    def encode(self, text: str, *, special: bool) -> Encoded:
        ids = list(self.before) if special else []
        starts = [0] * len(ids)
        ends = [0] * len(ids)
        clean = text.encode("utf-8", "replace").decode("utf-8")
        for word, at in self._pieces(clean):
            tokens, begins, finishes = self.known.get(word) or self._word(word)
            ids += tokens
            starts += [at + begin for begin in begins]
            ends += [at + finish for finish in finishes]
        return Encoded(ids, starts, ends)

    def decode(self, ids: Sequence[int], before: Sequence[int]) -> str:
        # What stands before does not matter: bytes are bytes.
        written = b"".join(self.texts.get(token, b"") for token in ids)
        return written.decode("utf-8", "replace")

    def _pieces(self, text: str) -> Iterator[tuple[str, int]]:
        """Words and special tokens, and where each begins."""
        at = 0
        for name in self.names.finditer(text) if self.names else ():
            yield from self._cut(text, at, name.start())
            yield name.group(), name.start()
            at = name.end()
        yield from self._cut(text, at, len(text))

    def _cut(self, text: str, at: int, end: int) -> Iterator[tuple[str, int]]:
        # On a text of its own, since an expression may look at what follows a word.
        part = text if end - at == len(text) else text[at:end]
        reached = 0
        for word in self.words.finditer(part):
            if word.start() > reached:
                yield part[reached : word.start()], at + reached
            yield word.group(), at + word.start()
            reached = word.end()
        if reached < len(part):
            yield part[reached:], at + reached

    def _word(self, word: str) -> Spans:
        if word in self.added:
            return [self.added[word]], [0], [len(word)]
        data = word.encode("utf-8")
        tokens = merged([self.single[byte] for byte in data], self.merges)
        # The character of each byte, and one more behind the last.
        owner = [place for place, letter in enumerate(word) for _ in letter.encode("utf-8")]
        reached = [0]
        for token in tokens:
            reached.append(reached[-1] + len(self.texts[token]))
        found = (
            tokens,
            [owner[first] for first in reached[:-1]],
            [owner[after - 1] + 1 for after in reached[1:]],
        )
        if len(word) <= _LONGEST_KEPT:
            if len(self.known) >= _WORDS_KEPT:
                self.known.clear()
            self.known[word] = found
        return found


def merged(tokens: Sequence[int], merges: Mapping[tuple[int, int], tuple[int, int]]) -> list[int]:
    """Neighbours merged, the pair learned first before the others, from left to right.

    Pairs wait in a queue; those whose parts have changed meanwhile are passed over, so that a
    long word takes time in proportion to its length and not to its square.
    """
    tokens = list(tokens)
    after = [*range(1, len(tokens)), -1]
    before = list(range(-1, len(tokens) - 1))
    waiting = [
        (merges[pair][0], place, merges[pair][1])
        for place, pair in enumerate(pairwise(tokens))
        if pair in merges
    ]
    heapq.heapify(waiting)
    while waiting:
        _, place, becomes = heapq.heappop(waiting)
        second = after[place]
        if tokens[place] < 0 or second < 0:
            continue
        found = merges.get((tokens[place], tokens[second]))
        if found is None or found[1] != becomes:
            continue
        tokens[place], tokens[second] = becomes, -1
        after[place] = after[second]
        if after[place] >= 0:
            before[after[place]] = place
        for left, right in ((before[place], place), (place, after[place])):
            pair = (tokens[left], tokens[right])
            if left >= 0 and right >= 0 and pair in merges:
                rank, new = merges[pair]
                heapq.heappush(waiting, (rank, left, new))
    return [token for token in tokens if token >= 0]
