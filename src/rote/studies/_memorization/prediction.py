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
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.compare.clusters import numbered
from rote.core.table import estimate

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
FOLDS = 5
SPLITS = 10
_DRAWS = 200
_AT_ONCE = 2_000_000
"""Items of samples that are scored together."""
_UNKNOWN = np.full((2, 3), np.nan)
_TOO_LARGE = 2_000
"""Items above which the support vector machine, quadratic in their number, sees a sample."""


def predict(
    features: Floats,
    names: Sequence[str],
    right: Floats,
    order: Labels | None = None,
    bases: Labels | None = None,
    *,
    level: float = 0.95,
    seed: int = 0,
) -> dict[str, Any]:
    """All that one set of features says of right answers, as a row; `reason` says why something is
    nan.

    `features` has one row per item; items with an undefined feature or answer are left out. `order`
    is the one that items are taken in; those with the same number in `bases` belong together.
    """
    from sklearn.svm import SVC

    order = np.arange(len(right)) if order is None else order
    bases = np.arange(len(right)) if bases is None else bases
    defined = np.flatnonzero(~np.isnan(features).any(axis=1) & ~np.isnan(right))
    defined = defined[np.argsort(order[defined], kind="stable")]
    kept, answers, bases = features[defined], right[defined].astype(bool), numbered(bases[defined])
    count, correct = len(answers), int(answers.sum())
    # The guess of the majority: F1 of its class is 2p / (1 + p), of the other 0.
    share = max(correct, count - correct) / count if count else math.nan
    coefficients: list[dict[str, Any]] = []
    logistic = svm = _UNKNOWN
    reason = _why_not(kept, answers)
    if not reason:
        standard = (kept - kept.mean(axis=0)) / kept.std(axis=0)
        # Where both classes can be told apart without fault, odds are infinite.
        coefficients = _coefficients(standard, names, answers, bases)
        if not coefficients:
            reason = "the classes are separated: coefficients have no finite estimate"
        logistic = _out_of_fold(_Logistic(), standard, answers, bases, level, seed)
        cubic = SVC(kernel="poly", degree=3, coef0=1.0, random_state=seed)
        svm = _out_of_fold(cubic, *_drawn(standard, answers, bases, seed), level, seed)
    scored: dict[str, float] = {}
    for name, found in (("logistic", logistic), ("svm", svm)):
        for what, (value, *reach) in zip(("f1", "auc"), found.tolist()):
            scored |= estimate(f"{name}_{what}", value, reach)
    return {
        "items": count,
        "right": correct,
        "majority_f1": share / (1 + share),
        **scored,
        "splits": SPLITS,
        "coefficients": coefficients,
        "reason": reason,
    }


def _why_not(features: Floats, answers: NDArray[np.bool_]) -> str:
    rarer = min(int(answers.sum()), int((~answers).sum())) if len(answers) else 0
    if rarer < FOLDS:
        return f"fewer than {FOLDS} items are answered rightly, or wrongly"
    constant = features.std(axis=0) <= 1e-12 * np.abs(features).max(axis=0)
    return "a score is the same for all items" if constant.any() else ""


def _coefficients(
    features: Floats, names: Sequence[str], answers: NDArray[np.bool_], bases: Labels
) -> list[dict[str, Any]]:
    """What one standard deviation of a feature adds to the log-odds of a right answer; nothing
    where there is no finite estimate. Standard errors are from the Hessian, and where there are
    twins from what each base adds to the gradient (Liang and Zeger); where twins cancel that is
    nothing, and there is no p-value."""
    from scipy.special import ndtr

    table = np.column_stack([np.ones(len(features)), features])
    fitted = _likeliest(table, answers)
    if fitted is None:
        return []
    weights, chances, bent = fitted
    spread = np.linalg.inv(bent)
    count = int(bases.max()) + 1
    if 1 < count < len(answers):
        pulls = table * (answers - chances)[:, None]
        sums = np.stack([np.bincount(bases, column, minlength=count) for column in pulls.T])
        spread = spread @ (sums @ sums.T) @ spread * count / (count - 1)
    errors = np.sqrt(np.diag(spread))
    return [
        {"of": name, "value": w, "error": e, "p": float(2 * ndtr(-abs(w / e))) if e else math.nan}
        for name, w, e in zip(names, weights[1:].tolist(), errors[1:].tolist())
    ]


def _likeliest(table: Floats, answers: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats] | None:
    """The weights of largest likelihood, by Newton's method on the log-odds, with the chances that
    they give and the Hessian; nothing where they are not finite."""
    weights = np.zeros(table.shape[1])
    for _ in range(100):
        chances = 1 / (1 + np.exp(-np.clip(table @ weights, -30, 30)))
        bent = table.T @ (table * (chances * (1 - chances))[:, None])
        if np.linalg.cond(bent) > 1e12:
            return None
        step = np.linalg.solve(bent, table.T @ (answers - chances))
        weights += step
        if np.abs(step).max() < 1e-10:
            return weights, chances, bent
    return None


class _Logistic:
    """A logistic regression without a penalty; scikit-learn's takes ten times as long for few items
    and is asked only where weights are not finite: it stops on the way."""

    def fit(self, features: Floats, answers: NDArray[np.bool_]) -> Any:
        from sklearn.linear_model import LogisticRegression

        fitted = _likeliest(np.column_stack([np.ones(len(features)), features]), answers)
        if fitted is None:
            return LogisticRegression(C=np.inf, max_iter=1000).fit(features, answers)
        self.weights = fitted[0]
        return self

    def decision_function(self, features: Floats) -> Floats:
        found: Floats = self.weights[0] + features @ self.weights[1:]
        return found


