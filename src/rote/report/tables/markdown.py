"""Tables in Markdown: everything from the data is in one line and escaped, so that no name or text
can begin a heading, a link, a table or HTML of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rote.core.result import Result
from rote.report.tables.sheet import Cell, Sheet
from rote.report.tables.values import comparisons_table, on_page, values_table
from rote.report.terminal import harmless

# Without its opening sign a link, a picture or a tag is text.
_SPECIAL = re.compile(r"([\\`*_\[<|~$])")
_BEGINS = re.compile(r"^(\d+)([.)])(?=\s|$)|^([-+=#>])")
_LONGEST = 8_000


def as_markdown(results: Sequence[Result]) -> str:
    """The tables of results, each under a heading, with what must be known of them."""
    lines: list[str] = []
    for result in results:
        for sheet in shown_tables(result):
            lines += sheet_as_markdown(sheet, 3)
        lines += (f"- {plain(note)}" for note in result.notes)
        lines += ["", code(str(result.signature)), ""]
    return "\n".join(lines)


def shown_tables(result: Result) -> list[Sheet]:
    """The tables of a result on a page by itself: values, further tables, tests."""
    tests = comparisons_table([result], f"tests-{result.measure}")
    values = [values_table(result)] if result.sources else []
    return [*values, *on_page(result), *([tests] if tests else [])]


def sheet_as_markdown(sheet: Sheet, level: int) -> Iterator[str]:
    """The lines of a table, under a heading of this level."""
    yield from (f"{'#' * min(level, 6)} {plain(sheet.title)}", "")
    heads = [
        " ".join((c.heading, *(f"({line})" for line in c.said.splitlines()))) for c in sheet.columns
    ]
    yield "| " + " | ".join(map(plain, heads)) + " |"
    yield "|" + "|".join(" ---: " if c.side == "right" else " --- " for c in sheet.columns) + "|"
    for reference, cells in sheet.rows(sheet.limit):
        shown = [
            code(cell.text) if column.kind == "code" else plain(_whole(cell))
            for column, cell in zip(sheet.columns, cells, strict=True)
        ]
        if reference:
            shown[0] = f"**{shown[0]}**"
        yield "| " + " | ".join(shown) + " |"
    yield ""
    cut = f"{left}; the JSON has all." if (left := sheet.cut()) else ""
    if said := " ".join(filter(None, (sheet.said, cut))):
        yield from (plain(said), "")


def plain(text: object) -> str:
    """A text in one line without anything that Markdown would act on."""
    shown = _line(text).replace("&", "&amp;")
    escaped = _SPECIAL.sub(r"\\\1", shown)
    return _BEGINS.sub(lambda m: f"{m[1]}\\{m[2]}" if m[1] else f"\\{m[3]}", escaped)


def code(text: object) -> str:
    """A text as code, between as many backticks as it takes."""
    shown = _line(text)
    if not shown:
        return ""
    runs = [len(run) for run in re.findall(r"`+", shown)]
    fence = "`" * next(n for n in range(1, len(runs) + 2) if n not in runs)
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    # In a table a bar ends the cell even inside code.
    return f"{fence}{space}{shown}{space}{fence}".replace("|", r"\|")


def _line(text: object) -> str:
    """In one line, and not longer than a reader could want."""
    whole = str(text)
    return harmless(whole[:_LONGEST]) + ("…" if len(whole) > _LONGEST else "")


def _whole(cell: Cell) -> str:
    """The value, its sign, and what stands below it."""
    return " ".join(part for part in (cell.text + cell.mark, *cell.below) if part)
