"""From the input to annotated pieces on disk, those passed over that are done already.

The input is read where pieces are annotated, which are told what is done; ids are checked here,
in order. What an earlier, interrupted run of the same command has sealed is recognized by its
content, and so is what the index holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rote.annotate.pieces import (
    Piece,
    PieceWork,
    checked,
    content_hash,
    content_of,
    left_of,
    pieces,
    read_piece,
)
from rote.annotate.store import Store
from rote.corpus import Corpus, Problems, digest
from rote.index.folders.ids import KnownIds
from rote.index.folders.origin import Origin
from rote.index.folders.source import Source, stored_size
from rote.run import Engine

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

    @property
    def contents(self) -> frozenset[str]:
        """All that need not be annotated."""
        return self._listed.union(*(origin.contents for origin in self._sealed.values()))

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


@dataclass(frozen=True, slots=True)
class Next:
    """What comes next in the input: a piece, or a note of what is done already."""

    size: int
    piece: Piece | None = None
    note: str = ""
    sealed: bool = False


def new_pieces(
    corpus: Corpus, work: PieceWork, engine: Engine, done: Progress, ids: KnownIds, told: Problems
) -> Iterator[Next]:
    """Pieces that the index does not hold; of what is done already only the size, and a note."""
    skip = corpus.options.on_error == "skip"
    work = replace(work, held=done.contents)
    for without, piece in pieces(corpus, work, engine):
        told.add(piece.batch.problems)
        if done.holds(piece.content):
            yield Next(piece.size, note=ALREADY)
            continue
        new = left_of(piece, work.path, partial(ids.check, skip=skip))
        if new is not piece.batch:
            told.add(new.problems[len(piece.batch.problems) :])
            piece = without(new)
        sealed, name = done.sealed(piece.content) if new.documents else (False, "")
        if not sealed and piece.content in work.held:
            # The same documents were sealed at another place of the input.
            piece = without(new, held=frozenset())
        yield Next(piece.size, note=name) if sealed else Next(piece.size, piece)
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


def stored_pieces(store: Store, engine: Engine, done: Progress, ids: KnownIds) -> Iterator[Next]:
    """Pieces of a store that the index does not hold; their ids must be new to it."""
    orders, work = stored_orders(store, done), partial(_look, store.path.absolute())
    # Here, a piece is opened in less time than a process takes to start.
    found = engine.map(work, orders, doing="reading the store") if engine.remote else None
    for each in found or map(work, orders):
        if each.piece is not None:
            ids.check(each.piece.batch, skip=False, remedy=_ANNOTATE_AGAIN)
        yield replace(each, piece=None) if each.sealed else each


def _look(path: Path, order: StoredOrder) -> Next:
    """What a piece of a store holds, but for its texts."""
    if not order.file:
        return Next(order.size, note=order.note)
    batch, annotation = read_piece(path / order.file, derived=())
    piece = Piece(
        file=order.file,
        content=content_of(order.file),
        documents=len(batch.documents),
        words=len(annotation.word.ids),
        size=order.size,
        digests=[],
        seen=Counter(),
        items=tuple((name, len(layer.ids)) for name, layer in annotation.trees.items()),
        batch=batch.bare(),
    )
    return Next(order.size, piece, order.note, order.sealed)


def places_of(piece: Piece, layers: Sequence[str]) -> int:
    """How long the longest stream of a piece is; memory is counted by it."""
    own = [items for name, items in piece.items if name in layers]
    return piece.documents + max([piece.words, *own])
