"""How many sentences chance flags: the ground truth's own, judged by all other sources."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rote.core.layer import Layer
from rote.index.columns.parts import END, Column
from rote.search.originality.edges import TAGS, Edges, Rule, edges_of_text
from rote.search.originality.generated import judge
from rote.search.originality.reach import GroundTruth
from rote.search.originality.stretches import Int64s, Suffixed

_SAMPLE = 100_000
"""Words of the ground truth that are held out."""
_BLOCK = 1_000
"""Words that are held out in a row."""


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Of some sentences of a ground truth those that would need a citation of another source."""

    sentences: int
    words: int
    failing: int

    def expected(self, words: int) -> float:
        """How many sentences of so many words in all are flagged by chance; marks are words."""
        return self.failing * words / self.words if self.words else float("nan")


def held_out(
    ground: GroundTruth, rule: Rule, *, relax: int, min_words: int, chance: float
) -> HeldOut | None:
    """Judge sentences of the ground truth by all other sources: what is flagged there is chance.

    Or it was copied inside the ground truth, so that this is no less than chance. All sentences of
    blocks that are evenly spaced; None where there is one source alone.
    """
    if ground.sources.count < 2:
        return None
    sentences = words = failing = 0
    for text, edges in _samples(ground, rule):
        verdicts = judge(
            ground, text, edges, relax=relax, min_words=min_words, chance=chance, held_out=True
        )
        sentences += len(verdicts.fails)
        words += len(text.ids)
        failing += int(verdicts.fails.sum())
    return HeldOut(sentences, words, failing)


def _samples(ground: GroundTruth, rule: Rule) -> Iterator[tuple[Layer, Edges]]:
    """Sentences of each segment as a text, and its edges."""
    total = sum(len(segment.column.ids) for segment in ground.segments)
    step = _BLOCK * max(1, total // _SAMPLE)
    for segment in ground.segments:
        blocks = range(0, len(segment.column.ids), step)
        begins = np.concatenate(
            [np.empty(0, np.int64), *(_begins(segment, at, at + _BLOCK) for at in blocks)]
        )
        if not len(begins):
            continue
        sizes = segment.rests_at(begins).astype(np.int64)
        ends = np.cumsum(sizes)
        places = np.repeat(begins - (ends - sizes), sizes) + np.arange(int(ends[-1]))
        columns = segment.segment.columns
        word, text = (
            _layer_at(columns[name], name, places, ends) for name in ("word", ground.layer)
        )
        tags = _layer_at(columns[TAGS], TAGS, places, ends) if rule == "tags" else None
        yield text, edges_of_text(word, tags, rule)


def _begins(segment: Suffixed, first: int, stop: int) -> Int64s:
    """The places from `first` on, up to `stop`, at which a sentence begins."""
    before = max(0, first - 1)
    items = segment.column.ids.slice(before, stop) != END
    ended = ~items | (segment.sentence_last.slice(before, stop)[: len(items)] == 1)
    begins = items & np.append(True, ended[:-1])
    begins[0] &= not first
    return np.flatnonzero(begins) + before


def _layer_at(column: Column, name: str, places: Int64s, ends: Int64s) -> Layer:
    """The items at these places as one text with sentences."""
    used, ids = np.unique(column.ids.take(places), return_inverse=True)
    vocabulary = [column.vocabulary[i] for i in used.tolist()]
    spans = np.zeros(len(ids), np.int32)
    return Layer(name, ids.astype(np.int32), vocabulary, spans, spans, ends[-1:], ends)
