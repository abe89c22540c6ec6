"""Where work is done: one function over many pieces, in order, on one core or several.

Every engine gives the same results in the same order, so the number of jobs never
changes a value.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from multiprocessing import parent_process
from typing import TypeVar

from rote.core import plugins
from rote.core.errors import OptionError

Item = TypeVar("Item")
Out = TypeVar("Out")


def cores() -> int:
    """The cores that there are for this process; in a worker process one, for there are others."""
    if parent_process() is not None:
        return 1
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def check_jobs(jobs: int) -> None:
    """Refuse a number of cores that nothing can be done on."""
    if jobs < 1:
        raise OptionError(f"jobs must be at least 1, not {jobs}")


def map_ordered(
    function: Callable[[Item], Out],
    items: Iterable[Item],
    jobs: int = 1,
    *,
    doing: str = "working",
    kept: str = "",
) -> Iterator[Out]:
    """Apply a picklable function to items; results come in the order of the items.

    Items are drawn as they are needed, never all at once. Should a process be killed, the error
    says what it was `doing`, and what of it is `kept` for the next run.
    """
    check_jobs(jobs)
    engine = plugins.load("run", "serial" if jobs == 1 else "processes")
    results: Iterator[Out] = engine.map_ordered(function, items, jobs, doing=doing, kept=kept)
    return results
