"""What tests of all rooms need: commands as the shell calls them, files of records, patience."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from click.testing import CliRunner, Result

from rote.cli.main import rote
from rote.core.progress import Advance
from rote.studies.dispatch.driver import option_kinds
from rote.studies.dispatch.functions import option_keywords

PATIENCE = 300.0
"""Seconds after which what is waited for will not come: a busy machine is slow, not wrong."""
Seen = TypeVar("Seen")


def option_names(record: Any) -> list[str]:
    """The options of a record, as Python calls them."""
    return [field.name for field, _ in option_keywords(option_kinds(record), record.without)]


class Heard:
    """A reporter that remembers what was said, and what was to be done: title and amount."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.stages: list[tuple[str, float | None]] = []
        self.done = 0.0

    @contextmanager
    def stage(self, title: str, total: float | None, unit: str = "") -> Iterator[Advance]:
        self.stages.append((title, total))
        yield self._advance

    def _advance(self, amount: float) -> None:
        self.done += amount

    def say(self, line: str) -> None:
        self.lines.append(line)

    def warn(self, line: str) -> None:
        self.lines.append(line)


def invoke(*arguments: object, input: str | None = None) -> Result:
    """A command, in this process."""
    return CliRunner().invoke(rote, [str(argument) for argument in arguments], input=input)


def done(*arguments: object, input: str | None = None) -> Result:
    """As `invoke`, of a call that has to succeed."""
    return succeeded(invoke(*arguments, input=input))


def succeeded(outcome: Result) -> Result:
    assert outcome.exit_code == 0, (outcome.output, outcome.exception)
    return outcome


def wait_until(look: Callable[[], Seen], step: float = 0.02) -> Seen:
    """What is seen, as soon as it is true."""
    end = time.monotonic() + PATIENCE
    while not (seen := look()):
        assert time.monotonic() < end, f"waited {PATIENCE:g} seconds"
        time.sleep(step)
    return seen


def ended_job(client: Any, address: str) -> Any:
    """What an app says about a job that has come to its end."""
    return wait_until(lambda: not (job := client.get(address).json())["open"] and job)


def write_jsonl(path: Path, records: Iterable[Any]) -> Path:
    """A file with a record in each line; its folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def read_jsonl(path: Path | str) -> list[Any]:
    return [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]
