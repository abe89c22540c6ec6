"""Files to test items: a context, the options to choose from, which of them is right.

Benchmarks are a table (`_read.BENCHMARKS`); a file here without a leading `_`, or a module of an
entry point `rote.corpus.items`, reads another. Which one a file holds is seen from the fields of
its first record. They stand beside the readers of texts, since an item is not a text: what is
counted, perturbed or scored is the context with each of its options.

Items as texts: the parts that a corpus may hold of each (`Item.parts`), for measures that look
items up (`contamination`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rote.core.document import Document
from rote.core.errors import InputError
from rote.core.sample import SEVERAL
from rote.corpus._open import Input
from rote.corpus._shard import ReadOptions
from rote.corpus.items._read import (
    TEXTS,
    Item,
    ItemOptions,
    ItemPart,
    ItemRecord,
    PartKind,
    fingerprint,
    fulfilling,
    read_items,
    read_records,
    take_items,
)

__all__ = [
    "Item",
    "ItemOptions",
    "ItemPart",
    "ItemRecord",
    "PartKind",
    "as_documents",
    "fingerprint",
    "form_of",
    "fulfilling",
    "read_items",
    "read_records",
    "take_items",
]


def form_of(parts: Sequence[Input], items: str | None = None) -> str | None:
    """The benchmarks that these inputs hold; None where one holds texts, or other records."""
    forms = [items] if items else [_form(part) for part in parts]
    known = sorted({form for form in forms if form and form != TEXTS})
    return ", ".join(known) if known and None not in forms and TEXTS not in forms else None


def as_documents(
    parts: Sequence[Input],
    items: str | None = None,
    *,
    read: ReadOptions | None = None,
    skipped: list[InputError] | None = None,
) -> dict[str, list[Document]]:
    """The items of each file, by its name; a text holds all parts, SEVERAL between them."""
    by_item: dict[str, list[Document]] = {}
    for part in parts:
        documents: list[Document] = []
        for record in read_records(part, items, read=read, skipped=skipped):
            item = record.item
            text = SEVERAL.join(part.text.replace(SEVERAL, " ") for part in item.parts())
            documents.append(Document(item.id, text, {"task": item.task, **item.meta}))
        name = Path(part).name.split(".")[0] if isinstance(part, (str, Path)) else TEXTS
        by_item.setdefault(name, []).extend(documents)
    return by_item


def _form(part: Input) -> str | None:
    """By the first record; None where no benchmark has its fields, or they hold a `text`."""
    try:
        first = next(iter(read_records(part)), None)
    except InputError:
        return None
    return None if first is None or "text" in first.fields else first.form
