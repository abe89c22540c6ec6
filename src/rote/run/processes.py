"""Several processes on this machine, results in the order of the pieces."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from typing import TypeVar

from rote.core.errors import RoteError

Item = TypeVar("Item")
Out = TypeVar("Out")

# Enough pieces in flight to keep every process busy, few enough to keep memory flat.
_IN_FLIGHT_PER_JOB = 2
# So few pieces are done before the processes have started.
_FEW = 1
_LESS = "Try fewer jobs (--jobs 1), or less text at once"


def map_ordered(
    function: Callable[[Item], Out],
    items: Iterable[Item],
    jobs: int,
    *,
    doing: str = "working",
    kept: str = "",
) -> Iterator[Out]:
    items = iter(items)
    first = list(islice(items, _FEW + 1))
    if len(first) <= _FEW:
        yield from map(function, first)
        return
    # Started afresh rather than forked: a fork copies locks held by other libraries' threads.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_end_with_parent)
    pending: deque[Future[Out]] = deque()
    done = 0
    try:
        for item in chain(first, items):
            pending.append(pool.submit(function, item))
            if len(pending) >= jobs * _IN_FLIGHT_PER_JOB:
                yield pending.popleft().result()
                done += 1
        while pending:
            yield pending.popleft().result()
            done += 1
    except BrokenProcessPool:
        # Whatever was finished in front of it has been given out already.
        raise _died(doing, done, kept) from None
    except MemoryError:
        problem = f"memory ran out while {doing} (at about piece {done + 1:,})"
        raise RoteError(f"{problem}. {_LESS}{_and(kept)}") from None
    finally:
        # Also reached when the consumer stops early or a piece fails.
        pool.shutdown(wait=True, cancel_futures=True)


def _died(doing: str, done: int, kept: str) -> RoteError:
    problem = (
        f"a process was killed while {doing} (at about piece {done + 1:,}), most often because "
        f"memory ran out. {_LESS}{_and(kept)}"
    )
    # Commands and the app have a guard; so has whatever was started with `python -m`.
    script = sys.modules["__main__"].__spec__ is None and "rote.cli.main" not in sys.modules
    if script and not done:
        problem += (
            ". If nothing was done at all: in a script, what uses several jobs must stand under "
            "`if __name__ == '__main__':`"
        )
    return RoteError(problem)


def _and(kept: str) -> str:
    return f". {kept}" if kept else ""


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for work for ever."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
