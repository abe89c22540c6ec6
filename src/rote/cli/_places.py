"""What a command reads and writes, from its parameters: no input is ever written over.

An option that writes says so (`writes`): the endings of its file, `result` or `report` where the
form follows from the ending and other flags, `folder`, or `names` for a folder in which only names
of rote's own are written (figures). Everything else that names something on the disk is read:
arguments, files, indexes, models. All of it is looked at before any work.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from rote.core.errors import OptionError
from rote.core.files import check_parent
from rote.core.record import LINES as LINES

STDOUT = Path("-")
FOLDER, NAMES, RESULT, REPORT = "folder", "names", "result", "report"
_FILES = (".json", ".jsonl", ".csv", ".tsv", ".tex", ".txt", ".md", ".html", ".xlsx", ".parquet")
_NO_PLACE = ("FIELD", "NAME", "NAME,...", "ID", "SOURCE", "URL", "KIND", "FIELD=VALUE", "SHAPE")
"""What an option that takes such a value names is no file."""


def check_places(params: Sequence[click.Parameter], given: Mapping[str, Any]) -> None:
    """Refuse what would be written over an input, twice to one file, nowhere, or in a form that
    its name does not tell."""
    read = [place for param in params for place in _read(param, given.get(param.name or ""))]
    key_by_path: dict[Path, str] = {}
    for param in params:
        writes, target = getattr(param, "writes", None), given.get(param.name or "")
        if writes is None or target is None:
            continue
        flag = param.opts[0]
        if target == STDOUT:
            _check_stdout(param, flag, writes)
            continue
        _check_ending(target, flag, writes)
        if writes not in (FOLDER, NAMES):
            check_parent(target.absolute())
        for place, name in read:
            if _written_over(target, place, writes):
                raise OptionError(
                    f"{flag} {target} would write over what is read ({name}): name another place"
                )
        if other := key_by_path.get(target.resolve()):
            raise OptionError(f"{target} is named for two outputs, {other} and {flag}: name two")
        key_by_path[target.resolve()] = flag


def _read(param: click.Parameter, value: Any) -> Iterator[tuple[Path, str]]:
    """The files and folders that a parameter names, and how it was given."""
    if getattr(param, "writes", None) is not None or value is None:
        return
    if isinstance(param, click.Option) and param.metavar in _NO_PLACE:
        return
    for item in value if isinstance(value, tuple) else (value,):
        if isinstance(item, (str, Path)) and str(item) not in ("", "-"):
            described = (
                str(item) if isinstance(param, click.Argument) else f"{param.opts[-1]} {item}"
            )
            # A folder named like a field (--by stories) is not read; a file of that name might.
            folders = isinstance(param, click.Argument) or param.metavar is not None
            yield from ((p, described) for p in _places(str(item)) if folders or os.path.isfile(p))
            if folders:
                yield Path(item), described  # though it may not be there yet


def _places(text: str) -> Iterator[Path]:
    """What a value may stand for: a path, a glob, NAME=PATH, KIND:PATH, NAME=KIND:PATH#MORE."""
    places = {text, text.partition("=")[2]}
    places |= {place.partition(":")[2] for place in places} | {
        place.partition("#")[0] for place in places
    }
    for name in places:
        if not name:
            continue
        if os.path.lexists(name):
            yield Path(name)
        elif glob.has_magic(name):
            yield from map(Path, glob.glob(name, recursive=True))


def _written_over(target: Path, place: Path, writes: Any) -> bool:
    """Whether writing to `target` may change what is read at `place`."""
    if _same(target, place):
        return True
    if os.path.isdir(place) and _inside(target, place):
        # A new file among the inputs changes none of them; an old one may be one of them.
        return writes != NAMES and target.exists()
    return writes in (FOLDER, REPORT) and _inside(place, target)


def _same(one: Path, other: Path) -> bool:
    if one.resolve() == other.resolve():
        return True
    return os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)


def _inside(path: Path, folder: Path) -> bool:
    return folder.resolve() in path.resolve().parents


def _check_stdout(param: click.Parameter, flag: str, writes: Any) -> None:
    """What is written beside a result does not go where the result goes."""
    if param.name != "output" or writes in (FOLDER, NAMES):
        what = "a folder" if writes in (FOLDER, NAMES) else "a file"
        raise OptionError(f"{flag} - would be standard output: name {what}")


def _check_ending(target: Path, flag: str, writes: Any) -> None:
    ending = target.suffix.lower()
    if writes in (FOLDER, NAMES):
        if ending in _FILES and not target.is_dir():
            raise OptionError(f"{flag} names a folder, and {target} looks like a file")
    elif writes not in (RESULT, REPORT) and ending not in writes and (ending or writes != LINES):
        raise OptionError(f"{flag} {target}: end in one of {', '.join(writes)}")
