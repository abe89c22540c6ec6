"""Running one cheap function many times, on several threads, with the same outcome.

Each draw gets a random generator of its own, made from the seed and the draw's
number alone, so neither the number of threads nor their timing can be seen in a
result.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from rote.core.array_types import Floats
from rote.core.metric import Values
from rote.core.progress import Advance


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

    if jobs == 1:
        rows = [one(draw) for draw in range(count)]
    else:
        with ThreadPoolExecutor(jobs) as pool:
            rows = list(pool.map(one, range(count)))
    names = rows[0] if rows else {}
    return {name: np.array([row[name] for row in rows], dtype=np.float64) for name in names}
