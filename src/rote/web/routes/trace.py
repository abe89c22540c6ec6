"""Trace: a pasted text against an index, its matches with their sources, its verdicts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Query, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import Field

from rote.core.document import Document
from rote.core.errors import OptionError, RoteError
from rote.core.evidence import Mark
from rote.core.numbers import format_number
from rote.core.progress import several
from rote.corpus import open_corpus
from rote.measure.originality import LEAST_WORDS, MOST_CITED, Fragment, Judged, ground_of, judged
from rote.measure.originality import Options as Originality
from rote.report.texts.highlight import BLANK_LINES, MarkedPiece, mark_paragraphs
from rote.report.texts.trace import (
    STYLES,
    UNLIKELY,
    list_documents,
    number_spans,
    span_data,
    trace_paragraphs,
)
from rote.report.texts.trace import trace_page as saved_page
from rote.search.originality.edges import rule_for
from rote.search.originality.suffix_blocks import MIN_FRAGMENT
from rote.search.originality.verdicts import judge_held_out
from rote.search.trace.options import KINDS, LEMMA, LEMMA_LAYER, MEANING, TraceOptions
from rote.search.trace.trace import Trace, trace
from rote.web import form_fields
from rote.web.app import (
    ApiQuestion,
    IndexState,
    answer_from_index,
    app_state,
    open_index_of,
    run_in_pool,
)
from rote.web.files import MAX_TEXT, read_text, store_text
from rote.web.render import document_link, make_link, render_page
from rote.web.routes.document import document_part as shown_document
from rote.web.workspace import OpenIndex

FRAGMENT_KINDS = ("cited", "original", "common")


def trace_facts(judged: Judged | None, traced: Trace) -> list[dict[str, str]]:
    text, least = traced.texts[0], traced.options.min_words
    longest = max((span.words for span in traced.spans), default=0)
    matches = sum(traced.span_counts.values())
    facts: dict[str, tuple[str, ...]] = {
        "in the longest match": (several(longest, "word"), "", "#span-1" if longest else ""),
        "of its words in a match": (
            f"{text.covered / text.words:.1%}" if text.words else "–",
            f"{text.covered:,} of {text.words:,}; marks count as words",
        ),
    }
    if MEANING in traced.options.kinds:
        facts["more in a match of meaning"] = (
            f"{text.reworded / text.words:.1%}" if text.words else "–",
            f"{text.reworded:,} of {text.words:,}",
        )
    counted = several(matches, "match"), "", "#matches" if matches else ""
    facts[f"of at least {several(least, 'word')}"] = counted
    if judged is not None:
        known = not math.isnan(judged.creativity)
        facts["creativity index"] = (
            format_number(judged.creativity, ".2f") if known else "–",
            "0: all words in runs of 12 and more that the index has; 8: none in one of 5"
            if known
            else f"too short: a text needs {LEAST_WORDS} words to have one",
        )
    return _fact_rows(facts)


def sentence_verdicts(judged: Judged) -> dict[str, Any]:
    """How the sentences divide: a sentence may hold something new and something to be cited."""
    kinds = {
        "something new, nothing to cite": (True, False),
        "something new and something to cite": (True, True),
        "something to cite, nothing new": (False, True),
    }
    counts = dict.fromkeys((*kinds, "nothing new, nothing to cite", "no fragment at all"), 0)
    known = {pair: name for name, pair in kinds.items()}
    for sentence in judged.sentences:
        neither = "nothing new, nothing to cite" if sentence["fragments"] else "no fragment at all"
        counts[known.get((sentence["original"], sentence["fails"]), neither)] += 1
    divided = {name: (f"{count:,}", "") for name, count in counts.items() if count}
    return {
        "divided": _fact_rows(divided),
        "sentences": judged.sentences,
        "owed": len(list_cited(judged.fragments)),
        "failing": sum(sentence["fails"] for sentence in judged.sentences),
        "by_chance": "" if math.isnan(judged.by_chance) else format_number(judged.by_chance, ".1f"),
        "sources": judged.sources,
    }


def _fact_rows(facts: Mapping[str, tuple[str, ...]]) -> list[dict[str, str]]:
    names = ("value", "says", "link")
    return [{"what": what, **dict(zip(names, (*values, "")))} for what, values in facts.items()]


def fragment_paragraphs(text: str, fragments: Sequence[Fragment]) -> list[list[dict[str, Any]]]:
    """The text cut at the edges of fragments; each run has its kinds and cited fragment."""
    owed = list_cited(fragments)
    starts = {fragment.start: number for number, fragment in enumerate(owed, 1)}
    marks = [
        Mark(start, end, kind)
        for kind in FRAGMENT_KINDS
        for start, end in _join_fragments(f for f in fragments if f.kind == kind)
    ]
    cuts = [Mark(fragment.start, fragment.end, "edge", "edge") for fragment in owed]
    over: list[tuple[int, int]] = []

    def shown(piece: MarkedPiece, first: bool) -> dict[str, Any]:
        number = starts.get(piece.start) if first else None
        over[:] = [pair for pair in over if pair[0] > piece.start]
        if number is not None:
            over.append((owed[number - 1].end, number))
        kinds = {place.mark.label for place in piece.places}
        return {
            "kinds": [kind for kind in FRAGMENT_KINDS if kind in kinds],
            "number": number,
            "cited": over[-1][1] if over else None,
        }

    paragraphs = mark_paragraphs(text, [*marks, *cuts], shown, between=BLANK_LINES)
    return [paragraph["runs"] for paragraph in paragraphs]


def list_cited(fragments: Sequence[Fragment]) -> list[Fragment]:
    """The fragments that need a citation, numbered as they stand here from 1."""
    return [fragment for fragment in fragments if fragment.kind == "cited"]


def citation_rows(text: str, fragments: Sequence[Fragment], key: str) -> list[dict[str, Any]]:
    """What is to be cited, with its sources, as far as it is listed; the longest first."""
    rows = []
    for number, fragment in enumerate(list_cited(fragments)[:MOST_CITED], 1):
        about = {"number": number, "text": text[fragment.start : fragment.end]}
        places = [
            {**place, "link": document_link(key, place["document"], place["start"], place["end"])}
            for place in fragment.places
        ]
        rows.append({**about, "words": fragment.words, "places": places})
    return sorted(rows, key=lambda row: -row["words"])


def match_data(traced: Trace, key: str) -> dict[str, Any]:
    """The matched spans in the text and with their sources, as `rote trace -o page.html` shows."""
    numbers = number_spans(traced)
    documents = list_documents(traced.spans, numbers)
    text = traced.texts_by_number.get(0)
    spans = []
    for span in traced.spans:
        links = [document_link(key, p.document, p.start, p.end) for p in span.places]
        spans.append({**span_data(span, numbers[id(span)], documents), "links": links})
    links_by_name = {name: document_link(key, name) for name in documents}
    return {
        "paragraphs": trace_paragraphs(text, traced.spans, numbers) if text is not None else [],
        "spans": spans,
        "documents": [{**documents[name], "link": link} for name, link in links_by_name.items()],
        "sort": traced.options.sort,
        "listed": len(traced.spans),
        "found": sum(traced.span_counts.values()),
    }


def _join_fragments(fragments: Iterable[Fragment]) -> list[tuple[int, int]]:
    """Stretches that fragments of one kind cover together."""
    spans: list[tuple[int, int]] = []
    for fragment in fragments:
        if spans and fragment.start <= spans[-1][1]:
            spans[-1] = spans[-1][0], max(spans[-1][1], fragment.end)
        else:
            spans.append((fragment.start, fragment.end))
    return spans


router = APIRouter(tags=["trace"])
_MOST_RELAXED = 1_000
_FIELDS = ("min_words", "min_bits", "gap", "sort", "limit", "places")
_START = {"min_words": 5, "min_bits": 0.0}
"""Where a page begins: somebody looks at one text, so short matches can be told apart by eye."""
_DEFAULTS = TraceOptions(**_START)  # type: ignore[arg-type]
_FORM_FIELDS = [
    replace(field, default=form_fields.format_value(getattr(_DEFAULTS, field.name)))
    for field in form_fields.options_fields(TraceOptions, _FIELDS)
]
_SAMPLE = (
    "Nobody but this page wrote this sentence, which purple tractors seldom read aloud. {passage} "
    "And here the borrowed words are over, as any careful walrus will have noticed."
)
_LOOKED_AT, _PASSAGE = 50, 300
"""Documents that are looked at for a sample, and characters that are taken."""
_LIMITS = {"limit": 1_000, "places": 50, "gap": 50, "context": 1_000}
"""What one request may ask for, where the command line has no limit."""
View = Literal["matches", "fragments"]


@dataclass(frozen=True, slots=True)
class AnsweredTrace:
    """A text held against an index; `judged` is None where the index cannot say, `why`."""

    traced: Trace
    judged: Judged | None
    why: str


class TraceQuestion(ApiQuestion):
    """A text, and how it is held against an index."""

    index: str = Field(description="Key of an index, as /api/indexes names it")
    text: str = Field(description=f"At most {MAX_TEXT:,} characters")
    kinds: list[str] = Field(
        [], description="verbatim, lemma, gapped, meaning; empty: the first three"
    )
    relax: int = Field(1, ge=1, le=_MOST_RELAXED, description="Sources that need a citation")
    min_words: int = _DEFAULTS.min_words
    min_bits: float = _DEFAULTS.min_bits
    gap: int = _DEFAULTS.gap
    sort: Literal["longest", "unlikely"] = _DEFAULTS.sort
    limit: int = _DEFAULTS.limit
    places: int = _DEFAULTS.places


class TraceAnswer(IndexState):
    """What was found in a text."""

    id: str = Field(description="The text is stored under this id: /trace/ID, /api/trace/ID")
    settings: dict[str, Any]
    words_in_text: int
    covered: int = Field(description="Words that lie in a verbatim, lemma or gapped match")
    reworded: int = Field(description="Words that only a match of meaning holds")
    coverage: dict[str, float | None] = Field(description="Share of words in copied runs of L")
    creativity: float | None
    span_counts: dict[str, int] = Field(alias="found", description="All matches by kind")
    spans: list[dict[str, Any]] = Field(description="The listed matches with their places")
    sentences: list[dict[str, Any]] = Field(description="Each with its verdict")
    failing_by_chance: float | None = Field(
        description="Sentences that chance would make need a citation in a text of this length"
    )
    fragments: list[dict[str, Any]] = Field(
        description="The fragments that decide: original, cited (the first 300 with places), common"
    )
    notes: list[str]


@router.get("/trace", include_in_schema=False)
async def trace_form(request: Request, index: str = "", sample: bool = False) -> Response:
    """The empty form, or with a text to try it on."""
    key = index or next(iter(app_state(request).workspace.indexes), "")
    if not sample or not key:
        return _trace_response(request, index, {})
    text = await run_in_pool(request, lambda: _make_sample(open_index_of(request, key), key))
    return _trace_response(request, key, {"text": text})


def _make_sample(opened: OpenIndex, key: str) -> str:
    """A passage of a document between two sentences that no document has."""
    passage = ""
    for number in range(min(_LOOKED_AT, len(opened.index.segments[0].documents))):
        id = opened.index.segments[0].documents.id(number)
        text = shown_document(opened.index, key, id, None, None, 0)["text"][:_PASSAGE]
        if len(text) == _PASSAGE:  # cut inside a word
            passage = " ".join(text.split()[:-1]) + "."
            break
        passage = max(passage, " ".join(text.split()), key=len)
    return _SAMPLE.format(passage=passage)


@router.post("/trace", include_in_schema=False)
async def trace_pasted(request: Request) -> Response:
    """Keep the text and go to its page, whose address can be sent."""
    form = await request.form(max_part_size=12 * MAX_TEXT)
    values = {name: str(value) for name, value in form.items() if name != "kinds"}
    # Browsers send line ends of their own.
    text = values.get("text", "").replace("\r\n", "\n")
    kinds = [str(kind) for kind in form.getlist("kinds")]
    try:
        settings = _changed_settings(values, kinds)
        identity = await run_in_pool(request, store_text, app_state(request).workspace.store, text)
    except RoteError as error:
        fields = {**values, "kinds": kinds}
        return _trace_response(request, values.get("index", ""), fields, str(error))
    chosen = {**settings, "index": values.get("index", ""), "relax": values.get("relax", "")}
    return RedirectResponse(make_link(f"/trace/{identity}", **chosen), 303)


@router.get("/trace/{identity}", include_in_schema=False)
async def trace_page(
    request: Request,
    identity: str,
    index: str = "",
    view: View = "matches",
    relax: Annotated[int, Query(ge=1, le=_MOST_RELAXED)] = 1,
) -> Response:
    key = index or next(iter(app_state(request).workspace.indexes), "")
    options = _read_options(request.query_params)

    def work() -> dict[str, Any]:
        text = read_text(app_state(request).workspace.store, identity)
        opened = open_index_of(request, key)
        possible, lacking = _possible_kinds(opened, options)
        traced_text = _judge_text(request, opened, text, possible, relax)
        kinds = KINDS if opened.index.meanings is None else (*KINDS, MEANING)
        context: dict[str, Any] = {"why": traced_text.why, "text": text, "all_kinds": kinds}
        if view == "matches" or traced_text.judged is None:
            return context | {
                "summary": trace_facts(traced_text.judged, traced_text.traced),
                "notes": [*lacking, *traced_text.traced.notes],
                "matches": match_data(traced_text.traced, key),
            }
        fragments = traced_text.judged.fragments
        return context | {
            "notes": traced_text.judged.notes,
            "paragraphs": fragment_paragraphs(text, fragments),
            "citations": citation_rows(text, fragments, key),
            "min_words": _min_fragment(possible),
            **sentence_verdicts(traced_text.judged),
        }

    context = await run_in_pool(request, work)
    apart = ("view", "kinds", "index")
    parameters = {n: value for n, value in request.query_params.items() if n not in apart}
    parameters |= {"index": key, "kinds": ",".join(options.kinds)}
    context["api"] = make_link(f"/api/trace/{identity}", **parameters)
    context["whole"] = make_link(f"/trace/{identity}/page", **parameters)
    return render_page(
        request,
        "trace_text.html",
        key=key,
        view=view,
        relax=relax,
        identity=identity,
        kinds=options.kinds or KINDS,
        fields=form_fields.fill_fields(_FORM_FIELDS, request.query_params),
        unlikely=UNLIKELY,
        styles=STYLES,
        **context,
    )


@router.get("/trace/{identity}/page", include_in_schema=False)
async def trace_saved(request: Request, identity: str, index: str) -> Response:
    """The matches as one page for itself, as `rote trace -o page.html` writes it."""
    options = _read_options(request.query_params)

    def work() -> str:
        text = read_text(app_state(request).workspace.store, identity)
        opened = open_index_of(request, index)
        possible, _ = _possible_kinds(opened, options)
        return saved_page(_trace_text(request, opened, text, possible), f"A text against {index}")

    page = (await run_in_pool(request, work)).encode("utf-8", "replace")
    headers = {"Content-Disposition": 'attachment; filename="trace.html"'}
    return Response(page, media_type="text/html; charset=utf-8", headers=headers)


@router.post(
    "/api/trace",
    summary="Compare a text with an index: fragments, verdicts, matches and their sources",
    response_model=TraceAnswer,
)
async def trace_text(request: Request, question: Annotated[TraceQuestion, Body()]) -> Response:
    values = question.model_dump(exclude={"text", "index", "relax"})
    options = _check_limits(TraceOptions(**{**values, "kinds": tuple(question.kinds)}))

    def find(opened: OpenIndex) -> dict[str, Any]:
        identity = store_text(app_state(request).workspace.store, question.text)
        traced_text = _judge_text(request, opened, question.text, options, question.relax)
        return {"id": identity, **_answer_data(traced_text, question.relax)}

    return await answer_from_index(request, question.index, find)


@router.get(
    "/api/trace/{identity}",
    summary="The same for a text that was traced before; settings as parameters",
    response_model=TraceAnswer,
)
async def trace_again(
    request: Request,
    identity: str,
    index: str,
    relax: Annotated[int, Query(ge=1, le=_MOST_RELAXED)] = 1,
) -> Response:
    options = _read_options(request.query_params)

    def find(opened: OpenIndex) -> dict[str, Any]:
        text = read_text(app_state(request).workspace.store, identity)
        traced_text = _judge_text(request, opened, text, options, relax)
        return {"id": identity, **_answer_data(traced_text, relax)}

    return await answer_from_index(request, index, find)


def _trace_response(
    request: Request, index: str, values: Mapping[str, Any], problem: str = ""
) -> Response:
    return render_page(
        request,
        "trace.html",
        400 if problem else 200,
        key=index,
        given=values,
        problem=problem,
        longest=MAX_TEXT,
        all_kinds=KINDS,
        kinds=values.get("kinds", KINDS),
        fields=form_fields.fill_fields(_FORM_FIELDS, values),
        relax=values.get("relax", "1"),
        sample=make_link("/trace", sample="true", index=index),
    )


def _changed_settings(values: Mapping[str, str], kinds: list[str]) -> dict[str, Any]:
    """What differs from the defaults, checked, as an address carries it."""
    _check_limits(TraceOptions(**_read_values(values), kinds=tuple(kinds)))
    entered = {field: values.get(field.name, field.default).strip() for field in _FORM_FIELDS}
    changed = {field.name: text for field, text in entered.items() if text != field.default}
    return changed | ({"kinds": ",".join(kinds)} if set(kinds) not in ({*KINDS}, set()) else {})


def _read_options(values: Any) -> TraceOptions:
    # A form names each kind by itself, an address all of them at once.
    kinds = tuple(part for part in ",".join(values.getlist("kinds")).split(",") if part)
    return _check_limits(TraceOptions(**_read_values(values), kinds=kinds))


def _read_values(values: Mapping[str, str]) -> dict[str, Any]:
    """What was given, or where the app begins."""
    usual = {name: form_fields.format_value(value) for name, value in _START.items()}
    return form_fields.read_values(_FORM_FIELDS, {**usual, **dict(values)})


def _possible_kinds(opened: OpenIndex, options: TraceOptions) -> tuple[TraceOptions, list[str]]:
    """The kinds that the index can match: a kind that stayed ticked was not asked for by name."""
    kinds = options.kinds or KINDS
    rest = tuple(kind for kind in kinds if kind != LEMMA)
    if LEMMA not in kinds or not rest or LEMMA_LAYER in opened.index.sorted_layers:
        return options, []
    return replace(options, kinds=rest), ["no lemma matches: the index has no layer 'lemma'"]


def _check_limits(options: TraceOptions) -> TraceOptions:
    for name, most in _LIMITS.items():
        value = getattr(options, name)
        if value > most or (name == "limit" and value == 0):
            raise OptionError(f"{name} is at most {most:,} here, not {value:,}")
    return options


def _judge_text(
    request: Request, opened: OpenIndex, text: str, options: TraceOptions, relax: int
) -> AnsweredTrace:
    """What is asked again is remembered, as long as the index has not grown."""
    traced = _trace_text(request, opened, text, options)
    try:
        ground = opened.once("ground", lambda: ground_of(opened.index))
    except OptionError as error:
        # Without the layer that sentences are judged by, matches are still worth showing.
        return AnsweredTrace(traced, None, str(error))
    least, edges = _min_fragment(options), rule_for(opened.index)
    how: Any = {"relax": relax, "min_words": least, "chance": Originality().chance}
    flagged = opened.once(("held out", relax, least), lambda: judge_held_out(ground, edges, **how))
    verdicts = app_state(request).recent.get(
        ("judged", *_index_state(opened), text, relax, least),
        lambda: judged(ground, text, flagged, **how),
    )
    return AnsweredTrace(traced, verdicts, "")


def _min_fragment(options: TraceOptions) -> int:
    """Words of a fragment that needs a citation: as of a match, but one word is no fragment."""
    return max(MIN_FRAGMENT, options.min_words)


def _trace_text(request: Request, opened: OpenIndex, text: str, options: TraceOptions) -> Trace:
    def made() -> Trace:
        return trace(opened.index, open_corpus([Document("text", text)]), options)

    return app_state(request).recent.get(("trace", *_index_state(opened), text, options), made)


def _index_state(opened: OpenIndex) -> tuple[str, str, int]:
    return str(opened.index.path), opened.manifest.fingerprint, opened.manifest.generation


def _answer_data(traced_text: AnsweredTrace, relax: int) -> dict[str, Any]:
    traced, verdicts = traced_text.traced, traced_text.judged
    text = traced.texts[0]
    left_out = ("match", "items", "number", "id")
    spans = [
        {name: value for name, value in asdict(replace(span)).items() if name not in left_out}
        | {"edits": span.edits._asdict(), "edit_rate": span.edit_rate, "recased": span.recased}
        for span in traced.spans
    ]
    return {
        "settings": {**asdict(traced.options), "relax": relax},
        "words_in_text": text.words,
        "covered": text.covered,
        "reworded": text.reworded,
        "coverage": {str(n): share for n, share in verdicts.coverage.items()} if verdicts else {},
        "creativity": verdicts.creativity if verdicts else math.nan,
        "found": traced.span_counts,
        "spans": spans,
        "sentences": verdicts.sentences if verdicts else [],
        "failing_by_chance": verdicts.by_chance if verdicts else math.nan,
        "fragments": [asdict(fragment) for fragment in verdicts.fragments] if verdicts else [],
        "notes": [*traced.notes, *(verdicts.notes if verdicts else [traced_text.why])],
    }
