"""One text and what is known about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Document:
    """A text, its id, and its other fields.

    `meta` may hold `source` (who wrote it), `author`, `doc_id` (what it answers:
    texts with the same doc_id are parallel), `prompt`, `reference`, `split` and
    anything else; measures name the fields they use.
    """

    id: str
    text: str
    meta: Mapping[str, Any] = field(default_factory=dict)


def describe_absence(fields: Mapping[str, Any], name: str) -> str:
    """Why a record has no value in a field.

    >>> describe_absence({"source": None}, "source"), describe_absence({}, "source")
    ('is null', 'is missing')
    """
    return "is null" if name in fields else "is missing"
