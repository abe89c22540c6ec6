"""How a result of popularity is shown: its tables and charts."""

from __future__ import annotations

from typing import Any

from rote.core.chart import Chart
from rote.core.facets import JOINT
from rote.core.result import Result
from rote.core.table import VALUES, Column, Row, Rows, Table, defined, ends, value_ends

_EVERY = 1000
_SAID = (
    "right, wrong: mean popularity (1 to 10) of the instances with the right option and with the "
    "wrong ones; difference: right - wrong, 0 where popularity does not tell them apart",
    "ahead: of the items in which one is ahead, the share in which the right one is: 50% by "
    "chance; p: of the difference, its signs turned by chance, corrected over the groups",
)
_ANSWERED = (
    "low, high: accuracy of the items up to the median of their task's difference (popularity, "
    "where there is one option) and above it"
)
_RELATIVE = (
    "relative: the mean of (right - wrong) / right, as Ruzzetti et al. have it, biased below 0; "
    "low and high are by it"
)
_PAIRS = (
    "Spearman's rho, over items, with the log-likelihood of the right answer per token; together: "
    "of how many documents hold an n-gram of the input and one of the answer; answer: of how many "
    "hold the latter; expected: of how many would hold both by chance; difference: together - "
    "expected; partial: together, freed of what single n-grams explain; pairs: of an item; seen: "
    "of them, the share that occurs together"
)


def _with_tests(rows: Rows, result: Result) -> Rows:
    """Where no option is ahead in any item, there is no difference to speak of."""
    tests = {row["group"]: row for row in result.tables.get("tests", ())}
    found = []
    for row in rows:
        test = tests.get(row["source"], {})
        told: dict[str, Any] = {"p_corrected": test.get("p_corrected")}
        if test and not test["ahead"] + test["behind"]:
            told = {"p_corrected": None, "difference": None}
        found.append({**row, **told})
    return found


def _columns(rows: Rows, result: Result) -> list[Column]:
    return [
        Column("source", ", ".join(result.by)),
        Column("texts", "items", "count"),
        Column("ips", "right", "number"),
        Column("ips_wrong", "wrong", "number", optional=True),
        Column(
            "difference", kind="number", signed=True, ends=value_ends("difference"), optional=True
        ),
        Column("ahead", kind="share", ends=value_ends("ahead"), optional=True),
        Column("p_corrected", "p", "p", optional=True),
        Column("advantage", "relative", "number", optional=True),
        Column("accuracy", kind="share", optional=True),
        Column("accuracy_low", "low", "share", optional=True),
        Column("accuracy_high", "high", "share", optional=True),
        Column(
            *("accuracy_difference", "high - low", "share"),
            signed=True,
            ends=value_ends("accuracy_difference"),
            optional=True,
        ),
    ]


def _said(rows: Rows, result: Result) -> str:
    answered = any(defined(row.get("accuracy")) for row in rows)
    relative = any(defined(row.get("advantage")) for row in rows)
    lines = [*_SAID, *([_ANSWERED] if answered else []), *([_RELATIVE] if relative else [])]
    return "; ".join(lines)


LAYOUT = (
    Table(VALUES, "Popularity", _columns, said=_said, rows=_with_tests, limit=_EVERY),
    Table(
        "groups",
        "Accuracy by popularity",
        (
            *(Column("group"), Column("popularity"), Column("items", kind="count")),
            *(Column("score", kind="number"), Column("answered", kind="count")),
            Column("correct", kind="count"),
            Column("accuracy", kind="share", ends=("low", "high")),
        ),
        limit=0,
    ),
    Table(
        "pairs",
        "Pairs of n-grams and the likelihood of the answer",
        (
            *(Column("group"), Column("items", kind="count")),
            *(Column("pairs", kind="number", decimals=1), Column("seen", kind="share")),
            *(
                Column(name, title, "number", 2, signed=True, ends=ends(name))
                for name, title in (
                    *(("together", ""), ("output", "answer"), ("expected", "")),
                    *(("difference", ""), ("partial", "")),
                )
            ),
        ),
        said=_PAIRS,
        limit=_EVERY,
    ),
)


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
        for group in result.by_source
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
        says="How the popularity of the right instances is spread.",
    ),
)
