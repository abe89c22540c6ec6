"""BLiMP: pairs of sentences of which one is grammatical (Warstadt et al. 2020).

The task is the phenomenon, as in the benchmark's own tables; the paradigm is a field.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rote.corpus.items._read import Item, Source, others, text

FIELDS = frozenset(("sentence_good", "sentence_bad"))
_PHENOMENON = ("phenomenon", "linguistics_term")
"""Here, and in the files of the authors."""


def item(record: Mapping[str, Any], number: int, source: Source) -> Item:
    task = next((str(record[name]) for name in _PHENOMENON if name in record), "blimp")
    # Pairs are numbered within a paradigm.
    parts = [str(record[n]) for n in ("paradigm", "UID", "pair_id", "pairID") if n in record]
    return Item(
        id=str(record["id"]) if "id" in record else "-".join(parts) or f"{source.name}:{number}",
        task=task,
        context="",
        options=(text(record, "sentence_good"), text(record, "sentence_bad")),
        answer=0,
        meta=others(record, FIELDS, "formal"),
    )
