"""A store: annotated documents in a folder, made once, used often.

The folder holds one file per piece of input (see pieces.py), a manifest, written last, and the
lock of whoever writes. Killed at any moment, the same command run again goes on where it stopped,
and pieces of different annotators are never mixed.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rote import run
from rote.annotate.annotators._columns import check_layers
from rote.annotate.language_check import remarks
from rote.annotate.pieces import AnnotateShard, Recipe, is_piece, pieces, read_piece
from rote.core.document import Annotation, Annotator
from rote.core.errors import InputError, OptionError
from rote.core.files import half_of, write_atomically
from rote.core.json_reader import JsonObject, read_json
from rote.core.locked_folder import (
    LOCK,
    locked,
    make_folder,
    os_error_messages,
    refuse_links,
    remove_halves,
)
from rote.core.progress import Reporter
from rote.corpus import Batch, Corpus, Fingerprint, Problems

FORMAT = 1
MANIFEST = "rote-store.json"


@dataclass(frozen=True, slots=True)
class Store:
    """An annotated corpus on disk; `pieces` gives batches and their annotation."""

    path: Path
    annotator: str
    signature: str
    layers: tuple[str, ...]
    files: tuple[str, ...]
    documents: int
    words: int
    fingerprint: str

    def piece(self, file: str) -> tuple[Batch, Annotation]:
        place = self.path / file
        if not place.is_file():
            raise InputError("a piece of the store is missing", file=str(place), remedy=_AGAIN)
        return read_piece(place)

    def pieces(self) -> Iterator[tuple[Batch, Annotation]]:
        return map(self.piece, self.files)


_AGAIN = "Run `rote annotate` with the same input again: it creates what is missing"
_REMOVE = (
    "Remove this file, and run `rote annotate` with the same input again: complete pieces are kept"
)


def is_store(path: Path) -> bool:
    # A path raises an error where a text that is too long for a name is asked about.
    return os.path.isfile(path / MANIFEST)


def open_store(path: Path) -> Store:
    if not is_store(path):
        raise InputError("this is no finished store", file=str(path), remedy=_AGAIN)
    place = path / MANIFEST
    manifest = JsonObject.of(
        read_json(place, remedy=_REMOVE, strict=True), str(place), remedy=_REMOVE
    )
    if manifest.get("format") != FORMAT:
        raise InputError(
            f"the store has format {manifest.get('format')}, this version of rote reads {FORMAT}",
            file=str(path),
            remedy="Annotate the texts again, into a new folder",
        )
    files = manifest.texts("files")
    for number, file in enumerate(files):
        # A stranger's manifest must not lead out of the folder.
        if not is_piece(file):
            raise manifest.error(
                f"files[{number}]", f"is {file!r}, which is not the name of a piece"
            )
    # The same documents under another number would count twice.
    manifest.check_once((file.partition("-")[2] for file in files), "files")
    return Store(
        path,
        manifest.text("annotator"),
        manifest.text("signature"),
        manifest.texts("layers"),
        files,
        manifest.count("documents"),
        manifest.count("words"),
        manifest.text("fingerprint"),
    )


def annotate(
    corpus: Corpus,
    path: Path,
    annotator: Annotator,
    layers: Sequence[str],
    *,
    jobs: int = 1,
    engine: str | run.Engine | None = None,
    reporter: Reporter,
) -> tuple[Store, Problems]:
    """Annotate a corpus into a store; pieces that are there already are kept."""
    works, layers = run.get(engine, jobs), tuple(dict.fromkeys(layers))
    # Before the folder is made: a wrong name must leave nothing behind.
    check_layers(layers, annotator.gives, annotator.name)
    _refuse_other(path, annotator, layers)
    with os_error_messages(path, "the store"), locked(path, "rote annotate"):
        # Once more: another command may have written meanwhile.
        _refuse_other(path, annotator, layers)
        refuse_links(filter(_is_ours, path.iterdir()))
        remove_halves(path, _is_ours)
        problems, fingerprint = Problems(), Fingerprint()
        files, documents, words = [], 0, 0
        guessed_languages: Counter[str] = Counter()
        maker = (annotator.name, annotator.signature, layers)
        work = AnnotateShard(path.absolute(), Recipe(*maker))
        with reporter.stage("annotating", corpus.size, unit="B") as advance:
            for _, piece in pieces(corpus, work, works):
                problems.add(piece.batch.problems)
                if piece.documents:
                    files.append(piece.file)
                documents += piece.documents
                words += piece.words
                fingerprint.add(piece.digests)
                guessed_languages += piece.guessed_languages
                advance(piece.size)
        store = Store(path, *maker, tuple(files), documents, words, fingerprint.hexdigest())
        _finish(store)
        for line in remarks(guessed_languages):
            reporter.say(line)
        return store, problems


def _refuse_other(path: Path, annotator: Annotator, layers: Sequence[str]) -> None:
    """A store holds the layers of one annotator; another one needs another folder."""
    if not is_store(path):
        return make_folder(path, "a store", _is_ours)
    there = open_store(path)
    if there.signature != annotator.signature or set(there.layers) != set(layers):
        raise OptionError(
            f"{path} was made by {there.signature} with the layers {', '.join(there.layers)}; "
            f"requested: {annotator.signature} with {', '.join(layers)}. Layers of different "
            "annotators cannot be mixed: choose another folder"
        )


def _is_ours(place: Path) -> bool:
    """Whether `annotate` made this, whole or half."""
    name = half_of(place.name) or place.name
    return not place.is_dir() and (is_piece(name) or name in (MANIFEST, LOCK))


def _finish(store: Store) -> None:
    """Write the manifest, then remove pieces that it does not name."""
    manifest: dict[str, Any] = {"format": FORMAT}
    manifest |= {
        name: getattr(store, name) for name in Store.__dataclass_fields__ if name != "path"
    }
    write_atomically(store.path / MANIFEST, json.dumps(manifest, indent=1), durable=True)
    used = {MANIFEST, LOCK, *store.files}
    for place in store.path.iterdir():
        if _is_ours(place) and place.name not in used:
            place.unlink(missing_ok=True)
