"""How well a score tells members of the training data from others, and how sure that is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.compare.intervals import around
from rote.compare.shares import wilson

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Separation:
    """AUC, and the share of members found at a given share of false alarms."""

    members: int
    others: int
    auc: float
    auc_interval: tuple[float, float]
    found: float
    found_interval: tuple[float, float]
    false_alarms: float
    """The share of false alarms that `found` really has: at most the one asked for."""


def separation(members: Floats, others: Floats, *, alarms: float, level: float) -> Separation:
    """Higher scores speak for membership; undefined ones (nan) are left out."""
    members, others = members[~np.isnan(members)], others[~np.isnan(others)]
    if not len(members) or not len(others):
        nothing = (math.nan, math.nan)
        return Separation(len(members), len(others), math.nan, nothing, math.nan, nothing, math.nan)
    auc, error = _auc(members, others)
    threshold, real = _threshold(others, alarms)
    found = int((members > threshold).sum())
    return Separation(
        len(members),
        len(others),
        auc,
        around(auc, error, level, share=True),
        found / len(members),
        # The threshold is taken as given: of the members alone this says how sure the share is.
        wilson(found, len(members), level),
        real,
    )


def _auc(members: Floats, others: Floats) -> tuple[float, float]:
    """The chance that a member scores above another, ties half; its standard error (DeLong)."""
    by_member = _below(members, others)
    by_other = 1 - _below(others, members)
    auc = float(by_member.mean())
    variance = sum(
        float(np.var(part, ddof=1)) / len(part) if len(part) > 1 else math.nan
        for part in (by_member, by_other)
    )
    return auc, math.sqrt(variance) if not math.isnan(variance) else math.nan


def _below(scores: Floats, others: Floats) -> Floats:
    """For each score the share of the others below it, equal ones half."""
    ordered = np.sort(others)
    left, right = (
        np.searchsorted(ordered, scores, "left"),
        np.searchsorted(ordered, scores, "right"),
    )
    shares: Floats = (left + right) / (2 * len(others))
    return shares


def _threshold(others: Floats, alarms: float) -> tuple[float, float]:
    """The lowest threshold that at most the share `alarms` of the others exceeds."""
    allowed = int(alarms * len(others) + 1e-9)
    threshold = float(np.sort(others)[::-1][allowed]) if allowed < len(others) else -math.inf
    return threshold, float((others > threshold).mean())
