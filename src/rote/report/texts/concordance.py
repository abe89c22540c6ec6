"""What an index found, for the eye: concordance lines, counts, frequent n-grams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rote.report._grid import rounded
from rote.report.terminal import cell, harmless, isolated, open_table

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

_GAP = 2
_LEAST_CONTEXT, _LEAST_EXAMPLE = 8, 16


@dataclass(frozen=True, slots=True)
class Line:
    """A match with its surroundings; `items` are layers to be shown below it, by name."""

    before: str
    match: str
    after: str
    document: str
    author: str | None = None
    items: Mapping[str, Sequence[str]] = field(default_factory=dict)


def concordance(lines: Sequence[Line], width: int) -> Iterator[Text]:
    """Lines of the given width: the matches one below the other, then whose they are."""
    from rich.cells import cell_len
    from rich.text import Text

    if not lines:
        return
    matches = [_rows(line) for line in lines]
    whose = [[harmless(line.document), harmless(line.author or "")] for line in lines]
    sizes = [
        min(max(map(cell_len, column)), width // share)
        for column, share in zip(zip(*whose), (5, 7))
    ]
    taken = sum(size + _GAP for size in sizes if size)
    around = [(harmless(line.before), harmless(line.after)) for line in lines]
    widest = max(cell_len(row) for rows in matches for row in rows)
    middle = min(widest, max(_LEAST_CONTEXT, (width - taken) // 3))
    side = max(_LEAST_CONTEXT, (width - taken - middle - 2 * _GAP) // 2)
    left, right = (min(side, max(map(cell_len, texts))) for texts in zip(*around))
    gap = " " * _GAP
    for line, rows, (before, after), names in zip(lines, matches, around, whose):
        shown = Text(_end(before, left) + gap, no_wrap=True)
        shown.append(_start(rows[0], middle), style="bold")
        shown.append(gap + _start(after, right))
        for name, size in zip(names, sizes):
            if size:
                shown.append(gap + _start(_cut(name, size), size), style="dim")
        shown.rstrip()
        yield shown
        for name, row in zip([n for n in line.items if n != "word"], rows[1:]):
            # The label stands where the words before the match stand, close to what it names.
            yield Text(f"{_end(harmless(name), left)}{gap}{row}", style="dim", no_wrap=True)


def count_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Counts of phrases: one row per phrase and layer.

    The phrase itself is left out where the items say the same.
    """
    table = open_table()
    said = {row["phrase"] for row in rows if _items(row).lower() == row["phrase"].lower()}
    phrases = any(row["phrase"] not in said for row in rows)
    if phrases:
        table.add_column("phrase", overflow="fold")
    table.add_column("layer")
    table.add_column("items", overflow="fold")
    numbers = _present(rows, ("occurrences", "documents", "authors", "per_million"))
    _add_numbers(table, numbers)
    last = None
    for row in rows:
        named = "" if row["phrase"] == last else row["phrase"]
        last = row["phrase"]
        cells = map(cell, ((named,) if phrases else ()) + (row["layer"], _items(row)))
        table.add_row(*cells, *(_number(row[name]) for name in numbers))
    return table


def frequent_table(rows: Sequence[Mapping[str, Any]], width: int) -> Table:
    """The most frequent n-grams: one row each; examples take what room is left."""
    from rich.cells import cell_len

    numbers = _present(rows, ("count", "documents", "per_million"))
    names = ["rank", "n-gram", *(name.replace("_", " ") for name in numbers)]
    cells = [
        [_number(row["rank"]), harmless(" ".join(row["items"]))]
        + [_number(row[name]) for name in numbers]
        for row in rows
    ]
    table = open_table()
    for name in names:
        left = name == "n-gram"
        table.add_column(name, justify="left" if left else "right", no_wrap=not left)
    taken = sum(max(map(cell_len, column)) + _GAP + 1 for column in zip(names, *cells))
    room = max(_LEAST_EXAMPLE, width - taken - _GAP)
    examples = bool(_present(rows, ("example",)))
    if examples:
        table.add_column("example", no_wrap=True)
    for row, shown in zip(rows, cells):
        example = _cut(harmless(row["example"] or ""), room)
        table.add_row(*map(cell, [*shown, *([example] if examples else [])]))
    return table


def _rows(line: Line) -> list[str]:
    """The match, and below it the items of each layer, in columns if there are as many."""
    from rich.cells import cell_len, set_cell_size

    if not line.items:
        return [harmless(line.match)]
    rows = [[harmless(item) or "∅" for item in items] for items in line.items.values()]
    if len({len(row) for row in rows}) > 1 or "word" not in line.items:
        below = [row for name, row in zip(line.items, rows) if name != "word"]
        return [harmless(line.match), *(" ".join(row) for row in below)]
    widths = [max(map(cell_len, column)) for column in zip(*rows)]
    return [" ".join(map(set_cell_size, row, widths)).rstrip() for row in rows]


def _items(row: Mapping[str, Any]) -> str:
    """The items of a phrase; a query says what it means itself."""
    return " ".join(row["items"]) if row["items"] else str(row["phrase"])


def _cut(text: str, size: int) -> str:
    """A text of at most so many cells; a sign says that there was more."""
    from rich.cells import cell_len, set_cell_size

    return text if cell_len(text) <= size else set_cell_size(text, size - 1).rstrip() + "…"


def _start(text: str, size: int) -> str:
    """The beginning of a text in so many cells, padded."""
    from rich.cells import set_cell_size

    return isolated(set_cell_size(text, size))


def _end(text: str, size: int) -> str:
    """The end of a text in so many cells, padded on the left."""
    from rich.cells import cell_len

    first, room = len(text), size
    while first and cell_len(text[first - 1]) <= room:
        first -= 1
        room -= cell_len(text[first])
    # An accent whose letter was cut off would sit on the space before it.
    while first and first < len(text) and not cell_len(text[first]):
        first += 1
    return isolated(" " * room + text[first:])


def _present(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    """Those columns that hold anything; an empty one would only take room."""
    return [name for name in names if any(row[name] is not None for row in rows)]


def _add_numbers(table: Table, names: Sequence[str]) -> None:
    for name in names:
        table.add_column(name.replace("_", " "), justify="right", no_wrap=True)


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if isinstance(value, int) or not value else rounded(value)
