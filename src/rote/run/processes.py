"""Several processes on this machine, results in the order of the pieces."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import sys
import tempfile
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache, partial
from itertools import chain, islice
from typing import Any, Generic

from rote.core.errors import RoteError
from rote.run import Engine, Out, Value
from rote.run.serial import nowhere

# Enough pieces in flight to keep every process busy, few enough to keep memory flat.
_IN_FLIGHT_PER_JOB = 2
# So few pieces are done before the processes have started.
_FEW = 1
_LESS = "Try fewer jobs (--jobs 1), or less text at once"


_kept: ContextVar[tuple[int, ProcessPoolExecutor] | None] = ContextVar("_kept", default=None)
"""How many processes are kept for the whole of a command, and those."""
Later = Callable[..., Callable[[], Any]]
"""Takes what is done, in words, a function and what it is called with."""


@contextmanager
def keep_processes(jobs: int) -> Iterator[Later]:
    """Processes for all that is mapped inside with so many jobs: each takes seconds to import and
    to load models, which is then done once. What is given out gives a function that waits for
    it; with one job nothing is started, and it is done when it is asked for."""
    if jobs < 2:
        yield lambda doing, function, *arguments: partial(function, *arguments)
        return
    pool = _started(jobs)
    before = _kept.set((jobs, pool))
    try:
        yield lambda doing, function, *arguments: partial(
            _await_result, pool.submit(function, *arguments), doing
        )
    finally:
        _kept.reset(before)
        pool.shutdown(wait=True, cancel_futures=True)


def _await_result(future: Future[Out], doing: str) -> Out:
    try:
        return future.result()
    except BrokenProcessPool:
        raise _killed_error(doing, 0, "") from None


def _started(jobs: int) -> ProcessPoolExecutor:
    # Started afresh rather than forked: a fork copies locks held by other libraries' threads.
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(jobs, mp_context=context, initializer=_end_with_parent)


def _end_pool(pool: ProcessPoolExecutor) -> None:
    # Where nobody closed the results and they were collected in the pool's own thread, that cannot
    # wait for itself: it ends all the same.
    with suppress(RuntimeError):
        pool.shutdown(wait=True, cancel_futures=True)


def engine(where: str, jobs: int) -> Processes:
    nowhere("processes", where)
    return Processes(jobs)


class Processes(Engine):
    def __init__(self, jobs: int) -> None:
        self.jobs = jobs

    def _map(self, function: Any, items: Iterable[Any], doing: str, note: str) -> Iterator[Any]:
        items = iter(items)
        first = list(islice(items, _FEW + 1))
        if len(first) <= _FEW:
            yield from map(function, first)
            return
        running = _kept.get()
        is_own = running is None or running[0] != self.jobs
        pool = _started(self.jobs) if running is None or is_own else running[1]
        pending: deque[Future[Any]] = deque()
        done = 0
        try:
            for item in chain(first, items):
                pending.append(pool.submit(function, item))
                if len(pending) >= self.jobs * _IN_FLIGHT_PER_JOB:
                    yield pending.popleft().result()
                    done += 1
            while pending:
                yield pending.popleft().result()
                done += 1
        except BrokenProcessPool:
            # Whatever was finished in front of it has been given out already.
            raise _killed_error(doing, done, note) from None
        except MemoryError:
            problem = f"out of memory while {doing} (at about piece {done + 1:,})"
            raise RoteError(f"{problem}. {_LESS}{_as_sentence(note)}") from None
        finally:
            # Also reached when the consumer stops early or a piece fails.
            for future in pending:
                future.cancel()
            if is_own:
                _end_pool(pool)

    def share(self, value: Value) -> _InFile[Value]:
        return _InFile(value)


class _InFile(Generic[Value]):
    """A value in a temporary file, which every process reads once."""

    def __init__(self, value: Value) -> None:
        handle, self._path = tempfile.mkstemp(prefix="rote-shared-")
        weakref.finalize(self, os.unlink, self._path)
        with os.fdopen(handle, "wb") as file:
            pickle.dump(value, file, protocol=pickle.HIGHEST_PROTOCOL)

    @property
    def value(self) -> Value:
        value: Value = _load_value(self._path)
        return value


@lru_cache(maxsize=4)
def _load_value(path: str) -> Any:
    with open(path, "rb") as file:
        return pickle.load(file)


def _killed_error(doing: str, done: int, note: str) -> RoteError:
    problem = (
        f"a process was killed while {doing} (at about piece {done + 1:,}), usually because memory "
        f"ran out. {_LESS}{_as_sentence(note)}"
    )
    # Commands and the app have a guard; so has whatever was started with `python -m`.
    script = sys.modules["__main__"].__spec__ is None and "rote.cli.main" not in sys.modules
    if script and not done:
        problem += (
            ". If nothing ran at all: in a script, code that uses several jobs must be under `if "
            "__name__ == '__main__':`"
        )
    return RoteError(problem)


def _as_sentence(note: str) -> str:
    return f". {note}" if note else ""


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for work for ever."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
