"""The last few answers that took a while: a reload, or another view of the same, is at once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar

from fastapi import FastAPI

T = TypeVar("T")
MOST = 32
_FIRST = Lock()


class Recent:
    """Answers by what was asked; of too many the one goes that was not asked for longest."""

    def __init__(self, most: int = MOST) -> None:
        self._held: OrderedDict[Hashable, Any] = OrderedDict()
        self._most = most
        self._lock = Lock()

    def get(self, asked: Hashable, make: Callable[[], T]) -> T:
        with self._lock:
            if asked in self._held:
                self._held.move_to_end(asked)
                found: T = self._held[asked]
                return found
        # Not under the lock: others need not wait. The same may be made twice, and is the same.
        made = make()
        with self._lock:
            self._held[asked] = made
            while len(self._held) > self._most:
                self._held.popitem(last=False)
        return made


def recent_of(app: FastAPI) -> Recent:
    with _FIRST:
        if not hasattr(app.state, "recent"):
            app.state.recent = Recent()
        found: Recent = app.state.recent
    return found
