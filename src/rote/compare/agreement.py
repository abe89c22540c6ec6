"""How far judges agree: Krippendorff's alpha (2011), with gaps, at three levels of measurement."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias, get_args

import numpy as np

from rote.compare.intervals import interval_from_error, left_out_error
from rote.core.array_types import Floats, Integers

Level: TypeAlias = Literal["nominal", "ordinal", "interval"]
LEVELS: tuple[Level, ...] = get_args(Level)


def alpha(ratings: Floats, level: Level) -> float:
    """Of a table of judges by units, nan where a judge said nothing: 1 minus the disagreement
    within units over that expected by chance. nan where no unit has two judges, or where all say
    the same, so that nothing could be told apart."""
    return _alpha(*_value_counts(ratings), level)


def alpha_interval(
    ratings: Floats, level: Level, at: float, documents: Integers
) -> tuple[float, float]:
    """By the jackknife over documents: what judges say of two summaries of one document is no
    independent evidence. `documents` number those of the units."""
    counts, values = _value_counts(ratings)
    used = np.unique(documents[counts.sum(1) > 1])
    without = [_alpha(counts[documents != document], values, level) for document in used]
    error, estimate = left_out_error(np.array(without)), _alpha(counts, values, level)
    low, high = interval_from_error(estimate, error, at, len(used))
    return low, min(high, 1.0) if not math.isnan(high) else high


def _value_counts(ratings: Floats) -> tuple[Floats, Floats]:
    """How often each value is given to each unit, and the values."""
    values = np.unique(ratings[~np.isnan(ratings)])
    return (ratings[:, :, None] == values).sum(0).astype(np.float64), values


def _alpha(counts: Floats, values: Floats, level: Level) -> float:
    judged = counts.sum(1)
    counts, judged = counts[judged > 1], judged[judged > 1]
    if not len(counts):
        return math.nan
    observed = np.zeros((len(values), len(values)))
    for judges in np.unique(judged):  # of as many judges each: sums of whole numbers
        same = counts[judged == judges]
        observed += (same.T @ same - np.diag(same.sum(0))) / (judges - 1)
    often = observed.sum(0)
    expected = (np.outer(often, often) - np.diag(often)) / (often.sum() - 1)
    apart = _squared_distances(values, often, level)
    chance = float((expected * apart).sum())
    return 1 - float((observed * apart).sum()) / chance if chance > 0 else math.nan


def _squared_distances(values: Floats, often: Floats, level: Level) -> Floats:
    """How far two values are apart, squared."""
    if level == "nominal":
        return 1 - np.eye(len(values))
    if level == "interval":
        return np.asarray((values[:, None] - values) ** 2)
    # Between two ranks: all that lie between them, and half of each.
    middle = np.cumsum(often) - often / 2
    return np.asarray((middle[:, None] - middle) ** 2)
