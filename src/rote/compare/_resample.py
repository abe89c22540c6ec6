"""Running one cheap function many times, on several threads, with the same outcome.

Each draw gets a random generator of its own, made from the seed and the draw's
number alone, so neither the number of threads nor their timing can be seen in a
result.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations

import numpy as np
from numpy.random.bit_generator import ISeedSequence
from numpy.typing import NDArray

from rote.core.array_types import Floats
from rote.core.metric import Values
from rote.core.progress import Advance
from rote.core.sample import Take
from rote.run import side_by_side

Many = Callable[[Sequence[Take]], dict[str, Floats]]
"""The values of many groups at once: value name -> one number for each group."""
AT_ONCE = 128
"""Draws whose groups are held, and given to a measure, together."""


Words = NDArray[np.uint32]
Keys = NDArray[np.uint64]


def generator(seed: int, purpose: str, draw: int = 0) -> np.random.Generator:
    """The generator for one draw of one purpose (`interval human`, `test human gpt`, ...)."""
    return np.random.default_rng([seed, zlib.crc32(purpose.encode()), draw])


def generators(seed: int, purpose: str, numbers: range) -> Iterator[np.random.Generator]:
    """The same for many draws of one purpose. numpy takes longer to make a generator (24 us) than
    most draws take; here its seed sequences are computed for many draws at once (6 us)."""
    for first in range(0, len(numbers), AT_ONCE):
        for state in _states(seed, purpose, numbers[first : first + AT_ONCE]):
            # Any seed sequence may be given, which numpy's stubs do not say.
            yield np.random.Generator(np.random.PCG64(_Given(state)))  # type: ignore[arg-type]


class _Given(ISeedSequence):
    """A seed sequence whose state is known."""

    def __init__(self, state: NDArray[np.uint64]) -> None:
        self._state = state

    def generate_state(self, n_words: int, dtype: object = None) -> NDArray[np.uint64]:
        return self._state


def _states(seed: int, purpose: str, numbers: range) -> NDArray[np.uint64]:
    """What `SeedSequence([seed, purpose, number])` gives a PCG64, a row for each number."""
    size = max(1, -(-seed.bit_length() // 32))
    words = [*np.frombuffer(seed.to_bytes(4 * size, "little"), "<u4"), zlib.crc32(purpose.encode())]
    entropy = [np.full(len(numbers), word, np.uint32) for word in words]
    entropy += [np.array(numbers, np.uint32), *[np.zeros(len(numbers), np.uint32)] * (2 - size)]
    hashed = _Hash(0x43B0D7E5, 0x931E8875)
    pool = [hashed(word) for word in entropy[:4]]
    for source, target in permutations(range(4), 2):
        pool[target] = _mixed(pool[target], hashed(pool[source]))
    for word in entropy[4:]:
        pool = [_mixed(into, hashed(word)) for into in pool]
    hashed = _Hash(0x8B51F9DD, 0x58F38DED)
    return np.column_stack([hashed(word) for word in pool * 2]).astype("<u4").view("<u8")


class _Hash:
    """Multiplies by another number each time."""

    def __init__(self, start: int, factor: int) -> None:
        self._number, self._factor = start, factor

    def __call__(self, words: Words) -> Words:
        words = words ^ np.uint32(self._number)
        self._number = self._number * self._factor % 2**32
        return _shifted(words * np.uint32(self._number))


def _mixed(into: Words, words: Words) -> Words:
    return _shifted(into * np.uint32(0xCA01F9DD) - words * np.uint32(0x4973F715))


def _shifted(words: Words) -> Words:
    return words ^ (words >> np.uint32(16))


def scramble(keys: Keys, salt: np.uint64 | Keys) -> Keys:
    """A random number for each key, others for another salt (the finalizer of splitmix64)."""
    state = keys + salt
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(state ^ (state >> np.uint64(31)), np.uint64)


def draws(
    function: Callable[[np.random.Generator], Values],
    *,
    numbers: range,
    seed: int,
    purpose: str,
    jobs: int = 1,
    advance: Advance = lambda amount: None,
) -> dict[str, Floats]:
    """Value name -> its draws of these numbers."""

    def one(rng: np.random.Generator) -> Values:
        values = function(rng)
        advance(1)
        return values

    rows = list(side_by_side(one, generators(seed, purpose, numbers), jobs))
    names = rows[0] if rows else {}
    return {name: np.array([row[name] for row in rows], dtype=np.float64) for name in names}


def draws_of_groups(
    many: Many,
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

    def some(first: int) -> list[dict[str, Floats]]:
        block = numbers[first : first + AT_ONCE]
        groups = [drawn(rng) for rng in generators(seed, purpose, block)]
        width = len(groups[0])
        found = many([take for of_draw in groups for take in of_draw])
        advance(len(block))
        return [{name: column[n::width] for name, column in found.items()} for n in range(width)]

    # Blocks depend on the number of draws alone: sums are the same on any number of threads.
    parts = side_by_side(some, range(0, len(numbers), AT_ONCE), jobs)
    return [
        {name: np.concatenate([part[name] for part in of_group]) for name in of_group[0]}
        for of_group in zip(*parts)
    ]
