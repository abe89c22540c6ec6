"""Build an index, or add to one: documents -> annotated pieces -> segments -> manifest.

Pieces are annotated by a map over shards in any number of processes; segments are written here, in
order. Killed at any moment, the same command run again goes on: sealed segments and annotated
pieces are found by their names and not made again. The input is read where pieces are annotated,
which are told what is done; ids are checked here, in order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rote import run
from rote.annotate import annotators, words
from rote.annotate.language_check import remarks
from rote.annotate.pieces import (
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
from rote.core.errors import OptionError
from rote.core.files import write_atomically
from rote.core.progress import Reporter, Silent
from rote.corpus import Corpus, Problems, digest
from rote.index.folders.manifest import (
    COMPACT,
    PLAIN,
    SEGMENTS,
    TOKENIZERS,
    Manifest,
    Provenance,
    Subwords,
    annotator_of,
    embedder_of,
    fingerprint_of,
    is_index,
    read_manifest,
    read_provenances,
    recipe_of,
    record_embedder,
)
from rote.index.folders.options import (
    SUBWORDS,
    BuildOptions,
    ChosenLayers,
    max_positions,
    parse_layers,
)
from rote.index.folders.segment_writer import (
    QueuedPiece,
    SealedSegment,
    SegmentWriter,
    settings_key,
)
from rote.index.folders.source import (
    KnownIds,
    Source,
    check_layers,
    check_store,
    stored_bytes,
    stored_size,
)
from rote.index.folders.transaction import (
    PIECES,
    find_unlisted,
    lock_for_writing,
    make_index_folder,
    open_documents,
    publish,
    remove_folder,
    remove_unlisted,
)
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
    """Make an index of a corpus, or of a store of `rote annotate`."""
    options, reporter = options or BuildOptions(), reporter or Silent()
    engine = run.get(options.engine, options.jobs)
    limit = max_positions(options.memory)
    chosen = parse_layers(options.layers)
    check_layers(source, chosen, options.annotator)
    if not chosen.names:
        raise OptionError("an index needs a layer to count beside its meanings, such as lower")
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
    read_manifest(path)
    with lock_for_writing(path, "rote index add"):
        manifest = read_manifest(path)
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


def join_segments(manifest: Manifest, sealed: Sequence[SealedSegment]) -> Manifest:
    """The next state of an index: these segments in order."""
    provenances = [provenance for _, provenance in sealed]
    return replace(
        manifest,
        generation=manifest.generation + 1,
        segments=tuple(segment for segment, _ in sealed),
        documents=sum(provenance.documents for provenance in provenances),
        words=sum(provenance.words for provenance in provenances),
        fingerprint=fingerprint_of(provenances),
    )


def _extend_index(
    source: Source, path: Path, manifest: Manifest, context: BuildContext
) -> IndexChange:
    listed = list(zip(manifest.segments, read_provenances(path, manifest.segments)))
    new_segments, problems = write_new_segments(source, path, manifest, listed, context)
    if not new_segments and manifest.generation:
        context.reporter.say(f"{path} holds all of this already: nothing to add")
        remove_unlisted(path, manifest)
        return IndexChange(manifest, 0, problems)
    new = join_segments(manifest, [*listed, *new_segments])
    publish(path, new)
    return IndexChange(new, new.documents - manifest.documents, problems)


def write_new_segments(
    source: Source,
    path: Path,
    manifest: Manifest,
    listed: Sequence[SealedSegment],
    context: BuildContext,
) -> tuple[list[SealedSegment], Problems]:
    """All segments of the input beside those held, sealed now or before.

    What the manifest names but is not held any more is nobody's to take.
    """
    while True:
        try:
            return _write_segments(source, path, manifest, listed, context)
        except OutdatedSegment as outdated:
            # The input is not that of the interrupted run any more.
            remove_folder(path / SEGMENTS / outdated.name)


def _write_segments(
    source: Source,
    path: Path,
    manifest: Manifest,
    listed_segments: Sequence[SealedSegment],
    context: BuildContext,
) -> tuple[list[SealedSegment], Problems]:
    key = settings_key(manifest)
    sealed = {
        name: (segment, provenance)
        for name, (segment, provenance) in find_unlisted(path, manifest).items()
        if provenance.key == key
    }
    listed = [provenance for _, provenance in listed_segments]
    done = BuildProgress(listed, {name: provenance for name, (_, provenance) in sealed.items()})
    ids, problems, seen, already = (
        KnownIds(open_documents(path, [segment for segment, _ in listed_segments])),
        Problems(),
        Counter[str](),
        0,
    )
    next_pieces: Iterable[NextPiece]
    if isinstance(source, Store):
        size, title, home = stored_bytes(source), "reading", source.path
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
                    places = count_positions(piece, manifest.layers)
                    file, temporary = home.absolute() / piece.file, home == path / PIECES
                    writer.add(QueuedPiece(file, piece.content, piece.words, places, temporary))
                    seen += piece.seen
                elif each.note == IN_INDEX:
                    already += 1
                elif each.note:
                    writer.take(sealed[each.note])
                advance(each.size)
        new_segments = writer.finish(context.reporter)
    for line in remarks(seen):
        context.reporter.say(line)
    if already and new_segments:
        pieces_are = "pieces of the input are" if already > 1 else "piece of the input is"
        context.reporter.say(f"{already:,} {pieces_are} in the index already")
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
    indexed = [
        content
        for provenance in read_provenances(path, there.segments)
        for content in provenance.contents
    ]
    problems = Problems()
    wanted_contents = (
        list(piece_contents(source, problems))
        if settings_key(there) == settings_key(wanted)
        else []
    )
    if settings_key(there) != settings_key(wanted) or not set(wanted_contents) <= set(indexed):
        raise OptionError(
            f"{path} holds another index: `rote index add` adds to it; to build a new one, "
            "choose another folder or remove this one"
        )
    if wanted_contents != indexed:
        raise OptionError(
            f"{path} holds more than this input, or the same in another order. It can be used as "
            "it is; for an index of this input alone, choose another folder or remove this one"
        )
    reporter.say(f"{path} holds all of this already: nothing to do")
    remove_unlisted(path, there)
    return IndexChange(there, 0, problems)


IN_INDEX = "already"
"""The note of a piece that the index holds."""

_ANNOTATE_AGAIN = "Give each text an id of its own: `rote annotate` with another --id-field"


class OutdatedSegment(Exception):
    """A sealed segment of an earlier run that the input does not repeat."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(name)


