"""The other process: does one piece of work after the other and tells the app how far it is.

The app writes one line for each to standard input (what to do) and keeps the pipe open; when it
closes, because the app was killed, this process ends with all that it started. Progress goes back
in lines of JSON over the pipe that was standard output; whatever libraries print goes to the app's
standard error. The last line of a piece of work says whether the next may come (`again`): what was
imported, compiled and begun for one is there for the next.
"""

from __future__ import annotations

import json
import os
import resource
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
from queue import SimpleQueue
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rote.core.errors import InputError, RoteError
from rote.core.files import write_atomically
from rote.core.json_reader import JsonObject, parse_json, read_json
from rote.core.progress import Advance, Reporter
from rote.web.files import in_words
from rote.web.jobs.plan import Before, Whole, steps_of
from rote.web.store.database import full_disk, own_folder
from rote.web.workspace import Workspace

if TYPE_CHECKING:
    from rote.core.result import Result
    from rote.web.files import Reader
    from rote.web.store.history import Excerpts, History

FOLDER = "rote-job-"
"""How the folder of a job's temporary files begins."""
_OFTEN = 0.2
"""Seconds between two reports of one stage."""
_KEPT = 2**30
"""Bytes: a process that had more gives them back to the system by its end."""
FIRST_TIME = "the first time: measuring how long all of it takes"
_UNITS = ((10**9, "G"), (10**6, "M"), (10**3, "k"))

Tell = Callable[[Mapping[str, Any]], None]


class PipeReporter:
    """A Reporter that writes to the pipe; stages may lie inside each other.

    Share and time left are those of the whole work: by its steps where they are known (`expect`),
    else by how it went before (`recall`). The first time nobody knows: there is neither, and the
    stage says how far it is itself.
    """

    def __init__(
        self,
        tell: Tell,
        clock: Callable[[], float] = time.monotonic,
        files: Mapping[str, Path | str] = MappingProxyType({}),
    ) -> None:
        self._tell, self._clock, self._files = tell, clock, files
        self._whole: Whole | Before = Before((), clock)

    def expect(self, steps: Sequence[str]) -> None:
        self._whole = Whole(steps, self._clock)

    def recall(self, stages: Sequence[tuple[str, float]]) -> Before:
        self._whole = before = Before(stages, self._clock)
        return before

    @contextmanager
    def stage(self, title: str, total: float | None, unit: str = "") -> Iterator[Advance]:
        begun = said = self._clock()
        done = 0.0
        self._whole.begin(title)
        self._report({"stage": title, "share": 0.0 if total else None})

        def advance(amount: float) -> None:
            nonlocal done, said
            done += amount
            at = self._clock()
            if at - said >= _OFTEN:
                said = at
                self._report(progress(title, done, total, unit, at - begun))

        yield advance
        self._report(progress(title, total or done, total, unit, self._clock() - begun))
        self._whole.end(title)

    def _report(self, told: Mapping[str, Any]) -> None:
        stage, inside = told["stage"], told["share"]
        share = self._whole.share(stage, inside)
        rate = told.get("rate", "")
        if share is None:
            stage = f"{stage}, {100 * inside:.0f} %" if inside and inside < 1 else stage
            rate = " · ".join(filter(None, (rate, FIRST_TIME)))
        left = self._whole.left()
        told = {**told, "stage": stage, "share": share, "rate": rate, "left": left}
        self._tell({"progress": told})

    def say(self, line: str) -> None:
        self._tell({"say": named(line, self._files)})

    def warn(self, line: str) -> None:
        self.say(line)


def named(told: object, files: Mapping[str, Path | str]) -> str:
    """What the shell would say, with files and fields called as the app's pages call them."""
    line = str(told)
    for key, path in files.items():
        if os.sep in str(path):
            line = line.replace(str(path), key.split("~")[0])
    return in_words(line)


def progress(
    title: str, done: float, total: float | None, unit: str, seconds: float
) -> dict[str, Any]:
    """What a page shows of a stage."""
    pace = done / seconds if seconds > 0 else 0.0
    known = total is not None and total > 0
    share = min(1.0, done / total) if known and total else None
    left = (total - done) / pace if known and total and pace > 0 and done < total else None
    # A stage of one unit counts shares of it: a rate would say nothing.
    told = pace > 0 and (total is None or total > 1)
    return {
        "stage": title,
        "share": share,
        "rate": f"{_amount(pace)}{unit}/s" if told else "",
        "left": left,
    }


def main() -> None:
    """Do what standard input says."""
    pipe = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    lock = threading.Lock()

    def tell(message: Mapping[str, Any]) -> None:
        # Measures may report from threads of their own.
        with lock:
            pipe.write(json.dumps(message) + "\n")

    orders: SimpleQueue[Mapping[str, Any]] = SimpleQueue()
    threading.Thread(target=_listen, args=(orders,), daemon=True).start()
    again = True
    while again:
        said, sound = _answer(orders.get(), tell)
        again = sound and _peak() <= _KEPT
        tell({**said, "again": again})


