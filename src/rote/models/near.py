"""How likely a model is to write nearly what follows: a lower bound, by a beam search.

The beams are beginnings that can still come within so many edits (tokens put in, left out or
exchanged) of the tokens that follow. What is found in the end are different texts, so that their
chances add up; those that no beam held are missing, hence a lower bound. The beginning of the
text itself is always held: the bound is never below the chance of the text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from rote.core.choosing import Logits, distribution
from rote.core.model import Decoding, Ints

Step = Callable[[list[int], list[int]], Logits]
"""(beam that each goes on from, its next token) -> logits behind it, a row for each."""


def near(
    target: Sequence[int], first: Logits, step: Step, decoding: Decoding, edits: int, beams: int
) -> float:
    """The logarithm of the bound; `first` are the logits before the first token."""
    wanted = np.array(target, np.int64)
    held = [(0.0, np.arange(len(wanted) + 1), True)]
    logits = first
    for place in range(len(wanted)):
        found: list[tuple[float, int, int, Ints, bool]] = []
        for number, (log, row, exact) in enumerate(held):
            for token, chance in _next(logits[number], wanted, place, decoding, edits, beams):
                reached = next_row(row, wanted, token)
                if reached.min() <= edits:
                    same = exact and token == wanted[place]
                    found.append((log + chance, number, token, reached, same))
        if place == len(wanted) - 1:
            ends = [log for log, _, _, row, _ in found if row[-1] <= edits]
            return float(np.logaddexp.reduce(ends)) if ends else -math.inf
        found.sort(key=lambda one: (not one[4], -one[0], one[1], one[2]))
        found = found[:beams]
        if not found:
            return -math.inf
        held = [(log, row, exact) for log, _, _, row, exact in found]
        logits = step([one[1] for one in found], [one[2] for one in found])
    return 0.0


def _next(
    logits: Logits,
    wanted: Ints,
    place: int,
    decoding: Decoding,
    edits: int,
    most: int,
) -> list[tuple[int, float]]:
    """The likeliest tokens, and those that would follow in the text or near it."""
    if not np.isfinite(logits).any():
        return []  # nothing follows here
    tokens, logs = distribution(logits, decoding)
    asked = np.isin(tokens, wanted[max(0, place - edits) : place + edits + 1])
    asked[np.argsort(-logs, kind="stable")[:most]] = True
    return list(zip(tokens[asked].tolist(), logs[asked].tolist()))


def next_row(row: Ints, wanted: Ints, token: int) -> Ints:
    """Levenshtein's distances to all beginnings of the text, one token further."""
    steps = np.arange(len(row))
    reached = np.empty_like(row)
    reached[0] = row[0] + 1
    reached[1:] = np.minimum(row[1:] + 1, row[:-1] + (wanted != token))
    # A token of the text left out costs one, again and again.
    found: Ints = np.minimum.accumulate(reached - steps) + steps
    return found
