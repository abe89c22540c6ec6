"""LAMBADA: a passage whose last word is to be given (Paperno et al. 2016). One option, no other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rote.corpus.items._read import Item, Source, others, text

FIELDS = frozenset(("context", "target"))


def item(record: Mapping[str, Any], number: int, source: Source) -> Item:
    return Item(
        id=str(record.get("id", f"{source.name}:{number}")),
        task="lambada",
        context=text(record, "context") + " ",
        options=(text(record, "target"),),
        answer=0,
        meta=others(record, FIELDS, "functional"),
    )
