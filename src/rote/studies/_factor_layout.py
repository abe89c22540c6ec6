"""The tables of `factors` as they are shown: a table per value, then changes and agreement."""

from __future__ import annotations

from typing import Any

from rote.core.chart import Chart
from rote.core.result import Result
from rote.core.table import VALUES, Column, Row, Rows, Table, defined, ends
from rote.studies._correlate_layout import short

_EVERY = 1000


def _lines(rows: Rows, result: Result) -> list[dict[str, Any]]:
    """Of every facet and value each source with its estimates by level and its trend; the
    reference comes last."""
    trends = {(t["facet"], t["column"], t["source"]): t for t in result.tables["trends"]}
    levels = [row["level"] for row in result.tables["levels"]]
    found: dict[tuple[str, str, bool, str], dict[str, Row]] = {}
    for cell in rows:
        key = (cell["facet"], cell["column"], cell["reference"], cell["source"])
        found.setdefault(key, {})[cell["level"]] = cell
    values = [row["value"] for row in result.tables["values"]]
    facets = list(dict.fromkeys(cell["facet"] for cell in rows))
    lines = []
    for (facet, column, reference, source), cells in sorted(
        found.items(), key=lambda one: (facets.index(one[0][0]), values.index(one[0][1]), one[0][2])
    ):
        if reference and not set(cells) & set(levels):
            # One value for all levels: shown under the first.
            cells = {levels[0]: next(iter(cells.values()))}
        trend = {} if reference else trends.get((facet, column, source), {})
        line = {"facet": facet, "column": column, **trend, "sign": _sign(trend)}
        line["source"] = f"{source} (reference)" if reference else source
        for level, cell in cells.items():
            line |= {f"at {level}": cell["estimate"]}
            line |= {f"at {level}_{end}": cell[end] for end in ("low", "high")}
        lines.append(line)
    return lines


def _sign(trend: Row) -> str:
    """Whether the interval of the change leaves 0 out."""
    if defined(trend.get("change_low")) and trend["change_low"] > 0:
        return "▲"
    return "▼" if defined(trend.get("change_high")) and trend["change_high"] < 0 else ""


def _columns(rows: Rows, result: Result) -> list[Column]:
    per = next((row["per"] for row in rows if row.get("per")), "unit")
    # Two levels have a change and no trend.
    rising = any(defined(row.get("spearman")) for row in rows)
    slope = Column("slope", f"per {per}", "number", ends=ends("slope"), optional=True)
    rho = Column("spearman", "rho", "number", 2, also=Column("p", kind="p"), optional=True)
    return [
        Column("source"),
        *(
            Column(f"at {row['level']}", row["level"], "number", ends=ends(f"at {row['level']}"))
            for row in result.tables["levels"]
        ),
        Column("change", kind="number", ends=ends("change"), mark="sign", optional=True),
        *([slope, rho] if rising else []),
    ]


def _title(rows: Rows, result: Result) -> str:
    titles = {row["value"]: row["title"] for row in result.tables["values"]}
    column = rows[0]["column"]
    named = " ".join(filter(None, (rows[0]["facet"], short(column))))
    title = str(titles.get(column, column))
    return named + (f": {title}" if title not in named else "")


def _said(rows: Rows, result: Result) -> str:
    signs = any(row["sign"] for row in rows)
    said = ["▲ ▼ the interval of the change does not hold 0"] if signs else []
    if any(defined(row.get("spearman")) for row in rows):
        said.append(
            "per unit (doubling): slope of a straight line; rho: Spearman of value and level "
            "within a source (its p)"
        )
    return "; ".join(said)


def _agreement(rows: Rows, result: Result) -> list[Row]:
    neighbours: dict[tuple[str, str], list[float]] = {}
    for row in result.tables["neighbours"]:
        if defined(row["spearman"]):
            neighbours.setdefault((row["facet"], row["column"]), []).append(row["spearman"])
    return [
        {
            **_named(row),
            "w": row["w"],
            "p": row["p"],
            "sources": len(row["sources"]),
            "levels": len(row["levels"]),
            "next": _range(neighbours.get((row["facet"], row["column"]), [])),
        }
        for row in rows
    ]


