"""The tables of `overlap`: the bins, the scores in them, what becomes of the scores, the items."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from rote.compare import clusters
from rote.compare.clusters import ClusterEstimate
from rote.core.arrays import Flags, Floats, Integers
from rote.core.chart import Chart
from rote.core.errors import InputError, OptionError
from rote.core.metric import Work
from rote.core.result import Result
from rote.core.sample import Need, Sample, Take
from rote.core.table import Column, Pivot, Table, defined, distinct, ends, estimate
from rote.core.table import Rows as TableRows
from rote.measure._overlap_partition import (
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
from rote.measure.reference_scores import entities, rouge
from rote.measure.reference_scores.entities import TITLES as ENTITY_TITLES
from rote.measure.reference_scores.options import Options, Variant

REFERENCE, DOCUMENT = "reference", "document"
ROUGE = ("rouge_1", "rouge_2", "rouge_l")
ENTITIES = tuple(ENTITY_TITLES)
_SETS = {"rouge": ROUGE, "entities": ENTITIES, "none": ()}
_NO_NUMBERS = {"": math.nan, "true": 1.0, "false": 0.0}


def title(name: str) -> str:
    """What a score is called for the eye; a field's name stays as it is."""
    return {**rouge.TITLES, **ENTITY_TITLES}.get(name, name)


def wanted(names: Sequence[str], fields: Collection[str]) -> tuple[str, ...]:
    """The scores to take from records with these fields: those asked for, or all that can be made.

    `rouge` and `entities` stand for three each, `none` for no score at all.
    """
    if not names:
        computed = ROUGE if REFERENCE in fields else ()
        return (*computed, *(ENTITIES if {REFERENCE, DOCUMENT} <= set(fields) else ()))
    for name in (score_names := expanded(names)):
        if is_made(name) and name in fields:
            raise OptionError(
                f"the records have a field '{name}', and so is a score called that rote computes: "
                "rename the field"
            )
    return score_names


def expanded(names: Sequence[str]) -> tuple[str, ...]:
    """Every score by its own name, once."""
    return tuple(dict.fromkeys(chain.from_iterable(_SETS.get(name, (name,)) for name in names)))


def is_made(name: str) -> bool:
    """Whether a score is computed here, rather than read from a field of that name."""
    return name in rouge.TITLES or name in ENTITY_TITLES


def needs(names: Sequence[str], variant: Variant) -> tuple[Need, ...]:
    """What the scores are made from; a field with numbers is read as text."""
    layers: list[Need] = []
    if any(name in rouge.TITLES for name in names):
        layers += rouge.needs(Options())
    if any(name in ENTITY_TITLES for name in names):
        layers += entities.needs(Options(variant=variant))
    layers += [Need("text", field=name, empty=True) for name in names if not is_made(name)]
    return tuple(layers)


def scores(sample: Sample, names: Sequence[str], variant: Variant, work: Work) -> dict[str, Floats]:
    """One number per text for every score; nan where it is undefined."""
    by_name: dict[str, Floats] = {}
    if any(name in rouge.TITLES for name in names):
        by_name |= rouge.rows(sample, Options(), work).scores
    if any(name in ENTITY_TITLES for name in names):
        by_name |= entities.rows(sample, Options(variant=variant), work).scores
    return {n: by_name[n] if is_made(n) else _numbers(sample, n, work.ids) for n in names}


def _numbers(sample: Sample, field: str, ids: Sequence[str]) -> Floats:
    """A field with numbers; true and false are 1 and 0, nothing and null are nan."""
    raw = sample.text(field)
    numbers = np.empty(len(raw))
    for text in range(len(raw)):
        stripped = raw.text(text).decode().strip()
        try:
            numbers[text] = _NO_NUMBERS.get(stripped.lower(), stripped)
        except ValueError:
            problem = f"the score of '{ids[text]}' is not a number: {stripped!r}"
            raise InputError(problem, field=field) from None
    return numbers


TOO_SHORT, ALL = "too short", "all"
_UNDEFINED = ClusterEstimate(math.nan, np.zeros(0), 0)


@dataclass(frozen=True, slots=True)
class Rows:
    """Of every text: its item, how many n-grams are held of how many, its bin and its scores.

    `others` are the groups that --control and --normalize-to name.
    """

    item: Integers
    base: Integers
    """Texts with the same number belong together: they have one doc_id, or are one item."""
    matched: Integers
    every: Integers
    overlap: Floats
    bin: Integers
    partition: Partition
    scores: Mapping[str, Floats]
    others: Mapping[str, str]
    trained: bool
    placebo: Placebo | None


