"""Tests in several processes, forked from the one that collected them.

pytest-xdist starts each of its processes anew: each imports and collects all tests, and has every
outcome sent in three parts. Collecting these 6,300 tests took 39 s of processor time there and 11
here, 800 short ones 52 and 35.
"""

from __future__ import annotations

import atexit
import os
import re
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import pytest

Groups = list[list[pytest.Item]]
_BYTES = 2
"""Of the number of a group."""


def run(
    session: pytest.Session,
    group: Callable[[pytest.Item], str],
    prepare: Callable[[list[pytest.Item]], None] = lambda items: None,
) -> bool | None:
    """Run what was collected; None where pytest had better do it itself, in this process.

    Tests of one group run in one process, one after the other; groups are begun in the order in
    which they were collected, each by whoever is free. What `prepare` loads is there for all.
    """
    option = session.config.option
    found: dict[str, list[pytest.Item]] = {}
    for item in session.items:
        found.setdefault(group(item), []).append(item)
    workers = min(option.workers, len(found))
    alone = workers < 2 or sys.platform != "linux"  # elsewhere it is not safe to fork
    if alone or session.testsfailed or option.collectonly or option.usepdb:
        return None
    prepare(session.items)
    if threads := _threads():
        raise pytest.UsageError(
            f"These threads, started while tests were collected, would be missing in processes "
            f"forked now: {', '.join(threads)}. Import and use what started them inside the tests."
        )
    groups = list(found.values())
    todo, fill = os.pipe()
    os.write(fill, b"".join(number.to_bytes(_BYTES, "big") for number in range(len(groups))))
    os.close(fill)
    base: Path = session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    sys.stdout.flush()
    sys.stderr.flush()
    started: dict[Connection, int] = {}
    for number in range(workers):
        here, there = Pipe(duplex=False)
        process = os.fork()
        if not process:
            for other in (here, *started):
                other.close()  # or nobody would see that whoever started them has ended
            _work(session, groups, todo, there, base / f"worker{number}")
        there.close()
        started[here] = process
    os.close(todo)
    _follow(session, groups, started)
    return True


def _threads() -> list[str]:
    """The names of other threads of this process, but those of a memory allocator, which minds."""
    tasks = Path("/proc/self/task").iterdir()
    names = [(one / "comm").read_text().strip() for one in tasks if one.name != str(os.getpid())]
    return sorted(name for name in names if not name.startswith("jemalloc"))


def _follow(session: pytest.Session, groups: Groups, started: dict[Connection, int]) -> None:
    """Report what the processes report, until the last has ended."""
    hook = session.config.hook
    running = dict.fromkeys(started, "")
    taken: dict[Connection, list[str]] = {one: [] for one in started}
    untaken = len(groups)
    try:
        while running:
            for one in wait(list(running)):
                assert isinstance(one, Connection)
                try:
                    kind, data = one.recv()
                except (EOFError, OSError):
                    kind, data = "end", "it died"
                if kind == "group":
                    taken[one] += [item.nodeid for item in groups[data]]
                    untaken -= 1
                elif kind == "test":
                    running[one] = data
                    taken[one].remove(data)
                elif kind == "report":
                    report = hook.pytest_report_from_serializable(config=session.config, data=data)
                    hook.pytest_runtest_logreport(report=report)
                elif kind == "warning":
                    hook.pytest_warning_recorded.call_historic(kwargs=data)
                else:
                    if data:
                        hook.pytest_runtest_logreport(report=_lost(running[one], taken[one], data))
                    del running[one]
                if session.shouldfail:
                    raise session.Failed(session.shouldfail)
        if untaken:
            session.shouldfail = f"no process was left for the tests of {untaken} more files"
            raise session.Failed(session.shouldfail)
    finally:
        for one, process in started.items():
            one.close()  # a process that has something to report ends now
            os.waitpid(process, 0)


def _lost(test: str, left: list[str], why: str) -> pytest.TestReport:
    said = "The process of this test ended"
    if left:
        files = dict.fromkeys(one.partition("::")[0] for one in left)
        said += f"; it was to run {len(left)} more, of {', '.join(files)}"
    said += f": {why}"
    place = (test.partition("::")[0], None, test)
    return pytest.TestReport(test, place, {}, "failed", said, "call")


def _work(
    session: pytest.Session, groups: Groups, todo: int, out: Connection, base: Path
) -> NoReturn:
    """What a process does from its start to its end."""
    why = ""
    try:
        _settle(session.config, out, base)
        _run_groups(groups, todo, out)
    except BaseException:
        why = traceback.format_exc()
    try:
        out.send(("end", why))
        atexit._run_exitfuncs()  # folders of its own are removed
    finally:
        os._exit(0)  # not the way back through what was begun before


def _settle(config: pytest.Config, out: Connection, base: Path) -> None:
    """Share nothing with the others that they write to."""
    plugins: Any = config.pluginmanager
    capture = plugins.getplugin("capturemanager")
    capture.stop_global_capturing()
    capture.start_global_capturing()
    capture.suspend()
    base.mkdir()
    config._tmp_path_factory._basetemp = base  # type: ignore[attr-defined]
    os.environ["ROTE_CACHE"] = tempfile.mkdtemp(dir=base)
    plugins.unregister(plugins.getplugin("terminalreporter"))
    plugins.register(_Sender(config, out))
    # Processes that tests start would import what they take for the script, all of pytest.
    sys.modules["__main__"] = ModuleType("__main__")


def _run_groups(groups: Groups, todo: int, out: Connection) -> None:
    items = _next(groups, todo, out)
    while items:
        after: list[pytest.Item] = []
        for item, following in zip(items, [*items[1:], None]):
            if following is None:
                after = _next(groups, todo, out)
            coming = following or (after[0] if after else None)
            out.send(("test", item.nodeid))
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=coming)
        items = after


def _next(groups: Groups, todo: int, out: Connection) -> list[pytest.Item]:
    if not (read := os.read(todo, _BYTES)):
        return []
    number = int.from_bytes(read, "big")
    out.send(("group", number))
    return groups[number]


def show_skips(terminal: pytest.TerminalReporter) -> None:
    """What was skipped, in a line for each reason; a file that is skipped whole counts once."""
    reasons = Counter(_reason(report) for report in terminal.stats.get("skipped", ()))
    for reason, count in sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0])):
        terminal.write_line(f"{count} skipped: {reason}")


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    said = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    said = said.removeprefix("Skipped: ")
    return re.sub(r"could not import '([^'.]+).*No module named.*", r"\1 is not installed", said)


class _Sender:
    """Sends what the process that shows it has to know."""

    def __init__(self, config: pytest.Config, out: Connection) -> None:
        self._config = config
        self._out = out
        self._everything = config.option.durations is not None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or not report.passed or self._everything:
            hook = self._config.hook
            data = hook.pytest_report_to_serializable(config=self._config, report=report)
            self._out.send(("report", data))

    def pytest_warning_recorded(
        self, warning_message: Any, when: str, nodeid: str, location: Any
    ) -> None:
        given = {"warning_message": warning_message, "when": when}
        self._out.send(("warning", {**given, "nodeid": nodeid, "location": location}))
