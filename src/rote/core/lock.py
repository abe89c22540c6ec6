"""One writer at a time: the file `lock` of a folder (index, store), held while a command writes.

The kernel gives the lock back when the holder ends, however it ends, so a crash leaves no lock
behind; what stands in the file only says who holds it.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

from rote.core.errors import OptionError

LOCK = "lock"


@contextmanager
def locked(path: Path, command: str) -> Iterator[None]:
    """Hold the folder's lock; a second writer is refused at once, by the holder's name."""
    # Not truncated on opening: until the lock is ours the text belongs to its holder.
    handle = os.open(path / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OptionError(
                f"{path} is being written by {_holder(handle)}: wait for it to end, or end it, "
                "then run this command again"
            ) from None
        _sign(handle, command)
        yield
        os.ftruncate(handle, 0)
    finally:
        # Closing gives the lock back. The file stays: removing it could remove another's lock.
        os.close(handle)


def _sign(handle: int, command: str) -> None:
    since = datetime.now(timezone.utc).isoformat(sep=" ", timespec="seconds")
    owner = {"pid": os.getpid(), "host": socket.gethostname(), "command": command, "since": since}
    os.ftruncate(handle, 0)
    os.pwrite(handle, json.dumps(owner).encode(), 0)


def _holder(handle: int) -> str:
    try:
        owner = json.loads(os.pread(handle, 4096, 0))
        return f"pid {owner['pid']} on {owner['host']} ({owner['command']}, since {owner['since']})"
    except (ValueError, KeyError, TypeError):
        # Between taking the lock and signing it, or signed by another version.
        return "another process"
