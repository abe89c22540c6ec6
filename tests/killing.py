"""Children that are killed in the middle of their work."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import traceback
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from threading import RLock
from typing import Any

from rote.run.processes import Processes
from tests.kit import wait_until

KILLED = 9
"""The status of a child that ended in the middle of its work."""
# What leaves a trace on disk; the commands are killed before one of these calls.
CALLS = ("replace", "rename", "fsync", "unlink", "mkdir", "rmdir", "open")


def hook(before: Callable[[int, str], None]) -> None:
    """Call `before` with a number and the name ahead of every call that changes a file."""
    numbers, one_by_one = count(), RLock()

    def wrapped(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **more: Any) -> Any:
            with one_by_one:
                before(next(numbers), name)
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


State = dict[str, bytes | None]
"""What a folder holds: bytes by path, None for folders."""


def state_of(home: Path) -> State:
    found: State = {}
    for folder, folders, files in os.walk(home):
        inner = os.path.join(folder, "")[len(str(home)) + 1 :]
        found |= {inner + name: None for name in folders}
        for name in files:
            with open(os.path.join(folder, name), "rb") as file:
                found[inner + name] = file.read()
    return found


def restore(state: State, home: Path) -> None:
    """The folder holds this and nothing else."""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    for name, data in state.items():
        place = os.path.join(home, name)
        if data is None:
            os.mkdir(place)
        else:
            with open(place, "wb") as file:
                file.write(data)


def states_at(
    points: Collection[int], action: Callable[[], Any], home: Path, log: Path
) -> list[State]:
    """What a kill ahead of each of these calls would leave in a folder, each state once.

    All are noted in one run, in a child: a process that ends takes nothing along that is on disk.
    """
    states: list[State] = []

    def noted() -> None:
        hook(lambda number, _: states.append(state_of(home)) if number in points else None)
        action()
        log.write_bytes(pickle.dumps(states))

    assert status(fork(noted)) == 0
    found: list[State] = pickle.loads(log.read_bytes())
    assert len(found) == len(points)
    return [state for number, state in enumerate(found) if state not in found[:number]]


def assert_whole(folder: Path, expected: Mapping[str, bytes]) -> None:
    """A folder that was gone on with after a kill is as if there had been none."""
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == expected
    left = [rest for own in folder.parent.glob(f".{folder.name}*") for rest in own.rglob("*")]
    # Killed when all was done but to remove it.
    assert {path.name for path in left} <= {"lock"}


def kill_once(seen: Callable[[], Any], action: Callable[[], Any]) -> None:
    """Do it in a child; as soon as something is seen, kill the child and its children all at once,
    as the end of a machine would.

    The child gives out no more pieces of work then: it cannot end before it is killed.
    """
    once = Processes._map

    def until_seen(engine: Processes, work: Any, items: Iterable[Any], *told: str) -> Iterator[Any]:
        def drawn() -> Iterator[Any]:
            for item in items:
                if seen():
                    signal.pause()
                yield item

        return once(engine, work, drawn(), *told)

    def alone() -> None:
        os.setsid()
        Processes._map = until_seen  # type: ignore[method-assign]
        action()

    child, gone = fork(alone), os.WEXITED | os.WNOHANG | os.WNOWAIT
    try:
        wait_until(lambda: seen() or os.waitid(os.P_PID, child, gone))
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
    assert status(child) == -signal.SIGKILL


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
