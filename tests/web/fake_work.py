"""Work for the tests of jobs, in place of a measure; run as `python -m tests.web.fake_work`."""

from __future__ import annotations

import errno
import os
import sqlite3
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rote.core import plugins
from rote.core.errors import InputError
from rote.core.progress import Reporter
from rote.web.opened import Opened
from rote.web.running import working

COMMAND = (sys.executable, "-m", "tests.web.fake_work")


def run(settings: Mapping[str, Any], opened: Opened, reporter: Reporter) -> str:
    do = settings["do"]
    with reporter.stage("counting", 4) as advance:
        for _ in range(4):
            advance(1)
    reporter.say(f"asked to {do}")
    print("libraries print what they like")  # noqa: T201
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
    if do == "sleep":
        Path(settings["here"]).write_text(str(os.getpid()))
        time.sleep(60)
    return "/history"


if __name__ == "__main__":
    plugins.load = lambda room, name: SimpleNamespace(run=run)  # type: ignore[assignment,return-value]
    working.main()
