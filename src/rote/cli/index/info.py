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
    held = describe(Path(index), reporter)
    rows = held.pop("layers")
    return Listing("layers", rows, list(rows[0]) if rows else [], held).result("index-info")


@command_of(__doc__, index_argument())
def command(idx: Path, options: SummaryOptions, reporter: TerminalReporter) -> None:
    from rote.report.tables.screen import plain_table
    from rote.report.terminal import facts_table

    held = describe(idx, reporter)
    if options.json:
        click.echo(as_json(held), nl=False)
        return
    console = printing_console()
    console.print(facts_table(_facts(held)))
    columns = {"layer": "left", "sorted": "left", "items": "right", "different": "right"}
    columns |= {"size": "right", "bytes per item": "right"}
    console.print(plain_table(columns, [_layer(layer) for layer in held["layers"]]))
    columns = {"segment": "left", "documents": "right", "words": "right", "size": "right"}
    rows = [
        (s["name"], f"{s['documents']:,}", f"{s['words']:,}", size(s["bytes"]))
        for s in held["segments"]
    ]
    if rows:
        console.print(plain_table(columns, rows))


def _facts(held: Mapping[str, Any]) -> dict[str, str]:
    return {
        "index": held["index"],
        "format": f"{held['format']}, {held['form']}, generation {held['generation']}",
        "annotator": held["signature"],
        **held["subwords"],
        "documents": f"{held['documents']:,}",
        "words": f"{held['words']:,}",
        "authors": f"{held['authors']:,} (field '{held['author_field']}')",
        "sources": _sources(held["sources"]),
        "texts": f"{size(held['text_bytes'])}, compressed, with ids, metadata and places",
        "on disk": f"{size(held['bytes'])} in {several(len(held['segments']), 'segment')}",
    }


def _sources(sources: Mapping[str, int]) -> str:
    named = [f"{name} ({documents:,})" for name, documents in list(sources.items())[:_NAMED]]
    more = f", and {len(sources) - _NAMED:,} more" if len(sources) > _NAMED else ""
    return f"{len(sources):,}: {', '.join(named)}{more}" if sources else "none"


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
