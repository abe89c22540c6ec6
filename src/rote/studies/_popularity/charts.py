"""Figures of popularity; `halves` is figure 1 of Ruzzetti et al. (2026)."""

from __future__ import annotations

from rote.core.chart import Chart
from rote.core.facets import JOINT
from rote.core.result import Result
from rote.core.table import Row, Rows


def _facets(rows: Rows, result: Result) -> Rows:
    """Rows under what the first of several fields says (formal, functional)."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        first, joint, rest = row["group"].partition(JOINT)
        facet, name = (first, rest) if joint else ("", row["group"])
        found.setdefault(facet, []).append({**row, "facet": facet, "name": name})
    return [row for own in found.values() for row in own]


def _spread(rows: Rows, result: Result) -> Rows:
    """The popularity of the right instances."""
    return [
        {"group": group, "ips": row["ips"][row["answer"]]}
        for group in result.sources
        for row in rows
        if row["group"] == group and row["answer"] is not None
    ]


CHARTS = (
    Chart(
        "halves",
        "Accuracy of the less and the more popular half",
        table="groups",
        shape="bars",
        x="name",
        y="accuracy",
        colour="popularity",
        colours={"low": "pale", "high": "plain"},
        panel=("facet",),
        ends=("low", "high"),
        titles={"accuracy": "accuracy", "popularity": "popularity"},
        share=True,
        rows=_facets,
        whole=True,
        says="Accuracy of the items up to the median popularity of their task, and above it.",
    ),
    Chart(
        "deciles",
        "Accuracy over popularity",
        table="accuracy",
        shape="lines",
        x="decile",
        y="accuracy",
        colour="name",
        panel=("facet",),
        ends=("low", "high"),
        titles={"decile": "decile of popularity", "accuracy": "accuracy"},
        scales={"decile": "ordinal"},
        share=True,
        rows=_facets,
        whole=True,
        says="Accuracy over the deciles of popularity.",
    ),
    Chart(
        "popularity",
        "Popularity of items",
        table="items",
        shape="boxes",
        x="ips",
        y="group",
        titles={"ips": "popularity (IPS)"},
        domain=(1, 10),
        rows=_spread,
        whole=True,
        says="How the popularity of the right instances is spread.",
    ),
)
