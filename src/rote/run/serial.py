"""One piece after another, in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Generic, TypeVar

from rote.core.errors import OptionError

Item = TypeVar("Item")
Out = TypeVar("Out")
Value = TypeVar("Value")


def engine(where: str, jobs: int) -> Serial:
    nowhere("serial", where)
    return Serial()


def nowhere(name: str, where: str) -> None:
    if where:
        raise OptionError(f"the engine '{name}' works here alone: leave out ':{where}'")


@dataclass(frozen=True, slots=True)
class Here(Generic[Value]):
    """A shared value in the process that shares it."""

    value: Value


class Serial:
    jobs = 1
    remote = False

    def map(
        self,
        function: Callable[[Item], Out],
        items: Iterable[Item],
        *,
        doing: str = "working",
        kept: str = "",
    ) -> Iterator[Out]:
        return map(function, items)

    def group(
        self,
        function: Callable[[Item], Iterable[tuple[Any, Value]]],
        items: Iterable[Item],
        fold: Callable[[Value, Value], Value],
        *,
        then: Callable[[Any, Value], Any] | None = None,
        doing: str = "working",
    ) -> Iterator[tuple[Any, Any]]:
        return all_in_order(map(function, items), fold, then)

    def share(self, value: Value) -> Here[Value]:
        return Here(value)


def folded(
    pairs: Iterable[tuple[Any, Value]], fold: Callable[[Value, Value], Value]
) -> dict[Any, Value]:
    """The values of each key as one."""
    found: dict[Any, Value] = {}
    for key, value in pairs:
        found[key] = fold(found[key], value) if key in found else value
    return found


def all_in_order(
    several: Iterable[Iterable[tuple[Any, Value]]],
    fold: Callable[[Value, Value], Value],
    then: Callable[[Any, Value], Any] | None,
) -> Iterator[tuple[Any, Any]]:
    """All of it as one, in order."""
    found = folded((pair for pairs in several for pair in pairs), fold)
    for key, value in in_order(found.items()):
        yield key, value if then is None else then(key, value)


def in_order(pairs: Iterable[tuple[Any, Value]]) -> list[tuple[Any, Value]]:
    """Pairs by the place of their key, and by the key itself."""
    return sorted(pairs, key=lambda pair: (place(pair[0]), pair[0]))


def place(key: Any) -> int:
    """Where a key belongs among all; unlike Python's own hash, the same in every process."""
    return int.from_bytes(blake2b(repr(key).encode(), digest_size=7).digest(), "big")


PLACES = 1 << 56
