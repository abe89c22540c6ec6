"""A table on a screen, in colours or as plain text, that fits the width.

Numbers stay in one piece and names whole; texts give way to both. What does not fit side by side
goes below, in parts, each beside the columns that name its lines.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.text import Text

from rote.core.table import NUMBERS, Column, Row
from rote.report.cells import Sheet, rows_sheet, shorten_name
from rote.report.terminal import isolate_direction, make_console, strip_controls

T = TypeVar("T")
FILE_WIDTH = 160
"""Of a table in a file or a pipe, which have none of their own."""
_GAP = "   "
_MAX_LINES, _MIN_LINES, _MIN_TEXT = 36, 2, 16
_MIN_NAME, _MIN_NUMBER = 4, 6


@dataclass(frozen=True, slots=True)
class TableLine:
    cells: Sequence[str]
    style: str = ""


@dataclass(frozen=True, slots=True)
class TableListing:
    columns: Sequence[Column]
    lines: Sequence[TableLine]

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Text]:
        yield from grid_lines(self.columns, {"": self.lines}, options.max_width)
        yield Text()


def plain_table(columns: Mapping[str, str], rows: Sequence[Sequence[str]]) -> TableListing:
    """Cells that are words already; `columns` says of each whether it is set left or right."""
    heads = [
        Column(name, name or " ", "number" if side == "right" else "name")
        for name, side in columns.items()
    ]
    return TableListing(heads, [TableLine([*map(strip_controls, row)]) for row in rows])


def rows_table(columns: Sequence[Column], rows: Sequence[Row]) -> TableListing:
    sheet = rows_sheet("", "", columns, rows)
    return TableListing(sheet.columns, [TableLine(_cell_texts(sheet, row)) for row in rows])


def print_sheet(sheet: Sheet, console: Any) -> None:
    """A table under its title; of each group as many rows as leave room for all."""
    beside = len(sheet.title) + len(sheet.note) + 2 <= console.width
    console.print(heading_text(sheet.title, sheet.note if beside else ""), highlight=False)
    place = next((n for n, column in enumerate(sheet.columns) if column.field == sheet.by), None)
    groups: dict[Any, list[Row]] = {}
    for row in sheet.data:
        groups.setdefault(row.get(sheet.by) if sheet.by else None, []).append(row)
    choose = sheet.chosen or (lambda rows, count: rows[:count])
    if place is None or len(groups) == len(sheet.data):
        # One line for each group is never cut; rows without groups are.
        is_full = sheet.by and len(groups) == len(sheet.data)
        rows = sheet.data if is_full else choose(sheet.data, sheet.terminal)
        blocks = {"": [TableLine(_cell_texts(sheet, row)) for row in rows]}
        columns = list(sheet.columns)
    else:
        columns = [column for n, column in enumerate(sheet.columns) if n != place]
        each = max(_MIN_LINES, min(sheet.terminal, _MAX_LINES // len(groups) - 1))
        blocks = {
            str(name): [
                TableLine([c for n, c in enumerate(_cell_texts(sheet, row)) if n != place])
                for row in choose(rows, each)
            ]
            for name, rows in groups.items()
        }
    for text in grid_lines(columns, blocks, console.width):
        console.print(text, highlight=False)
    if not beside:
        console.print(strip_controls(sheet.note), style="dim", highlight=False)


def grid_lines(
    columns: Sequence[Column],
    groups: Mapping[str, Sequence[TableLine]],
    width: int,
    *,
    keys: int | None = None,
    bold: int | None = None,
) -> Iterator[Text]:
    """Lines under headings; the first `keys` columns (those before a number) are in every part."""
    every = [line.cells for lines in groups.values() for line in lines]
    heads = [strip_controls(column.heading) for column in columns]
    sizes = [max(map(cell_len, cells)) for cells in zip(heads, *every)]
    if keys is None:
        numbers = [n for n, column in enumerate(columns) if column.kind in NUMBERS]
        keys = numbers[0] if numbers else len(columns)
    while keys > 1 and columns[keys - 1].kind in NUMBERS and not _has_room(sizes, width, keys):
        keys -= 1  # a number that every part would begin with stands in the first part alone
    _fit_widths(columns, sizes, width, keys)
    for number, part in enumerate(_split_columns(sizes, width, keys)):
        chosen, room = [columns[n] for n in part], [sizes[n] for n in part]
        text = Text("\n" if number else "", no_wrap=True, overflow="crop")
        for head_lines in _fold_line([heads[n] for n in part], chosen, room):
            text.append(" ")
            for n, piece in zip(part, head_lines):
                cell_text = piece.rstrip() if n == part[-1] else piece + _GAP
                text.append(cell_text, style="bold" if bold in (None, n) else "")
            text.append("\n")
        text.append(" " + "─" * (sum(room) + len(_GAP) * (len(room) - 1)))
        for name, lines in groups.items():
            if name:
                text.append(f"\n {shorten_name(name)}:", style="bold")
            for line in lines:
                for pieces in _fold_line([line.cells[n] for n in part], chosen, room):
                    text.append(f"\n {_GAP.join(pieces).rstrip()}", style=line.style)
        yield text


def heading_text(title: str, note: str = "") -> Text:
    return Text.assemble(
        "\n", (strip_controls(title), "bold"), (f"  {strip_controls(note)}" if note else "", "dim")
    )


def plain_text(print_result: Callable[[T, Any], None], result: T, width: int = FILE_WIDTH) -> str:
    out = io.StringIO()
    print_result(result, make_console(file=out, width=width, color_system=None))
    return out.getvalue()


def _cell_texts(sheet: Sheet, row: Row) -> list[str]:
    return [
        shorten_name(cell.line) if column.kind == "name" else strip_controls(cell.line)
        for column, cell in zip(sheet.columns, sheet.make(row))
    ]


def _has_room(sizes: Sequence[int], width: int, keys: int) -> bool:
    """Whether a column fits beside the first ones, of which the first, a name, may fold."""
    widest = max(sizes[keys:], default=0)
    return _MIN_TEXT + sum(sizes[1:keys]) + widest + len(_GAP) * keys + 1 <= width


def _fit_widths(columns: Sequence[Column], sizes: list[int], width: int, keys: int) -> None:
    """Make room: texts are cut first, the last one most; then names fold."""
    texts = [n for n, column in enumerate(columns) if column.kind in ("text", "code")]
    for n in texts:
        sizes[n] = min(sizes[n], width // 2)
    over = sum(sizes) + len(_GAP) * (len(sizes) - 1) + 1 - width
    # What goes below in parts is not cut for the sake of one line.
    if over <= sum(max(0, sizes[n] - _MIN_TEXT) for n in texts):
        for n in reversed(texts):
            less = max(0, min(over, sizes[n] - _MIN_TEXT))
            sizes[n], over = sizes[n] - less, over - less
    # Beside the names there has to be room for the widest number.
    others = max((sizes[n] for n in range(keys, len(sizes))), default=0) + 1
    for n in range(keys):
        used = sum(sizes[:keys]) + len(_GAP) * keys + others
        least = max(min(_MIN_TEXT, width // 2), width // (3 * keys))
        sizes[n] = max(min(sizes[n], least), sizes[n] - max(0, used - width))
    # Where several names stand side by side and there is hardly any room, they fold evenly.
    room = width - len(_GAP) * keys - min(others, _MIN_NUMBER + 1)
    if keys and sum(sizes[:keys]) > room:
        for n in range(keys):
            sizes[n] = min(sizes[n], max(_MIN_NAME, room // keys))
    room_left = width - sum(sizes[:keys]) - len(_GAP) * keys - 1
    for n in range(keys, len(sizes)):
        sizes[n] = min(sizes[n], max(room_left, 1))


def _split_columns(sizes: Sequence[int], width: int, keys: int) -> Iterator[list[int]]:
    first = list(range(keys))
    before = sum(sizes[:keys]) + len(_GAP) * keys + 1
    part, used = list(first), before
    for n in range(keys, len(sizes)):
        if len(part) > keys and used + sizes[n] > width:
            yield part
            part, used = list(first), before
        part.append(n)
        used += sizes[n] + len(_GAP)
    yield part


def _fold_line(
    cells: Sequence[str], columns: Sequence[Column], sizes: Sequence[int]
) -> Iterator[list[str]]:
    """The cells of a line, padded; a name that is too long goes on below itself."""
    pieces = [
        _wrap_cell(cell, size) if column.kind == "name" else [cut_text(cell, size)]
        for cell, column, size in zip(cells, columns, sizes)
    ]
    for n in range(max(map(len, pieces))):
        yield [
            _pad(lines[n] if n < len(lines) else "", size, column.side)
            for lines, column, size in zip(pieces, columns, sizes)
        ]


def _wrap_cell(text: str, size: int) -> list[str]:
    """Lines of so many cells, between words where there are some, indented alike."""
    if cell_len(text) <= size:
        return [text]
    blank = " " * (len(text) - len(text.lstrip()))
    lines = [""]
    for word in text.split():
        for piece in chop_cells(word, max(2, size - len(blank))):
            longer_line = f"{lines[-1]} {piece}".strip()
            if cell_len(longer_line) + len(blank) > size:
                lines.append(piece)
            else:
                lines[-1] = longer_line
    return [blank + line for line in lines]


def cut_text(text: str, size: int) -> str:
    """A text in so many cells; a sign says that there was more."""
    return text if cell_len(text) <= size else set_cell_size(text, size - 1).rstrip() + "…"


def _pad(text: str, size: int, side: str) -> str:
    space = " " * (size - cell_len(text))
    return isolate_direction(space + text if side == "right" else set_cell_size(text, size))
