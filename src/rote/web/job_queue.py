"""Jobs as they are kept, and the queue that runs each in a process of its own.

A job outlives the page that started it and the server that ran it. Each server holds a lock on a
file of its own; a job whose server holds none any more was interrupted. A job is cancelled by
killing its group of processes; results are written in one transaction at the end.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeVar
from uuid import uuid4

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse

from rote.core.errors import OptionError, RoteError
from rote.core.json_reader import parse_json
from rote.web import database
from rote.web.database import NotStored
from rote.web.errors import Busy, http_status
from rote.web.files import fingerprint, hash_parts
from rote.web.form_fields import form_pairs, form_to_json
from rote.web.forms import IndexForm, RunForm, TemplatesForm, WorkForm, form_class
from rote.web.job_worker import FOLDER_PREFIX
from rote.web.workspace import Workspace

FormT = TypeVar("FormT", RunForm, IndexForm, TemplatesForm)
JobState = Literal["waiting", "running", "done", "failed", "cancelled", "interrupted", "deleted"]
"""`deleted`: done, but what came out is not kept any more."""
OPEN: tuple[JobState, ...] = ("waiting", "running")
_JSON = ("settings", "files", "indexes", "progress", "remarks")
_ALL = """select jobs.*, result like '/%/____________' and not exists (
  select 1 from results where results.id = substr(jobs.result, -12)) as gone from jobs"""
"""With whether the result was deleted; results that are kept have an id of 12 letters."""
_LISTED = 50
_SERVER = re.compile(r"[0-9a-f]{12}")
_REMARKS = 200


@dataclass(frozen=True, slots=True)
class JobProgress:
    """The stage that is under way; share and time left are those of the whole job, where its steps
    are known. Shares are 0 to 1, times seconds; None: not known."""

    stage: str = ""
    share: float | None = None
    rate: str = ""
    seconds_left: float | None = None


@dataclass(frozen=True, slots=True)
class Job:
    id: str
    kind: str
    title: str
    settings: Mapping[str, Any]
    files: Sequence[str]
    indexes: Sequence[str]
    key: str
    """The same for the same settings on the same files."""
    state: JobState
    created: str
    server: str
    progress: JobProgress = field(default_factory=JobProgress)
    remarks: Sequence[str] = ()
    error: str | None = None
    result: str | None = None
    """Address of the page that shows what came out."""
    started: str | None = None
    ended: str | None = None

    @property
    def address(self) -> str:
        return f"/jobs/{self.id}"

    @property
    def open(self) -> bool:
        return self.state in OPEN

    def told(self, line: str) -> Job:
        return replace(self, remarks=(*self.remarks, line)[:_REMARKS])

    def to_dict(self) -> dict[str, Any]:
        values = {"made" if name == "created" else name: v for name, v in asdict(self).items()}
        return {**values, "open": self.open, "address": self.address}


class JobStore:
    """The jobs of a store, as seen by one server."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._locks = database.make_private_folder(store / "servers")
        self.server = uuid4().hex[:12]
        self._lock = os.open(self._locks / self.server, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._held = database.hold_open(store)
        self._find_interrupted()

    def close(self) -> None:
        if self._lock < 0:
            return
        self._held.close()
        os.close(self._lock)
        self._lock = -1
        (self._locks / self.server).unlink(missing_ok=True)

    def put(self, job: Job) -> None:
        row = asdict(job)
        row["made"] = row.pop("created")
        row |= {name: json.dumps(row[name]) for name in _JSON}
        texts = {
            n: database.to_storable(value) for n, value in row.items() if isinstance(value, str)
        }
        with database.open_database(self._store) as file:
            database.insert_rows(file, "jobs", [row | texts])

    def get(self, id: str) -> Job:
        job = self._one("where id = ?", id)
        if job is None:
            raise NotStored("job", id)
        return self._interrupted(job) if self._is_lost(job) else job

    def list(self, states: Sequence[str] = (), limit: int = _LISTED) -> list[Job]:
        chosen = f"state in ({', '.join('?' * len(states))})" if states else "not cleared"
        query = f"{_ALL} where {chosen} order by made desc, rowid desc limit ?"
        with database.open_database(self._store) as file:
            return [_from_row(row) for row in file.execute(query, (*states, limit))]

    def finished(self, key: str) -> Job | None:
        """The last job with the same settings on the same files whose result is there."""
        return self._one("where key = ? and state = 'done' and not gone order by ended desc", key)

    def maker(self, result: str) -> Job | None:
        """The last job that ended with this result, whether it is still there or not."""
        return self._one("where result = ? order by ended desc", result)

    def _one(self, where: str, value: str) -> Job | None:
        with database.open_database(self._store) as file:
            row = file.execute(f"{_ALL} {where} limit 1", (value,)).fetchone()
        return _from_row(row) if row else None

    def remove(self, id: str) -> None:
        with database.open_database(self._store) as file:
            file.execute("delete from jobs where id = ?", (id,))

    def clear(self) -> int:
        marks = ", ".join("?" * len(OPEN))
        with database.open_database(self._store) as file:
            query = f"update jobs set cleared = 1 where state not in ({marks}) and not cleared"
            return file.execute(query, OPEN).rowcount

    def _find_interrupted(self) -> None:
        for job in self.list(OPEN, limit=-1):
            if self._is_lost(job):
                self._interrupted(job)
        for path in self._locks.iterdir():
            if _SERVER.fullmatch(path.name) and not self._lives(path.name):
                path.unlink(missing_ok=True)

    def _interrupted(self, job: Job) -> Job:
        lost = replace(job, state="interrupted", ended=database.current_time())
        self.put(lost)
        return lost

    def _is_lost(self, job: Job) -> bool:
        return job.open and not self._lives(job.server)

    def _lives(self, server: str) -> bool:
        if server == self.server:
            return True
        try:
            handle = os.open(self._locks / server, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
        return False


def _from_row(row: Any) -> Job:
    values = {f.name: row["made" if f.name == "created" else f.name] for f in fields(Job)}
    parsed = {name: parse_json(values[name]) for name in _JSON}
    parsed["remarks"] = tuple(parsed["remarks"])
    parsed["progress"].setdefault("seconds_left", parsed["progress"].pop("left", None))
    job = Job(**{**values, **parsed, "progress": JobProgress(**parsed["progress"])})
    gone = job.state == "done" and row["gone"]
    return replace(job, state="deleted", result=None) if gone else job


_OFTEN = 0.5
"""Seconds between two writings of a job's progress; pages of this server see it at once."""
MAX_WAITING = 100
"""Jobs that may wait for their turn."""
_COMMAND = (sys.executable, "-m", "rote.web.job_worker")


class JobQueue:
    """Starts, runs and ends jobs; safe to be called from several threads."""

    def __init__(self, opened: Workspace, command: Sequence[str] = _COMMAND) -> None:
        self._opened, self._command = opened, command
        self._ledger = JobStore(opened.store)
        self._lock = threading.RLock()
        self._waiting: list[str] = []
        self._now: dict[str, Job] = {}
        """What waits or runs, as it is this moment."""
        self._written: dict[str, float] = {}
        self._unwritten: dict[str, Job] = {}
        """What could not be written: the disk was full."""
        self._processes: dict[str, subprocess.Popen[str]] = {}
        self._threads: list[threading.Thread] = []
        self._stopping = False

    def ask(self, form: WorkForm, *, again: bool = False) -> Job:
        form.check(self._opened)
        read = dict(zip(("files", "indexes"), form.places()))
        return self.start(form.kind, form.title, form_to_json(form), **read, again=again)

    def done(self, form: WorkForm) -> Job | None:
        try:
            form.check(self._opened)
            return self._ledger.finished(self.key(form.kind, form_to_json(form), *form.places()))
        except (RoteError, OSError):
            return None

    def same(self, form: WorkForm) -> Job | None:
        form.check(self._opened)
        key = self.key(form.kind, form_to_json(form), *form.places())
        with self._lock:
            return self._same(key)

    def start(
        self,
        kind: str,
        title: str,
        settings: Mapping[str, Any],
        *,
        files: Sequence[str] = (),
        indexes: Sequence[str] = (),
        again: bool = False,
    ) -> Job:
        """Queue a piece of work; the finished one, where the same was done before."""
        form_class(kind)
        if database.to_storable(text := json.dumps(settings, ensure_ascii=False)) != text:
            problem = "an unpaired surrogate in a setting: fix the escape, \\ud800 to \\udfff"
            raise OptionError(problem)
        key = self.key(kind, settings, files, indexes)
        with self._lock:
            if not again and (same := self._same(key)):
                return same
            if len(self._waiting) >= MAX_WAITING:
                raise Busy(f"{MAX_WAITING} jobs are already waiting: cancel some, or try later")
            job = Job(
                id=uuid4().hex[:12],
                kind=kind,
                title=title,
                settings=dict(settings),
                files=list(files),
                indexes=list(indexes),
                key=key,
                state="waiting",
                created=database.current_time(),
                server=self._ledger.server,
            )
            self._ledger.put(job)  # what cannot be written is not begun
            self._now[job.id] = job
            self._waiting.append(job.id)
            self._next()
            return self._now.get(job.id, job)

    def key(
        self, kind: str, settings: Mapping[str, Any], files: Sequence[str], indexes: Sequence[str]
    ) -> str:
        prints = [fingerprint(self._opened.file(name)) for name in files]
        prints += [fingerprint(self._opened.index(name)) for name in indexes]
        return hash_parts(kind, json.dumps(settings, sort_keys=True), *prints)

    def maker(self, result: str) -> Job | None:
        return self._ledger.maker(result)

    def get(self, id: str) -> Job:
        with self._lock:
            return self._now.get(id) or self._unwritten.get(id) or self._ledger.get(id)

    def list(self, limit: int = 50) -> list[Job]:
        with self._lock:
            known = {**self._unwritten, **self._now}
            return [known.get(job.id, job) for job in self._ledger.list(limit=limit)]

    def before(self, id: str) -> int:
        with self._lock:
            return self._waiting.index(id) if id in self._waiting else 0

    def again(self, id: str) -> Job:
        old = self.get(id)
        read = {"files": old.files, "indexes": old.indexes}
        return self.start(old.kind, old.title, old.settings, **read, again=True)

    def cancel(self, id: str) -> Job:
        with self._lock:
            job = self.get(id)
            if not job.open or id not in self._now:
                return job
            job = self._end_job(replace(job, state="cancelled"))
            if id in self._waiting:
                self._waiting.remove(id)
            process = self._processes.get(id)
        if process:
            _kill_group(process)
        return job

    def cancel_all(self) -> int:
        """How many there were."""
        with self._lock:
            # Those that wait go first: none of them is to begin meanwhile.
            ids = [*reversed(self._waiting), *(id for id in self._now if id not in self._waiting)]
        return sum(self.cancel(id).state == "cancelled" for id in ids)

    def clear(self) -> int:
        """List no job any more that has ended; how many those were."""
        return self._ledger.clear()

    def forget(self, id: str) -> None:
        self.cancel(id)
        self._ledger.remove(id)
        self._unwritten.pop(id, None)

    def stop(self) -> None:
        """End what runs and what waits, which is marked as interrupted."""
        with self._lock:
            self._stopping = True
            for job in list(self._now.values()):
                self._end_job(replace(job, state="interrupted"))
            self._waiting.clear()
            processes, threads = list(self._processes.values()), list(self._threads)
        for process in processes:
            _kill_group(process)
        for thread in threads:
            thread.join(timeout=5)
        self._ledger.close()

    def _same(self, key: str) -> Job | None:
        """What is under way, or done, with the same settings on the same files."""
        under_way = next((job for job in self._now.values() if job.key == key), None)
        return under_way or self._ledger.finished(key)

    def _next(self) -> None:
        """Begin what waits, as long as there is room."""
        while self._waiting and len(self._processes) < self._opened.at_once and not self._stopping:
            waiting, progress = self._now[self._waiting.pop(0)], JobProgress("starting")
            job = replace(
                waiting, state="running", started=database.current_time(), progress=progress
            )
            folder = ""
            try:
                folder = tempfile.mkdtemp(prefix=FOLDER_PREFIX)
                process = self._process(folder)
            except OSError as error:
                # No memory, or too many processes: the next one may have more luck.
                shutil.rmtree(folder, ignore_errors=True)
                why = database.disk_full_message(error, (Path(tempfile.gettempdir()),)) or error
                self._end_job(replace(job, state="failed", error=f"cannot be started: {why}"))
                continue
            self._processes[job.id] = process
            self._keep(job)
            thread = threading.Thread(target=self._follow, args=(job.id, process, folder))
            thread.daemon = True
            self._threads = [running for running in self._threads if running.is_alive()] + [thread]
            thread.start()

    def _process(self, folder: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            # A group of its own, so that it can be killed with all that it starts, and so that
            # Ctrl-C in the terminal reaches the app alone, which then ends it.
            start_new_session=True,
            env={**os.environ, "TMPDIR": folder, "PYTHONSAFEPATH": "1"},
        )

    def _follow(self, id: str, process: subprocess.Popen[str], folder: str) -> None:
        try:
            self._order(self.get(id), process, folder)
            ended = False
            for line in process.stdout or ():
                ended = self._hear(id, parse_json(line)) or ended
            if not ended:
                self._broken(id, process.wait())
        except Exception:
            # Whatever went wrong here, nobody should wait for it for ever.
            logging.getLogger("rote.web").exception("job %s", id)
            self._broken(id, 1)
        finally:
            _close_process(process)
            shutil.rmtree(folder, ignore_errors=True)
            with self._lock:
                self._processes.pop(id, None)
                self._next()

    def _order(self, job: Job, process: subprocess.Popen[str], folder: str) -> None:
        opened = self._opened
        order = {
            "kind": job.kind,
            "settings": job.settings,
            # Its temporary files go with it, however it ends.
            "folder": folder,
            "opened": {
                # Those that were built here it finds by itself, and may write.
                "indexes": {key: str(path) for key, path in opened.known.given.items()},
                "files": {key: str(path) for key, path in opened.files.items()},
                "store": str(opened.store),
                "jobs": opened.jobs,
                "models": dict(opened.models),
                "upload_limit": opened.upload_limit,
            },
        }
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(order) + "\n")
            process.stdin.flush()
        except (BrokenPipeError, ValueError):
            return  # it ended already, which its exit code explains, or was cancelled

    def _hear(self, id: str, message: Mapping[str, Any]) -> bool:
        """Whether this was the last that there is to hear."""
        with self._lock:
            job = self._now.get(id)
            if job is None:
                return True  # cancelled: whatever was on its way does not count
            if "progress" in message:
                progress = JobProgress(**message["progress"])
                self._keep(replace(job, progress=progress), now_and_then=True)
            elif "say" in message:
                self._keep(job.told(str(message["say"])))
            elif "result" in message:
                self._end_job(replace(job, state="done", result=message["result"]))
                return True
            elif "error" in message:
                self._end_job(replace(job, state="failed", error=message["error"]))
                return True
        return False

    def _broken(self, id: str, code: int) -> None:
        with self._lock:
            job = self._now.get(id)
            if job is not None:
                why = "broke off"
                if code == -signal.SIGBUS:
                    why = "was killed, usually because the disk is full: free some space"
                elif code < 0:
                    why = "was killed, usually out of memory: sample the texts"
                message = f"the work {why} (exit code {code}); the terminal of the app may say more"
                self._end_job(replace(job, state="failed", error=message))

    def _keep(self, job: Job, *, now_and_then: bool = False) -> None:
        self._now[job.id] = job
        at = time.monotonic()
        if not now_and_then or at - self._written.get(job.id, 0.0) > _OFTEN:
            self._write(job)
            self._written[job.id] = at

    def _write(self, job: Job) -> None:
        """What cannot be written now is remembered, and written with the next."""
        self._unwritten[job.id] = job
        try:
            for unwritten in list(self._unwritten.values()):
                self._ledger.put(unwritten)
                del self._unwritten[unwritten.id]
        except (OSError, sqlite3.Error) as error:
            logging.getLogger("rote.web").error("job %s cannot be written: %s", job.id, error)

    def _end_job(self, job: Job) -> Job:
        ended = replace(job, ended=database.current_time())
        self._write(ended)
        self._now.pop(job.id, None)
        self._written.pop(job.id, None)
        return ended


def job_response(job: Job) -> RedirectResponse:
    """To what came out, or to the page that shows how far it is."""
    done = job.state == "done" and job.result
    mark = "&" if job.result and "?" in job.result else "?"
    return RedirectResponse(f"{job.result}{mark}found={job.id}" if done else job.address, 303)


async def start_work(
    request: Request,
    empty: FormT,
    read: Callable[[Iterable[tuple[str, str]]], FormT],
    show: Callable[[Request, FormT, str, int], Response],
    *,
    again: bool = False,
) -> Response:
    """Start what a posted form asks for, or show the form again with what is wrong."""
    pairs = form_pairs(await request.form())

    def start() -> Response:
        form, jobs = empty, request.app.state.jobs
        try:
            form = read(pairs)
            return job_response(jobs.ask(form, again=again or ("again", "yes") in pairs))
        except RoteError as error:
            return show(request, form, str(error), http_status(error))

    return await run_in_threadpool(start)


def _kill_group(process: subprocess.Popen[str]) -> None:
    """The process and all that it started."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _close_process(process: subprocess.Popen[str]) -> None:
    """The end of one that nobody listens to any more.

    Only the thread that follows a process closes its pipes: closed by two threads at once they
    raise, and stay open.
    """
    _kill_group(process)
    if process.stdin:
        with suppress(BrokenPipeError):
            process.stdin.close()
    if process.stdout:
        process.stdout.close()
