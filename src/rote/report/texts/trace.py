"""Traced texts for the eye: on the terminal, and as a page with two sides.

On the page the texts stand on the left with their matched spans marked, the corpus on the right:
a span leads to its documents in context, a document to its spans. Everything is in the page before
it is opened; the script only marks what was chosen, and without it all links still lead somewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rote.core.numbers import format_number
from rote.core.progress import several
from rote.report.terminal import harmless, readable
from rote.report.texts.highlight import BLANK_LINES, Mark, Piece, paragraphs, pieces
from rote.report.texts.self_contained import written
from rote.search.trace.evidence import EvidencePassage, Span
from rote.search.trace.trace import Trace, TracedText

if TYPE_CHECKING:
    from rich.text import Text

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
_STYLES = {"verbatim": "solid", "lemma": "double", "gapped": "dashed"}
_SHORT = 90
_SCRIPT = """
(function () {
  "use strict";
  var aside = document.querySelector("aside");
  // How far down the texts can be seen: in a narrow window the other side lies over them.
  function depth() {
    var box = aside.getBoundingClientRect();
    return box.left > 0 ? window.innerHeight : box.top;
  }
  function show(element) {
    window.scrollBy(0, element.getBoundingClientRect().top - 0.3 * depth());
  }
  function mark() {
    document.querySelectorAll(".on").forEach(function (e) { e.classList.remove("on"); });
    var chosen = location.hash ? document.getElementById(location.hash.slice(1)) : null;
    var numbers = chosen && chosen.dataset.spans ? chosen.dataset.spans.split(" ") : [];
    var first = null;
    numbers.forEach(function (number) {
      document.querySelectorAll("main .s" + number).forEach(function (e) {
        e.classList.add("on");
        first = first || e;
      });
    });
    if (!first) { return; }
    var box = first.getBoundingClientRect();
    if (box.top < 0 || box.bottom > depth()) { show(first); }
  }
  // "In the text" only scrolls: what is being read, and its marks, stay.
  aside.addEventListener("click", function (event) {
    var link = event.target.closest('a[href^="#at-"]');
    if (!link) { return; }
    event.preventDefault();
    show(document.getElementById(link.hash.slice(1)));
  });
  window.addEventListener("hashchange", mark);
  mark();
})();
"""


def summary(traced: Trace) -> list[str]:
    """What was found in all, in a few lines."""
    words = sum(text.words for text in traced.texts)
    inside = sum(text.covered for text in traced.texts)
    holding = sum(1 for text in traced.texts if text.spans)
    share = f" ({inside / words:.2%})" if words else ""
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in traced.span_counts.items())
    return [
        f"{several(words, 'word')} in {several(len(traced.texts), 'text')}; "
        f"{inside:,} of them{share} lie in a match, in {several(holding, 'text')}",
        f"matches of at least {several(traced.options.min_words, 'word')}: {kinds}",
        *traced.notes,
    ]


def terminal(traced: Trace, console: Any) -> None:
    """The summary, and the first spans with their sources."""
    for line in summary(traced):
        console.print(line, highlight=False, markup=False)
    for span in traced.spans[:_SCREEN]:
        console.print()
        for shown in _block(span, console.width):
            console.print(shown, highlight=False, no_wrap=True, crop=True)
    total, shown_spans = sum(traced.span_counts.values()), min(_SCREEN, len(traced.spans))
    if shown_spans < total:
        console.print(
            f"\n{shown_spans:,} of {total:,} matches, the {_first(traced)}; "
            f"-o trace.html and --json hold {len(traced.spans):,} (--limit)",
            highlight=False,
        )


def page(traced: Trace, title: str) -> str:
    """One page for itself: no network, no script made from data."""
    numbers = numbered(traced)
    documents = documents_of(traced.spans, numbers)
    of_text: dict[int, list[Span]] = {}
    for span in traced.spans:
        of_text.setdefault(span.number, []).append(span)

    return written(
        "trace.html",
        _SCRIPT,
        title=readable(title),
        summary=[readable(line) for line in summary(traced)],
        listed=(
            f"{len(traced.spans):,} of {sum(traced.span_counts.values()):,}, the {_first(traced)}"
        ),
        kinds=[(kind, _STYLES[kind]) for kind in traced.options.kinds],
        unlikely=UNLIKELY,
        texts=[
            {
                "heading": readable(traced.texts[number].id),
                "source": readable(_source(traced.texts[number])),
                "paragraphs": paragraphs_of(text, of_text[number], numbers),
            }
            for number, text in sorted(traced.texts_by_number.items())
        ],
        spans=[shown_span(span, numbers[id(span)], documents) for span in traced.spans],
        documents=list(documents.values()),
        authors=any(document["author"] for document in documents.values()),
    )


def numbered(traced: Trace) -> dict[int, int]:
    """The number under which each listed span is shown, by its identity."""
    return {id(span): number for number, span in enumerate(traced.spans, 1)}


def _source(text: TracedText) -> str:
    """Who wrote a text, where that says more than its name."""
    return "" if text.source in (None, text.id) else str(text.source)


def colour(bits: float) -> str:
    """The class of the colour of a span that is so unlikely."""
    return UNLIKELY[sum(bits >= edge for edge in _BITS)][0]


def _first(traced: Trace) -> str:
    return "longest first" if traced.options.sort == "longest" else "least likely first"


def _counts(span: Span) -> str:
    """How often a span occurs in the corpus, in words."""
    found = f"{several(span.occurrences, 'time')} in {several(span.documents, 'document')}"
    return found + (f" by {several(span.authors, 'author')}" if span.authors else "")


def edited(span: Span) -> str:
    """What was changed in a passage, in words; nothing if it is word for word."""
    exchanged, added, left_out = span.edits
    said = [
        f"{number:,} {what}"
        for number, what in ((exchanged, "exchanged"), (added, "added"), (left_out, "left out"))
        if number
    ]
    return f"edit rate {span.edit_rate:.0%} ({', '.join(said)})" if said else ""


def _block(span: Span, width: int) -> Iterator[Text]:
    """A span and its places, one line each."""
    from rich.text import Text

    head = Text(f"{several(span.words, 'word')}", style="bold")
    kind = ", ".join(filter(None, (span.kind, edited(span), "other capitals" * span.recased)))
    head.append(
        f"  {kind}, {format_number(span.bits, '.0f')} bits, {_counts(span)}  ", style="not bold"
    )
    head.append(harmless(span.id), style="not bold dim")
    yield head
    runs = [(start - span.start, end - span.start) for start, end in span.runs]
    yield _line("  ", _parts(span.text, runs), "")
    for place in span.places:
        whose = f"{place.document}, {place.author}" if place.author else place.document
        name = f"    {harmless(whose)}: "
        room = max(0, (width - len(name) - len(place.match)) // 2)
        before = _parts(place.before[-room:] if room else "", [])
        yield _line(name, [*before, *_parts(place.match, place.runs)], place.after[:room])


def _line(name: str, parts: Sequence[tuple[str, bool]], after: str) -> Text:
    from rich.text import Text

    line = Text(name, style="dim", no_wrap=True)
    for text, matched in parts:
        # White space at the edge of a part keeps words apart.
        edge = " " if text[:1].isspace() else ""
        tail = " " if text[-1:].isspace() and text.strip() else ""
        line.append(edge + harmless(text) + tail, style="not dim" if matched else "dim")
    return line.append((" " if after[:1].isspace() else "") + harmless(after))


def _parts(text: str, runs: Sequence[tuple[int, int]]) -> list[tuple[str, bool]]:
    """A text cut at the edges of its runs, and whether each part is matched."""
    marks = [Mark(start, end) for start, end in runs if start < end]
    return [(piece.text, bool(piece.places)) for piece in pieces(text, marks)]


def documents_of(spans: Sequence[Span], numbers: dict[int, int]) -> dict[str, dict[str, Any]]:
    """The documents that places lie in, those with the most words of the texts first.

    Matches overlap, so their words do not add up: each word of a text counts once.
    """
    found: dict[str, dict[str, Any]] = {}
    words: dict[str, set[tuple[int, int]]] = {}
    for span in spans:
        matched = {
            (span.number, word)
            for first, length in span.match.runs
            for word in range(first, first + length)
        }
        for place in {place.document: place for place in span.places}.values():
            entry = found.setdefault(
                place.document,
                {
                    "document": readable(place.document),
                    "author": readable(place.author or ""),
                    "spans": [],
                },
            )
            entry["spans"].append({"number": numbers[id(span)], **_said(span)})
            words.setdefault(place.document, set()).update(matched)
    ordered = sorted(found.items(), key=lambda item: -len(words[item[0]]))
    return {
        name: {**entry, "words": len(words[name]), "number": i}
        for i, (name, entry) in enumerate(ordered, 1)
    }


def _said(span: Span) -> dict[str, Any]:
    """A span in a list: its words and kind, and how it begins."""
    text = harmless(span.text)
    return {
        "words": span.words,
        "kind": span.kind,
        "style": _STYLES[span.kind],
        "text": text if len(text) <= _SHORT else text[:_SHORT].rstrip() + "…",
    }


def shown_span(span: Span, number: int, documents: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A span with its places, as a page shows them; `documents` are those of `documents_of`."""
    runs = [(start - span.start, end - span.start) for start, end in span.runs]
    return {
        **_said(span),
        "number": number,
        "bits": format_number(span.bits, ".0f"),
        "counts": _counts(span),
        "edited": edited(span),
        "recased": span.recased,
        "parts": _readable_parts(span.text, runs),
        "places": [_shown_place(place, documents) for place in span.places],
        "more": span.documents > len({place.document for place in span.places}),
    }