class BuildProgress:
    """What is done already, followed along the input.

    `sealed` are segments of an interrupted run. As soon as the input comes to the content that
    one of them begins with it must repeat all of it, or the segment is outdated.
    """

    def __init__(self, listed: Sequence[Provenance], sealed: dict[str, Provenance]) -> None:
        self._listed = frozenset(
            content for provenance in listed for content in provenance.contents
        )
        self._sealed = sealed
        self._waiting: dict[str, list[str]] = {}
        for name, provenance in sealed.items():
            self._waiting.setdefault(provenance.contents[0], []).append(name)
        self._current = ""
        self._left: list[str] = []

    @property
    def contents(self) -> frozenset[str]:
        """All that need not be annotated."""
        return self._listed.union(*(provenance.contents for provenance in self._sealed.values()))

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
            raise OutdatedSegment(self._current)
        self._left.pop()
        return True, "" if self._left else self._current

    def end(self) -> None:
        """The input has ended."""
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
    sealed: bool = False


def annotate_new_pieces(
    corpus: Corpus,
    work: AnnotateShard,
    engine: Engine,
    done: BuildProgress,
    ids: KnownIds,
    told: Problems,
) -> Iterator[NextPiece]:
    """Pieces that the index does not hold; of what is done already only the size, and a note."""
    skip = corpus.options.on_error == "skip"
    work = replace(work, known_contents=done.contents)
    for without, piece in pieces(corpus, work, engine):
        told.add(piece.batch.problems)
        if done.holds(piece.content):
            yield NextPiece(piece.size, note=IN_INDEX)
            continue
        new = left_of(piece, work.path, partial(ids.check, skip=skip))
        if new is not piece.batch:
            told.add(new.problems[len(piece.batch.problems) :])
            piece = without(new)
        sealed, name = done.sealed(piece.content) if new.documents else (False, "")
        if not sealed and piece.content in work.known_contents:
            # The same documents were sealed at another place of the input.
            piece = without(new, known_contents=frozenset())
        yield NextPiece(piece.size, note=name) if sealed else NextPiece(piece.size, piece)
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


def list_stored_orders(store: Store, done: BuildProgress) -> Iterator[StoredOrder]:
    """The same for a store, whose pieces are annotated."""
    for file in store.files:
        content, size = content_of(file), stored_size(store, file)
        if done.holds(content):
            yield StoredOrder("", size, IN_INDEX)
            continue
        sealed, name = done.sealed(content)
        yield StoredOrder(file, size, name, sealed)
    done.end()


def read_stored_pieces(
    store: Store, engine: Engine, done: BuildProgress, ids: KnownIds
) -> Iterator[NextPiece]:
    """Pieces of a store that the index does not hold; their ids must be new to it."""
    orders, work = list_stored_orders(store, done), partial(_open_stored, store.path.absolute())
    # Here, a piece is opened in less time than a process takes to start.
    opened = engine.map(work, orders, doing="reading the store") if engine.remote else None
    for each in opened or map(work, orders):
        if each.piece is not None:
            ids.check(each.piece.batch, skip=False, remedy=_ANNOTATE_AGAIN)
        yield replace(each, piece=None) if each.sealed else each


def _open_stored(path: Path, order: StoredOrder) -> NextPiece:
    """What a piece of a store holds, but for its texts."""
    if not order.file:
        return NextPiece(order.size, note=order.note)
    batch, annotation = read_piece(path / order.file, derived=())
    piece = AnnotatedShard(
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
    return NextPiece(order.size, piece, order.note, order.sealed)


def count_positions(piece: AnnotatedShard, layers: Sequence[str]) -> int:
    """How long the longest stream of a piece is; memory is counted by it."""
    tree_items = [items for name, items in piece.items if name in layers]
    return piece.documents + max([piece.words, *tree_items])
