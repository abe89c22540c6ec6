"""The values, tests, tables and charts of a study of popularity: groups, halves, tenths, items."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.compare.clusters import mean_by_cluster, number_clusters
from rote.compare.exact_tests import sign_flip
from rote.compare.permutation import holm
from rote.core.chart import make_chart
from rote.core.facets import JOINT
from rote.core.progress import several
from rote.core.result import Result, SourceResult
from rote.core.table import (
    VALUES,
    Column,
    FullTable,
    Row,
    Rows,
    Table,
    defined,
    estimate,
    make_columns,
)
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
    count_repeated,
    defined_mean,
    describe_values,
    estimate_columns,
    group_by_item,
    group_columns,
    scored_by_task,
)
from rote.studies._popularity_scores import PARTS, Deciles, PopularityScores

TITLES = {
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
class PopularityScoring:
    """All that the tables are made from: per item its scores, its half, whether it was right."""

    items: Sequence[Item]
    instances: PopularityScores
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


def source_results(scored: PopularityScoring) -> dict[str, SourceResult]:
    return {name: _source_result(scored, items) for name, items in scored.groups.items()}


def value_rows(scored: PopularityScoring) -> list[Row]:
    paper = scored.options.variant == "paper"
    titles = {name: title for name, title in TITLES.items() if paper or name != _PAPER}
    rows = describe_values(titles, shares=_SHARES)
    return [{**row, "share": row["share"] and row["value"] != _GAP} for row in rows]


def build_tables(scored: PopularityScoring) -> dict[str, Sequence[Row]]:
    tenths = {tenth: tenth for tenth in range(1, PARTS + 1)}
    by_tenth = _accuracy_rows(scored, "decile", scored.tenth, tenths)
    return {
        "tests": _test_rows(scored),
        "groups": list(_accuracy_rows(scored, "popularity", scored.half, HALVES)),
        "accuracy": [row for row in by_tenth if row["items"]],
        "deciles": list(_decile_rows(scored)),
        "items": list(_item_rows(scored)),
    }


def notes(scored: PopularityScoring) -> Iterator[str]:
    counts, tasks = scored.instances.counts, np.array([item.task for item in scored.items])
    absent = float((counts == 0).mean()) if len(counts) else math.nan
    yield (
        f"{absent:.1%} of {len(counts):,} different {scored.options.n}-grams do not occur in the "
        "corpus; they share popularity 1"
    )
    unmarked = np.array([item.answer is None for item in scored.items])
    for reason, lost in (
        ("an instance is shorter than n", np.isnan(scored.scores) & ~unmarked),
        ("no item has a recorded right option", unmarked),
    ):
        if count := int(lost.sum()):
            yield f"{count:,} of {len(lost):,} items have no score: {reason}"
    unknown = int(np.isnan(scored.correct).sum())
    if 0 < unknown < len(scored.correct):
        yield f"no recorded answer: {several(unknown, 'item')}"
    tied = dict(_tied_tasks(scored, tasks))
    if tied:
        listed = ", ".join(f"{task} {share:.0%}" for task, share in tied.items())
        yield f"many items are on the median of their task, in the low half ({listed})"
    if twice := count_repeated(scored.items, scored.groups):
        yield (
            f"duplicates within a group (same task and id): {several(twice, 'item')}; separate the "
            "answers of several models with --by source,task"
        )


def _tied_tasks(scored: PopularityScoring, tasks: NDArray[np.str_]) -> Iterator[tuple[str, float]]:
    """Tasks of which many items stand on the median, so that the halves are uneven."""
    for task in dict.fromkeys(tasks.tolist()):
        scores = scored.scores[(tasks == task) & (scored.half != NEITHER)]
        share = float((scores == np.median(scores)).mean()) if len(scores) else 0.0
        if share > _MANY_TIED:
            yield task, share


def _source_result(scored: PopularityScoring, group_items: Labels) -> SourceResult:
    level, bases = scored.options.interval, scored.bases[group_items]
    right, wrong = scored.right[group_items], scored.wrong[group_items]
    columns = {"ips": right, "ips_wrong": wrong, "difference": right - wrong}
    if scored.options.variant == "paper":
        columns[_PAPER] = (right - wrong) / right
    # 1 where the right option is ahead, 0 where it is behind; nan where neither is.
    columns["ahead"] = np.where(right == wrong, np.nan, np.heaviside(right - wrong, 0.0))
    values, intervals = estimate_columns(columns, bases, level, shares=("ahead",))
    lacking = []
    half = scored.half[group_items]
    parts = {"": group_items, "_low": group_items[half == LOW], "_high": group_items[half == HIGH]}
    for ending, part in parts.items():
        share = _accuracy_of(scored, part)
        values[f"accuracy{ending}"] = share.value
        intervals[f"accuracy{ending}"] = share.interval(level)
    gap, *reach = accuracy_gap(scored.correct[group_items], half, bases, level)
    values[_GAP], intervals[_GAP] = gap, (reach[0], reach[1])
    if math.isnan(values["ips"]):
        lacking.append("ips: no item has a score")
    if math.isnan(values["difference"]):
        lacking.append("ips_wrong, difference, ahead: no item has a wrong option with a score")
    elif math.isnan(values["ahead"]):
        lacking.append("ahead: both options are equally popular in every item")
    if math.isnan(values["accuracy"]):
        lacking.append("accuracy: no field says which items were answered correctly (--correct)")
    elif math.isnan(gap):
        lacking.append("accuracy_difference: one of the halves is empty")
    # An item's instances follow one another.
    spans = [(scored.first[i], len(scored.items[i].options)) for i in group_items.tolist()]
    tokens = scored.instances.tokens
    return SourceResult(
        texts=len(group_items),
        words=int(sum(tokens[first : first + count].sum() for first, count in spans)),
        values={name: values[name] for name in TITLES if name in values},
        intervals={n: i for n, i in intervals.items() if level and not math.isnan(values[n])},
        notes=tuple(lacking),
    )


def _test_rows(scored: PopularityScoring) -> Sequence[Row]:
    """Is the right option more popular? The signs of the differences are turned by chance, of
    twins together; the share of items that it is ahead in likewise."""
    rows: list[dict[str, Any]] = []
    for group, group_items in scored.groups.items():
        gaps = scored.right[group_items] - scored.wrong[group_items]
        known = ~np.isnan(gaps)
        if not known.any():
            continue
        bases = np.unique(scored.bases[group_items][known], return_inverse=True)[1]
        gaps = gaps[known]
        row = {
            **group_columns(scored.options.by, group),
            "items": len(gaps),
            "independent": int(bases.max()) + 1,
            "ahead": int((gaps > 0).sum()),
            "behind": int((gaps < 0).sum()),
            "tied": int((gaps == 0).sum()),
            "difference": defined_mean(gaps),
            "p": sign_flip(np.bincount(bases, gaps).tolist()),
            "p_ahead": sign_flip(np.bincount(bases, np.sign(gaps)).tolist()),
        }
        rows.append(row)
    for name in ("p", "p_ahead"):
        for row, corrected in zip(rows, holm([row[name] for row in rows])):
            row[f"{name}_corrected"] = corrected
    return rows


def _accuracy_of(scored: PopularityScoring, group_items: Labels) -> Share:
    return Share.of(scored.correct[group_items], scored.bases[group_items])


def _accuracy_columns(scored: PopularityScoring, group_items: Labels) -> dict[str, Any]:
    """How many of these items there are, their score, and how they were answered."""
    share, level = _accuracy_of(scored, group_items), scored.options.interval
    reach = share.interval(level) if level else (math.nan, math.nan)
    return {
        "items": len(group_items),
        "score": defined_mean(scored.scores[group_items]),
        "answered": share.items,
        "correct": share.correct,
        **estimate("accuracy", share.value, reach, ("low", "high")),
    }


def _accuracy_rows(
    scored: PopularityScoring, name: str, labels: Labels, titles: Mapping[int, Any]
) -> Iterator[Row]:
    """Of each group a row for the items with each label."""
    for group, group_items in scored.groups.items():
        for label, title in titles.items():
            part = group_items[labels[group_items] == label]
            begin = {**group_columns(scored.options.by, group), name: title}
            yield begin | _accuracy_columns(scored, part)


def _decile_rows(scored: PopularityScoring) -> Iterator[Row]:
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


def _item_rows(scored: PopularityScoring) -> Iterator[Mapping[str, Any]]:
    ips, different = scored.instances.ips.tolist(), scored.instances.different.tolist()
    group_of = group_by_item(scored.groups)
    for number, item in enumerate(scored.items):
        first = int(scored.first[number])
        last = first + len(item.options)
        yield {
            "id": item.id,
            "task": item.task,
            "group": group_of[number],
            "ips": ips[first:last],
            "different": different[first:last],
            "answer": item.answer,
            "difference": float(scored.right[number] - scored.wrong[number]),
            "score": float(scored.scores[number]),
            "popularity": HALVES.get(int(scored.half[number])),
            "decile": int(scored.tenth[number]) or None,
            "correct": None if np.isnan(scored.correct[number]) else bool(scored.correct[number]),
        }


def split_tenths(scores: Floats, tasks: Labels) -> Labels:
    """The decile of each score in its task, 1 to 10, by the rule of counts; 0 without a score."""
    labels = np.zeros(len(scores), np.int64)
    for task_items in scored_by_task(scores, tasks):
        labels[task_items] = Deciles.of(scores[task_items])(scores[task_items])
    return labels


def accuracy_gap(
    correct: Floats, half: Labels, bases: Labels, level: float
) -> tuple[float, float, float]:
    """How much larger the share of right answers is in the high half, and Newcombe's interval.

    Newcombe (1998), method 10: made of the Wilson intervals of the two shares, so it stays within
    -1 and 1 and needs no drawing. Twins often occur in different halves: the interval is as many
    times as wide as they make the error of the difference larger.
    """
    singles = np.arange(len(correct))
    high, low = (Share.of(correct[half == part], singles[half == part]) for part in (HIGH, LOW))
    gap = high.value - low.value
    if math.isnan(gap) or not level:
        return gap, math.nan, math.nan
    (a, b), (c, d) = high.interval(level), low.interval(level)
    stretch = _twin_stretch(correct, half, bases)
    below = stretch * math.hypot(high.value - a, d - low.value)
    above = stretch * math.hypot(b - high.value, low.value - c)
    return gap, max(-1.0, gap - below), min(1.0, gap + above)


def _twin_stretch(correct: Floats, half: Labels, bases: Labels) -> float:
    """How many times as large the error of the difference is as if all items were independent."""
    count, errors = len(correct), []
    for clusters in (np.arange(count), number_clusters(bases)):
        parts = [
            mean_by_cluster(correct[half == p], clusters[half == p], count) for p in (HIGH, LOW)
        ]
        errors.append((parts[0] - parts[1]).error)
    alone, together = errors
    return max(1.0, together / alone) if alone > 0 and together > 0 else 1.0


_VALUE_NOTES = (
    "right, wrong: mean popularity (1 to 10) of the instances with the right option and with the "
    "wrong ones; difference: right - wrong, 0 where popularity does not tell them apart",
    "ahead: of the items in which one is ahead, the share in which the right one is: 50% by "
    "chance; p: of the difference, its signs turned by chance, corrected over the groups",
)
_ACCURACY_NOTE = (
    "low, high: accuracy of the items up to the median of their task's difference (popularity, "
    "where there is one option) and above it"
)
_RELATIVE_NOTE = (
    "relative: the mean of (right - wrong) / right, as Ruzzetti et al. have it, biased below 0; "
    "low and high are by it"
)
_PAIRS_NOTE = (
    "Spearman's rho, over items, with the log-likelihood of the right answer per token; together: "
    "of how many documents hold an n-gram of the input and one of the answer; answer: of how many "
    "hold the latter; expected: of how many would hold both by chance; difference: together - "
    "expected; partial: together, freed of what single n-grams explain; pairs: of an item; seen: "
    "of them, the share that occurs together"
)


def _add_tests(rows: Rows, result: Result) -> Rows:
    """Where no option is ahead in any item, there is no difference to speak of."""
    tests = {row["group"]: row for row in result.tables.get("tests", ())}
    lines = []
    for row in rows:
        test = tests.get(row["source"], {})
        cells: dict[str, Any] = {"p_corrected": test.get("p_corrected")}
        if test and not test["ahead"] + test["behind"]:
            cells = {"p_corrected": None, "difference": None}
        lines.append({**row, **cells})
    return lines


def _value_columns(rows: Rows, result: Result) -> list[Column]:
    return [
        Column("source", ", ".join(result.by)),
        *make_columns(
            "texts=items:count ips=right:number ips_wrong?=wrong:number difference?:number+~value "
            "ahead?:share~value p_corrected?=p:p advantage?=relative:number accuracy?:share "
            "accuracy_low?=low:share accuracy_high?=high:share "
            "accuracy_difference?=high_-_low:share+~value"
        ),
    ]


def _explain_values(rows: Rows, result: Result) -> str:
    answered = any(defined(row.get("accuracy")) for row in rows)
    relative = any(defined(row.get("advantage")) for row in rows)
    more = [_ACCURACY_NOTE] * answered + [_RELATIVE_NOTE] * relative
    return "; ".join([*_VALUE_NOTES, *more])


LAYOUT = (
    FullTable(VALUES, "Popularity", _value_columns, note=_explain_values, rows=_add_tests),
    Table(
        "groups",
        "Accuracy by popularity",
        make_columns(
            "group popularity items:count score:number answered:count correct:count "
            "accuracy:share~low"
        ),
        limit=0,
    ),
    FullTable(
        "pairs",
        "Pairs of n-grams and the likelihood of the answer",
        make_columns(
            "group items:count pairs:number.1 seen:share together:number.2+~ "
            "output=answer:number.2+~ expected:number.2+~ difference:number.2+~ partial:number.2+~"
        ),
        note=_PAIRS_NOTE,
    ),
)


def _split_facets(rows: Rows, result: Result) -> Rows:
    """Rows under what the first of several fields says (formal, functional)."""
    by_facet: dict[str, list[Row]] = {}
    for row in rows:
        first, joint, rest = row["group"].partition(JOINT)
        facet, name = (first, rest) if joint else ("", row["group"])
        by_facet.setdefault(facet, []).append({**row, "facet": facet, "name": name})
    return [row for facet_rows in by_facet.values() for row in facet_rows]


def _chart_scores(rows: Rows, result: Result) -> Rows:
    return [
        {"group": group, "ips": row["ips"][row["answer"]]}
        for group in result.by_source
        for row in rows
        if row["group"] == group and row["answer"] is not None
    ]


CHARTS = (
    make_chart(
        "halves",
        "Accuracy of the less and the more popular half",
        "groups bars x=name y=accuracy colour=popularity panel=facet ends=low,high",
        colours={"low": "pale", "high": "plain"},
        titles={"accuracy": "accuracy", "popularity": "popularity"},
        share=True,
        rows=_split_facets,
        says="Accuracy of the items up to the median popularity of their task, and above it.",
    ),
    make_chart(
        "deciles",
        "Accuracy over popularity",
        "accuracy lines x=decile y=accuracy colour=name panel=facet ends=low,high",
        titles={"decile": "decile of popularity", "accuracy": "accuracy"},
        scales={"decile": "ordinal"},
        share=True,
        rows=_split_facets,
        says="Accuracy over the deciles of popularity.",
    ),
    make_chart(
        "popularity",
        "Popularity of items",
        "items boxes x=ips y=group",
        titles={"ips": "popularity (IPS)"},
        domain=(1, 10),
        rows=_chart_scores,
        says="How the popularity of the right instances is spread.",
    ),
)
