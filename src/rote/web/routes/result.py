"""A report down to single texts; answers to one prompt side by side; files to download."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from rote.annotate import annotators
from rote.core.document import Document
from rote.core.errors import InputError, OptionError, RoteError, UnknownName
from rote.core.evidence import Mark
from rote.core.layer import Layer, starts_of
from rote.core.result import Result
from rote.core.sample import some_texts
from rote.index.index import Index
from rote.index.segments.writers import build_layer_segment
from rote.report.export import results_csv, rows_csv, values_csv
from rote.report.fragments import render_text
from rote.report.grid import round_number
from rote.report.options import check_across
from rote.report.output import html_page
from rote.report.texts.highlight import MarkedPiece, mark_paragraphs
from rote.web.app import app_state, run_in_pool
from rote.web.database import MAX_OFFSET
from rote.web.files import MAX_TEXT, Reader, file_name, fingerprint, preview_file, read_batches
from rote.web.form_fields import form_from_json
from rote.web.forms import RunForm, find_record, form_address, text_reader
from rote.web.history import History, HistoryEntry
from rote.web.render import measure_title, query_string, render_page, text_address
from rote.web.stored_results import find_text, mark_templates, open_files, result_sections
from rote.web.workspace import Workspace

SET_FIELDS = ("doc_id", "prompt", "instruction", "question", "input")
"""Fields that texts share which answer the same."""
_PROMPT_FIELDS = ("prompt", "instruction", "question", "input")
MAX_ANSWER = 60_000
"""Characters of an answer that are shown and compared."""
MAX_ANSWERS = 24
"""Answers of a set that are shown."""
MIN_RUN = 5
_MAX_RUNS = 50

Run = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SetAnswer:
    source: str
    id: str
    file: str


@dataclass(frozen=True, slots=True)
class AnswerSets:
    """The sets of some files, in their order, each by what its texts share."""

    field: str
    answers: Mapping[str, Sequence[SetAnswer]]

    def around(self, key: str) -> tuple[str | None, str | None]:
        keys = list(self.answers)
        if key not in self.answers:
            raise UnknownName("set of answers", key, keys[:3])
        at = keys.index(key)
        return (keys[at - 1] if at else None, keys[at + 1] if at + 1 < len(keys) else None)


def find_sets(
    files: Mapping[str, Path], by: Sequence[str], read: Reader = read_batches
) -> AnswerSets:
    """Texts by what they answer; those that nobody else answers are left out."""
    by_field: dict[str, dict[str, list[SetAnswer]]] = {name: {} for name in SET_FIELDS}
    several = len(files) > 1 or any(path.is_dir() for path in files.values())
    for batch in chain.from_iterable(map(read, files.values())):
        file = file_name(batch.file, files) if several else ""
        for document in batch.documents:
            answer = SetAnswer(document_source(document, by, batch.label), document.id, file)
            for name in SET_FIELDS:
                if (value := document.meta.get(name)) is not None:
                    by_field[name].setdefault(str(value), []).append(answer)
    for name, sets in by_field.items():
        shared = {
            key: answers for key, answers in sets.items() if len({a.source for a in answers}) > 1
        }
        if shared:
            return AnswerSets(name, shared)
    raise InputError(
        f"no two of these texts answer the same: they share no {', '.join(SET_FIELDS[:-1])} or "
        f"{SET_FIELDS[-1]}"
    )


def document_source(document: Document, by: Sequence[str], label: str) -> str:
    """As measures name it."""
    return "|".join(str(document.meta.get(name, "")) for name in by) if by else label


def read_answers(
    files: Mapping[str, Path], answers: Sequence[SetAnswer], read: Reader = read_batches
) -> list[Document]:
    wanted = {(answer.file, answer.id): place for place, answer in enumerate(answers)}
    several = any(answer.file for answer in answers)
    documents: dict[int, Document] = {}
    for path in files.values():
        for batch in read(path):
            file = file_name(batch.file, files) if several else ""
            for document in batch.documents:
                if (place := wanted.get((file, document.id))) is not None:
                    documents.setdefault(place, document)
        if len(documents) == len(answers):
            break
    if len(documents) < len(answers):
        raise InputError("the files have changed since", remedy="Measure them again")
    return [documents[place] for place in range(len(answers))]


def document_prompt(meta: Mapping[str, Any]) -> str:
    return next((str(meta[name]) for name in _PROMPT_FIELDS if meta.get(name)), "")


def answer_columns(
    answers: Sequence[SetAnswer], documents: Sequence[Document], least: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The answers with their shared runs marked; and the runs, the longest first."""
    texts = [document.text[:MAX_ANSWER] for document in documents]
    numbers: dict[Run, int] = {}
    sharing: dict[Run, list[int]] = {}
    links = []
    for place, marks in enumerate(shared_runs(texts, least)):
        for run, mark in marks:
            numbers.setdefault(run, len(numbers) + 1)
            sharing[run] = sorted({place, *(int(source["place"]) for source in mark.sources)})
        links.append(marks)
    listed = []
    for run in sorted(numbers, key=lambda run: (-len(run), numbers[run])):
        sources = list(dict.fromkeys(answers[source].source for source in sharing[run]))
        about = {"number": numbers[run], "text": " ".join(run), "words": len(run)}
        listed.append({**about, "sources": sources})
    shown_columns = []
    for answer, document, text, marks in zip(answers, documents, texts, links):
        run_numbers = {(m.start, m.end): numbers[run] for run, m in marks}
        show = partial(_show_piece, run_numbers, answers)
        shown_columns.append(
            {
                "answer": answer,
                "paragraphs": mark_paragraphs(text, [m for _, m in marks], show),
                "cut": len(document.text) > MAX_ANSWER,
                "whole": document.text,
                "shared": sum(len(run) for run, _ in marks),
            }
        )
    return shown_columns, listed[:_MAX_RUNS]


