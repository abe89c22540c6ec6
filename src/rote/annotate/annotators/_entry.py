"""A line of `rote annotate --list`: what is there, whose it is, what it needs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """`needs` is empty where the annotator can be used as it is."""

    name: str
    gives: tuple[str, ...]
    licence: str
    accuracy: str
    needs: str = ""
