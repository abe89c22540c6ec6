"""Add texts to an index; those it has already are skipped.

The new texts are annotated as the old ones were and become segments of their own;
`rote index merge` makes one segment of several.

\b
  rote index add IDX more.jsonl
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from rote.cli._flags import command_of, files_argument
from rote.cli._index import (
    Change,
    UseOptions,
    carry_out,
    changed,
    index_argument,
    places_of,
    source_of,
)
from rote.cli._output import SummaryOptions
from rote.cli._progress import TerminalReporter
from rote.core.progress import Reporter
from rote.corpus import Corpus, Input, ReadOptions
from rote.index.folders.options import BuildOptions

if TYPE_CHECKING:
    from rote.annotate.store import Store
    from rote.index.folders.build import IndexChange
    from rote.index.index import Index

TextsChange: TypeAlias = "Callable[..., IndexChange]"
"""Puts texts into the index at a path: adds them, or replaces those with the same ids."""


def _add(*where: Any, **how: Any) -> IndexChange:
    from rote.index.folders.build import add_to_index

    return add_to_index(*where, **how)


def index_add(
    index: str | Path, texts: Input, options: UseOptions, read: ReadOptions, reporter: Reporter
) -> Index:
    return change_texts(_add, Path(index), texts, options, read, reporter)


def change_texts(
    change: TextsChange,
    path: Path,
    texts: Input,
    options: UseOptions,
    read: ReadOptions,
    reporter: Reporter,
) -> Index:
    """Change the index at `path`, and open it as it is then."""
    from rote.index.folders.manifest import read_manifest

    read_manifest(path)
    source = source_of(texts, path, read, reporter)
    return changed(path, _work(change, path, source, options, reporter))


def texts_command(help: str | None, change: TextsChange) -> click.Command:
    """`rote index NAME IDX INPUT...`"""

    @command_of(help, index_argument(), files_argument(metavar="INPUT..."))
    def command(
        idx: Path,
        inputs: tuple[str, ...],
        options: UseOptions,
        read: ReadOptions,
        summary: SummaryOptions,
        reporter: TerminalReporter,
    ) -> None:
        from rote.index.folders.manifest import read_manifest
        from rote.index.folders.source import estimate_build

        manifest = read_manifest(idx)
        source = source_of(places_of(inputs), idx, read, reporter)
        subwords = {each.layer: f"{each.layer}:{idx / each.file}" for each in manifest.subwords}
        as_built = BuildOptions(
            layers=tuple(subwords.get(name, name) for name in manifest.sorted_layers),
            annotator=manifest.annotator,
            author_field=manifest.author_field,
            memory=options.memory,
            compact=manifest.is_compact,
            jobs=options.jobs,
            engine=options.engine,
        )
        work = _work(change, idx, source, options, reporter)
        carry_out(work, idx, summary, reporter, estimate_build(source, as_built))

    return command


def _work(
    change: TextsChange, path: Path, source: Corpus | Store, options: UseOptions, reporter: Reporter
) -> Change:
    return partial(
        change,
        path,
        source,
        memory=options.memory,
        jobs=options.jobs,
        engine=options.engine,
        reporter=reporter,
    )


command = texts_command(__doc__, _add)
