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


def examples(
    result: Result, source: str, template: str, files: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Sentences that hold a template, cut at its edges."""
    found = []
    for row in result.tables["examples"]:
        if row["source"] != source or row["template"] != template:
            continue
        first, last = row["start"] - row["sentence_start"], row["end"] - row["sentence_start"]
        sentence = row["sentence"]
        found.append(
            {
                "id": row["id"],
                "file": file_name(row["file"], files) if "file" in row else "",
                "before": sentence[:first],
                "match": sentence[first:last],
                "after": sentence[last:],
            }
        )
    return found


def readings(result: Result, source: str, template: str) -> list[Row]:
    """The words that stand where a template stands, the most frequent first."""
    return [
        row
        for row in result.tables["matches"]
        if row["source"] == source and row["template"] == template
    ]


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


def known_templates(rows: Sequence[Row], template: str) -> None:
    """Refuse a template that is none of these."""
    names = [row["template"] for row in rows]
    if template not in names:
        raise UnknownName("template", template, names)
