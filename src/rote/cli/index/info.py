"""Describe an index: who made it, its documents, layers and segments.

\b
  rote index info IDX
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from rote.cli._flags import command_of
from rote.cli._index import describe, index_argument, several, size
from rote.cli._output import Listing, SummaryOptions, as_json, printing_console
from rote.cli._progress import TerminalReporter
from rote.core.progress import Reporter
from rote.core.result import Result

_NAMED = 8
"""So many sources are named; of more, the largest."""


def index_info(index: str | Path, reporter: Reporter) -> Result:
    facts = describe(Path(index), reporter)
    rows = facts.pop("layers")
    return Listing("layers", rows, list(rows[0]) if rows else [], facts).result("index-info")


@command_of(__doc__, index_argument())
def command(idx: Path, options: SummaryOptions, reporter: TerminalReporter) -> None:
    from rote.report.screen import plain_table
    from rote.report.terminal import facts_table

    facts = describe(idx, reporter)
    if options.json:
        click.echo(as_json(facts), nl=False)
        return
    console = printing_console()
    console.print(facts_table(_facts(facts)))
    columns = {"layer": "left", "sorted": "left", "items": "right", "different": "right"}
    columns |= {"size": "right", "bytes per item": "right"}
    console.print(plain_table(columns, [_layer(layer) for layer in facts["layers"]]))
    columns = {"segment": "left", "documents": "right", "words": "right", "size": "right"}
    rows = [
        (s["name"], f"{s['documents']:,}", f"{s['words']:,}", size(s["bytes"]))
        for s in facts["segments"]
    ]
    if rows:
        console.print(plain_table(columns, rows))


def _meanings(about: Mapping[str, Any] | None) -> dict[str, str]:
    if about is None:
        return {}
    per_word = f", {about['bytes_per_word']:.1f} bytes per word" if about["sentences"] else ""
    sentences = several(about["sentences"], "sentence")
    return {"meanings": f"{about['signature']}, of {sentences}{per_word}"}


def _facts(facts: Mapping[str, Any]) -> dict[str, str]:
    return {
        "index": facts["index"],
        "format": f"{facts['format']}, {facts['form']}, generation {facts['generation']}",
        "annotator": facts["signature"],
        **facts["subwords"],
        **_meanings(facts.get("meanings")),
        "documents": f"{facts['documents']:,}",
        "words": f"{facts['words']:,}",
        "authors": f"{facts['authors']:,} (field '{facts['author_field']}')",
        "sources": _sources(facts["sources"]),
        "texts": f"{size(facts['text_bytes'])}, compressed, with ids, metadata and places",
        "on disk": f"{size(facts['bytes'])} in {several(len(facts['segments']), 'segment')}",
    }


def _sources(sources: Mapping[str, int]) -> str:
    largest = [f"{name} ({documents:,})" for name, documents in list(sources.items())[:_NAMED]]
    more = f", and {len(sources) - _NAMED:,} more" if len(sources) > _NAMED else ""
    return f"{len(sources):,}: {', '.join(largest)}{more}" if sources else "none"


def _layer(layer: Mapping[str, Any]) -> tuple[str, ...]:
    per_item = layer["bytes_per_item"]
    return (
        layer["layer"],
        "yes" if layer["sorted"] else "no",
        f"{layer['items']:,}",
        f"{layer['vocabulary']:,}",
        size(layer["bytes"]),
        "–" if per_item is None else f"{per_item:.2f}",
    )
