"""The tables of `overlap`: the bins, the scores in them, what becomes of the scores, the items."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.compare.correlation import bonett_wright_interval
from rote.compare.intervals import around, mean_error
from rote.core.sample import Take
from rote.measure._overlap.partition import NO_BIN
from rote.measure._overlap.trends import (
    mean,
    paired_ratio_error,
    rank_test,
    ratio,
    ratio_error,
)

if TYPE_CHECKING:
    from rote.measure.overlap import Rows

Numbers: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
LEVEL = 0.95
TOO_SHORT, ALL = "too short", "all"


@dataclass(frozen=True, slots=True)
class Table:
    """What the tables are made from."""

    rows: Rows
    groups: Mapping[str, Take]
    ids: Sequence[str]

    def bin_fields(self, bin: int) -> dict[str, Any]:
        low, high = self.rows.partition.bounds(bin)
        return {"bin": bin + 1, "name": self.rows.partition.name(bin), "low": low, "high": high}


@dataclass(frozen=True, slots=True)
class _Paired:
    """The scores of a source and of another on the items that both have: means over its texts."""

    own: Numbers
    other: Numbers
    overlap: Numbers
    bin: Integers

    @property
    def excess(self) -> Numbers:
        return self.own - self.other

    def within(self, bin: int | None) -> _Paired:
        chosen = self.bin != NO_BIN if bin is None else self.bin == bin
        return _Paired(self.own[chosen], self.other[chosen], self.overlap[chosen], self.bin[chosen])


def partition_rows(table: Table) -> list[dict[str, Any]]:
    """The bins, and for every source how many of its texts are in them."""
    rows, partition = table.rows, table.rows.partition
    found = []
    for source, take in table.groups.items():
        for bin in range(len(partition)):
            texts = int((rows.bin[take] == bin).sum())
            fields = table.bin_fields(bin)
            found.append(
                {"source": source, **fields, "items": partition.items[bin], "texts": texts}
            )
        if partition.undefined:
            fields = {"bin": None, "name": TOO_SHORT, "low": None, "high": None}
            texts = int((rows.bin[take] == NO_BIN).sum())
            found.append({"source": source, **fields, "items": partition.undefined, "texts": texts})
    return found


def bins(table: Table) -> list[dict[str, Any]]:
    """Every score of every source in every bin, and in all of them together."""
    return [
        {
            "source": source,
            "score": name,
            **_fields(table, bin),
            **_mean_in(table, take, column, bin),
            **_normalized(table, source, column, bin),
            **_excess(table, source, column, bin),
        }
        for source, take in table.groups.items()
        for name, column in table.rows.scores.items()
        for bin in (*range(len(table.rows.partition)), None)
    ]


def trends(table: Table) -> list[dict[str, Any]]:
    """What becomes of every score of every source from T_nov to T_sim."""
    rows, last = table.rows, len(table.rows.partition) - 1
    found = []
    for source, take in table.groups.items():
        for name, column in rows.scores.items():
            novel, similar = (_in_bin(rows, take, column, bin) for bin in (0, last))
            rho, p, n = rank_test(rows.overlap[take], column[take])
            low, high = bonett_wright_interval(rho, n, LEVEL)
            row = {
                "source": source,
                "score": name,
                "texts": n,
                "nov": mean(novel) if last else math.nan,
                "sim": mean(similar) if last else math.nan,
                **_around(
                    "ratio",
                    ratio(novel, similar) if last else math.nan,
                    ratio_error(novel, similar),
                ),
                "trend": rho,
                "trend_low": low,
                "trend_high": high,
                "p": p,
            }
            found.append({**row, **_rise_over_control(table, source, column)})
    return found


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


def _fields(table: Table, bin: int | None) -> dict[str, Any]:
    if bin is None:
        return {"bin": None, "name": ALL, "low": 0.0, "high": 1.0}
    return table.bin_fields(bin)


def _in_bin(rows: Rows, take: Take, column: Numbers, bin: int | None) -> Numbers:
    """The defined scores of a bin, or of all."""
    bins = rows.bin[take]
    chosen = column[take][bins != NO_BIN if bin is None else bins == bin]
    return np.asarray(chosen[~np.isnan(chosen)], np.float64)


def _mean_in(table: Table, take: Take, column: Numbers, bin: int | None) -> dict[str, Any]:
    chosen = _in_bin(table.rows, take, column, bin)
    return {"texts": len(chosen), **_around("mean", mean(chosen), mean_error(chosen))}


def _normalized(table: Table, source: str, column: Numbers, bin: int | None) -> dict[str, Any]:
    """The score divided by that of the named source on the same items; not its own."""
    if (named := table.rows.others.get("normalize_to")) is None:
        return {}
    both = _paired(table, source, named, column).within(bin)
    number = ratio(both.other, both.own)
    return _around("normalized", number, paired_ratio_error(both.own, both.other))


def _excess(table: Table, source: str, column: Numbers, bin: int | None) -> dict[str, Any]:
    """How much the score is above that of the control on the same items."""
    if (control := table.rows.others.get("control")) is None:
        return {}
    excess = _paired(table, source, control, column).within(bin).excess
    return _around("excess", mean(excess), mean_error(excess))


def _rise_over_control(table: Table, source: str, column: Numbers) -> dict[str, Any]:
    """How much more the score rises from T_nov to T_sim than the control's, on the same items."""
    if (control := table.rows.others.get("control")) is None:
        return {}
    both = _paired(table, source, control, column)
    last = len(table.rows.partition) - 1
    novel, similar = (both.within(bin).excess for bin in (0, last))
    rise = mean(similar) - mean(novel) if last else math.nan
    rho, p, n = rank_test(both.overlap, both.excess)
    low, high = bonett_wright_interval(rho, n, LEVEL)
    return {
        **_around("rise", rise, math.hypot(mean_error(novel), mean_error(similar))),
        "excess_trend": rho,
        "excess_trend_low": low,
        "excess_trend_high": high,
        "excess_p": p,
    }


def _paired(table: Table, source: str, other: str, column: Numbers) -> _Paired:
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


def _per_item(rows: Rows, take: Take, column: Numbers) -> Iterator[tuple[int, tuple[float, int]]]:
    """Of every item with a score its mean over the source's texts, and one of these texts."""
    defined = take[~np.isnan(column[take])]
    numbers, first, inverse = np.unique(rows.item[defined], return_index=True, return_inverse=True)
    totals = np.bincount(inverse, weights=column[defined], minlength=len(numbers))
    means = totals / np.maximum(np.bincount(inverse, minlength=len(numbers)), 1)
    for number, place, score in zip(numbers.tolist(), first.tolist(), means.tolist()):
        yield number, (score, int(defined[place]))


def _around(name: str, number: float, error: float) -> dict[str, float]:
    """A number and its interval; no interval where the number is undefined."""
    low, high = around(number, error, LEVEL) if not math.isnan(number) else (math.nan, math.nan)
    return {name: number, f"{name}_low": low, f"{name}_high": high}
