"""The file of generated texts: grows by whole lines, and goes on where it stopped.

While a run lasts the texts stand in `FILE.partial`; it gets its name when the last one is there.
A line that was cut off by a kill is taken away before the file goes on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from rote.core.errors import OptionError
from rote.core.files import check_parent

Check = Callable[[int, bytes], "str | None"]
"""What is wrong with line number i of a file, if anything."""


def partial_of(path: Path) -> Path:
    return path.with_name(path.name + ".partial")


def lines_held(path: Path, total: int, check: Check) -> int:
    """How many texts of this run are on disk already; refuses a file of another one."""
    check_parent(path)
    if path.is_dir():
        raise OptionError(f"{path} is a folder: name a file, such as {path / 'texts.jsonl'}")
    if path.exists():
        held = _checked(path, total, check)
        if held < total or _is_cut(path):
            raise OptionError(
                f"{path} holds {held:,} of {total:,} texts, so it is not whole: write to another "
                "file, or remove it; what was generated is kept and not asked for again"
            )
        return held
    partial = partial_of(path)
    return _checked(partial, total, check) if partial.exists() else 0


@contextmanager
def growing(path: Path) -> Iterator[Callable[[bytes], None]]:
    """Appends lines; gives the file its name if everything went well."""
    partial = partial_of(path)
    with open(partial, "ab") as file:
        _take_away_half_a_line(partial, file)

        def write(lines: bytes) -> None:
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())

        yield write
    os.replace(partial, path)


def _checked(path: Path, total: int, check: Check) -> int:
    count = 0
    with open(path, "rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                break  # cut off: it is written again
            wrong = "it holds more texts" if count == total else check(count, line)
            if wrong is not None:
                raise OptionError(
                    f"{path}, line {count + 1}: the file was made with other settings ({wrong}): "
                    "write to another file, or remove it"
                )
            count += 1
    return count


def _is_cut(path: Path) -> bool:
    data = path.read_bytes()[-1:]
    return bool(data) and data != b"\n"


def _take_away_half_a_line(path: Path, file: IO[bytes]) -> None:
    end = 0
    with open(path, "rb") as reading:
        for line in reading:
            if line.endswith(b"\n"):
                end += len(line)
    file.truncate(end)