@dataclass(frozen=True, slots=True)
class TableInput:
    """What the tables are made from; without a level they hold no intervals."""

    rows: Rows
    groups: Mapping[str, Take]
    ids: Sequence[str]
    level: float

    def bin_fields(self, bin: int | None) -> dict[str, Any]:
        if bin is None:
            return {"bin": None, "name": ALL, "low": 0.0, "high": 1.0}
        low, high = self.rows.partition.bounds(bin)
        return {"bin": bin + 1, "name": self.rows.partition.name(bin), "low": low, "high": high}


@dataclass(frozen=True, slots=True)
class _Paired:
    """The scores of a source and of another on the items that both have: means over its texts."""

    ours: Floats
    theirs: Floats
    overlap: Floats
    bin: Integers

    @property
    def excess(self) -> Floats:
        return self.ours - self.theirs

    def within(self, bin: int | None) -> _Paired:
        is_in = _is_in(self.bin, bin)
        return _Paired(self.ours[is_in], self.theirs[is_in], self.overlap[is_in], self.bin[is_in])


def partition_rows(table: TableInput) -> list[dict[str, Any]]:
    """The bins, and for every source how many of its texts are in them."""
    rows, partition = table.rows, table.rows.partition
    table_rows = []
    kinds = [(n, table.bin_fields(n), items) for n, items in enumerate(partition.items)]
    if partition.undefined:
        fields = {"bin": None, "name": TOO_SHORT, "low": None, "high": None}
        kinds.append((NO_BIN, fields, partition.undefined))
    for source, take in table.groups.items():
        for bin, fields, items in kinds:
            texts = int((rows.bin[take] == bin).sum())
            table_rows.append({"source": source, **fields, "items": items, "texts": texts})
    return table_rows


def bins(table: TableInput) -> list[dict[str, Any]]:
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


def trends(table: TableInput) -> list[dict[str, Any]]:
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


def trend_row(table: TableInput, take: Take, column: Floats, *, share: bool) -> dict[str, Any]:
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
    overlap, scores = rows.overlap[take], column[take]
    rho, p, interval, count = clustered_rank_test(overlap, scores, items, table.level)
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
        **estimate("trend", rho, interval),
        "p": p,
        **_over_placebo(table, take, column),
    }


def _over_placebo(table: TableInput, take: Take, column: Floats) -> dict[str, Any]:
    """By the training set and by the placebo, at the same size, and what the first has above it."""
    beside = table.rows.placebo
    if beside is None:
        return {}
    chosen = (column, table.rows.base, take)
    excess, trend = (beside.excess(kind, *chosen) for kind in ("log_ratio", "trend"))
    ratios = {side: beside.log_ratio(side, *chosen).value for side in beside.draws}
    return {
        **{f"{side}_ratio": float(np.exp(value)) for side, value in ratios.items()},
        **_on_the_log("over_placebo", excess, table.level),
        **{f"{side}_trend": beside.trend(side, *chosen).value for side in beside.draws},
        **estimate("trend_over_placebo", trend.value, trend.interval(table.level)),
    }


def items(table: TableInput) -> list[dict[str, Any]]:
    rows = table.rows
    return [
        {
            "source": source,
            "id": table.ids[text],
            "item": int(rows.item[text]) + 1,
            "found": int(rows.matched[text]),
            "ngrams": int(rows.every[text]),
            "overlap": float(rows.overlap[text]),
            "bin": int(rows.bin[text]) + 1 if rows.bin[text] != NO_BIN else None,
            **{name: float(column[text]) for name, column in rows.scores.items()},
        }
        for source, take in table.groups.items()
        for text in take.tolist()
    ]


def _in_bin(rows: Rows, take: Take, column: Floats, bin: int | None) -> Floats:
    chosen = column[take][_is_in(rows.bin[take], bin)]
    return np.asarray(chosen[~np.isnan(chosen)], np.float64)


def _is_in(bins: Integers, bin: int | None) -> Flags:
    is_in: Flags = bins != NO_BIN if bin is None else bins == bin
    return is_in


def mean_interval(
    table: TableInput, take: Take, column: Floats, bin: int | None = None, *, share: bool = False
) -> tuple[float, tuple[float, float]]:
    """The mean score of a bin, or of all, and its interval: texts of one item belong together."""
    chosen = take[_is_in(table.rows.bin[take], bin)]
    estimate = clusters.clustered_mean(column[chosen], table.rows.base[chosen])
    return estimate.value, estimate.interval(table.level, share=share)


