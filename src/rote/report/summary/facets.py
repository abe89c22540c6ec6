"""One facet of a study: its results with the short names of their sources, and their sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rote.core.facets import Facet, is_input
from rote.core.result import Result
from rote.report._grid import split
from rote.report.summary import contrast as wording

_MUCH = 1.2
"""Mean lengths of texts that differ by more than this factor are told."""


@dataclass(frozen=True, slots=True)
class Scene:
    """One facet: its results, with the short names of its sources."""

    facet: Facet
    results: tuple[Result, ...]

    @property
    def reference(self) -> str | None:
        return self.results[0].reference

    @property
    def others(self) -> list[str]:
        """The sources that are compared, without what the texts were made from."""
        names = dict.fromkeys(name for result in self.results for name in result.sources)
        return [name for name in names if name != self.reference and not is_input(name)]

    def group(self, name: str) -> str:
        return next((group for group, own in self.facet.names.items() if own == name), name)

    def size(self, name: str) -> tuple[int, int]:
        """The most texts of a source that any measure had, and their words."""
        found = [result.sources[name] for result in self.results if name in result.sources]
        best = max(found, key=lambda source: source.texts)
        return best.texts, best.words

    def factor(self, source: str) -> float:
        """How many times as long the texts of a source are as the reference's."""
        (texts, words), (others, their_words) = self.size(source), self.size(str(self.reference))
        if not (texts and words and others and their_words):
            return 1.0
        return (words / texts) / (their_words / others)

    def longer(self, source: str) -> str:
        """`35 % shorter`, where the texts differ much in length from the reference's."""
        factor = self.factor(source)
        if 1 / _MUCH <= factor <= _MUCH:
            return ""
        return f"{wording.percent(abs(factor - 1))} {'longer' if factor > 1 else 'shorter'}"


def scenes(results: Sequence[Result]) -> list[Scene]:
    parts: dict[str, tuple[Facet, list[Result]]] = {}
    for result in results:
        for facet, part in split(result):
            parts.setdefault(facet.title, (facet, []))[1].append(part)
    return [Scene(facet, tuple(own)) for facet, own in parts.values()]
