"""Open and verify an index folder: every file is checked, or known to be intact, then mapped.

    IDX/rote-index.json          the manifest
    IDX/segments/NAME/PART/      immutable parts; NAME is a hash of what went in
    IDX/tokenizers/HASH.json     tokenizers of subword layers
    IDX/pieces/                  annotated pieces of a running build
    IDX/checked.json             which files are known to be intact (the checksum cache)
    IDX/lock                     held by the writer (core/folder.py)

Readers take no lock. What a manifest names stays until a newer manifest has replaced it, and
files that are mapped stay readable after that, so a reader sees one state from first to last;
its worker processes open that same state (`open_folder_as`), or say that its files are gone.

**Checksum cache.** A stamp is a file's size, time of change and inode. A file with the recorded
stamp has not been touched since it was checked; any other is read in full before it is used: its
checksum must fit, and what it holds must make sense (segments/validate.py). Without the cache (a
copy, a folder that cannot be written) everything is checked, and nothing else changes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from rote.annotate import words
from rote.core.errors import InputError, OptionError, RoteError
from rote.core.files import write_atomically
from rote.core.json_reader import read_json
from rote.core.progress import Reporter, Silent
from rote.index.folders.manifest import (
    SEGMENTS,
    Manifest,
    fingerprint_of,
    read_manifest,
    read_provenances,
)
from rote.index.segments.part import RESTORE, PartRecord, check_part
from rote.index.segments.segment import Segment, open_segment


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
            "the index was changed while it was being read, and its old files are gone",
            file=str(path),
            remedy="Run the command again",
        ) from None


def open_segments(
    path: Path, manifest: Manifest, reporter: Reporter, *, everything: bool = False
) -> tuple[Segment, ...]:
    """All segments, checked where that is needed, or `everything`."""
    from rote.index.segments.validate import validate_segment

    new = check_unseen(path, manifest.parts(path), reporter)
    segments = []
    for listed in manifest.segments:
        folder = path / SEGMENTS / listed.name
        segment = open_segment(folder, listed.record.parts, listed.name)
        if not set(manifest.sorted_layers) <= set(manifest.layers) <= segment.columns.keys():
            problem = "its layers are not those of the index"
            raise InputError(problem, file=str(folder), remedy=RESTORE)
        wanted = manifest.meanings and manifest.meanings.dimensions
        if wanted != (segment.meanings and segment.meanings.dimensions):
            problem = "its meanings are not those of the index"
            raise InputError(problem, file=str(folder), remedy=RESTORE)
        if everything or any(name.startswith(f"{SEGMENTS}/{listed.name}/") for name in new):
            validate_segment(segment, str(folder))
        segments.append(segment)
    record_checked(path, new)
    return tuple(segments)


CHECKED = "checked.json"

Stamps = dict[str, dict[str, list[int]]]
"""For each part's folder the stamp of each file in it."""
Parts = Iterable[tuple[Path, PartRecord]]


def check_unseen(path: Path, parts: Parts, reporter: Reporter | None = None) -> Stamps:
    """Read in full what is not known to be whole; damage is an error.

    Gives the stamps of what was read, for `record_checked`.
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


def record_checked(path: Path, checked: Stamps) -> None:
    """Note what was read in full, and is sound too."""
    if checked:
        _write_stamps(path, _read_stamps(path) | checked)


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
        return [_error_line(error)]
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
        return [_error_line(error)]
    problems = []
    for listed, segment, provenance in zip(manifest.segments, segments, provenances):
        place = path / SEGMENTS / listed.name
        if segment.columns.keys() != set(manifest.layers):
            problems.append(f"{place}: its layers are not those of the index")
            continue
        unsorted = [n for n in manifest.sorted_layers if segment.columns[n].suffixes is None]
        problems += [f"{place}: the layer {name} is not sorted" for name in unsorted]
        sizes = {
            (listed.record.documents, listed.record.tokens),
            (len(segment.documents), segment.tokens),
            (provenance.documents, provenance.words),
        }
        if len(sizes) > 1:
            problems.append(f"{place}: its documents and words are not as many as listed")
    totals = (
        sum(o.documents for o in provenances),
        sum(o.words for o in provenances),
        fingerprint_of(provenances),
    )
    if totals != (manifest.documents, manifest.words, manifest.fingerprint):
        problems.append(f"{path}: the segments do not add up to what the manifest says")
    return problems


def _error_line(error: RoteError) -> str:
    if isinstance(error, InputError):
        return error.diagnosis
    return str(error)
