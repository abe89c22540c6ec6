"""Engines give the same results in the same order, and draw items as needed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import types
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from operator import add
from pathlib import Path
from threading import Event
from typing import Any

import pytest

import rote
from rote.core import plugins
from rote.core.errors import InputError, OptionError, RoteError, UnknownName
from rote.run import get, one_blas_thread
from rote.run.processes import Processes, keep_processes
from tests.kit import wait_until
from tests.run.pieces import (
    die_on_five,
    fail_on_three,
    item_of,
    letters,
    no_memory_on_five,
    square,
    this_process,
)


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_order(jobs: int, pickling_pool: None) -> None:
    assert list(get(jobs=jobs).map(square, range(20))) == [n * n for n in range(20)]


def test_one_piece_starts_no_process() -> None:
    assert list(get(jobs=2).map(this_process, range(1))) == [os.getpid()]
    assert os.getpid() not in set(get(jobs=2).map(this_process, range(2)))


def test_processes_are_kept_for_several_maps_and_for_other_work() -> None:
    with keep_processes(2) as later:
        asked = later("asking", this_process, 0)
        first, second = (set(get(jobs=2).map(this_process, range(20))) for _ in range(2))
        with pytest.raises(InputError):
            list(get(jobs=2).map(fail_on_three, range(10)))
        assert list(get(jobs=2).map(square, range(5))) == [0, 1, 4, 9, 16]
        other = set(get(jobs=3).map(this_process, range(20)))
    assert len(first | second | {asked()}) <= 2
    assert other.isdisjoint(first | second)
    assert set(get(jobs=2).map(this_process, range(2))).isdisjoint(first | second)


def test_with_one_job_work_is_done_when_it_is_asked_for() -> None:
    with keep_processes(1) as later:
        assert later("asking", this_process, 0)() == os.getpid()


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_in_a_piece_reaches_the_caller_whole(jobs: int, pickling_pool: None) -> None:
    with pytest.raises(InputError, match="f, line 3: three"):
        list(get(jobs=jobs).map(fail_on_three, range(10)))


@pytest.mark.parametrize("jobs", [1, 2])
def test_items_are_not_drawn_all_at_once(jobs: int, pickling_pool: None) -> None:
    drawn = []

    def items() -> Iterator[int]:
        for number in range(1000):
            drawn.append(number)
            yield number

    results = get(jobs=jobs).map(square, items())
    assert next(results) == 0
    assert len(drawn) <= 4
    del results


def test_results_may_be_collected_in_the_thread_of_the_pool(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, ended = Event(), Event()
    problems: list[BaseException] = []

    class Closing(ProcessPoolExecutor):
        def submit(self, *args: Any, **options: Any) -> Any:
            future = super().submit(*args, **options)
            if args[1] == 3:
                future.add_done_callback(close)
            return future

    def close(_: object) -> None:
        begun.wait(30)
        try:
            results.close()
        except RuntimeError as problem:
            problems.append(problem)
        ended.set()

    monkeypatch.setattr("rote.run.processes._started", Closing)
    results: Any = Processes(2)._map(square, range(50), "squaring", "")
    assert next(results) == 0
    begun.set()
    assert ended.wait(30)
    assert not problems


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (die_on_five, "a process was killed while counting"),
        (no_memory_on_five, "out of memory while counting"),
    ],
)
def test_a_killed_worker_is_said_and_what_was_done_is_given_out(
    work: Callable[[int], int], said: str
) -> None:
    done: list[int] = []
    with pytest.raises(RoteError) as caught:
        done.extend(get(jobs=2).map(work, range(20), doing="counting", note="It is kept"))
    assert said in str(caught.value)
    assert "counting (at about piece" in str(caught.value)
    assert "--jobs 1" in str(caught.value)
    assert "It is kept" in str(caught.value)
    # Not all of those in front of the fifth need have come back, but none is out of order.
    assert done == list(range(len(done)))
    assert len(done) <= 5
    if work is no_memory_on_five:
        assert len(done) == 5


def test_a_script_without_a_guard_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "unguarded.py"
    script.write_text(
        "from rote.run import get\n"
        "from rote.core.errors import RoteError\n"
        "try:\n    print(list(get(jobs=2).map(abs, range(4))))\n"
        "except RoteError as error:\n    print('said:', error)\n"
    )
    found = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert "said:" in found.stdout
    assert "if __name__ == '__main__':" in found.stdout


def test_every_command_says_what_its_workers_were_doing() -> None:
    source = Path(rote.__file__).parent
    calls = re.compile(
        r"(?:engine\.map|map_shards|map_again)\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)"
    )
    found = [
        (path.name, call)
        for path in source.rglob("*.py")
        if path.parent.name != "run" and path.name != "_open.py"
        for call in calls.findall(path.read_text(encoding="utf-8"))
    ]
    assert len(found) > 8
    assert [each for each in found if "doing=" not in each[1]] == []


def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(
        "import os, sys\n"
        "from rote.run import get\n"
        "def work(number):\n"
        "    return os.getpid()\n"
        "if __name__ == '__main__':\n"
        "    results = get(jobs=2).map(work, range(100))\n"
        "    print(next(results), flush=True)\n"
        "    sys.stdin.read()\n"
    )
    command = [sys.executable, str(script)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        parent.kill()
        parent.wait()
        wait_until(lambda: not _runs(worker))


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    # A process that has ended but was not waited for is none any more.
    status = Path(f"/proc/{process}/stat")
    return not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def test_another_package_offers_an_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("elsewhere")
    made = get("serial")
    module.engine = lambda where, jobs: made if (where, jobs) == ("here", 3) else None
    monkeypatch.setitem(sys.modules, "elsewhere", module)
    known = {**plugins.members("run"), "others": "elsewhere"}
    monkeypatch.setattr(plugins, "members", lambda room: known)
    assert get("others:here", 3) is made
    assert get(made) is made
    with pytest.raises(UnknownName, match="did you mean 'processes'"):
        get("proceses")
    with pytest.raises(OptionError, match="leave out ':x'"):
        get("serial:x")


def test_a_value_is_shared_with_processes(pickling_pool: None) -> None:
    engine = get(jobs=2)
    shared = engine.share(list(range(5)))
    assert list(engine.map(partial(item_of, shared), range(5))) == list(range(5))
    assert shared.value == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("jobs", [1, 2])
def test_groups_hold_every_key_once(jobs: int, pickling_pool: None) -> None:
    words = ["harbour", "", "gull", "ferry"] * 3
    found = list(get(jobs=jobs).group(letters, words, add))
    assert dict(found) == Counter("".join(words))
    assert len(found) == len(set("".join(words)))
    assert found == list(get().group(letters, words[::-1], add))


def test_blas_has_one_thread_meanwhile() -> None:
    def blas_threads() -> set[int]:
        import scipy.linalg  # noqa: F401
        from threadpoolctl import threadpool_info

        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    before = blas_threads()
    with one_blas_thread():
        assert blas_threads() == {1}
    assert blas_threads() == before
