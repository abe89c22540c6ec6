"""Values at equal size: what would a source score if it had as much text as the others?

A score that moves with length says more about length than about language, so each
source is drawn down to the size of the smallest, repeatedly, and a curve over
sizes shows how the score grows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rote.compare._resample import draws
from rote.core.metric import Values
from rote.core.progress import Advance
from rote.core.sample import Take

MATCHED_DRAWS = 20
CURVE_DRAWS = 20
# Beyond this many words a longer draw changes nothing that a reader would see.
LARGEST_DRAW = 1_000_000
_SMALLEST = {"words": 250, "texts": 5}
_CURVE_POINTS = 8

Unit = Literal["words", "texts"]
Draw = Callable[[Take, int, np.random.Generator], Values]
"""Values of `size` units drawn from the texts of `take`."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """What all draws share: the values at a size, and how to repeat them."""

    unit: Unit
    draw: Draw
    seed: int
    jobs: int
    advance: Advance

    def rows(self, source: str, take: Take, size: int, count: int) -> list[dict[str, Any]]:
        """One table row per value: mean and spread over `count` draws of `size`."""
        table = draws(
            lambda rng: self.draw(take, size, rng),
            count=count,
            seed=self.seed,
            purpose=f"match {source} {size}",
            jobs=self.jobs,
            advance=self.advance,
        )
        return [
            {
                "source": source,
                "value": name,
                self.unit: size,
                "mean": float(column.mean()),
                "sd": float(column.std(ddof=1)),
                "draws": count,
            }
            for name, column in table.items()
        ]


def matched_size(sizes: Mapping[str, int]) -> int:
    """The size that every source can give."""
    return min(LARGEST_DRAW, *sizes.values())


def unequal(sizes: Mapping[str, int]) -> bool:
    """Whether sources differ in size by more than a reader would see in a value."""
    return max(sizes.values()) > 1.01 * min(sizes.values())


def curve_sizes(sizes: Mapping[str, int], unit: Unit) -> list[int]:
    """Halving downwards from the size that all sources have, doubling up to the largest."""
    common, largest = matched_size(sizes), min(LARGEST_DRAW, max(sizes.values()))
    points = {common >> halvings for halvings in range(_CURVE_POINTS)}
    points |= {common << doublings for doublings in range(1, _CURVE_POINTS)}
    return sorted(size for size in points if _SMALLEST[unit] <= size <= largest)


def matched(
    groups: Mapping[str, Take], sizes: Mapping[str, int], drawing: Drawing
) -> list[dict[str, Any]]:
    """Every source at the size of the smallest."""
    size = matched_size(sizes)
    return [
        row
        for source, take in groups.items()
        for row in drawing.rows(source, take, size, MATCHED_DRAWS)
    ]


def curve(
    groups: Mapping[str, Take], sizes: Mapping[str, int], drawing: Drawing
) -> list[dict[str, Any]]:
    """Every source at every size of the curve that it can give."""
    return [
        row
        for source, take in groups.items()
        for size in curve_sizes(sizes, drawing.unit)
        if size <= sizes[source]
        for row in drawing.rows(source, take, size, CURVE_DRAWS)
    ]


def planned_draws(sizes: Mapping[str, int], unit: Unit) -> int:
    """How many draws `matched` and `curve` will make, for a progress bar."""
    points = curve_sizes(sizes, unit)
    on_curve = sum(size <= own for own in sizes.values() for size in points)
    return CURVE_DRAWS * on_curve + (MATCHED_DRAWS * len(sizes) if unequal(sizes) else 0)
