"""Writing files so that a half-written one never stands under the final name, and opening those
that rote has under names of its own."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO
from uuid import uuid4

from rote.core.errors import OptionError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_HALF = re.compile(r"\.(.+)\.[0-9a-z_]{8}")


def write_atomically(path: Path, content: str | bytes, *, durable: bool = False) -> None:
    """Write beside the target, then rename over it; `durable`: safe from a power cut too."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    with new_file(path) as file:
        file.write(data)
        if durable:
            file.flush()
            os.fsync(file.fileno())


@contextmanager
def new_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write into, beside its place; it gets its name once everything is in it."""
    check_parent(path)
    if path.is_dir():
        raise OptionError(f"{path} is a folder: name a file, such as {path / 'result'}")
    partial = beside(path)
    # Not mkstemp, whose files are private: this one is as readable as any other of the user's.
    with naming(path), open(partial, "xb") as file:
        try:
            yield file
            file.close()
            os.replace(partial, path)
        except BaseException:
            os.unlink(partial)
            raise


def open_regular(path: Path | str) -> BinaryIO:
    """Open a file that has its name from rote, such as a manifest.

    What is no file is an error: to open a pipe would wait for somebody to write to it. Links are
    followed, since they are what some tools make of the files that they look after.
    """
    # Not to wait is what it says of pipes alone; files are read as ever.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "Not a regular file", str(path))
        return open(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_regular(path: Path | str) -> bytes:
    """All of a file that has its name from rote."""
    with open_regular(path) as file:
        return file.read()


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """A disk that is full or broken is an error with the path: the system does not say which."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in _FULL:
            error.filename = str(path)
        raise


def check_parent(path: Path) -> None:
    """Refuse a place that cannot be written to because its folder is not there."""
    if not path.parent.is_dir():
        raise OptionError(f"{path}: the folder {path.parent} does not exist; create it first")


def beside(path: Path) -> Path:
    """A name that nothing has, for what is not whole yet."""
    return path.with_name(f".{path.name}.{uuid4().hex[:8]}")


def half_of(name: str) -> str | None:
    """The file of which this is what a killed process had written so far, if it is that."""
    match = _HALF.fullmatch(name)
    return match[1] if match else None
