"""Folders that a command makes: whole or not there, with a manifest that explains them.

A folder of the same command, settings and input is left as it is; whatever else is at its place
is refused.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar

from rote.core import locked_folder
from rote.core.distribution import version
from rote.core.errors import OptionError
from rote.core.files import beside, check_parent, half_of, write_atomically
from rote.core.json_reader import JsonObject, read_json
from rote.core.metric import MOST_JOBS, OptionSet, engine_option, unsigned_option
from rote.core.record import Call, Findings

MANIFEST = "manifest.json"
SCHEMA = 1


@dataclass(frozen=True, slots=True)
class FolderOptions(OptionSet):
    """Where a command that makes a folder puts it, and what works on it."""

    SECTION: ClassVar[str] = "Output"
    output: Path | None = unsigned_option(
        None,
        "Output folder: a new one, or that of the same run  [default: rote-COMMAND]",
        short="-o",
        metavar="DIR",
        writes="folder",
        common=True,
    )
    jobs: int = unsigned_option(1, "Number of cores; results do not depend on it", most=MOST_JOBS)
    engine: str | None = engine_option()

    def folder(self, command: str) -> Path:
        return self.output or Path(f"rote-{command}")


@dataclass(frozen=True, slots=True)
class MadeFolder:
    """What a folder holds; `new` is False where it held all of it before. `rows` are a ledger."""

    manifest: dict[str, Any]
    problems: Any
    new: bool
    rows: Sequence[dict[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class FolderRun:
    """A command that makes a folder: what an earlier run left there, or a new one and its manifest.
    `files` names the manifest's list of what the folder holds, each with `file` and `bytes`."""

    path: Path
    command: str
    settings: Mapping[str, Any]
    fields: Mapping[str, Any]
    """What is read of the manifest."""
    files: str = "files"

    def earlier(self) -> dict[str, Any] | None:
        """The manifest of an earlier run with the same settings; whatever else is there is
        refused."""
        folder, files, settings = self.path, self.files, self.settings
        check_parent(folder)
        if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
            return None
        if not (folder / MANIFEST).is_file():
            raise OptionError(
                f"{folder} exists and was not made by this command: choose a new folder"
            )
        manifest = read_manifest(folder, self.command, self.fields, files)
        theirs = manifest["settings"]
        if different := [name for name in settings if theirs.get(name) != settings[name]]:
            changes = ", ".join(f"{n} {theirs.get(n)}, not {settings[n]}" for n in different)
            raise OptionError(
                f"{folder} holds {files} made with other settings ({changes}): choose a new folder"
            )
        for each in manifest[files]:
            place = folder / each["file"]
            if not place.exists() or bytes_of(place) != each["bytes"]:
                raise OptionError(
                    f"{place} is missing or changed: remove {folder}, or choose a new folder"
                )
        return manifest

    def reuse(
        self, manifest: dict[str, Any], fingerprint: str, problems: Any, rows: Sequence[Any] = ()
    ) -> MadeFolder:
        """The folder as it is, if it was made of the texts with this fingerprint."""
        if (theirs := manifest["input"]["fingerprint"]) != fingerprint:
            raise OptionError(
                f"{self.path} was made from other texts (fingerprint {theirs}, not {fingerprint}): "
                "choose a new folder"
            )
        return MadeFolder(manifest, problems, new=False, rows=rows)

    def resume(self, salt: bytes = b"") -> AbstractContextManager[tuple[Path, Path]]:
        """A folder to write into that an interrupted run with the same settings has begun."""
        key = blake2b(json.dumps(self.settings).encode() + salt, digest_size=8).hexdigest()
        return resumed_folder(self.path, key, self.command)

    def finish(
        self, folder: Path, content: Mapping[str, Any], problems: Any, rows: Sequence[Any] = ()
    ) -> MadeFolder:
        """Write the manifest: who made the folder, how, and what it holds."""
        begin = {"schema": SCHEMA, "made_by": self.command, "rote": version()}
        manifest = {**begin, "settings": self.settings, **content}
        text = json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"
        write_atomically(folder / MANIFEST, text.encode("utf-8", "backslashreplace"))
        return MadeFolder(manifest, problems, new=True, rows=rows)


