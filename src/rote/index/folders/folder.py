"""Open, verify and change an index folder: its files, its lock, and the steps of a change.

    IDX/rote-index.json          the manifest
    IDX/segments/NAME/PART/      immutable parts; NAME is a hash of what went in
    IDX/tokenizers/HASH.json     tokenizers of subword layers
    IDX/pieces/                  annotated pieces of a running build
    IDX/checked.json             which files are known to be intact (the checksum cache)
    IDX/lock                     held by the writer (core/locked_folder.py)

Readers take no lock. What a manifest names stays until a newer manifest has replaced it, and
files that are mapped stay readable after that, so a reader sees one state from first to last;
its worker processes open that same state (`open_folder_as`), or say that its files are gone.

**Checksum cache.** A stamp is a file's size, time of change and inode. A file with the recorded
stamp has not been touched since it was checked; any other is read in full before it is used: its
checksum must fit, and what it holds must make sense (segments/segment.py). Without the cache (a
copy, a folder that cannot be written) everything is checked, and nothing else changes.

**A change.** Before: take the lock, remove what a killed command left half done. After: name the
new state in the manifest, then remove what it no longer names. Whole segments that no manifest
names yet are what an interrupted command had finished; they are kept for its next run, and removed
once another command has succeeded.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from rote.annotate import words
from rote.core.arrays import ENDING
from rote.core.errors import InputError, OptionError, RoteError
from rote.core.files import half_of, naming, write_atomically
from rote.core.json_reader import read_json
from rote.core.locked_folder import (
    LOCK,
    locked,
    make_folder,
    os_error_messages,
    refuse_links,
    remove_halves,
)
from rote.core.progress import Reporter, Silent
from rote.index.folders.manifest import (
    MANIFEST,
    PROVENANCE,
    SEGMENTS,
    TOKENIZERS,
    ListedSegment,
    Manifest,
    Provenance,
    fingerprint_of,
    is_index,
    read_manifest,
    read_provenances,
    read_sealed_segment,
    render_manifest,
)
from rote.index.segments.documents import Documents
from rote.index.segments.part import (
    DOCUMENTS,
    RESTORE,
    FolderTarget,
    PartRecord,
    check_part,
    is_sealed,
    open_part,
    sync_folder,
)
from rote.index.segments.segment import Segment, open_segment, validate_segment


def open_folder(
    path: Path, reporter: Reporter | None = None
) -> tuple[Manifest, tuple[Segment, ...]]:
    """The manifest as it is now, and its segments; damage is an error that names the file."""
    manifest = read_manifest(path)
    while True:
        try:
            return manifest, open_segments(path, manifest, reporter or Silent())
        except (InputError, FileNotFoundError):
            # A merge may have ended after the manifest was read, and removed what it named.
            newer = read_manifest(path)
            if newer.generation == manifest.generation:
                raise
            manifest = newer


def open_folder_as(path: Path, manifest: Manifest) -> tuple[Segment, ...]:
    """The segments as they were under this manifest, as long as their files are there."""
    try:
        return open_segments(path, manifest, Silent())
    except (InputError, FileNotFoundError):
        if read_manifest(path).generation == manifest.generation:
            raise
        raise InputError(
            "the index changed while it was being read, and its old files are gone",
            file=str(path),
            remedy="Run the command again",
        ) from None


def open_segments(
    path: Path, manifest: Manifest, reporter: Reporter, *, everything: bool = False
) -> tuple[Segment, ...]:
    """All segments, checked where that is needed, or `everything`."""
    new = check_unseen(path, manifest.parts(path), reporter)
    segments = []
    for listed in manifest.segments:
        folder = path / SEGMENTS / listed.name
        segment = open_segment(folder, listed.record.parts, listed.name)
        if not set(manifest.sorted_layers) <= set(manifest.layers) <= segment.columns.keys():
            problem = "its layers differ from those of the index"
            raise InputError(problem, file=str(folder), remedy=RESTORE)
        wanted = manifest.meanings and manifest.meanings.dimensions
        if wanted != (segment.meanings and segment.meanings.dimensions):
            problem = "its meanings differ from those of the index"
            raise InputError(problem, file=str(folder), remedy=RESTORE)
        if everything or any(name.startswith(f"{SEGMENTS}/{listed.name}/") for name in new):
            validate_segment(segment, str(folder))
        segments.append(segment)
    if new:  # read in full, and sound too
        _write_stamps(path, _read_stamps(path) | new)
    return tuple(segments)


CHECKED = "checked.json"

Stamps = dict[str, dict[str, list[int]]]
"""For each part's folder the stamp of each file in it."""
Parts = Iterable[tuple[Path, PartRecord]]