def _drawn(
    features: Floats, answers: NDArray[np.bool_], bases: Labels, seed: int
) -> tuple[Floats, NDArray[np.bool_], Labels]:
    if len(answers) <= _TOO_LARGE:
        return features, answers, bases
    own = np.random.default_rng(seed).choice(len(answers), _TOO_LARGE, replace=False)
    return features[own], answers[own], numbered(bases[own])


def folds_of(answers: NDArray[np.bool_], bases: Labels, seed: int) -> list[NDArray[np.int8]]:
    """By split, the fold of each item: both answers in each, twins together."""
    return _folds(answers.tobytes(), bases.astype(np.int64).tobytes(), seed)


@lru_cache(maxsize=2)
def _folds(answers: bytes, bases: bytes, seed: int) -> list[NDArray[np.int8]]:
    """By split, the fold of each item; every set of scores of the same items asks for the same."""
    right, base = np.frombuffer(answers, np.int8), np.frombuffer(bases, np.int64)
    return [_split(right, base, seed + split) for split in range(SPLITS)]


def _split(right: NDArray[np.int8], base: Labels, seed: int) -> NDArray[np.int8]:
    """The folds of scikit-learn's StratifiedGroupKFold, which looks at them one by one for every
    base and takes seven to nine times as long: the base that tells the classes apart most comes
    first, and goes where the shares of the classes are most alike, then where the fewest items
    are."""
    total, count = np.bincount(right, minlength=2), int(base.max()) + 1
    held = np.bincount(2 * base + right, minlength=2 * count).reshape(count, 2).astype(np.float64)
    shuffled = np.arange(count)
    np.random.RandomState(seed).shuffle(shuffled)
    held = held[shuffled]
    each, sums = np.eye(FOLDS)[:, :, None], np.zeros((FOLDS, 2))
    folds = np.empty(count, np.int8)
    for one in np.argsort(-held.std(axis=1), kind="stable").tolist():
        tried = (sums + each * held[one]) / total
        spread, sizes = tried.std(axis=1).mean(axis=1).tolist(), sums.sum(axis=1).tolist()
        best = 0
        for fold in range(1, FOLDS):
            alike = abs(spread[fold] - spread[best]) <= 1e-8 + 1e-5 * spread[best]
            if spread[fold] < spread[best] or (alike and sizes[fold] < sizes[best]):
                best = fold
        sums[best] += held[one]
        folds[shuffled[one]] = best
    return folds[base]


def _out_of_fold(
    classifier: Any,
    features: Floats,
    answers: NDArray[np.bool_],
    bases: Labels,
    level: float,
    seed: int,
) -> Floats:
    """Macro-F1 and AUC on items not fitted, each with its interval: means over the splits; for the
    interval bases are drawn with replacement, and every item that is drawn keeps its predictions,
    one for each split."""
    if bases.max() + 1 < FOLDS:
        return _UNKNOWN
    splits = folds_of(answers, bases, seed)
    margins = np.empty((len(splits), len(answers)))
    for margin, folds in zip(margins, splits):
        # Not `cross_val_predict`, which takes longer around these small fits than they do.
        for held in (folds == number for number in np.unique(folds)):
            fitted = classifier.fit(features[~held], answers[~held])
            margin[held] = fitted.decision_function(features[held])
    margins = margins.round(9)  # what differs from nothing by rounding is nothing
    found = _scores(margins, answers)
    if not level:
        return np.column_stack([found, _UNKNOWN[:, 1:]])
    again = _drawn_scores(margins, answers, bases, np.random.default_rng(seed))
    ends = np.quantile(again, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return np.column_stack([found, *ends])


def _drawn_scores(
    margins: Floats, answers: NDArray[np.bool_], bases: Labels, rng: np.random.Generator
) -> Floats:
    """Macro-F1 and AUC of samples of bases, a row for each sample that holds both answers."""
    count, most = int(bases.max()) + 1, max(1, _AT_ONCE // len(answers))
    found = []
    for first in range(0, _DRAWS, most):
        drawn = rng.integers(count, size=(min(most, _DRAWS - first), count))
        times = np.stack([np.bincount(own, minlength=count) for own in drawn])[:, bases]
        ones = times[:, answers].sum(axis=1)
        found.append(_scores(margins, answers, times[(ones > 0) & (ones < times.sum(axis=1))]))
    return np.concatenate(found)


def _scores(margins: Floats, answers: NDArray[np.bool_], times: Labels | None = None) -> Floats:
    """Macro-F1 and AUC, means over the splits (rows of `margins`); a row for each row of `times`,
    which says how often an item was drawn."""
    if times is None:
        one: Floats = _scores(margins, answers, np.ones((1, len(answers)), np.int64))[0]
        return one
    count, ones = times.sum(axis=1), times[:, answers].sum(axis=1)
    f1, auc = np.empty((2, len(times), len(margins)))
    for split, margin in enumerate(margins):
        chosen = margin > 0
        right, wrong = (times[:, own].sum(axis=1) for own in (chosen & answers, ~chosen & ~answers))
        missed = times[:, chosen != answers].sum(axis=1)
        f1[:, split] = (2 * right / (2 * right + missed) + 2 * wrong / (2 * wrong + missed)) / 2
        # Items with the same margin share the mean of their ranks.
        order = np.argsort(margin, kind="stable")
        alike = np.flatnonzero(np.diff(margin[order], prepend=np.nan) != 0)
        sizes = np.add.reduceat(times[:, order], alike, axis=1)
        own = np.add.reduceat(np.where(answers, times, 0)[:, order], alike, axis=1)
        ranks = (own * (2 * np.cumsum(sizes, axis=1) - sizes + 1)).sum(axis=1) / 2
        auc[:, split] = (ranks - ones * (ones + 1) / 2) / (ones * (count - ones))
    return np.column_stack([f1.mean(axis=1), auc.mean(axis=1)])
