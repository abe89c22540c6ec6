"""What a factor does, for the eye and for other programs: a table per value, LaTeX."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rote.core.result import Result
from rote.report._grid import rounded, rounded_like
from rote.report.tables._blocks import defined, number, p_value, plain_text, print_end
from rote.report.tables._latex import escaped, tabular
from rote.report.tables.correlate import short
from rote.report.terminal import harmless, plain_table

Rows = Sequence[Mapping[str, Any]]


def print_result(result: Result, console: Any) -> None:
    """Print sources against levels for each value, then changes and agreement over sources."""
    titles = {row["value"]: row["title"] for row in result.tables["values"]}
    for facet, column in _panels(result):
        for part in _values(result, facet, column, titles, console.width):
            console.print(part)
    for part in _over_sources(result):
        console.print(part)
    for line in _legend(result):
        console.print(line, style="dim", highlight=False, markup=False)
    print_end(result, console)


def as_text(result: Result, width: int = 120) -> str:
    return plain_text(print_result, result, width)


def as_latex(result: Result) -> str:
    """A booktabs table for each value: sources down, levels across, the change and its interval."""
    levels = [row["level"] for row in result.tables["levels"]]
    lines = []
    for facet, column in _panels(result):
        title = " ".join(filter(None, (facet, short(column))))
        body = [
            [
                escaped(source),
                *(_tex(*_estimate(cells.get(level))) for level in levels),
                _tex(*_change(trend)) if trend else "--",
            ]
            for source, cells, trend in _lines(result, facet, column)
        ]
        lines += [*tabular([*map(escaped, [title, *levels, "change"])], body), ""]
    return "\n".join([*lines, f"% {harmless(str(result.signature))}"]) + "\n"


def _values(
    result: Result, facet: str, column: str, titles: Mapping[str, str], width: int
) -> Iterator[Any]:
    """Sources down, levels across; in several parts where the levels are many."""
    levels = [row["level"] for row in result.tables["levels"]]
    lines = _lines(result, facet, column)
    heading = " ".join(filter(None, (facet, short(column))))
    title = titles.get(column, column)
    heading += f": {title}" if title not in heading else ""
    room = max(1, (width - 50 - max(len(source) for source, _, _ in lines)) // 18)
    for start in range(0, len(levels), room):
        part = levels[start : start + room]
        last = start + room >= len(levels)
        columns = {heading: "left", **dict.fromkeys(part, "right")}
        trends = [trend for _, _, trend in lines if trend] if last else []
        changes = any(defined(trend["change"]) for trend in trends)
        rhos = any(defined(trend["spearman"]) for trend in trends)
        columns |= {"change": "right"} if changes else {}
        slopes = rhos and any(defined(trend["slope"]) for trend in trends)
        columns |= {f"per {trends[0]['per']}": "right"} if slopes else {}
        columns |= {"rho": "right"} if rhos else {}
        rows = []
        for source, cells, trend in lines:
            shown = [_joined(*_estimate(cells.get(level))) for level in part]
            if changes:
                shown.append(_joined(*_change(trend)) + _mark(trend) if trend else "")
            if slopes:
                shown.append(_joined(*_slope(trend)) if trend else "")
            if rhos:
                shown.append(_rho(trend) if trend else "")
            rows.append([source, *shown])
        yield plain_table(columns, rows)


def _lines(
    result: Result, facet: str, column: str
) -> list[tuple[str, dict[str, Mapping[str, Any]], Mapping[str, Any] | None]]:
    """Each source with its cells by level and its trend; the reference comes last."""
    trends = _by(result.tables["trends"], "facet", "column", "source")
    found: dict[tuple[bool, str], dict[str, Mapping[str, Any]]] = {}
    for cell in result.tables["cells"]:
        if (cell["facet"], cell["column"]) == (facet, column):
            found.setdefault((cell["reference"], cell["source"]), {})[cell["level"]] = cell
    lines = []
    names = {row["level"] for row in result.tables["levels"]}
    for (reference, source), cells in sorted(found.items(), key=lambda item: item[0][0]):
        if reference and not set(cells) & names:
            # One value for all levels: shown under the first.
            cells = {result.tables["levels"][0]["level"]: next(iter(cells.values()))}
        trend = None if reference else trends.get((facet, column, source))
        lines.append((f"{source} (reference)" if reference else source, cells, trend))
    return lines


def _over_sources(result: Result) -> Iterator[Any]:
    facets = len({row["facet"] for row in result.tables["agreement"]}) > 1
    neighbours: dict[tuple[str, str], list[float]] = {}
    for row in result.tables["neighbours"]:
        if defined(row["spearman"]):
            neighbours.setdefault((row["facet"], row["column"]), []).append(row["spearman"])
    columns = {"facet": "left"} if facets else {}
    named = columns | {"order of the sources": "left"}
    judged = named | dict.fromkeys(("W", "p", "sources", "levels", "next levels"), "right")
    yield plain_table(
        judged,
        [
            [
                *([row["facet"]] if facets else []),
                short(row["column"]),
                number(row["w"], ".2f"),
                p_value(row["p"]),
                *(str(len(row["sources"])), str(len(row["levels"]))),
                _range(neighbours.get((row["facet"], row["column"]), [])),
            ]
            for row in result.tables["agreement"]
        ],
    )
    if not result.tables["changes"]:
        return
    first, last = (result.tables["changes"][0][name] for name in ("first", "last"))
    moved = columns | {f"{first} to {last}": "left"}
    moved |= dict.fromkeys(("mean change", "sources", "up", "down"), "right")
    moved |= dict.fromkeys(("sign test", "Wilcoxon", "corrected"), "right")
    yield plain_table(
        moved,
        [
            [
                *([row["facet"]] if facets else []),
                short(row["column"]),
                _joined(*_reach(row["mean"], row["low"], row["high"])),
                *(str(row[name]) for name in ("sources", "up", "down")),
                *(p_value(row[name]) for name in ("p_sign", "p_wilcoxon", "p_corrected")),
            ]
            for row in result.tables["changes"]
        ],
    )


def _legend(result: Result) -> Iterator[str]:
    if result.interval:
        level = f"{result.interval.level:.0%}"
        yield f"± reach of the {level} interval; ▲ ▼ the interval of the change does not hold 0"
    if any(defined(row["spearman"]) for row in result.tables["trends"]):
        yield (
            "per unit (doubling): slope of a straight line; rho: Spearman of value and level "
            "within a source, its p in brackets"
        )
    yield (
        "W: Kendall's, 1 where every level puts the sources into the same order; next levels: "
        "Spearman between neighbours, smallest to largest"
    )
    if result.tables["changes"]:
        yield "corrected: Wilcoxon's p-value by Holm over the values"


def _panels(result: Result) -> list[tuple[str, str]]:
    cells = result.tables["cells"]
    facets = dict.fromkeys(cell["facet"] for cell in cells)
    held = {(cell["facet"], cell["column"]) for cell in cells}
    columns = [row["value"] for row in result.tables["values"]]
    return [(f, c) for f in facets for c in columns if (f, c) in held]


def _by(rows: Rows, *names: str) -> dict[tuple[Any, ...], Mapping[str, Any]]:
    return {tuple(row[name] for name in names): row for row in rows}


def _estimate(cell: Mapping[str, Any] | None) -> tuple[str, str]:
    if cell is None:
        return "–", ""
    return _reach(cell["estimate"], cell["low"], cell["high"])


def _change(trend: Mapping[str, Any]) -> tuple[str, str]:
    return _reach(trend["change"], trend["change_low"], trend["change_high"])


def _slope(trend: Mapping[str, Any]) -> tuple[str, str]:
    return _reach(trend["slope"], trend["slope_low"], trend["slope_high"])


def _reach(estimate: float | None, low: float | None, high: float | None) -> tuple[str, str]:
    """A number and half the width of its interval, rounded alike."""
    if not defined(estimate):
        return "–", ""
    assert estimate is not None
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return rounded(estimate), ""
    reach = (high - low) / 2
    # A small change with a wide interval needs no more digits than the interval.
    model = max(abs(estimate), reach)
    return rounded_like(estimate, model), rounded_like(reach, model)


def _joined(number: str, reach: str) -> str:
    return f"{number} ±{reach}" if reach else number


def _mark(trend: Mapping[str, Any]) -> str:
    if defined(trend["change_low"]) and trend["change_low"] > 0:
        return "▲"
    return "▼" if defined(trend["change_high"]) and trend["change_high"] < 0 else " "


def _rho(trend: Mapping[str, Any]) -> str:
    if not defined(trend["spearman"]):
        return "–"
    return f"{trend['spearman']:.2f} ({p_value(trend['p'])})"


def _range(found: Sequence[float]) -> str:
    if not found:
        return "–"
    low, high = min(found), max(found)
    return f"{low:.2f}" if len(found) == 1 else f"{low:.2f} to {high:.2f}"


def _tex(number: str, reach: str) -> str:
    if number == "–":
        return "--"
    shown = number.replace(",", "{,}")
    return rf"${shown} \pm {reach}$" if reach else f"${shown}$"
