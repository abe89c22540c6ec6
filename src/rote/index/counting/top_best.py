"""Keeping the highest counts while they come in, in any order, with all that tie with the last.

Candidates are rows of `best`: a key, where it was first seen, and its count. `state` holds the
bar below which a count cannot be among the highest any more, how many candidates are at or above
it, and how many rows are filled. `tallies[c]` is how many candidates have count c, so the bar
rises without looking at the candidates again. Both ways of finding n-grams feed this one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit

KEY, FIRST, COUNT = 0, 1, 2
BAR, ABOVE, FILLED, MOST = 0, 1, 2, 3
# The bar rises no further than this: of n-grams that are so frequent there can only be few.
_HIGHEST = 1023
_ROWS = 1024


def empty(least: int, most: int | None) -> tuple[NDArray[np.int64], ...]:
    """`best`, `tallies` and `state` with no candidate yet; most None: all that reach least."""
    state = np.array([least, 0, 0, -1 if most is None else most], np.int64)
    return np.empty((_ROWS, 3), np.int64), np.zeros(_HIGHEST + 1, np.int64), state


def chosen(best: NDArray[np.int64], state: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows of the highest counts and of all that tie with the last of them."""
    rows = best[: state[FILLED]]
    bar, most = int(state[BAR]), int(state[MOST])
    if bar == _HIGHEST and 0 < most < len(rows):
        # The bar may have stopped too low.
        counts = rows[:, COUNT]
        bar = max(bar, int(np.partition(counts, len(rows) - most)[len(rows) - most]))
    return rows[rows[:, COUNT] >= bar]


@njit(cache=True, nogil=True)
def with_room(best, state, rows):  # type: ignore[no-untyped-def]
    """`best` with room for so many more rows; those below the bar are dropped if there is not."""
    if state[FILLED] + rows <= len(best):
        return best
    kept = 0
    for i in range(state[FILLED]):
        if best[i, COUNT] >= state[BAR]:
            for j in range(3):
                best[kept, j] = best[i, j]
            kept += 1
    state[FILLED] = kept
    if 2 * (kept + rows) <= len(best):
        return best
    larger = np.empty((2 * (kept + rows), 3), np.int64)
    for i in range(kept):
        for j in range(3):
            larger[i, j] = best[i, j]
    return larger


@njit(inline="always")
def keep(best, tallies, state, key, first, count):  # type: ignore[no-untyped-def]
    """Take a candidate if it reaches the bar; `best` must have room."""
    if count >= state[BAR]:
        filled = state[FILLED]
        best[filled, KEY] = key
        best[filled, FIRST] = first
        best[filled, COUNT] = count
        state[FILLED] = filled + 1
        if state[MOST] > 0:
            tallies[min(count, _HIGHEST)] += 1
            state[ABOVE] += 1
            while state[BAR] < _HIGHEST and state[ABOVE] - tallies[state[BAR]] >= state[MOST]:
                state[ABOVE] -= tallies[state[BAR]]
                state[BAR] += 1
