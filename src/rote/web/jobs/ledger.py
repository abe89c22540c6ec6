"""Jobs as they are kept: what was asked for, how far it is, what came out.

A job outlives the page that started it and the server that ran it. Each server holds a lock on a
file of its own; a job whose server holds none any more was interrupted.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

from rote.core.json_reader import parse_json
from rote.web.store.database import NotKept, connected, held_open, insert, now, own_folder, storable

State = Literal["waiting", "running", "done", "failed", "cancelled", "interrupted", "deleted"]
"""`deleted`: done, but what came out is not kept any more."""
OPEN: tuple[State, ...] = ("waiting", "running")
_JSON = ("settings", "files", "indexes", "progress", "remarks")
_ALL = """select jobs.*, result like '/%/____________' and not exists (
  select 1 from results where results.id = substr(jobs.result, -12)) as gone from jobs"""
"""With whether the result was deleted; results that are kept have an id of 12 letters."""
_LISTED = 50
_SERVER = re.compile(r"[0-9a-f]{12}")
_REMARKS = 200


@dataclass(frozen=True, slots=True)
class Progress:
    """The stage that is under way; share and time left are those of the whole job, where its steps
    are known. Shares are 0 to 1, times seconds; None: not known."""

    stage: str = ""
    share: float | None = None
    rate: str = ""
    left: float | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """One piece of long work."""

    id: str
    kind: str
    title: str
    settings: Mapping[str, Any]
    files: Sequence[str]
    indexes: Sequence[str]
    key: str
    """The same for the same settings on the same files."""
    state: State
    made: str
    server: str
    progress: Progress = field(default_factory=Progress)
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
        """With one more remark; of very many the first ones stay."""
        return (
            self if len(self.remarks) >= _REMARKS else replace(self, remarks=(*self.remarks, line))
        )

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {**asdict(self), "open": self.open, "address": self.address}


class Ledger:
    """The jobs of a store, as seen by one server."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._locks = own_folder(store / "servers")
        self.server = uuid4().hex[:12]
        self._lock = os.open(self._locks / self.server, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._held = held_open(store)
        self._find_interrupted()

    def close(self) -> None:
        if self._lock < 0:
            return
        self._held.close()
        os.close(self._lock)
        self._lock = -1
        (self._locks / self.server).unlink(missing_ok=True)

    def put(self, job: Job) -> None:
        row = {**asdict(job), "progress": asdict(job.progress)}
        with connected(self._store) as file:
            insert(file, "jobs", [{name: _kept(name, value) for name, value in row.items()}])

    def get(self, id: str) -> Job:
        job = self._one("where id = ?", id)
        if job is None:
            raise NotKept("job", id)
        # One that only waits is queued again by the next server that starts.
        return self._interrupted(job) if job.state == "running" and self._is_lost(job) else job

    def list(self, states: Sequence[str] = (), limit: int = _LISTED) -> list[Job]:
        """The newest first."""
        chosen = f"state in ({', '.join('?' * len(states))})" if states else "not cleared"
        chosen = f"where {chosen}"
        query = f"{_ALL} {chosen} order by made desc, rowid desc limit ?"
        with connected(self._store) as file:
            return [_job(row) for row in file.execute(query, (*states, limit))]

    def finished(self, key: str) -> Job | None:
        """The last job with the same settings on the same files whose result is there."""
        return self._one("where key = ? and state = 'done' and not gone order by ended desc", key)

    def maker(self, result: str) -> Job | None:
        """The last job that ended with this result, whether it is still there or not."""
        return self._one("where result = ? order by ended desc", result)

    def _one(self, where: str, value: str) -> Job | None:
        with connected(self._store) as file:
            row = file.execute(f"{_ALL} {where} limit 1", (value,)).fetchone()
        return _job(row) if row else None

    def remove(self, id: str) -> None:
        with connected(self._store) as file:
            file.execute("delete from jobs where id = ?", (id,))

    def clear(self) -> int:
        """List no job any more that has ended; how many those were. What they made is kept, and is
        found again when the same is asked for."""
        marks = ", ".join("?" * len(OPEN))
        with connected(self._store) as file:
            query = f"update jobs set cleared = 1 where state not in ({marks}) and not cleared"
            return file.execute(query, OPEN).rowcount

    def take_over(self) -> Sequence[Job]:
        """Jobs that waited in a server that is gone, the oldest first: they are this one's now."""
        taken = []
        for job in reversed(self.list(("waiting",), limit=-1)):
            if not self._is_lost(job):
                continue
            with connected(self._store) as file:
                # Of two servers that start at once, one gets it.
                query = "update jobs set server = ? where id = ? and server = ?"
                mine = file.execute(query, (self.server, job.id, job.server)).rowcount
            if mine:
                taken.append(replace(job, server=self.server))
        return taken

    def _find_interrupted(self) -> None:
        for job in self.list(("running",), limit=-1):
            if self._is_lost(job):
                self._interrupted(job)
        for path in self._locks.iterdir():
            if _SERVER.fullmatch(path.name) and not self._lives(path.name):
                path.unlink(missing_ok=True)

    def _interrupted(self, job: Job) -> Job:
        lost = replace(job, state="interrupted", ended=now())
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


def _kept(name: str, value: Any) -> Any:
    if name in _JSON:
        return json.dumps(value)
    return storable(value) if isinstance(value, str) else value


def _job(row: Any) -> Job:
    held = {one.name: row[one.name] for one in fields(Job)}
    parsed = {name: parse_json(held[name]) for name in _JSON}
    parsed["remarks"] = tuple(parsed["remarks"])
    job = Job(**{**held, **parsed, "progress": Progress(**parsed["progress"])})
    gone = job.state == "done" and row["gone"]
    return replace(job, state="deleted", result=None) if gone else job
