"""The process of a job: does the work and tells the app how far it is.

The app writes one line to standard input (what to do) and keeps the pipe open; when it closes,
because the app was killed, this process ends with all that it started. Progress goes back in lines
of JSON over the pipe that was standard output, what came out as the last one; whatever libraries
print goes to the app's standard error.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rote.core.errors import RoteError
from rote.core.json_reader import parse_json
from rote.core.progress import Advance, Reporter
from rote.core.registry import of_result
from rote.core.result import Result
from rote.report.report import Report
from rote.web.database import disk_full_message
from rote.web.files import Reader, name_form_fields
from rote.web.forms import make_form, text_reader
from rote.web.history import RESULT, Excerpts, History, text_values
from rote.web.stored_results import result_sections
from rote.web.workspace import Workspace

_READING, _AGAIN, _DRAWING = "reading", "reading the texts again", "drawing"
_PARTS = ("counting", "values", "intervals", "equal sizes", "tests")
"""Stages of a measure, in their order."""
_MIN_SPENT, _MIN_SHARE = 2.0, 0.03
"""Seconds and share from which on a time left is told."""


def steps_of(kind: str, settings: Any) -> list[str]:
    if kind == "compare":
        return [_READING, *settings["measures"], _AGAIN, _DRAWING]
    if kind == "templates":
        return [_READING, "templates", _AGAIN]
    if kind == "index":
        return ["annotating", "indexing"]
    if kind == "run" and getattr(of_result(settings["name"]), "rows", None):
        return [_READING, settings["name"], _AGAIN, _DRAWING]
    return []


FOLDER_PREFIX = "rote-job-"
"""How the folder of a job's temporary files begins."""
_OFTEN = 0.2
"""Seconds between two reports of one stage."""
_UNITS = ((10**9, "G"), (10**6, "M"), (10**3, "k"))

Tell = Callable[[Mapping[str, Any]], None]


class PipeReporter:
    """Writes to the pipe the share and time left of the whole job, where its steps are known."""

    def __init__(
        self,
        tell: Tell,
        clock: Callable[[], float] = time.monotonic,
        files: Mapping[str, Path | str] = MappingProxyType({}),
    ) -> None:
        self._tell, self._clock, self._files = tell, clock, files
        self.expect(())

    def expect(self, steps: Sequence[str]) -> None:
        """The steps of the job, all of the same weight."""
        self._steps, self._number, self._done = list(steps), 0, 0.0
        self._begun = self._clock()

    @contextmanager
    def stage(self, title: str, total: float | None, unit: str = "") -> Iterator[Advance]:
        begun = reported = self._clock()
        done = 0.0
        self._report({"stage": title, "share": 0.0 if total else None})

        def advance(amount: float) -> None:
            nonlocal done, reported
            done += amount
            at = self._clock()
            if at - reported >= _OFTEN:
                reported = at
                self._report(stage_progress(title, done, total, unit, at - begun))

        yield advance
        self._report(stage_progress(title, total or done, total, unit, self._clock() - begun))

    def _report(self, status: Mapping[str, Any]) -> None:
        stage, inside = status["stage"], status["share"]
        share = self._job_share(stage, inside)
        if share is None:
            stage = f"{stage}, {100 * inside:.0f} %" if inside and inside < 1 else stage
        if self._number:
            stage = f"step {self._number} of {len(self._steps)}: {stage}"
        spent, seconds_left = self._clock() - self._begun, None
        if spent >= _MIN_SPENT and self._done >= _MIN_SHARE:
            seconds_left = spent * (1 - self._done) / self._done
        progress = {"stage": stage, "share": share, "rate": status.get("rate", "")}
        self._tell({"progress": {**progress, "seconds_left": seconds_left}})

    def _job_share(self, stage: str, inside: float | None) -> float | None:
        """How much of the job is done, `inside` the stage that much; None: steps are not known."""
        if not self._steps:
            return None
        step, _, part = stage.partition(": ")
        step = "indexing" if stage.startswith("indexing") else step
        if step in self._steps:
            self._number = max(self._number, self._steps.index(step) + 1)
            first = _PARTS.index(part) if part in _PARTS else 0
            within = (first + (inside or 0.0)) / (len(_PARTS) if part else 1)
            # A step that is taken twice, as reading may be, does not move the bar back.
            done = (self._steps.index(step) + within) / len(self._steps)
            self._done = max(self._done, done)
        return self._done

    def say(self, line: str) -> None:
        self._tell({"say": name_files(line, self._files)})

    def warn(self, line: str) -> None:
        self.say(line)


def name_files(message: object, files: Mapping[str, Path | str]) -> str:
    """What the shell would say, with files and fields called as the app's pages call them."""
    line = str(message)
    for key, path in files.items():
        if os.sep in str(path):
            line = line.replace(str(path), key.split("~")[0])
    return name_form_fields(line)


