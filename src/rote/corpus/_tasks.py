"""Work over all shards of a corpus, on any engine, in the order of the input.

On this machine shards are cut here and go to the workers one by one. On others each file is cut
where it is read first: this process learns how many shards there are, and the places of those that
can be read alone. What cannot be cut without reading all that comes before (gzip, a table with
line ends in quotes) is one task, which gives the results of all its shards.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, TypeVar

from rote.core.errors import InputError
from rote.corpus._open import Corpus, File
from rote.corpus._shard import Shard, failure_of
from rote.run import Engine

Out = TypeVar("Out")
Value = TypeVar("Value")
Again = Callable[[Callable[[Shard], Out]], Out]
"""Applies another function to the shard that a result was made from."""


def map_shards(
    work: Callable[[Any], Out],
    corpus: Corpus,
    engine: Engine,
    *,
    doing: str,
    given: Callable[[int], Any] | None = None,
) -> Iterator[Out]:
    """A result for each shard; with `given`, work gets the shard and what is given its number."""
    pairs = map_again(work, corpus, engine, doing=doing, given=given)
    return (result for _, result in pairs)


def map_again(
    work: Callable[[Any], Out],
    corpus: Corpus,
    engine: Engine,
    *,
    doing: str,
    kept: str = "",
    given: Callable[[int], Any] | None = None,
) -> Iterator[tuple[Again[Any], Out]]:
    """The same, each result with a way to work on its shard again."""
    tasks: deque[_Task] = deque()

    def drawn() -> Iterator[_Task]:
        for task in _tasks(corpus, engine):
            task = _with(task, given)
            tasks.append(task)
            yield task

    for results in engine.map(_Each(work), drawn(), doing=doing, kept=kept):
        task = tasks.popleft()
        for place, result in enumerate(results):
            yield partial(_again, engine, task, place, doing), result


def group_shards(
    work: Callable[[Shard], Iterable[tuple[Any, Value]]],
    corpus: Corpus,
    engine: Engine,
    fold: Callable[[Value, Value], Value],
    *,
    then: Callable[[Any, Value], Out],
    doing: str,
) -> Iterator[tuple[Any, Out]]:
    """What the work on all shards gives, by key (`Engine.group`)."""
    return engine.group(_Pairs(work), _tasks(corpus, engine), fold, then=then, doing=doing)


def _with(task: _Task, given: Callable[[int], Any] | None) -> _Task:
    return task if given is None else replace(task, extras=tuple(map(given, task.numbers)))


@dataclass(frozen=True, slots=True)
class _Task:
    """A shard, several that are read at once, or a file of several, one after the other."""

    what: tuple[Shard, ...] | File
    first: int
    count: int = 1
    extras: tuple[Any, ...] = ()

    @property
    def numbers(self) -> range:
        return range(self.first, self.first + self.count)

    def shards(self) -> Iterator[Shard]:
        what, number = self.what, self.first
        shards = what.shards() if isinstance(what, File) else what
        for number, shard in enumerate(shards, self.first):
            yield replace(shard, number=number)
        if isinstance(what, File) and number + 1 != self.first + self.count:
            raise InputError(
                "the file has changed since it was read first",
                file=what.part.origin.file,
                remedy="Run the command again while nothing writes to it",
            )


@dataclass(frozen=True, slots=True)
class _Each:
    work: Callable[[Any], Any]

    def __call__(self, task: _Task) -> list[Any]:
        if not task.extras:
            return [self.work(shard) for shard in task.shards()]
        return [self.work((shard, extra)) for shard, extra in zip(task.shards(), task.extras)]


@dataclass(frozen=True, slots=True)
class _Pairs:
    work: Callable[[Shard], Iterable[tuple[Any, Any]]]

    def __call__(self, task: _Task) -> Iterator[tuple[Any, Any]]:
        return chain.from_iterable(map(self.work, task.shards()))


@dataclass(frozen=True, slots=True)
class _One:
    """Work on one shard of a task."""

    work: Callable[[Shard], Any]
    place: int

    def __call__(self, task: _Task) -> Any:
        return next(self.work(s) for n, s in enumerate(task.shards()) if n == self.place)


def _again(
    engine: Engine, task: _Task, place: int, doing: str, work: Callable[[Shard], Out]
) -> Out:
    single: Callable[[_Task], Out] = _One(work, place)
    return next(engine.map(single, [task], doing=doing)) if engine.remote else single(task)


def _tasks(corpus: Corpus, engine: Engine) -> Iterator[_Task]:
    if not engine.remote:
        yield from (_Task((shard,), shard.number) for shard in corpus.shards())
        return
    # Texts in memory and what was spooled here go along with their tasks.
    files = list(corpus.files())
    away = engine.map(_cut, (f for f in files if not corpus.is_here(f)), doing="cutting files")
    number = 0
    for file in files:
        shards = list(file.shards()) if corpus.is_here(file) else next(away)
        if isinstance(shards, int):
            if shards:
                yield _Task(file, number, shards)
            number += shards
            continue
        for several in _together(shards):
            yield _Task(several, number, len(several))
            number += len(several)


def _together(shards: list[Shard]) -> Iterator[tuple[Shard, ...]]:
    """The shards one by one, but neighbours that are read at once as one."""
    waiting: list[Shard] = []
    for shard in shards:
        if waiting and (shard.together is None or shard.together != waiting[-1].together):
            yield tuple(waiting)
            waiting = []
        waiting.append(shard)
    if waiting:
        yield tuple(waiting)


def _cut(file: File) -> list[Shard] | int:
    """The shards of a file where all refer to their place in it, else how many there are."""
    shards: list[Shard] = []
    count = 0
    for shard in file.shards():
        count += 1
        problem = failure_of(shard)
        if problem and isinstance(problem.__cause__, OSError) and file.options.on_error == "stop":
            raise problem  # said with the name of this machine
        if shard.refers:
            shards.append(shard)
    return shards if len(shards) == count else count
