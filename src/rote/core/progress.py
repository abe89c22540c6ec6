"""How long work tells that it goes on, without knowing who listens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

Advance = Callable[[float], None]
"""Called with the amount of work done since the last call."""


class Reporter(Protocol):
    """Shows stages of work; the shell and the browser each have their own."""

    def stage(
        self, title: str, total: float | None, unit: str = ""
    ) -> AbstractContextManager[Advance]:
        """A piece of work of `total` units (None: not known; "B" are bytes)."""

    def say(self, line: str) -> None:
        """A line that the user should read but that is no result."""


class Silent:
    """Reports to nobody."""

    @contextmanager
    def stage(self, title: str, total: float | None, unit: str = "") -> Iterator[Advance]:
        yield lambda amount: None

    def say(self, line: str) -> None:
        return None
