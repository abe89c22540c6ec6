"""Files to test items: a context, the options to choose from, which of them is right.

A file in this folder whose name does not begin with `_` reads one benchmark; which one a file
holds is seen from the fields of its first record. They stand beside the readers of texts, since an
item is not a text: what is counted, perturbed or scored is the context with each of its options.

Items as texts: the parts that a corpus may hold of each (`Item.parts`), for measures that look
items up (`contamination`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from rote.core.document import Document
from rote.core.errors import InputError
from rote.core.sample import SEVERAL
from rote.corpus.items._read import (
    Item,
    ItemOptions,
    ItemPart,
    PartKind,
    Record,
    fingerprint,
    fulfilling,
    read_items,
    read_records,
)

__all__ = [
    "Item",
    "ItemOptions",
    "ItemPart",
    "PartKind",
    "Record",
    "as_documents",
    "fingerprint",
    "form_of",
    "fulfilling",
    "read_items",
    "read_records",
]


TEXTS = "texts"
"""The reader of records that hold a text, which needs no putting together."""


def form_of(paths: Sequence[Path], items: str | None = None) -> str | None:
    """The benchmarks that these files hold; None where one holds texts, or other records."""
    forms = [items] if items else [_form(path) for path in paths]
    known = sorted({form for form in forms if form and form != TEXTS})
    return ", ".join(known) if known and None not in forms and TEXTS not in forms else None


def as_documents(
    paths: Sequence[Path],
    items: str | None = None,
    *,
    on_error: Literal["stop", "skip"] = "stop",
    skipped: list[InputError] | None = None,
) -> dict[str, list[Document]]:
    """The items of each file, by its name; a text holds all parts, SEVERAL between them."""
    found: dict[str, list[Document]] = {}
    for path in paths:
        own: list[Document] = []
        for record in read_records([path], items, on_error=on_error, skipped=skipped):
            item = record.item
            text = SEVERAL.join(part.text.replace(SEVERAL, " ") for part in item.parts())
            own.append(Document(item.id, text, {"task": item.task, **item.meta}))
        found.setdefault(path.name.split(".")[0], []).extend(own)
    return found


def _form(path: Path) -> str | None:
    """By the first record; None where no benchmark has its fields, or they hold a `text`."""
    try:
        first = next(iter(read_records([path])), None)
    except InputError:
        return None
    return None if first is None or "text" in first.fields else first.form
