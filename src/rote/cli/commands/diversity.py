"""The whole panel at once: words, compression, self-repetition, homogenization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rote.cli._measure import panel_command
from rote.core import plugins
from rote.core.metric import option
from rote.measure import PANEL


@dataclass(frozen=True, slots=True)
class PanelOptions:
    """What all measures of the panel share; their other settings stay at their defaults."""

    variant: Literal["exact", "paper", "package"] = option(
        "exact", "As defined, as printed in the paper, or as the `diversity` package computes it"
    )


command = panel_command(
    "diversity",
    __doc__ or "",
    [(name, plugins.load("measure", name).METRIC.options, fixed) for name, fixed in PANEL],
    PanelOptions,
)
