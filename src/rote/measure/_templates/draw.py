"""N-grams that are no templates, drawn from the same texts: what templates are compared with."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rote.core.layer import Layer
from rote.core.sample import Take
from rote.measure._ngrams import ONCE
from rote.measure._templates.windows import Chosen, Windows

Places = NDArray[np.int64]
# So many places are drawn for each n-gram that is wanted before all places are gone through.
_TRIES = 50


def draw_others(
    windows: Windows,
    layer: Layer,
    take: Take,
    templates: Chosen,
    rng: np.random.Generator,
    *,
    numbered: bool = False,
) -> Places:
    """As many n-grams as there are templates, each by a place at which it stands.

    Places are drawn at random, so a frequent n-gram comes more easily; one that is a template
    or was drawn before does not count. There are fewer where the texts hold no more. `numbered`:
    every n-gram has a number, so that a place without one begins none.
    """
    lengths = np.maximum(layer.text_ends[take] - layer.text_starts[take] - windows.n + 1, 0)
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    used = set(templates.tolist())
    found: list[int] = []
    if not total or not len(templates):
        return np.empty(0, np.int64)
    for drawn in _rounds(total, _TRIES * len(templates), rng):
        rank = np.searchsorted(ends, drawn, side="right")
        places = layer.text_starts[take][rank] + drawn - (ends - lengths)[rank]
        if numbered:
            places = places[windows.numbers[places] != ONCE]
        numbers = windows.numbers[places]
        # What stands once has no number; its place names it as well.
        names = np.where(numbers == ONCE, -2 - places, numbers)
        for place, name in zip(places.tolist(), names.tolist()):
            if len(found) == len(templates):
                return np.array(found, np.int64)
            if name not in used:
                used.add(name)
                found.append(place)
    return np.array(found, np.int64)


def _rounds(total: int, tries: int, rng: np.random.Generator) -> Iterator[Places]:
    """Windows in random order: first some, drawn with replacement, then every one once.

    What was drawn before counts no more, so the chances of what comes next are the same in
    both; and the second, which takes longer, is seldom needed.
    """
    yield rng.integers(0, total, tries)
    yield rng.permutation(total)
