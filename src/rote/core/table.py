"""A table is data: columns of a kind, over the rows of a result.

A measure declares its tables beside the code that makes their rows; `report/tables` draws them, one
renderer each for the terminal, CSV, LaTeX, Markdown, HTML and data frames. Nobody else lays out a
table.

    Table(
        "halves",
        "Accuracy of the halves with low and high scores",
        (Column("group"), Column("half"), Column("items", kind="count"),
         Column("accuracy", kind="share", ends=("low", "high"))),
    )
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from rote.core.result import Result

Row: TypeAlias = Mapping[str, Any]
Rows: TypeAlias = Sequence[Row]
Kind: TypeAlias = Literal["name", "text", "count", "number", "share", "p", "code", "mark"]
"""name: of a source, an id, never cut; text: words of a text, cut to fit; count: a whole number;
number: four significant digits, or `decimals`; share: a percentage; p: of a test; code: a pattern
or a signature, letter by letter; mark: an arrow or another sign."""
NUMBERS = ("count", "number", "share", "p")


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
    said: str = ""
    """What is below the heading, in small print."""
    optional: bool = False
    """Whether it is left out where no row has a value in it."""

    @property
    def heading(self) -> str:
        return self.title or self.field.replace("_", " ")


@dataclass(frozen=True, slots=True)
class Pivot:
    """Rows side by side: `across` names the field whose values become columns, `cell` what is in
    them; the table's own columns name a line."""

    across: str
    cell: Column
    titles: Mapping[str, str] = field(default_factory=dict)
    """Headings of the values, in order; a value that is not named is its own, after the others."""


@dataclass(frozen=True, slots=True)
class Table:
    """How the rows that a result keeps under `name` are shown.

    A function in place of columns or words gets the rows that are shown and the result.
    """

    name: str
    title: str | Callable[[Rows, Result], str]
    columns: Sequence[Column] | Callable[[Rows, Result], Sequence[Column]] = ()
    said: str | Callable[[Rows, Result], str] = ""
    """A line in small print: what the numbers are, where there are more."""
    rows: Callable[[Rows, Result], Rows] | None = None
    """The rows that are shown, made from those of the result: chosen, joined, counted."""
    order: Callable[[Row], Any] | None = None
    """The key that rows are sorted by; without it they are in the order of the result."""
    by: str = ""
    """The field that groups rows: each group is cut by itself, under its name on a terminal."""
    limit: int = 10
    """Rows on a terminal: of each group, if there are any. A page shows more, files all."""
    pivot: Pivot | None = None
    page: bool = True
    """Whether a report shows it; the terminal does so in any case, unless `limit` is 0."""
