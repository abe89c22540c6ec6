"""How long work tells that it goes on, without knowing who listens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Protocol, runtime_checkable

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

    def warn(self, line: str) -> None:
        """A line that shows even where the user wants no remarks: why nothing happens, say."""


@runtime_checkable
class Asking(Protocol):
    """A reporter that somebody may sit behind."""

    def ask(self, question: str) -> bool:
        """Whether somebody agreed; False where nobody is there, and whoever says no ends it all."""


def share_steps(advance: Advance) -> Callable[[float], None]:
    """What tells the share of the work that is done, where steps are told."""
    done = 0.0

    def progress(share: float) -> None:
        nonlocal done
        advance(share - done)
        done = share

    return progress


class Silent:
    """Reports to nobody."""

    @contextmanager
    def stage(self, title: str, total: float | None, unit: str = "") -> Iterator[Advance]:
        yield lambda amount: None

    def say(self, line: str) -> None:
        return None

    def warn(self, line: str) -> None:
        self.say(line)


@dataclass(slots=True)
class Steps:
    """Steps of work, of which several go on at once: the first of them shows its stages."""

    count: int
    first: int = 1
    """The first that has not ended."""
    stopped: bool = False
    """Whether nobody waits for them any more."""


@dataclass(frozen=True, slots=True)
class Step:
    """Says of every stage which step of how many it belongs to: "3 of 13, semantic"."""

    reporter: Reporter
    number: int
    steps: Steps

    @contextmanager
    def stage(self, title: str, total: float | None, unit: str = "") -> Iterator[Advance]:
        place = f"{self.number} of {self.steps.count}, " if self.steps.count > 1 else ""
        lock, reported, waiting = Lock(), list[Advance](), 0.0
        with ExitStack() as stages:

            def advance(amount: float) -> None:
                nonlocal waiting
                if self.steps.stopped:
                    raise CancelledError
                with lock:
                    waiting += amount
                    if self.number == self.steps.first:
                        if not reported:
                            stage = self.reporter.stage(f"{place}{title}", total, unit)
                            reported.append(stages.enter_context(stage))
                        amount, waiting = waiting, 0.0
                        reported[0](amount)

            advance(0.0)
            yield advance

    def say(self, line: str) -> None:
        self.reporter.say(line)

    def warn(self, line: str) -> None:
        self.reporter.warn(line)


@dataclass(frozen=True, slots=True)
class Once:
    """Says each line the first time only, not with every batch, whatever thread it comes from."""

    reporter: Reporter
    _said: dict[str, object] = field(default_factory=dict)

    def __call__(self, line: str) -> None:
        token = object()
        if self._said.setdefault(line, token) is token:  # one step: only one thread comes first
            self.reporter.say(line)


def several(number: int, noun: str) -> str:
    """1 segment, 2,000 segments, 3 summaries, 4 matches."""
    if number == 1:
        return f"1 {noun}"
    if noun[-1] == "y" and noun[-2] not in "aeiou":
        return f"{number:,} {noun[:-1]}ies"
    return f"{number:,} {noun}{'es' if noun.endswith(('s', 'x', 'ch', 'sh')) else 's'}"


def duration(seconds: float) -> str:
    """8 s, 3 min 20 s, 2 h 5 min."""
    total = round(seconds)
    if total < 60:
        return f"{total} s"
    if total < 3600:
        return f"{total // 60} min {total % 60} s"
    return f"{total // 3600} h {total % 3600 // 60} min"
