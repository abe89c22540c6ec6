"""Building an index, and adding to one: documents -> annotated pieces -> segments -> manifest.

Pieces are made by a map over shards in any number of processes; segments are written here, in
order. Killed at any moment, the same command run again goes on: sealed segments and annotated
pieces are found by their names and not made again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rote import run
from rote.annotate import annotators, words
from rote.annotate.pieces import PieceWork
from rote.annotate.script import remarks
from rote.annotate.store import Store
from rote.core.errors import OptionError
from rote.core.files import write_atomically
from rote.core.progress import Reporter, Silent
from rote.corpus import Problems
from rote.index.folders.ids import KnownIds
from rote.index.folders.manifest import (
    COMPACT,
    PLAIN,
    SEGMENTS,
    TOKENIZERS,
    Manifest,
    Subwords,
    annotator_of,
    is_index,
    read_manifest,
    recipe_of,
)
from rote.index.folders.options import SUBWORDS, BuildOptions, Chosen, choose, most_places
from rote.index.folders.pieces import (
    ALREADY,
    Next,
    Outdated,
    Progress,
    contents,
    new_pieces,
    places_of,
    stored_pieces,
)
from rote.index.folders.sealing import Sealed, Sealer, Waiting, settings_key
from rote.index.folders.source import Source, check_layers, check_store, stored_bytes
from rote.index.folders.writing import (
    PIECES,
    documents,
    fingerprint,
    make_folder,
    origins,
    publish,
    remove,
    tidy,
    unlisted,
    writing,
)

_LEVEL = 1  # pieces are read once


@dataclass(frozen=True, slots=True)
class Written:
    """The index as it is now, how many documents are new in it, and what was skipped.

    `removed` is there where documents could go: how many did.
    """

    manifest: Manifest
    added: int
    problems: Problems
    removed: int | None = None


@dataclass(frozen=True, slots=True)
class Means:
    """What building may use: places of a segment, threads, where it is done, and whom it tells."""

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
) -> Written:
    """Make an index of a corpus, or of a store of `rote annotate`."""
    options, reporter = options or BuildOptions(), reporter or Silent()
    engine = run.get(options.engine, options.jobs)
    limit = most_places(options.memory)
    chosen = choose(options.layers)
    check_layers(source, chosen, options.annotator)
    make_folder(path)
    with writing(path, "rote index build"):
        empty = _empty(source, path, chosen, options)
        if is_index(path):
            return _built_already(source, path, empty, reporter)
        means = Means(limit, options.jobs, engine, reporter, options.annotator)
        return _extend(source, path, empty, means)


def add_to_index(
    path: Path,
    source: Source,
    *,
    memory: int = BuildOptions().memory,
    jobs: int = 1,
    engine: str | run.Engine | None = None,
    annotator: str | None = None,
    reporter: Reporter | None = None,
) -> Written:
    """Add documents to an index, as new segments made as the old ones were."""
    works = run.get(engine, jobs)
    limit = most_places(memory)
    read_manifest(path)
    with writing(path, "rote index add"):
        manifest = read_manifest(path)
        check_source(source, path, manifest, annotator)
        means = Means(limit, jobs, works, reporter or Silent(), annotator)
        return _extend(source, path, manifest, means)


def check_source(
    source: Source, path: Path, manifest: Manifest, annotator: str | None = None
) -> None:
    """Refuse what would be annotated otherwise than the index was."""
    if isinstance(source, Store):
        check_store(source, manifest)
    else:
        annotator_of(path, manifest, annotator)


def joined(manifest: Manifest, held: Sequence[Sealed]) -> Manifest:
    """The next state of an index: these segments in order."""
    found = [origin for _, origin in held]
    return replace(
        manifest,
        generation=manifest.generation + 1,
        segments=tuple(segment for segment, _ in held),
        documents=sum(origin.documents for origin in found),
        words=sum(origin.words for origin in found),
        fingerprint=fingerprint(found),
    )


def _extend(source: Source, path: Path, manifest: Manifest, means: Means) -> Written:
    held = list(zip(manifest.segments, origins(path, manifest.segments)))
    made, problems = new_segments(source, path, manifest, held, means)
    if not made and manifest.generation:
        means.reporter.say(f"{path} holds all of this already: nothing to add")
        tidy(path, manifest)
        return Written(manifest, 0, problems)
    new = joined(manifest, [*held, *made])
    publish(path, new)
    return Written(new, new.documents - manifest.documents, problems)


def new_segments(
    source: Source, path: Path, manifest: Manifest, held: Sequence[Sealed], means: Means
) -> tuple[list[Sealed], Problems]:
    """All segments of the input beside those held, sealed now or before.

    What the manifest names but is not held any more is nobody's to take.
    """
    while True:
        try:
            return _segments(source, path, manifest, held, means)
        except Outdated as outdated:
            # The input is not that of the interrupted run any more.
            remove(path / SEGMENTS / outdated.name)


def _segments(
    source: Source, path: Path, manifest: Manifest, held: Sequence[Sealed], means: Means
) -> tuple[list[Sealed], Problems]:
    key = settings_key(manifest)
    sealed = {n: found for n, found in unlisted(path, manifest).items() if found[1].key == key}
    listed = [origin for _, origin in held]
    done = Progress(listed, {name: origin for name, (_, origin) in sealed.items()})
    ids, problems, seen, already = (
        KnownIds(documents(path, [segment for segment, _ in held])),
        Problems(),
        Counter[str](),
        0,
    )
    found: Iterable[Next]
    if isinstance(source, Store):
        size, title, home = stored_bytes(source), "reading", source.path
        found = stored_pieces(source, means.engine, done, ids)
    else:
        size, title, home = source.size, "annotating", path / PIECES
        recipe = recipe_of(path.absolute(), manifest, means.annotator)
        work = PieceWork(home.absolute(), recipe, level=_LEVEL)
        found = new_pieces(source, work, means.engine, done, ids, problems)
    with Sealer(path, manifest, means.limit, means.jobs, means.engine) as sealer:
        with means.reporter.stage(title, size, unit="B") as advance:
            for each in found:
                piece = each.piece
                if piece is not None and piece.documents:
                    places = places_of(piece, manifest.layers)
                    file, temporary = home.absolute() / piece.file, home == path / PIECES
                    sealer.add(Waiting(file, piece.content, piece.words, places, temporary))
                    seen += piece.seen
                elif each.note == ALREADY:
                    already += 1
                elif each.note:
                    sealer.take(sealed[each.note])
                advance(each.size)
        made = sealer.finish(means.reporter)
    for line in remarks(seen):
        means.reporter.say(line)
    if already and made:
        pieces_are = "pieces of the input are" if already > 1 else "piece of the input is"
        means.reporter.say(f"{already:,} {pieces_are} in the index already")
    return made, problems


def _empty(source: Source, path: Path, chosen: Chosen, options: BuildOptions) -> Manifest:
    """The manifest before there is a segment; copies the tokenizer's file, if there is one."""
    stored = isinstance(source, Store)
    name = source.annotator if isinstance(source, Store) else options.annotator
    signature = source.signature if isinstance(source, Store) else annotators.get(name).signature
    subwords: tuple[Subwords, ...] = ()
    if chosen.tokenizer is not None and not stored:
        subwords = (keep_tokenizer(path, chosen.tokenizer),)
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


