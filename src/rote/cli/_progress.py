"""Progress bars and remarks on standard error, so that standard output holds results alone."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from time import monotonic
from typing import Any

from rote.core.progress import Advance, duration

_FIRST, _EVERY = 20.0, 60.0
"""Seconds until a log gets its first line about a stage, and between lines."""


def _column(describe: Callable[[Any], str], style: str = "", seconds: float | None = None) -> Any:
    """A column of words about a stage; `seconds` between two looks at it, if not every time."""
    from rich import progress
    from rich.text import Text

    class Described(progress.ProgressColumn):
        max_refresh = seconds

        def render(self, task: progress.Task) -> Any:
            return Text(describe(task), style=style)

    return Described()


def _rate(unit: str, task: Any) -> str:
    """`12 texts/s`."""
    speed = task.finished_speed or task.speed
    return "" if speed is None else f"{speed:,.3g} {unit}/s"


def _compiling(task: Any) -> str:
    from rote.core.kernel_cache import COMPILING

    return "".join(f"compiling {kernel}, once" for kernel in COMPILING[:1])


class TerminalReporter:
    """Shows stages as progress bars; remarks as dim lines."""

    def __init__(self, quiet: bool = False) -> None:
        from rote.report.terminal import make_console

        self._console = make_console(stderr=True, quiet=quiet)
        self._warnings = make_console(stderr=True) if quiet else self._console

    @contextmanager
    def stage(self, title: str, total: float | None, unit: str = "") -> Iterator[Advance]:
        if not self._console.is_terminal:
            yield _log_stage(title, total, unit, self.say)
            return
        from rich import progress

        rate = [_column(partial(_rate, unit))] if unit else []
        columns: list[Any] = [
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(bar_width=30),
            progress.TaskProgressColumn(),
            *([progress.TransferSpeedColumn()] if unit == "B" else rate),
            progress.TimeElapsedColumn(),
            progress.TextColumn("left"),
            progress.TimeRemainingColumn(),
            _column(_compiling, "dim", 0.5),
        ]
        # Bars go away when the work is done: what stays on the screen is the answer.
        with progress.Progress(*columns, console=self._console, transient=True) as bars:
            task = bars.add_task(title, total=total)
            yield lambda amount: bars.advance(task, amount)

    def ask(self, question: str) -> bool:
        import click

        return sys.stdin.isatty() and click.confirm(question, abort=True, err=True)

    def say(self, line: str) -> None:
        from rote.report.terminal import strip_controls

        self._console.print(strip_controls(line), style="dim", soft_wrap=True)

    def warn(self, line: str) -> None:
        from rote.report.terminal import strip_controls

        self._warnings.print(strip_controls(line), soft_wrap=True)


def _log_stage(title: str, total: float | None, unit: str, say: Callable[[str], None]) -> Advance:
    """Where nobody watches, a line now and then: how far, how long, how long still."""
    began, done, due = monotonic(), 0.0, _FIRST

    def advance(amount: float) -> None:
        nonlocal done, due
        done += amount
        if (spent := monotonic() - began) < due:
            return
        due = spent + _EVERY
        counted = f"{done / 1e6:,.0f} MB" if unit == "B" else f"{done:,.0f} {unit}".strip()
        if not total:
            say(f"{title}: {counted}, {duration(spent)}")
        elif done < total:
            seconds_left = spent * (total - done) / done if done else 0
            still = f", about {duration(seconds_left)} left" if done else ""
            share = f"{done / total:.0%}" + (f" ({counted})" if unit else "")
            say(f"{title}: {share}, {duration(spent)}{still}")

    return advance
