"""From answers, one record each, to values of groups and tests between models; and how they are
shown: a line for each group, under its model."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from rote.compare.clusters import exp, mean_of, numbered, share_interval
from rote.compare.exact_tests import mcnemar
from rote.compare.permutation import holm
from rote.core.chart import Chart
from rote.core.facets import JOINT
from rote.core.progress import several
from rote.core.result import Result, Row, SourceResult
from rote.core.table import VALUES, Column, Rows, Table, source_rows, value_ends
from rote.corpus.items import Item
from rote.studies._evaluate.answers import SOURCE
from rote.studies._items import grouped

TITLES = {
    "accuracy": "accuracy",
    "accuracy_norm": "accuracy by characters",
    "perplexity": "perplexity of the last word",
    "loglikelihood": "log-likelihood of the right option",
    "chance": "accuracy of chance",
    "majority": "accuracy of the most frequent place",
    "unanswered": "items without an answer",
}
HIGHER = {"accuracy": "up", "accuracy_norm": "up", "perplexity": "down", "loglikelihood": "up"}
_ALWAYS = "majority: the right option always stands at the same place, which says nothing"
_MIXED = "chance, majority: last words are among the items, and cannot be had by lot"
_ENOUGH = 20
"""Last words of which a model should have one right."""


def grouped_rows(rows: Sequence[Row], by: Sequence[str]) -> dict[str, list[Row]]:
    """The rows of each group, named by its fields."""
    groups = grouped([row[field] for field in by] for row in rows)
    return {name: [rows[place] for place in own.tolist()] for name, own in groups.items()}


def source(rows: Sequence[Row], level: float) -> SourceResult:
    """The values of one group."""
    values: dict[str, float] = {}
    intervals: dict[str, tuple[float, float]] = {}
    notes: list[str] = []
    bases = numbered([_base(row) for row in rows])
    for name, field in (("accuracy", "acc"), ("accuracy_norm", "acc_norm")):
        told = [row[field] for row in rows if row.get(field) is not None]
        if told or field == "acc":
            values[name] = sum(told) / len(told) if told else math.nan
        if told and level:
            asked = np.array([row.get(field) for row in rows], np.float64)
            intervals[name] = share_interval(asked, bases, level)
    if math.isnan(values["accuracy"]):
        notes.append("accuracy: no item has both an answer and a right option")
    scored = np.array([_scored(row) for row in rows], bool)
    right = np.array([row["loglikelihoods"][row["answer"]] for row in rows if _scored(row)])
    single = scored & np.array([len(row["options"]) == 1 for row in rows], bool)
    last = np.array([row["loglikelihoods"][0] for row, one in zip(rows, single) if one])
    if len(last):
        values["perplexity"], reach = perplexity(last, bases[single], level)
        if level:
            intervals["perplexity"] = reach
    values["loglikelihood"] = float(right.mean()) if len(right) else math.nan
    if level and len(right) > 1:
        intervals["loglikelihood"] = mean_of(right, bases[scored]).interval(level)
    _baselines(rows, values, notes)
    values["unanswered"] = float(sum("unanswered" in row for row in rows))
    tokens = sum(sum(row.get("tokens", ())) for row in rows)
    return SourceResult(len(rows), tokens, values, intervals, tuple(notes))


def _base(row: Row) -> str:
    """What the item of an answer was made from; its fields are in the row."""
    return Item(row["id"], row["task"], "", (), None, meta=row).base


def perplexity(
    loglikelihoods: np.ndarray, bases: np.ndarray, level: float
) -> tuple[float, tuple[float, float]]:
    """exp(- mean log-likelihood) of whole words, with the interval of the mean carried over."""
    surprise = mean_of(-loglikelihoods, bases)
    return exp(surprise.value), surprise.exp_interval(level)


def _scored(row: Row) -> bool:
    return row["answer"] is not None and "unanswered" not in row


def _baselines(rows: Sequence[Row], values: dict[str, float], notes: list[str]) -> None:
    """What those who do not read the question get: by lot, and by the most frequent place."""
    known = [row for row in rows if len(row["options"]) > 1 and row["answer"] is not None]
    if not known:
        return
    if any(len(row["options"]) == 1 for row in rows):
        values["chance"] = values["majority"] = math.nan
        notes.append(_MIXED)
        return
    values["chance"] = sum(1 / len(row["options"]) for row in known) / len(known)
    places = Counter(row["answer"] for row in known)
    if len(places) > 1:
        values["majority"] = places.most_common(1)[0][1] / len(known)
    else:
        values["majority"] = math.nan
        notes.append(_ALWAYS)


def tests(rows: Sequence[Row], by: Sequence[str]) -> list[Row]:
    """McNemar between every two models on the items of a group that both answered."""
    found: list[Row] = []
    others = [field for field in by if field != SOURCE]
    models = list(dict.fromkeys(row[SOURCE] for row in rows))
    for group, own in grouped_rows(rows, others).items():
        bases = numbered([_base(row) for row in own if row[SOURCE] == models[0]])
        told = {
            name: np.array([row["acc"] for row in own if row[SOURCE] == name], np.float64)
            for name in models
        }
        for one, other in combinations(models, 2):
            both = np.isfinite(told[one]) & np.isfinite(told[other])
            test = mcnemar(told[one][both] == 1, told[other][both] == 1, bases[both])
            found.append(
                {
                    **dict(zip(others, group.split(JOINT))),
                    "one": one,
                    "other": other,
                    "items": int(both.sum()),
                    "only_one": test.lost,
                    "only_other": test.gained,
                    "p": test.p,
                }
            )
    corrected = holm([row["p"] for row in found])
    return [{**row, "p_corrected": p} for row, p in zip(found, corrected)]


def unanswered(rows: Sequence[Row]) -> list[Row]:
    """The items without an answer, and why."""
    return [
        {SOURCE: row[SOURCE], "task": row["task"], "id": row["id"], "why": row["unanswered"]}
        for row in rows
        if "unanswered" in row
    ]


def notes(rows: Sequence[Row]) -> Iterator[str]:
    reasons = Counter((row[SOURCE], row["unanswered"]) for row in rows if "unanswered" in row)
    for (name, why), count in reasons.items():
        yield f"{name}: no answer to {several(count, 'item')}, not counted ({why})"
    # A backend that does not see the likeliest token never says greedy, here or elsewhere.
    for name in dict.fromkeys(row[SOURCE] for row in rows):
        own = [row for row in rows if row[SOURCE] == name]
        last = [row for row in own if len(row["options"]) == 1 and "unanswered" not in row]
        if len(last) >= _ENOUGH and not any(any(row.get("greedy", ())) for row in own):
            yield (
                f"{name}: not one last word was the likeliest. Either it is that bad, or its "
                "backend does not tell which token is likeliest, and the accuracy means nothing"
            )


_EVERY, _LISTED = 1000, 10
_LEGEND = {
    "accuracy": "accuracy: of the items that were answered",
    "accuracy_norm": "norm.: log-likelihoods divided by the characters of their option first",
    "perplexity": "perplexity: exp(- mean log-likelihood) of the last word as a whole",
    "majority": "chance, majority: by lot, and by the place where the right option is most often",
}


def _grouped(rows: Rows, result: Result) -> Rows:
    """The fields that name a group, in columns of their own; what nobody left out is not said."""
    known = {row["group"]: row for row in result.tables.get("groups", ())}
    found = []
    for row in rows:
        group, parts = row["source"], row["source"].split(JOINT)
        # A result of an earlier version has nothing but the name of the group.
        if len(parts) != len(result.by):
            parts = [group]
        fields = (
            {n: known[group][n] for n in result.by}
            if group in known
            else dict(zip(result.by, parts))
        )
        found.append({**row, **fields, "unanswered": row.get("unanswered") or None})
    return found


def _columns(rows: Rows, result: Result) -> list[Column]:
    return [
        *(Column(name) for name in sorted(result.by, key=lambda name: name != SOURCE)),
        Column("texts", "items", "count"),
        Column("accuracy", kind="share", ends=value_ends("accuracy"), optional=True),
        Column("accuracy_norm", "norm.", "share", optional=True),
        Column("perplexity", kind="number", optional=True),
        Column("chance", kind="share", optional=True),
        Column("majority", kind="share", optional=True),
        Column("unanswered", kind="count", optional=True),
    ]


def _said(rows: Rows, result: Result) -> str:
    return "; ".join(said for name, said in _LEGEND.items() if any(name in row for row in rows))


def _test_columns(rows: Rows, result: Result) -> list[Column]:
    return [
        *(Column(name) for name in result.by if name in rows[0]),
        *(Column("one"), Column("other")),
        *(Column("only_one", kind="count"), Column("only_other", kind="count")),
        *(Column("p", kind="p"), Column("p_corrected", "p (Holm)", "p")),
    ]


LAYOUT = (
    Table(VALUES, "Answers", _columns, said=_said, rows=_grouped, by=SOURCE, limit=_EVERY),
    Table(
        "tests",
        "McNemar, exact: items that only one of two models has right",
        _test_columns,
        limit=_EVERY,
    ),
    Table(
        "unanswered",
        "Unanswered",
        (Column("source"), Column("task"), Column("id"), Column("why")),
        said=lambda rows, result: f"{several(len(rows), 'item')}",
        limit=_LISTED,
    ),
)


def _accuracy(rows: Rows, result: Result) -> Rows:
    drawn = []
    for row in source_rows(result):
        fields = dict(zip(result.by, row["source"].split(JOINT)))
        model = fields.pop(SOURCE, "")
        drawn.append({**row, "source": model, "name": JOINT.join(fields.values()) or "all items"})
    return drawn


CHARTS = (
    Chart(
        "accuracy",
        "Accuracy",
        x="accuracy",
        y="name",
        colour="source",
        ends=value_ends("accuracy"),
        titles={"accuracy": "accuracy"},
        share=True,
        rule="chance",
        rows=_accuracy,
        says="The accuracy of each group of items, with its interval; chance is marked.",
    ),
)
