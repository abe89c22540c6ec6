"""Lists of rows from an index: a table on the terminal; JSON, CSV, LaTeX for other programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rote.cli._output import ESCAPES, Output, emit
from rote.core.metric import option

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class SummaryOptions:
    """The same on every command that changes or describes an index."""

    SECTION: ClassVar[str] = "Output"
    json: bool = option(False, "Print JSON")
    quiet: bool = option(False, "No progress bars and remarks", short="-q")


@dataclass(frozen=True, slots=True)
class Listing:
    """Rows under a name, and what JSON says of all of them."""

    name: str
    rows: Sequence[Mapping[str, Any]]
    columns: Sequence[str]
    about: Mapping[str, Any]


def deliver(
    listing: Listing,
    output: Output,
    draw: Callable[[Any], None],
    page: Callable[[], str] | None = None,
) -> None:
    """Print or write the rows; `draw` prints the table to a rich console, `page` makes HTML."""
    from rote.report.tables.latex import rows_as_latex

    forms: dict[str, Callable[[], str]] = {
        "json": lambda: as_json({**listing.about, listing.name: list(listing.rows)}),
        "csv": lambda: as_csv(listing),
        "latex": lambda: rows_as_latex(listing.columns, listing.rows),
    }
    emit(output, draw, {**forms, **({"html": page} if page else {})}, page=page is not None)


def as_json(held: Mapping[str, Any]) -> str:
    """One JSON object of the current schema."""
    text = json.dumps({"schema": SCHEMA, **held}, indent=2, ensure_ascii=False)
    # JSON leaves some characters as they are that a terminal would obey.
    shown = ESCAPES.sub(lambda c: f"\\u{ord(c[0]):04x}", text)
    return shown.encode("utf-8", "backslashreplace").decode("utf-8") + "\n"


def as_csv(listing: Listing) -> str:
    """One line per row; lists of items are separated by spaces, what is not known is empty."""
    from rote.report.tables.written import rows_as_csv, unrounded

    def cell(value: Any) -> Any:
        return " ".join(value) if isinstance(value, (list, tuple)) else unrounded(value)

    rows = ([cell(row[name]) for name in listing.columns] for row in listing.rows)
    return rows_as_csv([("table", *listing.columns), *((listing.name, *row) for row in rows)])
