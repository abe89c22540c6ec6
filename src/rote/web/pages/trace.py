"""A judged and traced text made ready for a page: runs of characters with what they lie in."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from rote.report.terminal import readable
from rote.report.texts.highlight import Span as Mark
from rote.report.texts.highlight import marked
from rote.report.texts.trace import documents_of, numbered, paragraphs_of, shown_span
from rote.search.trace.evidence import Span
from rote.search.trace.trace import Trace
from rote.web.pages.render import document_link
from rote.web.pages.verdicts import MOST_CITED, Fragment, Judged

KINDS = ("cited", "original", "common")
_BLANK = re.compile(r"\n[^\S\n]*\n\s*")


def summary(judged: Judged | None, traced: Trace) -> list[dict[str, str]]:
    """A few numbers, each with what it means."""
    text = traced.texts[0]
    longest = max((span.words for span in traced.spans), default=0)
    found = [
        _fact(f"{text.words:,}", "words", "marks count as words"),
        _fact(_share(text.covered, text.words), "of the words in a match",
              f"matches of at least {traced.options.min_words} words, of any kind"),
        _fact(f"{longest:,}", "words in the longest match", ""),
    ]  # fmt: skip
    if judged is None:
        return found
    sentences = len(judged.sentences)
    original = sum(one["original"] for one in judged.sentences)
    failing = sum(one["fails"] for one in judged.sentences)
    return [
        *found,
        _fact(f"{failing:,} of {sentences:,}", "sentences need a citation",
              "they hold a fragment that few sources have"),
        _fact(f"{original:,} of {sentences:,}", "sentences are original",
              "they hold a fragment that no source has"),
        _fact(_number(judged.creativity), "creativity index",
              "0: all words in runs of 12 and more that the index has; 8: none in one of 5"),
    ]  # fmt: skip


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
    paragraphs: list[list[dict[str, Any]]] = [[]]
    over: list[tuple[int, int]] = []
    for run in marked(text, [*marks, *cuts]):
        over = [pair for pair in over if pair[0] > run.start]
        number = starts.get(run.start)
        if number is not None:
            over.append((owed[number - 1].end, number))
        kinds = {place.span.label for place in run.places} - {"edge"}
        for part, piece in enumerate(_BLANK.split(readable(run.text))):
            if part:
                paragraphs.append([])
            if piece:
                paragraphs[-1].append(
                    {
                        "text": piece,
                        "kinds": [kind for kind in KINDS if kind in kinds],
                        "number": number if not part else None,
                        "cited": over[-1][1] if over else None,
                    }
                )
    return [paragraph for paragraph in paragraphs if paragraph]


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


def _fact(value: str, what: str, says: str) -> dict[str, str]:
    return {"value": value, "what": what, "says": says}


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "–"


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2f}"
