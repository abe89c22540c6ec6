"""Show a text with its layers aligned: words, lemmas, tags, trees, entities.

FILE is anything that can be read, or a store made by `rote annotate`. Of an index it shows one
document, fields and text; --json gives a text as the line that `rote index replace` reads.

\b
  rote show stories.jsonl --layers lemma,pos
  rote show IDX --id novel-17
  rote show IDX --id novel-17 --json > mended.jsonl
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import click

from rote.cli._flags import command_of, files_argument
from rote.cli._output import printing_console
from rote.core.errors import InputError, OptionError
from rote.core.metric import option
from rote.corpus import ReadOptions


@dataclass(frozen=True, slots=True)
class ShowOptions:
    """Which texts, and which layers of them."""

    SECTION: ClassVar[str] = "What is shown"
    id: str | None = option(None, "Only the text with this id")
    texts: int = option(1, "How many texts, from the first on")
    layers: tuple[str, ...] = option(
        ("lemma", "upos", "pos", "dep", "entity"), "Layers to show below the words"
    )
    annotator: str = option("rote", "Who annotates: rote, spacy:MODEL, stanza:LANG, given")
    json: bool = option(False, "Print each text as a line of JSON, with its fields, not its layers")


@command_of(__doc__, files_argument())
def command(inputs: tuple[str, ...], options: ShowOptions, read: ReadOptions) -> None:
    from rote.annotate import annotators, store
    from rote.corpus import open_corpus
    from rote.index.folders.manifest import is_index
    from rote.report.terminal import harmless
    from rote.report.texts.concordance import gloss

    if len(inputs) == 1 and is_index(Path(inputs[0])):
        _show_document(Path(inputs[0]), options)
        return
    console = printing_console()
    layers = [name for name in options.layers if name != "word"]
    if len(inputs) == 1 and store.is_store(Path(inputs[0])):
        pieces = store.open_store(Path(inputs[0])).pieces()
    else:
        corpus = open_corpus([Path(name) for name in inputs], read)
        annotator = annotators.get(options.annotator)
        # One document at a time: a large file is not annotated to show its first text.
        pieces = (
            (batch, annotator(batch.documents, layers)) for batch in _single(corpus, options.id)
        )
    shown = 0
    for batch, annotation in pieces:
        for number, document in enumerate(batch.documents):
            if options.id not in (None, document.id):
                continue
            if options.json:
                _print_record(document)
            else:
                console.rule(harmless(document.id), align="left", style="dim")
                for line in gloss(annotation, number, layers, console.width):
                    console.print(line, no_wrap=True, crop=True)
            shown += 1
            if shown >= options.texts:
                return
    if not shown:
        raise InputError(f"no text has the id '{options.id}'", remedy="Check --id and --id-field")


def _show_document(path: Path, options: ShowOptions) -> None:
    from rote.index.opening import open_index
    from rote.report.terminal import facts_table, readable

    if options.id is None:
        raise OptionError(f"{path} is an index: --id names the document to show")
    found = open_index(path).document(options.id)
    if options.json:
        _print_record(found)
        return
    fields = {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in found.meta.items()
        if value is not None
    }
    printing_console().print(facts_table({"id": found.id, **fields}))
    click.echo(readable(found.text))


def _print_record(document: Any) -> None:
    record = {"id": document.id, **document.meta, "text": document.text}
    click.echo(json.dumps(record))  # in ASCII: whatever a text holds is safe to look at


def _single(corpus: Any, wanted: str | None) -> Any:
    """Batches of one document each, only the one that is wanted if one is."""
    from rote.corpus import Batch

    for document in corpus:
        if wanted in (None, document.id):
            yield Batch([document], "", "", [1], [])