def _mean_in(
    table: TableInput, take: Take, column: Floats, bin: int | None, share: bool
) -> dict[str, Any]:
    value, interval = mean_interval(table, take, column, bin, share=share)
    texts = len(_in_bin(table.rows, take, column, bin))
    return {"texts": texts, **estimate("mean", value, interval)}


def _normalized(table: TableInput, source: str, column: Floats, bin: int | None) -> dict[str, Any]:
    """The score divided by that of the named source on the same items; not its own."""
    if (baseline := table.rows.others.get("normalize_to")) is None:
        return {}
    both = _paired(table, source, baseline, column).within(bin)
    logs = paired_log_ratio(both.ours, both.theirs)
    return _on_the_log("normalized", logs, table.level, ratio(both.theirs, both.ours))


def _excess(table: TableInput, source: str, column: Floats, bin: int | None) -> dict[str, Any]:
    """How much the score is above that of the control on the same items."""
    if (control := table.rows.others.get("control")) is None:
        return {}
    excess = _paired(table, source, control, column).within(bin).excess
    mean = clusters.mean_by_cluster(excess, np.arange(len(excess)), len(excess))
    return estimate("excess", mean.value, mean.interval(table.level))


def _rise_over_control(table: TableInput, source: str, column: Floats) -> dict[str, Any]:
    """How much more the score rises from T_nov to T_sim than the control's, on the same items."""
    if (control := table.rows.others.get("control")) is None:
        return {}
    both = _paired(table, source, control, column)
    last = len(table.rows.partition) - 1
    items, excess = np.arange(len(both.ours)), both.excess
    in_bins = [both.bin == bin for bin in (0, last)]
    novel, similar = (
        clusters.mean_by_cluster(excess[is_in], items[is_in], len(items)) for is_in in in_bins
    )
    ours, theirs = (log_ratio(c, both.bin, items, last) for c in (both.ours, both.theirs))
    rise = similar - novel if last else _UNDEFINED
    rho, p, n = rank_test(both.overlap, both.excess)
    return {
        **estimate("rise", rise.value, rise.interval(table.level)),
        **_on_the_log("rise_ratio", ours - theirs if last else _UNDEFINED, table.level),
        **estimate("excess_trend", rho, rank_interval(rho, n, table.level)),
        "excess_p": p,
    }


