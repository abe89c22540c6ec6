"""Build an index, or add to one: documents -> annotated pieces -> segments -> manifest.

Pieces are annotated by a map over shards in any number of processes; segments are written here, in
order. Killed at any moment, the same command run again goes on: sealed segments and annotated
pieces are found by their names and not made again. The input is read where pieces are annotated,
which are told what is done; ids are checked here, in order.

Segments are written one at a time, while further pieces are annotated. Which pieces go into which
segment depends on the data and on the memory alone, never on how many processes there are or when
the work was interrupted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from queue import SimpleQueue

import numpy as np
from numpy.typing import NDArray

from rote import run
from rote.annotate import annotators, words
from rote.annotate.language_check import remarks
from rote.annotate.pieces import (
    RESUME_NOTE,
    AnnotatedShard,
    AnnotateShard,
    checked,
    content_hash,
    content_of,
    left_of,
    pieces,
    read_piece,
)
from rote.annotate.store import Store
from rote.core.document import Annotation
from rote.core.errors import OptionError
from rote.core.files import write_atomically
from rote.core.progress import Advance, Reporter, Silent
from rote.corpus import Batch, Corpus, Problems, digest
from rote.index.folders.folder import (
    PIECES,
    SealedSegment,
    changing,
    find_unlisted,
    lock_for_writing,
    make_index_folder,
    open_documents,
    publish,
    read_sealed,
    remove_folder,
    remove_unlisted,
    seal_segment,
)
from rote.index.folders.manifest import (
    COMPACT,
    PLAIN,
    SEGMENTS,
    TOKENIZERS,
    Manifest,
    Provenance,
    Subwords,
    annotator_of,
    document_digests,
    embedder_of,
    fingerprint_of,
    is_index,
    read_manifest,
    read_sealed_segment,
    recipe_of,
    record_embedder,
    settings_hash,
    write_provenance,
)
from rote.index.folders.options import (
    SUBWORDS,
    BuildOptions,
    ChosenLayers,
    max_positions,
    parse_layers,
)
from rote.index.folders.source import (
    KnownIds,
    Source,
    check_layers,
    check_store,
    stored_size,
)
from rote.index.segments.meanings import write_meanings
from rote.index.segments.segment import WORD, open_segment
from rote.index.segments.writers import write_segment
from rote.run import Engine

_COMPRESSION_LEVEL = 1  # pieces are read once


@dataclass(frozen=True, slots=True)
class IndexChange:
    """The index as it is now, how many documents are new in it, and what was skipped.

    `removed` is there where documents could go: how many did.
    """

    manifest: Manifest
    added: int
    problems: Problems
    removed: int | None = None


@dataclass(frozen=True, slots=True)
class BuildContext:
    """What building may use: positions of a segment, threads, an engine, a reporter."""

    limit: int
    jobs: int
    engine: run.Engine
    reporter: Reporter
    annotator: str | None = None
    """As the user names it; else the manifest's own is asked."""


def build_index(
    source: Source,
    path: Path,
    options: BuildOptions | None = None,
    reporter: Reporter | None = None,
) -> IndexChange:
    options, reporter = options or BuildOptions(), reporter or Silent()
    engine = run.get(options.engine, options.jobs)
    limit = max_positions(options.memory)
    chosen = parse_layers(options.layers)
    check_layers(source, chosen, options.annotator)
    if not chosen.names:
        raise OptionError("besides meanings an index needs a layer to count, such as lower")
    meanings = None if chosen.embedder is None else record_embedder(chosen.embedder)
    make_index_folder(path)
    with lock_for_writing(path, "rote index build"):
        empty = replace(_empty_manifest(source, path, chosen, options), meanings=meanings)
        if is_index(path):
            return _confirm_built(source, path, empty, reporter)
        context = BuildContext(limit, options.jobs, engine, reporter, options.annotator)
        return _extend_index(source, path, empty, context)


def add_to_index(
    path: Path,
    source: Source,
    *,
    memory: int = BuildOptions().memory,
    jobs: int = 1,
    engine: str | run.Engine | None = None,
    annotator: str | None = None,
    reporter: Reporter | None = None,
) -> IndexChange:
    """Add documents to an index, as new segments made as the old ones were."""
    runner = run.get(engine, jobs)
    limit = max_positions(memory)
    with changing(path, "rote index add") as manifest:
        check_source(source, path, manifest, annotator)
        context = BuildContext(limit, jobs, runner, reporter or Silent(), annotator)
        return _extend_index(source, path, manifest, context)


