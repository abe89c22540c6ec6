"""Prompts that were used in studies, by name, so that their settings can be repeated.

Shaib et al. (2024), "Detection and Measurement of Syntactic Templates in Generated Text", tables
6 to 8: instructions for summaries, each given after the text that it is about.
"""

from __future__ import annotations

from rote.core.errors import UnknownName

_SHARED = (
    "Please write a summary.",
    "Please write a summary of the {}.",
    "Summarize.",
    "Write a short summary.",
    "Write a short summary and be creative.",
    "Write a meta-analysis.",
)
SETS: dict[str, tuple[str, ...]] = {
    "cnn-dm": (
        *(line.format("article") for line in _SHARED),
        "Write an aggregate summary based on the above facts.",
    ),
    "cochrane": (
        *(line.format("evidence") for line in _SHARED),
        "Write an aggregate analysis based on the above evidence.",
    ),
    "rotten-tomatoes": (
        *(line.format("movie reviews") for line in _SHARED),
        "Write an aggregate movie review based on the above reviews.",
    ),
}


def prompt_set(name: str) -> tuple[str, ...]:
    """The prompts of a set."""
    if name not in SETS:
        raise UnknownName("set of prompts", name, SETS)
    return SETS[name]
