"""What tells members from others without any model: their words, and the n-grams that they share.

Where both groups differ in topic, time or genre, whatever likes one of them has a high AUC and says
nothing of memory. A classifier of bags of words (multinomial naive Bayes, counts of words in lower
case, each word seen once more than it was) is asked about texts that it was not fitted to: five
stratified folds, split ten times. Das, Zhang and Tramèr (2024), Blind baselines beat membership
inference attacks for foundation models; Duan et al. (2024), Do membership inference attacks work on
large language models?
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.compare.clusters import mean, numbered
from rote.compare.intervals import interval_from_error
from rote.core.numbers import format_number
from rote.core.result import Row
from rote.core.table import Column, Table, ends, estimate
from rote.studies._items import Floats, Labels
from rote.studies._memorization.prediction import FOLDS, folds_of
from rote.studies._memorization.scores import below

_PERFECT = 0.995


def by_words(
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
    if min(len(np.unique(one)) for one in bases) < FOLDS:
        return {**counts, **estimate("auc", math.nan, (math.nan, math.nan))}
    answers = np.arange(len(members) + len(others)) < len(members)
    features, own = bags([*members, *others]), numbered(np.concatenate(bases))
    found = []
    for folds in folds_of(answers, own, seed):
        places = _places(features, answers, folds)
        by_member = mean(places[answers], own[answers], len(own))
        by_other = mean(places[~answers], own[~answers], len(own))
        auc = (by_member.value + by_other.value) / 2
        found.append((auc, (by_member - by_other).error))
    auc, error = np.mean(found, axis=0).tolist()
    units = min(len(np.unique(one)) for one in bases)
    reach = interval_from_error(auc, math.sqrt(2) * error, level, units, share=True)
    return {**counts, **estimate("auc", auc, reach)}


def _places(features: Any, answers: NDArray[np.bool_], folds: NDArray[np.int8]) -> Floats:
    """For each text the share of the other group's texts in its fold that are on the right side
    of it, by a classifier that has seen none of them."""
    found, numbers = np.empty(len(answers)), np.unique(folds)
    seen = folds != numbers[:, None]
    # Of each group the words outside of each fold, each counted once more than it occurs.
    counts = [(seen & group) @ features + 1.0 for group in (answers, ~answers)]
    own, others = (np.log(one / one.sum(axis=1, keepdims=True)) for one in counts)
    # Without the odds of the groups: which of them is larger says nothing of a text.
    every = features @ (own - others).T
    for place, number in enumerate(numbers):
        ours, theirs = (np.flatnonzero((folds == number) & group) for group in (answers, ~answers))
        found[ours] = below(every[ours, place], every[theirs, place])
        found[theirs] = 1 - below(every[theirs, place], every[ours, place])
    return found


def overlap_of_groups(members: Sequence[str], others: Sequence[str], n: int) -> Floats:
    """For each of the others the share of its n-grams (of words, in lower case) that occur in a
    member: without a corpus, what can be said about how alike the two groups are."""
    from rote.annotate import words

    def grams(text: str) -> list[tuple[str, ...]]:
        own = [word.lower() for word in words.get()([text]).items(0)]
        return [tuple(own[i : i + n]) for i in range(len(own) - n + 1)]

    held = {gram for text in members for gram in grams(text)}
    shares = []
    for text in others:
        own = grams(text)
        shares.append(sum(gram in held for gram in own) / len(own) if own else np.nan)
    return np.array(shares, np.float64)


def bags(texts: Sequence[str]) -> Any:
    """How often each word, in lower case, occurs in each text: a sparse table."""
    from scipy.sparse import csr_array

    from rote.annotate import words

    layer = words.get()(list(texts))
    lower = [word.lower() for word in layer.vocabulary]
    column = numbered(lower)[layer.ids] if len(layer.ids) else np.empty(0, np.int64)
    row = np.repeat(np.arange(len(texts)), np.diff(layer.text_ends, prepend=0))
    ones = np.ones(len(column))
    return csr_array((ones, (row, column)), shape=(len(texts), max(1, len(set(lower)))))


def notes(topic: Sequence[Row], membership: Sequence[Row]) -> Iterator[str]:
    """Where words alone separate the groups, and whether an attack does so any better."""
    for row in topic:
        if not row["auc_low"] > 0.5:
            continue
        auc, low, high = (
            format_number(row[name], ".2f") for name in ("auc", "auc_low", "auc_high")
        )
        said = f"{row['group']}: the words alone tell members from others (AUC {auc}, {low} to "
        said += f"{high}), without a model"
        own = [one for one in membership if one["group"] == row["group"]]
        best = max((one["auc"] for one in own), default=math.nan)
        if row["auc"] >= _PERFECT:
            yield f"{said}: a perfect AUC is that of topic alone here, and says nothing of memory"
        elif not best > row["auc"]:
            yield f"{said}, and no attack does better: its AUC may be topic and nothing else"
        else:
            yield f"{said}: part of an attack's AUC may be topic"


LAYOUT = (
    Table(
        "topic",
        "Members against non-members by their words alone: what separates them without a model",
        (
            *(Column("group"), Column("members", kind="count"), Column("others", kind="count")),
            Column("auc", "AUC", kind="number", decimals=3, ends=ends("auc")),
        ),
        said="naive Bayes on words in lower case, on texts not fitted; 0.5: the words say nothing",
        limit=40,
    ),
)
