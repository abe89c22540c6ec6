"""A traced text made ready for a page: its longest matches with their documents; and sentence by
sentence which fragments are original, which need a citation, which are common property."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rote.core.numbers import format_number
from rote.core.progress import several
from rote.measure._originality.text import LEAST_WORDS, MOST_CITED, Fragment, Judged
from rote.report.texts.highlight import BLANK_LINES, Mark, Piece, paragraphs
from rote.report.texts.trace import documents_of, numbered, paragraphs_of, shown_span
from rote.search.trace.evidence import Span
from rote.search.trace.trace import Trace
from rote.web.pages.render import document_link

KINDS = ("cited", "original", "common")


def summary(judged: Judged | None, traced: Trace) -> list[dict[str, str]]:
    """What the matches come to: a few numbers, each with what it means."""
    text, least = traced.texts[0], traced.options.min_words
    longest = max((span.words for span in traced.spans), default=0)
    matches = sum(traced.span_counts.values())
    found: dict[str, tuple[str, ...]] = {
        "in the longest match": (several(longest, "word"), "", "#span-1" if longest else ""),
        "of its words in a match": (
            f"{text.covered / text.words:.1%}" if text.words else "–",
            f"{text.covered:,} of {text.words:,}; marks count as words",
        ),
        f"of at least {several(least, 'word')}": (
            f"{matches:,} match{'es' * (matches != 1)}",
            "",
            "#matches" if matches else "",
        ),
    }
    if judged is not None:
        known = not math.isnan(judged.creativity)
        found["creativity index"] = (
            format_number(judged.creativity, ".2f") if known else "–",
            "0: all words in runs of 12 and more that the index has; 8: none in one of 5"
            if known
            else f"too short: a text needs {LEAST_WORDS} words to have one",
        )
    return _facts(found)


def verdicts(judged: Judged) -> dict[str, Any]:
    """How the sentences divide: a sentence may hold something new and something to be cited."""
    held = {
        "something new, nothing to cite": (True, False),
        "something new and something to cite": (True, True),
        "something to cite, nothing new": (False, True),
    }
    counts = dict.fromkeys((*held, "nothing new, nothing to cite", "no fragment at all"), 0)
    known = {pair: name for name, pair in held.items()}
    for one in judged.sentences:
        neither = "nothing new, nothing to cite" if one["fragments"] else "no fragment at all"
        counts[known.get((one["original"], one["fails"]), neither)] += 1
    return {
        "divided": _facts({name: (f"{count:,}", "") for name, count in counts.items() if count}),
        "sentences": judged.sentences,
        "owed": len(cited(judged.fragments)),
        "failing": sum(one["fails"] for one in judged.sentences),
        "by_chance": "" if math.isnan(judged.by_chance) else format_number(judged.by_chance, ".1f"),
        "sources": judged.sources,
    }


def _facts(found: Mapping[str, tuple[str, ...]]) -> list[dict[str, str]]:
    """A number, what it is, what it means, and what it leads to."""
    names = ("value", "says", "link")
    return [{"what": what, **dict(zip(names, (*held, "")))} for what, held in found.items()]


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
    """What is to be cited, with its sources, as far as it is listed; the longest first."""
    found = [
        {
            "number": number,
            "text": text[one.start : one.end],
            "words": one.words,
            "places": [linked(place, key) for place in one.places],
        }
        for number, one in enumerate(cited(fragments)[:MOST_CITED], 1)
    ]
    return sorted(found, key=lambda one: -one["words"])


def matches(traced: Trace, key: str) -> dict[str, Any]:
    """The matched spans in the text and with their sources, as `rote trace -o page.html` shows."""
    numbers = numbered(traced)
    documents = documents_of(traced.spans, numbers)
    held = traced.texts_by_number.get(0)
    return {
        "paragraphs": paragraphs_of(held, traced.spans, numbers) if held is not None else [],
        "spans": [
            {**shown_span(span, numbers[id(span)], documents), "links": _links(span, key)}
            for span in traced.spans
        ],
        "documents": [
            {**entry, "link": document_link(key, name)} for name, entry in documents.items()
        ],
        "sort": traced.options.sort,
        "listed": len(traced.spans),
        "found": sum(traced.span_counts.values()),
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
