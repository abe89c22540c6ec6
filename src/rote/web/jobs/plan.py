"""How far a whole piece of work is: one bar and one time left, from the stages that it reports.

A plan names the steps that are to come and about how much of the time each takes. It is a guess, so
the time left follows from the time that was spent, and the bar never goes back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from rote.core.registry import of_result

READING, AGAIN, DRAWING = "reading", "reading the texts again", "drawing"
_WEIGHTS = {
    "semantic": 80,
    "compression": 26,
    READING: 24,
    "templates": 22,
    DRAWING: 15,
    AGAIN: 1,
    "lexical": 9,
    "syntactic": 3,
    "homogenization": 3,
    "self-repetition": 2,
    "keyness": 20,
    "precision-recall": 40,
    "novelty": 15,
    "originality": 30,
    "style": 8,
    "annotating": 80,
    "indexing": 20,
}
"""Seconds that steps took on 360 stories; only their relation counts."""
_USUAL = 8.0
_PARTS = {
    "counting": (0.0, 0.2),
    "values": (0.2, 0.35),
    "intervals": (0.35, 0.6),
    "equal sizes": (0.6, 0.75),
    "tests": (0.75, 1.0),
}
"""Stages of a measure, and what share of it each is."""
_FIRST = 0.5
"""What the first reading is of all, where more may follow."""
_SURE = 2.0, 0.03
"""Seconds and share from which on a time left is said."""


def steps_of(kind: str, settings: Any) -> list[str]:
    """The steps of a job; none where nobody knows them."""
    if kind == "compare":
        return [READING, *settings["measures"], AGAIN, DRAWING]
    if kind == "templates":
        return [READING, "templates", AGAIN]
    if kind == "index":
        return ["annotating", "indexing"]
    if kind == "run" and getattr(of_result(settings["name"]), "rows", None):
        return [READING, settings["name"], AGAIN, DRAWING]
    return []


class Whole:
    """The share of all steps that is done."""

    def __init__(self, steps: Sequence[str], clock: Callable[[], float] = time.monotonic) -> None:
        weights = [_WEIGHTS.get(step, _USUAL) for step in steps]
        total = sum(weights) or 1.0
        self._places = {
            step: (sum(weights[:n]) / total, weight / total)
            for n, (step, weight) in enumerate(zip(steps, weights))
        }
        self._clock, self._begun = clock, clock()
        self._readings = 0
        self._done = 0.0

    def begin(self, stage: str) -> None:
        self._readings += self._step(stage) == READING

    def end(self, stage: str) -> None:
        """Stages lie inside each other as they may: what is done is what was said."""

    def share(self, stage: str, inside: float | None) -> float | None:
        """How much of everything is done, `inside` the stage that much; None without a plan."""
        if not self._places:
            return None
        step, _, part = self._step(stage).partition(": ")
        if step in self._places:
            start, width = self._places[step]
            within = self._within(step, part, inside or 0.0)
            self._done = max(self._done, start + width * within)
        return self._done

    def left(self) -> float | None:
        """Seconds."""
        spent = self._clock() - self._begun
        if not self._places or spent < _SURE[0] or self._done < _SURE[1]:
            return None
        return spent * (1 - self._done) / self._done

    def _step(self, stage: str) -> str:
        if stage == "drawing texts":
            return READING
        return "indexing" if stage.startswith("indexing") and "indexing" in self._places else stage

    def _within(self, step: str, part: str, inside: float) -> float:
        if step == READING:
            behind = 1 - _FIRST ** max(0, self._readings - 1)
            return behind + (1 - behind) * _FIRST * inside
        if not part:
            return inside
        start, end = _PARTS.get(part, (1.0, 1.0))
        return start + (end - start) * inside


class Before:
    """A job whose steps nobody knows, but as they were the last time: its outermost stages in
    their order, and how many seconds each took with what came before it."""

    def __init__(
        self,
        stages: Sequence[tuple[str, float]] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stages = list(stages)
        self._total = sum(seconds for _, seconds in self._stages)
        self._clock = clock
        self._begun = self._ended = clock()
        self._open: list[str] = []
        self._next = 0
        self._place: tuple[float, float] | None = None
        self._done = 0.0
        self.taken: list[tuple[str, float]] = []
        """How it went this time."""

    def begin(self, stage: str) -> None:
        self._open.append(stage)
        if len(self._open) > 1:
            return
        names = [name for name, _ in self._stages]
        self._place = None
        if stage in names[self._next :]:
            at = names.index(stage, self._next)
            before = sum(seconds for _, seconds in self._stages[:at])
            self._place, self._next = (before, self._stages[at][1]), at + 1

    def end(self, stage: str) -> None:
        self._open.remove(stage)
        if not self._open:
            at = self._clock()
            self.taken.append((stage, at - self._ended))
            self._ended = at

    def share(self, stage: str, inside: float | None) -> float | None:
        if not self._total:
            return None
        if self._place and self._open[:1] == [stage]:
            start, width = self._place
            self._done = max(self._done, (start + width * (inside or 0.0)) / self._total)
        return self._done

    def left(self) -> float | None:
        """Seconds."""
        spent = self._clock() - self._begun
        if not self._total or spent < _SURE[0] or self._done < _SURE[1]:
            return None
        return spent * (1 - self._done) / self._done
