"""What a study of popularity gives: values of each group, and tables of items, deciles, halves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rote.compare.intervals import around, mean_error
from rote.core.facets import JOINT
from rote.core.result import Row, SourceResult
from rote.measure._popularity.accuracy import HALVES, HIGH, LOW, NEITHER, Share, difference
from rote.measure._popularity.deciles import PARTS

if TYPE_CHECKING:
    from rote.measure._popularity.study import Study

VALUES = {
    "ips": "popularity of the right instance",
    "ips_wrong": "popularity of the wrong ones",
    "advantage": "right against wrong, relative",
    "accuracy": "accuracy",
    "accuracy_low": "accuracy, low popularity",
    "accuracy_high": "accuracy, high popularity",
    "accuracy_difference": "high - low",
}
_MEANS = ("ips", "ips_wrong", "advantage")
_MANY_TIED = 0.1
"""From this share of items on the median on, the halves are said to be uneven."""


def sources(study: Study) -> dict[str, SourceResult]:
    """The values of each group of items."""
    return {name: _source(study, own) for name, own in study.groups.items()}


def all_tables(study: Study) -> dict[str, Sequence[Row]]:
    return {
        "values": [
            {"value": name, "title": title, "higher": "neither", "length_sensitive": False}
            for name, title in VALUES.items()
        ],
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
    level = study.options.interval
    columns = {
        "ips": study.right[own],
        "ips_wrong": study.wrong[own],
        "advantage": ((study.right - study.wrong) / study.right)[own],
    }
    values, intervals, lacking = {}, {}, []
    for name in _MEANS:
        defined = columns[name][~np.isnan(columns[name])]
        values[name] = float(defined.mean()) if len(defined) else math.nan
        if len(defined) > 1:
            intervals[name] = around(values[name], mean_error(defined), level)
    shares = {
        "accuracy": Share.of(study.correct[own]),
        "accuracy_low": _of_half(study, own, LOW),
        "accuracy_high": _of_half(study, own, HIGH),
    }
    for name, share in shares.items():
        values[name] = share.value
        intervals[name] = share.interval(level)
    gap, low, high = difference(shares["accuracy_high"], shares["accuracy_low"], level)
    values["accuracy_difference"], intervals["accuracy_difference"] = gap, (low, high)
    if math.isnan(values["ips"]):
        lacking.append("ips: no item has a score")
    if math.isnan(values["advantage"]):
        lacking.append("ips_wrong, advantage: no item has a wrong option with a score")
    if math.isnan(values["accuracy"]):
        lacking.append("accuracy: no field says which items were answered rightly (--correct)")
    elif math.isnan(gap):
        lacking.append("accuracy_difference: one of the halves is empty")
    return SourceResult(
        texts=len(own),
        words=int(study.scored.tokens[_instances(study, own)].sum()),
        values=values,
        intervals={n: i for n, i in intervals.items() if level and not math.isnan(values[n])},
        notes=tuple(lacking),
    )


def _of_half(study: Study, own: NDArray[np.int64], half: int) -> Share:
    return Share.of(study.correct[own[study.half[own] == half]])


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
                **_share(Share.of(study.correct[part]), study.options.interval),
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
                    **_share(Share.of(study.correct[part]), study.options.interval),
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
            "score": float(study.scores[number]),
            "popularity": HALVES.get(int(study.half[number])),
            "decile": int(study.tenth[number]) or None,
            "correct": None if np.isnan(study.correct[number]) else bool(study.correct[number]),
        }


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else math.nan
