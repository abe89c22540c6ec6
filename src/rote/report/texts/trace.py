"""Traced texts for the eye: on the terminal, and as a page with two sides.

Everything is in the page before it is opened; the script only marks what was chosen, and without it
all links still lead somewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.text import Text

from rote.core.evidence import Mark
from rote.core.numbers import format_number
from rote.core.progress import several
from rote.report.terminal import mask_controls, strip_controls
from rote.report.texts import render_page
from rote.report.texts.highlight import BLANK_LINES, MarkedPiece, cut_pieces, mark_paragraphs
from rote.search.trace.evidence import Span, common_words
from rote.search.trace.options import MEANING
from rote.search.trace.trace import Trace

_SCREEN = 15
"""Spans that are printed on the terminal; JSON and the page have all that are listed."""
_BITS = (20, 25, 40)
UNLIKELY = (
    ("u0", "under 20: often"),
    ("u1", "20 to 25: under 1 in 10"),
    ("u2", "25 to 40: under 1 in 100"),
    ("u3", "40 or more: 1 in 10,000 or fewer"),
)
"""Where the colour of a span changes, in bits, and the classes of the colours with their words:
in how many texts of 450 words that have nothing to do with the index such a span occurs
(docs/trace.md)."""
STYLES = {"verbatim": "solid", "lemma": "double", "gapped": "dashed", "meaning": "dotted meant"}
_SHORT = 90


def trace_summary(traced: Trace) -> list[str]:
    words = sum(text.words for text in traced.texts)
    inside = sum(text.covered for text in traced.texts)
    holding = sum(1 for text in traced.texts if text.spans)
    share = f" ({inside / words:.2%})" if words else ""
    coverage = f"{inside:,} of them{share} are in a match, in {several(holding, 'text')}"
    if MEANING in traced.options.kinds:
        reworded = sum(text.reworded for text in traced.texts)
        more = f" ({reworded / words:.2%})" if words else ""
        coverage = (
            f"{inside:,} of them{share} are copied, {reworded:,} more{more} are part of a match "
            f"of meaning, in {several(holding, 'text')}"
        )
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in traced.span_counts.items())
    return [
        f"{several(words, 'word')} in {several(len(traced.texts), 'text')}; {coverage}",
        f"matches of at least {several(traced.options.min_words, 'word')}: {kinds}",
        *traced.notes,
    ]


def print_trace(traced: Trace, console: Any) -> None:
    for line in trace_summary(traced):
        console.print(line, highlight=False, markup=False)
    for span in traced.spans[:_SCREEN]:
        console.print()
        for span_line in _span_lines(span, console.width):
            console.print(span_line, highlight=False, no_wrap=True, crop=True)
    total, shown_spans = sum(traced.span_counts.values()), min(_SCREEN, len(traced.spans))
    if shown_spans < total:
        listed = f"{shown_spans:,} of {total:,} matches, the {_sort_order(traced)}"
        rest = f"-o trace.html and --json hold {len(traced.spans):,} (--limit)"
        console.print(f"\n{listed}; {rest}", highlight=False)


def trace_page(traced: Trace, title: str) -> str:
    numbers = number_spans(traced)
    documents = list_documents(traced.spans, numbers)
    of_text: dict[int, list[Span]] = {}
    for span in traced.spans:
        of_text.setdefault(span.number, []).append(span)
    total = sum(traced.span_counts.values())
    return render_page(
        "trace.html",
        title=mask_controls(title),
        summary=[mask_controls(line) for line in trace_summary(traced)],
        listed=f"{len(traced.spans):,} of {total:,}, the {_sort_order(traced)}",
        kinds=[(kind, STYLES[kind]) for kind in traced.options.kinds],
        unlikely=UNLIKELY,
        texts=[
            {
                "heading": mask_controls(traced.texts[number].id),
                # Who wrote a text, where that says more than its name.
                "source": mask_controls(traced.texts[number].source or "")
                if traced.texts[number].source != traced.texts[number].id
                else "",
                "paragraphs": trace_paragraphs(text, of_text[number], numbers),
            }
            for number, text in sorted(traced.texts_by_number.items())
        ],
        spans=[span_data(span, numbers[id(span)], documents) for span in traced.spans],
        documents=list(documents.values()),
        authors=any(document["author"] for document in documents.values()),
    )


def number_spans(traced: Trace) -> dict[int, int]:
    return {id(span): number for number, span in enumerate(traced.spans, 1)}


def bits_class(bits: float) -> str:
    return UNLIKELY[sum(bits >= edge for edge in _BITS)][0]


def _sort_order(traced: Trace) -> str:
    return "longest first" if traced.options.sort == "longest" else "least likely first"


def _describe_counts(span: Span) -> str:
    """How often a span occurs in the corpus, in words."""
    counts = f"{several(span.occurrences, 'time')} in {several(span.documents, 'document')}"
    return counts + (f" by {several(span.authors, 'author')}" if span.authors else "")


def describe_edits(span: Span) -> str:
    if span.match.p is not None and span.match.similarity is not None:
        differing = f"similar, but different facts ({', '.join(span.differing)})"
        similarity = format_number(span.match.similarity, ".2f")
        likely = f"similarity {similarity}, by chance {format_number(span.match.p, '.2g')}"
        return f"{likely}, {differing}" if span.differing else likely
    exchanged, added, left_out = span.edits
    counts = {"exchanged": exchanged, "added": added, "left out": left_out}
    edits = [f"{number:,} {what}" for what, number in counts.items() if number]
    return f"edit rate {span.edit_rate:.0%} ({', '.join(edits)})" if edits else ""


def _span_lines(span: Span, width: int) -> Iterator[Text]:
    head = Text(f"{several(span.words, 'word')}", style="bold")
    kinds = filter(None, (span.kind, describe_edits(span), "other capitals" * span.recased))
    about = [*kinds, f"{format_number(span.bits, '.0f')} bits", _describe_counts(span)]
    head.append(f"  {', '.join(about)}  ", style="not bold")
    head.append(strip_controls(span.id), style="not bold dim")
    yield head
    runs = _shown_runs(span)
    yield _parts_line("  ", _split_runs(span.text, runs), "")
    for place in span.places:
        whose = f"{place.document}, {place.author}" if place.author else place.document
        name = f"    {strip_controls(whose)}: "
        room = max(0, (width - len(name) - len(place.match)) // 2)
        before = _split_runs(place.before[-room:] if room else "", [])
        parts = [*before, *_split_runs(place.match, place.runs)]
        yield _parts_line(name, parts, place.after[:room])


def _shown_runs(span: Span) -> Sequence[tuple[int, int]]:
    """The matched parts of a span; of a match of meaning the words that its first place has."""
    if span.kind == MEANING and span.places:
        return common_words(span.text, span.places[0].match)
    return [(start - span.start, end - span.start) for start, end in span.runs]


def _parts_line(name: str, parts: Sequence[tuple[str, bool]], after: str) -> Text:
    line = Text(name, style="dim", no_wrap=True)
    for text, matched in parts:
        # White space at the edge of a part keeps words apart.
        edge = " " if text[:1].isspace() else ""
        tail = " " if text[-1:].isspace() and text.strip() else ""
        line.append(edge + strip_controls(text) + tail, style="not dim" if matched else "dim")
    return line.append((" " if after[:1].isspace() else "") + strip_controls(after))


def _split_runs(text: str, runs: Sequence[tuple[int, int]]) -> list[tuple[str, bool]]:
    """A text cut at the edges of its runs, and whether each part is matched."""
    marks = [Mark(start, end) for start, end in runs if start < end]
    return [(piece.text, bool(piece.places)) for piece in cut_pieces(text, marks)]


def list_documents(spans: Sequence[Span], numbers: dict[int, int]) -> dict[str, dict[str, Any]]:
    """The documents of places, those with the most words first; each word of a text counts once."""
    documents: dict[str, dict[str, Any]] = {}
    words: dict[str, set[tuple[int, int]]] = {}
    for span in spans:
        words_of_runs = (range(first, first + length) for first, length in span.match.runs)
        matched = {(span.number, word) for run in words_of_runs for word in run}
        for place in {place.document: place for place in span.places}.values():
            about = {"document": mask_controls(place.document)}
            about |= {"author": mask_controls(place.author or "")}
            entry = documents.setdefault(place.document, {**about, "spans": []})
            entry["spans"].append({"number": numbers[id(span)], **_span_entry(span)})
            words.setdefault(place.document, set()).update(matched)
    ordered = sorted(documents.items(), key=lambda item: -len(words[item[0]]))
    return {
        name: {**entry, "words": len(words[name]), "number": i}
        for i, (name, entry) in enumerate(ordered, 1)
    }


def _span_entry(span: Span) -> dict[str, Any]:
    """A span in a list: its words and kind, and how it begins."""
    text = strip_controls(span.text)
    text = text if len(text) <= _SHORT else text[:_SHORT].rstrip() + "…"
    return {"words": span.words, "kind": span.kind, "style": STYLES[span.kind], "text": text}


def span_data(span: Span, number: int, documents: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A span with its places, as a page shows them; `documents` are those of `list_documents`."""
    runs = _shown_runs(span)
    return {
        **_span_entry(span),
        "number": number,
        "bits": format_number(span.bits, ".0f"),
        "counts": _describe_counts(span),
        "edited": describe_edits(span),
        "recased": span.recased,
        "parts": _clean_parts(span.text, runs),
        "places": [
            {
                **{name: documents[p.document][name] for name in ("number", "document", "author")},
                "before": mask_controls(p.before),
                "parts": _clean_parts(p.match, p.runs),
                "after": mask_controls(p.after),
            }
            for p in span.places
        ],
        "more": span.documents > len({place.document for place in span.places}),
    }


def _clean_parts(text: str, runs: Sequence[tuple[int, int]]) -> list[tuple[str, bool]]:
    return [(mask_controls(part), matched) for part, matched in _split_runs(text, runs)]


def trace_paragraphs(
    text: str, spans: Sequence[Span], numbers: dict[int, int]
) -> list[dict[str, Any]]:
    """The text cut wherever a run begins or ends, by paragraphs; each part with its spans."""
    known = {str(numbers[id(span)]): span for span in spans}
    marks = [Mark(*run, number, span.kind) for number, span in known.items() for run in span.runs]
    begun: set[str] = set()

    def shown(piece: MarkedPiece, first: bool) -> dict[str, Any]:
        numbers = [place.mark.label for place in piece.places]
        new = [number for number in numbers if number not in begun]
        begun.update(new)
        lanes = []
        for place in piece.places:
            number = place.mark.label
            style = f"{STYLES[place.mark.kind]} {bits_class(known[number].bits)}"
            lanes.append({"number": number, "lane": place.lane, "style": style})
        return {"lanes": lanes, "new": new, "best": min(map(int, numbers), default=0)}

    return mark_paragraphs(text, marks, shown, between=BLANK_LINES)
