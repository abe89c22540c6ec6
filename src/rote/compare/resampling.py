"""Running one cheap function many times, on several threads, with the same outcome: each draw has a
random generator of its own, made from the seed and the draw's number alone.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from rote.core.arrays import Floats, Integers
from rote.core.metric import Values
from rote.core.progress import Advance
from rote.core.sample import Take
from rote.run import side_by_side

ReduceMany = Callable[[Sequence[Take]], dict[str, Floats]]
"""The values of many groups at once: value name -> one number for each group."""
BATCH = 128
"""Draws whose groups are held, and given to a measure, together."""


Keys = NDArray[np.uint64]


def generator(seed: int, purpose: str, draw: int = 0) -> np.random.Generator:
    """The generator for one draw of one purpose (`interval human`, `test human gpt`, ...)."""
    return np.random.default_rng([seed, zlib.crc32(purpose.encode()), draw])


def generators(seed: int, purpose: str, numbers: range) -> Iterator[np.random.Generator]:
    return (generator(seed, purpose, number) for number in numbers)


def scramble(keys: Keys, salt: np.uint64 | Keys) -> Keys:
    """A random number for each key, others for another salt (the finalizer of splitmix64)."""
    state = keys + salt
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(state ^ (state >> np.uint64(31)), np.uint64)


def rank_in_groups(order: Integers, *columns: Integers) -> Integers:
    """How many things of its group come before each in this order, in which groups (what is alike
    in all columns) follow one another."""
    begins = np.append(True, np.any([np.diff(column[order]) != 0 for column in columns], axis=0))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order)) - np.flatnonzero(begins)[np.cumsum(begins) - 1]
    return ranks


def draw_values(
    function: Callable[[np.random.Generator], Values],
    *,
    numbers: range,
    seed: int,
    purpose: str,
    jobs: int = 1,
    advance: Advance = lambda amount: None,
) -> dict[str, Floats]:
    """Value name -> its draws of these numbers."""

    def draw(rng: np.random.Generator) -> Values:
        values = function(rng)
        advance(1)
        return values

    rows = list(side_by_side(draw, generators(seed, purpose, numbers), jobs))
    names = rows[0] if rows else {}
    return {name: np.array([row[name] for row in rows], dtype=np.float64) for name in names}


def draw_group_values(
    many: ReduceMany,
    drawn: Callable[[np.random.Generator], Sequence[Take]],
    *,
    numbers: range,
    seed: int,
    purpose: str,
    jobs: int = 1,
    advance: Advance = lambda amount: None,
) -> list[dict[str, Floats]]:
    """The same for a measure that takes many groups at once and leaves nothing to chance.

    `drawn` gives the groups of one draw; there is one dict for the first group of every draw, one
    for the second, and so on.
    """

    def draw_batch(first: int) -> list[dict[str, Floats]]:
        block = numbers[first : first + BATCH]
        groups = [drawn(rng) for rng in generators(seed, purpose, block)]
        width = len(groups[0])
        values = many([take for of_draw in groups for take in of_draw])
        advance(len(block))
        return [{name: column[n::width] for name, column in values.items()} for n in range(width)]

    # Blocks depend on the number of draws alone: sums are the same on any number of threads.
    parts = side_by_side(draw_batch, range(0, len(numbers), BATCH), jobs)
    return [
        {name: np.concatenate([part[name] for part in of_group]) for name in of_group[0]}
        for of_group in zip(*parts)
    ]