def _named(row: Row) -> dict[str, Any]:
    return {"facet": row["facet"] or None, "column": short(row["column"])}


def _range(found: list[float]) -> str:
    if not found:
        return "–"
    low, high = min(found), max(found)
    return f"{low:.2f}" if len(found) == 1 else f"{low:.2f} to {high:.2f}"


LAYOUT = (
    Table(VALUES, "Values", limit=0, page=False),
    Table(
        "cells",
        _title,
        _columns,
        said=_said,
        rows=_lines,
        split=("facet", "column"),
        limit=_EVERY,
    ),
    Table(
        "agreement",
        "Order of the sources",
        (
            *(Column("facet", optional=True), Column("column", "value")),
            *(Column("w", "W", "number", 2), Column("p", kind="p")),
            *(Column("sources", kind="count"), Column("levels", kind="count")),
            Column("next", "next levels"),
        ),
        said="W: Kendall's, 1 where every level puts the sources into the same order; next levels: "
        "Spearman between neighbours, smallest to largest",
        rows=_agreement,
        limit=_EVERY,
    ),
    Table(
        "changes",
        lambda rows, result: f"{rows[0]['first']} to {rows[0]['last']}",
        (
            *(Column("facet", optional=True), Column("column", "value")),
            Column("mean", "mean change", "number", ends=("low", "high")),
            *(Column(name, kind="count") for name in ("sources", "up", "down")),
            *(Column("p_sign", "sign test", "p"), Column("p_wilcoxon", "Wilcoxon", "p")),
            Column("p_corrected", "corrected", "p"),
        ),
        said="corrected: Wilcoxon's p-value by Holm over the values",
        rows=lambda rows, result: [{**row, **_named(row)} for row in rows],
        limit=_EVERY,
    ),
)


def _cells(rows: Rows, result: Result) -> Rows:
    """Numbers to scale, other levels side by side; a reference of one value is a line across."""
    first = result.tables["levels"][0]
    over = dict(result.signature.settings).get("over", "")
    numeric = first["kind"] == "numeric"
    order = {row["level"]: place for place, row in enumerate(result.tables["levels"])}
    about = {row["value"]: row for row in result.tables["values"]}
    agreement = {(row["facet"], row["column"]): row for row in result.tables["agreement"]}
    groups: dict[tuple[str, str], list[Row]] = {}
    for facet in dict.fromkeys(row["facet"] for row in rows):
        for column in about:
            own = [row for row in rows if (row["facet"], row["column"]) == (facet, column)]
            groups[facet, column] = sorted(own, key=lambda row: order.get(row["level"], -1))
    drawn = []
    for (facet, column), own in groups.items():
        held = [row for row in own if row["reference"]]
        level = len(held) == 1 or any(not defined(row["number"]) for row in held)
        said = _below_title(about[column], agreement.get((facet, column)), held)
        for row in [*held[: 1 if level else None], *(row for row in own if not row["reference"])]:
            across = row["number"] if numeric else row["level"]
            drawn.append(
                {
                    "source": row["source"] or "",
                    "level": None if row["reference"] and level else across,
                    **{name: row[name] for name in ("estimate", "low", "high")},
                    "title": " ".join(filter(None, (facet, short(column)))),
                    "said": said,
                    "over": f"{over} ({first['unit']})" if first["unit"] else over,
                    "scale": first["scale"] or "",
                }
            )
    return drawn


def _below_title(about: Row, judged: Row | None, held: Rows) -> str:
    lines = [] if about["higher"] == "neither" else [f"higher: more {about['higher']}"]
    more = [f"W = {judged['w']:.2f}"] if judged and defined(judged["w"]) else []
    more += [f"dashed: {held[0]['source']}"] if held else []
    return "\n".join([*lines, ", ".join(more)])


CHARTS = (
    Chart(
        "factors",
        "Values over the levels of a factor",
        table="cells",
        shape="lines",
        x="level",
        y="estimate",
        colour="source",
        panel=("title", "said"),
        ends=("low", "high"),
        titles={"level": "over"},
        scales={"level": "scale"},
        rows=_cells,
        whole=True,
        says="Each value over the levels, one line for each source, with intervals; the reference "
        "is dashed.",
    ),
)
