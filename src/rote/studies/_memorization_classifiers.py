"""Do scores predict whether an item is answered correctly? Do words alone tell members from others?

A logistic regression gives coefficients with p-values (Wald, robust to twins), from all items; how
well it and a support vector machine with a cubic kernel predict is measured on items that they were
not fitted to: five stratified folds that keep twins together, split again and again. Features are
standardized, so that coefficients compare. Items are taken in an order of their own, so that their
order in a file does not matter.

Where members and others differ in topic, time or genre, whatever likes one of them has a high AUC
and says nothing of memory. A classifier of bags of words (multinomial naive Bayes, counts of words
in lower case, each word seen once more than it was) is asked about texts that it was not fitted to.
Das, Zhang and Tramèr (2024), Blind baselines beat membership inference attacks for foundation
models; Duan et al. (2024), Do membership inference attacks work on large language models?
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.compare.clusters import mean_by_cluster, number_clusters
from rote.compare.intervals import interval_from_error
from rote.core.arrays import Flags
from rote.core.numbers import format_number
from rote.core.result import Row
from rote.core.table import Table, estimate, make_columns
from rote.studies._items import Floats, Labels
from rote.studies._memorization_scores import share_below

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
    complete, answers = features[defined], right[defined].astype(bool)
    bases = number_clusters(bases[defined])
    count, correct = len(answers), int(answers.sum())
    # The guess of the majority: F1 of its class is 2p / (1 + p), of the other 0.
    share = max(correct, count - correct) / count if count else math.nan
    coefficients: list[dict[str, Any]] = []
    logistic = svm = _UNKNOWN
    reason = _unpredictable(complete, answers)
    if not reason:
        standard = (complete - complete.mean(axis=0)) / complete.std(axis=0)
        # Where both classes can be told apart without fault, odds are infinite.
        coefficients = _wald_coefficients(standard, names, answers, bases)
        if not coefficients:
            reason = "the classes are separated: coefficients have no finite estimate"
        logistic = _out_of_fold(_Logistic(), standard, answers, bases, level, seed)
        cubic = SVC(kernel="poly", degree=3, coef0=1.0, random_state=seed)
        svm = _out_of_fold(cubic, *_sample_items(standard, answers, bases, seed), level, seed)
    scored: dict[str, float] = {}
    for name, estimates in (("logistic", logistic), ("svm", svm)):
        for what, (value, *reach) in zip(("f1", "auc"), estimates.tolist()):
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


def _unpredictable(features: Floats, answers: Flags) -> str:
    rarer = min(int(answers.sum()), int((~answers).sum())) if len(answers) else 0
    if rarer < FOLDS:
        return f"fewer than {FOLDS} items are answered correctly, or incorrectly"
    constant = features.std(axis=0) <= 1e-12 * np.abs(features).max(axis=0)
    return "a score is the same for all items" if constant.any() else ""


def _wald_coefficients(
    features: Floats, names: Sequence[str], answers: Flags, bases: Labels
) -> list[dict[str, Any]]:
    """What one standard deviation of a feature adds to the log-odds of a right answer; nothing
    where there is no finite estimate. Standard errors are from the Hessian, and where there are
    twins from what each base adds to the gradient (Liang and Zeger); where twins cancel that is
    nothing, and there is no p-value."""
    from scipy.special import ndtr

    table = np.column_stack([np.ones(len(features)), features])
    fitted = _fit_logistic(table, answers)
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


def _fit_logistic(table: Floats, answers: Flags) -> tuple[Floats, Floats, Floats] | None:
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

    def fit(self, features: Floats, answers: Flags) -> Any:
        from sklearn.linear_model import LogisticRegression

        fitted = _fit_logistic(np.column_stack([np.ones(len(features)), features]), answers)
        if fitted is None:
            return LogisticRegression(C=np.inf, max_iter=1000).fit(features, answers)
        self.weights = fitted[0]
        return self

    def decision_function(self, features: Floats) -> Floats:
        return np.asarray(self.weights[0] + features @ self.weights[1:])


def _sample_items(
    features: Floats, answers: Flags, bases: Labels, seed: int
) -> tuple[Floats, Flags, Labels]:
    if len(answers) <= _TOO_LARGE:
        return features, answers, bases
    sample = np.random.default_rng(seed).choice(len(answers), _TOO_LARGE, replace=False)
    return features[sample], answers[sample], number_clusters(bases[sample])


def stratified_folds(answers: Flags, bases: Labels, seed: int) -> list[NDArray[np.int8]]:
    """By split, the fold of each item: both answers in each, twins together."""
    return _folds(answers.tobytes(), bases.astype(np.int64).tobytes(), seed)


@lru_cache(maxsize=2)
def _folds(answers: bytes, bases: bytes, seed: int) -> list[NDArray[np.int8]]:
    """By split, the fold of each item; every set of scores of the same items asks for the same."""
    right, base = np.frombuffer(answers, np.int8), np.frombuffer(bases, np.int64)
    return [_split_folds(right, base, seed + split) for split in range(SPLITS)]


def _split_folds(right: NDArray[np.int8], base: Labels, seed: int) -> NDArray[np.int8]:
    """The folds of scikit-learn's StratifiedGroupKFold, which looks at them one by one for every
    base and takes seven to nine times as long: the base that tells the classes apart most comes
    first, and goes where the shares of the classes are most alike, then where the fewest items
    are."""
    total, count = np.bincount(right, minlength=2), int(base.max()) + 1
    class_counts = np.bincount(2 * base + right, minlength=2 * count).astype(np.float64)
    shuffled = np.arange(count)
    np.random.RandomState(seed).shuffle(shuffled)
    class_counts = class_counts.reshape(count, 2)[shuffled]
    each, sums = np.eye(FOLDS)[:, :, None], np.zeros((FOLDS, 2))
    folds = np.empty(count, np.int8)
    for group in np.argsort(-class_counts.std(axis=1), kind="stable").tolist():
        tried = (sums + each * class_counts[group]) / total
        spread, sizes = tried.std(axis=1).mean(axis=1).tolist(), sums.sum(axis=1).tolist()
        best = 0
        for fold in range(1, FOLDS):
            alike = abs(spread[fold] - spread[best]) <= 1e-8 + 1e-5 * spread[best]
            if spread[fold] < spread[best] or (alike and sizes[fold] < sizes[best]):
                best = fold
        sums[best] += class_counts[group]
        folds[shuffled[group]] = best
    return folds[base]


def _out_of_fold(
    classifier: Any,
    features: Floats,
    answers: Flags,
    bases: Labels,
    level: float,
    seed: int,
) -> Floats:
    """Macro-F1 and AUC on items not fitted, each with its interval: means over the splits; for the
    interval bases are drawn with replacement, and every item that is drawn keeps its predictions,
    one for each split."""
    if bases.max() + 1 < FOLDS:
        return _UNKNOWN
    splits = stratified_folds(answers, bases, seed)
    margins = np.empty((len(splits), len(answers)))
    for margin, folds in zip(margins, splits):
        # Not `cross_val_predict`, which takes longer around these small fits than they do.
        for held_out in (folds == number for number in np.unique(folds)):
            fitted = classifier.fit(features[~held_out], answers[~held_out])
            margin[held_out] = fitted.decision_function(features[held_out])
    margins = margins.round(9)  # what differs from nothing by rounding is nothing
    scores = _scores(margins, answers, np.ones((1, len(answers)), np.int64))[0]
    if not level:
        return np.column_stack([scores, _UNKNOWN[:, 1:]])
    again = _bootstrap_scores(margins, answers, bases, np.random.default_rng(seed))
    ends = np.quantile(again, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return np.column_stack([scores, *ends])


def _bootstrap_scores(
    margins: Floats, answers: Flags, bases: Labels, rng: np.random.Generator
) -> Floats:
    """Macro-F1 and AUC of samples of bases, a row for each sample that holds both answers."""
    count, most = int(bases.max()) + 1, max(1, _AT_ONCE // len(answers))
    scores = []
    for first in range(0, _DRAWS, most):
        drawn = rng.integers(count, size=(min(most, _DRAWS - first), count))
        times = np.stack([np.bincount(sample, minlength=count) for sample in drawn])[:, bases]
        ones = times[:, answers].sum(axis=1)
        scores.append(_scores(margins, answers, times[(ones > 0) & (ones < times.sum(axis=1))]))
    return np.concatenate(scores)


def _scores(margins: Floats, answers: Flags, times: Labels) -> Floats:
    """Macro-F1 and AUC, means over the splits (rows of `margins`); a row for each row of `times`,
    which says how often an item was drawn."""
    count, ones = times.sum(axis=1), times[:, answers].sum(axis=1)
    f1, auc = np.empty((2, len(times), len(margins)))
    for split, margin in enumerate(margins):
        chosen = margin > 0
        masks = (chosen & answers, ~chosen & ~answers)
        right, wrong = (times[:, mask].sum(axis=1) for mask in masks)
        missed = times[:, chosen != answers].sum(axis=1)
        f1[:, split] = (2 * right / (2 * right + missed) + 2 * wrong / (2 * wrong + missed)) / 2
        # Items with the same margin share the mean of their ranks.
        order = np.argsort(margin, kind="stable")
        alike = np.flatnonzero(np.diff(margin[order], prepend=np.nan) != 0)
        sizes = np.add.reduceat(times[:, order], alike, axis=1)
        positives = np.add.reduceat(np.where(answers, times, 0)[:, order], alike, axis=1)
        ranks = (positives * (2 * np.cumsum(sizes, axis=1) - sizes + 1)).sum(axis=1) / 2
        auc[:, split] = (ranks - ones * (ones + 1) / 2) / (ones * (count - ones))
    return np.column_stack([f1.mean(axis=1), auc.mean(axis=1)])


_PERFECT = 0.995


def word_baseline(
    members: Sequence[str],
    others: Sequence[str],
    bases: tuple[Labels, Labels],
    *,
    level: float,
    seed: int,
) -> dict[str, Any]:
    """The AUC of the words alone; nan where a group has fewer texts than there are folds.

    Texts are compared within a fold, since only these were judged by one classifier: the mean over
    folds is 0.5 where words say nothing, which the AUC of all texts together is not. Two folds that
    are alike by chance judge each other, so that each such pair is seen twice: errors are those of
    DeLong for one split, times the square root of 2.
    """
    counts = {"members": len(members), "others": len(others)}
    if min(len(np.unique(group)) for group in bases) < FOLDS:
        return {**counts, **estimate("auc", math.nan, (math.nan, math.nan))}
    answers = np.arange(len(members) + len(others)) < len(members)
    features, clusters = count_words([*members, *others]), number_clusters(np.concatenate(bases))
    estimates = []
    for folds in stratified_folds(answers, clusters, seed):
        places = _rank_in_folds(features, answers, folds)
        by_member = mean_by_cluster(places[answers], clusters[answers], len(clusters))
        by_other = mean_by_cluster(places[~answers], clusters[~answers], len(clusters))
        auc = (by_member.value + by_other.value) / 2
        estimates.append((auc, (by_member - by_other).error))
    auc, error = np.mean(estimates, axis=0).tolist()
    units = min(len(np.unique(group)) for group in bases)
    reach = interval_from_error(auc, math.sqrt(2) * error, level, units, share=True)
    return {**counts, **estimate("auc", auc, reach)}


def _rank_in_folds(features: Any, answers: Flags, folds: NDArray[np.int8]) -> Floats:
    """For each text the share of the other group's texts in its fold that are on the right side
    of it, by a classifier that has seen none of them."""
    shares, numbers = np.empty(len(answers)), np.unique(folds)
    in_training = folds != numbers[:, None]
    # Of each group the words outside of each fold, each counted once more than it occurs.
    counts = [(in_training & group) @ features + 1.0 for group in (answers, ~answers)]
    member_words, others = (np.log(table / table.sum(axis=1, keepdims=True)) for table in counts)
    # Without the odds of the groups: which of them is larger says nothing of a text.
    every = features @ (member_words - others).T
    for place, number in enumerate(numbers):
        ours, theirs = (np.flatnonzero((folds == number) & group) for group in (answers, ~answers))
        shares[ours] = share_below(every[ours, place], every[theirs, place])
        shares[theirs] = 1 - share_below(every[theirs, place], every[ours, place])
    return shares


def group_overlap(members: Sequence[str], others: Sequence[str], n: int) -> Floats:
    """For each of the others the share of its n-grams (of words, in lower case) that occur in a
    member: without a corpus, what can be said about how alike the two groups are."""
    from rote.annotate import words

    def grams(text: str) -> list[tuple[str, ...]]:
        lowered = [word.lower() for word in words.get()([text]).items(0)]
        return [tuple(lowered[i : i + n]) for i in range(len(lowered) - n + 1)]

    member_grams = {gram for text in members for gram in grams(text)}
    shares = []
    for text in others:
        known = [gram in member_grams for gram in grams(text)]
        shares.append(sum(known) / len(known) if known else np.nan)
    return np.array(shares, np.float64)


def count_words(texts: Sequence[str]) -> Any:
    """How often each word, in lower case, occurs in each text: a sparse table."""
    from scipy.sparse import csr_array

    from rote.annotate import words

    layer = words.get()(list(texts))
    lower = [word.lower() for word in layer.vocabulary]
    column = number_clusters(lower)[layer.ids] if len(layer.ids) else np.empty(0, np.int64)
    row = np.repeat(np.arange(len(texts)), np.diff(layer.text_ends, prepend=0))
    ones = np.ones(len(column))
    return csr_array((ones, (row, column)), shape=(len(texts), max(1, len(set(lower)))))


def topic_notes(topic: Sequence[Row], membership: Sequence[Row]) -> Iterator[str]:
    """Where words alone separate the groups, and whether an attack does so any better."""
    for row in topic:
        if not row["auc_low"] > 0.5:
            continue
        names = ("auc", "auc_low", "auc_high")
        auc, low, high = (format_number(row[name], ".2f") for name in names)
        remark = f"{row['group']}: the words alone tell members from others (AUC {auc}, {low} to "
        remark += f"{high}), without a model"
        attacks = [attack for attack in membership if attack["group"] == row["group"]]
        best = max((attack["auc"] for attack in attacks), default=math.nan)
        if row["auc"] >= _PERFECT:
            yield (
                f"{remark}: here topic alone gives a perfect AUC, so the attacks say nothing about "
                "memorization"
            )
        elif not best > row["auc"]:
            yield f"{remark}, and no attack does better: its AUC may be topic alone"
        else:
            yield f"{remark}: part of an attack's AUC may be topic"


TOPIC_LAYOUT = (
    Table(
        "topic",
        "Members against non-members by their words alone: what separates them without a model",
        make_columns("group members:count others:count auc=AUC:number.3~"),
        note="naive Bayes on words in lower case, on texts not fitted; 0.5: the words say nothing",
        limit=40,
    ),
)
