"""Where work is done: one core, several processes of this machine, or a cluster.

An engine maps a function over pieces, in order; groups what the pieces give by key; and shares a
value with whoever works. Every engine gives the same results in the same order, so that neither
the number of jobs nor the engine ever changes a value. `serial`, `processes` and `spark` are files
of this room; a package outside offers another as an entry point of the group `rote.run`: a
module with a function `engine(where, jobs)`, where `spark:yarn` has the place `yarn`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from hashlib import blake2b
from itertools import chain
from multiprocessing import parent_process
from typing import Any, Protocol, TypeVar

from rote.core import plugins
from rote.core.errors import OptionError

Item = TypeVar("Item")
Out = TypeVar("Out")
Value = TypeVar("Value")
Held = TypeVar("Held", covariant=True)


class Shared(Protocol[Held]):
    """A value that travels once to each place of work; what is pickled is a reference to it."""

    @property
    def value(self) -> Held: ...


class Engine:
    """What every engine offers; functions and items are picklable, results come in order."""

    jobs: int
    """How many pieces are worked on at a time."""
    remote = False
    """Whether work is done on other machines: then they read the input, this process does not."""

    def map(
        self,
        function: Callable[[Item], Out],
        items: Iterable[Item],
        *,
        doing: str = "working",
        note: str = "",
    ) -> Iterator[Out]:
        """Apply a function to items, which are drawn as they are needed, never all at once.

        Should a process be killed for good, the error says what it was `doing`, and what of it
        is saved for the next run (`note`).
        """
        return self._map(function, items, doing, note)

    def group(
        self,
        function: Callable[[Item], Iterable[tuple[Any, Value]]],
        items: Iterable[Item],
        fold: Callable[[Value, Value], Value],
        *,
        then: Callable[[Any, Value], Any] | None = None,
        doing: str = "working",
    ) -> Iterator[tuple[Any, Any]]:
        """All keys that the function gives, each with its values folded into one.

        Nothing is left out. The order is that of a hash of the keys, on every engine. Values are
        folded in any order, in place if `fold` likes. `then` makes of a key and its value what is
        given out, where they are: what it leaves out does not travel.
        """
        return self._group(function, items, fold, then, doing)

    def share(self, value: Value) -> Shared[Value]:
        """A reference to a value, for functions that travel."""
        raise NotImplementedError

    def _map(self, function: Any, items: Iterable[Any], doing: str, note: str) -> Iterator[Any]:
        raise NotImplementedError

    def _group(
        self, function: Any, items: Iterable[Any], fold: Any, then: Any, doing: str
    ) -> Iterator[tuple[Any, Any]]:
        """Folds where the pairs are made, so that each key of a piece travels once."""
        pieces = self._map(partial(_fold_piece, function, fold), items, doing, "")
        by_key = _fold_pairs(chain.from_iterable(pieces), fold)
        for key, value in in_order(by_key.items()):
            yield key, value if then is None else then(key, value)


def _fold_piece(function: Any, fold: Any, item: Any) -> list[tuple[Any, Any]]:
    return list(_fold_pairs(function(item), fold).items())


def _fold_pairs(pairs: Iterable[tuple[Any, Any]], fold: Any) -> dict[Any, Any]:
    """The values of each key as one."""
    by_key: dict[Any, Any] = {}
    for key, value in pairs:
        by_key[key] = fold(by_key[key], value) if key in by_key else value
    return by_key


def in_order(pairs: Iterable[tuple[Any, Value]]) -> list[tuple[Any, Value]]:
    """Pairs by the place of their key, and by the key itself."""
    return sorted(pairs, key=lambda pair: (place(pair[0]), pair[0]))


def place(key: Any) -> int:
    """Where a key belongs among all; unlike Python's own hash, the same in every process."""
    return int.from_bytes(blake2b(repr(key).encode(), digest_size=7).digest(), "big")


PLACES = 1 << 56


_threads: ContextVar[int] = ContextVar("_threads", default=1)


@contextmanager
def with_threads(count: int) -> Iterator[None]:
    """What is done inside may use so many threads of this process."""
    before = _threads.set(count)
    try:
        yield
    finally:
        _threads.reset(before)


def threads() -> int:
    """How many threads there are for what is done here, now."""
    return _threads.get()


def side_by_side(
    function: Callable[[Item], Out], items: Iterable[Item], count: int
) -> Iterator[Out]:
    """What comes of each, in order; on threads, where there may be several."""
    if count == 1:
        yield from map(function, items)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(count) as pool:
        yield from pool.map(function, items)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Products and eigenvalues on the thread that asks for them: OpenBLAS's own threads would wait
    for the cores that `side_by_side` has filled, which takes many times as long."""
    import scipy.linalg  # noqa: F401  (it has an OpenBLAS beside numpy's)
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        yield


def cores() -> int:
    """The cores that there are for this process; in a worker process one, for there are others."""
    if parent_process() is not None or "pyspark.worker" in sys.modules:
        return 1
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def check_jobs(jobs: int) -> None:
    if jobs < 1:
        raise OptionError(f"jobs must be at least 1, not {jobs}")


def get(name: str | Engine | None = None, jobs: int = 1) -> Engine:
    """An engine by its name, `spark:yarn` or `spark://host:7077`; without one, by the jobs."""
    check_jobs(jobs)
    if name is not None and not isinstance(name, str):
        return name
    name = name or ("serial" if jobs == 1 else "processes")
    kind, _, where = name.partition(":")
    engine: Engine = plugins.load("run", kind).engine(name if where[:2] == "//" else where, jobs)
    return engine
