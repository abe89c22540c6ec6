"""Long work beside the app: a queue of jobs, each in a process of its own.

A job is cancelled by killing its whole group of processes;
what it leaves behind is nothing, since results are written in one transaction at the end.
A process whose job has ended well waits for the next one, which then need not import all again.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from fastapi.responses import RedirectResponse

from rote.core.errors import OptionError, RoteError
from rote.core.json_reader import parse_json
from rote.web.errors import Busy
from rote.web.files import fingerprint, hashed
from rote.web.forms.run import Form, class_of
from rote.web.jobs.ledger import Job, Ledger, Progress
from rote.web.jobs.worker import FOLDER
from rote.web.store.database import full_disk, now, storable
from rote.web.workspace import Workspace

_OFTEN = 0.5
"""Seconds between two writings of a job's progress; pages of this server see it at once."""
WAITING = 100
"""Jobs that may wait for their turn."""
_COMMAND = (sys.executable, "-m", "rote.web.jobs.worker")


class Jobs:
    """Starts, runs and ends jobs; safe to be called from several threads."""

    def __init__(self, opened: Workspace, command: Sequence[str] = _COMMAND) -> None:
        self._opened, self._command = opened, command
        self._ledger = Ledger(opened.store)
        self._lock = threading.RLock()
        self._waiting: list[str] = []
        self._now: dict[str, Job] = {}
        """What waits or runs, as it is this moment."""
        self._written: dict[str, float] = {}
        self._unwritten: dict[str, Job] = {}
        """What could not be written: the disk was full."""
        self._processes: dict[str, subprocess.Popen[str]] = {}
        self._spare: list[subprocess.Popen[str]] = []
        """At most one, which waits for the next job."""
        self._threads: list[threading.Thread] = []
        self._stopping = False
        self._go_on()

    def ask(self, form: Form, *, again: bool = False) -> Job:
        """Queue what a form asks for."""
        form.check(self._opened)
        files, indexes = form.places()
        return self.start(
            form.kind, form.title, asdict(form), files=files, indexes=indexes, again=again
        )

    def done(self, form: Form) -> Job | None:
        """The job that did exactly this, if one did and its result is there."""
        try:
            form.check(self._opened)
            return self._ledger.finished(self.key(form.kind, asdict(form), *form.places()))
        except (RoteError, OSError):
            return None

    def same(self, form: Form) -> Job | None:
        """The job that does exactly this, or did and its result is there."""
        form.check(self._opened)
        key = self.key(form.kind, asdict(form), *form.places())
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
        class_of(kind)
        if storable(text := json.dumps(settings, ensure_ascii=False)) != text:
            raise OptionError(
                "half a character in a setting: repair the escape, \\ud800 to \\udfff"
            )
        key = self.key(kind, settings, files, indexes)
        with self._lock:
            found = None if again else self._same(key)
            if found:
                return found
            if len(self._waiting) >= WAITING:
                raise Busy(f"{WAITING} pieces of work wait already: cancel some, or ask later")
            job = Job(
                id=uuid4().hex[:12],
                kind=kind,
                title=title,
                settings=dict(settings),
                files=list(files),
                indexes=list(indexes),
                key=key,
                state="waiting",
                made=now(),
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
        """The same for the same settings on the same files."""
        prints = [fingerprint(self._opened.file(name)) for name in files]
        prints += [fingerprint(self._opened.index(name)) for name in indexes]
        return hashed(kind, json.dumps(settings, sort_keys=True), *prints)

    def maker(self, result: str) -> Job | None:
        return self._ledger.maker(result)

    def get(self, id: str) -> Job:
        with self._lock:
            return self._now.get(id) or self._unwritten.get(id) or self._ledger.get(id)

    def list(self, limit: int = 50) -> list[Job]:
        """The newest first."""
        with self._lock:
            known = {**self._unwritten, **self._now}
            return [known.get(job.id, job) for job in self._ledger.list(limit=limit)]

    def before(self, id: str) -> int:
        """How many others wait in front of a job."""
        with self._lock:
            return self._waiting.index(id) if id in self._waiting else 0

    def again(self, id: str) -> Job:
        """The same once more, whatever became of it."""
        old = self.get(id)
        return self.start(
            old.kind, old.title, old.settings, files=old.files, indexes=old.indexes, again=True
        )

    def cancel(self, id: str) -> Job:
        """End a job with everything that it started."""
        with self._lock:
            job = self.get(id)
            if not job.open or id not in self._now:
                return job
            job = self._end(replace(job, state="cancelled"))
            if id in self._waiting:
                self._waiting.remove(id)
            process = self._processes.get(id)
        if process:
            _kill(process)
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
        """End what runs, which is marked as interrupted; what waits is done after a new start."""
        with self._lock:
            self._stopping = True
            for job in list(self._now.values()):
                if job.id not in self._waiting:
                    self._end(replace(job, state="interrupted"))
            # Whoever stops it twice finds nothing that waits and nothing that runs.
            self._waiting.clear()
            self._now.clear()
            processes, threads = list(self._processes.values()), list(self._threads)
            spare = [self._spare.pop() for _ in tuple(self._spare)]
        for process in processes:
            _kill(process)
        for thread in threads:
            thread.join(timeout=5)
        for process in spare:
            _close(process)
        self._ledger.close()

    def _go_on(self) -> None:
        """Queue what waited when the app was ended, if all that it reads is open now."""
        with self._lock:
            for job in self._ledger.take_over():
                try:
                    self.key(job.kind, job.settings, job.files, job.indexes)
                except (RoteError, OSError):
                    self._end(replace(job, state="interrupted"))
                    continue
                self._now[job.id] = job
                self._waiting.append(job.id)
            self._next()

    def _same(self, key: str) -> Job | None:
        """What is under way, or done, with the same settings on the same files."""
        under_way = next((job for job in self._now.values() if job.key == key), None)
        return under_way or self._ledger.finished(key)

    def _next(self) -> None:
        """Begin what waits, as long as there is room."""
        while self._waiting and len(self._processes) < self._opened.at_once and not self._stopping:
            job = self._now[self._waiting.pop(0)]
            job = replace(job, state="running", started=now(), progress=Progress("starting"))
            folder = ""
            try:
                folder = tempfile.mkdtemp(prefix=FOLDER)
                process = self._waiting_process() or self._process(folder)
            except OSError as error:
                # No memory, or too many processes: the next one may have more luck.
                shutil.rmtree(folder, ignore_errors=True)
                why = full_disk(error, (Path(tempfile.gettempdir()),)) or error
                self._end(replace(job, state="failed", error=f"cannot be started: {why}"))
                continue
            self._processes[job.id] = process
            self._keep(job)
            thread = threading.Thread(target=self._follow, args=(job.id, process, folder))
            thread.daemon = True
            self._threads = [one for one in self._threads if one.is_alive()] + [thread]
            thread.start()

    def _waiting_process(self) -> subprocess.Popen[str] | None:
        while self._spare:
            process = self._spare.pop()
            if process.poll() is None:
                return process
            _close(process)  # killed meanwhile
        return None

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
        """Read what the process tells, to its end or to that of its work."""
        again = False
        try:
            self._order(self.get(id), process, folder)
            ended = False
            for line in process.stdout or ():
                message = parse_json(line)
                with self._lock:
                    # One whose job was cancelled is about to be killed.
                    again = id in self._now and message.get("again", False)
                    ended = self._hear(id, message) or ended
                if again:
                    break
            if not ended:
                self._broken(id, process.wait())
        except Exception:
            # Whatever went wrong here, nobody should wait for it for ever.
            logging.getLogger("rote.web").exception("job %s", id)
            self._broken(id, 1)
        finally:
            with self._lock:
                again = again and not self._stopping and not self._spare
                if again:
                    self._spare.append(process)
            if not again:
                _close(process)
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
                self._keep(
                    replace(job, progress=Progress(**message["progress"])), now_and_then=True
                )
            elif "say" in message:
                self._keep(job.told(str(message["say"])))
            elif "result" in message:
                self._end(replace(job, state="done", result=message["result"]))
                return True
            elif "error" in message:
                self._end(replace(job, state="failed", error=message["error"]))
                return True
        return False

    def _broken(self, id: str, code: int) -> None:
        with self._lock:
            job = self._now.get(id)
            if job is not None:
                why = "broke off"
                if code == -signal.SIGBUS:
                    why = "was killed, most often because the disk is full: make room on it"
                elif code < 0:
                    why = "was killed, most often for want of memory: take a sample of the texts"
                said = f"the work {why} (exit code {code}); the terminal of the app may say more"
                self._end(replace(job, state="failed", error=said))

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
            for one in list(self._unwritten.values()):
                self._ledger.put(one)
                del self._unwritten[one.id]
        except (OSError, sqlite3.Error) as error:
            logging.getLogger("rote.web").error("job %s cannot be written: %s", job.id, error)

    def _end(self, job: Job) -> Job:
        ended = replace(job, ended=now())
        self._write(ended)
        self._now.pop(job.id, None)
        self._written.pop(job.id, None)
        return ended


def job_response(job: Job) -> RedirectResponse:
    """To what came out, or to the page that shows how far it is."""
    done = job.state == "done" and job.result
    mark = "&" if job.result and "?" in job.result else "?"
    return RedirectResponse(f"{job.result}{mark}found={job.id}" if done else job.address, 303)


def _kill(process: subprocess.Popen[str]) -> None:
    """The process and all that it started."""
    # One that has been waited for is gone, and its number may be another's.
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.stdin:
        with suppress(BrokenPipeError):
            process.stdin.close()


def _close(process: subprocess.Popen[str]) -> None:
    """The end of one that nobody listens to any more."""
    _kill(process)
    if process.stdout:
        process.stdout.close()
