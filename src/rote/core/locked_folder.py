"""A folder that is written by one command at a time and never half: an index, a store.

Its manifest is written last and in one step, so that a reader, or a crash, meets either the old
state or the new one; what a killed command had half written is known by its name and removed by
the next. Errors of the disk are told in words that help.

The folder may be somebody else's, or come out of an archive: nothing in it that is a link is
written to or removed through, since that would change what it leads to.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import socket
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

from rote.core.errors import InputError, OptionError
from rote.core.files import half_of
from rote.core.json_reader import parse_json

LOCK = "lock"

# A pipe would wait; the lock has no business being a link.
_LOCKING = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_SIGNED = b'{"pid": '

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FORBIDDEN = (errno.EROFS, errno.EACCES, errno.EPERM)


def make_folder(path: Path, what: str, is_ours: Callable[[Path], bool]) -> None:
    """A folder for something new (`what`: an index), which must hold nothing else."""
    try:
        if path.exists() and not path.is_dir():
            raise OptionError(f"{path} is a file: choose another place for {what}")
        entries = path.iterdir() if path.is_dir() else ()
        if others := sorted(entry.name for entry in entries if not is_ours(entry)):
            raise OptionError(
                f"{path} is a folder with other files in it ({others[0]}): choose a new one"
            )
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(
            f"{path} cannot be the folder of {what} ({error.filename or path}: "
            f"{error.strerror}): choose another place"
        ) from error


def refuse_links(places: Iterable[Path]) -> None:
    """Refuse links among the places in a folder that are going to be written to or removed. The
    folder itself may well be reached through one."""
    for place in places:
        if place.is_symlink():
            raise OptionError(
                f"{place} is a link to {os.readlink(place)}, and writing here would change its "
                "target: replace the link with a file or folder, or remove it"
            )


def inside(folder: Path) -> Iterator[Path]:
    """Everything in a folder, at any depth; links are not followed."""
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            yield Path(place) / name


def remove_halves(folder: Path, is_ours: Callable[[Path], bool]) -> None:
    """Remove what a killed command had half written."""
    for place in folder.iterdir():
        if half_of(place.name) and not place.is_dir() and is_ours(place):
            # A worker of the killed command may still be at it, and clean up itself.
            place.unlink(missing_ok=True)


@contextmanager
def os_error_messages(path: Path, what: str) -> Iterator[None]:
    """Say what became of it (`what`: the index) when its folder cannot be written."""
    try:
        yield
    except OSError as error:
        name = error.filename
        ours = error.errno in (*_FULL, *_FORBIDDEN) or name is not None
        # Not a file of the input, say. Some errors name one in full where the folder was not.
        inner = not isinstance(name, str) or Path(name).absolute().is_relative_to(path.absolute())
        if error.errno is None or not ours or not inner:
            raise
        problem = f"writing failed: {os.strerror(error.errno)} ({error.filename or path})"
        remedy = "Put that right"
        if error.errno in _FULL:
            remedy = "Make room"
            problem = f"writing failed: {os.strerror(error.errno)} ({_free(path)} free)"
        elif error.errno in _FORBIDDEN:
            remedy = "Make the folder writable"
        raise InputError(
            f"{problem}; the previous content of {what} is unchanged",
            file=str(path),
            remedy=f"{remedy}, then run the same command again: finished work is saved",
        ) from error


def _free(path: Path) -> str:
    free = shutil.disk_usage(next(p for p in (path, *path.parents) if p.exists())).free
    return f"{free / 1e9:,.1f} GB" if free >= 1e9 else f"{free / 1e6:,.1f} MB"


@contextmanager
def locked(path: Path, command: str) -> Iterator[None]:
    """Hold the folder's lock; a second writer is refused at once, by the holder's name.

    The kernel gives the lock back when the holder ends, however it ends, so a crash leaves none
    behind; what stands in the file only says who holds it.
    """
    # Not truncated on opening: until the lock is ours the text belongs to its holder.
    refuse_links((path / LOCK,))
    handle = os.open(path / LOCK, _LOCKING | os.O_CREAT, 0o666)
    try:
        if not _is_lock(handle):
            raise OptionError(
                f"{path / LOCK} is not a rote lock file and would be overwritten: move it, or "
                "choose another folder"
            )
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OptionError(
                f"{path} is being written by {_holder(handle)}: wait until it ends or stop it, "
                "then run this command again"
            ) from None
        _sign(handle, command)
        yield
        os.ftruncate(handle, 0)
    finally:
        # Closing gives the lock back. The file stays: removing it could remove another's lock.
        os.close(handle)


def is_abandoned(path: Path) -> bool:
    """Whether a folder that was written under its lock is nobody's any more."""
    if path.is_symlink():
        return False
    try:
        handle = os.open(path / LOCK, _LOCKING)
    except OSError:
        return False
    try:
        if not _is_lock(handle) or not os.fstat(handle).st_size:
            return False  # whoever writes has signed it
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(handle)
    return True


def _is_lock(handle: int) -> bool:
    """Whether an open file is a lock and no file of somebody's: empty, or signed."""
    about = os.fstat(handle)
    if not stat.S_ISREG(about.st_mode):
        return False
    return about.st_size == 0 or os.pread(handle, len(_SIGNED), 0) == _SIGNED


def _sign(handle: int, command: str) -> None:
    since = datetime.now(timezone.utc).isoformat(sep=" ", timespec="seconds")
    owner = {"pid": os.getpid(), "host": socket.gethostname(), "command": command, "since": since}
    os.ftruncate(handle, 0)
    os.pwrite(handle, json.dumps(owner).encode(), 0)


def _holder(handle: int) -> str:
    try:
        owner = parse_json(os.pread(handle, 4096, 0))
        return f"pid {owner['pid']} on {owner['host']} ({owner['command']}, since {owner['since']})"
    except (InputError, KeyError, TypeError):
        # Between taking the lock and signing it, or signed by another version.
        return "another process"
