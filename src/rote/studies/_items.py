"""What studies of items share: their groups, right answers, and shares of them with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rote.compare.clusters import (
    clustered_mean,
    error_inflation,
    inflation_units,
    number_clusters,
    share_interval,
)
from rote.compare.intervals import wilson
from rote.core.errors import InputError, OptionError
from rote.core.facets import JOINT
from rote.core.result import Row
from rote.core.table import estimate
from rote.corpus.items import Item

CORRECTNESS = ("acc", "exact_match", "acc_norm")
"""Fields that say whether an item was answered correctly, as lm-evaluation-harness names them."""
LOW, HIGH, NEITHER = 0, 1, -1
HALVES = {LOW: "low", HIGH: "high"}
_TRUTH = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0, "1.0": 1.0, "0.0": 0.0}

Labels = NDArray[np.int64]
Floats = NDArray[np.float64]
Groups = Mapping[str, Labels]
Drawn = TypeVar("Drawn")


def check_by(by: Sequence[str]) -> None:
    if not by:
        raise OptionError("--by needs at least one field, such as task")


def group_by_fields(fields: Iterable[Sequence[object]]) -> dict[str, Labels]:
    """Which of some things have the same fields: their places, under the fields' values."""
    positions: dict[str, list[int]] = {}
    for number, values in enumerate(fields):
        positions.setdefault(JOINT.join(map(str, values)), []).append(number)
    return {name: np.array(places) for name, places in positions.items()}


def items_by_group(items: Sequence[Item], by: Sequence[str]) -> dict[str, Labels]:
    return group_by_fields([read_field(item, field, "--by") for field in by] for item in items)


def group_by_item(groups: Groups) -> dict[int, str]:
    """The group of each item, by the item's number."""
    return {number: name for name, members in groups.items() for number in members.tolist()}


def group_columns(by: Sequence[str], group: str) -> dict[str, Any]:
    """A group and its fields, as the rows of a table begin."""
    return {"group": group, **dict(zip(by, group.split(JOINT)))}


def count_repeated(items: Sequence[Item], groups: Groups) -> int:
    """How many items of a group occur there before, with the same task and id."""
    return sum(
        len(group) - len({(items[i].task, items[i].id) for i in group.tolist()})
        for group in groups.values()
    )


def read_field(item: Item, field: str, flag: str) -> Any:
    """A field of an item, named by a flag."""
    if field == "task":
        return item.task
    if field not in item.meta:
        raise InputError(
            f"the item '{item.id}' of {item.task} has no such field, only "
            f"{', '.join(('task', *item.meta))}",
            field=field,
            remedy=f"{flag} names a field that all items have",
        )
    return item.meta[field]


def read_correctness(item: Item, column: str | None) -> float:
    """1 where an item was answered correctly, 0 where not; nan where no field says it, or it is
    empty."""
    if column is None:
        known = (item.meta[name] for name in CORRECTNESS if name in item.meta)
        value = next(known, None)
    else:
        value = read_field(item, column, "--correct")
    if value is None or value == "":
        return np.nan
    word = str(value).strip().lower()
    if word not in _TRUTH:
        raise InputError(
            f"the item '{item.id}' of {item.task} contains {value!r}: correct is true or 1, "
            "incorrect is false or 0",
            field=column or "acc",
        )
    return _TRUTH[word]


def describe_values(
    titles: Mapping[str, str],
    *,
    higher: str | Mapping[str, str] = "neither",
    shares: tuple[str, ...] = (),
) -> list[Row]:
    """The table `values` of a result: what each value is called, which way is up, and which are
    shares, by how their names begin."""
    return [
        {
            "value": name,
            "title": title,
            "higher": higher if isinstance(higher, str) else higher.get(name, "neither"),
            "length_sensitive": False,
            "share": name.startswith(shares),
        }
        for name, title in titles.items()
    ]


@dataclass(frozen=True, slots=True)
class Share:
    """So many right answers among so many; `stretch`: how much less sure twins make it, which
    rests on so many independent `units`."""

    items: int
    correct: int
    stretch: float = 1.0
    units: float = math.inf

    @classmethod
    def of(cls, correct: Floats, bases: Labels) -> Share:
        """From ones and zeros; what nobody knows (nan) does not count. Items with the same number
        in `bases` belong together."""
        known = ~np.isnan(correct)
        if not known.any():
            return cls(0, 0)
        right, twins = correct[known], number_clusters(bases[known])
        stretch, units = error_inflation(right, twins), inflation_units(right, twins)
        return cls(len(right), int(right.sum()), stretch, units)

    @property
    def value(self) -> float:
        return self.correct / self.items if self.items else math.nan

    def interval(self, level: float) -> tuple[float, float]:
        fewer = self.stretch**2
        return wilson(self.correct / fewer, self.items / fewer, level, self.units)


def split_halves(scores: Floats, tasks: Labels) -> Labels:
    """LOW up to the median of the task's scores, HIGH above it, NEITHER where there is no score."""
    labels = np.full(len(scores), NEITHER, np.int64)
    for task_items in scored_by_task(scores, tasks):
        labels[task_items] = np.where(scores[task_items] > np.median(scores[task_items]), HIGH, LOW)
    return labels


def scored_by_task(scores: Floats, tasks: Labels) -> list[Labels]:
    """Of each task the items that have a score."""
    scored = ~np.isnan(scores)
    every = (np.flatnonzero((tasks == task) & scored) for task in np.unique(tasks))
    return [task_items for task_items in every if len(task_items)]


def share_cells(
    name: str, hits: Floats, clusters: Labels, level: float, end_names: Sequence[str] = ()
) -> dict[str, float]:
    """A share (of ones among ones and zeros) and the ends of its interval, as rows hold them."""
    return estimate(name, defined_mean(hits), share_interval(hits, clusters, level), end_names)


def draw_in_order(some: Sequence[Drawn], count: int | None, random: Any) -> list[Drawn]:
    """So many of them by a generator, in their order; all where there are no more, or no count."""
    if not count or count >= len(some):
        return list(some)
    return [some[i] for i in np.sort(random.choice(len(some), count, replace=False)).tolist()]


def mean_by_number(numbers: Labels, values: Any, count: int) -> Floats:
    """By number from 0 on the mean of its values; nan where it has none."""
    with np.errstate(invalid="ignore"):
        sums = np.bincount(numbers, np.asarray(values, np.float64), minlength=count)
        return sums / np.bincount(numbers, minlength=count)


def defined_mean(values: Floats) -> float:
    """The mean of what is defined, nan where nothing is."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else math.nan


def estimate_columns(
    columns: Mapping[str, Floats], bases: Labels, level: float, shares: tuple[str, ...] = ()
) -> tuple[dict[str, float], dict[str, tuple[float, float]]]:
    """The mean of each column and its interval, Wilson's for `shares` (by how their names begin),
    else the jackknife's; items with the same number in `bases` belong together."""
    values = {name: defined_mean(column) for name, column in columns.items()}
    intervals = {}
    for name, column in columns.items():
        if not level or math.isnan(values[name]):
            continue
        if name.startswith(shares):
            intervals[name] = share_interval(column, bases, level)
        elif not math.isnan((average := clustered_mean(column, bases)).error):
            intervals[name] = average.interval(level)
    return values, intervals
