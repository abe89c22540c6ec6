"""What the commands on an index share: opening it, and checking the layers that are asked for."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rote.cli._progress import TerminalReporter
from rote.core.errors import OptionError, UnknownName

if TYPE_CHECKING:
    from rote.annotate.store import Store
    from rote.corpus import Corpus, ReadOptions
    from rote.index.index import Index


def index_argument() -> click.Argument:
    return click.Argument(["idx"], metavar="IDX", type=click.Path(path_type=Path))


def inputs_argument() -> click.Argument:
    return click.Argument(["inputs"], metavar="INPUT...", nargs=-1, required=True)


def opened(path: Path, reporter: TerminalReporter, kernels: str) -> Index:
    """The index at this path; says so if `kernels` have to be compiled for the first time."""
    from rote.core.compiling import say_if_compiling
    from rote.index.opening import open_index

    index = open_index(path, reporter)
    say_if_compiling(reporter, kernels)
    return index


def source_of(
    inputs: Sequence[str], index: Path, read: ReadOptions, reporter: TerminalReporter
) -> Corpus | Store:
    """What an index is built from: anything that can be read, or a store of `rote annotate`."""
    from rote.annotate import store
    from rote.corpus import open_corpus
    from rote.index.folders.source import check_inputs

    paths = [Path(name) for name in inputs]
    check_inputs(paths, index)
    if len(paths) == 1 and store.is_store(paths[0]):
        return store.open_store(paths[0])
    corpus = open_corpus(paths, read)
    for line in corpus.guesses:
        reporter.say(line)
    return corpus


def check_layers(index: Index, names: Sequence[str]) -> None:
    """Refuse a layer that the index does not have, and say how it gets there."""
    for name in names:
        if name in index.layers or not index.segments:
            continue
        can_be_made = _makeable(index)
        if name not in can_be_made:
            raise UnknownName("layer of the index", name, {*index.layers, *can_be_made})
        raise OptionError(
            f"{index.path} has no layer '{name}', only {', '.join(index.layers)}. "
            f"Add it with: rote index add-layer {shlex.quote(str(index.path))} {name}"
        )


def _makeable(index: Index) -> Sequence[str]:
    from rote.annotate import annotators

    assert index.manifest is not None
    return annotators.get(index.manifest.annotator).gives


def about(index: Index) -> dict[str, Any]:
    """What JSON says of the index that was asked."""
    manifest = index.manifest
    assert manifest is not None
    return {
        "index": str(index.path),
        "signature": manifest.signature,
        "fingerprint": manifest.fingerprint,
        "documents": manifest.documents,
        "words": manifest.words,
    }