def _answer(order: Mapping[str, Any], tell: Tell) -> tuple[dict[str, Any], bool]:
    """What came of it, and whether nothing unforeseen did."""
    tempfile.tempdir = None  # that of the last work is gone
    given = order["opened"]
    opened = Workspace(
        indexes={key: Path(path) for key, path in given["indexes"].items()},
        files={key: Path(path) for key, path in given["files"].items()},
        store=Path(given["store"]),
        jobs=given["jobs"],
        models=given.get("models", {}),
        upload_limit=given["upload_limit"],
    )
    # Indexes and folders that are made here have their name alone.
    built, made = f"{opened.known.place('')}{os.sep}", f"{opened.made}{os.sep}"
    files: dict[str, Path | str] = {**opened.all_files(), **opened.known.given}
    files |= {"": built, "~": made}
    try:
        address = run(order["kind"], order["settings"], opened, PipeReporter(tell, files=files))
        return {"result": address}, True
    except RoteError as error:
        return {"error": named(error, files)}, True
    except MemoryError:
        few = "there is not enough memory: take a sample of the texts, or fewer measures"
        return {"error": few}, False
    except Exception as error:
        full = full_disk(error, (opened.store, Path(tempfile.gettempdir())))
        if full or isinstance(error, OSError):
            # A file that was moved meanwhile, say: the system's own words say it best.
            return {"error": full or str(error)}, False
        traceback.print_exc()
        failed = f"rote failed ({type(error).__name__}); the terminal of the app says where"
        return {"error": failed}, False


def _peak() -> int:
    """Bytes of memory that this process had at most."""
    about = Path("/proc/self/status")
    if about.exists():  # on Linux `getrusage` begins with what the process had that started this
        (line,) = (one for one in about.read_text().splitlines() if one.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def _listen(orders: SimpleQueue[Mapping[str, Any]]) -> None:
    for line in sys.stdin:
        order = parse_json(line)
        os.environ["TMPDIR"] = order["folder"]
        orders.put(order)
    # The app would have removed it; it was killed.
    folder = Path(os.environ.get("TMPDIR", ""))
    if folder.name.startswith(FOLDER):
        shutil.rmtree(folder, ignore_errors=True)
    os.killpg(os.getpgid(0), signal.SIGKILL)


def _amount(number: float) -> str:
    for size, sign in _UNITS:
        if number >= size:
            return f"{number / size:.1f} {sign}"
    return f"{number:.1f} " if number < 10 else f"{number:.0f} "


_EXCERPT = 160


def run(kind: str, settings: Mapping[str, Any], opened: Workspace, reporter: Reporter) -> str:
    """The address of the page that shows what came out."""
    from rote.web.forms.run import form_of

    form = form_of(kind, settings)
    form.check(opened)
    with _planned(kind, settings, opened.store, reporter):
        return _done(form, kind, settings, opened, reporter)


def _done(
    form: Any, kind: str, settings: Mapping[str, Any], opened: Workspace, reporter: Reporter
) -> str:
    from rote.report.report import Report
    from rote.web.forms.run import reader_of
    from rote.web.store.history import RESULT, History

    found = form.perform(opened, reporter)
    if isinstance(found, str):
        return found
    results = found.results if isinstance(found, Report) else found
    files = {key: opened.file(key) for key in form.files}
    history = History(opened.store)
    id = history.add(
        found,
        title=form.title,
        kind=kind,
        settings=settings,
        files={key: str(path) for key, path in files.items()},
        address=form.page,
        excerpts=_excerpts(
            results, list(files.values()), reader_of(kind, settings, opened), reporter
        ),
    )
    if form.page == RESULT:
        _draw(history, id, reporter)
    return str(form.page.format(id=id))


@contextmanager
def _planned(
    kind: str, settings: Mapping[str, Any], store: Path, reporter: Reporter
) -> Iterator[None]:
    """What is known of the steps to come; of those that were not, how they went is kept."""
    steps = steps_of(kind, settings)
    if not isinstance(reporter, PipeReporter):
        yield
    elif steps:
        reporter.expect(steps)
        yield
    else:
        path = store / "steps" / f"{kind}-{settings.get('name', '')}.json"
        before = reporter.recall(_stages_in(path))
        yield
        own_folder(path.parent)
        write_atomically(path, json.dumps(before.taken))


def _stages_in(path: Path) -> list[tuple[str, float]]:
    """The stages of such work before, and how long they took; none where nobody can say."""
    try:
        held = JsonObject({"stages": read_json(path)}, str(path))
        rows = [(JsonObject(dict(zip("ab", row)), "", str(path))) for row in held.array("stages")]
        return [(row.text("a"), row.number("b")) for row in rows]
    except (OSError, InputError, TypeError):
        return []


def _draw(history: History, id: str, reporter: Reporter) -> None:
    """Ahead of the first look. The numbers are kept by now: no picture is worth losing them."""
    from rote.web.pages.sections import sections_of

    try:
        with reporter.stage("drawing", None):
            sections_of(history, id)
    except Exception as error:
        traceback.print_exc()
        reporter.say(f"the figures could not be drawn ({error}); the numbers are kept")


def _excerpts(
    results: Sequence[Result], paths: Sequence[Path], read: Reader, reporter: Reporter
) -> Excerpts:
    """How the texts begin that have values of their own."""
    from rote.web.store.history import text_values

    rows = [row for result in results for row in text_values(result)]
    wanted = {(row.get("file", ""), row["id"]) for row in rows}
    several = any("file" in row for row in rows)
    found: dict[tuple[str, str], str] = {}
    if not wanted:
        return found
    with reporter.stage("reading the texts again", len(wanted)) as advance:
        for path in paths:
            for batch in read(path):
                for document in batch.documents:
                    key = (batch.file if several else "", document.id)
                    if key in wanted:
                        found[key] = " ".join(document.text[: 4 * _EXCERPT].split())[:_EXCERPT]
                        advance(1)
    return found


if __name__ == "__main__":
    main()
