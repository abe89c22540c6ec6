"""Annotate texts once, into a store that every measure can use.

Words, tags, lemmas, trees and entities go to the folder STORE; any measure takes it in place of a
file. An interrupted run resumes where it stopped. Layers of different annotators cannot be mixed.

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
from typing import TYPE_CHECKING, ClassVar

import click

from rote.cli._flags import command_of
from rote.cli._index import paths_of, places_of
from rote.cli._output import Listing, printing_console
from rote.cli._progress import TerminalReporter
from rote.core.errors import OptionError
from rote.core.metric import engine_option, option
from rote.core.progress import Reporter, duration, several
from rote.core.result import Result
from rote.corpus import Input, ReadOptions

if TYPE_CHECKING:
    from rote.annotate.store import Store

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
    annotator: str = option("rote", "Annotator: rote, spacy:MODEL, stanza:LANG, given")
    layers: tuple[str, ...] = option(
        ("lower", "lemma", "upos", "pos", "dep", "shape", "entity"), "Layers to make, beside word"
    )
    jobs: int = option(1, "Number of cores; results do not depend on it")
    engine: str | None = engine_option()
    list: bool = option(False, "List the available annotators and exit")
    quiet: bool = option(False, "No progress bars and remarks", short="-q")


def annotate(
    texts: Input = (), *, options: AnnotateOptions, read: ReadOptions, reporter: Reporter
) -> Result:
    if options.list:
        known = _annotators()
        return Listing("annotators", known, list(known[0]), {}).result("annotate")
    stored, _ = _store(texts, options, read, reporter)
    rows = [{"store": str(stored.path), "documents": stored.documents, "words": stored.words}]
    listing = Listing("stores", rows, list(rows[0]), {"folder": str(stored.path)})
    return listing.result("annotate", annotator=stored.signature, layers=options.layers)


@command_of(__doc__, click.Argument(["inputs"], metavar="FILE...", nargs=-1))
def command(
    inputs: tuple[str, ...], options: AnnotateOptions, read: ReadOptions, reporter: TerminalReporter
) -> None:
    if options.list:
        _list_annotators()
        return
    if not inputs:
        raise OptionError("nothing to annotate: name files, or list the annotators with --list")
    stored, spent = _store(places_of(inputs), options, read, reporter)
    size = f"{several(stored.documents, 'document')}, {several(stored.words, 'word')}"
    rate = f"{stored.words / spent:,.0f} words/s"
    click.echo(f"{stored.path}: {size}, {rate}, by {stored.signature}")


def _store(
    inputs: Input, options: AnnotateOptions, read: ReadOptions, reporter: Reporter
) -> tuple[Store, float]:
    from rote.annotate import annotators, store
    from rote.corpus import open_corpus
    from rote.run import get

    engine = get(options.engine, options.jobs)
    annotator = annotators.get(options.annotator)
    corpus = open_corpus(inputs, read)
    for line in corpus.guesses:
        reporter.say(line)
    files = [path for path in paths_of(inputs) if path.is_file()]
    unpacked = sum(path.stat().st_size * _UNPACKED.get(path.suffix, 1.0) for path in files)
    words = unpacked / _BYTES_PER_WORD
    if words and options.annotator == annotators.DEFAULT:
        trees = any(name.startswith("dep") for name in options.layers)
        seconds = words / _WORDS_PER_SECOND["with trees" if trees else "without"] / engine.jobs
        cores, size = several(engine.jobs, "core"), words * _STORED_PER_WORD / 1e6
        line = f"about {words / 1e6:,.1f} million words: about {duration(seconds)} on {cores}"
        reporter.say(f"{line}, {size:,.0f} MB on disk")
    start = time.monotonic()
    stored, problems = store.annotate(
        corpus, options.output, annotator, options.layers, engine=engine, reporter=reporter
    )
    for line in problems.listed():
        reporter.say(line)
    return stored, time.monotonic() - start


def _list_annotators() -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_lines=True)
    rows = _annotators()
    for title in rows[0]:
        table.add_column(title, overflow="fold")
    for row in rows:
        table.add_row(*row.values())
    printing_console().print(table)


def _annotators() -> list[dict[str, str]]:
    from rote.annotate import annotators

    return [
        {
            "annotator": entry.name,
            "gives": ", ".join(entry.gives),
            "licence": entry.licence,
            "accuracy": entry.accuracy,
            "needs": entry.needs or "nothing",
        }
        for entry in annotators.entries()
    ]
