"""Folders that a command makes: whole or not there, with a manifest that explains them.

A folder of the same command, settings and input is left as it is; whatever else is at its place
is refused.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rote.core.errors import OptionError
from rote.core.files import beside, check_parent, half_of, write_atomically
from rote.core.folder import (
    LOCK,
    clear_errors,
    inside,
    is_left,
    locked,
    refuse_links,
    remove_halves,
)
from rote.core.json_reader import JsonObject, read_json
from rote.core.metric import MOST_JOBS, check_options, engine_option, option, unsigned

MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class FolderOptions:
    """Where a command that makes a folder puts it, and what works on it."""

    SECTION: ClassVar[str] = "Output"
    output: Path | None = option(
        None,
        "The folder; a new one, or one of the same run  [default: rote-COMMAND]",
        short="-o",
        metavar="DIR",
        writes="folder",
        sign=unsigned,
        common=True,
    )
    jobs: int = option(
        1, "How many cores to use; results do not depend on it", sign=unsigned, most=MOST_JOBS
    )
    engine: str | None = engine_option()

    def __post_init__(self) -> None:
        check_options(self)

    def folder(self, command: str) -> Path:
        """Its place."""
        return self.output or Path(f"rote-{command}")


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder to write into, beside its place; it gets its name once everything is in it. What a
    killed run left there is removed."""
    path = _real(path)
    check_parent(path)
    for left in path.absolute().parent.iterdir():
        if half_of(left.name) == path.name and is_left(left):
            shutil.rmtree(left)
    partial = beside(path)
    partial.mkdir()
    try:
        with locked(partial, "rote"):
            yield partial
            (partial / LOCK).unlink()
        os.rename(partial, path)  # an empty folder there is replaced, a full one refused
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


@contextmanager
def resumed_folder(path: Path, key: str, command: str) -> Iterator[tuple[Path, Path]]:
    """As `new_folder`, for long work: what a run with the same key finished before it was killed is
    still there. The second folder is for notes of what is finished; it is removed at the end."""
    path = _real(path)
    check_parent(path)
    partial = path.with_name(f".{path.name}.{key}.partial")
    made, notes, over = partial / "made", partial / "finished", partial / "over"
    with clear_errors(partial, "the folder"):
        refuse_links((partial, *inside(partial)))
        for folder in (made, notes):
            folder.mkdir(parents=True, exist_ok=True)
        with locked(partial, command):
            shutil.rmtree(over, ignore_errors=True)
            for folder in (made, notes):
                remove_halves(folder, lambda _: True)
            try:
                yield made, notes
            except BaseException:
                if not any(path.is_file() for path in notes.rglob("*")):  # nothing to go on with
                    shutil.rmtree(partial)
                raise
            os.rename(notes, over)  # all notes go at once: some of them tell half of it
            shutil.rmtree(over)
            os.rename(made, path)
            shutil.rmtree(partial)


def _real(path: Path) -> Path:
    """A folder cannot take the place of a link to an empty one; of that one it can."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """For people to read as well."""
    text = json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"
    write_atomically(folder / MANIFEST, text.encode("utf-8", "backslashreplace"))


def read_manifest(
    folder: Path, made_by: str, fields: Mapping[str, Any], files: str = "subsets"
) -> dict[str, Any]:
    """The manifest of a folder that this command made, with these `fields`.

    `files` names the manifest's list of what the folder holds, each with `file` and `bytes`.
    """
    place, remedy = folder / MANIFEST, "Choose a new folder"
    value = read_json(place, remedy=remedy, strict=True)
    if not isinstance(value, dict) or value.get("made_by") != made_by:
        raise OptionError(f"{folder} exists and is not of this command: choose a new folder")
    held = JsonObject.of(value, str(place), remedy=remedy)
    held.check({"settings": dict, **fields})
    held.check_names((each.text("file") for each in held.objects(files)), files, ".file")
    return dict(held.values)


def manifest_before(
    folder: Path,
    made_by: str,
    settings: Mapping[str, Any],
    fields: Mapping[str, Any],
    files: str = "subsets",
) -> dict[str, Any] | None:
    """The manifest of an earlier run with the same settings; whatever else is there is refused."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return None
    if not (folder / MANIFEST).is_file():
        raise OptionError(f"{folder} exists and is not of this command: choose a new folder")
    held = read_manifest(folder, made_by, fields, files)
    theirs = held["settings"]
    if different := [name for name in settings if theirs.get(name) != settings[name]]:
        shown = ", ".join(f"{n} {theirs.get(n)}, not {settings[n]}" for n in different)
        raise OptionError(
            f"{folder} holds {files} made with other settings ({shown}): choose a new folder"
        )
    for each in held[files]:
        place = folder / each["file"]
        if not place.exists() or size_of(place) != each["bytes"]:
            raise OptionError(
                f"{place} is missing or changed: remove {folder}, or choose a new folder"
            )
    return held


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    files = path.iterdir() if path.is_dir() else (path,)
    return sum(file.stat().st_size for file in files)


def refuse_other_input(folder: Path, before: Mapping[str, Any], fingerprint: str) -> None:
    """A folder was made of these texts, or it is not taken for theirs."""
    if before["input"]["fingerprint"] != fingerprint:
        raise OptionError(
            f"{folder} holds what was made of other texts (fingerprint "
            f"{before['input']['fingerprint']}, not {fingerprint}): choose a new folder"
        )
