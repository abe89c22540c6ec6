"""One piece after another, in this process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic

from rote.core.errors import OptionError
from rote.run import Engine, Value


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


class Serial(Engine):
    jobs = 1

    def _map(self, function: Any, items: Iterable[Any], doing: str, note: str) -> Iterator[Any]:
        return map(function, items)

    def share(self, value: Value) -> Here[Value]:
        return Here(value)
