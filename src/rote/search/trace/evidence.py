"""The evidence for matched spans: how often, in how many documents, by whom, and some positions.

Counts are exact. Positions are few, since a frequent match has thousands: in as many documents as
possible, and first in those that other spans come from too, for a text that was copied mostly
comes from one position.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rote.index.answers import Occurrence, describe_occurrence, occurrences_in
from rote.index.grams import Grams
from rote.index.index import Index
from rote.search.trace.options import MEANING, VERBATIM, TraceOptions
from rote.search.trace.spans import Copy, EditCounts, Match

_WORD = re.compile(r"\w+")
_MAX_CANDIDATES = 20
"""Positions of a span that are looked at to choose those that are shown."""


@dataclass(frozen=True, slots=True)
class EvidencePassage:
    """A position of a span in the corpus, in context; `runs` are the matched parts of `match`.

    `same`: it is written as in the text, white space apart.
    """

    document: str
    author: str | None
    source: str | None
    start: int
    end: int
    before: str
    match: str
    after: str
    runs: tuple[tuple[int, int], ...]
    same: bool


@dataclass(frozen=True, slots=True)
class Span:
    """A matched span of a text: characters `start` to `end` of text `number`.

    `runs` are its matched parts, in characters of the text. `occurrences`, `documents` and
    `authors` are counts over the whole index; of a gapped span, and of one with words that were cut
    otherwise, over its copies with as many words.
    """

    kind: str
    number: int
    id: str
    start: int
    end: int
    text: str
    words: int
    bits: float
    runs: tuple[tuple[int, int], ...]
    match: Match
    items: tuple[str, ...]
    occurrences: int = 0
    documents: int = 0
    authors: int = 0
    places: tuple[EvidencePassage, ...] = ()
    differing: tuple[str, ...] = ()
    """Facts (numbers, names, negation) in which a match of meaning differs from its first place."""

    @property
    def edits(self) -> EditCounts:
        return self.match.edits

    @property
    def edit_rate(self) -> float:
        """Edits over the length of the alignment: matched words and edits."""
        edits = sum(self.edits)
        return edits / (self.words + edits)

    @property
    def recased(self) -> bool:
        """Whether a verbatim span is written with other capitals wherever it is shown."""
        return self.kind == VERBATIM and not any(occurrence.same for occurrence in self.places)


_Candidate = tuple[Occurrence, "Copy | None"]


def add_evidence(
    index: Index, spans: Sequence[Span], layers: dict[str, str], options: TraceOptions
) -> list[Span]:
    """The spans with their counts and positions; `layers`: in which layer each kind matches."""
    counted = list(spans)
    for kind, layer in layers.items():
        numbers = [i for i, span in enumerate(spans) if span.kind == kind]
        for i in (i for i in numbers if spans[i].match.copies):
            counted[i] = _count_copies(index, counted[i], layer)
        numbers = [i for i in numbers if not spans[i].match.copies]
        grams = Grams.of([spans[i].items for i in numbers])
        ngram_counts = index.ngram_counts(grams, layer)
        columns = (ngram_counts.occurrences, ngram_counts.documents, ngram_counts.authors)
        for i, occurrences, documents, authors in zip(numbers, *map(np.ndarray.tolist, columns)):
            counted[i] = replace(
                counted[i], occurrences=occurrences, documents=documents, authors=authors
            )
    candidates = [_find_candidates(index, span, layers[span.kind]) for span in spans]
    weights: Counter[str] = Counter()
    for span, span_candidates in zip(spans, candidates):
        for document in {occurrence.document for occurrence, _ in span_candidates}:
            weights[document] += span.words
    placed = [
        replace(
            span,
            places=tuple(
                _read_passage(index, span, occurrence, copy, options)
                for occurrence, copy in _choose_candidates(span_candidates, weights, options.places)
            ),
        )
        for span, span_candidates in zip(counted, candidates)
    ]
    return _compare_facts(placed)


def _compare_facts(spans: list[Span]) -> list[Span]:
    """Matches of meaning with the facts in which they differ from their first place."""
    numbers = [n for n, span in enumerate(spans) if span.kind == MEANING and span.places]
    if not numbers:
        return spans
    from rote.search.meaning.facts import compare_pairs

    pairs = [(spans[n].text, spans[n].places[0].match) for n in numbers]
    compared = list(spans)
    for n, differing in zip(numbers, compare_pairs(pairs)):
        compared[n] = replace(spans[n], differing=differing)
    return compared


def common_words(text: str, other: str) -> tuple[tuple[int, int], ...]:
    """The characters of the words of a text that the other text has too, case apart.

    >>> common_words("The old Bridge fell.", "a bridge that FELL")
    ((8, 14), (15, 19))
    """
    there = {word.lower() for word in _WORD.findall(other)}
    words = _WORD.finditer(text)
    return tuple(word.span() for word in words if word[0].lower() in there)


def _count_copies(index: Index, span: Span, layer: str) -> Span:
    documents: set[tuple[int, int]] = set()
    authors: set[str] = set()
    for segment, copies in _group_by_segment(span.match.copies).items():
        segment_held = index.segments[segment]
        starts = np.array([copy.start for copy in copies], np.int64)
        for holder in segment_held.positions_of(layer).document_of(starts).tolist():
            documents.add((segment, holder))
            author = segment_held.documents.author.of(holder)
            authors.update(() if author is None else (author,))
    return replace(
        span, occurrences=len(span.match.copies), documents=len(documents), authors=len(authors)
    )


def _find_candidates(index: Index, span: Span, layer: str) -> list[_Candidate]:
    if not span.match.copies:
        return [
            (occurrence, None) for occurrence in index.places(span.items, _MAX_CANDIDATES, layer)
        ]
    candidates: list[_Candidate] = []
    for segment, copies in _group_by_segment(span.match.copies[:_MAX_CANDIDATES]).items():
        starts = np.array([copy.start for copy in copies], np.int64)
        ends = np.array([copy.end for copy in copies], np.int64)
        occurrences = occurrences_in(index.segments[segment], segment, layer, starts, ends)
        candidates += zip(occurrences, copies)
    return candidates


def _group_by_segment(copies: Sequence[Copy]) -> dict[int, list[Copy]]:
    by_segment: dict[int, list[Copy]] = {}
    for copy in copies:
        by_segment.setdefault(copy.segment, []).append(copy)
    return by_segment


def _choose_candidates(
    candidates: Sequence[_Candidate], weights: Counter[str], most: int
) -> list[_Candidate]:
    """First one position of each document, those with the most words of all spans in front."""
    firsts: dict[str, _Candidate] = {}
    rest: list[_Candidate] = []
    for candidate in candidates:
        document = candidate[0].document
        if document in firsts:
            rest.append(candidate)
        else:
            firsts[document] = candidate
    ordered = sorted(firsts.values(), key=lambda one: -weights[one[0].document])
    return [*ordered, *rest][:most]


def _read_passage(
    index: Index, span: Span, occurrence: Occurrence, copy: Copy | None, options: TraceOptions
) -> EvidencePassage:
    context = index.context(occurrence, options.context)
    parts = _runs_in(index, occurrence, copy) if copy is not None and copy.runs else ()
    if span.kind == MEANING:
        parts = common_words(context.match, span.text) or ((0, 0),)
    return EvidencePassage(
        **describe_occurrence(occurrence, context),
        source=occurrence.source,
        runs=parts or ((0, len(context.match)),),
        same="".join(context.match.split()) == "".join(span.text.split()),
    )


def _runs_in(index: Index, occurrence: Occurrence, copy: Copy) -> tuple[tuple[int, int], ...]:
    """The characters of a copy's runs, counted from where it begins."""
    spans = index.segments[copy.segment].positions["word"].spans
    first = np.array([run[1] for run in copy.runs], np.int64)
    last = np.array([run[1] + run[2] - 1 for run in copy.runs], np.int64)
    starts, ends = spans.spans(first)[0], spans.spans(last)[1]
    return tuple(zip((starts - occurrence.start).tolist(), (ends - occurrence.start).tolist()))