def check_unseen(path: Path, parts: Parts, reporter: Reporter | None = None) -> Stamps:
    """Read in full what is not known to be whole; damage is an error.

    Gives the stamps of what was read.
    """
    known, checked = _read_stamps(path), Stamps()
    unknown = [
        (folder, record)
        for folder, record in parts
        if known.get(_part_name(path, folder)) != _stat_files(folder)
    ]
    total = sum(record.bytes for _, record in unknown)
    if not unknown:
        return checked
    with (reporter or Silent()).stage("checking", total, unit="B") as advance:
        for folder, record in unknown:
            # Taken before reading: a change while it is read must not pass as checked.
            stamps = _stat_files(folder)
            problems = check_part(folder, record.checksum, advance)
            if problems:
                name, _, problem = problems[0].removeprefix(str(folder)).partition(": ")
                raise InputError(problem, file=f"{folder}{name}", remedy=RESTORE)
            checked[_part_name(path, folder)] = stamps
    return checked


def record_written(path: Path, parts: Parts) -> None:
    """Note the stamps of parts that were just written; forget parts that are gone."""
    known = _read_stamps(path)
    # What was there before keeps its old stamp, so that damage done meanwhile is still noticed.
    now = {
        name: known.get(name, _stat_files(folder))
        for name, folder in ((_part_name(path, folder), folder) for folder, _ in parts)
    }
    if now != known:
        _write_stamps(path, now)


def _part_name(path: Path, folder: Path) -> str:
    return folder.relative_to(path).as_posix()


def _stat_files(folder: Path) -> dict[str, list[int]]:
    stamps = {}
    with suppress(OSError), os.scandir(folder) as places:
        for place in places:
            about = place.stat()
            stamps[place.name] = [about.st_size, about.st_mtime_ns, about.st_ino]
    return stamps


def _read_stamps(path: Path) -> Stamps:
    try:
        stamps = read_json(path / CHECKED)
    except (OSError, InputError):
        return {}
    return stamps if isinstance(stamps, dict) else {}


def _write_stamps(path: Path, stamps: Stamps) -> None:
    with suppress(OSError, OptionError):
        write_atomically(path / CHECKED, json.dumps(stamps))


def verify_index(path: Path, reporter: Reporter | None = None) -> list[str]:
    """One line for each problem; none when the index is whole."""
    reporter = reporter or Silent()
    try:
        manifest = read_manifest(path)
    except InputError as error:
        return [error.diagnosis]
    problems: list[str] = []
    with reporter.stage("verifying", manifest.bytes, unit="B") as advance:
        for folder, part in manifest.parts(path):
            problems += check_part(folder, part.checksum, advance)
    for each in manifest.subwords:
        problems += _tokenizer_problem(path / each.file, each.signature)
    # What the files hold is only worth comparing when they are as they were written.
    return problems or _find_disagreements(path, manifest)


def _tokenizer_problem(place: Path, signature: str) -> list[str]:
    if not os.path.isfile(place):
        return [f"{place}: the tokenizer's file is missing"]
    try:
        if words.get(str(place)).signature == signature:
            return []
    except OSError as error:
        return [f"{place}: a file of the index cannot be read ({error.strerror})"]
    return [f"{place}: the content has changed since it was written"]


