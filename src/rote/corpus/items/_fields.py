"""Fields of a record, with errors that the one who reads them turns into a place and a remedy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def text(record: Mapping[str, Any], field: str) -> str:
    value = record[field]
    if not isinstance(value, str):
        raise ValueError(f"the field '{field}' holds {value!r}, not a text")
    return value


def choice(record: Mapping[str, Any], field: str, *, first: int, options: int) -> int | None:
    """The number of the right option, from 0 on; None where the field is missing or empty.

    `first` is the number that the benchmark gives to its first option.
    """
    value = record.get(field)
    if value is None or value == "":
        return None
    try:
        number = int(value) - first
    except (TypeError, ValueError):
        number = -1
    if isinstance(value, bool) or not 0 <= number < options:
        allowed = f"{first} to {first + options - 1}"
        raise ValueError(f"the field '{field}' holds {value!r}, not a number from {allowed}")
    return number


def others(
    record: Mapping[str, Any], used: Iterable[str], kind: str | None = None
) -> dict[str, Any]:
    """The fields that are not part of the item, and the kind of knowledge it asks for."""
    left = {name: value for name, value in record.items() if name not in set(used)}
    return left if kind is None else {"kind": kind, **left}
