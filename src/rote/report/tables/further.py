"""The further tables of a measure on the terminal: the beginning of each, one screen at most.

JSON holds them whole. `tables.print_results` prints these below the values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from rote.core.result import Result
from rote.report._facets import split
from rote.report.tables import against as against_tables
from rote.report.tables import overlap as overlap_tables
from rote.report.tables import patterns as pattern_tables
from rote.report.tables import templates as template_tables
from rote.report.tables._blocks import (
    Rows,
    dim,
    distinct,
    each,
    heading,
    parts,
    plain_cell,
    room,
    shown_name,
    sources_of,
    table,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

Printer: TypeAlias = Callable[[Rows, Result, int], "Iterator[RenderableType]"]
_OWN: dict[str, dict[str, Printer]] = {
    "templates": {
        "lengths": template_tables.lengths,
        "templates": template_tables.templates,
        "distinctive": template_tables.distinctive,
        "overlap": template_tables.overlap,
        "coverage": template_tables.coverage,
        "rank_tests": template_tables.rank_tests,
        "in_corpus": template_tables.in_corpus,
        "perplexity": template_tables.perplexity,
    },
    "favoured": {"patterns": pattern_tables.patterns},
    "precision-recall": {"baseline": pattern_tables.baseline},
    "novelty": {"copied": against_tables.copied},
    "contamination": {"items": against_tables.items},
    "overlap": {
        "partition": overlap_tables.partition,
        "bins": overlap_tables.bins,
        "trends": overlap_tables.trends,
    },
    "entity-scores": {"types": overlap_tables.types},
}
"""Measure -> its tables, in the order in which they are printed."""


_NO_VALUES = ("style-memorization",)
"""Whose table of texts says what was written, not values of each text."""


def print_tables(result: Result, console: Any) -> None:
    """Print every further table of a result that there is a readable form for."""
    # What compares groups of different facets stands before what each facet has of its own.
    _print(result, {"sweep": _sweep}, console)
    for facet, part in split(result):
        own = {**_OWN.get(result.measure, {})}
        if result.measure not in _NO_VALUES:
            own["texts"] = _texts
        if facet.title and any(part.tables.get(name) for name in own):
            console.print(_title(facet.title), highlight=False)
        _print(part, own, console)


def _print(result: Result, printed: Mapping[str, Printer], console: Any) -> None:
    for name, printer in printed.items():
        rows = result.tables.get(name, ())
        if rows:
            for part in printer(rows, result, console.width):
                console.print(part, highlight=False)


def _texts(rows: Rows, result: Result, width: int) -> Iterator[RenderableType]:
    """The first texts of every source, under its name."""
    sources = sources_of(rows, result)
    names = [name for name in rows[0] if name not in ("source", "id")]
    shown = each(sources)
    yield heading(
        "Values of each text", f"the first {shown} of a source; JSON and CSV hold all {len(rows):,}"
    )
    yield table(
        {"": "left", "id": "left", **dict.fromkeys(names, "right")},
        [
            [
                shown_name(source) if not place else "",
                shown_name(str(row["id"])),
                *(plain_cell(row[name]) for name in names),
            ]
            for source in sources
            for place, row in enumerate([r for r in rows if r["source"] == source][:shown])
        ],
    )


def _title(facet: str) -> RenderableType:
    from rich.text import Text

    return Text(f"\n{shown_name(facet)}", style="bold")


def _sweep(rows: Rows, result: Result, width: int) -> Iterator[RenderableType]:
    """One line per source, one column per value; in several parts where the width asks for it."""
    sources = distinct(rows, "source")
    cells = {(row["source"], row["value"]): row for row in rows}
    titles = {row["value"]: row["title"] for row in result.tables.get("values", ())}
    named = [shown_name(source) for source in sources]
    columns: dict[str, list[str]] = {}
    for value in distinct(rows, "value"):
        found = [cells.get((source, value)) for source in sources]
        columns[value] = [_spread(row) if row else "–" for row in found]
    yield heading(f"Over {rows[0]['over']}", "mean ± standard deviation (largest - smallest)")
    for part in parts(columns, room(named, width)):
        yield table(
            {"": "left", **dict.fromkeys(part, "right")},
            [
                [name, *(columns[value][number] for value in part)]
                for number, name in enumerate(named)
            ],
        )
    explained = [f"{name}: {titles[name]}" for name in columns if titles.get(name, name) != name]
    if explained:
        yield dim("; ".join(explained))


def _spread(row: Mapping[str, Any]) -> str:
    """As many decimals as the spread needs to be seen, four at most."""
    sd = row["sd"]
    decimals = min(4, max(0, 1 - math.floor(math.log10(sd)))) if sd else 3
    return f"{row['mean']:,.{decimals}f} ±{sd:.{decimals}f} ({row['range']:.{decimals}f})"
