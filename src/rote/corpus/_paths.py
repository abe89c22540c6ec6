"""From what a user names (files, folders, globs) to a list of files, each with its reader."""

from __future__ import annotations

import difflib
import errno
import glob
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from rote.core import plugins
from rote.core.errors import InputError, MissingExtra, OptionError, UnknownName
from rote.corpus._shard import ReadOptions
from rote.corpus._streams import COMPRESSIONS, unreadable


def short_names(stems: Sequence[Path], paths: Sequence[Path]) -> list[str]:
    """For each stem the shortest end of it that no other has.

    Files that differ in their suffix alone (`a.csv`, `a.jsonl`) keep it.
    """
    twins = Counter(stems)
    full = [path if twins[stem] > 1 else stem for stem, path in zip(stems, paths)]
    longest = max((len(stem.parts) for stem in full), default=0)
    names = [""] * len(full)
    open_ones = list(range(len(full)))
    for depth in range(1, longest + 1):
        ends = {i: "/".join(full[i].parts[-depth:]) for i in open_ones}
        counts = Counter(ends.values())
        for i in open_ones:
            names[i] = ends[i]
        open_ones = [i for i in open_ones if counts[ends[i]] > 1]
        if not open_ones:
            break
    return names


_DATASET = ("state.json", "dataset_dict.json")


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file (or a saved data set) and how it is read; `stem` is its path without suffixes."""

    path: Path
    reader: str
    stem: Path
    size: int
    compression: str = ""
    in_folder: bool = False
    address: str = ""
    """Where it is, if that is not a path of this machine."""

    @property
    def where(self) -> Path | str:
        return self.address or self.path


@cache
def suffixes() -> dict[str, str]:
    """Suffix -> reader, asked of the readers themselves."""
    table: dict[str, str] = {}
    for name in plugins.members("corpus"):
        for suffix in plugins.load("corpus", name).SUFFIXES:
            table.setdefault(suffix, name)
    return table


def find_files(path: Path, options: ReadOptions) -> tuple[list[InputFile], list[str]]:
    """The files that a path, folder or glob stands for, sorted, and what was left out."""
    if options.input_format is not None and options.input_format not in plugins.members("corpus"):
        raise UnknownName("format", options.input_format, plugins.members("corpus"))
    if os.path.exists(path):
        return _expand(path, options)
    if not glob.has_magic(str(path)):
        raise _missing(path)
    files: list[InputFile] = []
    skipped = 0
    for name in sorted(glob.glob(str(path), recursive=True)):
        match = Path(name)
        if match.is_dir():
            if "**" not in str(path):  # which finds what is in the folder by itself
                files += [file for file, _ in _walk(match, options) if file]
        elif file := _input_file(match, options, in_folder=True):
            files.append(file)
        else:
            skipped += 1
    if not files:
        raise InputError(
            "the pattern matches no readable file",
            file=str(path),
            remedy="Check it with ls, and quote it so that the shell leaves it alone",
        )
    return files, _left_out(str(path), skipped)


_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://")
_HUB = re.compile(r"hf:(?!//)(?=[^/]+/[^/]+)")
"""`hf:OWNER/NAME` is a data set of Hugging Face, `hf:OWNER/NAME/data/train-*` some of its files."""
_ABOUT_A_DATA_SET = ("README.md", "dataset_infos.json", "dataset_dict.json", "state.json")


def is_address(name: object) -> bool:
    """Whether a name is an address (`s3://...`, `hdfs://...`, `hf:...`), for fsspec to open."""
    return isinstance(name, str) and bool(_ADDRESS.match(name) or _HUB.match(name))


def place_of(name: str) -> Path | str:
    """What the shell was given: the path of a file or folder, or an address as it is."""
    return name if is_address(name) else Path(name)


def find_addresses(address: str, options: ReadOptions) -> tuple[list[InputFile], list[str]]:
    """The same for what fsspec opens: a file, all files below a folder, or a glob; sorted."""
    try:
        from fsspec.core import url_to_fs

        system, path = url_to_fs(_HUB.sub("hf://datasets/", address))
        single = not glob.has_magic(path) and not system.isdir(path)
        listed = [path] if single else system.glob(path) if glob.has_magic(path) else None
        names = sorted(system.find(path) if listed is None else listed)
        names = [name for name in names if Path(name).name not in _ABOUT_A_DATA_SET or single]
        sizes = {name: int(system.info(name)["size"] or 0) for name in names}
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "fsspec":
            raise MissingExtra("fsspec", "spark", f"reading {address}") from None
        if (error.name or "").partition(".")[0] == "huggingface_hub" or _HUB.match(address):
            raise OptionError(
                f"reading {address} needs huggingface_hub: pip install huggingface_hub"
            ) from None
        raise OptionError(f"{address} cannot be opened: {error}") from None
    except ValueError as error:  # a protocol that nobody knows
        raise OptionError(f"{address} cannot be opened: {error}") from None
    except OSError as error:
        raise unreadable(address, error) from error
    except Exception as error:  # of whatever library speaks to the store
        raise InputError(
            f"cannot be read ({error or type(error).__name__})",
            file=address,
            remedy="Check the address and the network, or download it and name the files",
        ) from error
    addresses = [
        replace(file, address=str(system.unstrip_protocol(name)))
        for name in names
        if (file := _input_file(Path(name), options, in_folder=not single, size=sizes[name]))
    ]
    if not addresses and single:
        raise _unknown(Path(address))
    if not addresses:
        remedy = "Check the address, or use --input-format"
        raise InputError("nothing here can be read", file=address, remedy=remedy)
    return addresses, _left_out(address, len(names) - len(addresses))


def _expand(path: Path, options: ReadOptions) -> tuple[list[InputFile], list[str]]:
    if not path.is_dir():
        file = _input_file(path, options, in_folder=False)
        if file is None:
            raise _unknown(path)
        return [file], []
    walked = list(_walk(path, options))
    files = [file for file, _ in walked if file]
    skipped = [name for file, name in walked if not file]
    if not files:
        contents = f"it holds {', '.join(skipped[:3])}" if skipped else "it is empty"
        raise InputError(
            f"this folder contains no readable file ({contents})",
            file=str(path),
            remedy=f"Known suffixes: {' '.join(suffixes())}; for others use --input-format",
        )
    return files, _left_out(str(path), len(skipped))


def _walk(folder: Path, options: ReadOptions) -> Iterator[tuple[InputFile | None, str]]:
    """All files below a folder in sorted order; a saved data set counts as one file."""
    if any((folder / name).exists() for name in _DATASET):
        size = sum(file.stat().st_size for file in folder.rglob("*.arrow"))
        yield InputFile(folder, "arrow", folder, size), folder.name
        return
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise unreadable(str(folder), error) from None
    for entry in entries:
        if entry.is_dir():
            if not entry.name.startswith(".") and not entry.is_symlink():
                yield from _walk(Path(entry.path), options)
            continue
        # A pipe or the like, which nobody has named: to read it would wait.
        is_no_file = not entry.is_file() and os.path.exists(entry.path)
        if entry.name.startswith(".") or is_no_file:
            yield None, entry.name
        else:
            yield _input_file(Path(entry.path), options, in_folder=True), entry.name


def _input_file(
    path: Path, options: ReadOptions, *, in_folder: bool, size: int | None = None
) -> InputFile | None:
    compression = COMPRESSIONS.get(path.suffix.lower(), "")
    stem = path.with_suffix("") if compression else path
    reader = suffixes().get(stem.suffix.lower())
    stem = stem.with_suffix("") if reader else stem
    reader = options.input_format or reader
    if reader is None:
        return None
    size = path.stat().st_size if size is None else size
    return InputFile(path, reader, stem, size, compression, in_folder)


def _left_out(where: str, count: int) -> list[str]:
    if not count:
        return []
    files = "file was" if count == 1 else "files were"
    return [
        f"{where}: {count} {files} left out: hidden, or with an unknown suffix (--input-format "
        "reads them)"
    ]


def _missing(path: Path) -> InputError:
    """Why there is nothing to read at a path: with the nearest names that can be read."""
    folder = path.parent
    if not folder.is_dir():
        return InputError(
            f"no such file: missing folder {folder}", file=str(path), remedy="Check the path"
        )
    names: list[str] = []
    try:
        names += (entry.name for entry in os.scandir(folder))
        os.stat(path)
    except OSError as error:
        # It may be there all the same: in a folder that cannot be entered, or a circle of links.
        if error.errno not in (errno.ENOENT, errno.ENAMETOOLONG):
            return unreadable(str(path), error)
    if os.path.islink(path):
        return InputError(
            f"is a link to {os.readlink(path)}, which does not exist",
            file=str(path),
            remedy="Correct the link",
        )
    near = difflib.get_close_matches(path.name, names, n=3)
    near = [name for name in near if os.path.exists(folder / name)][:2]
    meant = " or ".join(str(folder / name) for name in near)
    remedy = f"Did you mean {meant}?" if near else "Check the path"
    return InputError("no such file", file=str(path), remedy=remedy)


def _unknown(path: Path) -> InputError:
    suffix = path.suffix
    readers = ", ".join(dict.fromkeys(suffixes().values()))
    if suffix.lower() in (".zip", ".tar", ".7z", ".rar"):
        remedy = "Unpack it, or compress single files with gzip, zstd, bzip2 or xz"
    else:
        remedy = f"Choose a format with --input-format ({readers})"
    problem = f"unknown suffix '{suffix}'" if suffix else "the file has no suffix"
    return InputError(problem, file=str(path), remedy=remedy)