def check_source(
    source: Source, path: Path, manifest: Manifest, annotator: str | None = None
) -> None:
    """Refuse what would be annotated, or embedded, otherwise than the index was."""
    if manifest.meanings is not None:
        embedder_of(path, manifest.meanings)
    if isinstance(source, Store):
        check_store(source, manifest)
    else:
        annotator_of(path, manifest, annotator)


def publish_sealed(path: Path, manifest: Manifest, sealed: Sequence[SealedSegment]) -> Manifest:
    provenances = [provenance for _, provenance in sealed]
    return publish(
        path,
        manifest,
        (segment for segment, _ in sealed),
        documents=sum(provenance.documents for provenance in provenances),
        words=sum(provenance.words for provenance in provenances),
        fingerprint=fingerprint_of(provenances),
    )


def _extend_index(
    source: Source, path: Path, manifest: Manifest, context: BuildContext
) -> IndexChange:
    listed = read_sealed(path, manifest)
    new_segments, problems = write_new_segments(source, path, manifest, listed, context)
    if not new_segments and manifest.generation:
        context.reporter.say(f"{path} already contains all of this: nothing to add")
        remove_unlisted(path, manifest)
        return IndexChange(manifest, 0, problems)
    new = publish_sealed(path, manifest, [*listed, *new_segments])
    return IndexChange(new, new.documents - manifest.documents, problems)


def write_new_segments(
    source: Source,
    path: Path,
    manifest: Manifest,
    listed: Sequence[SealedSegment],
    context: BuildContext,
) -> tuple[list[SealedSegment], Problems]:
    """All segments of the input beside those held, sealed now or before.

    What the manifest names but is not held any more is reserved.
    """
    while True:
        try:
            return _write_segments(source, path, manifest, listed, context)
        except OutdatedSegment as outdated:
            # The input is not that of the interrupted run any more.
            remove_folder(path / SEGMENTS / str(outdated))


def _write_segments(
    source: Source,
    path: Path,
    manifest: Manifest,
    listed: Sequence[SealedSegment],
    context: BuildContext,
) -> tuple[list[SealedSegment], Problems]:
    key = settings_key(manifest)
    unlisted = find_unlisted(path, manifest)
    sealed = {name: each for name, each in unlisted.items() if each[1].key == key}
    done = BuildProgress(listed, sealed)
    ids = KnownIds(open_documents(path, [segment for segment, _ in listed]))
    problems, scripts, already = Problems(), Counter[str](), 0
    next_pieces: Iterable[NextPiece]
    if isinstance(source, Store):
        size = sum(stored_size(source, file) for file in source.files)
        title, home = "reading", source.path
        next_pieces = read_stored_pieces(source, context.engine, done, ids)
    else:
        size, title, home = source.size, "annotating", path / PIECES
        recipe = recipe_of(path.absolute(), manifest, context.annotator)
        work = AnnotateShard(home.absolute(), recipe, level=_COMPRESSION_LEVEL)
        next_pieces = annotate_new_pieces(source, work, context.engine, done, ids, problems)
    with SegmentWriter(path, manifest, context.limit, context.jobs, context.engine) as writer:
        with context.reporter.stage(title, size, unit="B") as advance:
            for each in next_pieces:
                piece = each.piece
                if piece is not None and piece.documents:
                    # The longest stream of the piece: memory is counted by it.
                    tree_items = [items for name, items in piece.items if name in manifest.layers]
                    places = piece.documents + max([piece.words, *tree_items])
                    file, temporary = home.absolute() / piece.file, home == path / PIECES
                    writer.add(QueuedPiece(file, piece.content, piece.words, places, temporary))
                    scripts += piece.guessed_languages
                elif each.note == IN_INDEX:
                    already += 1
                elif each.note:
                    writer.take(sealed[each.note])
                advance(each.size)
        new_segments = writer.finish(context.reporter)
    for line in remarks(scripts):
        context.reporter.say(line)
    if already and new_segments:
        pieces_are = "pieces of the input are" if already > 1 else "piece of the input is"
        context.reporter.say(f"{already:,} {pieces_are} already in the index")
    return new_segments, problems


