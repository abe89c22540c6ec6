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
from rote.index.counts.document_counts import count_documents
from rote.index.counts.frequent_ngrams import can_reach, find_frequent, items_at, likeliest_rows
from rote.index.grams import Counts, Grams
from rote.index.index import DEFAULT, Batch, Index
from rote.index.segments.meanings import read_meanings, write_meanings
from rote.index.segments.part import MEANINGS, MemoryTarget
from rote.index.segments.segment import WORD, Segment
from rote.index.segments.writers import build_memory_segment
from rote.run import Engine, Shared

if TYPE_CHECKING:
    from rote.core.document import Annotation
    from rote.corpus import Batch as DocumentBatch
    from rote.corpus import Corpus
    from rote.index.folders.manifest import EmbedderRecord, Manifest
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
    segment, meanings = _embed_sentences(segment, chosen.embedder, reporter)
    for line in problems.listed():
        reporter.say(line)
    return Index([segment], recipe, meanings=meanings)


def _embed_sentences(
    segment: Segment, embedder: str | None, reporter: Reporter
) -> tuple[Segment, EmbedderRecord | None]:
    """A segment in memory with a vector of each sentence, and who made them."""
    if embedder is None:
        return segment, None
    from rote.index.folders.manifest import embedder_of, record_embedder

    record, target = record_embedder(embedder), MemoryTarget()
    positions, documents = segment.positions[WORD], segment.documents
    write_meanings(
        target, positions, documents, embedder_of("the index", record), reporter=reporter
    )
    return replace(segment, meanings=read_meanings(target.sealed(MEANINGS))), record


Items = tuple[str, ...]


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
        self.columns(layer)
        if n < 1 or (k is not None and k < 1):
            raise OptionError("n and the number of n-grams must both be at least 1")
        least, reached = 1, 0
        if k is not None and layer in self.sorted_layers:
            first, known, *_ = _join_counts(self._each(_frequent_in_segment, n, layer, 1, k, False))
            candidates = [first[i] for i in likeliest_rows(known, k).tolist()]
            totals = np.sort(
                self.counts(candidates, layer) if candidates else np.empty(0, np.int64)
            )
            if len(totals) >= k:
                reached = int(totals[-k])
                least = -(-reached // len(self.segments))
        # Where every n-gram is listed, what the segments say adds up to all that is asked.
        listed = self._each(_frequent_in_segment, n, layer, least, None, documents and least == 1)
        chosen, totals, holders, in_documents = _join_counts(listed)
        if least > 1:
            possible = can_reach(totals, holders, len(self.segments), least, reached)
            chosen = [chosen[i] for i in np.flatnonzero(possible).tolist()]
            totals = self.counts(chosen, layer)
        order = np.lexsort((np.arange(len(chosen)), -totals))[:k]
        grams = Grams.of([chosen[i] for i in order.tolist()])
        if not documents:
            return FrequentNgrams(grams, totals[order])
        counted = in_documents[order] if least == 1 else self.document_counts(grams, layer)
        return FrequentNgrams(grams, totals[order], counted)

    def _sum(self, ask: Any, grams: Grams, layer: str) -> Counts:
        if not isinstance(grams.vocabulary, tuple):  # that of a segment, which is large
            grams = Grams.of([grams[i] for i in range(len(grams))])
        return sum(self._each(ask, grams, layer), np.zeros(len(grams), np.int64))

    def _each(self, ask: Any, *question: Any) -> Iterator[Any]:
        work, numbers = self._work(ask, *question), range(len(self.segments))
        return self._engine.map(work, numbers, doing="asking segments")

    def _work(self, ask: Any, *question: Any) -> Any:
        state = self._engine.share((self.path, self.manifest))
        return partial(_ask_segment, state, ask, self._engine.share(question))


def _ask_segment(state: Shared[Any], ask: Any, question: Shared[Any], number: int) -> Any:
    path, manifest = state.value
    segment = replace(manifest, segments=(manifest.segments[number],))
    return ask(open_state(path, segment), *question.value)


def _frequent_in_segment(
    index: Index, n: int, layer: str, least: int, most: int | None, documents: bool
) -> list[tuple[Items, int, int]]:
    """The n-grams of a segment, how often each occurs, and in how many documents if asked for."""
    (column,) = index.columns(layer)
    if n >= int(np.diff(column.document_ends, prepend=-1).max(initial=1)):
        return []  # no document is so long
    positions, counts = find_frequent(column, n, least=least, most=most)
    in_documents = count_documents(column, positions, n) if documents else np.zeros_like(counts)
    grams = Grams.of_rows(items_at(column, positions, n), column.vocabulary)
    return list(zip(grams, counts.tolist(), in_documents.tolist()))


def _join_counts(
    each: Iterator[list[tuple[Items, int, int]]],
) -> tuple[list[Items], Counts, Counts, Counts]:
    """Each n-gram once, in order, how often it is known to occur, how many segments know it, and
    how many of their documents hold it."""
    sums: dict[Items, tuple[int, int, int]] = {}
    for counted in each:
        for gram, count, documents in counted:
            total, holders, in_documents = sums.get(gram, (0, 0, 0))
            sums[gram] = total + count, holders + 1, in_documents + documents
    grams = sorted(sums)
    columns = np.array([sums[gram] for gram in grams], np.int64).reshape(-1, 3)
    return grams, *columns.T
