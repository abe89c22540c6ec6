"""The tables of `evaluate` as they are shown: a line for each group, under its model."""

from __future__ import annotations

from typing import Any

from rote.core.facets import JOINT
from rote.core.result import Result
from rote.core.table import VALUES, Column, Rows, Table, value_ends

_EVERY, _LISTED, _SOURCE = 1000, 10, "source"
_LEGEND = {
    "accuracy": "accuracy: of the items that were answered",
    "accuracy_norm": "norm.: log-likelihoods divided by the characters of their option first",
    "perplexity": "perplexity: exp(- mean log-likelihood) of the last word as a whole",
    "majority": "chance, majority: by lot, and by the place where the right option is most often",
}


def _grouped(rows: Rows, result: Result) -> Rows:
    """The fields that name a group, in columns of their own; what nobody left out is not said."""
    fields = {row["group"]: row for row in result.tables.get("groups", ())}
    return [
        {
            **row,
            **_fields(row["source"], fields, result),
            "unanswered": row.get("unanswered") or None,
        }
        for row in rows
    ]


def _fields(group: str, known: dict[str, Any], result: Result) -> dict[str, Any]:
    """A result of an earlier version has nothing but the name of the group."""
    parts = group.split(JOINT)
    if group in known:
        return {name: known[group][name] for name in result.by}
    return dict(zip(result.by, parts)) if len(parts) == len(result.by) else {result.by[0]: group}


def _columns(rows: Rows, result: Result) -> list[Column]:
    return [
        *(Column(name) for name in sorted(result.by, key=lambda name: name != _SOURCE)),
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


def _tests(rows: Rows, result: Result) -> list[Column]:
    return [
        *(Column(name) for name in result.by if name in rows[0]),
        *(Column("one"), Column("other")),
        *(Column("only_one", kind="count"), Column("only_other", kind="count")),
        *(Column("p", kind="p"), Column("p_corrected", "p (Holm)", "p")),
    ]


LAYOUT = (
    Table(VALUES, "Answers", _columns, said=_said, rows=_grouped, by=_SOURCE, limit=_EVERY),
    Table(
        "tests",
        "McNemar, exact: items that only one of two models has right",
        _tests,
        limit=_EVERY,
    ),
    Table(
        "unanswered",
        "Unanswered",
        (Column("source"), Column("task"), Column("id"), Column("why")),
        said=lambda rows, result: f"{len(rows):,} items",
        limit=_LISTED,
    ),
)
