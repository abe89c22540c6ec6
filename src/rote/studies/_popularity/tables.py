"""What a study of popularity gives: values of each group, and tables of items, deciles, halves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rote.compare.clusters import mean_error, share_interval
from rote.compare.exact_tests import sign_flip
from rote.compare.intervals import around
from rote.compare.permutation import holm
from rote.core.facets import JOINT
from rote.core.result import Row, SourceResult
from rote.studies._popularity.accuracy import HALVES, HIGH, LOW, NEITHER, Share, difference
from rote.studies._popularity.deciles import PARTS

if TYPE_CHECKING:
    from rote.studies._popularity.study import Study

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
_SHARES = ("ahead", "accuracy", "accuracy_low", "accuracy_high")
_PAPER = "advantage"
"""Given with variant paper alone."""
_MANY_TIED = 0.1
"""From this share of items on the median on, the halves are said to be uneven."""


def sources(study: Study) -> dict[str, SourceResult]:
    """The values of each group of items."""
    return {name: _source(study, own) for name, own in study.groups.items()}


def all_tables(study: Study) -> dict[str, Sequence[Row]]:
    return {
        "values": [
            {
                "value": name,
                "title": title,
                "higher": "neither",
                "length_sensitive": False,
                "share": name in _SHARES,
            }
            for name, title in VALUES.items()
            if name != _PAPER or study.options.variant == "paper"
        ],
        "tests": _tests(study),
        "groups": list(_halves(study)),
        "accuracy": list(_tenths(study)),
        "deciles": list(_deciles(study)),
        "items": list(_items(study)),
    }


def notes(study: Study) -> Iterator[str]:
    """What a reader of the numbers must know."""
    scored, tasks = study.scored, np.array([item.task for item in study.items])
    absent = float((scored.counts == 0).mean()) if len(scored.counts) else math.nan
    yield (
        f"{absent:.1%} of {len(scored.counts):,} different {study.options.n}-grams stand nowhere "
        "in the corpus; they share popularity 1"
    )
    for reason, lost in (
        ("an instance is shorter than n", np.isnan(study.scores) & ~_unanswered(study)),
        ("nobody says which option is right", _unanswered(study)),
    ):
        if count := int(lost.sum()):
            yield f"{count:,} of {len(lost):,} items have no score: {reason}"
    unknown = int(np.isnan(study.correct).sum())
    if 0 < unknown < len(study.correct):
        yield f"of {unknown:,} items nobody says whether they were answered rightly"
    tied = dict(_tied(study, tasks))
    if tied:
        said = ", ".join(f"{task} {share:.0%}" for task, share in tied.items())
        yield f"many items stand on the median of their task, in the low half ({said})"
    if twice := _twice(study):
        yield (
            f"{twice:,} items of a group stand more than once (same task and id): answers of "
            "several models are told apart with --by source,task"
        )


def _tied(study: Study, tasks: NDArray[np.str_]) -> Iterator[tuple[str, float]]:
    """Tasks of which many items stand on the median, so that the halves are uneven."""
    for task in dict.fromkeys(tasks.tolist()):
        scores = study.scores[(tasks == task) & (study.half != NEITHER)]
        share = float((scores == np.median(scores)).mean()) if len(scores) else 0.0
        if share > _MANY_TIED:
            yield task, share


def _unanswered(study: Study) -> NDArray[np.bool_]:
    return np.array([item.answer is None for item in study.items])


def _twice(study: Study) -> int:
    names = [[(study.items[i].task, study.items[i].id) for i in g] for g in study.groups.values()]
    return sum(len(own) - len(set(own)) for own in names)


def _source(study: Study, own: NDArray[np.int64]) -> SourceResult:
    level, bases = study.options.interval, study.bases[own]
    right, wrong = study.right[own], study.wrong[own]
    columns = {"ips": right, "ips_wrong": wrong, "difference": right - wrong}
    if study.options.variant == "paper":
        columns[_PAPER] = (right - wrong) / right
    values, intervals, lacking = {}, {}, []
    for name, column in columns.items():
        values[name] = _mean(column[~np.isnan(column)])
        error = mean_error(column, bases)
        if not math.isnan(error):
            intervals[name] = around(values[name], error, level)
    ahead = _ahead(right - wrong)
    values["ahead"] = _mean(ahead[~np.isnan(ahead)])
    intervals["ahead"] = share_interval(ahead, bases, level)
    shares = {
        "accuracy": Share.of(study.correct[own], bases),
        "accuracy_low": _of_half(study, own, LOW),
        "accuracy_high": _of_half(study, own, HIGH),
    }
    for name, share in shares.items():
        values[name] = share.value
        intervals[name] = share.interval(level)
    gap, low, high = difference(study.correct[own], study.half[own], bases, level)
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
        words=int(study.scored.tokens[_instances(study, own)].sum()),
        values={name: values[name] for name in VALUES if name in values},
        intervals={n: i for n, i in intervals.items() if level and not math.isnan(values[n])},
        notes=tuple(lacking),
    )


def _ahead(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 where the right option is ahead, 0 where it is behind; nan where neither is."""
    return np.where(differences == 0, np.nan, np.where(differences > 0, 1.0, differences * 0))


