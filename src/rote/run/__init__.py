"""Where work is done: one function over many pieces, in order, on one core or several.

Every engine gives the same results in the same order, so the number of jobs never
changes a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from rote.core import plugins

Item = TypeVar("Item")
Out = TypeVar("Out")


def map_ordered(
    function: Callable[[Item], Out], items: Iterable[Item], jobs: int = 1
) -> Iterator[Out]:
    """Apply a picklable function to items; results come in the order of the items.

    Items are drawn as they are needed, never all at once.
    """
    engine = plugins.load("run", "serial" if jobs == 1 else "processes")
    results: Iterator[Out] = engine.map_ordered(function, items, jobs)
    return results
