"""What a scored of popularity gives: values of groups, tests, halves, tenths, deciles, items."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.compare.clusters import mean, numbered
from rote.compare.exact_tests import sign_flip
from rote.compare.permutation import holm
from rote.core.progress import several
from rote.core.result import Row, SourceResult
from rote.core.table import estimate
from rote.corpus.items import Item
from rote.studies._items import (
    HALVES,
    HIGH,
    LOW,
    NEITHER,
    Floats,
    Groups,
    Labels,
    Share,
    described,
    estimates,
    mean_of,
    named,
    of_tasks,
    repeated,
)
from rote.studies._popularity.scores import PARTS, Deciles, Scored

VALUES = {
    "ips": "popularity of the right instance",
    "ips_wrong": "popularity of the wrong ones",
    "difference": "right - wrong",
    "ahead": "share with the right option ahead",
    "advantage": "(right - wrong) / right, mean biased below 0",
    "accuracy": "accuracy",
    "accuracy_low": "accuracy, low popularity",
    "accuracy_high": "accuracy, high popularity",
    "accuracy_difference": "high - low",
}
_SHARES = ("ahead", "accuracy")
_PAPER, _GAP = "advantage", "accuracy_difference"
"""Given with variant paper alone."""
_MANY_TIED = 0.1
"""From this share of items on the median on, the halves are said to be uneven."""


@dataclass(frozen=True, slots=True)
class Scoring:
    """All that the tables are made from: per item its scores, its half, whether it was right."""

    items: Sequence[Item]
    instances: Scored
    first: Labels
    """Which instance is the first of each item."""
    right: Floats
    wrong: Floats
    bases: Labels
    """Items with the same number are made from one another."""
    scores: Floats
    half: Labels
    tenth: Labels
    correct: Floats
    groups: Groups
    options: Any


def sources(scored: Scoring) -> dict[str, SourceResult]:
    """The values of each group of items."""
    return {name: _source(scored, own) for name, own in scored.groups.items()}


def values(scored: Scoring) -> list[Row]:
    paper = scored.options.variant == "paper"
    titles = {name: title for name, title in VALUES.items() if paper or name != _PAPER}
    rows = described(titles, shares=_SHARES)
    return [{**row, "share": row["share"] and row["value"] != _GAP} for row in rows]


def all_tables(scored: Scoring) -> dict[str, Sequence[Row]]:
    return {
        "tests": _tests(scored),
        "groups": list(_halves(scored)),
        "accuracy": list(_tenths(scored)),
        "deciles": list(_deciles(scored)),
        "items": list(_items(scored)),
    }


def notes(scored: Scoring) -> Iterator[str]:
    """What a reader of the numbers must know."""
    counts, tasks = scored.instances.counts, np.array([item.task for item in scored.items])
    absent = float((counts == 0).mean()) if len(counts) else math.nan
    yield (
        f"{absent:.1%} of {len(counts):,} different {scored.options.n}-grams do not occur in the "
        "corpus; they share popularity 1"
    )
    for reason, lost in (
        ("an instance is shorter than n", np.isnan(scored.scores) & ~_unanswered(scored)),
        ("nobody says which option is right", _unanswered(scored)),
    ):
        if count := int(lost.sum()):
            yield f"{count:,} of {len(lost):,} items have no score: {reason}"
    unknown = int(np.isnan(scored.correct).sum())
    if 0 < unknown < len(scored.correct):
        yield f"no recorded answer: {several(unknown, 'item')}"
    tied = dict(_tied(scored, tasks))
    if tied:
        said = ", ".join(f"{task} {share:.0%}" for task, share in tied.items())
        yield f"many items stand on the median of their task, in the low half ({said})"
    if twice := repeated(scored.items, scored.groups):
        yield (
            f"more than once in a group (same task and id): {several(twice, 'item')}; answers of "
            "several models are told apart with --by source,task"
        )


def _tied(scored: Scoring, tasks: NDArray[np.str_]) -> Iterator[tuple[str, float]]:
    """Tasks of which many items stand on the median, so that the halves are uneven."""
    for task in dict.fromkeys(tasks.tolist()):
        scores = scored.scores[(tasks == task) & (scored.half != NEITHER)]
        share = float((scores == np.median(scores)).mean()) if len(scores) else 0.0
        if share > _MANY_TIED:
            yield task, share


def _unanswered(scored: Scoring) -> NDArray[np.bool_]:
    return np.array([item.answer is None for item in scored.items])


def _source(scored: Scoring, own: Labels) -> SourceResult:
    level, bases = scored.options.interval, scored.bases[own]
    right, wrong = scored.right[own], scored.wrong[own]
    columns = {"ips": right, "ips_wrong": wrong, "difference": right - wrong}
    if scored.options.variant == "paper":
        columns[_PAPER] = (right - wrong) / right
    columns["ahead"] = _ahead(right - wrong)
    values, intervals = estimates(columns, bases, level, shares=("ahead",))
    lacking = []
    shares = {
        "accuracy": _share_of(scored, own),
        "accuracy_low": _share_of(scored, own[scored.half[own] == LOW]),
        "accuracy_high": _share_of(scored, own[scored.half[own] == HIGH]),
    }
    for name, share in shares.items():
        values[name] = share.value
        intervals[name] = share.interval(level)
    gap, low, high = difference(scored.correct[own], scored.half[own], bases, level)
    values["accuracy_difference"], intervals["accuracy_difference"] = gap, (low, high)
    if math.isnan(values["ips"]):
        lacking.append("ips: no item has a score")
    if math.isnan(values["difference"]):
        lacking.append("ips_wrong, difference, ahead: no item has a wrong option with a score")
    elif math.isnan(values["ahead"]):
        lacking.append("ahead: both options are equally popular in every item")
    if math.isnan(values["accuracy"]):
        lacking.append("accuracy: no field says which items were answered rightly (--correct)")
    elif math.isnan(gap):
        lacking.append("accuracy_difference: one of the halves is empty")
    return SourceResult(
        texts=len(own),
        words=int(scored.instances.tokens[_instances(scored, own)].sum()),
        values={name: values[name] for name in VALUES if name in values},
        intervals={n: i for n, i in intervals.items() if level and not math.isnan(values[n])},
        notes=tuple(lacking),
    )


def _ahead(differences: Floats) -> Floats:
    """1 where the right option is ahead, 0 where it is behind; nan where neither is."""
    return np.where(differences == 0, np.nan, np.where(differences > 0, 1.0, differences * 0))


def _tests(scored: Scoring) -> Sequence[Row]:
    """Is the right option more popular? The signs of the differences are turned by chance, of
    twins together; the share of items that it is ahead in likewise."""
    found: list[dict[str, Any]] = []
    for group, own in scored.groups.items():
        gaps = scored.right[own] - scored.wrong[own]
        known = ~np.isnan(gaps)
        if not known.any():
            continue
        bases = np.unique(scored.bases[own][known], return_inverse=True)[1]
        found.append(
            {
                **named(scored.options.by, group),
                "items": int(known.sum()),
                "independent": int(bases.max()) + 1,
                "ahead": int((gaps[known] > 0).sum()),
                "behind": int((gaps[known] < 0).sum()),
                "tied": int((gaps[known] == 0).sum()),
                "difference": mean_of(gaps[known]),
                "p": sign_flip(np.bincount(bases, gaps[known]).tolist()),
                "p_ahead": sign_flip(np.bincount(bases, np.sign(gaps[known])).tolist()),
            }
        )
    for name in ("p", "p_ahead"):
        for row, corrected in zip(found, holm([row[name] for row in found])):
            row[f"{name}_corrected"] = corrected
    return found


def _share_of(scored: Scoring, own: Labels) -> Share:
    return Share.of(scored.correct[own], scored.bases[own])


def _instances(scored: Scoring, own: Labels) -> Labels:
    sizes = np.array([len(scored.items[i].options) for i in own])
    starts = np.repeat(scored.first[own] - np.concatenate(([0], np.cumsum(sizes)[:-1])), sizes)
    return np.asarray(starts + np.arange(sizes.sum()))


def _share(scored: Scoring, own: Labels) -> dict[str, Any]:
    """How many of these items there are, their score, and how they were answered."""
    share, level = _share_of(scored, own), scored.options.interval
    reach = share.interval(level) if level else (math.nan, math.nan)
    return {
        "items": len(own),
        "score": mean_of(scored.scores[own]),
        "answered": share.items,
        "correct": share.correct,
        **estimate("accuracy", share.value, reach, ("low", "high")),
    }


def _halves(scored: Scoring) -> Iterator[Row]:
    for group, own in scored.groups.items():
        for half, name in HALVES.items():
            begin = {**named(scored.options.by, group), "popularity": name}
            yield {**begin, **_share(scored, own[scored.half[own] == half])}


def _tenths(scored: Scoring) -> Iterator[Row]:
    for group, own in scored.groups.items():
        for tenth in range(1, PARTS + 1):
            part = own[scored.tenth[own] == tenth]
            if len(part):
                yield {**named(scored.options.by, group), "decile": tenth, **_share(scored, part)}


def _deciles(scored: Scoring) -> Iterator[Row]:
    """Of each task which counts have which popularity."""
    for task, deciles in scored.instances.scale.tasks.items():
        for part in range(1, PARTS + 1):
            yield {
                "task": task,
                "popularity": part,
                "above": None if part == 1 else deciles.edges[part - 2],
                "up_to": None if part == PARTS else deciles.edges[part - 1],
                "grams": deciles.grams,
            }


def _items(scored: Scoring) -> Iterator[Mapping[str, Any]]:
    ips, different = scored.instances.ips.tolist(), scored.instances.different.tolist()
    names = {number: group for group, own in scored.groups.items() for number in own.tolist()}
    for number, item in enumerate(scored.items):
        first = int(scored.first[number])
        last = first + len(item.options)
        yield {
            "id": item.id,
            "task": item.task,
            "group": names[number],
            "ips": ips[first:last],
            "different": different[first:last],
            "answer": item.answer,
            "difference": float(scored.right[number] - scored.wrong[number]),
            "score": float(scored.scores[number]),
            "popularity": HALVES.get(int(scored.half[number])),
            "decile": int(scored.tenth[number]) or None,
            "correct": None if np.isnan(scored.correct[number]) else bool(scored.correct[number]),
        }


def tenths(scores: Floats, tasks: Labels) -> Labels:
    """The decile of each score in its task, 1 to 10, by the rule of counts; 0 without a score."""
    found = np.zeros(len(scores), np.int64)
    for own in of_tasks(scores, tasks):
        found[own] = Deciles.of(scores[own])(scores[own])
    return found


def difference(
    correct: Floats, half: Labels, bases: Labels, level: float
) -> tuple[float, float, float]:
    """How much larger the share of right answers is in the high half, and Newcombe's interval.

    Newcombe (1998), method 10: made of the Wilson intervals of the two shares, so it stays within
    -1 and 1 and needs no drawing. Twins often occur in different halves: the interval is as many
    times as wide as they make the error of the difference larger.
    """
    own = np.arange(len(correct))
    high, low = (Share.of(correct[half == part], own[half == part]) for part in (HIGH, LOW))
    found = high.value - low.value
    if math.isnan(found) or not level:
        return found, math.nan, math.nan
    (a, b), (c, d) = high.interval(level), low.interval(level)
    stretch = _stretch(correct, half, bases)
    below = stretch * math.hypot(high.value - a, d - low.value)
    above = stretch * math.hypot(b - high.value, low.value - c)
    return found, max(-1.0, found - below), min(1.0, found + above)


def _stretch(correct: Floats, half: Labels, bases: Labels) -> float:
    """How many times as large the error of the difference is as if all items were independent."""
    count, errors = len(correct), []
    for clusters in (np.arange(count), numbered(bases)):
        parts = [mean(correct[half == p], clusters[half == p], count) for p in (HIGH, LOW)]
        errors.append((parts[0] - parts[1]).error)
    alone, together = errors
    return max(1.0, together / alone) if alone > 0 and together > 0 else 1.0
