"""What is checked over a whole corpus while it streams by: duplicate ids, problems, fingerprint."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal

from rote.core.document import Document
from rote.core.errors import InputError
from rote.core.progress import several
from rote.corpus._fields import with_flags
from rote.corpus._shard import Batch, hash_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_IN_MEMORY = 64 * 2**20
_LENGTH = 4  # bytes in front of each id in the file


class SeenIds:
    """Takes ids as they come, and says of each whether it came before."""

    def __init__(self, in_memory: int = _IN_MEMORY) -> None:
        file = tempfile.SpooledTemporaryFile(in_memory, prefix="rote-")  # noqa: SIM115
        weakref.finalize(self, file.close)
        self._file: Any = file
        # Hashes in order, and for each id its mark and its place in the file.
        self._runs: list[tuple[NDArray[np.uint64], NDArray[np.int64]]] = []

    def clear(self) -> None:
        self._file.seek(0)
        self._file.truncate()
        self._runs = []

    def take(
        self, ids: Sequence[str], marks: Sequence[int], hashed: Sequence[int] = ()
    ) -> dict[int, int]:
        """Which of these ids came before, here or earlier: their numbers, and the first's mark."""
        import numpy as np

        first: dict[str, int] = {}
        for number, identity in enumerate(ids):
            first.setdefault(identity, number)
        data = {identity: identity.encode("utf-8", "surrogatepass") for identity in first}
        numbers = [hashed[n] for n in first.values()] if hashed else list(map(hash_of, first))
        hashes = np.array(numbers, np.uint64)
        before = self._look_up(data, hashes)
        new = np.array([identity not in before for identity in first], bool)
        firsts = np.array([marks[number] for number in first.values()], np.int64)
        places = self._write(raw for identity, raw in data.items() if identity not in before)
        self._remember(hashes[new], np.stack((firsts[new], places)))
        return {
            number: before.get(identity, marks[first[identity]])
            for number, identity in enumerate(ids)
            if identity in before or first[identity] != number
        }

    def _look_up(self, data: dict[str, bytes], hashes: NDArray[np.uint64]) -> dict[str, int]:
        """The marks of those that came in an earlier call."""
        import numpy as np

        lines: dict[str, int] = {}
        names = list(data)
        for known, (marks, places) in self._runs:
            low, high = np.searchsorted(known, hashes), np.searchsorted(known, hashes, "right")
            for i in np.flatnonzero(low < high).tolist():
                for at in range(int(low[i]), int(high[i])):
                    self._file.seek(int(places[at]))
                    length = int.from_bytes(self._file.read(_LENGTH), "little")
                    if self._file.read(length) == data[names[i]]:
                        lines[names[i]] = int(marks[at])
        return lines

    def _remember(self, hashes: NDArray[np.uint64], rest: NDArray[np.int64]) -> None:
        import numpy as np

        if not len(hashes):
            return
        order = np.argsort(hashes, kind="stable")
        run = hashes[order], rest[:, order]
        while self._runs and len(self._runs[-1][0]) <= 2 * len(run[0]):
            old, old_rest = self._runs.pop()
            positions = np.concatenate((old, run[0]))
            order = np.argsort(positions, kind="stable")
            run = positions[order], np.concatenate((old_rest, run[1]), axis=1)[:, order]
        self._runs.append(run)

    def _write(self, ids: Iterable[bytes]) -> NDArray[np.int64]:
        """Ids behind those in the file; gives their places."""
        import numpy as np

        start = self._file.seek(0, os.SEEK_END)
        pieces = [len(raw).to_bytes(_LENGTH, "little") + raw for raw in ids]
        self._file.write(b"".join(pieces))
        ends = np.cumsum([0, *map(len, pieces)], dtype=np.int64)
        places: NDArray[np.int64] = start + ends[:-1]
        return places


def digest(document: Document) -> bytes:
    """A hash of one document's id and text; made where the text is, in any process."""
    state = blake2b(digest_size=16)
    for value in (document.id, document.text):
        data = value.encode("utf-8", "surrogatepass")
        # The length keeps ("ab", "c") apart from ("a", "bc").
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.digest()


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
        lines = [f"skipped {several(self.count, 'record')}:"]
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
        ids = [document.id for document in batch.documents]
        again = self._seen.take(ids, batch.lines, batch.hashes)
        return self._without(batch, again) if again else batch

    def _without(self, batch: Batch, positions: dict[int, int]) -> Batch:
        problems = [
            with_flags(
                InputError(
                    f"the id '{batch.documents[i].id}' is in line {positions[i]} already",
                    file=batch.file,
                    line=batch.lines[i],
                    field=batch.id_field,
                    remedy="Choose another field with --id-field, or keep the first of each "
                    "with --on-error skip",
                ),
                batch.role,
            )
            for i in sorted(positions)
        ]
        if self._on_error == "stop":
            raise problems[0]
        return batch.without(positions, problems)
