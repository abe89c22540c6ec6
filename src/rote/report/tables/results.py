"""Results on a screen: values by sources, then the further tables. Every facet has its own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from rote.core.facets import EACH
from rote.core.progress import several
from rote.core.result import Result
from rote.core.table import Column
from rote.report._grid import (
    EQUIVALENT,
    SIGNIFICANT,
    UNTESTED,
    Cell,
    GridRow,
    cells_of,
    grid,
    ordered_sources,
    pair_grid,
    rounded,
    rounded_like,
    split,
    split_panel,
)
from rote.report.family import SHOWN, corrected, span
from rote.report.notes import gathered
from rote.report.tables.screen import Line, grid_lines, heading, plain_text, print_sheet
from rote.report.tables.sheet import sheets
from rote.report.tables.values import SWEEP, layout, values_layout
from rote.report.tables.verdicts import print_verdicts
from rote.report.terminal import harmless
from rote.report.verdicts import verdicts

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
    _print_values([one for one in results if one.by_source and one.measure not in laid], console)
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


def print_panel(results: Sequence[Result], console: Any) -> None:
    """The verdicts of several measures, and what must be known; all values where none is."""
    facets = [facet for facet in verdicts(results) if facet.comparisons]
    if not facets:
        print_results(results, console)
        return
    for facet in facets:
        print_verdicts(facet, console)
    for line in _notes(results):
        console.print(f"note: {harmless(line)}")
    console.print("--all prints every value", style="dim")


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
            against = f"against {_named(parts[0])}" if parts[0].reference else "without a reference"
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
            line = f"not printed: {several(left, 'more source')}; --csv and --json give them all"
            console.print(line, highlight=False)
        _print_pairs(parts, console)
        _print_not_found(parts, console)


def _named(result: Result) -> str:
    return "each other" if result.reference == EACH else str(result.reference)


def _print_pairs(parts: Sequence[Result], console: Any) -> None:
    """Every two sources: the difference of each value, and which way it goes."""
    rows = [row for part in parts for row in pair_grid(part)]
    if not rows:
        return
    pairs = list(dict.fromkeys(pair for row in rows for pair in row.cells))
    lines: dict[str, list[Line]] = {}
    for row in rows:
        own, cells = lines.setdefault(row.aspect, []), [row.cells.get(pair) for pair in pairs]
        own.append(Line([f"  {row.title}", *(_shown_difference(cell) for cell in cells)]))
        if any(cell and not math.isnan(cell.matched_difference) for cell in cells):
            equal = [_shown_difference(cell, matched=True) for cell in cells]
            own.append(Line(["    at equal size", *equal], "dim"))
    console.print(heading("Pairs of sources", "the difference of the first and the second"))
    columns = [Column("", " "), *(Column(pair, pair, "number") for pair in pairs)]
    for text in grid_lines(columns, lines, console.width, keys=1):
        console.print(text, highlight=False)


def _shown_difference(cell: Cell | None, *, matched: bool = False) -> str:
    if cell is None:
        return ""
    number = cell.matched_difference if matched else cell.difference
    mark = cell.matched_mark if matched else cell.mark
    return ("+" if number > 0 else "") + rounded(number) + (mark or " ")


def _print_not_found(parts: Sequence[Result], console: Any) -> None:
    """Where no difference was found: how large one would have had to be."""
    lines = []
    for part in parts:
        paired = pair_grid(part)
        for row, whole in ((one, not paired) for one in paired or grid(part)):
            reference = row.cells.get(str(part.reference)) if whole else None
            for field in ("", "matched_"):
                line = _could_show(row, field, reference)
                lines += [Line(line)] if line else []
    if not lines:
        return
    console.print(heading("No difference found", f"smallest difference that would be {SHOWN}"))
    what = "pairs" if parts[0].reference == EACH else "sources"
    columns = [Column("value"), Column(what), Column("smallest", "smallest difference")]
    columns += [Column("share", f"of {_named(parts[0])}")] if what == "sources" else []
    for text in grid_lines(columns, {"": lines}, console.width):
        console.print(text, highlight=False)


def _could_show(row: GridRow, field: str, reference: Cell | None) -> list[str]:
    """One line: in how many sources, from the smallest to the largest that it takes."""
    verdicts = {name: getattr(cell, f"{field}verdict") for name, cell in row.cells.items()}
    tested = [name for name, verdict in verdicts.items() if verdict != "not tested"]
    names = [name for name in tested if verdicts[name] == "not found"]
    sizes = [getattr(row.cells[name], f"{field}detectable") for name in names]
    known = [size for size in sizes if not math.isnan(size)]
    if not known:
        return []
    who = ", ".join(names) if len(names) <= 2 else f"{len(names)} of {len(tested)}"
    title = f"{row.title} at equal size" if field else row.title
    ends = list(dict.fromkeys(rounded(end) for end in (min(known), max(known))))
    line = [title, who, " to ".join(ends)]
    if reference is None:
        return line
    whole = abs(reference.matched if field else reference.estimate)
    return [*line, span([size / whole for size in known]) if whole else ""]


def _groups(parts: Sequence[Result], sources: Sequence[str]) -> Iterator[tuple[str, list[Line]]]:
    """Under the name of each aspect its values, one below the other."""
    first = parts[0]
    # With --within, what is counted are sets of texts.
    texts = "sets" if "within" in dict(first.signature.settings) else "texts"
    yield (
        "",
        [
            Line([name, *(f"{getattr(first.by_source[s], what):,} " for s in sources)], "dim")
            for name, what in ((texts, "texts"), ("words", "words"))
        ],
    )
    found: dict[str, list[Line]] = {}
    for row in (row for part in parts for row in grid(part)):
        lines = found.setdefault(row.aspect, [])
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
    if len(shown) == len(result.by_source):
        return result
    return replace(
        result,
        by_source={name: found for name, found in result.by_source.items() if name in shown},
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
    spread = rounded_like(cell.matched_reach, cell.matched)
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
        other = "the second source of a pair" if results[0].reference == EACH else _named(shown[0])
        lines.append(f"▲ ▼ above or below {other}: permutation test, corrected p < {SIGNIFICANT}")
        lines.append(f"corrected: {corrected(shown)}")
    if margin := next(
        (m for r in shown if (m := dict(r.signature.settings).get("equivalent"))), ""
    ):
        lines.append(
            f"{EQUIVALENT} within {margin} of {_named(shown[0])}: two one-sided tests, corrected "
            f"p < {SIGNIFICANT}"
        )
    if any(UNTESTED in (cell.mark, cell.matched_mark) for cell in cells):
        lines.append(f"{UNTESTED} not tested: see the notes")
    if any(row["length_sensitive"] for result in shown for row in result.tables["values"]):
        lines.append(
            "~ moves with the number of texts or their length; the line below it, where there is "
            "one, compares as many windows of the same length"
        )
    return lines


def _notes(results: Sequence[Result]) -> list[str]:
    """Every note once, with the measures and the sources that it is about."""
    everyone = list(dict.fromkeys(source for result in results for source in result.by_source))
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