def _empty_manifest(
    source: Source, path: Path, chosen: ChosenLayers, options: BuildOptions
) -> Manifest:
    """The manifest before there is a segment; copies the tokenizer's file, if there is one."""
    stored = isinstance(source, Store)
    name = source.annotator if isinstance(source, Store) else options.annotator
    signature = source.signature if isinstance(source, Store) else annotators.get(name).signature
    subwords: tuple[Subwords, ...] = ()
    if chosen.tokenizer is not None and not stored:
        subwords = (copy_tokenizer(path, chosen.tokenizer),)
    return Manifest(
        generation=0,
        annotator=name,
        signature=signature,
        subwords=subwords,
        layers=("word", *(layer for layer in chosen.names if layer != "word")),
        sorted_layers=chosen.names,
        author_field=options.author_field,
        segments=(),
        documents=0,
        words=0,
        fingerprint="",
        form=COMPACT if options.compact else PLAIN,
    )


def copy_tokenizer(path: Path, file: Path) -> Subwords:
    """Copy a tokenizer.json into the index, which cannot do without it."""
    tokenizer = words.get(str(file))
    tokenizer([""])  # a file that is none, or a package that is missing, shows here
    name = f"{TOKENIZERS}/{tokenizer.signature.partition('/')[2]}.json"
    write_atomically(path / name, file.read_bytes())
    return Subwords(SUBWORDS, name, tokenizer.signature)


def _confirm_built(source: Source, path: Path, wanted: Manifest, reporter: Reporter) -> IndexChange:
    """Building again what is there ends well; anything else is refused."""
    there = read_manifest(path)
    indexed = [content for _, origin in read_sealed(path, there) for content in origin.contents]
    problems = Problems()
    is_like = settings_key(there) == settings_key(wanted)
    wanted_contents = list(piece_contents(source, problems)) if is_like else []
    if not is_like or not set(wanted_contents) <= set(indexed):
        raise OptionError(
            f"{path} contains another index: `rote index add` adds to it; to build a new one, "
            "choose another folder or remove this one"
        )
    if wanted_contents != indexed:
        raise OptionError(
            f"{path} contains more than this input, or the same in another order. It can be used "
            "as it is; for an index of this input alone, choose another folder or remove this one"
        )
    reporter.say(f"{path} already contains all of this: nothing to do")
    remove_unlisted(path, there)
    return IndexChange(there, 0, problems)


IN_INDEX = "already"
"""The note of a piece that the index holds."""

_ANNOTATE_AGAIN = "Give each text a unique id: `rote annotate` with another --id-field"


class OutdatedSegment(Exception):
    """A sealed segment of an earlier run that the input does not repeat: its name."""


class BuildProgress:
    """What is done already, followed along the input.

    `sealed` are segments of an interrupted run. As soon as the input comes to the content that
    one of them begins with it must repeat all of it, or the segment is outdated.
    """

    def __init__(
        self, listed: Sequence[SealedSegment], sealed: Mapping[str, SealedSegment]
    ) -> None:
        self.listed = frozenset(content for _, origin in listed for content in origin.contents)
        """The pieces that the index has."""
        self._contents = {name: origin.contents for name, (_, origin) in sealed.items()}
        self._waiting: dict[str, list[str]] = {}
        for name, contents in self._contents.items():
            self._waiting.setdefault(contents[0], []).append(name)
        self._current = ""
        self._left: list[str] = []

    @property
    def contents(self) -> frozenset[str]:
        """All that need not be annotated."""
        return self.listed.union(*self._contents.values())

    def sealed(self, content: str) -> tuple[bool, str]:
        """Whether the piece is in a sealed segment, and the segment's name if it ends there."""
        if not self._left and self._waiting.get(content):
            self._current = self._waiting[content].pop(0)
            self._left = list(reversed(self._contents[self._current]))
        if not self._left:
            return False, ""
        if self._left[-1] != content:
            raise OutdatedSegment(self._current)
        self._left.pop()
        return True, "" if self._left else self._current

    def end(self) -> None:
        if self._left:
            raise OutdatedSegment(self._current)


def piece_contents(source: Source, problems: Problems) -> Iterator[str]:
    """What the pieces of a new index of this input are known by; nothing is annotated for it."""
    if isinstance(source, Store):
        yield from map(content_of, source.files)
        return
    ids, skip = KnownIds(), source.options.on_error == "skip"
    for _, batch in checked(source, problems):
        remaining = ids.check(batch, skip=skip)
        problems.add(remaining.problems[len(batch.problems) :])
        if remaining.documents:
            yield content_hash(remaining.documents, map(digest, remaining.documents))


@dataclass(frozen=True, slots=True)
class NextPiece:
    """What comes next in the input: a piece, or a note of what is done already."""

    size: int
    piece: AnnotatedShard | None = None
    note: str = ""


