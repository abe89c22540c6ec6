"""PIQA: which of two solutions reaches a goal (Bisk et al. 2020)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rote.corpus.items._read import Item, Source, choice, others, text

FIELDS = frozenset(("goal", "sol1", "sol2"))


def item(record: Mapping[str, Any], number: int, source: Source) -> Item:
    return Item(
        id=str(record.get("id", f"{source.name}:{number}")),
        task="piqa",
        context=text(record, "goal").rstrip() + " ",
        options=(text(record, "sol1"), text(record, "sol2")),
        answer=choice(record, "label", first=0, options=2),
        meta=others(record, FIELDS, "functional"),
    )
