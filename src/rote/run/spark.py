"""A cluster of Spark: its executors read, work and write; this process joins what they give.

Scheduling, shuffling and trying again are Spark's. Pieces go to it in windows of as many tasks
as there are cores, or more, a few windows at a time, so that items are drawn as needed and results
come in order. Every task first looks whether its executor has the same version of rote.
"""

from __future__ import annotations

import os
import pickle
import re
import sys
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, partial
from itertools import islice
from pathlib import Path
from types import FunctionType
from typing import Any

from rote.core.distribution import version
from rote.core.errors import InputError, MissingExtra, OptionError, RoteError
from rote.run import PLACES, Engine, Value, in_order, place

_LOCAL_CLUSTER = re.compile(r"local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*(\d+)\s*\]")
# While the last tasks of one window run, cores that are free work on the next. Each window is a job
# of Spark, which costs tens of milliseconds.
_WINDOWS, _WINDOW = 3, 8
# Java hands bytes to Python and back: what it would gain by compiling itself well, it never earns.
_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_FAILED = "\0failed\0"
# What so many shards give to a shuffle is about as much as one process should hold.
_SHARDS_A_PART = 8


def engine(where: str, jobs: int) -> Spark:
    return _spark(where)


@cache
def _spark(where: str) -> Spark:
    return Spark(where)


