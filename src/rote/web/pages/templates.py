"""What the page Templates shows of a result: sources, templates, one of them in context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rote.core.errors import UnknownName
from rote.core.result import Result
from rote.web.files import file_name
from rote.web.indexes import OpenIndex
from rote.web.pages.search import top_view

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
        for name, held in result.sources.items()
    ]


def templates(result: Result, source: str) -> list[dict[str, Any]]:
    """A source's templates with their share of its texts and what they read like."""
    if source not in result.sources:
        raise UnknownName("source", source, result.sources)
    texts = result.sources[source].texts
    read: dict[str, list[Row]] = {}
    for row in result.tables["matches"]:
        if row["source"] == source:
            read.setdefault(row["template"], []).append(row)
    return [
        {
            **{name: row[name] for name in ("rank", "template", "count", "texts", "counts")},
            "share": row["texts"] / texts if texts else float("nan"),
            "log_odds": row["log_odds"],
            "p_corrected": row["p_corrected"],
            "read": [one["text"] for one in read.get(row["template"], ())[:_MATCHES]],
        }
        for row in result.tables["templates"]
        if row["source"] == source
    ]


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
