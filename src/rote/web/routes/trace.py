"""Trace: a pasted text against an index: its longest matches and whence they come; which of its
sentences hold something original, something to be cited."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Query, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import Field

from rote.core.document import Document
from rote.core.errors import OptionError, RoteError
from rote.corpus import open_corpus
from rote.measure._originality.text import Judged, ground_of, judged
from rote.measure.originality import Options as Originality
from rote.report.texts.trace import UNLIKELY
from rote.report.texts.trace import page as saved_page
from rote.search.originality.edges import rule_for
from rote.search.originality.suffix_blocks import MIN_FRAGMENT
from rote.search.originality.verdicts import judge_held_out
from rote.search.trace.options import KINDS, LEMMA, LEMMA_LAYER, TraceOptions
from rote.search.trace.trace import Trace, trace
from rote.web.api import About, Question, answered
from rote.web.forms import options as forms
from rote.web.indexes import OpenIndex
from rote.web.pages import trace as views
from rote.web.pages.render import link, page
from rote.web.routes.document import shown as shown_document
from rote.web.state import bounded, index_of, state
from rote.web.store.uploads import LONGEST_TEXT, keep_text, kept_text

router = APIRouter(tags=["trace"])
_MOST_RELAXED = 1_000
_FIELDS = ("min_words", "min_bits", "gap", "sort", "limit", "places")
_START = {"min_words": 5, "min_bits": 0.0}
"""Where a page begins: somebody looks at one text, so short matches can be told apart by eye."""
_USUAL = TraceOptions(**_START)  # type: ignore[arg-type]
_OFFERED = [
    replace(one, default=forms.written(getattr(_USUAL, one.name)))
    for one in forms.fields_of(TraceOptions, _FIELDS)
]
_SAMPLE = (
    "Nobody but this page wrote this sentence, which purple tractors seldom read aloud. {passage} "
    "And here the borrowed words are over, as any careful walrus will have noticed."
)
_LOOKED_AT, _PASSAGE = 50, 300
"""Documents that are looked at for a sample, and characters that are taken."""
_MOST = {"limit": 1_000, "places": 50, "gap": 50, "context": 1_000}
"""What one request may ask for, where the command line has no limit."""
View = Literal["matches", "fragments"]


@dataclass(frozen=True, slots=True)
class Held:
    """A text held against an index; `judged` is None where the index cannot say, `why`."""

    traced: Trace
    judged: Judged | None
    why: str


class TraceQuestion(Question):
    """A text, and how it is held against an index."""

    index: str = Field(description="Key of an index, as /api/indexes names it")
    text: str = Field(description=f"At most {LONGEST_TEXT:,} characters")
    kinds: list[str] = Field([], description="verbatim, lemma, gapped; empty: all it can match")
    relax: int = Field(1, ge=1, le=_MOST_RELAXED, description="Sources that need a citation")
    min_words: int = _USUAL.min_words
    min_bits: float = _USUAL.min_bits
    gap: int = _USUAL.gap
    sort: Literal["longest", "unlikely"] = _USUAL.sort
    limit: int = _USUAL.limit
    places: int = _USUAL.places


class TraceAnswer(About):
    """What was found in a text."""

    id: str = Field(description="The text is kept under this id: /trace/ID, /api/trace/ID")
    settings: dict[str, Any]
    words_in_text: int
    covered: int = Field(description="Words that lie in a match of any kind")
    coverage: dict[str, float | None] = Field(description="Share of words in copied runs of L")
    creativity: float | None
    found: dict[str, int] = Field(description="All matches by kind")
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
    key = index or next(iter(state(request).workspace.indexes), "")
    if not sample or not key:
        return _form(request, index, {})
    text = await bounded(request, lambda: _sample(index_of(request, key), key))
    return _form(request, key, {"text": text})


def _sample(opened: OpenIndex, key: str) -> str:
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
    # Every character of a text may be written as an escape of twelve.
    form = await request.form(max_part_size=12 * LONGEST_TEXT)
    given = {name: str(value) for name, value in form.items() if name != "kinds"}
    # Browsers send line ends of their own.
    text = given.get("text", "").replace("\r\n", "\n")
    kinds = [str(kind) for kind in form.getlist("kinds")]
    try:
        settings = _settings(given, kinds)
        identity = await bounded(request, keep_text, state(request).workspace.store, text)
    except RoteError as error:
        return _form(request, given.get("index", ""), {**given, "kinds": kinds}, str(error))
    chosen = {**settings, "index": given.get("index", ""), "relax": given.get("relax", "")}
    return RedirectResponse(link(f"/trace/{identity}", **chosen), 303)


@router.get("/trace/{identity}", include_in_schema=False)
async def trace_page(
    request: Request,
    identity: str,
    index: str = "",
    view: View = "matches",
    relax: Annotated[int, Query(ge=1, le=_MOST_RELAXED)] = 1,
) -> Response:
    key = index or next(iter(state(request).workspace.indexes), "")
    options = _options(request.query_params)

    def work() -> dict[str, Any]:
        text, opened = kept_text(state(request).workspace.store, identity), index_of(request, key)
        possible, lacking = _possible(opened, options)
        held = _held(request, opened, text, possible, relax)
        found: dict[str, Any] = {"why": held.why, "text": text}
        if view == "matches" or held.judged is None:
            return found | {
                "summary": views.summary(held.judged, held.traced),
                "notes": [*lacking, *held.traced.notes],
                "matches": views.matches(held.traced, key),
            }
        fragments = held.judged.fragments
        return found | {
            "notes": held.judged.notes,
            "paragraphs": views.fragment_paragraphs(text, fragments),
            "citations": views.citations(text, fragments, key),
            "min_words": _least(possible),
            **views.verdicts(held.judged),
        }

    found = await bounded(request, work)
    asked = {n: v for n, v in request.query_params.items() if n not in ("view", "kinds", "index")}
    asked |= {"index": key, "kinds": ",".join(options.kinds)}
    found["api"] = link(f"/api/trace/{identity}", **asked)
    found["whole"] = link(f"/trace/{identity}/page", **asked)
    return page(
        request,
        "trace_text.html",
        key=key,
        view=view,
        relax=relax,
        identity=identity,
        kinds=options.kinds or KINDS,
        fields=forms.filled(_OFFERED, request.query_params),
        all_kinds=KINDS,
        unlikely=UNLIKELY,
        **found,
    )


@router.get("/trace/{identity}/page", include_in_schema=False)
async def trace_saved(request: Request, identity: str, index: str) -> Response:
    """The matches as one page for itself, as `rote trace -o page.html` writes it."""
    options = _options(request.query_params)

    def work() -> str:
        text, opened = kept_text(state(request).workspace.store, identity), index_of(request, index)
        possible, _ = _possible(opened, options)
        return saved_page(_traced(request, opened, text, possible), f"A text against {index}")

    return Response(
        (await bounded(request, work)).encode("utf-8", "replace"),
        media_type="text/html; charset=utf-8",
        headers={"Content-Disposition": 'attachment; filename="trace.html"'},
    )


@router.post(
    "/api/trace",
    summary="Hold a text against an index: fragments, verdicts, matches and their sources",
    response_model=TraceAnswer,
)
async def trace_text(request: Request, question: Annotated[TraceQuestion, Body()]) -> Response:
    given = question.model_dump(exclude={"text", "index", "relax"})
    options = _checked(TraceOptions(**{**given, "kinds": tuple(question.kinds)}))

    def find(opened: OpenIndex) -> dict[str, Any]:
        identity = keep_text(state(request).workspace.store, question.text)
        held = _held(request, opened, question.text, options, question.relax)
        return {"id": identity, **_answer(held, question.relax)}

    return await answered(request, question.index, find)


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
    options = _options(request.query_params)

    def find(opened: OpenIndex) -> dict[str, Any]:
        text = kept_text(state(request).workspace.store, identity)
        return {"id": identity, **_answer(_held(request, opened, text, options, relax), relax)}

    return await answered(request, index, find)


def _form(request: Request, index: str, given: Mapping[str, Any], problem: str = "") -> Response:
    return page(
        request,
        "trace.html",
        400 if problem else 200,
        key=index,
        given=given,
        problem=problem,
        longest=LONGEST_TEXT,
        all_kinds=KINDS,
        kinds=given.get("kinds", KINDS),
        fields=forms.filled(_OFFERED, given),
        relax=given.get("relax", "1"),
        sample=link("/trace", sample="true", index=index),
    )


def _settings(given: Mapping[str, str], kinds: list[str]) -> dict[str, Any]:
    """What differs from the defaults, checked, as an address carries it."""
    _checked(TraceOptions(**_chosen(given), kinds=tuple(kinds)))
    written = {one: given.get(one.name, one.default).strip() for one in _OFFERED}
    named = {one.name: text for one, text in written.items() if text != one.default}
    return named | ({"kinds": ",".join(kinds)} if set(kinds) not in ({*KINDS}, set()) else {})


def _options(given: Any) -> TraceOptions:
    # A form names each kind by itself, an address all of them at once.
    kinds = tuple(part for part in ",".join(given.getlist("kinds")).split(",") if part)
    return _checked(TraceOptions(**_chosen(given), kinds=kinds))


def _chosen(given: Mapping[str, str]) -> dict[str, Any]:
    """What was given, or where the app begins."""
    usual = {name: forms.written(value) for name, value in _START.items()}
    return forms.read(_OFFERED, {**usual, **dict(given)})


def _possible(opened: OpenIndex, options: TraceOptions) -> tuple[TraceOptions, list[str]]:
    """The kinds that the index can match: in the form all are ticked at first, so a kind that
    stayed ticked was not asked for by name."""
    asked = options.kinds or KINDS
    rest = tuple(kind for kind in asked if kind != LEMMA)
    if LEMMA not in asked or not rest or LEMMA_LAYER in opened.index.sorted_layers:
        return options, []
    return replace(options, kinds=rest), ["no lemma matches: the index has no layer 'lemma'"]


def _checked(options: TraceOptions) -> TraceOptions:
    for name, most in _MOST.items():
        value = getattr(options, name)
        if value > most or (name == "limit" and value == 0):
            raise OptionError(f"{name} is at most {most:,} here, and {value:,} was asked for")
    return options


def _held(
    request: Request, opened: OpenIndex, text: str, options: TraceOptions, relax: int
) -> Held:
    """What is asked again is remembered, as long as the index has not grown."""
    traced = _traced(request, opened, text, options)
    try:
        ground = opened.once("ground", lambda: ground_of(opened.index))
    except OptionError as error:
        # Without the layer that sentences are judged by, matches are still worth showing.
        return Held(traced, None, str(error))
    least, chance, edges = _least(options), Originality().chance, rule_for(opened.index)
    flagged = opened.once(
        ("held out", relax, least),
        lambda: judge_held_out(ground, edges, relax=relax, min_words=least, chance=chance),
    )
    found = state(request).recent.get(
        ("judged", *_asked(opened), text, relax, least),
        lambda: judged(ground, text, flagged, relax=relax, min_words=least, chance=chance),
    )
    return Held(traced, found, "")


def _least(options: TraceOptions) -> int:
    """Words of a fragment that needs a citation: as of a match, but one word is no fragment."""
    return max(MIN_FRAGMENT, options.min_words)


def _traced(request: Request, opened: OpenIndex, text: str, options: TraceOptions) -> Trace:
    def made() -> Trace:
        return trace(opened.index, open_corpus([Document("text", text)]), options)

    return state(request).recent.get(("trace", *_asked(opened), text, options), made)


def _asked(opened: OpenIndex) -> tuple[str, str, int]:
    """The index, and the state that it is in."""
    return str(opened.index.path), opened.manifest.fingerprint, opened.manifest.generation


def _answer(held: Held, relax: int) -> dict[str, Any]:
    traced, found = held.traced, held.judged
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
        "coverage": {str(n): share for n, share in found.coverage.items()} if found else {},
        "creativity": found.creativity if found else math.nan,
        "found": traced.span_counts,
        "spans": spans,
        "sentences": found.sentences if found else [],
        "failing_by_chance": found.by_chance if found else math.nan,
        "fragments": [asdict(one) for one in found.fragments] if found else [],
        "notes": [*traced.notes, *(found.notes if found else [held.why])],
    }
