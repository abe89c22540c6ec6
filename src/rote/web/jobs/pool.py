"""Work that needs a core, done by a few threads: the pages of others stay quick meanwhile.

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
from typing import Any, TypeVar

from fastapi import HTTPException, Request

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


async def bounded(
    request: Request, work: Callable[..., T], *given: Any, seconds: float | None = None
) -> T:
    """What `work(*given)` gives, from one of the app's threads."""
    pool: Pool = request.app.state.pool
    limit = SECONDS if seconds is None else seconds
    if not pool.taken():
        raise HTTPException(503, "too many questions wait for an answer: ask again in a minute")
    future = pool.threads.submit(work, *given)
    # Called once, when the work has ended or was taken back before it began.
    future.add_done_callback(pool.left)
    try:
        return await asyncio.wait_for(asyncio.wrap_future(future), limit)
    except asyncio.TimeoutError:
        raise HTTPException(
            503,
            f"no answer within {limit:.0f} seconds: ask for less (a narrower query, a shorter "
            "text), or ask on the command line, which has no limit",
        ) from None
