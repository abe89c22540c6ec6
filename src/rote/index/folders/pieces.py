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

from rote.annotate.pieces import (
    Order,
    Piece,
    Recipe,
    checked,
    content_hash,
    content_of,
    order,
    read_piece,
)
from rote.annotate.store import Store
from rote.corpus import Corpus, Problems, digest
from rote.index.folders.ids import KnownIds
from rote.index.folders.origin import Origin
from rote.index.folders.source import Source, stored_size

ALREADY = "already"
"""The note of a piece that the index holds."""

_ANNOTATE_AGAIN = "Give each text an id of its own: `rote annotate` with another --id-field"


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


def contents(source: Source, problems: Problems) -> Iterator[str]:
    """What the pieces of a new index of this input are known by; nothing is annotated for it."""
    if isinstance(source, Store):
        yield from map(content_of, source.files)
        return
    ids, skip = KnownIds(), source.options.on_error == "skip"
    for _, batch in checked(source, problems):
        kept = ids.check(batch, skip=skip)
        problems.add(kept.problems[len(batch.problems) :])
        if kept.documents:
            yield content_hash(kept.documents, map(digest, kept.documents))


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
    """A piece of a store; an empty `file` stands for one that the index holds.

    One that is `sealed` is done too, but its ids are not known to the index yet.
    """

    file: str
    size: int
    note: str = ""
    sealed: bool = False


def stored_orders(store: Store, done: Progress) -> Iterator[StoredOrder]:
    """The same for a store, whose pieces are annotated."""
    for file in store.files:
        content, size = content_of(file), stored_size(store, file)
        if done.holds(content):
            yield StoredOrder("", size, ALREADY)
            continue
        sealed, name = done.sealed(content)
        yield StoredOrder(file, size, name, sealed)
    done.end()


@dataclass(frozen=True, slots=True)
class StoredWork:
    """Looks into a piece of a store; its ids must be new to the index."""

    path: Path
    ids: KnownIds

    def __call__(self, order: StoredOrder) -> Piece:
        nothing = Piece("", "", 0, 0, order.size, [], Counter(), note=order.note)
        if not order.file:
            return nothing
        batch, annotation = read_piece(self.path / order.file, derived=())
        self.ids.check(batch, skip=False, remedy=_ANNOTATE_AGAIN)
        if order.sealed:
            return nothing
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
