"""Measures: one file each, and the way in for Python, the shell and whatever comes.

    compute({"lexical": Options()}, "stories.jsonl", settings=Settings(by=("source",)))

reads and tokenizes the texts once and runs every measure that was asked for on them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rote.core import plugins
from rote.core.record import SECTIONS
from rote.measure.driver.settings import Settings

if TYPE_CHECKING:
    from rote.core.metric import Metric


def metrics() -> list[Metric]:
    """Every measure, ours and those of other packages, in the order in which they are shown."""
    every: list[Metric] = [plugins.load("measure", n).METRIC for n in plugins.members("measure")]
    return sorted(
        every, key=lambda metric: (SECTIONS.index(metric.section), metric.place, metric.name)
    )


def panel() -> list[tuple[str, dict[str, Any]]]:
    """The measures of `rote diversity` and their settings, in order."""
    return [(metric.name, dict(settings)) for metric in metrics() for settings in metric.panel]


__all__ = ["Settings", "metrics", "panel"]