class Spark(Engine):
    remote = True

    def __init__(self, master: str) -> None:
        self._context = _context(master)
        self.jobs = max(1, int(self._context.defaultParallelism))
        tries = 1 if _is_local(str(self._context.master)) else 4
        self._tries = int(self._context.getConf().get("spark.task.maxFailures", str(tries)))
        list(self.map(_nothing, range(2 * self.jobs), doing="looking for rote"))

    def _map(self, function: Any, items: Iterable[Any], doing: str, note: str) -> Iterator[Any]:
        group, drawn = uuid.uuid4().hex, enumerate(items)
        pending: deque[Future[list[tuple[Any, Any]]]] = deque()
        with ThreadPoolExecutor(_WINDOWS) as pool:
            try:
                while window := list(islice(drawn, max(self.jobs, _WINDOW))):
                    work = partial(self._results, group, function, window, doing, note)
                    pending.append(pool.submit(work))
                    if len(pending) == _WINDOWS:
                        yield from _raise_failures(pending.popleft().result(), doing, note)
                while pending:
                    yield from _raise_failures(pending.popleft().result(), doing, note)
            finally:
                # Also reached when the consumer stops early or a piece fails.
                for waiting in pending:
                    waiting.cancel()
                self._context.cancelJobGroup(group)

    def _group(
        self, function: Any, items: Iterable[Any], fold: Any, then: Any, doing: str
    ) -> Iterator[tuple[Any, Any]]:
        # All references at once: a shuffle begins when every piece has given its pairs.
        every = list(enumerate(items))
        if not every:
            return
        parts = max(self.jobs, len(every) // _SHARDS_A_PART)
        self._context.setJobGroup(uuid.uuid4().hex, doing)
        # Spark folds pairs as they come, and moves them to disk when they get many.
        pairs = self._tasks(function, every, stream=True).map(_pair)
        grouped = pairs.reduceByKey(fold, parts, partial(_part, -(-PLACES // parts)))
        try:
            for result in grouped.mapPartitions(partial(_sort_part, then)).toLocalIterator(True):
                yield from _raise_failures([result], doing, "")
        except Exception as error:
            raise _spark_error(error, doing, "") from error

    def share(self, value: Value) -> Any:
        return self._context.broadcast(value)

    def _tasks(
        self, function: Callable[..., Any], numbered: list[tuple[int, Any]], stream: bool = False
    ) -> Any:
        """One task for each item; items travel as bytes, as rote may be missing over there."""
        from pyspark import cloudpickle

        dumps: Any = cloudpickle.dumps
        pickled = [(number, pickle.dumps(item, protocol=-1)) for number, item in numbered]
        task = _by_value(_task)(version(), self._tries, dumps(function), stream)
        return self._context.parallelize(pickled, len(pickled)).flatMap(task)

    def _results(
        self, group: str, function: Any, window: list[tuple[int, Any]], doing: str, note: str
    ) -> list[tuple[Any, Any]]:
        self._context.setJobGroup(group, doing)
        try:
            results: list[tuple[Any, Any]] = self._tasks(function, window).collect()
            return results
        except Exception as error:
            raise _spark_error(error, doing, note) from error


def _context(master: str) -> Any:
    """The session of this process: the one that `spark-submit` configured, or a new one."""
    try:
        import pyspark
    except ImportError:
        raise MissingExtra("pyspark", "spark", "the engine 'spark'") from None
    settings = pyspark.SparkConf().setAppName("rote")
    settings.set("spark.ui.showConsoleProgress", "false").set("spark.driver.maxResultSize", "0")
    if master:
        settings.setMaster(master)
    cluster = _LOCAL_CLUSTER.fullmatch(master)
    if _is_local(master) or cluster:
        # What a cluster's own settings would say.
        os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        settings.set("spark.ui.enabled", "false")
        for process in ("driver", "executor"):
            settings.setIfMissing(f"spark.{process}.extraJavaOptions", _JAVA)
    if cluster:
        settings.set("spark.executor.memory", f"{cluster[1]}m")
    try:
        context = pyspark.SparkContext.getOrCreate(settings)
    except pyspark.errors.PySparkException as error:
        raise OptionError(
            f"Spark does not start ({_first_line(error)}): it needs Java 17 or newer (Debian: "
            "openjdk-17-jre-headless), found by JAVA_HOME or on the PATH"
        ) from None
    except Exception as error:
        raise OptionError(f"Spark does not start: {_first_line(error)}") from None
    if master and str(context.master) != master:
        raise OptionError(f"this process works with Spark at {context.master}, not at {master}")
    context.setLogLevel("OFF")  # what goes wrong is raised here, in words
    return context


def _is_local(master: str) -> bool:
    return master == "local" or master.startswith("local[")


def _nothing(item: object) -> None:
    return None


def _pair(result: tuple[Any, Any]) -> tuple[Any, Any]:
    """A pair that a task gave; what went wrong there travels like one."""
    return result[1] if not result[0] else ((_FAILED, result[0]), result[1])


def _part(width: int, key: Any) -> int:
    """What went wrong is in the first part, so that nothing is given out before it is raised."""
    return 0 if _is_failure(key) else place(key) // width


def _is_failure(key: Any) -> bool:
    return isinstance(key, tuple) and len(key) == 2 and bool(key[0] == _FAILED)


def _sort_part(
    then: Callable[[Any, Any], Any] | None, pairs: Iterable[tuple[Any, Any]]
) -> Iterator[tuple[Any, Any]]:
    """The pairs of a part in order, as results; what went wrong first, in the order of tasks."""
    ordered = list(pairs)
    failures = [(key[1], error) for key, error in ordered if _is_failure(key)]
    yield from sorted(failures, key=lambda failure: failure[0][1][1])
    for key, value in in_order(pair for pair in ordered if not _is_failure(pair[0])):
        yield "", (key, value if then is None else then(key, value))


def _by_value(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, to be sent as code: whoever gets it need not have this module."""
    copied = FunctionType(function.__code__, {"__builtins__": __builtins__}, function.__name__)
    copied.__module__ = "__main__"
    return copied


def _task(
    expected: str, tries: int, pickled: bytes, stream: bool
) -> Callable[[tuple[int, bytes]], Iterator[tuple[Any, Any]]]:
    """What an executor runs for one item; gives ("", result), or what went wrong and where.

    A `stream` is a result that is given out bit by bit. What may be the machine's fault is raised,
    so that Spark tries it elsewhere; the last time it is told. Sent by value: whatever it needs it
    imports itself.
    """

    def run(item: tuple[int, bytes]) -> Iterator[tuple[Any, Any]]:
        import gc
        import pickle
        import socket

        from pyspark import TaskContext

        # Workers collect garbage after each task; modules and kernels, which stay, are left out.
        gc.freeze()
        number, pickled_item = item
        context = TaskContext.get()
        last = context is None or context.attemptNumber() + 1 >= tries
        where = (socket.gethostname(), number + 1)
        try:
            from rote.core.distribution import version

            there = version()
        except ImportError as error:
            yield ("missing", where), (expected, str(error))
            return
        if there != expected:
            yield ("version", where), (expected, there)
            return
        try:
            result = pickle.loads(pickled)(pickle.loads(pickled_item))
            for each in result if stream else (result,):
                yield "", each
        except Exception as error:
            machine = (OSError, MemoryError)
            outer = error.__cause__ or error.__context__
            if not isinstance(error, machine) and not isinstance(outer, machine):
                yield ("error", where), error
            elif not last:
                raise
            else:
                yield ("machine", where), error if isinstance(error, machine) else str(error)

    return run


def _raise_failures(results: list[tuple[Any, Any]], doing: str, note: str) -> Iterator[Any]:
    """The results up to what went wrong, which is raised here."""
    for status, value in results:
        if not status:
            yield value
            continue
        kind, (host, task) = status
        if kind == "error":
            raise value
        where = f"on {host}, task {task:,}, while {doing}"
        if kind == "missing":
            raise OptionError(
                f"the executor on {host} has no rote ({value[1]}): it needs rote {value[0]}, as "
                "here. docs/scale.md says how to send it along"
            )
        if kind == "version":
            raise OptionError(
                f"the executor on {host} has rote {value[1]}, and this machine has rote "
                f"{value[0]}: install the same version on both"
            )
        if isinstance(value, MemoryError):
            raise RoteError(f"out of memory {where}. Give executors more memory. {note}".strip())
        if isinstance(value, OSError):
            raise InputError(
                f"{(value.strerror or str(value)).lower()} ({where})",
                file=value.filename if isinstance(value.filename, str) else None,
                remedy=f"Fix that on {host}, then run the same command again. {note}".strip(),
            )
        raise RoteError(f"{value} ({where})")


def _spark_error(error: Exception, doing: str, note: str) -> Exception:
    """What Spark gave up on, in words."""
    if isinstance(error, RoteError):
        return error
    cause = _first_line(error)
    if "ExecutorLostFailure" in cause or "exited" in cause:
        problem = f"executors were lost again and again while {doing} ({cause})"
        return RoteError(f"{problem}, usually because memory ran out. {note}".strip())
    return RoteError(f"Spark failed while {doing}: {cause}. {note}".strip())


def _first_line(error: Exception) -> str:
    """The line of a long message that says it."""
    java = getattr(error, "java_exception", None)
    text = str(java.getMessage() if java is not None else error)
    return next((line.strip() for line in text.splitlines() if line.strip()), repr(error))[:500]
