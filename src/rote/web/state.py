"""What a request reaches of its app, made once by `make_app`; and work that needs a core, done by a
few threads: the pages of others stay quick meanwhile.

A request waits for its turn. Where too many wait already, or an answer takes too long, the reader
gets a sentence that says so, and the work of those who gave up is not begun.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Protocol, TypeVar, cast

from fastapi import HTTPException, Request

from rote.web.indexes import Indexes, OpenIndex, Recent
from rote.web.jobs.queue import Jobs
from rote.web.store.history import History
from rote.web.workspace import Workspace

T = TypeVar("T")
SECONDS = 60.0
"""What one answer may take, waiting included."""
WAITING = 200
"""Requests that may wait for their turn."""


@dataclass(slots=True)
class Pool:
    """A few threads, and how many pieces of work they have or wait for."""

    threads: ThreadPoolExecutor = field(
        # As many as there are cores.
        default_factory=lambda: ThreadPoolExecutor(max(2, os.cpu_count() or 1), "rote-web")
    )
    lock: Lock = field(default_factory=Lock)
    held: int = 0

    def left(self, *_: Any) -> None:
        with self.lock:
            self.held -= 1

    def taken(self) -> bool:
        """Take a place in the row; False if it is full."""
        with self.lock:
            if self.held >= WAITING:
                return False
            self.held += 1
            return True


async def bounded(request: Request, work: Callable[..., T], *given: Any) -> T:
    """What `work(*given)` gives, from one of the app's threads."""
    pool: Pool = request.app.state.pool
    if not pool.taken():
        raise HTTPException(503, "too many questions wait for an answer: ask again in a minute")
    future = pool.threads.submit(work, *given)
    # Called once, when the work has ended or was taken back before it began.
    future.add_done_callback(pool.left)
    try:
        return await asyncio.wait_for(asyncio.wrap_future(future), SECONDS)
    except asyncio.TimeoutError:
        raise HTTPException(
            503,
            f"no answer within {SECONDS:.0f} seconds: ask for less (a narrower query, a shorter "
            "text), or ask on the command line, which has no limit",
        ) from None


class State(Protocol):
    """The attributes of `app.state`."""

    workspace: Workspace
    history: History
    jobs: Jobs
    indexes: Indexes
    recent: Recent
    pool: Pool


def state(request: Request) -> State:
    return cast(State, request.app.state)


def index_of(request: Request, key: str) -> OpenIndex:
    """The index that was opened under this key, as it is now."""
    return state(request).indexes.current(state(request).workspace.index(key))
