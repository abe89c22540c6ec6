"""Write pieces to sealed segments, one at a time, while further pieces are annotated.

Which pieces go into which segment depends on the data and on the memory alone, never on how
many processes there are or when the work was interrupted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from rote.annotate.pieces import KEPT, read_piece
from rote.core.document import Annotation
from rote.core.progress import Advance, Reporter, Silent
from rote.corpus import Batch
from rote.index.folders.manifest import (
    SEGMENTS,
    ListedSegment,
    Manifest,
    Provenance,
    document_digests,
    embedder_of,
    read_sealed_segment,
    settings_hash,
    write_provenance,
)
from rote.index.folders.transaction import seal_segment
from rote.index.segments.meanings import write_meanings
from rote.index.segments.segment import WORD, open_segment
from rote.index.segments.writers import write_segment
from rote.run import Engine

SealedSegment = tuple[ListedSegment, Provenance]


@dataclass(frozen=True, slots=True)
class QueuedPiece:
    """An annotated piece that waits for its segment; a temporary one is removed then."""

    file: Path
    content: str
    words: int
    places: int
    temporary: bool


def settings_key(manifest: Manifest) -> str:
    """Segments with the same key and the same documents are the same."""
    return settings_hash(
        manifest.signature,
        manifest.subwords,
        manifest.layers,
        manifest.sorted_layers,
        manifest.author_field,
        *([manifest.form] if manifest.is_compact else []),
        *([manifest.meanings.signature] if manifest.meanings else []),
    )


class _Abandoned(Exception):
    """The segment will not be needed: the rest of its pieces never comes."""


@dataclass(slots=True)
class _PieceQueue:
    """The pieces of one segment as they come: None is the end, an error that none will be."""

    pieces: list[QueuedPiece] = field(default_factory=list)
    coming: SimpleQueue[QueuedPiece | _Abandoned | None] = field(default_factory=SimpleQueue)
    reporter: Reporter = field(default_factory=Silent)

    def stage(
        self, title: str, total: float | None, unit: str = ""
    ) -> AbstractContextManager[Advance]:
        """Reports to whoever listens by then."""
        return self.reporter.stage(title, total, unit)

    def say(self, line: str) -> None:
        self.reporter.say(line)

    def warn(self, line: str) -> None:
        self.reporter.warn(line)

    def __iter__(self) -> Iterator[QueuedPiece]:
        while (piece := self.coming.get()) is not None:
            if isinstance(piece, _Abandoned):
                raise piece
            yield piece


class SegmentWriter:
    """Writes pieces to a segment as they come, and seals it when it is as large as memory allows.

    In a thread of its own, one segment after the other: two would take twice the memory. On other
    machines a segment is a task, which begins when all of its pieces are there.
    """

    def __init__(
        self, path: Path, manifest: Manifest, limit: int, threads: int, engine: Engine
    ) -> None:
        self._work = SealTask(path.absolute(), manifest, 1 if engine.remote else threads)
        self._limit, self._engine = limit, engine
        self._group: _PieceQueue | None = None
        self._places = 0
        self._futures: list[Future[SealedSegment]] = []
        self._pool = ThreadPoolExecutor(engine.jobs if engine.remote else 1)

    def __enter__(self) -> SegmentWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._group is not None:
            self._group.coming.put(_Abandoned())
        self._pool.shutdown(wait=True, cancel_futures=True)

    def add(self, piece: QueuedPiece) -> None:
        """The next piece of the input."""
        if self._group is not None and self._places + piece.places > self._limit:
            self._close()
        if self._group is None:
            self._group = _PieceQueue()
            self._futures.append(self._pool.submit(self._seal, self._group))
        self._group.pieces.append(piece)
        self._group.coming.put(piece)
        self._places += piece.places
        for future in self._futures:
            if future.done():
                future.result()  # what went wrong there ends the work here

    def take(self, sealed: SealedSegment) -> None:
        """A segment that an earlier run has sealed stands next in the input."""
        self._close()
        self._futures.append(self._pool.submit(lambda: sealed))

    def finish(self, reporter: Reporter) -> list[SealedSegment]:
        """Seal what is left, and give all segments in order."""
        if self._group is not None:
            self._group.reporter = reporter
        self._close()
        return [future.result() for future in self._futures]

    def _close(self) -> None:
        """No more pieces for this segment."""
        if self._group is not None:
            self._group.coming.put(None)
            self._group, self._places = None, 0

    def _seal(self, group: _PieceQueue) -> SealedSegment:
        if self._engine.remote:
            pieces = list(group)  # waits for the last
            sealed = next(self._engine.map(self._work, [pieces], doing="sealing", kept=KEPT))
        else:
            sealed = self._work(group, group)
        for piece in group.pieces:
            if piece.temporary:
                piece.file.unlink()
        return sealed


@dataclass(frozen=True, slots=True)
class SealTask:
    """Writes one segment, wherever; done twice, it is the same one."""

    path: Path
    manifest: Manifest
    threads: int

    def __call__(
        self, pieces: Iterable[QueuedPiece], reporter: Reporter | None = None
    ) -> SealedSegment:
        digests: list[NDArray[np.uint8]] = []
        taken: list[QueuedPiece] = []
        key = settings_key(self.manifest)
        with seal_segment(self.path) as written:
            write_segment(
                written.target,
                _read_pieces(pieces, taken, digests),
                layers=[layer for layer in self.manifest.layers if layer != "word"],
                sorted_layers=self.manifest.sorted_layers,
                author_field=self.manifest.author_field,
                threads=self.threads,
                compact=self.manifest.is_compact,
                reporter=reporter or Silent(),
            )
            if self.manifest.meanings is not None:
                segment = open_segment(written.target.path)
                write_meanings(
                    written.target,
                    segment.positions[WORD],
                    segment.documents,
                    embedder_of(self.path, self.manifest.meanings),
                    reporter=reporter,
                )
            provenance = Provenance(
                key=key,
                contents=tuple(piece.content for piece in taken),
                words=sum(piece.words for piece in taken),
                places=sum(piece.places for piece in taken),
                digests=np.concatenate(digests),
            )
            write_provenance(written.target, provenance)
            # Files' names hold the number of the piece: equal pieces in two places stay apart.
            written.name = settings_hash(key, *(piece.file.name for piece in taken))
        return read_sealed_segment(self.path / SEGMENTS / written.name)


def _read_pieces(
    pieces: Iterable[QueuedPiece], taken: list[QueuedPiece], digests: list[NDArray[np.uint8]]
) -> Iterator[tuple[Batch, Annotation]]:
    """The pieces one by one; the digests are those of what really goes in.

    Layers that follow from the words are made by the segment's writer, if it wants them.
    """
    for piece in pieces:
        taken.append(piece)
        batch, annotation = read_piece(piece.file, derived=())
        digests.append(document_digests(batch.documents))
        yield batch, annotation
