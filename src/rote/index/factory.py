"""Open an index folder, one whose segments are asked where an engine works, or make an index in
memory of a corpus.

Answers of segments that an engine asks are joined as those of segments on threads are: counts add
up, and `top` is exact by the argument of `counts/frequent_ngrams.py`. What is asked about single
positions is answered here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rote.core.errors import OptionError
from rote.core.progress import Reporter
from rote.index.answers import FrequentNgrams, NgramCounts
from rote.index.columns.layer_column import Numbers
from rote.index.counts.frequent_ngrams import CountedRows, frequent_rows, top_of_segments
from rote.index.grams import Counts, Grams
from rote.index.index import DEFAULT, Batch, Index
from rote.index.segments.meanings import read_meanings, write_meanings
from rote.index.segments.part import MEANINGS, MemoryTarget
from rote.index.segments.segment import WORD
from rote.index.segments.writers import build_memory_segment
from rote.run import Engine, Shared

if TYPE_CHECKING:
    from rote.core.document import Annotation
    from rote.corpus import Batch as DocumentBatch
    from rote.corpus import Corpus
    from rote.index.folders.manifest import Manifest
    from rote.index.folders.options import BuildOptions


def open_index(path: str | Path, reporter: Reporter | None = None) -> Index:
    """Open an index folder as it is now; nothing is read before it is needed."""
    from rote.index.folders.folder import open_folder

    # In full, so that the index outlives a change of the working folder.
    folder = Path(path).resolve()
    manifest, segments = open_folder(folder, reporter)
    return Index(segments, path=folder, manifest=manifest)


def to_index(value: Any, called: str, reporter: Reporter | None = None) -> Index:
    """An index that is open already, or the one in a folder; `called`: the input that names it."""
    if isinstance(value, Index):
        return value
    if not isinstance(value, (str, Path)):
        raise OptionError(
            f"{called} cannot be of type {type(value).__name__}: give an index, its folder or an "
            "open one; `rote.index` builds one from texts"
        )
    return open_index(value, reporter)


@lru_cache(maxsize=8)
def open_state(path: Path, manifest: Manifest) -> Index:
    """Open an index as this manifest describes it, whatever has become of it since.

    For worker processes, which keep it open: numbers of segments and documents must mean what
    they mean in the process that sent them.
    """
    from rote.index.folders.folder import open_folder_as

    return Index(open_folder_as(path, manifest), path=path, manifest=manifest)


def index_corpus(corpus: Corpus, options: BuildOptions, reporter: Reporter) -> Index:
    from rote.annotate import annotators
    from rote.annotate.pieces import Recipe, checked
    from rote.corpus import Problems
    from rote.index.folders.options import parse_layers

    problems = Problems()
    for line in corpus.guesses:
        reporter.say(line)
    chosen, compact = parse_layers(options.layers), options.compact
    layers = chosen.layers
    if chosen.tokenizer:
        raise OptionError("an index in memory has no subwords: --output names a folder for it")
    made_by = annotators.get(options.annotator)
    names = tuple(name for name in layers if name != "word")
    recipe = Recipe(options.annotator, made_by.signature, names)
    with reporter.stage(f"indexing {corpus.short_name}", corpus.size, unit="B") as advance:

        def pieces() -> Iterator[tuple[DocumentBatch, Annotation]]:
            for size, batch in checked(corpus, problems):
                yield batch, recipe.annotate(batch.documents)
                advance(size)

        segment = build_memory_segment(
            pieces(),
            layers=layers,
            sorted_layers=layers,
            author_field=options.author_field,
            compact=compact,
        )
    meanings = None
    if chosen.embedder is not None:
        from rote.index.folders.manifest import embedder_of, record_embedder

        meanings, target = record_embedder(chosen.embedder), MemoryTarget()
        positions, documents = segment.positions[WORD], segment.documents
        embedder = embedder_of("the index", meanings)
        write_meanings(target, positions, documents, embedder, reporter=reporter)
        segment = replace(segment, meanings=read_meanings(target.sealed(MEANINGS)))
    for line in problems.listed():
        reporter.say(line)
    return Index([segment], recipe, meanings=meanings)


class DistributedIndex(Index):
    def __init__(self, index: Index, engine: Engine) -> None:
        if index.path is None or index.manifest is None:
            raise OptionError("other machines cannot query an index in memory: build it on disk")
        super().__init__(index.segments, path=index.path, manifest=index.manifest)
        self._engine = engine

    def counts(self, batch: Batch, layer: str = DEFAULT) -> Counts:
        return self._sum(Index.counts, self._grams(batch, layer), layer)

    def document_counts(self, batch: Batch, layer: str = DEFAULT) -> Counts:
        return self._sum(Index.document_counts, self._grams(batch, layer), layer)

    def ngram_counts(self, batch: Batch, layer: str = DEFAULT) -> NgramCounts:
        grams = self._grams(batch, layer)
        # An author may have written in several segments: names are told apart here.
        authors = super().author_counts(grams, layer)
        return NgramCounts(self.counts(grams, layer), self.document_counts(grams, layer), authors)

    def top(
        self, n: int, k: int | None = None, layer: str = DEFAULT, *, documents: bool = False
    ) -> FrequentNgrams:
        columns, shared = self.columns(layer), self.shared(layer)

        def list_frequent(least: int, most: int | None, documents: bool) -> Iterator[CountedRows]:
            each = self._each(_frequent_in_segment, n, layer, least, most, documents)
            for up, (rows, counts, in_documents) in zip(shared.up, each):
                yield up[rows], counts, in_documents

        def count(rows: Numbers, documents: bool) -> Counts:
            ask = Index.document_counts if documents else Index.counts
            return self._sum(ask, Grams.of_rows(rows, shared.strings), layer)

        ask = count if layer in self.sorted_layers else None
        return top_of_segments(columns, n, k, shared, list_frequent, ask, documents=documents)

    def _sum(self, ask: Any, grams: Grams, layer: str) -> Counts:
        if not isinstance(grams.vocabulary, tuple):  # that of a segment, which is large
            grams = Grams.of([grams[i] for i in range(len(grams))])
        return sum(self._each(ask, grams, layer), np.zeros(len(grams), np.int64))

    def _each(self, ask: Any, *question: Any) -> Iterator[Any]:
        state = self._engine.share((self.path, self.manifest))
        work = partial(_ask_segment, state, ask, self._engine.share(question))
        return self._engine.map(work, range(len(self.segments)), doing="asking segments")


def _ask_segment(state: Shared[Any], ask: Any, question: Shared[Any], number: int) -> Any:
    path, manifest = state.value
    segment = replace(manifest, segments=(manifest.segments[number],))
    return ask(open_state(path, segment), *question.value)


def _frequent_in_segment(index: Index, n: int, layer: str, *question: Any) -> CountedRows:
    (column,) = index.columns(layer)
    return frequent_rows(column, n, *question)
