"""Results as tables: for the terminal and LaTeX. Every facet has a block of its own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from rote.core.result import Result
from rote.report._facets import split_panel
from rote.report._grid import (
    SIGNIFICANT,
    UNTESTED,
    Cell,
    GridRow,
    grid,
    ordered_sources,
    rounded,
    rounded_like,
)
from rote.report.tables import further
from rote.report.tables._blocks import plain_text
from rote.report.tables._latex import escaped
from rote.report.terminal import harmless

_CELL_WIDTH = 19
_MANY = 4
_NAMED = 12
_SHOWN = 60
"""Sources that are printed: nobody reads thousands of lines, and files have them all."""


def print_results(results: Sequence[Result], console: Any) -> None:
    """Print a readable table of one or several measures to a rich console."""
    for title, parts in split_panel(results):
        if title:
            console.print(_heading(title, parts[0]))
        rows = [row for part in parts for row in grid(part)]
        sources = ordered_sources(parts)
        for block in _blocks(sources[:_SHOWN], parts[0].reference, console.width):
            console.print(_rich_table(parts, rows, block))
        if (left := len(sources) - _SHOWN) > 0:
            line = f"{left:,} more sources are not printed: --csv and --json give them all"
            console.print(line, highlight=False)
    for line in _legend(results):
        console.print(harmless(line), style="dim")
    for line in _notes(results):
        console.print(f"note: {harmless(line)}")
    for result in results:
        further.print_tables(_shortened(result), console)
    for result in results:
        console.print(harmless(str(result.signature)), style="dim", soft_wrap=True)


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


def as_text(results: Sequence[Result], width: int = 120) -> str:
    """The same table as plain text."""
    return plain_text(print_results, results, width)


def as_latex(results: Sequence[Result]) -> str:
    """A booktabs table: values down, sources across, one part for each facet."""
    facets = split_panel(results)
    sources = list(dict.fromkeys(s for _, parts in facets for s in ordered_sources(parts)))
    references = {parts[0].reference for _, parts in facets}
    heads = [rf"\textbf{{{escaped(s)}}}" if s in references else escaped(s) for s in sources]
    lines = [
        r"\begin{tabular}{l" + "r" * len(sources) + "}",
        r"\toprule",
        " & ".join(["", *heads]) + r" \\",
    ]
    for title, parts in facets:
        lines.append(r"\midrule")
        if title:
            lines.append(
                rf"\multicolumn{{{len(sources) + 1}}}{{l}}{{\textit{{{escaped(title)}}}}} \\"
            )
        for row in (row for part in parts for row in grid(part)):
            cells = [_tex_cell(row.cells[s]) if s in row.cells else "--" for s in sources]
            lines.append(" & ".join([escaped(row.title), *cells]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    if any(UNTESTED in (cell.mark, cell.matched_mark) for cell in _cells(results)):
        lines.append(f"% ?: not tested against {harmless(str(results[0].reference))}")
    lines += [f"% {harmless(note)}" for note in dict.fromkeys(n for r in results for n in r.notes)]
    lines += [f"% {harmless(str(result.signature))}" for result in results]
    return "\n".join(lines) + "\n"


def _blocks(sources: list[str], reference: str | None, width: int) -> Iterable[list[str]]:
    """As many sources side by side as fit; the reference stands in every block."""
    fit = max(1, (width - 28) // max(_CELL_WIDTH, 2 + max(map(len, sources))))
    if len(sources) <= fit:
        return [sources]
    others = [source for source in sources if source != reference]
    first = [reference] if reference in sources else []
    blocks = math.ceil(len(others) / max(1, fit - len(first)))
    step = math.ceil(len(others) / blocks)
    return [first + others[i : i + step] for i in range(0, len(others), step)]


def _rich_table(results: Sequence[Result], rows: list[GridRow], sources: list[str]) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("")
    for source in sources:
        style = "bold" if source == results[0].reference else ""
        head = Text(harmless(source))
        table.add_column(head, justify="right", header_style=style or "none", no_wrap=True)
    first = results[0]
    # With --within, what is counted are sets of texts.
    texts = "sets" if "within" in dict(first.signature.settings) else "texts"
    for name, what in ((texts, "texts"), ("words", "words")):
        counts = [f"{getattr(first.sources[s], what):,}" for s in sources]
        table.add_row(name, *counts, style="dim")
    measure = ""
    for row in rows:
        if row.measure != measure:
            measure = row.measure
            table.add_section()
            table.add_row(Text(measure, style="bold"))
        title = f"  {row.title}" + (" ~" if row.length_sensitive else "")
        table.add_row(title, *(_shown(row.cells.get(s)) for s in sources))
        if row.matched_at and any(not math.isnan(c.matched) for c in row.cells.values()):
            cells = (_shown_matched(row.cells.get(s)) for s in sources)
            table.add_row(f"    at {row.matched_at}", *cells, style="dim")
    return table


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


def _heading(title: str, part: Result) -> Any:
    from rich.text import Text

    against = f"  against {harmless(part.reference)}" if part.reference else "  without a reference"
    return Text.assemble("\n", (harmless(title), "bold"), (against, "dim"))


def _legend(results: Sequence[Result]) -> list[str]:
    lines = []
    interval = next((r.interval for r in results if r.interval), None)
    if interval:
        lines.append(f"± reach, or both ends, of the {interval.level:.0%} interval")
    if any(result.comparisons for result in results):
        lines.append(
            f"▲ ▼ above or below {results[0].reference}: permutation test, p < {SIGNIFICANT}, "
            "corrected over sources and values"
        )
    if any(UNTESTED in (cell.mark, cell.matched_mark) for cell in _cells(results)):
        lines.append(f"{UNTESTED} not tested: a difference could not have been found")
    if any(row["length_sensitive"] for result in results for row in result.tables["values"]):
        lines.append(
            "~ moves with the number of texts or their length; the line below it, where there is "
            "one, compares as many windows of the same length (± standard deviation over draws)"
        )
    return lines


def _cells(results: Sequence[Result]) -> list[Cell]:
    return [
        cell
        for _, parts in split_panel(results)
        for part in parts
        for row in grid(part)
        for cell in row.cells.values()
    ]


def _notes(results: Sequence[Result]) -> list[str]:
    """Every note once, with the sources that it is about."""
    about: dict[str, list[str]] = {}
    for result in results:
        for line in result.notes:
            about.setdefault(line, [])
        for source, found in result.sources.items():
            for line in found.notes:
                about.setdefault(f"{result.measure}: {line}", []).append(source)
    everyone = list(dict.fromkeys(source for result in results for source in result.sources))
    return [line + _said_of(who, everyone) for line, who in about.items()]


def _said_of(who: Sequence[str], everyone: Sequence[str]) -> str:
    who = list(dict.fromkeys(who))
    if not who:
        return ""
    if len(who) == len(everyone) >= _MANY:
        return " (all)"
    more = f" and {len(who) - _NAMED:,} more" if len(who) > _NAMED else ""
    return f" ({', '.join(who[:_NAMED])}{more})"


def _tex_cell(cell: Cell) -> str:
    reach = rounded_like(cell.reach, cell.estimate)
    if math.isnan(cell.estimate):
        return "--"
    shown = rounded(cell.estimate).replace(",", "{,}")
    marks = {"▲": r"^{\uparrow}", "▼": r"^{\downarrow}", UNTESTED: "^{?}", "": ""}
    mark = marks[cell.mark]
    if cell.ends:
        return f"${shown}{mark}$ [{' to '.join(cell.ends)}]"
    return f"${shown}{mark}" + (rf" \pm {reach}$" if reach else "$")
