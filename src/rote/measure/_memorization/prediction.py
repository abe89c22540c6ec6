"""Do scores predict whether an item is answered rightly? Against the guess of the majority.

A logistic regression gives coefficients with p-values (Wald), from all items; how well it and a
support vector machine with a cubic kernel predict is measured on items that they were not fitted
to (five stratified folds). Features are standardized, so that coefficients compare.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
FOLDS = 5
_TOO_LARGE = 5_000
"""Items above which the support vector machine, quadratic in their number, sees a sample."""


@dataclass(frozen=True, slots=True)
class Coefficient:
    """What one standard deviation of a feature adds to the log-odds of a right answer."""

    feature: str
    value: float
    error: float
    p: float


@dataclass(frozen=True, slots=True)
class Predicted:
    """How well a classifier does on items it has not seen."""

    macro_f1: float
    auc: float


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


def predict(features: Floats, names: Sequence[str], right: Floats, seed: int = 0) -> Prediction:
    """`features` has one row per item; items with an undefined feature or answer are left out."""
    defined = ~np.isnan(features).any(axis=1) & ~np.isnan(right)
    kept, answers = features[defined], right[defined].astype(bool)
    count, correct = len(answers), int(answers.sum())
    nothing = Predicted(math.nan, math.nan)
    # The guess of the majority: F1 of its class is 2p / (1 + p), of the other 0.
    share = max(correct, count - correct) / count if count else math.nan
    majority = share / (1 + share)
    reason = _why_not(kept, answers)
    if reason:
        return Prediction(count, correct, majority, (), nothing, nothing, reason)
    spread = kept.std(axis=0)
    standard = (kept - kept.mean(axis=0)) / spread
    # Where both classes can be told apart without fault, odds are infinite: nothing to estimate.
    found, separable = _coefficients(standard, names, answers)
    return Prediction(
        count,
        correct,
        majority,
        found,
        _out_of_fold(_logistic(), standard, answers, seed),
        _out_of_fold(_svm(seed), *_drawn(standard, answers, seed), seed),
        "the classes are separated: coefficients have no finite estimate" if separable else "",
    )


def _why_not(features: Floats, answers: NDArray[np.bool_]) -> str:
    rarer = min(int(answers.sum()), int((~answers).sum())) if len(answers) else 0
    if rarer < FOLDS:
        return f"fewer than {FOLDS} items are answered rightly, or wrongly"
    constant = features.std(axis=0) <= 1e-12 * np.abs(features).max(axis=0)
    return "a score is the same for all items" if constant.any() else ""


def _coefficients(
    features: Floats, names: Sequence[str], answers: NDArray[np.bool_]
) -> tuple[tuple[Coefficient, ...], bool]:
    """Maximum likelihood, by Newton's method on the log-odds; standard errors from the Hessian."""
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
    errors = np.sqrt(np.diag(np.linalg.inv(bent)))
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
    features: Floats, answers: NDArray[np.bool_], seed: int
) -> tuple[Floats, NDArray[np.bool_]]:
    if len(answers) <= _TOO_LARGE:
        return features, answers
    own = np.random.default_rng(seed).choice(len(answers), _TOO_LARGE, replace=False)
    return features[own], answers[own]


def _out_of_fold(
    classifier: Any, features: Floats, answers: NDArray[np.bool_], seed: int
) -> Predicted:
    from sklearn.metrics import f1_score, roc_auc_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    margins = cross_val_predict(classifier, features, answers, cv=folds, method="decision_function")
    return Predicted(
        float(f1_score(answers, margins > 0, average="macro")),
        float(roc_auc_score(answers, margins)),
    )