def keep_tokenizer(path: Path, file: Path) -> Subwords:
    """Copy a tokenizer.json into the index, which cannot do without it."""
    tokenizer = words.get(str(file))
    tokenizer([""])  # a file that is none, or a package that is missing, shows here
    name = f"{TOKENIZERS}/{tokenizer.signature.partition('/')[2]}.json"
    write_atomically(path / name, file.read_bytes())
    return Subwords(SUBWORDS, name, tokenizer.signature)


def _built_already(source: Source, path: Path, wanted: Manifest, reporter: Reporter) -> Written:
    """Building again what is there ends well; anything else is refused."""
    there = read_manifest(path)
    held = [content for origin in origins(path, there.segments) for content in origin.contents]
    problems = Problems()
    asked = list(contents(source, problems)) if settings_key(there) == settings_key(wanted) else []
    if settings_key(there) != settings_key(wanted) or not set(asked) <= set(held):
        raise OptionError(
            f"{path} holds another index: `rote index add` adds to it; to build a new one, "
            "choose another folder or remove this one"
        )
    if asked != held:
        raise OptionError(
            f"{path} holds more than this input, or the same in another order. It can be used as "
            "it is; for an index of this input alone, choose another folder or remove this one"
        )
    reporter.say(f"{path} holds all of this already: nothing to do")
    tidy(path, there)
    return Written(there, 0, problems)
