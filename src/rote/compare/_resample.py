"""Running one cheap function many times, on several threads, with the same outcome.

Each draw gets a random generator of its own, made from the seed and the draw's
number alone, so neither the number of threads nor their timing can be seen in a
result.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from rote.core.array_types import Floats
from rote.core.metric import Values
from rote.core.progress import Advance
from rote.core.sample import Take

Many = Callable[[Sequence[Take]], dict[str, Floats]]
"""The values of many groups at once: value name -> one number for each group."""
AT_ONCE = 50
"""Draws whose groups are held, and given to a measure, together."""


Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


def side_by_side(
    function: Callable[[Item], Outcome], items: Iterable[Item], jobs: int
) -> Iterator[Outcome]:
    """What comes of each, in order; on threads, where there may be several."""
    if jobs == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(function, items)


def generator(seed: int, purpose: str, draw: int = 0) -> np.random.Generator:
    """The generator for one draw of one purpose (`interval human`, `test human gpt`, ...)."""
    return np.random.default_rng([seed, zlib.crc32(purpose.encode()), draw])


def draws(
    function: Callable[[np.random.Generator], Values],
    *,
    count: int,
    seed: int,
    purpose: str,
    jobs: int = 1,
    advance: Advance = lambda amount: None,
) -> dict[str, Floats]:
    """Value name -> its `count` draws."""

    def one(draw: int) -> Values:
        values = function(generator(seed, purpose, draw))
        advance(1)
        return values

    rows = list(side_by_side(one, range(count), jobs))
    names = rows[0] if rows else {}
    return {name: np.array([row[name] for row in rows], dtype=np.float64) for name in names}


def draws_of_groups(
    many: Many,
    drawn: Callable[[np.random.Generator], Sequence[Take]],
    *,
    count: int,
    seed: int,
    purpose: str,
    jobs: int = 1,
    advance: Advance = lambda amount: None,
) -> list[dict[str, Floats]]:
    """The same for a measure that takes many groups at once and leaves nothing to chance.

    `drawn` gives the groups of one draw; there is one dict for the first group of every draw, one
    for the second, and so on.
    """

    def some(first: int) -> list[dict[str, Floats]]:
        numbers = range(first, min(first + AT_ONCE, count))
        groups = [drawn(generator(seed, purpose, draw)) for draw in numbers]
        width = len(groups[0])
        found = many([take for of_draw in groups for take in of_draw])
        advance(len(numbers))
        return [{name: column[n::width] for name, column in found.items()} for n in range(width)]

    # Blocks depend on the number of draws alone: sums are the same on any number of threads.
    parts = side_by_side(some, range(0, count, AT_ONCE), jobs)
    return [
        {name: np.concatenate([part[name] for part in of_group]) for name in of_group[0]}
        for of_group in zip(*parts)
    ]
