"""One text judged by itself: its sentences with their verdicts, and every fragment that decides
one, with its places; how much of it lies in runs that the index holds.

The rules are those of `rote originality` and `rote novelty`, asked about a text that somebody
reads; the web app shows what comes out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rote.core.document import Document
from rote.core.errors import OptionError
from rote.core.layer import Layer
from rote.index.index import Index
from rote.measure._against import longest_in
from rote.measure.novelty import COVERING, covered_words
from rote.search.originality.edges import TAGS, edges_of_text, rule_for
from rote.search.originality.reach import GroundTruth
from rote.search.originality.sources import sources_of
from rote.search.originality.verdicts import (
    FragmentSpans,
    HeldOut,
    SentenceVerdicts,
    find_citations,
    find_common,
    judge,
    remarks,
)
from rote.search.rows.matches import row_of

LAYER = "lower"
LEAST_WORDS = 2 * COVERING[-1]
"""Words that a text needs for a creativity index: in a shorter one a run of the greatest length
has hardly room, and whatever was written would count as new."""
MOST_CITED = 300
"""Fragments to be cited that are looked up; of further ones it is only said where they are."""
_CITED = 3
"""Sources that are shown of a fragment."""
_AROUND = 80


@dataclass(frozen=True, slots=True)
class Fragment:
    """Characters of the text that are of one kind; `places` where the index has them."""

    kind: str
    start: int
    end: int
    words: int
    places: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Judged:
    """What was found in a text. Shares are nan where there is nothing to take a share of."""

    words: int
    coverage: dict[int, float]
    """Share of words in a run of at least so many words that the index holds."""
    creativity: float
    """nan for a text of fewer than LEAST_WORDS words."""
    longest: int
    sources: int
    """Authors and documents that the text was held against."""
    sentences: list[dict[str, Any]]
    fragments: list[Fragment]
    notes: list[str]
    by_chance: float
    """Sentences that chance would flag in a text of this length; nan where nobody knows."""


def ground_of(index: Index) -> GroundTruth:
    """An index as a ground truth; it can be kept for the next text."""
    if LAYER not in index.sorted_layers:
        raise OptionError(
            f"the index cannot count over the layer '{LAYER}', only over "
            f"{', '.join(index.sorted_layers) or 'none'}. `rote index add-layer IDX {LAYER}` adds "
            "it"
        )
    return GroundTruth(index, LAYER, sources_of(index))


def judged(
    ground: GroundTruth,
    text: str,
    flagged: HeldOut | None,
    *,
    relax: int,
    min_words: int,
    chance: float,
) -> Judged:
    """Hold a text against a ground truth; `flagged` are its own sentences by the same rule."""
    index = ground.index
    rule = rule_for(index)
    wanted = (LAYER, TAGS) if rule == "tags" else (LAYER,)
    made = replace(index.recipe, layers=wanted, subwords=()).annotate([Document("text", text)])
    layer = made.layers[LAYER]
    if layer.sentence_ends is None:
        layer = replace(layer, sentence_ends=made.word.sentence_ends)
    edges = edges_of_text(made.word, made.layers[TAGS] if rule == "tags" else None, rule)
    verdicts = judge(ground, layer, edges, relax=relax, min_words=min_words, chance=chance)
    runs = longest_in(index, layer)
    words = len(layer.ids)
    shares = covered_words(runs, layer.text_ends)[0] / words if words else np.full(8, np.nan)
    fragments = [
        *_cited(ground, layer, verdicts.longest),
        *map(_of_kind("original", layer), *_columns(verdicts.shortest)),
        *map(_of_kind("common", layer), *_columns(find_common(edges, verdicts))),
    ]
    return Judged(
        words=words,
        coverage=dict(zip(COVERING, shares.tolist())),
        creativity=float((1 - shares).sum()) if words >= LEAST_WORDS else math.nan,
        longest=int(runs.max(initial=0)),
        sources=ground.sources.count,
        sentences=_sentences(layer, verdicts, text),
        fragments=sorted(fragments, key=lambda one: (one.start, one.end)),
        notes=remarks(ground, rule, relax, "the index"),
        by_chance=flagged.expected(words) if flagged else math.nan,
    )


def _sentences(layer: Layer, verdicts: SentenceVerdicts, text: str) -> list[dict[str, Any]]:
    assert layer.sentence_ends is not None
    found, first = [], 0
    for number, end in enumerate(layer.sentence_ends.tolist()):
        start, stop = int(layer.starts[first]), int(layer.ends[end - 1])
        found.append(
            {
                "number": number + 1,
                "start": start,
                "end": stop,
                "text": text[start:stop],
                "original": bool(verdicts.original[number]),
                "fails": bool(verdicts.fails[number]),
                "fragments": int(verdicts.fragments[number]),
                "original_fragments": int(verdicts.originals[number]),
                "cited_fragments": int(verdicts.cited[number]),
                "common_fragments": int(verdicts.commons[number]),
            }
        )
        first = end
    return found


def _cited(ground: GroundTruth, layer: Layer, owed: FragmentSpans) -> list[Fragment]:
    """The longest fragments that need a citation, and where each of the first is."""
    first = FragmentSpans(owed.starts[:MOST_CITED], owed.ends[:MOST_CITED])
    places = find_citations(ground, layer, first, limit=_CITED)
    found = list(map(_of_kind("cited", layer), *_columns(owed)))
    rows = [
        tuple(row_of(place, ground.index.context(place, _AROUND)) for place in held)
        for held in places
    ]
    return [replace(one, places=held) for one, held in zip(found, rows)] + found[len(rows) :]


def _of_kind(kind: str, layer: Layer) -> Callable[[int, int], Fragment]:
    def made(first: int, last: int) -> Fragment:
        return Fragment(kind, int(layer.starts[first]), int(layer.ends[last - 1]), last - first)

    return made


def _columns(spans: FragmentSpans) -> tuple[list[int], list[int]]:
    return spans.starts.tolist(), spans.ends.tolist()
