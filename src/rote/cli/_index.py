"""What the commands on an index share: opening it, and checking the layers that are asked for."""

from __future__ import annotations

import shlex
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import click

from rote.cli._output import SummaryOptions, as_json
from rote.cli._progress import TerminalReporter
from rote.core.errors import InputError, OptionError, UnknownName
from rote.core.metric import engine_option, option
from rote.core.progress import Reporter
from rote.core.progress import several as several
from rote.core.signature import option_settings
from rote.index.folders.options import BuildOptions

if TYPE_CHECKING:
    from rote.annotate.store import Store
    from rote.corpus import Corpus, Input, ReadOptions
    from rote.index.folders.build import IndexChange
    from rote.index.folders.manifest import Manifest
    from rote.index.folders.source import BuildEstimate
    from rote.index.index import Index


def index_argument() -> click.Argument:
    return click.Argument(["idx"], metavar="IDX", type=click.Path(path_type=Path))


def opened(index: Index | str | Path, reporter: Reporter, engine: str | None = None) -> Index:
    """The index, or the one at this path, asked by an engine where one is named."""
    from rote.index.factory import DistributedIndex, to_index
    from rote.run import get

    index = to_index(index, "index", reporter)
    return index if engine is None else DistributedIndex(index, get(engine))


def source_of(
    inputs: Input, index: Path | None, read: ReadOptions, reporter: Reporter
) -> Corpus | Store:
    """What an index is built from: anything that can be read, or a store of `rote annotate`."""
    from rote.annotate import store
    from rote.corpus import open_corpus
    from rote.index.folders.source import check_inputs

    paths = paths_of(inputs)
    check_inputs(paths, index)
    if len(paths) == 1 and store.is_store(paths[0]):
        return store.open_store(paths[0])
    corpus = open_corpus(inputs, read)
    for line in corpus.guesses:
        reporter.say(line)
    return corpus


def places_of(names: Sequence[str]) -> list[Path | str]:
    """What the shell names: in a list, strings would be texts."""
    from rote.corpus import place_of

    return [place_of(name) for name in names]


def paths_of(inputs: Input) -> list[Path]:
    """The files and folders that an input names: in a list, strings are texts."""
    from rote.corpus import place_of

    if isinstance(inputs, str):
        inputs = [place_of(inputs)]
    several = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    return [place for place in several if isinstance(place, Path)]


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

    for name in names:
        if name in index.layers or not index.segments:
            continue
        if index.manifest is None:
            raise UnknownName("layer of the index", name, index.layers)
        file = (index.path or Path()) / MANIFEST
        can_be_made = annotators.get_recorded(index.manifest.annotator, file).gives
        if name not in can_be_made:
            raise UnknownName("layer of the index", name, {*index.layers, *can_be_made})
        raise OptionError(
            f"{index.path} has no layer '{name}', only {', '.join(index.layers)}. "
            f"Add it with: rote index add-layer {shlex.quote(str(index.path))} {name}"
        )


def about(index: Index) -> dict[str, Any]:
    if index.manifest is None:
        facts = {"documents": index.documents_held, "words": index.items_held()}
        return {"index": "in memory", "signature": index.recipe.signature, **facts}
    properties = ("signature", "fingerprint", "documents", "words")
    facts = {name: getattr(index.manifest, name) for name in properties}
    return {"index": str(index.path), **facts}


def signed(index: Index, options: Any) -> dict[str, Any]:
    """What an answer of the index depends on, for its signature."""
    from rote.search.backends.rote import index_signature

    return {**option_settings(options), "corpus": index_signature(index)}


@dataclass(frozen=True, slots=True)
class UseOptions:
    """What a command that changes an index may use."""

    SECTION: ClassVar[str] = "Index"
    memory: int = option(BuildOptions().memory, "Memory that may be used", size=True)
    jobs: int = option(1, "Number of cores; results do not depend on it")
    engine: str | None = engine_option()


Change: TypeAlias = "Callable[[], IndexChange | Manifest | Index]"


def changed(path: Path, work: Change) -> Index:
    """Do what changes the index at `path`, and open it as it is then."""
    from rote.index.factory import open_index

    work()
    return open_index(path)


