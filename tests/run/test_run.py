"""Engines give the same results in the same order, and draw items as needed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rote.core.errors import InputError
from rote.run import map_ordered


def square(number: int) -> int:
    return number * number


def fail_on_three(number: int) -> int:
    if number == 3:
        raise InputError("three", file="f", line=3)
    return number


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_order(jobs: int) -> None:
    assert list(map_ordered(square, range(20), jobs)) == [n * n for n in range(20)]


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_in_a_piece_reaches_the_caller_whole(jobs: int) -> None:
    with pytest.raises(InputError, match="f, line 3: three"):
        list(map_ordered(fail_on_three, range(10), jobs))


@pytest.mark.parametrize("jobs", [1, 2])
def test_items_are_not_drawn_all_at_once(jobs: int) -> None:
    drawn = []

    def items() -> Iterator[int]:
        for number in range(1000):
            drawn.append(number)
            yield number

    results = map_ordered(square, items(), jobs)
    assert next(results) == 0
    assert len(drawn) <= 4
    del results


def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(
        "import os, sys\n"
        "from rote.run import map_ordered\n"
        "def work(number):\n"
        "    return os.getpid()\n"
        "if __name__ == '__main__':\n"
        "    results = map_ordered(work, range(100), 2)\n"
        "    print(next(results), flush=True)\n"
        "    sys.stdin.read()\n"
    )
    command = [sys.executable, str(script)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        parent.kill()
        parent.wait()
        for _ in range(200):
            if not _runs(worker):
                break
            time.sleep(0.05)
        assert not _runs(worker)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    # A process that has ended but was not waited for is none any more.
    status = Path(f"/proc/{process}/stat")
    return not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] != "Z"
