"""The tables of `overlap`: the bins, the scores in them, what becomes of the scores, the items."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rote.compare import clusters
from rote.compare.clusters import Estimate
from rote.core.array_types import Floats, Integers
from rote.core.sample import Take
from rote.measure._overlap.partition import (
    NO_BIN,
    Partition,
    Placebo,
    clustered_rank_test,
    log_ratio,
    paired_log_ratio,
    rank_interval,
    rank_test,
    ratio,
)
from rote.measure._overlap.scores import is_made

TOO_SHORT, ALL = "too short", "all"
_UNDEFINED = Estimate(math.nan, np.zeros(0), 0)


@dataclass(frozen=True, slots=True)
class Rows:
    """Of every text: its item, how many n-grams are held of how many, its bin and its scores.

    `others` are the groups that --control and --normalize-to name.
    """

    item: Integers
    base: Integers
    """Texts with the same number belong together: they have one doc_id, or are one item."""
    found: Integers
    every: Integers
    overlap: Floats
    bin: Integers
    partition: Partition
    scores: Mapping[str, Floats]
    others: Mapping[str, str]
    trained: bool
    placebo: Placebo | None


@dataclass(frozen=True, slots=True)
class Table:
    """What the tables are made from; without a level they hold no intervals."""

    rows: Rows
    groups: Mapping[str, Take]
    ids: Sequence[str]
    level: float

    def bin_fields(self, bin: int | None) -> dict[str, Any]:
        """Those of a bin, or of all."""
        if bin is None:
            return {"bin": None, "name": ALL, "low": 0.0, "high": 1.0}
        low, high = self.rows.partition.bounds(bin)
        return {"bin": bin + 1, "name": self.rows.partition.name(bin), "low": low, "high": high}


@dataclass(frozen=True, slots=True)
class _Paired:
    """The scores of a source and of another on the items that both have: means over its texts."""

    own: Floats
    other: Floats
    overlap: Floats
    bin: Integers

    @property
    def excess(self) -> Floats:
        return self.own - self.other

    def within(self, bin: int | None) -> _Paired:
        chosen = self.bin != NO_BIN if bin is None else self.bin == bin
        return _Paired(self.own[chosen], self.other[chosen], self.overlap[chosen], self.bin[chosen])


def partition_rows(table: Table) -> list[dict[str, Any]]:
    """The bins, and for every source how many of its texts are in them."""
    rows, partition = table.rows, table.rows.partition
    found = []
    for source, take in table.groups.items():
        kinds = [(n, table.bin_fields(n), items) for n, items in enumerate(partition.items)]
        if partition.undefined:
            fields = {"bin": None, "name": TOO_SHORT, "low": None, "high": None}
            kinds.append((NO_BIN, fields, partition.undefined))
        for bin, fields, items in kinds:
            texts = int((rows.bin[take] == bin).sum())
            found.append({"source": source, **fields, "items": items, "texts": texts})
    return found


def bins(table: Table) -> list[dict[str, Any]]:
    """Every score of every source in every bin, and in all of them together."""
    return [
        {
            "source": source,
            "score": name,
            **table.bin_fields(bin),
            **_mean_in(table, take, column, bin, is_made(name)),
            **_normalized(table, source, column, bin),
            **_excess(table, source, column, bin),
        }
        for source, take in table.groups.items()
        for name, column in table.rows.scores.items()
        for bin in (*range(len(table.rows.partition)), None)
    ]


def trends(table: Table) -> list[dict[str, Any]]:
    """What becomes of every score of every source from T_nov to T_sim."""
    return [
        {
            "source": source,
            "score": name,
            **trend_row(table, take, column, share=is_made(name)),
            **_rise_over_control(table, source, column),
        }
        for source, take in table.groups.items()
        for name, column in table.rows.scores.items()
    ]


def trend_row(table: Table, take: Take, column: Floats, *, share: bool) -> dict[str, Any]:
    """The same for one score of some texts."""
    rows, last = table.rows, len(table.rows.partition) - 1
    nothing = math.nan, (math.nan, math.nan)
    ends = {
        name: mean_interval(table, take, column, bin, share=share) if last else nothing
        for name, bin in (("nov", 0), ("sim", last))
    }
    items = rows.base[take]
    logs = log_ratio(column[take], rows.bin[take], items, last) if last else _UNDEFINED
    novel, similar = (_in_bin(rows, take, column, bin) for bin in (0, last))
    rho, p, (low, high), count = clustered_rank_test(
        rows.overlap[take], column[take], items, table.level
    )
    return {
        "texts": int((~np.isnan(rows.overlap[take]) & ~np.isnan(column[take])).sum()),
        "items": count,
        **{name: value for name, (value, _) in ends.items()},
        **{
            f"{name}_{end}": reach
            for name, (_, reaches) in ends.items()
            for end, reach in zip(("low", "high"), reaches)
        },
        **_on_the_log("ratio", logs, table.level, ratio(novel, similar) if last else math.nan),
        "trend": rho,
        "trend_low": low,
        "trend_high": high,
        "p": p,
        **_over_placebo(table, take, column),
    }


def _over_placebo(table: Table, take: Take, column: Floats) -> dict[str, Any]:
    """By the training set and by the placebo, at the same size, and what the first has above it."""
    beside = table.rows.placebo
    if beside is None:
        return {}
    chosen = (column, table.rows.base, take)
    excess, trend = (beside.excess(kind, *chosen) for kind in ("log_ratio", "trend"))
    low, high = trend.interval(table.level)
    return {
        **{
            f"{side}_ratio": float(np.exp(beside.log_ratio(side, *chosen).value))
            for side in beside.draws
        },
        **_on_the_log("over_placebo", excess, table.level),
        **{f"{side}_trend": beside.trend(side, *chosen).value for side in beside.draws},
        "trend_over_placebo": trend.value,
        "trend_over_placebo_low": low,
        "trend_over_placebo_high": high,
    }


def items(table: Table) -> list[dict[str, Any]]:
    """Every text with its overlap, its bin and its scores."""
    rows = table.rows
    return [
        {
            "source": source,
            "id": table.ids[text],
            "item": int(rows.item[text]) + 1,
            "found": int(rows.found[text]),
            "ngrams": int(rows.every[text]),
            "overlap": float(rows.overlap[text]),
            "bin": int(rows.bin[text]) + 1 if rows.bin[text] != NO_BIN else None,
            **{name: float(column[text]) for name, column in rows.scores.items()},
        }
        for source, take in table.groups.items()
        for text in take.tolist()
    ]


def _in_bin(rows: Rows, take: Take, column: Floats, bin: int | None) -> Floats:
    """The defined scores of a bin, or of all."""
    bins = rows.bin[take]
    chosen = column[take][bins != NO_BIN if bin is None else bins == bin]
    return np.asarray(chosen[~np.isnan(chosen)], np.float64)


def mean_interval(
    table: Table, take: Take, column: Floats, bin: int | None = None, *, share: bool = False
) -> tuple[float, tuple[float, float]]:
    """The mean score of a bin, or of all, and its interval: texts of one item belong together."""
    bins = table.rows.bin[take]
    chosen = take[bins != NO_BIN if bin is None else bins == bin]
    found = clusters.mean_of(column[chosen], table.rows.base[chosen])
    return found.value, found.interval(table.level, share=share)


def _mean_in(
    table: Table, take: Take, column: Floats, bin: int | None, share: bool
) -> dict[str, Any]:
    value, (low, high) = mean_interval(table, take, column, bin, share=share)
    texts = len(_in_bin(table.rows, take, column, bin))
    return {"texts": texts, "mean": value, "mean_low": low, "mean_high": high}


def _normalized(table: Table, source: str, column: Floats, bin: int | None) -> dict[str, Any]:
    """The score divided by that of the named source on the same items; not its own."""
    if (named := table.rows.others.get("normalize_to")) is None:
        return {}
    both = _paired(table, source, named, column).within(bin)
    logs = paired_log_ratio(both.own, both.other)
    return _on_the_log("normalized", logs, table.level, ratio(both.other, both.own))


def _excess(table: Table, source: str, column: Floats, bin: int | None) -> dict[str, Any]:
    """How much the score is above that of the control on the same items."""
    if (control := table.rows.others.get("control")) is None:
        return {}
    excess = _paired(table, source, control, column).within(bin).excess
    return _plain("excess", _over_items(excess), table.level)


def _rise_over_control(table: Table, source: str, column: Floats) -> dict[str, Any]:
    """How much more the score rises from T_nov to T_sim than the control's, on the same items."""
    if (control := table.rows.others.get("control")) is None:
        return {}
    both = _paired(table, source, control, column)
    last = len(table.rows.partition) - 1
    items = np.arange(len(both.own))
    novel, similar = (
        clusters.mean(both.excess[both.bin == bin], items[both.bin == bin], len(items))
        for bin in (0, last)
    )
    own, other = (log_ratio(c, both.bin, items, last) for c in (both.own, both.other))
    rho, p, n = rank_test(both.overlap, both.excess)
    low, high = rank_interval(rho, n, table.level)
    return {
        **_plain("rise", similar - novel if last else _UNDEFINED, table.level),
        **_on_the_log("rise_ratio", own - other if last else _UNDEFINED, table.level),
        "excess_trend": rho,
        "excess_trend_low": low,
        "excess_trend_high": high,
        "excess_p": p,
    }


