"""What every command that changes an index does before and after its own work.

Before: take the lock, remove what a killed command left half done. After: name the new state in
the manifest, then remove what it no longer names. Whole segments that no manifest names yet are
what an interrupted command had finished; they are kept for its next run, and removed once
another command has succeeded.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from rote.core import folder
from rote.core.arrays import ENDING
from rote.core.files import half_of, naming, write_atomically
from rote.core.folder import LOCK, clear_errors, locked
from rote.index.folders.folder import CHECKED, record_written
from rote.index.folders.manifest import (
    MANIFEST,
    PROVENANCE,
    SEGMENTS,
    TOKENIZERS,
    ListedSegment,
    Manifest,
    Provenance,
    is_index,
    read_sealed_segment,
    render_manifest,
)
from rote.index.segments.documents import Documents
from rote.index.segments.part import (
    DOCUMENTS,
    FolderTarget,
    check_part,
    is_sealed,
    open_part,
    sync_folder,
)

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
    with clear_errors(path, "the index"), locked(path, command):
        folder.refuse_links(_writable_paths(path))
        for name in (SEGMENTS, PIECES, TOKENIZERS):
            (path / name).mkdir(exist_ok=True)
        _remove_partial(path)
        yield


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
        folder.make_folder(path, "an index", _is_own)


@dataclass(slots=True)
class SegmentFolder:
    """A segment that is being written, and the name that it gets once it is whole."""

    target: FolderTarget
    name: str = ""


@contextmanager
def seal_segment(path: Path) -> Iterator[SegmentFolder]:
    """Write a segment under a provisional name; whoever writes says the one it is to have."""
    partial = path / SEGMENTS / (uuid4().hex + PARTIAL)
    written = SegmentFolder(FolderTarget(partial))
    try:
        with naming(path / SEGMENTS):
            yield written
            written.target.close()
            sync_folder(partial)
        final = path / SEGMENTS / written.name
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


def find_unlisted(
    path: Path, manifest: Manifest | None
) -> dict[str, tuple[ListedSegment, Provenance]]:
    """Whole segments that an interrupted command left, by name."""
    listed = {each.name for each in manifest.segments} if manifest else set()
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


def publish(path: Path, manifest: Manifest) -> None:
    """Replace the manifest: from here on this is the index."""
    write_atomically(path / MANIFEST, render_manifest(manifest), durable=True)
    sync_folder(path)
    remove_unlisted(path, manifest)


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
    folder.remove_halves(path, _is_own)
    for inner in (path / PIECES, path / TOKENIZERS):
        folder.remove_halves(inner, lambda place: (half_of(place.name) or "").endswith(_HALVES))


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
