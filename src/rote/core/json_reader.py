"""The one reader of JSON: whatever a file holds, it gives a value or an `InputError`.

A file may be somebody else's, or damaged: nested without end, of numbers without end, no UTF-8, no
file at all but a pipe that nobody writes to. What a value must be is asked of `JsonObject`, whose
errors name the file and the field.
"""

from __future__ import annotations

import gc
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from rote.core.errors import InputError
from rote.core.files import open_regular

LARGEST = 512 * 2**20
"""Bytes of a file that is read as a whole."""
DEEPEST = 200
"""Levels of lists and objects. Python's own limit lies at about 1,000 calls, and whoever walks
through a value needs some for each level."""
TOO_DEEP = f"lists and objects are nested more than {DEEPEST} levels deep"
_LARGEST_COUNT = 2**63 - 1
Kind = TypeVar("Kind")
_SHOWN = 80


class CollectorPaused:
    """Around whatever may recurse to Python's limit. Were garbage collected down there, what its
    objects do at their end (close a file, remove a folder) would fail for want of room."""

    __slots__ = ("_enabled",)

    def __enter__(self) -> None:
        self._enabled = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._enabled:
            gc.enable()


class JsonDecoder(json.JSONDecoder):
    """Python's own, for texts that may nest without end."""

    def raw_decode(self, s: str, idx: int = 0) -> tuple[Any, int]:
        with CollectorPaused():
            return super().raw_decode(s, idx)


def parse_json(
    text: str | bytes,
    file: str | None = None,
    *,
    line: int | None = None,
    remedy: str | None = None,
    strict: bool = False,
) -> Any:
    """The value that a text holds; `strict`: every name once in its object, and no NaN.

    >>> parse_json('{"a": [1, 2.5, null]}')
    {'a': [1, 2.5, None]}
    """
    context = ""
    try:
        context = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        value = (_STRICT if strict else _PLAIN).decode(context)
        if not isinstance(value, (dict, list)) or not is_too_deep(context, value):
            return value
        problem = TOO_DEEP
    except (ValueError, RecursionError) as error:
        problem = problem_of(error)
        if isinstance(error, json.JSONDecodeError):
            problem = "it is empty" if not context or context.isspace() else problem.lower()
            line = error.lineno if line is None and "\n" in context.strip() else line
    raise InputError(f"is not JSON ({problem})", file=file, line=line, remedy=remedy) from None


def problem_of(error: ValueError | RecursionError) -> str:
    """What a decoder's error says, in few words."""
    if isinstance(error, RecursionError):
        return TOO_DEEP
    if isinstance(error, json.JSONDecodeError):
        return error.msg
    if isinstance(error, UnicodeDecodeError):
        return f"it is not valid UTF-8 text: byte {error.start:,}"
    if isinstance(error, _Loose):
        return str(error)
    return "a number has too many digits"  # Python bounds the time that reading one takes


def is_too_deep(text: str, value: Any) -> bool:
    """Whether a value, parsed from the text, nests deeper than anybody should have to walk."""
    # Most texts are too short for that, or have too few brackets.
    if len(text) <= 2 * DEEPEST or text.count("[") + text.count("{") <= DEEPEST:
        return False
    level = [value]
    for _ in range(DEEPEST):
        inside = chain.from_iterable(
            outer.values() if type(outer) is dict else outer for outer in level
        )
        level = [each for each in inside if type(each) is dict or type(each) is list]
        if not level:
            return False
    return True


def read_json(
    path: Path,
    *,
    remedy: str | None = None,
    strict: bool = False,
    regular: bool = True,
    largest: int = LARGEST,
) -> Any:
    """The value in a file; one that cannot be opened is an `OSError`.

    Without `regular` it may be a pipe, for a file that the user names: `<(command)`.
    """
    with open_regular(path) if regular else open(path, "rb") as file:
        # What is no file has no size before it is read.
        size = os.fstat(file.fileno()).st_size
        data = file.read(largest + 1) if size <= largest else b""
    if max(size, len(data)) > largest:
        problem = f"exceeds the limit for JSON ({largest:,} bytes)"
        raise InputError(problem, file=str(path), remedy=remedy)
    return parse_json(data, str(path), remedy=remedy, strict=strict)


def read_json_lines(
    path: Path, *, remedy: str | None = None, regular: bool = True
) -> Iterator[tuple[int, JsonObject]]:
    """The objects in a file, one on each line that is not blank, with the numbers of the lines."""
    with open_regular(path) if regular else open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if not line.isspace():
                value = parse_json(line, str(path), line=number, remedy=remedy)
                yield number, JsonObject.of(value, str(path), line=number, remedy=remedy)


def as_json(value: Any) -> Any:
    """A value as it comes back from JSON: tuples as lists, keys as strings."""
    return parse_json(json.dumps(value))


def shortened(value: Any) -> str:
    """A value as a message shows it: whoever wrote it may have meant it to fill the screen."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def kind_of(value: Any) -> str:
    """What a value is called in JSON."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, (int, float)):
        return "a number"
    names: dict[type, str] = {str: "a string", list: "a list", dict: "an object"}
    return names.get(type(value), "something else")