def _show_piece(
    numbers: Mapping[tuple[int, int], int],
    answers: Sequence[SetAnswer],
    piece: MarkedPiece,
    first: bool,
) -> Mapping[str, Any]:
    if not piece.places:
        return {"run": None, "also": ""}
    mark = piece.places[0].mark
    also = dict.fromkeys(answers[int(source["place"])].source for source in mark.sources)
    return {"run": numbers[mark.start, mark.end], "also": ", ".join(also)}


def shared_runs(texts: Sequence[str], least: int) -> list[list[tuple[Run, Mark]]]:
    """The runs of at least so many words, of each text, that another has too; the longest first."""
    layer = _split_words(texts)
    single_texts = [{"lower": some_texts(layer, np.array([n]))} for n in range(len(texts))]
    segments = (build_layer_segment(text, sorted_layers=("lower",)) for text in single_texts)
    # Of every text, for all words of all texts: how many words from there on it has in a row.
    lengths_by_text = [Index([segment]).lengths(layer, "lower") for segment in segments]
    runs = []
    for place, (start, end) in enumerate(zip(starts_of(layer.text_ends), layer.text_ends)):
        lengths = {
            n: lengths_by_text[n][start:end].tolist() for n in range(len(texts)) if n != place
        }
        items, spans, marks = layer.items(place), layer.spans(place), []
        for first, last in _longest_runs(lengths.values(), least):
            run = tuple(items[first:last])
            holders = [holder for holder, known in lengths.items() if known[first] >= len(run)]
            sources = tuple({"place": holder} for holder in holders)
            characters = int(spans[first][0]), int(spans[last - 1][1])
            marks.append((run, Mark(*characters, " ".join(run), "shared", sources)))
        runs.append(marks)
    return runs


def _longest_runs(lengths_by_text: Iterable[Sequence[int]], least: int) -> list[tuple[int, int]]:
    """Where the runs that are marked begin and end: the longest, and others that are free."""
    runs = {
        (first, first + length)
        for lengths in lengths_by_text
        for first, length in enumerate(lengths)
        # One that begins before is found at its first word.
        if length >= least and not (first and lengths[first - 1] > length)
    }
    longest: list[tuple[int, int]] = []
    covered: set[int] = set()
    for first, last in sorted(runs, key=lambda run: (run[0] - run[1], run)):
        # Those before it are at least as long: one that overlaps it holds one of its ends.
        if first not in covered and last - 1 not in covered:
            longest.append((first, last))
            covered |= set(range(first, last))
    return sorted(longest)


def _split_words(texts: Sequence[str]) -> Layer:
    documents = [Document(str(n), text) for n, text in enumerate(texts)]
    layer = annotators.get()(documents, ("lower",)).layers["lower"]
    has_letters = [any(map(str.isalnum, word)) for word in layer.vocabulary]
    words = np.array(has_letters, np.bool_)[layer.ids]
    spans, text_ends = (layer.starts[words], layer.ends[words]), np.append(0, np.cumsum(words))
    ids, vocabulary = layer.ids[words], layer.vocabulary
    return Layer("lower", ids, vocabulary, *spans, text_ends[layer.text_ends])


