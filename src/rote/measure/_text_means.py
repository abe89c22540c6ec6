"""Measures whose values are means over texts: their rows hold `scores`, one number of each text;
and notes on some of the texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from rote.compare.intervals import mean, mean_error
from rote.core.arrays import Flags, Floats
from rote.core.metric import Values
from rote.core.sample import Take


def count_note(flags: Flags, after: str, before: str = "") -> list[str]:
    """A note on so many of so many, where there are any."""
    count = int(flags.sum())
    return [f"{before}{count:,} of {len(flags):,} {after}"] if count else []


class TextScores(Protocol):
    @property
    def scores(self) -> Mapping[str, Floats]:
        """By the name of the value; nan where a text has none."""


def reduce(rows: TextScores, take: Take, options: Any, rng: np.random.Generator) -> Values:
    return {name: mean(column[take]) for name, column in rows.scores.items()}


def standard_errors(rows: TextScores, take: Take, options: Any) -> Values:
    return {name: mean_error(column[take]) for name, column in rows.scores.items()}


def per_text(rows: TextScores, options: Any) -> Mapping[str, Floats]:
    return rows.scores
