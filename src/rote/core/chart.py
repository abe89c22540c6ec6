"""A chart is data as well: a shape, and the fields of a table that it draws.

Four shapes serve most figures; `report/figures` draws them with one look. A measure whose figure is
none of them gives `draw`, a function that makes an Altair chart of a result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from rote.core.table import Rows

if TYPE_CHECKING:
    from rote.core.result import Result

Shape: TypeAlias = Literal["dots", "lines", "bars", "matrix"]
"""dots: names down, numbers across, with intervals; lines: a number over steps, a line for each
name; bars: a bar for each name, in groups; matrix: two names, a number as colour."""


@dataclass(frozen=True, slots=True)
class Chart:
    """One figure of a result, made from the rows of one of its tables."""

    name: str
    """Its file, and its id on a page."""
    title: str
    table: str = ""
    shape: Shape = "dots"
    x: str = ""
    y: str = ""
    colour: str = ""
    """The field that tells lines, bars or dots apart."""
    panel: str = ""
    """The field whose values have a panel each, side by side."""
    ends: tuple[str, str] | None = None
    titles: Mapping[str, str] = field(default_factory=dict)
    """Titles of the axes, by field."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What values of `colour` are called, in order."""
    share: bool = False
    """Whether the number is a share: percentages, from 0 to 1."""
    rule: str | float | None = None
    """A line across for comparison: a number, or the field of the first row that holds it."""
    rows: Callable[[Rows, Result], Rows] | None = None
    """The rows that are drawn, made from those of the table."""
    says: str = ""
    """What one sees in it, for those who cannot."""
    draw: Callable[[Result], Any] | None = None
    """For a figure of another shape: the Altair chart, or None where there is nothing to draw."""
