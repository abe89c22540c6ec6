"""What a report is made of, whatever shows it: sections, and in them texts, tables and figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from rote.report.report import Evidence
from rote.report.tables.sheet import Sheet

if TYPE_CHECKING:
    from rote.report.summary.facets import Statement


@dataclass(frozen=True, slots=True)
class Said:
    """A paragraph; a quiet one explains what stands beside it."""

    text: str
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Listed:
    """Short paragraphs, one below the other."""

    items: Sequence[str]
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """The statements of the summary."""

    statements: Sequence[Statement]


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and what is known of them; `code` for what is copied letter by letter."""

    facts: Sequence[tuple[str, str]]
    code: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure as its specification (`_svg.spec`); `says` is what one sees in it."""

    id: str
    title: str
    says: str
    spec: str


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts with what was found marked in them."""

    id: str
    title: str
    evidence: Sequence[Evidence]
    said: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Blocks below a heading of their own; `closed` where few will want to read all of them."""

    title: str
    blocks: Sequence[Block]
    closed: bool = False


Block: TypeAlias = Said | Listed | Found | Facts | Figure | Texts | Sheet | Group


@dataclass(frozen=True, slots=True)
class Section:
    """One section of the report; `id` is its address on the page."""

    id: str
    title: str
    blocks: Sequence[Block] = field(default_factory=tuple)
