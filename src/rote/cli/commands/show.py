"""Show a text with its layers aligned: words, lemmas, tags, trees, entities.

FILE is anything that can be read, or a store made by `rote annotate`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rote.cli._flags import command_of, files_argument
from rote.cli._output import printing_console
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


@command_of(__doc__, files_argument())
def command(inputs: tuple[str, ...], options: ShowOptions, read: ReadOptions) -> None:
    from rote.annotate import annotators, store
    from rote.core.errors import InputError
    from rote.corpus import open_corpus
    from rote.report.terminal import harmless
    from rote.report.texts.concordance import gloss

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
            console.rule(harmless(document.id), align="left", style="dim")
            for line in gloss(annotation, number, layers, console.width):
                console.print(line, no_wrap=True, crop=True)
            shown += 1
            if shown >= options.texts:
                return
    if not shown:
        raise InputError(f"no text has the id '{options.id}'", remedy="Check --id and --id-field")


def _single(corpus: Any, wanted: str | None) -> Any:
    """Batches of one document each, only the one that is wanted if one is."""
    from rote.corpus import Batch

    for document in corpus:
        if wanted in (None, document.id):
            yield Batch([document], "", "", [1], [])