def _paired(table: TableInput, source: str, other: str, column: Floats) -> _Paired:
    """A source is not paired with itself: nothing could be learned from that."""
    rows = table.rows
    takes = (table.groups[source], table.groups[other])
    ours, theirs = (dict(_per_item(rows, take, column)) for take in takes)
    if source == other:
        ours = {}
    shared = [item for item in ours if item in theirs]
    texts = np.array([ours[item][1] for item in shared], np.int64)
    return _Paired(
        ours=np.array([ours[item][0] for item in shared], np.float64),
        theirs=np.array([theirs[item][0] for item in shared], np.float64),
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


def _on_the_log(
    name: str, logs: ClusterEstimate, level: float, value: float | None = None
) -> dict[str, float]:
    """A ratio and its interval, which was worked on the log; `value` may be 0, which has none."""
    value = float(np.exp(logs.value)) if value is None else value
    return estimate(name, value, logs.exp_interval(level))


# The tables and figures of `overlap`: bins from the most novel items to the most similar.

_KINDS = {
    "mean": "mean in each bin",
    "normalized": "divided by the score of the source that --normalize-to names",
    "excess": "above the control, on the same items",
}


def bin_name(row: Mapping[str, Any]) -> str:
    """A bin as the paper writes it: 0-10, 10-15, >45; in points."""
    if row["bin"] is None:
        return str(row["name"])
    low, high = f"{100 * row['low']:g}", f"{100 * row['high']:g}"
    return f">{low}" if row["high"] == 1 and row["low"] > 0 else f"{low}-{high}"


def _partition(rows: TableRows, result: Result) -> TableRows:
    """The bins, and how many items they hold: the same for all sources."""
    first = [row for row in rows if row["source"] == rows[0]["source"]]
    # A row without a bin is named already.
    names = [row["name"] if row["name"] and row["bin"] is not None else "" for row in first]
    points = [f"{bin_name(row)} {name}".rstrip() for row, name in zip(first, names)]
    return [{**row, "of": "items", "points": point} for row, point in zip(first, points)]


def _bins(rows: TableRows, result: Result) -> TableRows:
    """A row for each score, bin and kind of number that there is."""
    return [
        {"source": row["source"], "score": score, "kind": kind, "texts": row["texts"]}
        | {"points": bin_name(row), "mean": row[kind], **_ends_of(row, kind)}
        for score in distinct(rows, "score")
        for kind in _KINDS
        for row in rows
        if row["score"] == score and defined(row.get(kind))
    ]


def _ends_of(row: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return {end: row[f"{kind}_{end}"] for end in ("low", "high")}


def _scored(rows: TableRows, result: Result) -> TableRows:
    return [{**row, "title": title(row["score"])} for row in rows]


def _rising(rows: TableRows, result: Result) -> list[Column]:
    """Above the control where there is one."""
    columns = [
        Column("source"),
        Column("title", "score"),
        Column("ratio", "ratio", "number", 2, ends=ends("ratio"), note="similar / novel"),
        Column("trend", "correlation", "number", 2, ends=ends("trend"), note="with closeness"),
        Column("p", kind="p"),
    ]
    if "rise" in rows[0]:
        columns += [
            Column("rise", "rise above control", "number", 3, ends=ends("rise")),
            Column("excess_trend", "its correlation", "number", 2, ends=ends("excess_trend")),
            Column("excess_p", "p", "p"),
        ]
    return columns


LAYOUT = (
    Table(
        "partition",
        "Bins",
        (Column("of", " "),),
        note="percent of an item's n-grams that occur in the training set",
        rows=_partition,
        pivot=Pivot("points", Column("items", kind="count")),
    ),
    Table(
        "bins",
        lambda rows, result: f"{title(rows[0]['score'])} by closeness to the training set",
        (Column("source"),),
        note=lambda rows, result: f"{_KINDS[rows[0]['kind']]}; bins in percent of n-grams",
        rows=_bins,
        split=("score", "kind"),
        by="source",
        pivot=Pivot("points", Column("mean", kind="number", ends=("low", "high"))),
    ),
    Table(
        "trends",
        "From T_nov to T_sim, the most novel to the most similar items",
        _rising,
        note=lambda rows, result: (
            "ratio of the means; rank correlation with the overlap, over items"
            + ("; how much more it rises than the control's" if "rise" in rows[0] else "")
        ),
        rows=_scored,
        by="source",
    ),
    Table(
        "trends",
        "Above the placebo",
        (
            Column("source"),
            Column("title", "score"),
            Column("train_ratio", "ratio, train", "number", 2),
            Column("placebo_ratio", "placebo", "number", 2),
            Column("over_placebo", "train / placebo", "number", 2, ends=ends("over_placebo")),
            Column("train_trend", "correlation, train", "number", 2),
            Column("placebo_trend", "placebo", "number", 2),
            Column(
                "trend_over_placebo", "difference", "number", 2, ends=ends("trend_over_placebo")
            ),
        ),
        note="by the training set and by the placebo at equal size: ratio of the ratios, "
        "difference of the correlations",
        rows=lambda rows, result: [row for row in _scored(rows, result) if "over_placebo" in row],
        by="source",
    ),
)


def _scores(kind: str, score: str, setting: str) -> Callable[[TableRows, Result], TableRows]:
    """Rows with the numbers of one kind, under the title of their score."""

    def rows(rows: TableRows, result: Result) -> TableRows:
        other_name = dict(result.signature.settings).get(setting, "")
        return [
            {"source": row["source"], "bin": bin_name(row), "score": row[kind]}
            | {**_ends_of(row, kind), "title": score.format(title(row["score"]), other_name)}
            for row in rows
            if kind in row and row["bin"] is not None
        ]

    return rows


def _chart(
    name: str, heading: str, says: str, rows: Callable[[TableRows, Result], TableRows]
) -> Chart:
    return Chart(
        name,
        heading,
        table="bins",
        shape="lines",
        x="bin",
        y="score",
        colour="source",
        panel=("title",),
        ends=("low", "high"),
        titles={"bin": "n-grams of the item in the training set, %"},
        zero=True,
        rows=rows,
        says=says,
    )


CHARTS = (
    _chart(
        "bins",
        "Scores over closeness",
        "Each score over the share of an item's n-grams that occur in the training set.",
        _scores("mean", "{}", ""),
    ),
    _chart(
        "normalized",
        "Scores over closeness, normalized",
        "Each score divided by that of the system that it is normalized to.",
        _scores("normalized", "{} / that of {}", "normalize_to"),
    ),
    _chart(
        "excess",
        "Scores above the control",
        "Each score above that of the control, which never saw the training set.",
        _scores("excess", "{} above that of {}", "control"),
    ),
)
