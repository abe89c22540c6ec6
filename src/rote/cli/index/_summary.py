"""What the commands of `rote index` say before and after: the plan, and the index as it is."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rote.cli._listing import SummaryOptions, as_json
from rote.cli._progress import TerminalReporter
from rote.core.progress import several as several

if TYPE_CHECKING:
    from rote.index.folders.build import Written
    from rote.index.folders.estimate import Plan
    from rote.index.index import Index


def carry_out(
    work: Callable[[], Written],
    plan: Plan,
    path: Path,
    summary: SummaryOptions,
    reporter: TerminalReporter,
) -> None:
    """Say what is expected, write to the index at `path`, and say what became of it."""
    from rote.core.compiling import say_if_compiling

    for line in plan.lines():
        reporter.say(line)
    say_if_compiling(reporter, "rote.index.sorting.radix")
    start = time.monotonic()
    written = work()
    spent = time.monotonic() - start
    for line in written.problems.listed():
        reporter.say(line)
    summarize(path, written.added, spent, summary, reporter)


def describe(path: Path, reporter: TerminalReporter) -> dict[str, Any]:
    """All that is to be known of an index, as JSON holds it."""
    from rote.index.folders.manifest import FORMAT
    from rote.index.opening import open_index

    index = open_index(path, reporter)
    manifest = index.manifest
    assert manifest is not None
    sizes: Counter[str] = Counter()
    for listed in manifest.segments:
        for part in listed.parts:
            sizes[part.name if part.kind == "layer" else f" {part.kind}"] += part.bytes
    return {
        "index": str(path),
        "format": FORMAT,
        "generation": manifest.generation,
        "annotator": manifest.annotator,
        "signature": manifest.signature,
        "subwords": {each.layer: each.signature for each in manifest.subwords},
        "fingerprint": manifest.fingerprint,
        "author_field": manifest.author_field,
        "documents": manifest.documents,
        "words": manifest.words,
        "authors": len(_labels(index, "author")),
        "sources": _by_size(_labels(index, "source")),
        "bytes": manifest.bytes,
        "layers": [
            {"layer": name, "sorted": name in manifest.sorted_layers}
            | _layer(index, name, sizes[name])
            for name in manifest.layers
        ],
        "text_bytes": sizes[" documents"],
        "segments": [
            {
                "name": listed.name,
                "documents": listed.record.documents,
                "words": listed.record.tokens,
                "bytes": sum(part.bytes for part in listed.parts),
            }
            for listed in manifest.segments
        ],
    }


def summarize(
    path: Path,
    added: int | None,
    seconds: float,
    options: SummaryOptions,
    reporter: TerminalReporter,
) -> None:
    """One line on the index as it is now; `added` says how many documents are new in it."""
    held = describe(path, reporter)
    if options.json:
        new = {} if added is None else {"added": added}
        click.echo(as_json({**held, **new, "seconds": seconds}), nl=False)
        return
    line = f"{path}: {several(held['documents'], 'document')}, {several(held['words'], 'word')}"
    if added is not None and added != held["documents"]:
        line += f" ({several(added, 'document')} new)"
    elif added and seconds:
        line += f", {held['words'] / seconds:,.0f} words/s"
    shown = [
        f"{layer['layer']} {layer['bytes_per_item']:.1f}"
        for layer in held["layers"]
        if layer["bytes_per_item"] is not None
    ]
    if shown:
        line += f", bytes per token: {', '.join(shown)}"
    click.echo(f"{line}; {size(held['bytes'])} in {several(len(held['segments']), 'segment')}")


def size(number: float) -> str:
    """Bytes for people: 1.2 GB."""
    for unit, name in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if number >= unit:
            return f"{number / unit:.3g} {name}"
    return f"{number} bytes"


def _layer(index: Index, name: str, held: int) -> dict[str, Any]:
    columns = index.columns(name)
    items = sum(column.items for column in columns)
    strings: set[str] = set()
    if len(columns) > 1:
        strings.update(*(column.vocabulary.strings()[1:] for column in columns))
    return {
        "items": items,
        "vocabulary": len(strings) or sum(len(column.vocabulary) - 1 for column in columns),
        "bytes": held,
        "bytes_per_item": held / items if items else None,
    }


def _labels(index: Index, field: str) -> Counter[str]:
    """How many documents each author or source has; those without one are left out."""
    import numpy as np

    found: Counter[str] = Counter()
    for segment in index.segments:
        labels = getattr(segment.documents, field)
        documents = np.bincount(labels.numbers, minlength=len(labels.vocabulary))
        found.update(dict(zip(labels.vocabulary.strings()[1:], documents[1:].tolist())))
    return +found


def _by_size(labels: Counter[str]) -> dict[str, int]:
    return dict(sorted(labels.items(), key=lambda pair: (-pair[1], pair[0])))
