"""One piece after another, in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")
Out = TypeVar("Out")


def map_ordered(
    function: Callable[[Item], Out], items: Iterable[Item], jobs: int = 1, **_: str
) -> Iterator[Out]:
    return map(function, items)
