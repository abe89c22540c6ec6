"""Work for the tests of jobs, in place of a measure; run as `python -m tests.web.fake_work`."""

from __future__ import annotations

import errno
import os
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rote.core.errors import InputError
from rote.core.progress import Reporter
from rote.run import get
from rote.web import job_worker
from rote.web.workspace import Workspace

COMMAND = (sys.executable, "-m", "tests.web.fake_work")


def kill(process: int) -> None:
    """As the system does when memory runs out; 0 is the process that is asked."""
    os.kill(process or os.getpid(), signal.SIGKILL)


def run(kind: str, settings: Mapping[str, Any], opened: Workspace, reporter: Reporter) -> str:
    do = settings["do"]
    with reporter.stage("counting", 4) as advance:
        for _ in range(4):
            advance(1)
    reporter.say(f"asked to {do}")
    print("libraries print what they like")  # noqa: T201
    if do == "say where":
        reporter.say(tempfile.gettempdir())
    if do == "fail":
        raise InputError("there is no text", file="a.jsonl", line=3, remedy="Add one")
    if do == "break":
        raise ZeroDivisionError("not foreseen")
    if do == "fill":
        raise OSError(errno.ENOSPC, "No space left on device")
    if do == "fill the store":
        raise sqlite3.OperationalError("database or disk is full")
    if do == "die":
        os._exit(3)
    if do == "be killed":
        kill(os.getpid())
    if do == "lose a worker":
        list(get(jobs=2).map(kill, [0, 0], doing="counting words"))
    if do == "sleep":
        Path(settings["here"]).write_text(str(os.getpid()))
        time.sleep(3600)  # until it is killed
    return "/history"


if __name__ == "__main__":
    job_worker.run_job = run
    job_worker.main()
