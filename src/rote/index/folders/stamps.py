"""Which files were read in full and found whole: so that opening need not read them again.

A stamp is a file's size, time of change and inode. A file whose stamp is the recorded one has
not been touched since it was checked; any other is read in full before it is used: its checksum
must fit, and what it holds must make sense (segments/sound.py).
The record is a convenience: without it (a copy, a folder that cannot be written) everything is
checked, and nothing else changes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from rote.core.errors import InputError, OptionError
from rote.core.files import write_atomically
from rote.core.json_reader import read_json
from rote.core.progress import Reporter, Silent
from rote.index.segments.part import RESTORE, PartRecord, check_part

CHECKED = "checked.json"

Stamps = dict[str, dict[str, list[int]]]
"""For each part's folder the stamp of each file in it."""
Parts = Iterable[tuple[Path, PartRecord]]


def check_new(path: Path, parts: Parts, reporter: Reporter | None = None) -> Stamps:
    """Read in full what is not known to be whole; damage is an error.

    Gives the stamps of what was read, for `record_checked`.
    """
    known, found = _read(path), Stamps()
    unknown = [
        (folder, record)
        for folder, record in parts
        if known.get(_name(path, folder)) != _stamps(folder)
    ]
    total = sum(record.bytes for _, record in unknown)
    if not unknown:
        return found
    with (reporter or Silent()).stage("checking", total, unit="B") as advance:
        for folder, record in unknown:
            # Taken before reading: a change while it is read must not pass as checked.
            stamps = _stamps(folder)
            problems = check_part(folder, record.checksum, advance)
            if problems:
                name, _, problem = problems[0].removeprefix(str(folder)).partition(": ")
                raise InputError(problem, file=f"{folder}{name}", remedy=RESTORE)
            found[_name(path, folder)] = stamps
    return found


def record_checked(path: Path, found: Stamps) -> None:
    """Note what was read in full, and is sound too."""
    if found:
        _write(path, _read(path) | found)


def record_written(path: Path, parts: Parts) -> None:
    """Note the stamps of parts that were just written; forget parts that are gone."""
    known = _read(path)
    # What was there before keeps its old stamp, so that damage done meanwhile is still noticed.
    now = {
        name: known.get(name, _stamps(folder))
        for name, folder in ((_name(path, folder), folder) for folder, _ in parts)
    }
    if now != known:
        _write(path, now)


def _name(path: Path, folder: Path) -> str:
    return folder.relative_to(path).as_posix()


def _stamps(folder: Path) -> dict[str, list[int]]:
    found = {}
    with suppress(OSError), os.scandir(folder) as places:
        for place in places:
            about = place.stat()
            found[place.name] = [about.st_size, about.st_mtime_ns, about.st_ino]
    return found


def _read(path: Path) -> Stamps:
    try:
        held = read_json(path / CHECKED)
    except (OSError, InputError):
        return {}
    return held if isinstance(held, dict) else {}


def _write(path: Path, stamps: Stamps) -> None:
    with suppress(OSError, OptionError):
        write_atomically(path / CHECKED, json.dumps(stamps))
