"""Do scores predict whether an item is answered rightly? Against the guess of the majority.

A logistic regression gives coefficients with p-values (Wald, robust to twins), from all items; how
well it and a support vector machine with a cubic kernel predict is measured on items that they were
not fitted to: five stratified folds that keep twins together, split again and again. Features are
standardized, so that coefficients compare. Items are taken in an order of their own, so that their
order in a file does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.compare.clusters import numbered

Floats = NDArray[np.float64]
FOLDS = 5
SPLITS = 10
_DRAWS = 200
_TOO_LARGE = 2_000
"""Items above which the support vector machine, quadratic in their number, sees a sample."""


@dataclass(frozen=True, slots=True)
class Coefficient:
    """What one standard deviation of a feature adds to the log-odds of a right answer."""

    feature: str
    value: float
    error: float
    p: float


@dataclass(frozen=True, slots=True)
class Scored:
    """The mean over the splits, and an interval: items drawn again, in every split."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True, slots=True)
class Predicted:
    """How well a classifier does on items it has not seen."""

    macro_f1: Scored = Scored()
    auc: Scored = Scored()


@dataclass(frozen=True, slots=True)
class Splits:
    """In which order items are taken, which belong together, and the level of intervals."""

    order: NDArray[np.int64]
    bases: NDArray[np.int64]
    level: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """All that one set of features says of right answers; `reason` says why something is nan."""

    items: int
    right: int
    majority_f1: float
    coefficients: tuple[Coefficient, ...]
    logistic: Predicted
    svm: Predicted
    reason: str = ""


def predict(
    features: Floats,
    names: Sequence[str],
    right: Floats,
    splits: Splits | None = None,
    seed: int = 0,
) -> Prediction:
    """`features` has one row per item; items with an undefined feature or answer are left out."""
    splits = splits or Splits(np.arange(len(right)), np.arange(len(right)), 0.95)
    defined = np.flatnonzero(~np.isnan(features).any(axis=1) & ~np.isnan(right))
    defined = defined[np.argsort(splits.order[defined], kind="stable")]
    kept, answers = features[defined], right[defined].astype(bool)
    bases = numbered(splits.bases[defined])
    count, correct = len(answers), int(answers.sum())
    nothing = Predicted()
    # The guess of the majority: F1 of its class is 2p / (1 + p), of the other 0.
    share = max(correct, count - correct) / count if count else math.nan
    majority = share / (1 + share)
    reason = _why_not(kept, answers)
    if reason:
        return Prediction(count, correct, majority, (), nothing, nothing, reason)
    spread = kept.std(axis=0)
    standard = (kept - kept.mean(axis=0)) / spread
    # Where both classes can be told apart without fault, odds are infinite: nothing to estimate.
    found, separable = _coefficients(standard, names, answers, bases)
    return Prediction(
        count,
        correct,
        majority,
        found,
        _out_of_fold(_logistic(), standard, answers, bases, splits.level, seed),
        _out_of_fold(_svm(seed), *_drawn(standard, answers, bases, seed), splits.level, seed),
        "the classes are separated: coefficients have no finite estimate" if separable else "",
    )


def _why_not(features: Floats, answers: NDArray[np.bool_]) -> str:
    rarer = min(int(answers.sum()), int((~answers).sum())) if len(answers) else 0
    if rarer < FOLDS:
        return f"fewer than {FOLDS} items are answered rightly, or wrongly"
    constant = features.std(axis=0) <= 1e-12 * np.abs(features).max(axis=0)
    return "a score is the same for all items" if constant.any() else ""


