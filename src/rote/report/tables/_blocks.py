"""What printed tables are made of: headings, columns that fit the screen, names, numbers."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from rote.core.result import Result
from rote.report._grid import SIGNIFICANT, rounded
from rote.report.terminal import console, harmless

if TYPE_CHECKING:
    from rich.console import RenderableType

Rows = Sequence[Mapping[str, Any]]
T = TypeVar("T")
_TOP, _SCREEN = 10, 36
_NAME, _LEAST_TEXT = 120, 12
WIDTH = 160
"""Of a table in a file or a pipe, which have none of their own."""


def heading(title: str, explained: str) -> RenderableType:
    from rich.text import Text

    return Text.assemble("\n", (title, "bold"), (f"  {explained}", "dim"))


def dim(text: str) -> RenderableType:
    from rich.text import Text

    return Text(text, style="dim")


def table(columns: Mapping[str, str], lines: Sequence[Sequence[str]]) -> RenderableType:
    """Numbers stay in one piece; names give way to them."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for name, side in columns.items():
        if side == "right":
            table.add_column(Text(harmless(name)), justify="right", no_wrap=True)
        else:
            table.add_column(Text(harmless(name)), overflow="fold")
    for line in lines:
        table.add_row(*(Text(harmless(cell)) for cell in line))
    return table


def print_rows(title: str, rows: Rows, columns: Sequence[str], console: Any) -> None:
    """Rows as they are, under a heading; nothing where there are none."""
    if not rows:
        return
    console.print(f"\n{title}", style="bold", highlight=False, markup=False)
    aligned = {name: "left" if isinstance(rows[0].get(name), str) else "right" for name in columns}
    console.print(table(aligned, [[plain_cell(row.get(name)) for name in columns] for row in rows]))


def plain_cell(value: Any) -> str:
    """Any value in a cell, numbers rounded."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, float):
        return f"{value:.2g}" if 0 < abs(value) < 1e-3 else rounded(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def listed(
    width: int, columns: Mapping[str, str], groups: Mapping[str, Sequence[Sequence[str]]]
) -> Iterator[RenderableType]:
    """Lines under the name of their group, which takes no column from them; the last column, a
    text, takes what room the others leave."""
    from rich.cells import cell_len
    from rich.text import Text

    every = [list(columns), *(line for lines in groups.values() for line in lines)]
    sizes = [
        min(max(cell_len(harmless(cell)) for cell in column), width // 2) for column in zip(*every)
    ]
    sizes[-1] = min(sizes[-1], max(_LEAST_TEXT, width - sum(sizes[:-1]) - 3 * len(sizes)))

    def shown(line: Sequence[str]) -> str:
        cells = (_cell(c, size, side) for c, size, side in zip(line, sizes, columns.values()))
        return " " + "   ".join(cells).rstrip()

    yield Text(f"\n{shown(list(columns))}", style="bold")
    yield Text(" " + "─" * (sum(sizes) + 3 * (len(sizes) - 1)))
    for name, lines in groups.items():
        yield Text(f" {shown_name(name)}:", style="bold")
        yield from (Text(shown(line), no_wrap=True) for line in lines)


def _cell(text: str, size: int, side: str) -> str:
    """A text in so many cells; a sign says that there was more."""
    from rich.cells import cell_len, set_cell_size

    text = harmless(text[: 4 * size])
    if cell_len(text) > size:
        text = set_cell_size(text, size - 1).rstrip() + "…"
    return " " * (size - cell_len(text)) + text if side == "right" else set_cell_size(text, size)


def parts(columns: Mapping[str, Sequence[str]], room: int) -> Iterator[list[str]]:
    """Columns side by side as far as there is room, then the rest below."""
    part: list[str] = []
    used = 0
    for name, cells in columns.items():
        size = max(map(len, [name, *cells])) + 3
        if part and used + size > room:
            yield part
            part, used = [], 0
        part.append(name)
        used += size
    if part:
        yield part


def each(sources: Sequence[str]) -> int:
    """How many lines each source gets below its name, so that all of them fit on a screen."""
    return max(2, min(_TOP, _SCREEN // max(1, len(sources)) - 1))


def sources_of(rows: Rows, result: Result) -> list[str]:
    """The sources of a table, the reference first."""
    return sorted(distinct(rows, "source"), key=lambda name: name != result.reference)


def distinct(rows: Rows, name: str) -> list[str]:
    return list(dict.fromkeys(row[name] for row in rows))


def shown_name(text: str) -> str:
    """A name whole, since names often differ in the middle; only an absurd one is cut."""
    shown = harmless(text[: 2 * _NAME])
    return shown if len(text) <= _NAME else shown[: _NAME - 1] + "…"


def room(names: Sequence[str], width: int) -> int:
    """The cells that are left beside names; longer ones are folded."""
    return width - min(max(map(len, names)), width // 3) - 4


def arrow(row: Mapping[str, Any]) -> str:
    if not (defined(row["p_corrected"]) and row["p_corrected"] < SIGNIFICANT):
        return " "
    return "▲" if row["z"] > 0 else "▼"


def percent(share: float | None) -> str:
    return f"{share:.0%}" if share is not None and not math.isnan(share) else "–"


def p_value(number: float | None) -> str:
    if number is None or math.isnan(number):
        return "–"
    return "< 0.001" if number < 0.001 else f"{number:.3f}"


def number(number: float | None, form: str = "") -> str:
    if number is None or math.isnan(number):
        return "–"
    return format(number, form) if form else rounded(number)


def count(number: int | None) -> str:
    return "–" if number is None else f"{number:,}"


def with_interval(estimate: float | None, low: float | None, high: float | None, form: str) -> str:
    """A number with the ends of its interval, where it has one."""
    ends = f" [{low:{form}}, {high:{form}}]" if defined(low) and defined(high) else ""
    return f"{estimate:{form}}{ends}" if defined(estimate) else "–"


def defined(number: float | None) -> bool:
    return number is not None and not math.isnan(number)


def print_end(result: Result, console: Any) -> None:
    """What stands below every printed result: its notes and its signature."""
    for note in result.notes:
        console.print(f"note: {harmless(note)}")
    console.print(harmless(str(result.signature)), style="dim", soft_wrap=True)


def plain_text(print_result: Callable[[T, Any], None], result: T, width: int = WIDTH) -> str:
    """What is printed of a result, or of several, without colours."""
    out = io.StringIO()
    print_result(result, console(file=out, width=width, color_system=None))
    return out.getvalue()
