"""A query as a tree of frozen dataclasses; `str` of it is the canonical form.

Made by `query.parse`; `plan.py` walks it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from rote.core.errors import OptionError


@dataclass(frozen=True, slots=True)
class LayerTest:
    """One item's string in a layer matches a regular expression from end to end."""

    layer: str
    pattern: str
    ignore_case: bool = False
    at: int = field(default=0, compare=False)
    soft: str = ""
    """The word that was asked for with its neighbours; the pattern names them all."""

    def __str__(self) -> str:
        return f"{self.layer}={_quote(self)}"


@dataclass(frozen=True, slots=True)
class Not:
    part: Condition

    def __str__(self) -> str:
        part = self.part
        return f"{part.layer}!={_quote(part)}" if isinstance(part, LayerTest) else f"!({part})"


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Condition, ...]

    def __str__(self) -> str:
        return " & ".join(f"({part})" if isinstance(part, Or) else str(part) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Condition, ...]

    def __str__(self) -> str:
        return " | ".join(map(str, self.parts))


@dataclass(frozen=True, slots=True)
class ItemPattern:
    """One item; without a condition any."""

    condition: Condition | None

    def __str__(self) -> str:
        return "[]" if self.condition is None else f"[{self.condition}]"


@dataclass(frozen=True, slots=True)
class Concatenation:
    parts: tuple[Pattern, ...]

    def __str__(self) -> str:
        return " ".join(f"({p})" if isinstance(p, Alternation) else str(p) for p in self.parts)


@dataclass(frozen=True, slots=True)
class Alternation:
    parts: tuple[Pattern, ...]

    def __str__(self) -> str:
        return " | ".join(map(str, self.parts))


@dataclass(frozen=True, slots=True)
class Repeat:
    """The part `least` to `most` times; `most` None: as often as it goes."""

    part: Pattern
    least: int
    most: int | None

    def __str__(self) -> str:
        part = str(self.part) if isinstance(self.part, ItemPattern) else f"({self.part})"
        bounds = (self.least, self.most)
        for sign, meaning in SIGNS.items():
            if meaning == bounds:
                return part + sign
        if self.least == self.most:
            return f"{part}{{{self.least}}}"
        return f"{part}{{{self.least},{'' if self.most is None else self.most}}}"


Condition: TypeAlias = LayerTest | Not | And | Or
Pattern: TypeAlias = ItemPattern | Concatenation | Alternation | Repeat
SIGNS: dict[str, tuple[int, int | None]] = {"?": (0, 1), "*": (0, None), "+": (1, None)}


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query; `text` is what the user wrote, for errors."""

    pattern: Pattern
    within: bool
    default_layer: str
    text: str = field(compare=False)

    def __str__(self) -> str:
        return f"{self.pattern} within s" if self.within else str(self.pattern)

    @property
    def tests(self) -> tuple[LayerTest, ...]:
        return tuple(tests_of(self.pattern))

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers that it reads, in order of appearance; the default one if it names none."""
        return tuple(dict.fromkeys(test.layer for test in self.tests)) or (self.default_layer,)


def error_at(text: str, at: int, problem: str) -> OptionError:
    line = re.sub(r"\s", " ", text)
    return OptionError(f"{problem}\n  {line}\n  {' ' * at}^")


def check_layers(query: Query, known: Collection[str]) -> None:
    names = ", ".join(sorted(known))
    places = {test.layer: test.at for test in reversed(query.tests)}
    for layer in query.layers:
        if layer not in known:
            problem = f"there is no layer '{layer}'; known: {names}"
            raise error_at(query.text, places.get(layer, 0), problem)


def alignment_error(query: Query, test: LayerTest) -> OptionError:
    """The error for a layer that does not share the items of the first."""
    return error_at(
        query.text,
        test.at,
        f"the items of '{test.layer}' are not those of '{query.layers[0]}', so one query cannot "
        "combine them",
    )


def _quote(test: LayerTest) -> str:
    pattern = f"{test.soft}~" if test.soft else test.pattern
    return f'"{pattern}"' + ("%c" if test.ignore_case else "")


def tests_of(part: Pattern | Condition | None) -> Iterator[LayerTest]:
    if isinstance(part, LayerTest):
        yield part
    elif isinstance(part, ItemPattern):
        yield from tests_of(part.condition)
    elif isinstance(part, Not | Repeat):
        yield from tests_of(part.part)
    elif part is not None:
        for inner in part.parts:
            yield from tests_of(inner)
