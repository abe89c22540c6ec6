"""From pieces to sealed segments, one at a time, beside the annotating of the next pieces.

Which pieces go into which segment depends on the data and on the memory alone, never on how
many processes there are or when the work was interrupted.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from rote.annotate.pieces import read_piece
from rote.core.annotation import Annotation
from rote.core.progress import Reporter, Silent
from rote.corpus import Batch
from rote.index.folders.manifest import SEGMENTS, Listed, Manifest
from rote.index.folders.origin import Origin, digests_of, key_of, sealed_segment, write_origin
from rote.index.folders.writing import sealing
from rote.index.segments.write import write_segment

Sealed = tuple[Listed, Origin]


@dataclass(frozen=True, slots=True)
class Waiting:
    """An annotated piece that waits for its segment; a temporary one is removed then."""

    file: Path
    content: str
    words: int
    places: int
    temporary: bool


def settings_key(manifest: Manifest) -> str:
    """Segments with the same key and the same documents are the same."""
    return key_of(
        manifest.signature,
        manifest.subwords,
        manifest.layers,
        manifest.sorted_layers,
        manifest.author_field,
    )


class Sealer:
    """Gathers pieces and writes a segment whenever as many are there as memory allows."""

    def __init__(self, path: Path, manifest: Manifest, limit: int, threads: int) -> None:
        self._path, self._manifest, self._key = path, manifest, settings_key(manifest)
        self._limit, self._threads = limit, threads
        self._group: list[Waiting] = []
        self._places = 0
        self._done: list[Sealed] = []
        self._running: Future[Sealed] | None = None
        self._pool = ThreadPoolExecutor(1)

    def __enter__(self) -> Sealer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def add(self, piece: Waiting) -> None:
        """The next piece of the input."""
        if self._group and self._places + piece.places > self._limit:
            self._start()
        self._group.append(piece)
        self._places += piece.places

    def take(self, sealed: Sealed) -> None:
        """A segment that an earlier run has sealed stands next in the input."""
        self._start()
        self._wait()
        self._done.append(sealed)

    def finish(self, reporter: Reporter) -> list[Sealed]:
        """Seal what is left, now with all threads, and give all segments in order."""
        self._wait()
        if self._group:
            self._done.append(self._seal(self._group, self._threads, reporter))
        return self._done

    def _start(self) -> None:
        # One at a time: two would take twice the memory.
        self._wait()
        if self._group:
            self._running = self._pool.submit(self._seal, self._group, 1, Silent())
            self._group, self._places = [], 0

    def _wait(self) -> None:
        if self._running is not None:
            self._done.append(self._running.result())
            self._running = None

    def _seal(self, group: list[Waiting], threads: int, reporter: Reporter) -> Sealed:
        # Files' names hold the number of the piece: equal pieces in two places stay apart.
        name = key_of(self._key, *(piece.file.name for piece in group))
        digests: list[NDArray[np.uint8]] = []
        with sealing(self._path, name) as target:
            write_segment(
                target,
                _read(group, digests),
                layers=[layer for layer in self._manifest.layers if layer != "word"],
                sorted_layers=self._manifest.sorted_layers,
                author_field=self._manifest.author_field,
                threads=threads,
                reporter=reporter,
            )
            origin = Origin(
                key=self._key,
                contents=tuple(piece.content for piece in group),
                words=sum(piece.words for piece in group),
                places=sum(piece.places for piece in group),
                digests=np.concatenate(digests),
            )
            write_origin(target, origin)
        for piece in group:
            if piece.temporary:
                piece.file.unlink()
        return sealed_segment(self._path / SEGMENTS / name)


def _read(
    group: list[Waiting], digests: list[NDArray[np.uint8]]
) -> Iterator[tuple[Batch, Annotation]]:
    """The pieces one by one; the digests are those of what really goes in.

    Layers that follow from the words are made by the segment's writer, if it wants them.
    """
    for piece in group:
        batch, annotation = read_piece(piece.file, derived=())
        digests.append(digests_of(batch.documents))
        yield batch, annotation
