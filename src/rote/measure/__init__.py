"""Measures: one file each, and the way in for Python, the shell and whatever comes.

    compute({"lexical": Options()}, "stories.jsonl", settings=Settings(by=("source",)))

reads and tokenizes the texts once and runs every measure that was asked for on them.
"""

from __future__ import annotations

from typing import Any

from rote.measure._settings import Settings

PANEL: tuple[tuple[str, dict[str, Any]], ...] = (
    ("lexical", {}),
    ("syntactic", {}),
    ("semantic", {}),
    ("compression", {}),
    ("compression", {"layer": "pos"}),
    ("self-repetition", {}),
    ("homogenization", {}),
)
"""The measures of `rote diversity` and their settings, in the order in which they are shown."""

__all__ = ["PANEL", "Settings"]
