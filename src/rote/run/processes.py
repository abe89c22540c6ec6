"""Several processes on this machine, results in the order of the pieces."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Out = TypeVar("Out")

# Enough pieces in flight to keep every process busy, few enough to keep memory flat.
_IN_FLIGHT_PER_JOB = 2


def map_ordered(function: Callable[[Item], Out], items: Iterable[Item], jobs: int) -> Iterator[Out]:
    # Started afresh rather than forked: a fork copies locks held by other libraries' threads.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_end_with_parent)
    pending: deque[Future[Out]] = deque()
    try:
        for item in items:
            pending.append(pool.submit(function, item))
            if len(pending) >= jobs * _IN_FLIGHT_PER_JOB:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        # Also reached when the consumer stops early or a piece fails.
        pool.shutdown(wait=True, cancel_futures=True)


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for work for ever."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
