"""Results on a screen: values by sources, then the further tables. Every facet has its own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from rote.core.result import Result
from rote.core.table import Column
from rote.report._grid import (
    SIGNIFICANT,
    UNTESTED,
    Cell,
    cells_of,
    grid,
    ordered_sources,
    rounded,
    rounded_like,
    split,
    split_panel,
)
from rote.report.notes import gathered
from rote.report.tables.screen import Line, grid_lines, heading, plain_text, print_sheet
from rote.report.tables.sheet import sheets
from rote.report.tables.values import SWEEP, layout, values_layout
from rote.report.terminal import harmless

_MANY = 4
_NAMED = 12
_SHOWN = 60
"""Sources that are printed: nobody reads thousands of lines, and files have them all."""


def print_results(results: Sequence[Result], console: Any) -> None:
    """Print one or several results to a rich console: values, notes, further tables."""
    laid = {result.measure: table for result in results if (table := values_layout(result))}
    for result in results:
        for sheet in sheets(laid[result.measure], result) if result.measure in laid else ():
            if sheet.terminal:
                print_sheet(sheet, console)
    _print_values([one for one in results if one.sources and one.measure not in laid], console)
    # Where no values are shown, what the signs mean comes below the tables.
    later = bool(results) and all(table.limit == 0 for table in laid.values()) and bool(laid)
    if not later:
        _explain(results, console)
    for result in results:
        print_tables(_shortened(result), console)
    if later:
        _explain(results, console)
    for result in results:
        console.print(harmless(str(result.signature)), style="dim", soft_wrap=True)


def _explain(results: Sequence[Result], console: Any) -> None:
    console.print()
    for line in _legend(results):
        console.print(harmless(line), style="dim")
    for line in _notes(results):
        console.print(f"note: {harmless(line)}")


def as_text(results: Sequence[Result], width: int = 120) -> str:
    """The same as plain text."""
    return plain_text(print_results, results, width)


def print_tables(result: Result, console: Any) -> None:
    """Print every further table of a result, the beginning of each: one screen at most."""
    # What compares groups of different facets stands before what each facet has of its own.
    shown = [table for table in layout(result) if table.limit]
    for table in (table for table in shown if table.name == SWEEP):
        for sheet in sheets(table, result):
            print_sheet(sheet, console)
    # Rows of a study that shows its values in its own way are not about groups of texts.
    whole = values_layout(result) is not None
    for facet, part in [(result.facets()[0], result)] if whole else split(result):
        found = [s for table in shown if table.name != SWEEP for s in sheets(table, part)]
        if facet.title and not whole and any(sheet.data for sheet in found):
            console.print(heading(facet.title), highlight=False)
        for sheet in found:
            print_sheet(sheet, console)


def _print_values(results: Sequence[Result], console: Any) -> None:
    for title, parts in split_panel(results):
        if title:
            against = (
                f"against {parts[0].reference}" if parts[0].reference else "without a reference"
            )
            console.print(heading(title, against))
        sources = ordered_sources(parts)
        shown, reference = sources[:_SHOWN], parts[0].reference
        columns = [Column("", " "), *(Column(name, name, "number") for name in shown)]
        place = shown.index(reference) + 1 if reference in shown else None
        for text in grid_lines(
            columns,
            dict(_groups(parts, shown)),
            console.width,
            keys=1 if place is None else 2,
            bold=place if place is not None else -1,
        ):
            console.print(text, highlight=False)
        if (left := len(sources) - _SHOWN) > 0:
            line = f"{left:,} more sources are not printed: --csv and --json give them all"
            console.print(line, highlight=False)


def _groups(parts: Sequence[Result], sources: Sequence[str]) -> Iterator[tuple[str, list[Line]]]:
    """Under the name of each measure its values, one below the other."""
    first = parts[0]
    # With --within, what is counted are sets of texts.
    texts = "sets" if "within" in dict(first.signature.settings) else "texts"
    yield (
        "",
        [
            Line([name, *(f"{getattr(first.sources[s], what):,} " for s in sources)], "dim")
            for name, what in ((texts, "texts"), ("words", "words"))
        ],
    )
    found: dict[str, list[Line]] = {}
    for row in (row for part in parts for row in grid(part)):
        lines = found.setdefault(row.measure, [])
        title = f"  {row.title}" + (" ~" if row.length_sensitive else "")
        lines.append(Line([title, *(_shown(row.cells.get(s)) for s in sources)]))
        if row.matched_at and any(not math.isnan(c.matched) for c in row.cells.values()):
            cells = (_shown_matched(row.cells.get(s)) for s in sources)
            lines.append(Line([f"    at {row.matched_at}", *cells], "dim"))
    yield from found.items()


def _shortened(result: Result) -> Result:
    """A result with the sources that are printed, for its further tables."""
    shown: set[str] = set()
    for facet in result.facets():
        every = sorted(facet.names, key=lambda group: group != facet.reference)
        shown.update(every[:_SHOWN])
    if len(shown) == len(result.sources):
        return result
    return replace(
        result,
        sources={name: found for name, found in result.sources.items() if name in shown},
        tables={
            table: [row for row in rows if "source" not in row or row["source"] in shown]
            for table, rows in result.tables.items()
        },
    )


def _shown(cell: Cell | None) -> str:
    if cell is None:
        return ""
    reach = rounded_like(cell.reach, cell.estimate)
    around = f" ±{reach}" if reach else ""
    if cell.ends:
        around = " [" + " to ".join(cell.ends) + "]"
    # A blank in place of the arrow keeps the digits in line.
    return rounded(cell.estimate) + around + (cell.mark or " ")


def _shown_matched(cell: Cell | None) -> str:
    if cell is None or math.isnan(cell.matched):
        return ""
    spread = rounded_like(cell.matched_sd, cell.matched)
    return rounded(cell.matched) + (f" ±{spread}" if spread else "") + (cell.matched_mark or " ")


def _legend(results: Sequence[Result]) -> list[str]:
    """What the signs mean; only of those that are there."""
    lines = []
    interval = next((r.interval for r in results if r.interval), None)
    cells = cells_of(results)
    if interval and any(not math.isnan(cell.low) for cell in cells):
        method = f": {interval.method}" if values_layout(results[0]) else ""
        lines.append(f"± half-width of the {interval.level:.0%} interval, or both ends{method}")
    shown = [result for result in results if not values_layout(result)]
    if any(result.comparisons for result in shown):
        lines.append(
            f"▲ ▼ above or below {results[0].reference}: permutation test, p < {SIGNIFICANT}, "
            "corrected over sources and values"
        )
    if any(UNTESTED in (cell.mark, cell.matched_mark) for cell in cells):
        lines.append(f"{UNTESTED} not tested: a difference could not have been found")
    if any(row["length_sensitive"] for result in shown for row in result.tables["values"]):
        lines.append(
            "~ moves with the number of texts or their length; the line below it, where there is "
            "one, compares as many windows of the same length (± standard deviation over draws)"
        )
    return lines


def _notes(results: Sequence[Result]) -> list[str]:
    """Every note once, with the measures and the sources that it is about."""
    everyone = list(dict.fromkeys(source for result in results for source in result.sources))
    about: dict[str, list[str]] = {}
    for result in results:
        for line, who in gathered(result):
            line = f"{result.measure}: {line}" if who else line
            of = line.startswith((f"{result.measure}:", f"{result.measure} "))
            rest = line.removeprefix(result.measure) if of else line
            about.setdefault(rest + _said_of(who, everyone), []).extend([result.measure] * of)
    return [", ".join(dict.fromkeys(measures)) + rest for rest, measures in about.items()]


def _said_of(who: Sequence[str], everyone: Sequence[str]) -> str:
    who = list(dict.fromkeys(who))
    if not who:
        return ""
    if len(who) == len(everyone) >= _MANY:
        return " (all)"
    more = f" and {len(who) - _NAMED:,} more" if len(who) > _NAMED else ""
    return f" ({', '.join(who[:_NAMED])}{more})"
