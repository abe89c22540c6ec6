"""A corpus: parts in order, read as a stream of Documents or shard by shard."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

from rote.core import plugins
from rote.core.document import Document
from rote.corpus._checks import DuplicateIds, Fingerprint, Problems, digest
from rote.corpus._fields import Fields, ReadOptions
from rote.corpus._shard import Part, Reader, Shard

if TYPE_CHECKING:
    from pathlib import Path


class Corpus:
    """A stream of Documents that can be read again and again; never a list in memory.

    `open_corpus` makes one. Iterating gives Documents, `shards()` pieces of work.
    `problems` holds what the last iteration skipped. Temporary copies (of standard
    input) live as long as the corpus does.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        options: ReadOptions,
        *,
        remarks: Sequence[str] = (),
        temporary: Sequence[Path] = (),
    ) -> None:
        self.options = options
        self.problems = Problems()
        self.parts = tuple(parts)
        self._remarks = tuple(remarks)
        self._fields: dict[int, Fields] = {}
        for path in temporary:
            weakref.finalize(self, os.unlink, path)

    def __iter__(self) -> Iterator[Document]:
        duplicates = DuplicateIds(self.options.on_error)
        self.problems = problems = Problems()
        for shard in self.shards():
            batch = duplicates.check(shard.read())
            problems.add(batch.problems)
            yield from batch.documents

    def shards(self) -> Iterator[Shard]:
        """Pieces of about 4 MB in input order, the same ones every time."""
        for number, part in enumerate(self.parts):
            yield from _reader(part).shards(part, self._fields_of(number), self.options)

    @property
    def size(self) -> int:
        """Bytes of input (characters for texts in memory); the sizes of the shards add up to it."""
        return sum(part.size for part in self.parts)

    @property
    def fingerprint(self) -> str:
        """A hash over ids and texts; reads everything once."""
        fingerprint = Fingerprint()
        fingerprint.add(map(digest, self))
        return fingerprint.hexdigest()

    @property
    def guesses(self) -> list[str]:
        """What was assumed about the input, a line for each kind; looks at the start of files."""
        files: dict[str, list[str]] = {}
        for number, part in enumerate(self.parts):
            if remark := self._fields_of(number).remark:
                files.setdefault(remark, []).append(part.origin.file)
        return [*self._remarks, *(f"{_several(names)}: {r}" for r, names in files.items())]

    def _fields_of(self, number: int) -> Fields:
        if number not in self._fields:
            part = self.parts[number]
            self._fields[number] = _reader(part).inspect(part, self.options)
        return self._fields[number]


def _reader(part: Part) -> Reader:
    return cast(Reader, plugins.load("corpus", part.reader))


def _several(names: list[str]) -> str:
    if len(names) <= 2:
        return " and ".join(names)
    return f"{names[0]} and {len(names) - 1} other files"