def _paired(table: Table, source: str, other: str, column: Floats) -> _Paired:
    """A source is not paired with itself: nothing could be learned from that."""
    rows = table.rows
    takes = (table.groups[source], table.groups[other])
    own, others = (dict(_per_item(rows, take, column)) for take in takes)
    if source == other:
        own = {}
    shared = [item for item in own if item in others]
    texts = np.array([own[item][1] for item in shared], np.int64)
    return _Paired(
        own=np.array([own[item][0] for item in shared], np.float64),
        other=np.array([others[item][0] for item in shared], np.float64),
        overlap=rows.overlap[texts],
        bin=rows.bin[texts],
    )


def _per_item(rows: Rows, take: Take, column: Floats) -> Iterator[tuple[int, tuple[float, int]]]:
    """Of every item with a score its mean over the source's texts, and one of these texts."""
    defined = take[~np.isnan(column[take])]
    numbers, first, inverse = np.unique(rows.item[defined], return_index=True, return_inverse=True)
    totals = np.bincount(inverse, weights=column[defined], minlength=len(numbers))
    means = totals / np.maximum(np.bincount(inverse, minlength=len(numbers)), 1)
    for number, place, score in zip(numbers.tolist(), first.tolist(), means.tolist()):
        yield number, (score, int(defined[place]))


def _over_items(values: Floats) -> Estimate:
    return clusters.mean(values, np.arange(len(values)), len(values))


def _plain(name: str, estimate: Estimate, level: float) -> dict[str, float]:
    """A number and its interval; no interval where the number is undefined."""
    low, high = estimate.interval(level)
    return {name: estimate.value, f"{name}_low": low, f"{name}_high": high}


def _on_the_log(
    name: str, logs: Estimate, level: float, value: float | None = None
) -> dict[str, float]:
    """A ratio and its interval, which was worked on the log; `value` may be 0, which has none."""
    low, high = logs.exp_interval(level)
    return {
        name: float(np.exp(logs.value)) if value is None else value,
        f"{name}_low": low,
        f"{name}_high": high,
    }