router = APIRouter()
MinRun = Annotated[int, Query(ge=2, le=50)]


@router.get("/compare/side/{id}", include_in_schema=False)
async def side_page(request: Request, id: str, key: str = "", n: MinRun = MIN_RUN) -> Response:
    """`key`: what the answers share, their doc_id or prompt; without one the first set."""

    def work() -> dict[str, Any]:
        app = app_state(request)
        entry = app.history.get(id)
        files = open_files(app.workspace, entry.files)
        sets = known_sets(request, entry, files)
        chosen = key or next(iter(sets.answers))
        before, behind = sets.around(chosen)
        reference = str(_settings_of(entry).get("reference") or "")
        answers = sorted(sets.answers[chosen], key=lambda answer: answer.source != reference)
        answers = answers[:MAX_ANSWERS]
        read = text_reader(entry.kind, entry.settings, app.workspace)
        documents = read_answers(files, answers, read)
        columns, runs = answer_columns(answers, documents, n)
        return {
            "entry": entry,
            "key": chosen,
            "before": before,
            "behind": behind,
            "at": list(sets.answers).index(chosen) + 1,
            "total": len(sets.answers),
            "left_out": len(sets.answers[chosen]) - len(answers),
            "prompt": next(filter(None, (document_prompt(d.meta) for d in documents)), ""),
            "columns": columns,
            "runs": runs,
            "least": n,
            "longest_traced": MAX_TEXT,
        }

    return render_page(request, "compare_side.html", **await run_in_pool(request, work))


def known_sets(request: Request, entry: HistoryEntry, files: Mapping[str, Path]) -> AnswerSets:
    """Read once for each state of the files."""
    by = _settings_of(entry).get("by") or ()
    by = tuple(by.split(",") if isinstance(by, str) else by)
    cache_key = ("sets", entry.id, by, *map(fingerprint, files.values()))
    read = text_reader(entry.kind, entry.settings, app_state(request).workspace)
    return app_state(request).recent.get(cache_key, lambda: find_sets(files, by, read))


def grouping_fields(entry: HistoryEntry) -> tuple[str, ...]:
    by = _settings_of(entry).get("by") or ()
    return tuple(by.split(",")) if isinstance(by, str) else tuple(by)


def _settings_of(entry: HistoryEntry) -> Mapping[str, Any]:
    return entry.settings.get("settings") or entry.settings.get("options") or entry.settings


_ROWS = 50
_PIECE = 1000
_NAMED = ("source", "id", "words", "file")


@router.get("/compare/result/{id}", include_in_schema=False)
async def result_page(request: Request, id: str, found: str = "", across: str = "") -> Response:
    """`found`: the job that was asked for again, and had been done already. `across`: the field of
    the groups that is set side by side."""
    history = app_state(request).history

    def work() -> dict[str, Any]:
        entry = history.get(id)
        study = history.study(id)
        grouped = [result.by for result in study.results if len(result.by) > 1]
        fields = list(dict.fromkeys(name for by in grouped for name in by))
        check_across(across, fields)
        return {
            "entry": entry,
            "sections": result_sections(history, id, across),
            "fields": fields,
            "across": across or study.across,
            "texts": _text_links(history, id),
            "again": form_address(entry.kind, entry.settings),
            "sets": _has_sets(request, entry),
            "ledger": _ledger_address(app_state(request).workspace, entry),
            # It becomes a part of an address, which must not lead anywhere else.
            "found": found if found.isalnum() else "",
        }

    return render_page(request, "compare_result.html", **await run_in_pool(request, work))


def _ledger_address(opened: Workspace, entry: HistoryEntry) -> str:
    """Where the ledger is that the command wrote, if its files are still as they were."""
    if entry.kind != RunForm.kind:
        return ""
    try:
        form = form_from_json(RunForm, entry.settings)
        key = form.folder(opened).name if getattr(find_record(form.name), "ledger", "") else ""
    except RoteError:
        return ""
    return f"/ledger/{key}" if key in opened.all_ledgers() else ""