@dataclass(frozen=True, slots=True)
class JsonObject:
    """An object in a file. What is taken has the type that is asked for; an error names its place.

    >>> JsonObject.of({"size": 3}, "a.json").count("size")
    3
    >>> JsonObject.of({"size": -3}, "a.json").count("size")
    Traceback (most recent call last):
    rote.core.errors.InputError: a.json, field 'size': is -3, not a whole number of at least 0
    """

    values: Mapping[str, Any]
    file: str
    place: str = ""
    """Where it stands in the file, such as `segments[2].`"""
    line: int | None = None
    remedy: str | None = None

    @classmethod
    def of(
        cls, value: Any, file: str, *, line: int | None = None, remedy: str | None = None
    ) -> JsonObject:
        """What a file holds, or a line of it."""
        if not isinstance(value, dict):
            problem = f"is {kind_of(value)}, not an object"
            raise InputError(problem, file=file, line=line, remedy=remedy)
        return cls(value, file, "", line, remedy)

    def error(self, name: str, problem: str) -> InputError:
        """What is wrong with a field."""
        place = f"{self.place}{name}"
        return InputError(problem, file=self.file, line=self.line, field=place, remedy=self.remedy)

    def get(self, name: str) -> Any:
        """A field of whichever type, which has to be there."""
        if name not in self.values:
            raise self.error(name, "is missing")
        return self.values[name]

    def text(self, name: str) -> str:
        return self._checked(name, self.get(name), str, "a string")

    def count(self, name: str) -> int:
        """A whole number that a machine can count to."""
        value = self.get(name)
        if type(value) is not int or not 0 <= value <= _LARGEST_COUNT:
            described = value if type(value) is int and abs(value) < 1e20 else kind_of(value)
            raise self.error(name, f"is {described}, not a whole number of at least 0")
        return value

    def number(self, name: str) -> float:
        value = self.get(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.error(name, f"is {kind_of(value)}, not a number")
        if isinstance(value, float) and not math.isfinite(value):
            raise self.error(name, f"is {value}, not a finite number")
        return value

    def flag(self, name: str) -> bool:
        return self._checked(name, self.get(name), bool, "true or false")

    def array(self, name: str) -> list[Any]:
        return self._checked(name, self.get(name), list, "a list")

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of strings, each of them once."""
        texts = [
            self._checked(f"{name}[{place}]", value, str, "a string")
            for place, value in enumerate(self.array(name))
        ]
        self.check_once(texts, name)
        return tuple(texts)

    def object(self, name: str) -> JsonObject:
        return self._inner(name, self.get(name))

    def objects(self, name: str) -> list[JsonObject]:
        """A list of objects."""
        return [
            self._inner(f"{name}[{place}]", value) for place, value in enumerate(self.array(name))
        ]

    def check(self, fields: Mapping[str, Any]) -> None:
        """Look at several fields, by type: str, int (a count), float, bool, list, dict, tuple (of
        strings, each once); fields of their own for an object, a list of those for a list of
        objects. One whose name ends in a question mark may be missing or null."""
        for name, kind in fields.items():
            if name.endswith("?"):
                if self.values.get(name[:-1]) is not None:
                    self.check({name[:-1]: kind})
            elif isinstance(kind, Mapping):
                self.object(name).check(kind)
            elif isinstance(kind, list):
                for each in self.objects(name):
                    each.check(kind[0])
            else:
                getattr(self, _KINDS[kind])(name)

    def check_names(self, names: Iterable[str], field: str, inner: str = "") -> None:
        """Refuse a list of files or folders beside this file in which one stands twice, or lies
        elsewhere: the file may be a stranger's. Arguments as for `check_once`."""
        allowed = list(names)
        for place, name in enumerate(allowed):
            if name in ("", ".", "..") or any(sign in name for sign in "/\\\0"):
                problem = f"is {shortened(name)}, which is not in this folder"
                raise self.error(f"{field}[{place}]{inner}", problem)
        self.check_once(allowed, field, inner)

    def check_once(self, names: Iterable[str], field: str, inner: str = "") -> None:
        """Refuse a list in which something stands twice: it would count twice. `names` say what
        each of its elements is, by their field `inner`."""
        first: dict[str, int] = {}
        for place, name in enumerate(names):
            if (before := first.setdefault(name, place)) != place:
                raise self.error(
                    f"{field}[{place}]{inner}",
                    f"is {shortened(name)}, as {field}[{before}]{inner} is",
                )

    def _inner(self, name: str, value: Any) -> JsonObject:
        inner = self._checked(name, value, dict, "an object")
        return JsonObject(inner, self.file, f"{self.place}{name}.", self.line, self.remedy)

    def _checked(self, name: str, value: Any, kind: type[Kind], called: str) -> Kind:
        if not isinstance(value, kind):
            raise self.error(name, f"is {kind_of(value)}, not {called}")
        return value


class _Loose(ValueError):
    """What `strict` refuses."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _Loose(f"the name {twice!r} occurs twice in one object")
    return values


def _refuse_constant(name: str) -> None:
    raise _Loose(f"{name} is not a JSON number")


_KINDS = {
    str: "text",
    int: "count",
    float: "number",
    bool: "flag",
    list: "array",
    tuple: "texts",
    dict: "object",
}
_PLAIN = JsonDecoder()
_STRICT = JsonDecoder(object_pairs_hook=_once, parse_constant=_refuse_constant)
