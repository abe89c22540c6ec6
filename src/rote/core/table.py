"""A table is data: columns of a kind, over the rows of a result.

A measure declares its tables beside the code that makes their rows; `report/tables` draws them, one
renderer each for the terminal, CSV, LaTeX, Markdown, HTML and data frames. Nobody else lays out a
table. What a layout does not name is for programs: JSON and CSV hold it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

if TYPE_CHECKING:
    from rote.core.result import Result

Row: TypeAlias = Mapping[str, Any]
Rows: TypeAlias = Sequence[Row]
Kind: TypeAlias = Literal["name", "text", "count", "number", "share", "p", "code"]
"""name: of a source, an id, never cut; text: words of a text, cut to fit; count: a whole number;
number: four significant digits, or `decimals`; share: a percentage; p: of a test; code: a pattern
or a signature, letter by letter. Words in the place of a number are shown as they are."""
NUMBERS = ("count", "number", "share", "p")
VALUES = "values"
"""The table whose rows are the sources, one each, with their values and intervals (`source_rows`):
a layout that has it shows the values in its own way, not as values by sources."""


@dataclass(frozen=True, slots=True)
class Column:
    """A field of the rows under a heading."""

    field: str
    title: str = ""
    """The heading; without one the field's name, with blanks for underscores."""
    kind: Kind = "name"
    decimals: int | None = None
    signed: bool = False
    """Whether a number that is above 0 says so."""
    ends: tuple[str, str] | None = None
    """The fields with the ends of its interval: an estimate."""
    spread: str = ""
    """The field with its standard deviation."""
    mark: str = ""
    """The field with a sign behind it, such as an arrow."""
    also: Column | None = None
    """A second number in the same cell: in brackets, or below it."""
    note: str = ""
    """What is below the heading, in small print; a line for each line."""
    optional: bool = False
    """Whether it is left out where no row has a value in it."""

    @property
    def heading(self) -> str:
        return self.title or self.field.replace("_", " ")

    @property
    def side(self) -> Literal["left", "right"]:
        """Numbers stand to the right."""
        return "right" if self.kind in NUMBERS else "left"

    @property
    def fields(self) -> tuple[str, ...]:
        """All fields whose numbers are in a cell."""
        spread = (self.spread,) if self.spread else ()
        return (self.field, *(self.ends or ()), *spread, *(self.also.fields if self.also else ()))


_COLUMN = re.compile(
    r"(?P<field>\w+)(?P<optional>\??)(=(?P<title>[^:~]+))?"
    r"(:(?P<kind>\w+)(\.(?P<decimals>\d))?)?(?P<signed>\+?)(~(?P<ends>low|value)?)?"
)


def make_columns(fields: str) -> tuple[Column, ...]:
    """Columns written as `field=heading:kind`, with `_` for blanks; `field?` is optional. `.2`
    behind the kind are decimals, `+` writes the sign of numbers above 0. A `~` at the end says that
    there is an interval, in the fields that `ends` names; `~low` in `low` and `high`, `~value` in
    those that `value_ends` names.

    >>> [(c.heading, c.kind) for c in make_columns("group items:count p_drawn?=p_(drawn):p")]
    [('group', 'name'), ('items', 'count'), ('p (drawn)', 'p')]
    >>> [(c.decimals, c.ends) for c in make_columns("auc:number.3~ accuracy:share~low")]
    [(3, ('auc_low', 'auc_high')), (None, ('low', 'high'))]
    """
    columns = []
    for entry in fields.split():
        match = _COLUMN.fullmatch(entry)
        if not match or match["kind"] not in (None, *get_args(Kind)):
            raise ValueError(f"{entry}: no column")
        field, title = match["field"], (match["title"] or "").replace("_", " ")
        kind = cast("Kind", match["kind"] or "name")
        decimals = int(match["decimals"]) if match["decimals"] else None
        known = {None: ends(field), "low": ("low", "high"), "value": value_ends(field)}
        reach = known[match["ends"]] if "~" in entry else None
        signed, optional = bool(match["signed"]), bool(match["optional"])
        columns.append(Column(field, title, kind, decimals, signed, reach, optional=optional))
    return tuple(columns)


@dataclass(frozen=True, slots=True)
class Pivot:
    """Rows side by side: `across` names the field whose values become columns, `cell` what is in
    them; the table's own columns name a line."""

    across: str
    cell: Column
    titles: Mapping[Any, str] | Callable[[Row], str] = field(default_factory=dict)
    """Headings of the values, in order; a value that is not named is its own, after the others. A
    function makes them from the first row of each."""


@dataclass(frozen=True, slots=True)
class Table:
    """How the rows that a result keeps under `name` are shown.

    A function in place of columns or words gets the rows that are shown and the result.
    """

    name: str
    title: str | Callable[[Rows, Result], str]
    columns: Sequence[Column] | Callable[[Rows, Result], Sequence[Column]] = ()
    """Without any: one for each field of the rows."""
    note: str | Callable[[Rows, Result], str] = ""
    """A line in small print: what the numbers are, where there are more."""
    rows: Callable[[Rows, Result], Rows] | None = None
    """The rows that are shown, made from those of the result: chosen, joined, counted, sorted."""
    split: Sequence[str] = ()
    """The fields whose values have a table each; title and columns see the rows of theirs."""
    by: str = ""
    """The field that groups rows: each group is cut by itself, under its name on a terminal. The
    reference's rows come first."""
    limit: int = 10
    """Rows on a terminal: of each group, if there are any. A page shows more, files all."""
    first: Callable[[Rows, int], Rows] | None = None
    """Which rows of a group a terminal shows, if not the first so many."""
    pivot: Pivot | None = None
    page: bool = True
    """Whether a report shows it; the terminal does so in any case, unless `limit` is 0."""


FullTable = partial(Table, limit=1000)
"""A table whose rows are few, so that a terminal shows all of them."""


def source_rows(result: Result) -> list[dict[str, Any]]:
    """A row for each source: how much it holds, and its values with the ends of their intervals
    (`value_ends`)."""
    rows = []
    for name, source in result.by_source.items():
        row: dict[str, Any] = {"source": name, "texts": source.texts, "words": source.words}
        row |= source.values
        for value, (low, high) in source.intervals.items():
            row |= dict(zip(value_ends(value), (low, high)))
        rows.append(row)
    return rows


def defined(number: float | None) -> bool:
    """Undefined is nan in a result that was just made, and nothing in one that was read."""
    return number is not None and not math.isnan(number)


def distinct(rows: Iterable[Row], name: str) -> list[Any]:
    """The values of a field, in the order of their first rows."""
    return list(dict.fromkeys(row[name] for row in rows))


def value_ends(name: str) -> tuple[str, str]:
    """The fields of a value's interval in `source_rows`: with a blank, since a value may itself be
    called `accuracy_low`."""
    return f"{name} low", f"{name} high"


def add_titles(rows: Rows, result: Result) -> list[Row]:
    """Rows of values, with the titles that the table of all values gives these."""
    titles = {row["value"]: row["title"] for row in result.tables.get(VALUES, ())}
    return [{**row, "title": titles.get(row["value"], row["value"])} for row in rows]


def ends(name: str) -> tuple[str, str]:
    """The fields of an interval, as most rows call them."""
    return f"{name}_low", f"{name}_high"


def estimate(
    name: str, value: float, interval: Sequence[float], end_names: Sequence[str] = ()
) -> dict[str, float]:
    """A number and the ends of its interval, as rows hold them; `ends` names them unless
    `end_names` does."""
    low, high = end_names or ends(name)
    return {name: value, low: interval[0], high: interval[1]}