@router.get("/compare/result/{id}/texts", include_in_schema=False)
def texts_page(
    request: Request,
    id: str,
    place: int,
    source: str | None = None,
    sort: str | None = None,
    down: bool = False,
    page_number: Annotated[int, Query(alias="page", ge=1, le=MAX_OFFSET)] = 1,
) -> Response:
    history = app_state(request).history
    entry, results = history.get(id), history.results(id)
    result = _result_at(results, place)
    at = page_number
    rows, total = history.texts(
        id, place, source=source, sort=sort, descending=down, limit=_ROWS, offset=(at - 1) * _ROWS
    )
    places = history.text_places(id)
    names = list(rows[0]["numbers"]) if rows else []
    titles = value_titles(result)
    return render_page(
        request,
        "compare_texts.html",
        entry=entry,
        result=result,
        place=place,
        source=source,
        sources=places.get(place, []),
        others=[(other_name, measure_title(results[other_name].measure)) for other_name in places],
        first=(at - 1) * _ROWS,
        rows=[(row, [_number_text(row["numbers"].get(name)) for name in names]) for row in rows],
        columns=[(name, titles.get(name, name.replace("_", " "))) for name in names],
        sort=sort,
        down=down,
        at=at,
        pages=max(1, math.ceil(total / _ROWS)),
        total=total,
    )


@dataclass(frozen=True, slots=True)
class TextOrder:
    """The list that a text was chosen from, and its place there."""

    place: int | None = None
    of: str | None = None
    """The source whose texts are listed; none: all."""
    sort: str | None = None
    down: bool = False
    at: int = 0


@router.get("/compare/result/{id}/text", include_in_schema=False)
async def text_page(
    request: Request,
    id: str,
    source: str,
    text: str,
    file: str = "",
    place: int | None = None,
    of: str | None = None,
    sort: str | None = None,
    down: bool = False,
    at: Annotated[int, Query(ge=0, le=MAX_OFFSET)] = 0,
) -> Response:
    order = TextOrder(place, of, sort, down, at)
    data = await run_in_pool(request, _text_data, request, id, source, text, file, order)
    return render_page(request, "compare_text.html", source=source, text=text, file=file, **data)


def _text_data(
    request: Request, id: str, source: str, text: str, file: str, order: TextOrder
) -> dict[str, Any]:
    """The text itself is looked for in the files, which may be long."""
    history = app_state(request).history
    entry, results = history.get(id), history.results(id)
    problem, rendered, document = "", None, None
    try:
        opened = app_state(request).workspace
        read = text_reader(entry.kind, entry.settings, opened)
        document = find_text(open_files(opened, entry.files), text, file, read)
        rendered = render_text(mark_templates(document, source, results))
    except RoteError as error:
        problem = str(error)
    values = []
    for place, numbers in history.text(id, source, text, file).items():
        result = results[place]
        titles = value_titles(result)
        rows = [(titles.get(name, name), _number_text(number)) for name, number in numbers.items()]
        values.append((measure_title(result.measure), rows))
    before, behind = _neighbours(history, id, source, text, file, order)
    fields = document.meta.items() if document else ()
    return {
        "entry": entry,
        "shown": rendered,
        "whole": document.text if document and len(document.text) <= MAX_TEXT else "",
        "meta": [(name, str(value)[:500]) for name, value in fields if value is not None],
        "values": values,
        "problem": problem,
        "before": before,
        "behind": behind,
        "prompt": document_prompt(document.meta) if document else "",
        "beside": _other_answers(request, entry, document),
    }


def value_titles(result: Result) -> dict[str, str]:
    return {row["value"]: row["title"] for row in result.tables.get("values", ())}


def _neighbours(
    history: History, id: str, source: str, text: str, file: str, order: TextOrder
) -> tuple[str | None, str | None]:
    """The texts before and behind one in the list it was chosen from, or of its source."""
    if order.place is None:
        place = next((p for p, known in history.text_places(id).items() if source in known), None)
        if place is None:
            return None, None
        at = history.position(id, place, source, text, file)
        if at is None:
            return None, None
        order = TextOrder(place, source, at=at)
    assert order.place is not None
    listed: Any = {"source": order.of or None, "sort": order.sort, "descending": order.down}
    rows, _ = history.texts(id, order.place, **listed, limit=3, offset=max(0, order.at - 1))
    here = min(order.at, 1)
    # The address may be of another time: a place that holds another text now leads nowhere.
    if here >= len(rows) or (rows[here]["source"], rows[here]["id"]) != (source, text):
        return None, None

    def leads(step: int) -> str | None:
        if not 0 <= here + step < len(rows):
            return None
        return text_address(id, rows[here + step], **{**asdict(order), "at": order.at + step})

    return leads(-1), leads(1)


