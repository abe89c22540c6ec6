"""The n-grams of `limit` where the texts are: counted by key, looked up shard by shard.

For engines of other machines. Of all n-grams this process gets those that may come over a limit,
and where they stand; words stay where they are read, three times. The numbers are those of
`limit.repeats`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from rote.corpus import Corpus, Shard, group_shards, map_shards
from rote.curate.limit import LimitOptions, Repeats
from rote.curate.reading import Read, Tokenizing, kept, starts_of
from rote.run import Engine, Shared

Gram = tuple[str, ...]
Place = tuple[int, int]
"""The number of a shard, and the place of a word in it."""
Given = tuple[Shard, NDArray[np.int64]]
"""A shard, and the lines of it that are used."""
Table = dict[Gram, tuple[int, int]]
"""Of an n-gram its number, or -1 if it cannot come over a limit, and its frequency."""


def repeats_elsewhere(
    corpus: Corpus, work: Tokenizing, found: Read, options: LimitOptions, engine: Engine
) -> tuple[Read, Repeats]:
    """The n-grams, and the texts with just as many words as spell them."""
    least = min(options.most)
    # How repetitive a text is matters to some subsets; to others only what may come over a limit.
    counted = _counted(
        corpus, work, found, options.n, 1 if options.most_repeated else least, engine
    )
    if not counted:
        counted = _counted(corpus, work, found, options.n, 1, engine)
    above = [(gram, count) for gram, (count, _) in counted if count > least]
    table: Table = {gram: (-1, count) for gram, (count, _) in counted}
    table |= {gram: (number, count) for number, (gram, count) in enumerate(above)}
    look = _Looking(work, options.n, engine.share(table))
    given = found.lines.__getitem__
    pieces = list(map_shards(look, corpus, engine, given=given, doing="looking up n-grams"))
    grams, sizes, everywhere, inside = (
        np.concatenate([np.empty(0, np.int32), *column]) for column in zip(*pieces)
    )
    words = tuple(dict.fromkeys(chain.from_iterable(gram for gram, _ in above)))
    numbers = {word: number for number, word in enumerate(words)}
    spelled = [numbers[word] for gram, _ in above for word in gram]
    repeats = Repeats(
        grams=grams,
        ends=np.cumsum(sizes, dtype=np.int64),
        frequency=np.array([count for _, count in above], np.int32),
        places=np.arange(len(above), dtype=np.int64) * options.n,
        everywhere=everywhere,
        inside=inside,
    )
    return replace(found, ids=np.array(spelled, np.int32), vocabulary=words), repeats


def _counted(
    corpus: Corpus, work: Tokenizing, found: Read, n: int, least: int, engine: Engine
) -> list[tuple[Gram, tuple[int, Place]]]:
    """All n-grams that stand more than `least` times, in the order in which they first stand."""
    pairs = group_shards(
        partial(_pairs, work, n),
        corpus,
        engine,
        _added,
        given=found.lines.__getitem__,
        keep=partial(_stands_more, least),
        doing="counting n-grams",
    )
    return sorted(pairs, key=lambda pair: pair[1][1])


def _pairs(work: Tokenizing, n: int, given: Given) -> Iterator[tuple[Gram, tuple[int, Place]]]:
    """The n-grams of a shard: how often each stands there, and where first."""
    counts: Counter[tuple[int, ...]] = Counter()
    places: dict[tuple[int, ...], int] = {}
    vocabulary, _, parts = _parts(work, given)
    start = 0
    for part in parts:
        for place, gram in enumerate(_grams(part, n), start):
            counts[gram] += 1
            places.setdefault(gram, place)
        start += len(part)
    for gram, count in counts.items():
        yield tuple(vocabulary[i] for i in gram), (count, (given[0].number, places[gram]))


def _added(one: tuple[int, Place], other: tuple[int, Place]) -> tuple[int, Place]:
    return one[0] + other[0], min(one[1], other[1])


def _stands_more(least: int, value: tuple[int, Place]) -> bool:
    return value[0] > least


def _grams(part: list[int], n: int) -> Iterator[tuple[int, ...]]:
    return zip(*(part[i:] for i in range(n)))


def _parts(work: Tokenizing, given: Given) -> tuple[Sequence[str], list[int], list[list[int]]]:
    """The vocabulary, how many parts each text has, and the words of each part."""
    shard, lines = given
    piece = work(shard)
    piece = kept(piece, np.isin(piece.batch.lines, lines))
    ids, ends = piece.layer.ids.tolist(), piece.layer.text_ends
    bounds = zip(starts_of(ends).tolist(), ends.tolist())
    return piece.layer.vocabulary, piece.counts.tolist(), [ids[a:b] for a, b in bounds]


@dataclass(frozen=True, slots=True)
class _Looking:
    """The work on one shard: its n-grams that may come over a limit, text by text, and how
    repetitive each text is."""

    work: Tokenizing
    n: int
    table: Shared[Table]

    def __call__(self, given: Given) -> tuple[NDArray[np.int32], ...]:
        vocabulary, counts, parts = _parts(self.work, given)
        table, left = self.table.value, iter(parts)
        grams: list[int] = []
        rows: list[tuple[int, int, int]] = []
        for count in counts:
            before, everywhere = len(grams), 0
            own: Counter[tuple[int, ...]] = Counter()
            for _ in range(count):
                for gram in _grams(next(left), self.n):
                    own[gram] += 1
                    held = table.get(tuple(vocabulary[i] for i in gram))
                    if held is None:
                        everywhere = max(everywhere, 1)
                        continue
                    everywhere = max(everywhere, held[1])
                    if held[0] >= 0:
                        grams.append(held[0])
            rows.append((len(grams) - before, everywhere, max(own.values(), default=0)))
        sizes, most, inside = np.array(rows, np.int32).reshape(-1, 3).T
        return np.array(grams, np.int32), sizes, most, inside
