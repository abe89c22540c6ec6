"""Files to test items: a context, the options to choose from, which of them is right.

A file in this folder whose name does not begin with `_` reads one benchmark; which one a file
holds is seen from the fields of its first record. They stand beside the readers of texts, since an
item is not a text: what is counted, perturbed or scored is the context with each of its options.
"""

from __future__ import annotations

from rote.corpus.items._item import Item, fingerprint
from rote.corpus.items._read import Record, read_items, read_records
from rote.corpus.items._texts import as_documents, form_of

__all__ = [
    "Item",
    "Record",
    "as_documents",
    "fingerprint",
    "form_of",
    "read_items",
    "read_records",
]
