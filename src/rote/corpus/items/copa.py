"""COPA: which of two sentences is the cause or the effect of a premise (Roemmele et al. 2011).

The instance is the premise and the choice, two sentences as they stand. The harness' prompt, which
joins them with *because* or *therefore*, is read from its logs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rote.corpus.items._read import Item, Source, choice, others, text

FIELDS = frozenset(("premise", "choice1", "choice2"))


def item(record: Mapping[str, Any], number: int, source: Source) -> Item:
    # Balanced COPA counts from 1, SuperGLUE (field `label`) from 0.
    own = "answer" in record
    return Item(
        id=str(record.get("id", record.get("idx", f"{source.name}:{number}"))),
        task="copa",
        context=text(record, "premise").rstrip() + " ",
        options=(text(record, "choice1"), text(record, "choice2")),
        answer=choice(record, "answer" if own else "label", first=int(own), options=2),
        meta=others(record, FIELDS, "functional"),
    )
