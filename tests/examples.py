"""Random examples of a property test: how many it tries, and how they are drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

Maker = Callable[[Random], Any]
_FEW = 10


def dear(percent: int) -> settings:
    """So many percent of the usual number where each takes long, also in `make fuzz`."""
    return settings(max_examples=-(-percent * settings().max_examples // 100))


def drawn(make: Maker) -> st.SearchStrategy[Any]:
    """What a function makes of a source of chance: hypothesis draws its seed alone, where drawing
    item by item would take longer than the test."""
    # Up to here all numbers are equally likely.
    return st.integers(0, 2**24 - 1).map(lambda seed: make(Random(seed)))


def some(one: Sequence[Any] | Maker, most: int, least: int = 0) -> Maker:
    """A list of so many at least and at most, mostly few: of items, or of what a function makes."""

    def make(chance: Random) -> list[Any]:
        few = min(most, least + _FEW)
        size = chance.randint(least, few if chance.random() < 0.8 else most)
        if isinstance(one, Sequence):
            return chance.choices(one, k=size)
        return [one(chance) for _ in range(size)]

    return make


def lists(one: Sequence[Any] | Maker, most: int, least: int = 0) -> st.SearchStrategy[Any]:
    """Such lists as a strategy."""
    return drawn(some(one, most, least))


def one_of(items: Sequence[Any]) -> Maker:
    return lambda chance: chance.choice(items)


def each(*makers: Maker) -> Maker:
    """One of every kind."""
    return lambda chance: tuple(make(chance) for make in makers)


def string(characters: Sequence[str], most: int, least: int = 0) -> Maker:
    return lambda chance: "".join(some(characters, most, least)(chance))
