"""Everything rote raises on purpose, so that one `except RoteError` catches it.

RoteError
├── InputError       a file, line or field that cannot be used; says where and what to do
├── OptionError      a setting that makes no sense, or that does not fit the data
├── UnknownName      a measure, tokenizer or reader that does not exist; suggests a near one
└── MissingExtra     an optional package is not installed; says how to install it
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import Any

from rote.core.distribution import install_command


class RoteError(Exception):
    """Base of all errors that are meant for the user.

    `answered`: of several questions put at once, the answers that came all the same, by place.
    """

    answered: Mapping[int, Any] = MappingProxyType({})


class InputError(RoteError):
    """Something in the input cannot be used.

    Names the place (`file`, `line`, `field`) and the remedy, and keeps them as
    attributes so that a program can collect what was skipped.
    """

    def __init__(
        self,
        problem: str,
        *,
        file: str | None = None,
        line: int | None = None,
        field: str | None = None,
        remedy: str | None = None,
    ) -> None:
        self.problem = problem
        self.file = file
        self.line = line
        self.field = field
        self.remedy = remedy
        super().__init__(problem)

    @property
    def diagnosis(self) -> str:
        """The place and the problem, without the remedy."""
        place = self.file or ""
        if self.line is not None:
            place += f", line {self.line}" if place else f"line {self.line}"
        if self.field is not None:
            place += f", field '{self.field}'" if place else f"field '{self.field}'"
        return f"{place}: {self.problem}" if place else self.problem

    def __str__(self) -> str:
        return f"{self.diagnosis}. {self.remedy}" if self.remedy else self.diagnosis

    def __reduce__(self) -> tuple[object, ...]:
        # Errors travel from worker processes; the default would lose the keywords.
        place: dict[str, Any] = {"file": self.file, "line": self.line, "field": self.field}
        return partial(InputError, self.problem, **place, remedy=self.remedy), ()


class OptionError(RoteError):
    """A setting that makes no sense, or that does not fit the data."""


def check_options_known(passed: Iterable[str], known: Iterable[str]) -> None:
    """Refuse an option that is not known, and name the nearest one that is."""
    names = sorted(known)
    for name in passed:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"known: {', '.join(names) or 'none'}"
            raise OptionError(f"unknown option `{name}`; {hint}")


class UnknownName(RoteError):
    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind, self.name, self.known = kind, name, sorted(known)
        super().__init__(kind, name, self.known)

    def __str__(self) -> str:
        near = difflib.get_close_matches(self.name, self.known, n=1)
        hint = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(self.known)}"
        return f"unknown {self.kind} '{self.name}': {hint}"


class MissingExtra(RoteError):
    """An optional package is needed and not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        self.package, self.extra, self.purpose = package, extra, purpose
        super().__init__(package, extra, purpose)

    def __str__(self) -> str:
        return (
            f"{self.purpose} needs the package '{self.package}'. "
            f"Install it in a checkout of rote: {install_command(self.extra)}"
        )


def import_extra(module: str, package: str, extra: str, purpose: str) -> Any:
    """A module of an optional package; raises `MissingExtra` where that is not installed."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtra(package, extra, purpose) from None
