"""One document for each id: ids that the index holds, or that came by, are refused or skipped."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import InputError
from rote.corpus import Batch, SeenIds, hash_of
from rote.index.segments.documents import Documents


def _among(ordered: NDArray[np.uint64], hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
    if not len(ordered):
        return np.zeros(len(hashes), np.bool_)
    places = np.minimum(np.searchsorted(ordered, hashes), len(ordered) - 1)
    found: NDArray[np.bool_] = ordered[places] == hashes
    return found


class KnownIds:
    """An index holds each id once: a second document with one is refused, or skipped.

    Known are the ids that the index holds and those that came by in this run.
    """

    def __init__(self, held: Sequence[Documents] = ()) -> None:
        self._held = held
        self._hashes = np.sort(
            np.concatenate([np.empty(0, np.uint64), *(d.hashes[0] for d in held)])
        )
        self._seen = SeenIds()

    def check(self, batch: Batch, *, skip: bool, remedy: str | None = None) -> Batch:
        """The batch without what is there; raises unless that is to be skipped."""
        if not batch.documents:
            return batch
        ids = [document.id for document in batch.documents]
        hashes = batch.hashes or list(map(hash_of, ids))
        in_index = self._in_index(ids, hashes)
        new = np.flatnonzero(~in_index).tolist()
        lines, hashed = ([values[i] for i in new] for values in (batch.lines, hashes))
        again = self._seen.take([ids[i] for i in new], lines, hashed)
        there = in_index.copy()
        there[[new[i] for i in again]] = True
        if not there.any():
            return batch
        problems = [
            InputError(
                f"the index holds a document with the id '{ids[i]}' already"
                if in_index[i]
                else f"the input holds a document with the id '{ids[i]}' already, in another file",
                file=batch.file,
                line=batch.lines[i],
                field=batch.id_field,
                remedy=remedy
                or "Choose another field with --id-field, or keep what came first "
                "with --on-error skip",
            )
            for i in np.flatnonzero(there).tolist()
        ]
        if not skip:
            raise problems[0]
        return batch.without(set(np.flatnonzero(there).tolist()), problems)

    def _in_index(self, ids: list[str], hashes: Sequence[int]) -> NDArray[np.bool_]:
        there = _among(self._hashes, np.array(hashes, np.uint64))
        # Two ids may share a hash: only the id itself decides.
        for i in np.flatnonzero(there).tolist():
            there[i] = any(held.find(ids[i]) is not None for held in self._held)
        return there
