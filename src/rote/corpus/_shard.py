"""Pieces of work: where they come from, what is in them, and what reading them gives.

The main process cuts input into shards; `Shard.read()` parses one, in whichever
process the caller likes, and gives a `Batch` of Documents.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

from rote.core.document import Document
from rote.core.errors import InputError
from rote.corpus._fields import Fields, Origin, ReadOptions, check_text, to_document

SHARD_BYTES = 4 * 2**20

# A record with its line (or record) number; a problem travels in the place of the record.
Numbered = tuple[int, "dict[str, Any] | Document | InputError"]


class Reader(Protocol):
    """What a file in this folder has to offer; heavy imports belong inside its functions."""

    SUFFIXES: tuple[str, ...]

    def inspect(self, part: Part, options: ReadOptions) -> Fields:
        """Find out which fields are used, from the first records alone."""

    def shards(self, part: Part, fields: Fields, options: ReadOptions) -> Iterator[Shard]:
        """Cut one part into shards of about SHARD_BYTES, in order, by the data alone."""


@dataclass(frozen=True, slots=True)
class Part:
    """One file, or whatever else one reader reads in one go."""

    reader: str
    where: Any
    origin: Origin
    size: int
    compression: str = ""
    plain: str | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """The Documents of one shard, and what could not be used."""

    documents: list[Document]
    file: str
    label: str
    lines: list[int]
    problems: list[InputError]
    id_field: str | None = None

    def without(self, numbers: Container[int], problems: list[InputError]) -> Batch:
        """The batch without some of its documents, and what was wrong with them."""
        kept = [i for i in range(len(self.documents)) if i not in numbers]
        return replace(
            self,
            documents=[self.documents[i] for i in kept],
            lines=[self.lines[i] for i in kept],
            problems=[*self.problems, *problems],
        )


@dataclass(frozen=True, slots=True)
class Shard:
    """A bounded piece of input that can be sent to another process.

    `size` is the number of bytes of the input that it stands for, so that the
    sizes of all shards add up to the size of the corpus.
    """

    origin: Origin
    fields: Fields
    options: ReadOptions
    size: int
    records: Callable[[], Iterable[Numbered]]

    def read(self) -> Batch:
        """Parse the piece; with `on_error="stop"` the first problem is raised."""
        documents: list[Document] = []
        lines: list[int] = []
        problems: list[InputError] = []
        origin, fields, strip = self.origin, self.fields, self.options.strip_prompt
        for number, item in self.records():
            try:
                if isinstance(item, dict):
                    document = to_document(item, fields, number, origin, strip=strip)
                elif isinstance(item, Document):
                    check_text(item.text, "text", number, origin)
                    document = self._with_source(item)
                else:
                    raise item
            except InputError as problem:
                if self.options.on_error == "stop":
                    raise
                problems.append(problem)
            else:
                documents.append(document)
                lines.append(number)
        return Batch(documents, origin.file, origin.label, lines, problems, self.fields.id)

    def _with_source(self, document: Document) -> Document:
        if self.origin.source is None:
            return document
        return replace(document, meta={**document.meta, "source": self.origin.source})


def failed(error: InputError) -> list[Numbered]:
    """The records of a shard that only carries bad news, such as a file that is cut short."""
    return [(error.line or 0, error)]
