"""The query language of `rote search`: text in, a tree out, and the doors to the search itself.

    "of" "the"      [pos="JJ"]{1,3} [lemma="dog"]      ("a" | "the") []? "man" within s
    gold~ medal~    [lower="walk~"]

`parse` makes a `Query` (`tree.py`), `str` of it gives the canonical form. `find` and
`count` run it over the columns of one segment (`plan.py`). docs/queries.md is the guide for users.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn, TypeVar

from rote.annotate.glyphs import FOLDS
from rote.index.query.automaton import build_automaton
from rote.index.query.conditions import NotARegex, RegexMemo, check_test, plain_prefixes
from rote.index.query.plan import count, find
from rote.index.query.tree import (
    SIGNS,
    Alternation,
    And,
    Concatenation,
    Condition,
    ItemPattern,
    LayerTest,
    Not,
    Or,
    Pattern,
    Query,
    Repeat,
    alignment_error,
    check_layers,
    error_at,
)

__all__ = ["Query", "RegexMemo", "check", "count", "find", "is_plain", "parse"]

_T = TypeVar("_T")
_MOST_NESTED = 50
_FOLDED = "lower"
_SPELLED = ("word", "lower", "shape", "lemma")
"""Layers whose items are strings of the text, which an index may hold in plain glyphs."""
_SOFT_LAYERS = ("word", "lower", "lemma")
_SOFT = re.compile(r"\w~(?!\S)|\\~")
Neighbours = Callable[[str, str], Sequence[str]]
"""Of a layer and a word the items that mean about the same, the word itself among them."""
_UNIT = re.compile(r"\[\^?\]?(?:[^\]\\]|\\.)*\]|\\.|.[?*+{]?", re.DOTALL)
_TOKEN = 'a string in quotes, a token in brackets such as [pos="JJ"], or a group in parentheses'
_CONDITION = 'a condition such as pos="JJ"'


def is_plain(text: str) -> bool:
    """Whether this is a plain phrase for the tokenizer, without quotes, brackets, soft words."""
    return not any(sign in text for sign in '"[') and not is_soft_phrase(text)


def is_soft_phrase(text: str) -> bool:
    """Whether this is a phrase in which a word stands for its neighbours, or `\\~` for a tilde."""
    return not any(sign in text for sign in '"[') and _SOFT.search(text) is not None


def soft_phrase(text: str, layer: str, cut: Callable[[str], Sequence[str]] = str.split) -> str:
    """The query that a phrase with soft words stands for; `cut` gives the items of the rest.

    >>> soft_phrase("a gold~ medal", "lower")
    '[lower="a"] [lower="gold~"] [lower="medal"]'
    """
    forms: list[str] = []
    rest: list[str] = []

    def add_rest() -> None:
        items = cut(" ".join(rest).replace("\\~", "~")) if rest else ()
        if items:
            forms.append(literal(items, layer))
        rest.clear()

    for word in text.split():
        if word.endswith("~") and _SOFT.search(word) and not word.endswith("\\~"):
            add_rest()
            forms.append(literal([word[:-1].replace("\\~", "~")], layer)[:-2] + '~"]')
        else:
            rest.append(word)
    add_rest()
    return " ".join(forms)


def literal(items: Sequence[str], layer: str) -> str:
    """The query that matches these items of a layer and nothing else."""
    escaped = (re.escape(item).replace('"', r"\"") for item in items)
    return " ".join(f'[{layer}="{pattern}"]' for pattern in escaped)


def parse(
    text: str,
    default_layer: str = _FOLDED,
    *,
    plain_glyphs: bool = False,
    neighbours: Neighbours | None = None,
) -> Query:
    """Read a query; strings that stand alone are about the default layer.

    `plain_glyphs`: the index holds words in these, so strings are folded as its texts were.
    `neighbours` are those of a soft word, which is alone without them.
    """
    if is_soft_phrase(text):
        text = soft_phrase(text, default_layer)
    return _Reader(text, default_layer, plain_glyphs, neighbours).query()


def check(query: Query, item_layers: Mapping[str, str]) -> None:
    """Refuse a query that fits no segment, before any is opened.

    `item_layers` names for every layer the layer whose items it shares: `word` for those that
    align with words, itself for those with items of their own (subwords, trees).
    """
    check_layers(query, item_layers)
    first = query.layers[0]
    for test in query.tests:
        if item_layers[test.layer] != item_layers[first]:
            raise alignment_error(query, test)
    build_automaton(query)  # which refuses what needs too many states


def _folded(pattern: str) -> str:
    """In lower case but for what would change its meaning: \\S, \\W, (?P<name>...)."""
    pieces = re.split(r"(\\.|\(\?P)", pattern, flags=re.DOTALL)
    return "".join(piece if i % 2 else piece.lower() for i, piece in enumerate(pieces))


def _in_plain_glyphs(pattern: str) -> str:
    """The pattern with each typographic glyph as what stands for it in the index."""

    def plain(unit: re.Match[str]) -> str:
        text = unit[0]
        if text[0] == "[":  # of a set each character counts by itself
            return "".join(map(_escaped, text))
        glyph, repeated = text.removeprefix("\\")[:1], text[1:] if text[0] != "\\" else ""
        if glyph not in FOLDS:
            return text
        several = repeated and len(FOLDS[glyph]) > 1
        return (f"(?:{_escaped(glyph)})" if several else _escaped(glyph)) + repeated

    return pattern if pattern.isascii() else _UNIT.sub(plain, pattern)


def _escaped(character: str) -> str:
    plain = FOLDS.get(character)
    return character if plain is None else re.sub('[-."]', r"\\\g<0>", plain)


def _combine(kind: type[Any], parts: Sequence[_T]) -> _T:
    """Parts as one of a kind, those of the same kind taken apart; one part alone is itself."""
    flat = [p for part in parts for p in (part.parts if isinstance(part, kind) else (part,))]
    combined: _T = flat[0] if len(flat) == 1 else kind(tuple(flat))
    return combined


class _Reader:
    """Reads a query from left to right; each method reads one form and leaves `at` behind it."""

    def __init__(
        self, text: str, default_layer: str, plain_glyphs: bool, neighbours: Neighbours | None
    ) -> None:
        self.text, self.default_layer, self.plain_glyphs = text, default_layer, plain_glyphs
        self.neighbours = neighbours
        self.at, self.depth = 0, 0

    def query(self) -> Query:
        pattern = self.either()
        within = self.word() == "within"
        if within:
            self.at += len("within")
            if not self.accept(r"s\b|<s\s*/?>"):
                self.fail_expecting("s, for sentences: within s")
        self.space()
        if self.at < len(self.text):
            self.fail_expecting("a token, a quantifier, | or the end" if not within else "the end")
        return Query(pattern, within, self.default_layer, self.text)

    def either(self) -> Pattern:
        return _combine(Alternation, self.separated("|", self.chain))

    def chain(self) -> Pattern:
        parts: list[Pattern] = []
        while not parts or (self.next() not in ("", "|", ")") and self.word() != "within"):
            parts.append(self.repeated())
        return _combine(Concatenation, parts)

    def repeated(self) -> Pattern:
        part = self.token()
        start = self.at
        sign = self.accept(r"[?*+]|\{[^}]*\}?")
        if not sign:
            return part
        least, most = SIGNS[sign] if sign in SIGNS else self.bounds(start, sign)
        if self.next() in ("?", "*", "+", "{"):
            self.fail("a second quantifier; put parentheses around what the first applies to")
        return part if (least, most) == (1, 1) else Repeat(part, least, most)

    def bounds(self, start: int, sign: str) -> tuple[int, int | None]:
        match = re.fullmatch(r"\{\s*(\d*)\s*(,?)\s*(\d*)\s*\}", sign, re.ASCII)
        if not match or not (match[1] or match[3]):
            self.at = start
            self.fail_expecting("how often, as in {2}, {1,3} or {2,}")
        least = int(match[1] or 0)
        most = (int(match[3]) if match[3] else None) if match[2] else least
        if most is not None and not max(1, least) <= most:
            self.at = start
            self.fail("the largest number must be at least 1, and no smaller than the first")
        return least, most

    def token(self) -> Pattern:
        sign = self.next()
        if sign in ('"', "'"):
            return ItemPattern(self.test(self.default_layer, self.at))
        if self.accept(r"\["):
            if self.accept(r"\]"):
                return ItemPattern(None)
            condition = self.some()
            self.expect_sign("]", "&, | or ]")
            return ItemPattern(condition)
        if self.accept(r"\("):
            pattern = self.nested(self.either)
            self.expect_sign(")", "a token, a quantifier, | or )")
            return pattern
        if sign == "<":
            self.fail(
                "structures in < > are not supported; for sentences write: within s at the end"
            )
        if self.word():
            self.fail_expecting(f"{_TOKEN} (a plain phrase has no quotes and brackets at all)")
        self.fail_expecting(_TOKEN)

    def some(self) -> Condition:
        return _combine(Or, self.separated("|", self.every))

    def every(self) -> Condition:
        return _combine(And, self.separated("&", self.condition))

    def condition(self) -> Condition:
        if self.accept("!"):
            part = self.nested(self.condition)
            return part.part if isinstance(part, Not) else Not(part)
        if self.accept(r"\("):
            inner = self.nested(self.some)
            self.expect_sign(")", "&, | or )")
            return inner
        self.space()
        at = self.at
        layer = self.accept(r"[A-Za-z0-9][\w.-]*")
        if not layer:
            self.fail_expecting(_CONDITION)
        relation = self.accept(r"!?=")
        if not relation:
            self.fail_expecting("= or !=")
        test = self.test(layer, at)
        return test if relation == "=" else Not(test)

    def test(self, layer: str, at: int) -> LayerTest:
        self.space()
        start = self.at
        raw = self.accept(r'"(?:[^"\\]|\\.)*"|' + r"'(?:[^'\\]|\\.)*'")
        if not raw:
            closing = "the closing quote" if self.next() in ('"', "'") else "a string in quotes"
            self.at = len(self.text) if closing[0] == "t" else self.at
            self.fail_expecting(closing)
        pattern = raw[1:-1]
        if raw[0] == "'":  # so that all patterns can stand in double quotes
            pattern = re.sub(r'\\.|(")', lambda m: '\\"' if m[1] else m[0], pattern, flags=re.S)
        flag = self.accept(r"%\w*")
        if flag and flag != "%c":
            self.at -= len(flag)
            self.fail_expecting("%c (ignore case), the only flag there is")
        pattern = _folded(pattern) if layer == _FOLDED else pattern
        if re.fullmatch(r"(?:[^\\]|\\.)+~", pattern, re.DOTALL):
            return self.soft_test(layer, pattern[:-1], bool(flag), at, start)
        test = LayerTest(layer, pattern, bool(flag), at)
        try:
            check_test(test)
            if self.plain_glyphs and layer in _SPELLED:
                test = replace(test, pattern=_in_plain_glyphs(pattern))
                check_test(test)
        except NotARegex as error:
            self.at = start + 1 + error.at
            self.fail(f"not a regular expression: {error}")
        return test

    def soft_test(self, layer: str, word: str, ignore_case: bool, at: int, start: int) -> LayerTest:
        """A word and its neighbours, as one pattern."""
        alternatives, is_literal = plain_prefixes(word)
        problem = ""
        if not is_literal or len(alternatives) > 1 or "*" in word:
            problem = "~ follows a word, not an expression"
        elif len(alternatives[0].split()) != 1:
            problem = "~ follows one word: put each word into quotes of its own"
        elif layer not in _SOFT_LAYERS:
            problem = f"~ applies to words only: ~ is for {', '.join(_SOFT_LAYERS)}"
        if problem:
            self.at = start
            self.fail(rf"{problem}. \~ is the character")
        items = [alternatives[0]]
        if self.neighbours is not None:
            items = list(self.neighbours(layer, alternatives[0])) or items
        pattern = "|".join(re.escape(item).replace('"', r"\"") for item in items)
        return LayerTest(layer, pattern, ignore_case, at, soft=word)

    def separated(self, sign: str, form: Callable[[], _T]) -> list[_T]:
        parts = [form()]
        while self.accept(re.escape(sign)):
            parts.append(form())
        return parts

    def nested(self, form: Callable[[], _T]) -> _T:
        self.depth += 1
        if self.depth > _MOST_NESTED:
            self.fail(f"more than {_MOST_NESTED} nested parentheses")
        parsed = form()
        self.depth -= 1
        return parsed

    def expect_sign(self, sign: str, otherwise: str) -> None:
        if not self.accept(re.escape(sign)):
            self.fail_expecting(otherwise)

    def space(self) -> None:
        while self.text[self.at : self.at + 1].isspace():
            self.at += 1

    def next(self) -> str:
        self.space()
        return self.text[self.at : self.at + 1]

    def word(self) -> str:
        self.space()
        match = re.compile(r"\w+").match(self.text, self.at)
        return match[0] if match else ""

    def accept(self, form: str) -> str:
        self.space()
        match = re.compile(form, re.DOTALL).match(self.text, self.at)
        self.at += len(match[0]) if match else 0
        return match[0] if match else ""

    def fail_expecting(self, what: str) -> NoReturn:
        self.fail(f"expected {what}")

    def fail(self, problem: str) -> NoReturn:
        raise error_at(self.text, self.at, f"cannot read the query: {problem}")