def _find_disagreements(path: Path, manifest: Manifest) -> list[str]:
    """Where files that are whole do not fit each other, or the manifest."""
    try:
        segments = open_segments(path, manifest, Silent(), everything=True)
        provenances = read_provenances(path, manifest.segments)
    except RoteError as error:
        return [error.diagnosis if isinstance(error, InputError) else str(error)]
    problems = []
    for listed, segment, provenance in zip(manifest.segments, segments, provenances):
        place = path / SEGMENTS / listed.name
        if segment.columns.keys() != set(manifest.layers):
            problems.append(f"{place}: its layers differ from those of the index")
            continue
        unsorted = [n for n in manifest.sorted_layers if segment.columns[n].suffixes is None]
        problems += [f"{place}: the layer {name} is not sorted" for name in unsorted]
        sizes = {
            (listed.record.documents, listed.record.tokens),
            (len(segment.documents), segment.tokens),
            (provenance.documents, provenance.words),
        }
        if len(sizes) > 1:
            problems.append(
                f"{place}: its numbers of documents and words differ from the listed ones"
            )
    totals = (
        sum(o.documents for o in provenances),
        sum(o.words for o in provenances),
        fingerprint_of(provenances),
    )
    if totals != (manifest.documents, manifest.words, manifest.fingerprint):
        problems.append(f"{path}: the segments do not add up to what the manifest says")
    return problems


SealedSegment = tuple[ListedSegment, Provenance]
PIECES = "pieces"
PARTIAL = ".partial"
REMOVED = ".removed"
_OWN_NAMES = {MANIFEST, SEGMENTS, TOKENIZERS, PIECES, LOCK, CHECKED}
_HALVES = (".json", ENDING)
# Whatever else somebody (a file manager, say) has put into the folders is left alone.
_SEGMENT = re.compile(r"[0-9a-f]{32}")
_TOKENIZER = re.compile(r"[0-9a-f]+\.json")


@contextmanager
def lock_for_writing(path: Path, command: str) -> Iterator[None]:
    """The only writer of the folder, from here to the end of the block."""
    with os_error_messages(path, "the index"), locked(path, command):
        refuse_links(_writable_paths(path))
        for name in (SEGMENTS, PIECES, TOKENIZERS):
            (path / name).mkdir(exist_ok=True)
        _remove_partial(path)
        yield


@contextmanager
def changing(path: Path, command: str) -> Iterator[Manifest]:
    """Lock an index that is there; its manifest as it is then."""
    read_manifest(path)
    with lock_for_writing(path, command):
        yield read_manifest(path)


def read_sealed(path: Path, manifest: Manifest) -> list[SealedSegment]:
    return list(zip(manifest.segments, read_provenances(path, manifest.segments)))


def _writable_paths(path: Path) -> Iterator[Path]:
    """What is here that a command may write into or remove; files inside of parts it may only
    remove, and then not what they lead to."""
    yield from filter(_is_own, path.iterdir())
    for entry in _list_entries(path / SEGMENTS):
        if _SEGMENT.fullmatch(entry.name.removesuffix(PARTIAL).removesuffix(REMOVED)):
            yield entry
            yield from _list_entries(entry)
    yield from _list_entries(path / PIECES)
    yield from (
        entry for entry in _list_entries(path / TOKENIZERS) if _TOKENIZER.fullmatch(entry.name)
    )


def make_index_folder(path: Path) -> None:
    """A folder for a new index, which must be new or hold nothing but an index."""
    if not is_index(path):
        make_folder(path, "an index", _is_own)


@dataclass(slots=True)
class SegmentFolder:
    """A segment that is being written, and the name that it gets once it is whole."""

    target: FolderTarget
    name: str = ""


@contextmanager
def seal_segment(path: Path) -> Iterator[SegmentFolder]:
    """Write a segment under a provisional name; whoever writes says the one it is to have."""
    partial = path / SEGMENTS / (uuid4().hex + PARTIAL)
    segment = SegmentFolder(FolderTarget(partial))
    try:
        with naming(path / SEGMENTS):
            yield segment
            segment.target.close()
            sync_folder(partial)
        final = path / SEGMENTS / segment.name
        try:
            partial.rename(final)
        except OSError:
            # Another attempt at the same segment has come first.
            if not is_sealed(final / PROVENANCE):
                raise
            shutil.rmtree(partial)
        sync_folder(final.parent)
    except BaseException:
        # On a full disk the room is needed; after a kill the next writer does this.
        shutil.rmtree(partial, ignore_errors=True)
        raise


