"""Annotate texts once, into a store that every measure can use.

Words, tags, lemmas, trees and entities go to the folder STORE; any measure takes it in place of a
file. An interrupted run goes on where it stopped. Layers of different annotators are not mixed.

\b
  rote annotate stories.jsonl -o STORE --layers lemma,pos
  rote annotate --list

--list shows the annotators: layers, licence, what they need, and accuracy as their model cards give
it; those of different tag sets do not compare.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import click

from rote.cli._flags import command_of
from rote.cli._progress import TerminalReporter
from rote.core.errors import OptionError
from rote.core.metric import engine_option, option
from rote.core.progress import duration, several
from rote.corpus import ReadOptions

# Measured on English novels and one core; only meant to plan by.
_BYTES_PER_WORD, _STORED_PER_WORD = 4.5, 8.5
_WORDS_PER_SECOND = {"with trees": 100_000, "without": 350_000}
_UNPACKED = {".gz": 3.0, ".zst": 3.5}


@dataclass(frozen=True, slots=True)
class AnnotateOptions:
    """What is annotated, how, and where it goes."""

    SECTION: ClassVar[str] = "Annotation"
    output: Path = option(
        Path("rote-store"), "The store's folder", short="-o", metavar="STORE", writes="folder"
    )
    annotator: str = option("rote", "Who annotates: rote, spacy:MODEL, stanza:LANG, given")
    layers: tuple[str, ...] = option(
        ("lower", "lemma", "upos", "pos", "dep", "shape", "entity"), "Layers to make, beside word"
    )
    jobs: int = option(1, "How many cores to use; results do not depend on it")
    engine: str | None = engine_option()
    list: bool = option(False, "List who can annotate here, and do nothing else")
    quiet: bool = option(False, "No progress bars and remarks", short="-q")


@command_of(__doc__, click.Argument(["inputs"], metavar="FILE...", nargs=-1))
def command(
    inputs: tuple[str, ...], options: AnnotateOptions, read: ReadOptions, reporter: TerminalReporter
) -> None:
    from rote.annotate import annotators, store
    from rote.corpus import open_corpus, place_of
    from rote.run import get

    if options.list:
        _list_annotators()
        return
    if not inputs:
        raise OptionError("nothing to annotate: name files, or --list who can annotate")
    engine = get(options.engine, options.jobs)
    annotator = annotators.get(options.annotator)
    corpus = open_corpus([place_of(name) for name in inputs], read)
    for line in corpus.guesses:
        reporter.say(line)
    words = sum(_bytes(Path(name)) for name in inputs) / _BYTES_PER_WORD or None
    if words and options.annotator == annotators.DEFAULT:
        trees = any(name.startswith("dep") for name in options.layers)
        seconds = words / _WORDS_PER_SECOND["with trees" if trees else "without"] / engine.jobs
        reporter.say(
            f"about {words / 1e6:,.1f} million words: about {duration(seconds)} on "
            f"{several(engine.jobs, 'core')}, "
            f"{words * _STORED_PER_WORD / 1e6:,.0f} MB on disk"
        )
    start = time.monotonic()
    made, problems = store.annotate(
        corpus,
        options.output,
        annotator,
        options.layers,
        engine=engine,
        reporter=reporter,
    )
    for line in problems.listed():
        reporter.say(line)
    spent = time.monotonic() - start
    click.echo(
        f"{made.path}: {several(made.documents, 'document')}, {several(made.words, 'word')}, "
        f"{made.words / spent:,.0f} words/s, by {made.signature}"
    )


def _list_annotators() -> None:
    from rich import box
    from rich.table import Table

    from rote.annotate import annotators
    from rote.cli._output import printing_console

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_lines=True)
    for title in ("annotator", "gives", "licence", "accuracy", "needs"):
        table.add_column(title, overflow="fold")
    for entry in annotators.entries():
        needs = entry.needs or "nothing"
        table.add_row(entry.name, ", ".join(entry.gives), entry.licence, entry.accuracy, needs)
    printing_console().print(table)


def _bytes(path: Path) -> float:
    return path.stat().st_size * _UNPACKED.get(path.suffix, 1.0) if path.is_file() else 0.0
