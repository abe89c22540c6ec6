"""What the commands on an index share: opening it, and checking the layers that are asked for."""

from __future__ import annotations

import shlex
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click

from rote.cli._output import SummaryOptions, as_json
from rote.cli._progress import TerminalReporter
from rote.core.errors import InputError, OptionError, UnknownName
from rote.core.metric import engine_option, option
from rote.core.progress import several as several
from rote.index.folders.options import BuildOptions

if TYPE_CHECKING:
    from rote.annotate.store import Store
    from rote.corpus import Corpus, ReadOptions
    from rote.index.folders.build import Written
    from rote.index.folders.estimate import Plan
    from rote.index.folders.manifest import Manifest
    from rote.index.index import Index


def index_argument() -> click.Argument:
    return click.Argument(["idx"], metavar="IDX", type=click.Path(path_type=Path))


def opened(path: Path, reporter: TerminalReporter, engine: str | None) -> Index:
    """The index at this path, asked by an engine where one is named."""
    from rote.index.opening import open_index
    from rote.index.spread import Spread
    from rote.run import get

    index = open_index(path, reporter)
    return index if engine is None else Spread(index, get(engine))


def source_of(
    inputs: Sequence[str], index: Path, read: ReadOptions, reporter: TerminalReporter
) -> Corpus | Store:
    """What an index is built from: anything that can be read, or a store of `rote annotate`."""
    from rote.annotate import store
    from rote.corpus import is_address, open_corpus, place_of
    from rote.index.folders.source import check_inputs

    paths = [Path(name) for name in inputs if not is_address(name)]
    check_inputs(paths, index)
    if len(inputs) == 1 and paths and store.is_store(paths[0]):
        return store.open_store(paths[0])
    corpus = open_corpus([place_of(name) for name in inputs], read)
    for line in corpus.guesses:
        reporter.say(line)
    return corpus


def lines_of(path: Path, what: str) -> list[tuple[int, str]]:
    """The lines of a file, or of standard input, that say something, with their numbers."""
    try:
        with click.open_file(str(path), encoding="utf-8-sig") as file:
            lines = [line.rstrip("\n") for line in file]
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        raise InputError(f"the {what} cannot be read ({why})", file=str(path)) from None
    return [(number, line) for number, line in enumerate(lines, 1) if line.strip()]


def check_layers(index: Index, names: Sequence[str]) -> None:
    """Refuse a layer that the index does not have, and say how it gets there."""
    from rote.annotate import annotators
    from rote.index.folders.manifest import MANIFEST

    assert index.manifest is not None
    for name in names:
        if name in index.layers or not index.segments:
            continue
        file = (index.path or Path()) / MANIFEST
        can_be_made = annotators.get_recorded(index.manifest.annotator, file).gives
        if name not in can_be_made:
            raise UnknownName("layer of the index", name, {*index.layers, *can_be_made})
        raise OptionError(
            f"{index.path} has no layer '{name}', only {', '.join(index.layers)}. "
            f"Add it with: rote index add-layer {shlex.quote(str(index.path))} {name}"
        )


def about(index: Index) -> dict[str, Any]:
    """What JSON says of the index that was asked."""
    assert index.manifest is not None
    told = ("signature", "fingerprint", "documents", "words")
    return {"index": str(index.path), **{name: getattr(index.manifest, name) for name in told}}


@dataclass(frozen=True, slots=True)
class UseOptions:
    """What a command that changes an index may use."""

    SECTION: ClassVar[str] = "Index"
    memory: int = option(BuildOptions().memory, "Memory that may be used")
    jobs: int = option(1, "How many cores to use; results do not depend on it")
    engine: str | None = engine_option()


def carry_out(
    work: Callable[[], Written | Manifest],
    path: Path,
    options: SummaryOptions,
    reporter: TerminalReporter,
    plan: Plan | None = None,
) -> None:
    """Say what is expected, change the index at `path`, and say in a line what became of it."""
    from rote.index.folders.build import Written

    for line in plan.lines() if plan else ():
        reporter.say(line)
    start = time.monotonic()
    written, added, removed = work(), None, None
    seconds = time.monotonic() - start
    if isinstance(written, Written):
        added, removed = written.added, written.removed
        for line in written.problems.listed():
            reporter.say(line)
    held = describe(path, reporter)
    if options.json:
        counted = {"added": added, "removed": removed}
        new = {name: number for name, number in counted.items() if number is not None}
        click.echo(as_json({**held, **new, "seconds": seconds}), nl=False)
        return
    line = f"{path}: {several(held['documents'], 'document')}, {several(held['words'], 'word')}"
    if removed is not None:
        line += f" ({several(removed, 'document')} removed, {added:,} new)"
    elif added is not None and added != held["documents"]:
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
        "form": manifest.form,
        "generation": manifest.generation,
        "annotator": manifest.annotator,
        "signature": manifest.signature,
        "subwords": {each.layer: each.signature for each in manifest.subwords},
        "fingerprint": manifest.fingerprint,
        "author_field": manifest.author_field,
        "documents": manifest.documents,
        "words": manifest.words,
        "authors": len(_labels(index, "author")),
        "sources": dict(
            sorted(_labels(index, "source").items(), key=lambda pair: (-pair[1], pair[0]))
        ),
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
