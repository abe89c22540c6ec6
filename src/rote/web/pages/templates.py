"""One text in full, with the templates of its source marked in it; and what the page Templates
shows of a result: sources, templates, one of them in context."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rote.annotate.legend import LEGEND
from rote.core.document import Document
from rote.core.errors import InputError, UnknownName
from rote.core.result import Result
from rote.core.table import defined
from rote.report.report import Evidence
from rote.report.texts.highlight import Mark
from rote.web.files import Reader, batches, file_name
from rote.web.indexes import OpenIndex
from rote.web.pages.search import top_view
from rote.web.workspace import Workspace

_LONGEST = 200_000
"""Characters of a text that are shown."""


def find_text(
    given: Mapping[str, Path], id: str, file: str = "", read: Reader = batches
) -> Document:
    """The text with this id in this file, which bears the name that `file_name` gives it.

    Where nobody knows the file, one text alone may have the id: another is not shown for it.
    """
    found: list[Document] = []
    for path in given.values():
        for batch in read(path):
            if not file or file_name(batch.file, given) == file:
                found += [document for document in batch.documents if document.id == id]
            if found and (file or (len(given) == 1 and not path.is_dir())):
                return found[0]
    if len(found) > 1:
        raise InputError(
            f"several of these files hold a text with the id '{id}', and which of them it was is "
            "not known",
            remedy="Measure them again",
        )
    if not found:
        raise InputError(
            f"there is no text with the id '{id}' in {file or 'these files'} any more",
            remedy="Were they changed since? Then measure them again",
        )
    return found[0]


def open_files(opened: Workspace, files: Mapping[str, str]) -> dict[str, Path]:
    """The files of a result, if they are open now: another of the same name will not do."""
    if not files:
        raise InputError("the texts of this result are not here: it was read from a file")
    for key, path in files.items():
        if key not in opened.all_files() or str(opened.file(key)) != path:
            raise InputError(
                f"'{key}' is not open now, so the text cannot be shown",
                remedy="Start `rote serve` with this file",
            )
    return {key: opened.file(key) for key in files}


def marked(document: Document, source: str, results: Sequence[Result]) -> Evidence:
    """The text, and every place in it where a template of its source stands."""
    text = document.text[:_LONGEST]
    found = next((one for one in results if one.measure == "templates"), None)
    marks = [] if found is None else _marks(text, source, found)
    return Evidence(
        section="templates",
        source=source,
        id=document.id,
        text=text,
        marks=marks,
        cut=len(document.text) > _LONGEST,
    )


def _marks(text: str, source: str, result: Result) -> list[Mark]:
    """The listed templates are looked up; the whole measure need not run again."""
    from rote.annotate import annotators

    chosen = {
        row["template"]: row
        for row in result.tables.get("templates", ())
        if row["source"] == source
    }
    layer_name = dict(result.signature.settings).get("layer", "")
    annotator = annotators.get()
    if not chosen or layer_name not in annotator.gives:
        return []
    layer = annotator([Document("0", text)], (layer_name,)).layers[layer_name]
    items, spans = layer.items(0), layer.spans(0)
    lengths = {len(name.split(" ")) for name in chosen}
    marks = []
    for size in sorted(lengths):
        for first in range(len(items) - size + 1):
            name = " ".join(items[first : first + size])
            if name in chosen:
                start, end = spans[first][0], spans[first + size - 1][1]
                marks.append(Mark(start, end, name, "template"))
    return marks


Row = Mapping[str, Any]
_MATCHES = 3
"""Readings of a template that are shown in the table."""


def sources(result: Result) -> list[dict[str, Any]]:
    """The values of each source, with their intervals."""
    return [
        {
            "source": name,
            "texts": held.texts,
            "words": held.words,
            **held.values,
            "intervals": {value: list(pair) for value, pair in held.intervals.items()},
        }
        for name, held in result.by_source.items()
    ]


def opening(result: Result) -> str:
    """The source that is shown first: a model, not what it is compared with; of several the one
    with most templates."""
    held = {name: one for name, one in result.by_source.items() if name != result.reference}

    def rate(name: str) -> float:
        found = held[name].values.get("rate", math.nan)
        return -math.inf if math.isnan(found) else found

    return max(held, key=rate) if held else next(iter(result.by_source))


def spelled(layer: str, template: str) -> str:
    """A run of tags in words."""
    known = LEGEND.get(layer, {})
    return ", ".join(known[tag][0] for tag in template.split() if tag in known)


def exported(result: Result) -> list[dict[str, Any]]:
    """The templates of every source as rows of a file."""
    layer = dict(result.signature.settings).get("layer", "")
    rows = []
    for source in result.by_source:
        for row in templates(result, source):
            own = {name: value for name, value in row.items() if name not in ("counts", "read")}
            said = {"meaning": spelled(layer, row["template"]), "read": " · ".join(row["read"])}
            rows.append({"source": source, **own, **said})
    return rows


def templates(result: Result, source: str) -> list[dict[str, Any]]:
    """A source's templates with their share of its texts and what they read like: those that set
    it apart from the reference first, without one the most frequent."""
    if source not in result.by_source:
        raise UnknownName("source", source, result.by_source)
    texts = result.by_source[source].texts
    read: dict[str, list[Row]] = {}
    for row in result.tables["matches"]:
        if row["source"] == source:
            read.setdefault(row["template"], []).append(row)
    rows = [
        {
            **{name: row[name] for name in ("rank", "template", "count", "texts", "counts")},
            "share": row["texts"] / texts if texts else float("nan"),
            "z": row["z"],
            "log_odds": row["log_odds"],
            "p_corrected": row["p_corrected"],
            "read": [one["text"] for one in read.get(row["template"], ())[:_MATCHES]],
        }
        for row in result.tables["templates"]
        if row["source"] == source
    ]
    # Log-odds are much the same for all that the reference lacks; z weighs how often they occur.
    return sorted(rows, key=lambda row: -row["z"] if defined(row["z"]) else math.inf)


def one_template(
    result: Result, source: str, template: str, rows: Sequence[Row], files: Mapping[str, str]
) -> dict[str, Any]:
    """Sentences that hold a template, cut at its edges, and the words that stand where it stands,
    the most frequent first."""
    names = [row["template"] for row in rows]
    if template not in names:
        raise UnknownName("template", template, names)

    def own(table: str) -> list[Row]:
        held = result.tables[table]
        return [row for row in held if (row["source"], row["template"]) == (source, template)]

    examples = []
    for row in own("examples"):
        first, last = row["start"] - row["sentence_start"], row["end"] - row["sentence_start"]
        sentence = row["sentence"]
        example = {"before": sentence[:first], "match": sentence[first:last]}
        file = file_name(row["file"], files) if "file" in row else ""
        examples.append({**example, "after": sentence[last:], "id": row["id"], "file": file})
    return {"examples": examples, "readings": own("matches")}


def of_index(opened: OpenIndex, key: str, layer: str, n: int, top: int) -> list[dict[str, Any]]:
    """The most frequent n-grams of an index's layer, each with the search that finds it."""
    documents = opened.manifest.documents
    return [
        {
            **row,
            "template": " ".join(row["items"]),
            "share": row["documents"] / documents
            if documents and row["documents"] is not None
            else None,
        }
        for row in top_view(opened, key, n, top, layer)
    ]
