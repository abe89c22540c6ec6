"""Not too fast, and not for ever: requests per minute, and how long an endpoint is waited for."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime


@dataclass(frozen=True, slots=True)
class Patience:
    """Attempts and seconds. Waits double from one attempt to the next."""

    busy: int = 8
    """Attempts where the endpoint says that it is overloaded, or fails."""
    unreachable: int = 4
    """Attempts where there is no connection: a wrong address should be noticed soon."""
    slow: int = 2
    """Attempts where there is no answer in time."""
    first: float = 0.5
    longest: float = 60.0
    """The longest wait, also where the endpoint asks for a longer one."""
    connect: float = 5.0
    answer: float = 300.0

    def wait(self, attempt: int, asked: float | None) -> float:
        """Seconds after an attempt that failed, the first being number 1."""
        own = self.first * 2.0 ** (attempt - 1)
        return min(self.longest, own if asked is None else max(asked, 0.0))


@dataclass(slots=True)
class Pace:
    """Lets requests through, so many per minute at most (0: all at once)."""

    rate: float
    _next: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def wait(self) -> None:
        if not self.rate:
            return
        with self._lock:
            turn = max(self._next, time.monotonic())
            self._next = turn + 60.0 / self.rate
        time.sleep(max(0.0, turn - time.monotonic()))


def retry_after(value: str | None) -> float | None:
    """The seconds that a header `Retry-After` asks for: a number, or a date."""
    if value is None:
        return None
    try:
        return float(value)
    except ValueError:
        pass
    try:
        return parsedate_to_datetime(value).timestamp() - time.time()
    except ValueError:
        return None
