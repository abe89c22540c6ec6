"""Lists of rows from an index: a table on the terminal, JSON or CSV for other programs."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from rote.cli._output import printing_console
from rote.core.errors import OptionError
from rote.core.files import write_atomically
from rote.core.metric import option

SCHEMA = 1
_ESCAPES = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_UNKNOWN = "\ufffd"


@dataclass(frozen=True, slots=True)
class ListingOptions:
    """The same on every command that lists what an index found."""

    json: bool = option(False, "Print JSON, unrounded")
    csv: bool = option(False, "Print CSV, unrounded, one line per row")
    output: Path | None = option(
        None, "Write there instead of to standard output", short="-o", metavar="FILE"
    )
    quiet: bool = option(False, "No progress bars and remarks", short="-q")

    def form(self) -> str:
        """`table`, `json` or `csv`; what was not said follows from the file's ending."""
        if self.json and self.csv:
            raise OptionError("choose one of --json, --csv")
        if self.json or self.csv:
            return "json" if self.json else "csv"
        ending = self.output.suffix if self.output else ""
        return ending[1:] if ending in (".json", ".csv") else "table"


@dataclass(frozen=True, slots=True)
class SummaryOptions:
    """The same on every command that changes or describes an index."""

    json: bool = option(False, "Print JSON")
    quiet: bool = option(False, "No progress bars and remarks", short="-q")


@dataclass(frozen=True, slots=True)
class Listing:
    """Rows under a name, and what JSON says of all of them."""

    name: str
    rows: Sequence[Mapping[str, Any]]
    columns: Sequence[str]
    about: Mapping[str, Any]


def deliver(listing: Listing, options: ListingOptions, draw: Callable[[Any], None]) -> None:
    """Print or write the rows; `draw` prints the table to a rich console."""
    form = options.form()
    if form == "table" and options.output is None:
        draw(printing_console())
        return
    if form == "json":
        text = as_json({**listing.about, listing.name: list(listing.rows)})
    else:
        text = as_csv(listing) if form == "csv" else _as_text(draw)
    if options.output is None:
        shown = _ESCAPES.sub(_UNKNOWN, text) if sys.stdout.isatty() else text
        # color=True: click would take what looks like colours out of the texts.
        click.echo(shown, nl=False, color=True)
    else:
        write_atomically(options.output, text)


def as_json(held: Mapping[str, Any]) -> str:
    """One JSON object of the current schema."""
    text = json.dumps({"schema": SCHEMA, **held}, indent=2, ensure_ascii=False)
    # JSON leaves some characters as they are that a terminal would obey.
    return _encodable(_ESCAPES.sub(lambda c: f"\\u{ord(c[0]):04x}", text)) + "\n"


def as_csv(listing: Listing) -> str:
    """One line per row; lists of items are separated by spaces, what is not known is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(listing.columns)
    for row in listing.rows:
        writer.writerow([_cell(row[name]) for name in listing.columns])
    return _encodable(out.getvalue())


def _cell(value: Any) -> Any:
    return " ".join(value) if isinstance(value, (list, tuple)) else value


def _as_text(draw: Callable[[Any], None]) -> str:
    from rich.console import Console

    out = io.StringIO()
    draw(Console(file=out, width=160, color_system=None))
    return out.getvalue()


def _encodable(text: str) -> str:
    # Half a surrogate pair cannot be written in UTF-8; \\udc80 is how JSON spells it.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
