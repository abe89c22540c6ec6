"""Texts as items with nothing to choose: how well does a model, or a corpus, know them?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rote.corpus.items._read import Item, Source, others, text

FIELDS = frozenset(("text",))


def item(record: Mapping[str, Any], number: int, source: Source) -> Item:
    return Item(
        id=str(record.get("id", f"{source.name}:{number}")),
        task=str(record.get("task", source.name.split(".")[0])),
        context="",
        options=(text(record, "text"),),
        answer=0,
        meta=others(record, (*FIELDS, "id", "task")),
    )
