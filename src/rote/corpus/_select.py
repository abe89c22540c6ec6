"""Which records are taken (`--where`), and what other files say of them (`--join`)."""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from rote.core.document import Document, describe_absence
from rote.core.errors import InputError, OptionError
from rote.core.metric import option
from rote.core.numbers import name_some

SKIP = "--on-error skip leaves out such records"
_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_LOOKED_AT, _LISTED = 100_000, 12
"""Records whose values are looked at, and values that a message lists."""
_CONDITION = re.compile(r"\s*([^=!<>]+?)\s*(!=|<=|>=|=|<|>)\s*(.*?)\s*", re.DOTALL)


def where_option(says: str = "take only records with") -> Any:
    return option(
        (),
        f"{says} FIELD=VALUE (or !=, <, <=, >, >=; a,b or a|b is any of several values); "
        "repeatable, and all must hold",
        metavar="FIELD=VALUE",
        repeated=True,
        form=False,
        common=True,
    )


@dataclass(frozen=True, slots=True)
class Condition:
    """A field, a comparison, and what the field is compared with: any of several values."""

    field: str
    sign: str
    values: tuple[str, ...]

    def holds(self, document: Document) -> bool:
        return self.fulfilled(value_of(document, self.field))

    def fulfilled(self, actual: Any) -> bool:
        """Whether it holds of what a field has."""
        if self.sign in _COMPARE:
            number = _parse_number(actual)
            return number is not None and _COMPARE[self.sign](number, float(self.values[0]))
        return any(_equal(actual, value) for value in self.values) == (self.sign == "=")


@lru_cache(maxsize=64)
def conditions(where: tuple[str, ...]) -> tuple[Condition, ...]:
    """`year>=1900` and the like; all of them have to hold."""
    return tuple(map(_condition, where))


def _condition(text: str) -> Condition:
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise OptionError(
            f"--where {text!r}: write FIELD=VALUE, FIELD!=VALUE, or a number after <, <=, > or >=; "
            "'|' separates several values"
        )
    field, sign, value = match.groups()
    if sign in _COMPARE and _parse_number(value) is None:
        raise OptionError(f"--where {text!r}: {sign} compares with a number, not with {value!r}")
    if sign in _COMPARE:
        return Condition(field, sign, (value,))
    # A value may hold a comma itself: with its parts it is taken as it stands, too.
    several = (
        part for alternative in value.split("|") for part in (alternative, *alternative.split(","))
    )
    return Condition(field, sign, tuple(dict.fromkeys(part.strip() for part in several)))


def none_fulfils(
    where: Iterable[str], records: Iterable[Mapping[str, Any]], file: str | None
) -> InputError:
    """What is said where no record is left: which values the fields have that were asked for."""
    wanted = tuple(where)
    some = list(islice(records, _LOOKED_AT))
    names = ", ".join(map(str, some[0] if some else ()))
    described = []
    for field in (condition.field for condition in conditions(wanted)):
        values = values_held(field, (record[field] for record in some if field in record))
        described.append(values or f"no record has '{field}', only {names}")
    return InputError(
        f"no record matches {' and '.join(wanted)}: {'; '.join(dict.fromkeys(described))}",
        file=file,
        remedy="Change --where, or leave it out",
    )


def values_held(field: str, values: Iterable[Any]) -> str:
    """The values that a field has, most frequent first; nothing where it has none."""
    counts = Counter(str(value) for value in values if value is not None)
    listed = [value for value, _ in sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))]
    return f"{field} is {name_some(listed, _LISTED)}" if listed else ""


def value_of(document: Document, field: str) -> Any:
    """A field of a record; `id` is the id, wherever the file has it."""
    value = document.meta.get(field)
    return document.id if value is None and field == "id" else value


def _equal(actual: Any, value: str) -> bool:
    if actual is None:
        return value == ""
    if isinstance(actual, bool):
        return value.lower() == str(actual).lower()
    number = _parse_number(value) if isinstance(actual, (int, float)) else None
    return actual == number if number is not None else str(actual) == value


def _parse_number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


@dataclass(frozen=True, slots=True)
class JoinedRecords:
    """Records of other files by the value of a field, to be added to those that share it."""

    field: str
    files: str
    records: Mapping[str, Mapping[str, Any]]

    def add(self, document: Document, refuse: Callable[..., InputError]) -> Document:
        """The document with the other file's fields behind its own; `refuse` makes the error."""
        key = value_of(document, self.field)
        more = None if key is None else self.records.get(str(key))
        if more is None:
            problem = f"no record of {self.files} has {self.field} '{key}'"
            if key is None:
                absent = describe_absence(document.meta, self.field)
                problem = f"the field {absent}, by which {self.files} is joined"
            remedy = f"Name the field that both share with --join-on; {SKIP}"
            raise refuse(problem, field=self.field, remedy=remedy)
        return Document(document.id, document.text, {**more, **document.meta})