def annotate_new_pieces(
    corpus: Corpus,
    work: AnnotateShard,
    engine: Engine,
    done: BuildProgress,
    ids: KnownIds,
    problems: Problems,
) -> Iterator[NextPiece]:
    """Pieces that the index does not hold; of what is done already only the size, and a note."""
    skip = corpus.options.on_error == "skip"
    work = replace(work, known_contents=done.contents)
    for without, piece in pieces(corpus, work, engine):
        problems.add(piece.batch.problems)
        if piece.content in done.listed:
            yield NextPiece(piece.size, note=IN_INDEX)
            continue
        new = left_of(piece, work.path, partial(ids.check, skip=skip))
        if new is not piece.batch:
            problems.add(new.problems[len(piece.batch.problems) :])
            piece = without(new)
        sealed, name = done.sealed(piece.content) if new.documents else (False, "")
        if not sealed and piece.content in work.known_contents:
            # The same documents were sealed at another place of the input.
            piece = without(new, known_contents=frozenset())
        yield NextPiece(piece.size, note=name) if sealed else NextPiece(piece.size, piece)
    done.end()


def read_stored_pieces(
    store: Store, engine: Engine, done: BuildProgress, ids: KnownIds
) -> Iterator[NextPiece]:
    """The same of a store; ids of its pieces must be new to the index."""
    work = partial(_open_stored, replace(store, path=store.path.absolute()), done.listed)
    # Here, a piece is opened in less time than a process takes to start.
    opened = engine.map(work, store.files, doing="reading the store") if engine.remote else None
    for each in opened or map(work, store.files):
        if each.piece is not None:
            ids.check(each.piece.batch, skip=False, remedy=_ANNOTATE_AGAIN)
            # One that is sealed is done too, but the index does not know its ids yet.
            sealed, name = done.sealed(each.piece.content)
            each = NextPiece(each.size, note=name) if sealed else each
        yield each
    done.end()


def _open_stored(store: Store, listed: frozenset[str], file: str) -> NextPiece:
    """What a piece of a store holds, but for its texts."""
    content, size = content_of(file), stored_size(store, file)
    if content in listed:
        return NextPiece(size, note=IN_INDEX)
    batch, annotation = read_piece(store.path / file, derived=())
    piece = AnnotatedShard(
        file=file,
        content=content,
        documents=len(batch.documents),
        words=len(annotation.word.ids),
        size=size,
        digests=[],
        guessed_languages=Counter(),
        items=tuple((name, len(layer.ids)) for name, layer in annotation.trees.items()),
        batch=batch.bare(),
    )
    return NextPiece(size, piece)


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

    def __exit__(self, *_: object) -> None:
        if self._group is not None:
            self._group.coming.put(_Abandoned())
        self._pool.shutdown(wait=True, cancel_futures=True)

    def add(self, piece: QueuedPiece) -> None:
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
        if self._group is not None:
            self._group.coming.put(None)
            self._group, self._places = None, 0

    def _seal(self, group: _PieceQueue) -> SealedSegment:
        if self._engine.remote:
            pieces = list(group)  # waits for the last
            sealed = next(self._engine.map(self._work, [pieces], doing="sealing", note=RESUME_NOTE))
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
        pieces_read: list[QueuedPiece] = []

        def read_pieces() -> Iterator[tuple[Batch, Annotation]]:
            for piece in pieces:
                pieces_read.append(piece)
                # Layers that follow from the words are made by the writer, if it wants them.
                batch, annotation = read_piece(piece.file, derived=())
                digests.append(document_digests(batch.documents))
                yield batch, annotation

        key = settings_key(self.manifest)
        with seal_segment(self.path) as folder:
            write_segment(
                folder.target,
                read_pieces(),
                self.manifest.forms(self.threads),
                layers=self.manifest.layers,
                author_field=self.manifest.author_field,
                reporter=reporter or Silent(),
            )
            if self.manifest.meanings is not None:
                segment = open_segment(folder.target.path)
                write_meanings(
                    folder.target,
                    segment.positions[WORD],
                    segment.documents,
                    embedder_of(self.path, self.manifest.meanings),
                    reporter=reporter,
                )
            provenance = Provenance(
                key=key,
                contents=tuple(piece.content for piece in pieces_read),
                words=sum(piece.words for piece in pieces_read),
                places=sum(piece.places for piece in pieces_read),
                digests=np.concatenate(digests),
            )
            write_provenance(folder.target, provenance)
            # Files' names hold the number of the piece: equal pieces in two places stay apart.
            folder.name = settings_hash(key, *(piece.file.name for piece in pieces_read))
        return read_sealed_segment(self.path / SEGMENTS / folder.name)
