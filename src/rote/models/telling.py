"""What a user should know of a model's answers, said once and not with every batch."""

from __future__ import annotations

from dataclasses import dataclass, field

from rote.core.progress import Reporter


@dataclass(frozen=True, slots=True)
class Once:
    """Says each line the first time only."""

    reporter: Reporter
    said: set[str] = field(default_factory=set)

    def __call__(self, line: str) -> None:
        if line not in self.said:
            self.said.add(line)
            self.reporter.say(line)