def _other_answers(
    request: Request, entry: HistoryEntry, document: Document | None
) -> dict[str, Any] | None:
    if document is None or not _has_sets(request, entry):
        return None
    try:
        sets = known_sets(request, entry, open_files(app_state(request).workspace, entry.files))
    except RoteError:
        return None  # nobody else answers it, which is no problem of this text
    key = str(document.meta.get(sets.field, ""))
    if key not in sets.answers:
        return None
    address = f"/compare/side/{entry.id}?{query_string({'key': key})}"
    return {"address": address, "others": len(sets.answers[key]) - 1}


def _has_sets(request: Request, entry: HistoryEntry) -> bool:
    """Whether records say what they answer; by a glimpse, since files may be long."""
    try:
        files = open_files(app_state(request).workspace, entry.files)
    except RoteError:
        return False
    return any(name in SET_FIELDS for path in files.values() for name in preview_file(path).fields)


@router.get("/compare/result/{id}/{name}", include_in_schema=False)
async def download_result(request: Request, id: str, name: str) -> Response:
    """The result as a file: result.json, values.csv or report.html."""
    content, kind = await run_in_pool(request, _result_file, app_state(request).history, id, name)
    stem, _, ending = name.partition(".")
    headers = {"Content-Disposition": f'attachment; filename="rote-{stem}-{id}.{ending}"'}
    return Response(content.encode("utf-8", "replace"), media_type=kind, headers=headers)


def _result_file(history: History, id: str, name: str) -> tuple[str, str]:
    """What a file holds, and what kind of file it is."""
    history.get(id)
    if name == "result.json":
        return history.study(id).to_json(), "application/json"
    if name == "values.csv":
        results = history.results(id)
        # A command that makes a data set has tables alone.
        csv_writer = values_csv if any(result.by_source for result in results) else results_csv
        return csv_writer(results), "text/csv; charset=utf-8"
    if name == "report.html":
        return html_page(history.study(id)), "text/html; charset=utf-8"
    raise UnknownName("file of a result", name, ("result.json", "values.csv", "report.html"))


@router.get("/compare/result/{id}/texts/values.csv", include_in_schema=False)
def download_texts(request: Request, id: str, place: int, source: str | None = None) -> Response:
    """The values of all texts, as they come: there may be many."""
    history = app_state(request).history
    _result_at(history.results(id), place)
    lines, kind = _csv_lines(history, id, place, source), "text/csv; charset=utf-8"
    headers = {"Content-Disposition": f'attachment; filename="rote-texts-{id}.csv"'}
    return StreamingResponse(lines, media_type=kind, headers=headers)


def _csv_lines(history: History, id: str, place: int, source: str | None) -> Iterator[str]:
    offset, names = 0, list[str]()
    while True:
        rows, _ = history.texts(id, place, source=source, limit=_PIECE, offset=offset)
        if rows and not offset:
            names = list(rows[0]["numbers"])
            yield rows_csv([(*_NAMED, *names)])
        yield rows_csv((*(row[n] for n in _NAMED), *map(row["numbers"].get, names)) for row in rows)
        if len(rows) < _PIECE:
            return
        offset += _PIECE


def _text_links(history: History, id: str) -> list[dict[str, Any]]:
    """For each measure with values per text: its sources, and their values, each a link."""
    results = history.results(id)
    measures = []
    for place, sources in history.text_places(id).items():
        result = results[place]
        first, _ = history.texts(id, place, limit=1)
        values = [
            # Some values are of a source as a whole; its texts can be seen, in no order.
            {**row, "sorted": row["value"] in first[0]["numbers"]}
            for row in result.tables.get("values", ())
        ]
        rows = []
        for source in sources:
            known = result.by_source.get(source)
            numbers = [known.values.get(row["value"]) if known else None for row in values]
            texts, cells = known.texts if known else None, list(map(_number_text, numbers))
            rows.append({"source": source, "texts": texts, "cells": cells})
        measures.append({"place": place, "measure": result.measure, "values": values, "rows": rows})
    return measures


def _result_at(results: Sequence[Result], place: int) -> Result:
    if not 0 <= place < len(results):
        raise OptionError(f"there is no measure number {place} in this result")
    return results[place]


def _number_text(number: float | None) -> str:
    return "–" if number is None else round_number(number)
