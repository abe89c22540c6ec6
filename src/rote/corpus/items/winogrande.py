"""WinoGrande: which of two names fills the gap in a sentence (Sakaguchi et al. 2020)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rote.corpus.items._read import Item, Source, choice, others, text

FIELDS = frozenset(("sentence", "option1", "option2"))
_GAP = "_"


def item(record: Mapping[str, Any], number: int, source: Source) -> Item:
    before, gap, after = text(record, "sentence").partition(_GAP)
    if not gap:
        raise ValueError(f"the field 'sentence' has no gap '{_GAP}'")
    return Item(
        id=str(record.get("id", record.get("qID", f"{source.name}:{number}"))),
        task="winogrande",
        context=before,
        options=(text(record, "option1"), text(record, "option2")),
        answer=choice(record, "answer", first=1, options=2),
        ending=after,
        meta=others(record, FIELDS, "functional"),
    )
