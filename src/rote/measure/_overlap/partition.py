"""Test items in bins by their overlap, from the most novel (T_nov) to the most similar (T_sim).

Bins are (a, b], the first [0, b]. A bin is 5 points wide and grows in steps of 5 until it holds
enough items; what is left at the end and holds too few joins the bin before; the last bin is open.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.int64]

STEPS = 20
"""Of 5 points each."""
LEAST = 20
"""A bin holds at least one of so many items: 5 %."""
NO_BIN = -1
NOVEL, SIMILAR = "T_nov", "T_sim"


@dataclass(frozen=True, slots=True)
class Partition:
    """`edges` are the upper ends of the bins in steps; `items` how many items each holds."""

    edges: tuple[int, ...]
    items: tuple[int, ...]
    undefined: int
    """Items without an n-gram, which are in no bin."""
    least: int

    def __len__(self) -> int:
        return len(self.edges)

    def name(self, bin: int) -> str | None:
        """T_nov for the first and T_sim for the last bin, where they are two."""
        if len(self) < 2:
            return None
        return {0: NOVEL, len(self) - 1: SIMILAR}.get(bin)

    def bounds(self, bin: int) -> tuple[float, float]:
        """The overlap above which and up to which an item is in the bin."""
        low = self.edges[bin - 1] if bin else 0
        return low / STEPS, self.edges[bin] / STEPS

    def bins(self, found: Integers, every: Integers) -> Integers:
        """The bin of each item: `found` of its `every` n-grams are held."""
        steps = steps_of(found, every)
        return np.where(steps == NO_BIN, NO_BIN, np.searchsorted(self.edges, steps))


def partition(found: Integers, every: Integers, least: int | None = None) -> Partition:
    """The bins for these items; `least` items at least, by default 5 % of those with an overlap."""
    steps = steps_of(found, every)
    defined = steps[steps != NO_BIN]
    if least is None:
        least = max(1, -(-len(defined) // LEAST))
    counts = np.bincount(defined, minlength=STEPS + 1)
    edges, items, waiting = [], [], 0
    for step in range(1, STEPS + 1):
        waiting += int(counts[step])
        if waiting >= least:
            edges.append(step)
            items.append(waiting)
            waiting = 0
    if not edges:
        edges, items = [STEPS], [0]
    edges[-1] = STEPS
    items[-1] += waiting
    return Partition(tuple(edges), tuple(items), int((steps == NO_BIN).sum()), least)


def steps_of(found: Integers, every: Integers) -> Integers:
    """The step that holds each overlap, 1 to 20; in whole numbers, so that edges are exact.

    Step s is ((s - 1) / 20, s / 20], and step 1 holds 0 too; NO_BIN where there is no n-gram.
    """
    steps = -(-found * STEPS // np.maximum(every, 1))
    return np.where(every > 0, np.maximum(steps, 1), NO_BIN)