def _shown_place(place: EvidencePassage, documents: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {
        "number": documents[place.document]["number"],
        "document": documents[place.document]["document"],
        "author": documents[place.document]["author"],
        "before": readable(place.before),
        "parts": _readable_parts(place.match, place.runs),
        "after": readable(place.after),
    }


def _readable_parts(text: str, runs: Sequence[tuple[int, int]]) -> list[tuple[str, bool]]:
    return [(readable(part), matched) for part, matched in _parts(text, runs)]


def paragraphs_of(
    text: str, spans: Sequence[Span], numbers: dict[int, int]
) -> list[dict[str, Any]]:
    """The text cut wherever a run begins or ends, by paragraphs; each part with its spans."""
    known = {str(numbers[id(span)]): span for span in spans}
    marks = [
        Mark(start, end, number, span.kind)
        for number, span in known.items()
        for start, end in span.runs
    ]
    begun: set[str] = set()

    def shown(piece: Piece, first: bool) -> dict[str, Any]:
        numbers = [place.mark.label for place in piece.places]
        new = [number for number in numbers if number not in begun]
        begun.update(new)
        return {
            "lanes": [
                {
                    "number": place.mark.label,
                    "lane": place.lane,
                    "style": f"{_STYLES[place.mark.kind]} {colour(known[place.mark.label].bits)}",
                }
                for place in piece.places
            ],
            "new": new,
            "best": min(map(int, numbers), default=0),
        }

    return paragraphs(text, marks, shown, between=BLANK_LINES)
