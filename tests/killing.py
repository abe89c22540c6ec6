"""Children that are killed in the middle of their work."""

from __future__ import annotations

import os
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

KILLED = 9
"""The status of a child that ended in the middle of its work."""
# What leaves a trace on disk; the commands are killed before one of these calls.
CALLS = ("replace", "rename", "fsync", "unlink", "mkdir", "rmdir", "open")


def hook(before: Callable[[int, str], None]) -> None:
    """Call `before` with a number and the name ahead of every call that changes a file."""
    made = 0

    def wrapped(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **more: Any) -> Any:
            nonlocal made
            before(made, name)
            made += 1
            return real(*given, **more)

        return call

    for name in CALLS:
        setattr(os, name, wrapped(name, getattr(os, name)))


def calls_of(action: Callable[[], Any], log: Path) -> list[str]:
    """The names of all calls that change a file, of an undisturbed run."""
    lines: list[str] = []

    def noted() -> None:
        hook(lambda _, name: lines.append(name))
        action()
        log.write_text("\n".join(lines))

    assert status(fork(noted)) == 0
    return log.read_text().split()


def kill_at(point: int, action: Callable[[], Any]) -> None:
    """Do it in a child that ends ahead of its call with this number."""

    def kill(number: int, name: str) -> None:
        if number == point:
            os._exit(KILLED)

    def hooked() -> None:
        hook(kill)
        action()

    assert status(fork(hooked)) == KILLED, point


def fork(action: Callable[[], Any]) -> int:
    """Start a child that does this and nothing else."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
        child = os.fork()
    if child == 0:
        try:
            action()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return child


def status(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
