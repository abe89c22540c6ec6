"""What figures take from tables."""

from __future__ import annotations

from rote.core.result import Result
from rote.core.table import Rows, defined, distinct

__all__ = ["defined", "distinct", "sources_of"]


def sources_of(rows: Rows, result: Result) -> list[str]:
    """The sources of a table, the reference first."""
    return sorted(distinct(rows, "source"), key=lambda name: name != result.reference)
