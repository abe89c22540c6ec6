"""What is checked over a whole corpus while it streams by: duplicate ids, problems, fingerprint."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Literal

from rote.core.document import Document
from rote.core.errors import InputError
from rote.corpus._seen import SeenIds
from rote.corpus._shard import Batch


def digest(document: Document) -> bytes:
    """A hash of one document's id and text; made where the text is, in any process."""
    found = blake2b(digest_size=16)
    for value in (document.id, document.text):
        data = value.encode("utf-8", "surrogatepass")
        # The length keeps ("ab", "c") apart from ("a", "bc").
        found.update(len(data).to_bytes(8, "little"))
        found.update(data)
    return found.digest()


class Fingerprint:
    """A hash over the digests of documents in order, whatever file they came from."""

    def __init__(self) -> None:
        self._hash = blake2b(digest_size=16)

    def add(self, digests: Iterable[bytes]) -> None:
        for each in digests:
            self._hash.update(each)

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


class Problems:
    """What was skipped: all of it counted, the first thousand kept."""

    KEPT = 1000

    def __init__(self) -> None:
        self.count = 0
        self.kept: list[InputError] = []

    def add(self, problems: Iterable[InputError]) -> None:
        for problem in problems:
            self.count += 1
            if len(self.kept) < self.KEPT:
                self.kept.append(problem)

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[InputError]:
        return iter(self.kept)

    def listed(self, most: int = 20) -> list[str]:
        """Lines for a person: how many, the first of them, how many more."""
        if not self.count:
            return []
        lines = [f"skipped {self.count:,} record{'s' * (self.count != 1)}:"]
        lines += [f"  {problem}" for problem in self.kept[:most]]
        if self.count > most:
            lines.append(f"  ... and {self.count - most:,} more")
        return lines


class DuplicateIds:
    """Finds the same id twice within one file, over batches in order."""

    def __init__(self, on_error: Literal["stop", "skip"] = "stop") -> None:
        self._on_error = on_error
        self._file: str | None = None
        self._seen = SeenIds()

    def check(self, batch: Batch) -> Batch:
        """The batch without documents whose id was seen before; raises unless they are skipped."""
        if batch.file != self._file:
            self._file = batch.file
            self._seen.clear()
        again = self._seen.take([document.id for document in batch.documents], batch.lines)
        return self._without(batch, again) if again else batch

    def _without(self, batch: Batch, seen: dict[int, int]) -> Batch:
        problems = [
            InputError(
                f"the id '{batch.documents[i].id}' stands in line {seen[i]} already",
                file=batch.file,
                line=batch.lines[i],
                field=batch.id_field,
                remedy="Choose another field with --id-field, or keep the first of each "
                "with --on-error skip",
            )
            for i in sorted(seen)
        ]
        if self._on_error == "stop":
            raise problems[0]
        return batch.without(seen, problems)
