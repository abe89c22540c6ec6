"""`rote serve` as its own process, started and ended as a user would, or in a thread of ours."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rote.core.progress import Silent
from tests.kit import PATIENCE

COMMAND = (sys.executable, "-c", "from rote.cli.main import main; main()")


@dataclass(slots=True)
class Running:
    """Where the server listens, and what it has said so far."""

    address: str = ""
    said: list[str] = field(default_factory=list)

    @property
    def port(self) -> str:
        return self.address.partition("?")[0].rstrip("/").rpartition(":")[2]

    def at(self, path: str) -> str:
        """The address of a page, by the name that this machine has for itself."""
        return f"http://127.0.0.1:{self.port}{path}"


@contextmanager
def serving(store: Path, *arguments: str | Path) -> Iterator[Running]:
    """The server is interrupted at the end, and has to go without a complaint."""
    command = [*COMMAND, "serve", *map(str, arguments), "--store", str(store)]
    process = subprocess.Popen(
        [*command, "--port", "0", "--no-open"], stderr=subprocess.PIPE, text=True
    )
    running, ready = Running(), threading.Event()
    reader = threading.Thread(target=_read, args=(process, running, ready))
    reader.start()
    try:
        assert ready.wait(PATIENCE), "the server did not start"
        assert running.address, f"the server ended: {running.said}"
        yield running
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(PATIENCE)
        finally:
            process.kill()
            reader.join()
            assert process.stderr is not None
            process.stderr.close()
    assert process.returncode in (0, 130), running.said
    assert not any("Traceback" in line for line in running.said), "".join(running.said)


@contextmanager
def served(store: Path, *arguments: str | Path, **settings: Any) -> Iterator[Running]:
    """The same in a thread, with its work, for pages that do not depend on how it was started:
    processes would import anew what is here by now."""
    import uvicorn

    from rote.web.job_queue import JobQueue
    from rote.web.server import ServeOptions, serve
    from tests.web.job_here import Worker

    started: list[Any] = []
    running, ready, complaints = Running(), threading.Event(), _Complaints()
    logs = [logging.getLogger(name) for name in ("uvicorn", "rote.web")]

    class Server(uvicorn.Server):
        def __init__(self, config: Any) -> None:
            super().__init__(config)
            started.append(self)
            for log in logs:  # by now their handlers have been set up
                log.addHandler(complaints)
            ready.set()

    class Reporter(Silent):
        def say(self, line: str) -> None:
            if "rote is at " in line:
                running.address = line.split()[-1]

    options = ServeOptions(store=store, port=0, open=False, **settings)
    given = (list(map(str, arguments)), options, Reporter())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uvicorn, "Server", Server)
        patch.setattr(JobQueue, "_process", lambda jobs, folder: Worker())
        thread = threading.Thread(target=serve, args=given)
        thread.start()
        assert ready.wait(PATIENCE), "the server did not start"
        try:
            yield running
        finally:
            started[0].should_exit = True
            thread.join()
            for log in logs:
                log.removeHandler(complaints)
    assert complaints.said == []


class _Complaints(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(self.format(record))


def _read(process: subprocess.Popen[str], running: Running, ready: threading.Event) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        running.said.append(line)
        if "rote is at " in line:
            running.address = line.split()[-1]
            ready.set()
    ready.set()