def find_unlisted(path: Path, manifest: Manifest) -> dict[str, SealedSegment]:
    """Whole segments that an interrupted command left, by name."""
    listed = {each.name for each in manifest.segments}
    unlisted = {}
    for entry in sorted(_list_folders(path / SEGMENTS)):
        if entry.name in listed or not _SEGMENT.fullmatch(entry.name):
            continue
        # Nobody has looked at it since; what was damaged meanwhile is made again.
        if is_sealed(entry / PROVENANCE) and not any(map(check_part, _list_folders(entry))):
            unlisted[entry.name] = read_sealed_segment(entry)
        else:
            remove_folder(entry)
    return unlisted


def open_documents(path: Path, segments: Sequence[ListedSegment]) -> list[Documents]:
    """The documents of segments, without their layers."""
    return [
        Documents(open_part(path / SEGMENTS / listed.name / part.folder, part.checksum))
        for listed in segments
        for part in listed.record.parts
        if part.kind == DOCUMENTS
    ]


def publish(
    path: Path, manifest: Manifest, segments: Iterable[ListedSegment], **changes: Any
) -> Manifest:
    """Replace the manifest: from here on the index is these segments."""
    generation = manifest.generation + 1
    manifest = replace(manifest, generation=generation, segments=tuple(segments), **changes)
    write_atomically(path / MANIFEST, render_manifest(manifest), durable=True)
    sync_folder(path)
    remove_unlisted(path, manifest)
    return manifest


def remove_unlisted(path: Path, manifest: Manifest) -> None:
    """Remove everything that the manifest does not name, and what a lost worker half wrote."""
    _remove_partial(path)
    record_written(path, manifest.parts(path))
    listed_parts = {
        listed.name: {part.folder for part in listed.parts} for listed in manifest.segments
    }
    for entry in _list_folders(path / SEGMENTS):
        for part in _list_folders(entry) if entry.name in listed_parts else ():
            if part.name not in listed_parts[entry.name]:
                remove_folder(part)
        if entry.name not in listed_parts and _SEGMENT.fullmatch(entry.name):
            remove_folder(entry)
    tokenizers = {Path(each.file).name for each in manifest.subwords}
    for entry in (path / TOKENIZERS).iterdir():
        ours = _TOKENIZER.fullmatch(entry.name) and entry.is_file()
        if ours and entry.name not in tokenizers:
            entry.unlink()
    shutil.rmtree(path / PIECES, ignore_errors=True)


def _remove_partial(path: Path) -> None:
    for entry in _list_folders(path / SEGMENTS):
        if entry.suffix in (PARTIAL, REMOVED) and _SEGMENT.fullmatch(entry.stem):
            shutil.rmtree(entry)
    remove_halves(path, _is_own)
    for inner in (path / PIECES, path / TOKENIZERS):
        remove_halves(inner, lambda place: (half_of(place.name) or "").endswith(_HALVES))


def _is_own(entry: Path) -> bool:
    return (half_of(entry.name) or entry.name) in _OWN_NAMES


def _list_entries(path: Path) -> list[Path]:
    return list(path.iterdir()) if path.is_dir() and not path.is_symlink() else []


def _list_folders(path: Path) -> list[Path]:
    return [entry for entry in path.iterdir() if entry.is_dir() and not entry.is_symlink()]


def remove_folder(entry: Path) -> None:
    """Remove a folder if it is there, in a way that never leaves half of it under its name.

    Files are not touched: the index keeps none where its folders are, so they are somebody's.
    """
    if entry.is_symlink() or not entry.is_dir():
        return
    doomed = entry.with_name(entry.name + REMOVED)
    shutil.rmtree(doomed, ignore_errors=True)
    entry.rename(doomed)
    shutil.rmtree(doomed)
