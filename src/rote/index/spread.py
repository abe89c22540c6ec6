"""An index whose segments are asked where an engine works, each by a task of its own.

Answers are joined as those of segments on threads are: counts add up, and `top` is exact by the
argument of `counting/top_all.py`. What is asked about single places is answered here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache, partial
from operator import add
from pathlib import Path
from typing import Any

import numpy as np

from rote.core.errors import OptionError
from rote.index.answers import Counts, Frequent, Held
from rote.index.counting.frequent import frequent
from rote.index.counting.top_all import likeliest, possible
from rote.index.folders.manifest import Manifest
from rote.index.grams import Grams
from rote.index.index import DEFAULT, Batch, Index
from rote.index.opening import open_state
from rote.run import Engine, Shared

Items = tuple[str, ...]


class Spread(Index):
    """An index on disk, asked by an engine."""

    def __init__(self, index: Index, engine: Engine) -> None:
        if index.path is None or index.manifest is None:
            raise OptionError("an index in memory cannot be asked by other machines: build it")
        super().__init__(index.segments, path=index.path, manifest=index.manifest)
        self._engine = engine

    def counts(self, batch: Batch, layer: str = DEFAULT) -> Counts:
        return self._sum("counts", self._grams(batch, layer), layer)

    def document_counts(self, batch: Batch, layer: str = DEFAULT) -> Counts:
        return self._sum("document_counts", self._grams(batch, layer), layer)

    def held(self, batch: Batch, layer: str = DEFAULT) -> Held:
        grams = self._grams(batch, layer)
        # An author may have written in several segments: names are told apart here.
        authors = super().author_counts(grams, layer)
        return Held(self.counts(grams, layer), self.document_counts(grams, layer), authors)

    def top(
        self, n: int, k: int | None = None, layer: str = DEFAULT, *, documents: bool = False
    ) -> Frequent:
        self.columns(layer)
        if n < 1 or (k is not None and k < 1):
            raise OptionError("an n-gram has at least one item, and at least one is asked for")
        least, reached = 1, 0
        if k is not None and layer in self.sorted_layers:
            first, known, _ = _joined(self._each(_best, n, k, layer))
            asked = [first[i] for i in likeliest(known, k).tolist()]
            totals = np.sort(self.counts(asked, layer) if asked else np.empty(0, np.int64))
            if len(totals) >= k:
                reached = int(totals[-k])
                least = -(-reached // len(self.segments))
        if least == 1:
            return self._all(n, k, layer, documents=documents)
        found, known, seen = _joined(self._each(_frequent, n, least, layer))
        wanted = possible(known, seen, len(self.segments), least, reached)
        chosen = [gram for gram, one in zip(found, wanted.tolist()) if one]
        totals = self.counts(chosen, layer)
        order = np.lexsort((np.arange(len(chosen)), -totals))[:k]
        grams = Grams.of([chosen[i] for i in order.tolist()])
        held = self.document_counts(grams, layer) if documents else None
        return Frequent(grams, totals[order], held)

    def _all(self, n: int, k: int | None, layer: str, *, documents: bool) -> Frequent:
        """All n-grams of every segment, added up by key."""
        work = self._work(_counted, n, layer, documents)
        numbers = range(len(self.segments))
        pairs = list(self._engine.group(work, numbers, _added, doing="counting n-grams"))
        pairs.sort(key=lambda pair: (-pair[1][0], pair[0]))
        chosen = pairs[:k]
        totals, held = (
            np.array([value[place] for _, value in chosen], np.int64) for place in (0, 1)
        )
        grams = Grams.of([gram for gram, _ in chosen])
        return Frequent(grams, totals, held if documents else None)

    def _sum(self, method: str, grams: Grams, layer: str) -> Counts:
        if not isinstance(grams.vocabulary, tuple):  # that of a segment, which is large
            grams = Grams.of([grams[i] for i in range(len(grams))])
        return sum(self._each(_asked, method, grams, layer), np.zeros(len(grams), np.int64))

    def _each(self, ask: Any, *question: Any) -> Iterator[Any]:
        work, numbers = self._work(ask, *question), range(len(self.segments))
        return self._engine.map(work, numbers, doing="asking segments")

    def _work(self, ask: Any, *question: Any) -> Any:
        state = self._engine.share((self.path, self.manifest))
        return partial(_answer, state, ask, self._engine.share(question))


def _answer(state: Shared[Any], ask: Any, question: Shared[Any], number: int) -> Any:
    return ask(_segment(*state.value, number), *question.value)


@lru_cache(maxsize=8)
def _segment(path: Path, manifest: Manifest, number: int) -> Index:
    """One segment as an index of its own."""
    return open_state(path, replace(manifest, segments=(manifest.segments[number],)))


def _asked(index: Index, method: str, grams: Grams, layer: str) -> Counts:
    found: Counts = getattr(index, method)(grams, layer)
    return found


def _best(index: Index, n: int, k: int, layer: str) -> list[tuple[Items, int]]:
    found = index.top(n, k, layer)
    return [(found.grams[i], count) for i, count in enumerate(found.counts.tolist())]


def _frequent(index: Index, n: int, least: int, layer: str) -> list[tuple[Items, int]]:
    (column,) = index.columns(layer)
    places, counts = frequent(column, n, least=least)
    flat = column.ids.take((places[:, None] + np.arange(n)).reshape(-1)).reshape(-1, n)
    grams = (tuple(column.vocabulary[i] for i in row) for row in flat.tolist())
    return list(zip(grams, counts.tolist()))


def _joined(each: Iterator[list[tuple[Items, int]]]) -> tuple[list[Items], Counts, Counts]:
    """Each n-gram once, in order, how often it is known to occur, and how many segments know it."""
    totals: dict[Items, int] = {}
    seen: dict[Items, int] = {}
    for found in each:
        for gram, count in found:
            totals[gram] = totals.get(gram, 0) + count
            seen[gram] = seen.get(gram, 0) + 1
    grams = sorted(totals)
    known, held = (np.array([of[gram] for gram in grams], np.int64) for of in (totals, seen))
    return grams, known, held


def _counted(
    index: Index, n: int, layer: str, documents: bool
) -> Iterator[tuple[Items, tuple[int, int]]]:
    found = index.top(n, None, layer, documents=documents)
    held = found.documents if found.documents is not None else np.zeros(len(found.counts), np.int64)
    for number, both in enumerate(zip(found.counts.tolist(), held.tolist())):
        yield found.grams[number], both


def _added(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return add(one[0], other[0]), add(one[1], other[1])
