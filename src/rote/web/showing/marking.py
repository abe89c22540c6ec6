"""One text in full, with the templates of its source marked in it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rote.core.document import Document
from rote.core.errors import InputError
from rote.core.result import Result
from rote.report.whole.study import Evidence, Mark
from rote.web.reading.glimpses import documents

_LONGEST = 200_000
"""Characters of a text that are shown."""


def find_text(paths: Sequence[Path], id: str) -> Document:
    """The text with this id; files are read until it comes."""
    for path in paths:
        for document in documents(path):
            if document.id == id:
                return document
    raise InputError(
        f"there is no text with the id '{id}' in these files any more",
        remedy="Were they changed since? Then measure them again",
    )


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
