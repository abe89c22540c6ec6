"""A text held against an index, sentence by sentence, and made ready for a page: which fragments
are original, which need a citation, which are common property; how much lies in copied runs.

The rules are those of `rote originality` and `rote novelty`; here they are asked about one text,
and every fragment that decides is named with its place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rote.core.document import Document
from rote.core.errors import OptionError
from rote.core.layer import Layer
from rote.index.index import Index
from rote.measure._against import longest_in
from rote.measure.novelty import COVERING, covered_words
from rote.report.texts.highlight import BLANK_LINES, Mark, Piece, paragraphs
from rote.report.texts.trace import documents_of, numbered, paragraphs_of, shown_span
from rote.search.originality.edges import TAGS, Edges, edges_of_text, rule_for
from rote.search.originality.generated import Spans, Verdicts, judge
from rote.search.originality.generated import citations as cited_places
from rote.search.originality.reach import GroundTruth
from rote.search.originality.sources import sources_of
from rote.search.rows.matches import row_of
from rote.search.trace.evidence import Span
from rote.search.trace.trace import Trace
from rote.web.indexes import OpenIndex
from rote.web.pages.render import document_link

KINDS = ("cited", "original", "common")
LAYER = "lower"
MOST_CITED = 300
"""Fragments to be cited that are looked up; of further ones it is only said where they stand."""
_CITED = 3
"""Sources that are shown of a fragment."""
_AROUND = 80


def summary(judged: Judged | None, traced: Trace) -> list[dict[str, str]]:
    """A few numbers, each with what it means."""
    text = traced.texts[0]
    longest = max((span.words for span in traced.spans), default=0)
    found = {
        "words": (f"{text.words:,}", "marks count as words"),
        "of the words in a match": (
            f"{text.covered / text.words:.1%}" if text.words else "–",
            f"matches of at least {traced.options.min_words} words, of any kind",
        ),
        "words in the longest match": (f"{longest:,}", ""),
    }
    if judged is not None:
        every = f"of {len(judged.sentences):,}"
        original = sum(one["original"] for one in judged.sentences)
        failing = sum(one["fails"] for one in judged.sentences)
        creativity = judged.creativity
        found |= {
            "sentences need a citation": (
                f"{failing:,} {every}",
                "they hold a fragment that few sources have",
            ),
            "sentences are original": (
                f"{original:,} {every}",
                "they hold a fragment that no source has",
            ),
            "creativity index": (
                "–" if math.isnan(creativity) else f"{creativity:.2f}",
                "0: all words in runs of 12 and more that the index has; 8: none in one of 5",
            ),
        }
    return [{"value": v, "what": what, "says": says} for what, (v, says) in found.items()]


def fragment_paragraphs(text: str, fragments: Sequence[Fragment]) -> list[list[dict[str, Any]]]:
    """The text by paragraphs, cut wherever a fragment begins or ends.

    Fragments of a kind overlap: each run knows its kinds, and the first cited fragment over it.
    """
    owed = cited(fragments)
    starts = {one.start: number for number, one in enumerate(owed, 1)}
    marks = [
        Mark(start, end, kind)
        for kind in KINDS
        for start, end in _joined([one for one in fragments if one.kind == kind])
    ]
    cuts = [Mark(one.start, one.end, "edge", "edge") for one in owed]
    over: list[tuple[int, int]] = []

    def shown(piece: Piece, first: bool) -> dict[str, Any]:
        number = starts.get(piece.start) if first else None
        over[:] = [pair for pair in over if pair[0] > piece.start]
        if number is not None:
            over.append((owed[number - 1].end, number))
        kinds = {place.mark.label for place in piece.places}
        return {
            "kinds": [kind for kind in KINDS if kind in kinds],
            "number": number,
            "cited": over[-1][1] if over else None,
        }

    found = paragraphs(text, [*marks, *cuts], shown, between=BLANK_LINES)
    return [paragraph["runs"] for paragraph in found]


def cited(fragments: Sequence[Fragment]) -> list[Fragment]:
    """The fragments that need a citation, numbered as they stand here from 1."""
    return [one for one in fragments if one.kind == "cited"]


def citations(text: str, fragments: Sequence[Fragment], key: str) -> list[dict[str, Any]]:
    """What is to be cited, with its sources, as far as it is listed."""
    return [
        {
            "number": number,
            "text": text[one.start : one.end],
            "words": one.words,
            "places": [linked(place, key) for place in one.places],
        }
        for number, one in enumerate(cited(fragments)[:MOST_CITED], 1)
    ]


def matches(traced: Trace, key: str) -> dict[str, Any]:
    """The matched spans in the text and with their sources, as `rote trace -o page.html` shows."""
    numbers = numbered(traced)
    documents = documents_of(traced.spans, numbers)
    held = traced.held.get(0)
    return {
        "paragraphs": paragraphs_of(held, traced.spans, numbers) if held is not None else [],
        "spans": [
            {**shown_span(span, numbers[id(span)], documents), "links": _links(span, key)}
            for span in traced.spans
        ],
        "documents": [
            {**entry, "link": document_link(key, name)} for name, entry in documents.items()
        ],
        "listed": len(traced.spans),
        "found": sum(traced.found.values()),
    }


def linked(place: dict[str, Any], key: str) -> dict[str, Any]:
    """A place with where it leads."""
    return {**place, "link": document_link(key, place["document"], place["start"], place["end"])}


def _links(span: Span, key: str) -> list[str | None]:
    return [document_link(key, place.document, place.start, place.end) for place in span.places]


def _joined(fragments: Sequence[Fragment]) -> list[tuple[int, int]]:
    """Stretches that fragments of one kind cover together."""
    found: list[tuple[int, int]] = []
    for one in fragments:
        if found and one.start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], one.end)
        else:
            found.append((one.start, one.end))
    return found


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
    longest: int
    sources: int
    """Authors and documents that the text was held against."""
    sentences: list[dict[str, Any]]
    fragments: list[Fragment]
    notes: list[str]


def judged(opened: OpenIndex, text: str, relax: int = 1) -> Judged:
    """Hold a text against an index."""
    index = opened.index
    if LAYER not in index.sorted_layers:
        raise OptionError(
            f"the index cannot count over the layer '{LAYER}', only over "
            f"{', '.join(index.sorted_layers) or 'none'}. `rote index add-layer IDX {LAYER}` adds "
            "it"
        )
    ground = opened.once("ground", lambda: GroundTruth(index, LAYER, sources_of(index)))
    rule = rule_for(index)
    wanted = (LAYER, TAGS) if rule == "tags" else (LAYER,)
    made = replace(index.recipe, layers=wanted, subwords=()).annotate([Document("text", text)])
    layer = made.layers[LAYER]
    if layer.sentence_ends is None:
        layer = replace(layer, sentence_ends=made.word.sentence_ends)
    edges = edges_of_text(made.word, made.layers[TAGS] if rule == "tags" else None, rule)
    verdicts = judge(ground, layer, edges, relax=relax)
    runs = longest_in(index, layer)
    words = len(layer.ids)
    shares = covered_words(runs, layer.text_ends)[0] / words if words else np.full(8, np.nan)
    return Judged(
        words=words,
        coverage=dict(zip(COVERING, shares.tolist())),
        creativity=float((1 - shares).sum()),
        longest=int(runs.max(initial=0)),
        sources=ground.sources.count,
        sentences=_sentences(layer, verdicts, text),
        fragments=_fragments(index, ground, layer, edges, verdicts),
        notes=_notes(index, ground, relax, rule),
    )


def _sentences(layer: Layer, verdicts: Verdicts, text: str) -> list[dict[str, Any]]:
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


def _fragments(
    index: Index, ground: GroundTruth, layer: Layer, edges: Edges, verdicts: Verdicts
) -> list[Fragment]:
    """Those that decide, in the order of the text: the longest cited ones and the shortest
    original ones, and the longest that are common."""
    owed = verdicts.longest
    first = Spans(owed.starts[:MOST_CITED], owed.ends[:MOST_CITED])
    places = cited_places(ground, layer, first, limit=_CITED)
    places += [[] for _ in range(len(owed) - len(first))]
    found = [
        _fragment(
            layer,
            "cited",
            start,
            end,
            tuple(row_of(place, index.context(place, _AROUND)) for place in held),
        )
        for (start, end), held in zip(_pairs(owed), places)
    ]
    found += [_fragment(layer, "original", *pair) for pair in _pairs(verdicts.shortest)]
    found += [_fragment(layer, "common", *pair) for pair in _commons(edges, verdicts)]
    return sorted(found, key=lambda one: (one.start, one.end))


def _pairs(spans: Spans) -> list[tuple[int, int]]:
    return list(zip(spans.starts.tolist(), spans.ends.tolist()))


def _commons(edges: Edges, verdicts: Verdicts) -> list[tuple[int, int]]:
    """The fragments that are common property and lie in no longer one that is."""
    assert verdicts.reach is not None
    most, found = 0, []
    for start in np.flatnonzero(edges & (verdicts.reach.common > 1)).tolist():
        end = start + int(verdicts.reach.common[start])
        while end - start > 1 and not edges[end - 1]:
            end -= 1
        if end - start > 1 and end > most:
            most = end
            found.append((start, end))
    return found


def _fragment(
    layer: Layer, kind: str, first: int, last: int, places: tuple[dict[str, Any], ...] = ()
) -> Fragment:
    start, end = int(layer.starts[first]), int(layer.ends[last - 1])
    return Fragment(kind, start, end, last - first, places)


def _notes(index: Index, ground: GroundTruth, relax: int, rule: str) -> list[str]:
    notes = []
    if not index.items_held(LAYER):
        notes.append("the index is empty: every fragment is original")
    elif ground.sources.count <= relax:
        notes.append(
            f"the index has {ground.sources.count} source{'s' * (ground.sources.count != 1)}: "
            "whatever it holds needs a citation, nothing is common property"
        )
    if rule == "words":
        notes.append(
            "the index has no tags: word lists say which words no fragment begins or ends with"
        )
    return notes
