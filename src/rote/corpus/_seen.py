"""Which ids came by before: exact, the same in every run, in bounded memory.

In memory an id takes 24 bytes: a hash, a mark and a place, in sorted runs that are merged when
they are of like length. The ids themselves lie in a temporary file once they are many; one whose
hash is known is compared with them, so that two ids that share a hash stay two.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    # For each id its mark and its place in the file, in the order of the hashes.
    Run = tuple[NDArray[np.uint64], NDArray[np.int64]]

_IN_MEMORY = 64 * 2**20
_LENGTH = 4  # bytes in front of each id in the file


def hash_id(identity: bytes) -> int:
    return int.from_bytes(blake2b(identity, digest_size=8).digest(), "big")


class SeenIds:
    """Takes ids as they come, and says of each whether it came before."""

    def __init__(self, in_memory: int = _IN_MEMORY) -> None:
        file = tempfile.SpooledTemporaryFile(in_memory, prefix="rote-")  # noqa: SIM115
        weakref.finalize(self, file.close)
        self._file: Any = file
        self._runs: list[Run] = []

    def clear(self) -> None:
        self._file.seek(0)
        self._file.truncate()
        self._runs = []

    def take(self, ids: Sequence[str], marks: Sequence[int]) -> dict[int, int]:
        """Which of these ids came before, here or earlier: their numbers, and the first's mark."""
        import numpy as np

        own: dict[str, int] = {}
        for number, identity in enumerate(ids):
            own.setdefault(identity, number)
        data = {identity: identity.encode("utf-8", "surrogatepass") for identity in own}
        hashes = np.array(list(map(hash_id, data.values())), np.uint64)
        before = self._look_up(data, hashes)
        new = np.array([identity not in before for identity in own], bool)
        firsts = np.array([marks[number] for number in own.values()], np.int64)
        places = self._write(raw for identity, raw in data.items() if identity not in before)
        self._remember(hashes[new], np.stack((firsts[new], places)))
        return {
            number: before.get(identity, marks[own[identity]])
            for number, identity in enumerate(ids)
            if identity in before or own[identity] != number
        }

    def _look_up(self, data: dict[str, bytes], hashes: NDArray[np.uint64]) -> dict[str, int]:
        """The marks of those that came in an earlier call."""
        import numpy as np

        found: dict[str, int] = {}
        names = list(data)
        for known, (marks, places) in self._runs:
            low, high = np.searchsorted(known, hashes), np.searchsorted(known, hashes, "right")
            for i in np.flatnonzero(low < high).tolist():
                for at in range(int(low[i]), int(high[i])):
                    if self._read(int(places[at])) == data[names[i]]:
                        found[names[i]] = int(marks[at])
        return found

    def _remember(self, hashes: NDArray[np.uint64], rest: NDArray[np.int64]) -> None:
        import numpy as np

        if not len(hashes):
            return
        order = np.argsort(hashes, kind="stable")
        run = hashes[order], rest[:, order]
        while self._runs and len(self._runs[-1][0]) <= 2 * len(run[0]):
            old, old_rest = self._runs.pop()
            joined = np.concatenate((old, run[0]))
            order = np.argsort(joined, kind="stable")
            run = joined[order], np.concatenate((old_rest, run[1]), axis=1)[:, order]
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

    def _read(self, place: int) -> bytes:
        self._file.seek(place)
        length = int.from_bytes(self._file.read(_LENGTH), "little")
        found: bytes = self._file.read(length)
        return found
