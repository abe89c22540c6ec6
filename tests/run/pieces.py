"""What engines do with pieces in tests; processes that start anew import little to do it."""

from __future__ import annotations

import os
import resource
import signal
import time
from pathlib import Path
from typing import Any

from rote.core.errors import InputError
from rote.core.files import write_atomically


def square(number: int) -> int:
    return number * number


def this_process(_: int) -> int:
    return os.getpid()


def die_on_five(number: int) -> int:
    if number == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.05)  # so that the others are still at work
    return number


def no_memory_on_five(number: int) -> int:
    if number == 5:
        raise MemoryError
    return number


def fail_on_three(number: int) -> int:
    if number == 3:
        raise InputError("three", file="f", line=3)
    return number


def pairs_failing_on_three(number: int) -> list[tuple[int, int]]:
    return [(fail_on_three(number), 1)]


def letters(word: str) -> list[tuple[str, int]]:
    return [(letter, 1) for letter in word]


def item_of(shared: Any, number: int) -> int:
    return int(shared.value[number])


def shared_plus(shared: Any, number: int) -> int:
    return int(shared.value["a"]) + number


def executor(number: int) -> int:
    """The process that runs this task: the parent of a worker's parent."""
    time.sleep(0.1)  # so that every executor gets some
    daemon = Path(f"/proc/{os.getppid()}/stat").read_text()
    return int(daemon.rsplit(")", 1)[1].split()[1])


def write_on_a_full_disk(path: Path, number: int) -> None:
    """A write that the system refuses, as on a full disk: it does not say for which file."""
    if number == 3:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, before[1]))
        try:
            write_atomically(path, bytes(10_000))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
