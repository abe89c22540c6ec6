"""Opening an index folder: every file checked or known to be whole, then mapped.

    IDX/rote-index.json          the manifest (manifest.py)
    IDX/segments/NAME/PART/      immutable parts; NAME is a hash of what went in
    IDX/tokenizers/HASH.json     tokenizers of subword layers
    IDX/pieces/                  annotated pieces of a running build
    IDX/checked.json             which files are known to be whole (stamps.py)
    IDX/lock                     held by whoever writes (core/folder.py)

Readers take no lock. What a manifest names stays until a newer manifest has replaced it, and
files that are mapped stay readable after that, so a reader sees one state from first to last;
its worker processes open that same state (`open_as`), or say that its files are gone.
"""

from __future__ import annotations

from pathlib import Path

from rote.core.errors import InputError
from rote.core.progress import Reporter, Silent
from rote.index.folders.manifest import (
    SEGMENTS,
    Manifest,
    read_manifest,
)
from rote.index.folders.stamps import check_new, record_checked
from rote.index.segments.part import RESTORE
from rote.index.segments.segment import Segment, open_segment


def open_folder(
    path: Path, reporter: Reporter | None = None
) -> tuple[Manifest, tuple[Segment, ...]]:
    """The manifest as it is now, and its segments; damage is an error that names the file."""
    manifest = read_manifest(path)
    while True:
        try:
            return manifest, map_segments(path, manifest, reporter or Silent())
        except (InputError, FileNotFoundError):
            # A merge may have ended after the manifest was read, and removed what it named.
            newer = read_manifest(path)
            if newer.generation == manifest.generation:
                raise
            manifest = newer


def open_as(path: Path, manifest: Manifest) -> tuple[Segment, ...]:
    """The segments as they were under this manifest, as long as their files are there."""
    try:
        return map_segments(path, manifest, Silent())
    except (InputError, FileNotFoundError):
        if read_manifest(path).generation == manifest.generation:
            raise
        raise InputError(
            "the index was changed while it was being read, and its old files are gone",
            file=str(path),
            remedy="Run the command again",
        ) from None


def map_segments(
    path: Path, manifest: Manifest, reporter: Reporter, *, everything: bool = False
) -> tuple[Segment, ...]:
    """All segments, checked where that is needed, or `everything`."""
    from rote.index.segments.sound import check_sound

    new = check_new(path, manifest.parts(path), reporter)
    segments = []
    for listed in manifest.segments:
        folder = path / SEGMENTS / listed.name
        segment = open_segment(folder, listed.record.parts, listed.name)
        if not set(manifest.sorted_layers) <= set(manifest.layers) <= segment.columns.keys():
            problem = "its layers are not those of the index"
            raise InputError(problem, file=str(folder), remedy=RESTORE)
        if everything or any(name.startswith(f"{SEGMENTS}/{listed.name}/") for name in new):
            check_sound(segment, str(folder))
        segments.append(segment)
    record_checked(path, new)
    return tuple(segments)
