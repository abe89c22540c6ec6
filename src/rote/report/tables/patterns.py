"""Tables that set a source beside the reference: favoured patterns, precision and recall."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rote.core.result import Result
from rote.report._grid import rounded, rounded_like
from rote.report.tables._blocks import (
    Rows,
    count,
    defined,
    distinct,
    heading,
    listed,
    p_value,
    parts,
    room,
    shown_name,
    sources_of,
    table,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

_EACH_LENGTH = 2
"""Patterns of a length and side, the strongest ones."""


def patterns(rows: Rows, result: Result, width: int) -> Iterator[RenderableType]:
    """Of every source: what only the reference has, then what the source favours."""
    reference = result.reference or "the reference"
    groups = {}
    for source in sources_of(rows, result):
        for side in distinct([row for row in rows if row["source"] == source], "favoured_by"):
            own = [row for row in rows if (row["source"], row["favoured_by"]) == (source, side)]
            theirs = side == source
            name = (
                f"{source} more than {reference}"
                if theirs
                else f"{reference}, in sentences unlike any of {source}"
            )
            groups[name] = [
                [
                    row["pattern"],
                    count(row["source_count" if theirs else "outside_count"]),
                    count(row["reference_count" if theirs else "source_count"]),
                    f"{row['z']:.1f}" if defined(row["z"]) else "–",
                    p_value(row["p_corrected"]),
                    row["examples"][0] if row["examples"] else "",
                ]
                for n in sorted({row["n"] for row in own})
                for row in [row for row in own if row["n"] == n][:_EACH_LENGTH]
            ]
    yield heading(
        "Favoured patterns",
        f"the {_EACH_LENGTH} strongest of each length, and their commonest text; p by permuting "
        "texts, over all patterns",
    )
    columns = {"pattern": "left", "count": "right", "of the other": "right", "z": "right"}
    columns["p"] = "right"
    yield from listed(width, {**columns, "for example": "left"}, groups)


def baseline(rows: Rows, result: Result, width: int) -> Iterator[RenderableType]:
    """What halves of the texts score beside halves of the reference's: how high is high."""
    titles = {row["value"]: row["title"] for row in result.tables.get("values", ())}
    values = distinct(rows, "value")
    cells = {(row["source"], row["value"]): row for row in rows}
    columns = {}
    for source in sources_of(rows, result):
        found = [cells.get((source, value)) for value in values]
        columns[shown_name(source)] = [
            f"{rounded(row['mean'])} ±{rounded_like(row['sd'], row['mean'])}"
            if row and defined(row["mean"])
            else "–"
            for row in found
        ]
    yield heading(
        "Halves of the texts beside halves of the reference's",
        f"mean ± standard deviation of {rows[0]['draws']} draws",
    )
    named = [titles.get(value, value) for value in values]
    for part in parts(columns, room(named, width)):
        yield table(
            {"": "left", **dict.fromkeys(part, "right")},
            [
                [title, *(columns[source][place] for source in part)]
                for place, title in enumerate(named)
            ],
        )
