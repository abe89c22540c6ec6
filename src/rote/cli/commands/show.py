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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click

from rote.cli._flags import command_of, files_argument
from rote.cli._index import paths_of, places_of
from rote.cli._output import Listing, printing_console
from rote.core.document import Document
from rote.core.errors import InputError, OptionError
from rote.core.metric import option
from rote.core.result import Result
from rote.core.signature import option_settings
from rote.corpus import Input, ReadOptions

if TYPE_CHECKING:
    from rote.core.document import Annotation


@dataclass(frozen=True, slots=True)
class ShowOptions:
    """Which texts, and which layers of them."""

    SECTION: ClassVar[str] = "What is shown"
    id: str | None = option(None, "Only the text with this id")
    limit: int = option(1, "Number of texts, from the first on")
    layers: tuple[str, ...] = option(
        ("lemma", "upos", "pos", "dep", "entity"), "Layers to show below the words"
    )
    annotator: str = option("rote", "Annotator: rote, spacy:MODEL, stanza:LANG, given")
    json: bool = option(False, "Print each text as one JSON line with its fields, without layers")


def show(inputs: Input, options: ShowOptions, read: ReadOptions) -> Result:
    if (path := _index_of(inputs)) is not None:
        document = _document(path, options)
        rows = [{"id": document.id, **document.meta, "text": document.text}]
        return Listing("documents", rows, list(rows[0]), {}).result("show", id=options.id)
    rows = [row for d in _texts(inputs, options, read) for row in _words(*d, options.layers)]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    rows = [{name: row.get(name) for name in columns} for row in rows]
    return Listing("words", rows, columns, {}).result("show", **option_settings(options))


@command_of(__doc__, files_argument())
def command(inputs: tuple[str, ...], options: ShowOptions, read: ReadOptions) -> None:
    from rote.report.terminal import strip_controls
    from rote.report.texts.concordance import gloss_lines

    texts = places_of(inputs)
    if (path := _index_of(texts)) is not None:
        _print_document(_document(path, options), options)
        return
    console = printing_console()
    layers = [name for name in options.layers if name != "word"]
    for document, annotation, number in _texts(texts, options, read):
        if options.json:
            _print_record(document)
            continue
        console.rule(strip_controls(document.id), align="left", style="dim")
        for line in gloss_lines(annotation, number, layers, console.width):
            console.print(line, no_wrap=True, crop=True)


def _index_of(inputs: Input) -> Path | None:
    from rote.index.folders.manifest import is_index

    paths = paths_of(inputs)
    return paths[0] if len(paths) == 1 and is_index(paths[0]) else None


def _texts(
    inputs: Input, options: ShowOptions, read: ReadOptions
) -> Iterator[tuple[Document, Annotation, int]]:
    """The texts that are shown: the document, the annotation that holds it, and which it is."""
    from rote.annotate import annotators, store
    from rote.corpus import open_corpus

    layers = [name for name in options.layers if name != "word"]
    paths = paths_of(inputs)
    if len(paths) == 1 and store.is_store(paths[0]):
        pieces = store.open_store(paths[0]).pieces()
    else:
        corpus = open_corpus(inputs, read)
        annotator = annotators.get(options.annotator)
        # One document at a time: a large file is not annotated to show its first text.
        pieces = ((b, annotator(b.documents, layers)) for b in _single_corpus(corpus, options.id))
    count = 0
    for batch, annotation in pieces:
        for number, document in enumerate(batch.documents):
            if options.id not in (None, document.id):
                continue
            yield document, annotation, number
            count += 1
            if count >= options.limit:
                return
    if not count:
        raise InputError(f"no text has the id '{options.id}'", remedy="Check --id and --id-field")


def _words(
    document: Document, annotation: Annotation, number: int, layers: Sequence[str]
) -> Iterator[dict[str, str]]:
    names = [name for name in dict.fromkeys(("word", *layers)) if name in annotation.layers]
    columns = [annotation.layers[name].items(number) for name in names]
    for items in zip(*columns, strict=True):
        yield {"id": document.id, **dict(zip(names, items, strict=True))}


def _document(path: Path, options: ShowOptions) -> Document:
    from rote.index.factory import open_index

    if options.id is None:
        raise OptionError(f"{path} is an index: name the document to show with --id")
    return open_index(path).document(options.id)


def _print_document(document: Document, options: ShowOptions) -> None:
    from rote.report.terminal import facts_table, mask_controls

    if options.json:
        _print_record(document)
        return
    fields = {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in document.meta.items()
        if value is not None
    }
    printing_console().print(facts_table({"id": document.id, **fields}))
    click.echo(mask_controls(document.text))


def _print_record(document: Document) -> None:
    record = {"id": document.id, **document.meta, "text": document.text}
    click.echo(json.dumps(record))  # in ASCII: whatever a text holds is safe to look at


def _single_corpus(corpus: Any, wanted: str | None) -> Any:
    """Batches of one document each, only the one that is wanted if one is."""
    from rote.corpus import Batch

    for document in corpus:
        if wanted in (None, document.id):
            yield Batch([document], "", "", [1], [])