def stage_progress(
    title: str, done: float, total: float | None, unit: str, seconds: float
) -> dict[str, Any]:
    pace = done / seconds if seconds > 0 else 0.0
    share = min(1.0, done / total) if total and total > 0 else None
    # A stage of one unit counts shares of it: a rate would say nothing.
    has_rate = pace > 0 and (total is None or total > 1)
    rate = f"{_format_amount(pace)}{unit}/s" if has_rate else ""
    return {"stage": title, "share": share, "rate": rate}


def main() -> None:
    pipe = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    lock = threading.Lock()

    def tell(message: Mapping[str, Any]) -> None:
        # Measures may report from threads of their own.
        with lock:
            pipe.write(json.dumps(message) + "\n")

    order = parse_json(sys.stdin.readline())
    threading.Thread(target=_end_with_app, args=(Path(order["folder"]),), daemon=True).start()
    tell(_do_order(order, tell))


def _do_order(order: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
    opened_paths = order["opened"]
    opened = Workspace(
        indexes={key: Path(path) for key, path in opened_paths["indexes"].items()},
        files={key: Path(path) for key, path in opened_paths["files"].items()},
        store=Path(opened_paths["store"]),
        jobs=opened_paths["jobs"],
        models=opened_paths.get("models", {}),
        upload_limit=opened_paths["upload_limit"],
    )
    # Indexes and folders that are made here have their name alone.
    built, made_here = f"{opened.known.place('')}{os.sep}", f"{opened.made}{os.sep}"
    files: dict[str, Path | str] = {**opened.all_files(), **opened.known.given}
    files |= {"": built, "~": made_here}
    try:
        reporter = PipeReporter(tell, files=files)
        return {"result": run_job(order["kind"], order["settings"], opened, reporter)}
    except RoteError as error:
        return {"error": name_files(error, files)}
    except MemoryError:
        return {"error": "not enough memory: sample the texts, or choose fewer measures"}
    except Exception as error:
        full = disk_full_message(error, (opened.store, Path(tempfile.gettempdir())))
        if full or isinstance(error, OSError):
            # A file that was moved meanwhile, say: the system's own words say it best.
            return {"error": full or str(error)}
        traceback.print_exc()
        kind = type(error).__name__
        return {"error": f"rote failed ({kind}); the terminal of the app says where"}


def _end_with_app(folder: Path) -> None:
    """When the app is killed, which closes the pipe."""
    sys.stdin.read()
    if folder.name.startswith(FOLDER_PREFIX):
        shutil.rmtree(folder, ignore_errors=True)
    os.killpg(os.getpgid(0), signal.SIGKILL)


def _format_amount(number: float) -> str:
    for size, sign in _UNITS:
        if number >= size:
            return f"{number / size:.1f} {sign}"
    return f"{number:.1f} " if number < 10 else f"{number:.0f} "


_EXCERPT = 160


def run_job(kind: str, settings: Mapping[str, Any], opened: Workspace, reporter: Reporter) -> str:
    form = make_form(kind, settings)
    form.check(opened)
    if isinstance(reporter, PipeReporter):
        reporter.expect(steps_of(kind, settings))
    outcome = form.perform(opened, reporter)
    if isinstance(outcome, str):
        return outcome
    results = outcome.results if isinstance(outcome, Report) else outcome
    files = {key: opened.file(key) for key in form.files}
    history, reader = History(opened.store), text_reader(kind, settings, opened)
    id = history.add(
        outcome,
        title=form.title,
        kind=kind,
        settings=settings,
        files={key: str(path) for key, path in files.items()},
        address=form.page,
        excerpts=_read_excerpts(results, list(files.values()), reader, reporter),
    )
    if form.page == RESULT:
        _draw_sections(history, id, reporter)
    return str(form.page.format(id=id))


def _draw_sections(history: History, id: str, reporter: Reporter) -> None:
    """Ahead of the first look. The numbers are kept by now: no picture is worth losing them."""
    try:
        with reporter.stage("drawing", None):
            result_sections(history, id)
    except Exception as error:
        traceback.print_exc()
        reporter.say(f"the figures could not be drawn ({error}); the numbers are saved")


def _read_excerpts(
    results: Sequence[Result], paths: Sequence[Path], read: Reader, reporter: Reporter
) -> Excerpts:
    rows = [row for result in results for row in text_values(result)]
    wanted = {(row.get("file", ""), row["id"]) for row in rows}
    several = any("file" in row for row in rows)
    excerpts: dict[tuple[str, str], str] = {}
    if not wanted:
        return excerpts
    with reporter.stage("reading the texts again", len(wanted)) as advance:
        for path in paths:
            for batch in read(path):
                for document in batch.documents:
                    key = (batch.file if several else "", document.id)
                    if key in wanted:
                        excerpts[key] = " ".join(document.text[: 4 * _EXCERPT].split())[:_EXCERPT]
                        advance(1)
    return excerpts


if __name__ == "__main__":
    main()
