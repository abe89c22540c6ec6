"""How well a score tells members of the training data from others, and how sure that is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.compare.clusters import mean, numbered, share_interval
from rote.compare.intervals import around

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]


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


def separation(
    members: Floats,
    others: Floats,
    *,
    alarms: float,
    level: float,
    bases: tuple[Labels, Labels] | None = None,
) -> Separation:
    """Higher scores speak for membership; undefined ones (nan) are left out.

    `bases`: members and others with the same number belong together.
    """
    own, theirs = bases or (np.arange(len(members)), -1 - np.arange(len(others)))
    own, theirs = own[~np.isnan(members)], theirs[~np.isnan(others)]
    members, others = members[~np.isnan(members)], others[~np.isnan(others)]
    if not len(members) or not len(others):
        nothing = (math.nan, math.nan)
        return Separation(len(members), len(others), math.nan, nothing, math.nan, nothing, math.nan)
    auc, error = _auc(members, others, own, theirs)
    threshold, real = _threshold(others, alarms)
    found = (members > threshold).astype(np.float64)
    return Separation(
        len(members),
        len(others),
        auc,
        around(auc, error, level, texts=min(len(members), len(others))),
        float(found.mean()),
        # The threshold is taken as given: of the members alone this says how sure the share is.
        share_interval(found, own, level),
        real,
    )


def _auc(members: Floats, others: Floats, own: Labels, theirs: Labels) -> tuple[float, float]:
    """The chance that a member scores above another, ties half; its standard error (DeLong, by
    clusters as Obuchowski)."""
    clusters = numbered(np.concatenate((own, theirs)))
    count = len(clusters)
    by_member = mean(_below(members, others), clusters[: len(members)], count)
    by_other = mean(_below(others, members), clusters[len(members) :], count)
    return by_member.value, (by_member - by_other).error


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