def _tests(study: Study) -> Sequence[Row]:
    """Is the right option more popular? The signs of the differences are turned by chance, of
    twins together; the share of items that it is ahead in likewise."""
    found: list[dict[str, Any]] = []
    for group, own in study.groups.items():
        gaps = study.right[own] - study.wrong[own]
        known = ~np.isnan(gaps)
        if not known.any():
            continue
        bases = np.unique(study.bases[own][known], return_inverse=True)[1]
        found.append(
            {
                **_named(study, group),
                "items": int(known.sum()),
                "independent": int(bases.max()) + 1,
                "ahead": int((gaps[known] > 0).sum()),
                "behind": int((gaps[known] < 0).sum()),
                "tied": int((gaps[known] == 0).sum()),
                "difference": _mean(gaps[known]),
                "p": sign_flip(np.bincount(bases, gaps[known]).tolist()),
                "p_ahead": sign_flip(np.bincount(bases, np.sign(gaps[known])).tolist()),
            }
        )
    for name in ("p", "p_ahead"):
        for row, corrected in zip(found, holm([row[name] for row in found])):
            row[f"{name}_corrected"] = corrected
    return found


def _of_half(study: Study, own: NDArray[np.int64], half: int) -> Share:
    return _share_of(study, own[study.half[own] == half])


def _share_of(study: Study, own: NDArray[np.int64]) -> Share:
    return Share.of(study.correct[own], study.bases[own])


def _instances(study: Study, own: NDArray[np.int64]) -> NDArray[np.int64]:
    sizes = np.array([len(study.items[i].options) for i in own])
    starts = np.repeat(study.first[own] - np.concatenate(([0], np.cumsum(sizes)[:-1])), sizes)
    return np.asarray(starts + np.arange(sizes.sum()))


def _named(study: Study, group: str) -> dict[str, Any]:
    """The group and its fields."""
    return {"group": group, **dict(zip(study.options.by, group.split(JOINT)))}


def _share(share: Share, level: float) -> dict[str, Any]:
    low, high = share.interval(level) if level else (math.nan, math.nan)
    return {
        "answered": share.items,
        "correct": share.correct,
        "accuracy": share.value,
        "low": low,
        "high": high,
    }


def _halves(study: Study) -> Iterator[Row]:
    for group, own in study.groups.items():
        for half, name in HALVES.items():
            part = own[study.half[own] == half]
            yield {
                **_named(study, group),
                "popularity": name,
                "items": len(part),
                "score": _mean(study.scores[part]),
                **_share(_share_of(study, part), study.options.interval),
            }


def _tenths(study: Study) -> Iterator[Row]:
    for group, own in study.groups.items():
        for tenth in range(1, PARTS + 1):
            part = own[study.tenth[own] == tenth]
            if len(part):
                yield {
                    **_named(study, group),
                    "decile": tenth,
                    "items": len(part),
                    "score": _mean(study.scores[part]),
                    **_share(_share_of(study, part), study.options.interval),
                }


def _deciles(study: Study) -> Iterator[Row]:
    """Of each task which counts have which popularity."""
    for task, deciles in study.scored.scale.tasks.items():
        for part in range(1, PARTS + 1):
            yield {
                "task": task,
                "popularity": part,
                "above": None if part == 1 else deciles.edges[part - 2],
                "up_to": None if part == PARTS else deciles.edges[part - 1],
                "grams": deciles.grams,
            }


def _items(study: Study) -> Iterator[Mapping[str, Any]]:
    ips, different = study.scored.ips.tolist(), study.scored.different.tolist()
    names = {number: group for group, own in study.groups.items() for number in own.tolist()}
    for number, item in enumerate(study.items):
        first = int(study.first[number])
        last = first + len(item.options)
        yield {
            "id": item.id,
            "task": item.task,
            "group": names[number],
            "ips": ips[first:last],
            "different": different[first:last],
            "answer": item.answer,
            "difference": float(study.right[number] - study.wrong[number]),
            "score": float(study.scores[number]),
            "popularity": HALVES.get(int(study.half[number])),
            "decile": int(study.tenth[number]) or None,
            "correct": None if np.isnan(study.correct[number]) else bool(study.correct[number]),
        }


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else math.nan
