"""A chart is data as well: a shape, and the fields of a table that it draws.

Four shapes serve most figures (dots, lines, bars, matrix), some more the rest; `report/figures`
draws them with one look. A measure declares its charts beside the code that makes their rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from rote.core.table import Rows

if TYPE_CHECKING:
    from rote.core.result import Result

Shape: TypeAlias = Literal[
    "dots", "lines", "steps", "bars", "matrix", "heat", "boxes", "histogram", "points", "tree"
]
"""dots: names down, numbers across, with intervals; lines: a number over names or numbers, a line
for each colour; bars: a bar for each name, in groups; matrix: two names, a number as colour;
heat: names down, stretches (`ends`) across, a number as colour;
steps: lines that rise step by step; boxes: how the numbers of each name are spread; histogram: how
often a number is there; points: two numbers; tree: a line for each colour through its points in
the order of `weight`, with the names of `text` at their ends."""
Colour: TypeAlias = Literal["plain", "reference", "pale"]


@dataclass(frozen=True, slots=True)
class Chart:
    """One figure of a result, made from the rows of one of its tables.

    Rows whose number is undefined are left out, and a chart without rows is not drawn. A point
    without an interval has one of no width. Where a title, a format or a scale is the name of a
    field, that of the panel's first row is meant. A row of a line without x is a line across.
    """

    name: str
    """Its file, and its id on a page."""
    title: str
    table: str = ""
    """Without one: the values of all sources."""
    shape: Shape = "dots"
    x: str = ""
    y: str = ""
    colour: str = ""
    """The field that tells lines, bars or dots apart; of a matrix, the number."""
    panel: tuple[str, ...] = ()
    """The fields whose values have a panel each: the first is its title, the second stands below
    it, further ones only tell panels apart."""
    ends: tuple[str, str] | None = None
    titles: Mapping[str, str] = field(default_factory=dict)
    """Titles of the axes, by field."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What values of `colour` are called, in order."""
    colours: Mapping[str, Colour] = field(default_factory=dict)
    """The colours of those values, in order, where they mean something."""
    share: bool = False
    """Whether the number is a share: percentages, from 0 to 1."""
    domain: tuple[float, float] | None = None
    """From where to where the number is drawn."""
    format: str = ""
    """How d3 writes the number."""
    zero: bool = False
    """Whether its scale begins at 0."""
    scales: Mapping[str, str] = field(default_factory=dict)
    """`log` for fields on a logarithmic scale, `ordinal` for numbers that are drawn like names."""
    shared: bool = False
    """Whether the numbers of all panels have one scale."""
    rule: str | float | None = None
    """For comparison: a number, or the field that holds it. A line across, or a mark in each row
    of a panel where they differ."""
    hollow: str = ""
    """The field that says of a dot that it may be chance."""
    text: str = ""
    """The field that is written into the cells of a matrix."""
    weight: str = ""
    """The field that says how often a number of a histogram is there; without it once."""
    rows: Callable[[Rows, Result], Rows] | None = None
    """The rows that are drawn, made from those of the table."""
    says: str = ""
    """What one sees in it, for those who cannot."""


def make_chart(name: str, title: str, drawn: str, **more: Any) -> Chart:
    """A chart whose table, shape and fields are written in one line; fields of several with commas.

    >>> chart = make_chart("halves", "Accuracy", "groups bars x=task y=accuracy ends=low,high")
    >>> chart.table, chart.y, chart.ends
    ('groups', 'accuracy', ('low', 'high'))
    """
    table, shape, *entries = drawn.split()
    fields: dict[str, Any] = dict(entry.split("=") for entry in entries)
    fields |= {key: tuple(fields[key].split(",")) for key in ("panel", "ends") if key in fields}
    return Chart(name, title, table, cast(Shape, shape), **fields, **more)