def _coefficients(
    features: Floats, names: Sequence[str], answers: NDArray[np.bool_], bases: NDArray[np.int64]
) -> tuple[tuple[Coefficient, ...], bool]:
    """Maximum likelihood, by Newton's method on the log-odds; standard errors from the Hessian, and
    where there are twins from what each base adds to the gradient (Liang and Zeger)."""
    from scipy.stats import norm

    table = np.column_stack([np.ones(len(features)), features])
    weights = np.zeros(table.shape[1])
    for _ in range(100):
        chances = 1 / (1 + np.exp(-np.clip(table @ weights, -30, 30)))
        bent = table.T @ (table * (chances * (1 - chances))[:, None])
        if np.linalg.cond(bent) > 1e12:
            return (), True
        step = np.linalg.solve(bent, table.T @ (answers - chances))
        weights += step
        if np.abs(step).max() < 1e-10:
            break
    else:
        return (), True
    spread = np.linalg.inv(bent)
    count = int(bases.max()) + 1
    if 1 < count < len(answers):
        pulls = table * (answers - chances)[:, None]
        sums = np.stack([np.bincount(bases, column, minlength=count) for column in pulls.T])
        spread = spread @ (sums @ sums.T) @ spread * count / (count - 1)
    errors = np.sqrt(np.diag(spread))
    return tuple(
        Coefficient(name, float(w), float(e), float(2 * norm.sf(abs(w / e))))
        for name, w, e in zip(names, weights[1:], errors[1:])
    ), False


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=np.inf, max_iter=1000)


def _svm(seed: int) -> Any:
    from sklearn.svm import SVC

    return SVC(kernel="poly", degree=3, coef0=1.0, random_state=seed)


def _drawn(
    features: Floats, answers: NDArray[np.bool_], bases: NDArray[np.int64], seed: int
) -> tuple[Floats, NDArray[np.bool_], NDArray[np.int64]]:
    if len(answers) <= _TOO_LARGE:
        return features, answers, bases
    own = np.random.default_rng(seed).choice(len(answers), _TOO_LARGE, replace=False)
    return features[own], answers[own], numbered(bases[own])


def _out_of_fold(
    classifier: Any,
    features: Floats,
    answers: NDArray[np.bool_],
    bases: NDArray[np.int64],
    level: float,
    seed: int,
) -> Predicted:
    """Means over the splits; for the interval bases are drawn with replacement, and every item that
    is drawn keeps its predictions, one for each split."""
    from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict

    if bases.max() + 1 < FOLDS:
        return Predicted()
    margins = np.stack(
        [
            cross_val_predict(
                classifier,
                features,
                answers,
                groups=bases,
                cv=StratifiedGroupKFold(FOLDS, shuffle=True, random_state=seed + split),
                method="decision_function",
            )
            for split in range(SPLITS)
        ]
    )
    found = _scores(margins, answers)
    if not level:
        return Predicted(*(Scored(float(value)) for value in found))
    rng = np.random.default_rng(seed)
    members = [np.flatnonzero(bases == base) for base in range(int(bases.max()) + 1)]
    again = []
    for _ in range(_DRAWS):
        drawn = np.concatenate([members[b] for b in rng.integers(len(members), size=len(members))])
        if 0 < answers[drawn].sum() < len(drawn):
            again.append(_scores(margins[:, drawn], answers[drawn]))
    ends = np.quantile(again, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return Predicted(*(Scored(*map(float, (v, low, high))) for v, low, high in zip(found, *ends)))


def _scores(margins: Floats, answers: NDArray[np.bool_]) -> Floats:
    """Macro-F1 and AUC, means over the splits (rows of `margins`)."""
    from scipy.stats import rankdata

    chosen = margins > 0
    right, wrong = (chosen & answers).sum(axis=1), (~chosen & ~answers).sum(axis=1)
    missed = (chosen != answers).sum(axis=1)
    f1 = (2 * right / (2 * right + missed) + 2 * wrong / (2 * wrong + missed)) / 2
    count, ones = len(answers), int(answers.sum())
    ranks = rankdata(margins, axis=1)[:, answers].sum(axis=1)
    auc = (ranks - ones * (ones + 1) / 2) / (ones * (count - ones))
    return np.array([f1.mean(), auc.mean()])
