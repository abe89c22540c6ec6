"""From the input to annotated pieces on disk, those passed over that are done already.

The input is read in this process, in order; pieces are annotated in others. What an earlier,
interrupted run of the same command has sealed is recognized by its content, and so is what the
index holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rote.annotate.pieces import Order, Piece, Recipe, checked, content_of, order, read_piece
from rote.annotate.store import Store
from rote.core.errors import InputError
from rote.corpus import Batch, Corpus, Problems
from rote.index.folders.origin import Origin
from rote.index.segments.documents import Documents, hash_id

ALREADY = "already"
"""The note of a piece that the index holds."""


class Outdated(Exception):
    """A sealed segment of an earlier run that the input does not repeat."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(name)


class Progress:
    """What is done already, followed along the input.

    `sealed` are segments of an interrupted run. As soon as the input comes to the content that
    one of them begins with it must repeat all of it, or the segment is outdated.
    """

    def __init__(self, listed: Sequence[Origin], sealed: dict[str, Origin]) -> None:
        self._listed = frozenset(content for origin in listed for content in origin.contents)
        self._sealed = sealed
        self._waiting: dict[str, list[str]] = {}
        for name, origin in sealed.items():
            self._waiting.setdefault(origin.contents[0], []).append(name)
        self._current = ""
        self._left: list[str] = []

    def holds(self, content: str) -> bool:
        """Whether the index has this piece."""
        return content in self._listed

    def sealed(self, content: str) -> tuple[bool, str]:
        """Whether the piece is in a sealed segment, and the segment's name if it ends there."""
        if not self._left and self._waiting.get(content):
            self._current = self._waiting[content].pop(0)
            self._left = list(reversed(self._sealed[self._current].contents))
        if not self._left:
            return False, ""
        if self._left[-1] != content:
            raise Outdated(self._current)
        self._left.pop()
        return True, "" if self._left else self._current

    def end(self) -> None:
        """The input has ended."""
        if self._left:
            raise Outdated(self._current)


class KnownIds:
    """The ids that the index holds: a document with one of them is refused, or skipped."""

    def __init__(self, held: Sequence[Documents]) -> None:
        self._held = held
        self._hashes = np.sort(
            np.concatenate([np.empty(0, np.uint64), *(d.hashes[0] for d in held)])
        )

    def check(self, batch: Batch, *, skip: bool) -> Batch:
        """The batch without what is there; raises unless that is to be skipped."""
        there = self._known([document.id for document in batch.documents])
        if not any(there):
            return batch
        problems = [
            InputError(
                f"the index holds a document with the id '{document.id}' already",
                file=batch.file,
                line=line,
                field=batch.id_field,
                remedy="Choose another field with --id-field, or keep what the index holds with "
                "--on-error skip",
            )
            for document, line, known in zip(batch.documents, batch.lines, there)
            if known
        ]
        if not skip:
            raise problems[0]
        return replace(
            batch,
            documents=[d for d, known in zip(batch.documents, there) if not known],
            lines=[line for line, known in zip(batch.lines, there) if not known],
            problems=[*batch.problems, *problems],
        )

    def _known(self, ids: list[str]) -> list[bool]:
        if not len(self._hashes) or not ids:
            return [False] * len(ids)
        hashed = [hash_id(each.encode("utf-8", "surrogatepass")) for each in ids]
        new = np.array(hashed, np.uint64)
        places = np.minimum(np.searchsorted(self._hashes, new), len(self._hashes) - 1)
        likely = (self._hashes[places] == new).tolist()
        # Two ids may share a hash: only the id itself decides.
        return [
            maybe and any(held.find(each) is not None for held in self._held)
            for each, maybe in zip(ids, likely)
        ]


def orders(
    corpus: Corpus, recipe: Recipe, done: Progress, ids: KnownIds, problems: Problems
) -> Iterator[Order]:
    """What is to be annotated; of what is done already only the size, and a note."""
    skip = corpus.options.on_error == "skip"
    for number, (size, batch) in enumerate(checked(corpus, problems)):
        wanted = order(number, size, batch, recipe)
        nothing = replace(wanted, batch=replace(batch, documents=[]), digests=[])
        if done.holds(wanted.content):
            yield replace(nothing, note=ALREADY)
            continue
        new = ids.check(batch, skip=skip)
        if new is not batch:
            problems.add(new.problems[len(batch.problems) :])
            wanted = order(number, size, new, recipe)
        sealed, name = done.sealed(wanted.content) if new.documents else (False, "")
        yield replace(nothing, note=name) if sealed else wanted
    done.end()


@dataclass(frozen=True, slots=True)
class StoredOrder:
    """A piece of a store; an empty `file` stands for one that is done already."""

    file: str
    size: int
    note: str = ""


def stored_orders(store: Store, done: Progress) -> Iterator[StoredOrder]:
    """The same for a store, whose pieces are annotated."""
    for file in store.files:
        content, size = content_of(file), (store.path / file).stat().st_size
        if done.holds(content):
            yield StoredOrder("", size, ALREADY)
            continue
        sealed, name = done.sealed(content)
        yield StoredOrder("" if sealed else file, size, name)
    done.end()


@dataclass(frozen=True, slots=True)
class StoredWork:
    """Looks into a piece of a store; its ids must be new to the index."""

    path: Path
    ids: KnownIds

    def __call__(self, order: StoredOrder) -> Piece:
        if not order.file:
            return Piece("", "", 0, 0, order.size, [], Counter(), note=order.note)
        batch, annotation = read_piece(self.path / order.file, derived=())
        self.ids.check(batch, skip=False)
        return Piece(
            file=order.file,
            content=content_of(order.file),
            documents=len(batch.documents),
            words=len(annotation.word.ids),
            size=order.size,
            digests=[],
            seen=Counter(),
            items=tuple((name, len(layer.ids)) for name, layer in annotation.trees.items()),
        )


def places_of(piece: Piece, layers: Sequence[str]) -> int:
    """How long the longest stream of a piece is; memory is counted by it."""
    own = [items for name, items in piece.items if name in layers]
    return piece.documents + max([piece.words, *own])