def carry_out(
    work: Change,
    path: Path,
    options: SummaryOptions,
    reporter: TerminalReporter,
    plan: BuildEstimate | None = None,
) -> None:
    """Say what is expected, change the index at `path`, and say in a line what became of it."""
    from rote.index.folders.build import IndexChange

    for line in plan.lines() if plan else ():
        reporter.say(line)
    start = time.monotonic()
    change, added, removed = work(), None, None
    seconds = time.monotonic() - start
    if isinstance(change, IndexChange):
        added, removed = change.added, change.removed
        for line in change.problems.listed():
            reporter.say(line)
    facts = describe(path, reporter)
    if options.json:
        counted = {"added": added, "removed": removed}
        new = {name: number for name, number in counted.items() if number is not None}
        click.echo(as_json({**facts, **new, "seconds": seconds}), nl=False)
        return
    line = f"{path}: {several(facts['documents'], 'document')}, {several(facts['words'], 'word')}"
    if removed is not None:
        line += f" ({several(removed, 'document')} removed, {added:,} new)"
    elif added is not None and added != facts["documents"]:
        line += f" ({several(added, 'document')} new)"
    elif added and seconds:
        line += f", {facts['words'] / seconds:,.0f} words/s"
    filled = [layer for layer in facts["layers"] if layer["bytes_per_item"] is not None]
    if sizes := ", ".join(f"{each['layer']} {each['bytes_per_item']:.1f}" for each in filled):
        line += f", bytes per token: {sizes}"
    click.echo(f"{line}; {size(facts['bytes'])} in {several(len(facts['segments']), 'segment')}")


def describe(path: Path, reporter: Reporter) -> dict[str, Any]:
    from rote.index.factory import open_index

    index = open_index(path, reporter)
    manifest = index.manifest
    assert manifest is not None
    sizes: Counter[str] = Counter()
    for listed in manifest.segments:
        for part in listed.parts:
            sizes[part.name if part.kind == "layer" else f" {part.kind}"] += part.bytes
    sources = sorted(_labels(index, "source").items(), key=lambda pair: (-pair[1], pair[0]))

    def facts(names: str) -> dict[str, Any]:
        return {name: getattr(manifest, name) for name in names.split()}

    return {
        "index": str(path),
        "format": manifest.version,
        **facts("form generation annotator signature"),
        "subwords": {each.layer: each.signature for each in manifest.subwords},
        **facts("fingerprint author_field documents words"),
        "authors": len(_labels(index, "author")),
        "sources": dict(sources),
        "bytes": manifest.bytes,
        "layers": [
            {"layer": name, "sorted": name in manifest.sorted_layers}
            | _layer(index, name, sizes[name])
            for name in manifest.layers
        ],
        **_meanings(index, sizes[" meanings"]),
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


def _layer(index: Index, name: str, item_count: int) -> dict[str, Any]:
    columns = index.columns(name)
    items = sum(column.items for column in columns)
    strings: set[str] = set()
    if len(columns) > 1:
        strings.update(*(column.vocabulary.strings()[1:] for column in columns))
    return {
        "items": items,
        "vocabulary": len(strings) or sum(len(column.vocabulary) - 1 for column in columns),
        "bytes": item_count,
        "bytes_per_item": item_count / items if items else None,
    }


def _meanings(index: Index, size: int) -> dict[str, Any]:
    """The vectors of sentences, where there are some."""
    if index.meanings is None:
        return {}
    about = {"embedder": index.meanings.name, "signature": index.meanings.signature}
    per_word = size / index.items_held() if index.items_held() else None
    about_size = {"bytes": size, "bytes_per_word": per_word}
    return {"meanings": {**about, "sentences": index.sentences_held, **about_size}}


def _labels(index: Index, field: str) -> Counter[str]:
    """How many documents each author or source has; those without one are left out."""
    import numpy as np

    counts: Counter[str] = Counter()
    for segment in index.segments:
        labels = getattr(segment.documents, field)
        documents = np.bincount(labels.numbers, minlength=len(labels.vocabulary))
        counts.update(dict(zip(labels.vocabulary.strings()[1:], documents[1:].tolist())))
    return +counts
