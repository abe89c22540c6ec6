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
from rote.corpus import Fingerprint
from rote.index.folders.manifest import (
    MANIFEST,
    ORIGIN,
    SEGMENTS,
    TOKENIZERS,
    Listed,
    Manifest,
    is_index,
    render,
)
from rote.index.folders.origin import Origin, read_origin, sealed_segment
from rote.index.folders.stamps import CHECKED, record_written
from rote.index.segments.documents import Documents
from rote.index.segments.part import DOCUMENTS, check_part, is_whole, open_part
from rote.index.segments.target import FolderTarget, sync_folder

PIECES = "pieces"
PARTIAL = ".partial"
REMOVED = ".removed"
_OURS = {MANIFEST, SEGMENTS, TOKENIZERS, PIECES, LOCK, CHECKED}
_HALVES = (".json", ENDING)
# Whatever else somebody (a file manager, say) has put into the folders is left alone.
_SEGMENT = re.compile(r"[0-9a-f]{32}")
_TOKENIZER = re.compile(r"[0-9a-f]+\.json")


@contextmanager
def writing(path: Path, command: str) -> Iterator[None]:
    """The only writer of the folder, from here to the end of the block."""
    with clear_errors(path, "the index"), locked(path, command):
        folder.refuse_links(_written_places(path))
        for name in (SEGMENTS, PIECES, TOKENIZERS):
            (path / name).mkdir(exist_ok=True)
        _remove_halves(path)
        yield


def _written_places(path: Path) -> Iterator[Path]:
    """What is here that a command may write into or remove; files inside of parts it may only
    remove, and then not what they lead to."""
    yield from filter(_is_ours, path.iterdir())
    for place in _entries(path / SEGMENTS):
        if _SEGMENT.fullmatch(place.name.removesuffix(PARTIAL).removesuffix(REMOVED)):
            yield place
            yield from _entries(place)
    yield from _entries(path / PIECES)
    yield from (place for place in _entries(path / TOKENIZERS) if _TOKENIZER.fullmatch(place.name))


def make_folder(path: Path) -> None:
    """A folder for a new index, which must be new or hold nothing but an index."""
    if not is_index(path):
        folder.make_folder(path, "an index", _is_ours)


@dataclass(slots=True)
class Sealing:
    """A segment that is being written, and the name that it gets once it is whole."""

    target: FolderTarget
    name: str = ""


@contextmanager
def sealing(path: Path) -> Iterator[Sealing]:
    """Write a segment under a provisional name; whoever writes says the one it is to have."""
    partial = path / SEGMENTS / (uuid4().hex + PARTIAL)
    written = Sealing(FolderTarget(partial))
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
            if not is_whole(final / ORIGIN):
                raise
            shutil.rmtree(partial)
        sync_folder(final.parent)
    except BaseException:
        # On a full disk the room is needed; after a kill the next writer does this.
        shutil.rmtree(partial, ignore_errors=True)
        raise


def unlisted(path: Path, manifest: Manifest | None) -> dict[str, tuple[Listed, Origin]]:
    """Whole segments that an interrupted command left, by name."""
    listed = {each.name for each in manifest.segments} if manifest else set()
    found = {}
    for place in sorted(_folders(path / SEGMENTS)):
        if place.name in listed or not _SEGMENT.fullmatch(place.name):
            continue
        # Nobody has looked at it since; what was damaged meanwhile is made again.
        if is_whole(place / ORIGIN) and not any(map(check_part, _folders(place))):
            found[place.name] = sealed_segment(place)
        else:
            remove(place)
    return found


def origins(path: Path, segments: Sequence[Listed]) -> list[Origin]:
    return [
        read_origin(path / SEGMENTS / listed.name, listed.origin.checksum) for listed in segments
    ]


def documents(path: Path, segments: Sequence[Listed]) -> list[Documents]:
    """The documents of segments, without their layers."""
    return [
        Documents(open_part(path / SEGMENTS / listed.name / part.folder, part.checksum))
        for listed in segments
        for part in listed.record.parts
        if part.kind == DOCUMENTS
    ]


def fingerprint(held: Sequence[Origin]) -> str:
    """That of all documents in order, as a corpus of them would have it."""
    found = Fingerprint()
    for origin in held:
        found.add(row.tobytes() for row in origin.digests)
    return found.hexdigest()


def publish(path: Path, manifest: Manifest) -> None:
    """Replace the manifest: from here on this is the index."""
    write_atomically(path / MANIFEST, render(manifest), durable=True)
    sync_folder(path)
    tidy(path, manifest)


def tidy(path: Path, manifest: Manifest) -> None:
    """Remove everything that the manifest does not name, and what a lost worker half wrote."""
    _remove_halves(path)
    record_written(path, manifest.parts(path))
    kept = {listed.name: {part.folder for part in listed.parts} for listed in manifest.segments}
    for place in _folders(path / SEGMENTS):
        for part in _folders(place) if place.name in kept else ():
            if part.name not in kept[place.name]:
                remove(part)
        if place.name not in kept and _SEGMENT.fullmatch(place.name):
            remove(place)
    tokenizers = {Path(each.file).name for each in manifest.subwords}
    for place in (path / TOKENIZERS).iterdir():
        ours = _TOKENIZER.fullmatch(place.name) and place.is_file()
        if ours and place.name not in tokenizers:
            place.unlink()
    shutil.rmtree(path / PIECES, ignore_errors=True)


def _remove_halves(path: Path) -> None:
    for place in _folders(path / SEGMENTS):
        if place.suffix in (PARTIAL, REMOVED) and _SEGMENT.fullmatch(place.stem):
            shutil.rmtree(place)
    folder.remove_halves(path, _is_ours)
    for inner in (path / PIECES, path / TOKENIZERS):
        folder.remove_halves(inner, lambda place: (half_of(place.name) or "").endswith(_HALVES))


def _is_ours(place: Path) -> bool:
    return (half_of(place.name) or place.name) in _OURS


def _entries(path: Path) -> list[Path]:
    return list(path.iterdir()) if path.is_dir() and not path.is_symlink() else []


def _folders(path: Path) -> list[Path]:
    return [place for place in path.iterdir() if place.is_dir() and not place.is_symlink()]


def remove(place: Path) -> None:
    """Remove a folder if it is there, in a way that never leaves half of it under its name.

    Files are not touched: the index keeps none where its folders are, so they are somebody's.
    """
    if place.is_symlink() or not place.is_dir():
        return
    doomed = place.with_name(place.name + REMOVED)
    shutil.rmtree(doomed, ignore_errors=True)
    place.rename(doomed)
    shutil.rmtree(doomed)
