"""One text and what is known about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from rote.core.layer import Ids, Layer


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


# What an annotator makes of a batch of documents: aligned layers, and trees if it parses.


@dataclass(frozen=True, slots=True)
class Annotation:
    """Layers that align one to one with `word` (`word` itself is among them).

    `heads`, where the annotator parses: for every item the number of its head in the
    same columns, -1 for a root. `trees` are layers with items of their own
    (constituents, breadth-first labels).
    """

    layers: Mapping[str, Layer]
    heads: Ids | None = None
    trees: Mapping[str, Layer] = field(default_factory=dict)

    @property
    def word(self) -> Layer:
        return self.layers["word"]


class Annotator(Protocol):
    """Makes annotations; small and picklable, since it travels to worker processes."""

    @property
    def name(self) -> str:
        """As given to `--annotator`: `rote`, `spacy:MODEL`, ..."""

    @property
    def signature(self) -> str:
        """Name and versions of everything that can change a layer."""

    @property
    def gives(self) -> tuple[str, ...]:
        """Names of the layers that it can make."""

    @property
    def language(self) -> str | None:
        """The code of the one language that it knows; None where it takes any."""

    def __call__(self, documents: Sequence[Document], layers: Sequence[str]) -> Annotation:
        """Annotate; only the layers asked for (and `word`, with sentence ends) need be made."""
