"""Measures: one file each, and the way in for Python, the shell and whatever comes.

    compute({"lexical": Options()}, "stories.jsonl", settings=Settings(by=("source",)))

reads and tokenizes the texts once and runs every measure that was asked for on them.
"""

from __future__ import annotations

from rote.measure._settings import Settings

PANEL = ("lexical", "compression", "self-repetition", "homogenization")
"""The measures of `rote diversity`, in the order in which they are shown."""

__all__ = ["PANEL", "Settings"]