def folder_work(call: Call) -> dict[str, Any]:
    """What works on a folder, and whom it tells."""
    options = call.of(FolderOptions)
    return {"jobs": options.jobs, "engine": options.engine, "reporter": call.reporter}


def folder_findings(
    call: Call,
    folder: Path,
    result: MadeFolder,
    tables: Mapping[str, Any],
    problems: Sequence[str],
    method: str = "",
) -> Findings:
    """What a study says of a folder; `problems` are lines about what was skipped."""
    for line in problems:
        call.reporter.say(line)
    if not result.new:
        call.reporter.say(f"{folder} already contains this: nothing was written")
    manifest = result.manifest
    signed = {**manifest["settings"], "texts": manifest["input"]["fingerprint"][:12]}
    about = {"folder": str(folder), "manifest": manifest}
    return Findings(signed=signed, tables=tables, about=about, method=method)


def plain_settings(options: Any, **more: Any) -> dict[str, Any]:
    """What the content of a folder depends on, as its manifest holds it."""
    settings = asdict(options) | more
    return {name: list(v) if isinstance(v, tuple) else v for name, v in settings.items()}


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder to write into, beside its place; it gets its name once everything is in it. What a
    killed run left there is removed."""
    path = _resolve_link(path)
    check_parent(path)
    for leftover in path.absolute().parent.iterdir():
        if half_of(leftover.name) == path.name and locked_folder.is_abandoned(leftover):
            shutil.rmtree(leftover)
    partial = beside(path)
    partial.mkdir()
    try:
        with locked_folder.locked(partial, "rote"):
            yield partial
            (partial / locked_folder.LOCK).unlink()
        os.rename(partial, path)  # an empty folder there is replaced, a full one refused
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


@contextmanager
def resumed_folder(path: Path, key: str, command: str) -> Iterator[tuple[Path, Path]]:
    """As `new_folder`, for long work: what a run with the same key finished before it was killed is
    still there. The second folder is for notes of what is finished; it is removed at the end."""
    path = _resolve_link(path)
    check_parent(path)
    partial = path.with_name(f".{path.name}.{key}.partial")
    content, notes, over = partial / "made", partial / "finished", partial / "over"
    with locked_folder.os_error_messages(partial, "the folder"):
        locked_folder.refuse_links((partial, *locked_folder.inside(partial)))
        for folder in (content, notes):
            folder.mkdir(parents=True, exist_ok=True)
        with locked_folder.locked(partial, command):
            shutil.rmtree(over, ignore_errors=True)
            for folder in (content, notes):
                locked_folder.remove_halves(folder, lambda _: True)
            try:
                yield content, notes
            except BaseException:
                if not any(path.is_file() for path in notes.rglob("*")):  # nothing to go on with
                    shutil.rmtree(partial)
                raise
            os.rename(notes, over)  # all notes go at once: some of them tell half of it
            shutil.rmtree(over)
            os.rename(content, path)
            shutil.rmtree(partial)


def _resolve_link(path: Path) -> Path:
    """A folder cannot take the place of a link to an empty one; of that one it can."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def list_files(folder: Path, texts: Mapping[str, int]) -> list[dict[str, Any]]:
    """The files of a folder as a manifest lists them, by name with how many texts each holds."""
    pairs = texts.items()
    return [{"file": n, "texts": count, "bytes": bytes_of(folder / n)} for n, count in pairs]


def read_manifest(
    folder: Path, made_by: str, fields: Mapping[str, Any], files: str = "subsets"
) -> dict[str, Any]:
    """The manifest of a folder that this command made, with these `fields`."""
    place, remedy = folder / MANIFEST, "Choose a new folder"
    value = read_json(place, remedy=remedy, strict=True)
    if not isinstance(value, dict) or value.get("made_by") != made_by:
        raise OptionError(f"{folder} exists and was not made by this command: choose a new folder")
    manifest = JsonObject.of(value, str(place), remedy=remedy)
    manifest.check({"settings": dict, **fields})
    manifest.check_names((each.text("file") for each in manifest.objects(files)), files, ".file")
    return dict(manifest.values)


def bytes_of(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    files = path.iterdir() if path.is_dir() else (path,)
    return sum(file.stat().st_size for file in files)
