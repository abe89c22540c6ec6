"""The index: exact counts and positions over any layer, on disk or in memory.

Every call asks each segment and joins the answers: counts add up, the longest match is the
longest of any, positions come in the order of the documents. Whatever stands in a kernel, this
file knows strings, segments and documents only.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property, reduce
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.core.document import Document
from rote.core.errors import OptionError, UnknownName
from rote.core.layer import Layer
from rote.core.progress import several
from rote.index import query as queries
from rote.index.answers import (
    Continuations,
    FrequentNgrams,
    Holders,
    LongestMatches,
    MatchContext,
    NearestSentences,
    NgramCounts,
    Occurrence,
    check_limit,
    context_of,
    occurrences_in,
)
from rote.index.columns.layer_column import LayerColumn, SharedVocabulary, share_vocabulary
from rote.index.columns.packed_array import PackedArray
from rote.index.counts.document_counts import DocumentCounts, NgramRanges, first_positions
from rote.index.counts.frequent_ngrams import most_frequent
from rote.index.counts.longest_match import TextQuery
from rote.index.counts.lookup import (
    Lookup,
    continuations,
    find_all_ranges,
    map_segments,
    threads_for,
)
from rote.index.grams import Counts, Grams
from rote.index.segments.meanings import (
    MeaningQuery,
    SentencePositions,
    find_nearest,
    sentence_positions,
)
from rote.index.segments.segment import WORD, Segment
from rote.run import cores

if TYPE_CHECKING:
    from rote.annotate.embeddings import Embedder
    from rote.annotate.pieces import Recipe
    from rote.index.folders.manifest import EmbedderRecord, Manifest

Gram: TypeAlias = "str | Sequence[str]"
"""A text, cut and tagged by the index's own annotator, or the items of a layer themselves."""
Batch: TypeAlias = "Grams | Sequence[Gram]"
DEFAULT = "lower"
_REMEMBERED = 1000
"""Words whose neighbours are remembered."""


class Index:
    """Counts over the layers of many documents.

    `gram` is a text ("of the") or a sequence of items (["of", "the"], ["DT", "NN"]); `layer`
    says which layer is asked. An index is immutable: what is added to its folder later is seen
    by whoever opens it then.
    """

    def __init__(
        self,
        segments: Sequence[Segment],
        recipe: Recipe | None = None,
        layers: Sequence[str] | None = None,
        *,
        path: Path | None = None,
        manifest: Manifest | None = None,
        meanings: EmbedderRecord | None = None,
    ) -> None:
        self.segments, self.path, self.manifest = tuple(segments), path, manifest
        if layers is None:
            layers = manifest.layers if manifest else (*segments[0].columns,) if segments else ()
        self.layers = tuple(layers)
        """Layers that can be searched and shown."""
        self.meanings = manifest.meanings if manifest else meanings
        """Who made the vectors of its sentences, if it has that layer."""
        self.threads = cores()
        """So many segments are asked at a time."""
        self._recipe = recipe
        self._lookups: dict[str, list[Lookup]] = {}
        self._document_counts = DocumentCounts(self.segments)
        self._shared: dict[str, SharedVocabulary] = {}
        self._rows: dict[str, tuple[NDArray[np.int64], NDArray[np.int32]]] = {}
        """Of a layer: entries of its vocabulary by their static vectors, and these."""
        self._neighbours: dict[tuple[str, str], dict[str, float]] = {}
        self._sentences: dict[int, SentencePositions] = {}
        self._memos = [queries.RegexMemo() for _ in self.segments]

    def __repr__(self) -> str:
        where, documents = self.path or "in memory", several(self.documents_held, "document")
        return f"<Index {where}: {documents}, layers {', '.join(self.layers)}>"

    @property
    def sorted_layers(self) -> tuple[str, ...]:
        """Layers that can be counted: their positions are sorted."""
        columns = {name: self.columns(name) for name in self.layers}
        return tuple(
            n
            for n, columns_of_layer in columns.items()
            if all(c.suffixes is not None for c in columns_of_layer)
        )

    @property
    def plain_glyphs(self) -> bool:
        """Whether its words are in plain glyphs; those of an older version, or given, are not."""
        maker = self.manifest or self._recipe
        return maker is not None and "glyphs" in maker.signature

    @property
    def documents_held(self) -> int:
        return sum(len(segment.documents) for segment in self.segments)

    def items_held(self, layer: str = "word") -> int:
        return sum(column.items for column in self.columns(layer))

    def columns(self, layer: str) -> list[LayerColumn]:
        """The layer's column in each segment."""
        if layer not in self.layers:
            raise UnknownName("layer of the index", layer, self.layers)
        return [segment.columns[layer] for segment in self.segments]

    def vocabulary(self, layer: str = DEFAULT) -> Sequence[str]:
        """All strings of a layer in order; entry 0 is the document's end."""
        return self.shared(layer).strings

    def on(self, threads: int) -> Index:
        """The same index, asked on so many threads at most."""
        limited = copy(self)
        limited.threads = threads
        return limited

    def document(self, identity: str) -> Document:
        """The document with this id: its text and its fields."""
        for segment in self.segments:
            number = segment.documents.find(identity)
            if number is not None:
                return segment.documents.document(number)
        raise OptionError(f"the index contains no document with the id '{identity}'")

    # -- how often ---------------------------------------------------------------------------

    def count(self, gram: Gram, layer: str = DEFAULT) -> int:
        """How often the n-gram occurs."""
        items = self.items(gram, layer) if type(gram) is str or not gram else gram
        total = 0
        for lookup in self._lookups.get(layer) or self.lookups(layer):
            total += lookup.count([*map(lookup.column.vocabulary.find, items)])
        return total

    def counts(self, batch: Batch, layer: str = DEFAULT) -> Counts:
        """How often each of many n-grams occurs, far faster than one by one."""
        return self._find(batch, layer).occurrences

    def document_counts(self, batch: Batch, layer: str = DEFAULT) -> Counts:
        """In how many documents each of many n-grams occurs."""
        return self._document_counts.document_counts(self._find(batch, layer), self.threads)

    def author_counts(self, batch: Batch, layer: str = DEFAULT) -> Counts:
        """How many known authors used each of many n-grams."""
        return self._document_counts.author_counts(self._find(batch, layer))

    def ngram_counts(self, batch: Batch, layer: str = DEFAULT) -> NgramCounts:
        """All three of many n-grams, which are looked for once."""
        ranges, by_document = self._find(batch, layer), self._document_counts
        documents = by_document.document_counts(ranges, self.threads)
        return NgramCounts(ranges.occurrences, documents, by_document.author_counts(ranges))

    def holders(self, batch: Batch, layer: str = DEFAULT, *, within: int | None = None) -> Holders:
        """Which documents hold each of many n-grams; with `within`, each document is cut into
        stretches of so many items, and an n-gram belongs to the one that it begins in."""
        if within is not None and within < 1:
            raise OptionError(f"a span has at least one item, not {within}")
        return self._document_counts.holders(self._find(batch, layer), within)

    # -- where -------------------------------------------------------------------------------

    def documents(self, gram: Gram, layer: str = DEFAULT) -> dict[str, int]:
        """The documents that hold the n-gram, and how often each does; most often first."""
        return self._sum_counts(self._document_counts.documents, gram, layer)

    def authors(self, gram: Gram, layer: str = DEFAULT) -> dict[str, int]:
        """The authors who used the n-gram, and how often; texts without one are not counted."""
        return self._sum_counts(self._document_counts.authors, gram, layer)

    def places(
        self, gram: Gram, limit: int | None = None, layer: str = DEFAULT
    ) -> list[Occurrence]:
        """Where the n-gram occurs, in the order of the documents; the first `limit` occurrences."""
        check_limit(limit)
        length = len(self.items(gram, layer))
        occurrences: list[Occurrence] = []
        for number, (low, high) in enumerate(self._gram_ranges(gram, layer)):
            remaining = None if limit is None else limit - len(occurrences)
            if remaining == 0:
                break
            starts = first_positions(self.columns(layer)[number], low, high, remaining)
            occurrences += occurrences_in(
                self.segments[number], number, layer, starts, starts + length
            )
        return occurrences

    def search(
        self, query: str, limit: int | None = None, layer: str = DEFAULT
    ) -> list[Occurrence]:
        """Where a query matches (`[pos="JJ"] "dog"`); a plain phrase stands for its items."""
        check_limit(limit)
        if queries.is_plain(query) and layer in self.sorted_layers:
            return self.places(query, limit, layer)
        parsed = self.parse(query, layer)
        occurrences: list[Occurrence] = []
        for number, starts, ends in self.find(parsed, limit):
            occurrences += occurrences_in(
                self.segments[number], number, parsed.layers[0], starts, ends
            )
        return occurrences

    def find(
        self, parsed: queries.Query, limit: int | None = None
    ) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
        """The matches [start, end) of one segment after the other, up to a limit."""
        for number, (columns, last, memo) in enumerate(self._query_inputs(parsed)):
            if limit == 0:
                return
            starts, ends = queries.find(parsed, columns, sentence_last=last, limit=limit, memo=memo)
            if limit is not None:
                limit -= len(starts)
            yield number, starts, ends

    def matches(self, query: str, layer: str = DEFAULT) -> int:
        """How many positions a query matches, without finding out where they are."""
        if queries.is_plain(query) and layer in self.sorted_layers:
            return self.count(query, layer)
        parsed = self.parse(query, layer)
        return sum(
            queries.count(parsed, columns, sentence_last=last, memo=memo)
            for columns, last, memo in self._query_inputs(parsed)
        )

    def parse(self, query: str, layer: str = DEFAULT) -> queries.Query:
        """The query that a text stands for; a plain phrase is cut by the index's annotator."""
        if queries.is_plain(query):
            query = queries.literal(self.items(query, layer), layer)
        elif queries.is_soft_phrase(query):
            query = queries.soft_phrase(query, layer, lambda rest: self.items(rest, layer))
        parsed = queries.parse(
            query, layer, plain_glyphs=self.plain_glyphs, neighbours=self._neighbour_items
        )
        if self.segments:
            positions = self.segments[0].positions
            queries.check(parsed, {n: n if n in positions else "word" for n in self.layers})
        return parsed

    def neighbours(self, word: str, layer: str = DEFAULT) -> dict[str, float]:
        """The items of a layer that mean about what a word does, and how similar they are.

        The word itself is among them, if the index holds it; the most similar come first.
        """
        key = (layer, word)
        if key not in self._neighbours:
            from rote.annotate.embeddings import static

            cosines = static.find_neighbours(word)
            strings = self.shared(layer).strings
            if layer not in self._rows:
                all_rows = static.table().find(strings)
                by_row = np.argsort(all_rows, kind="stable")
                self._rows[layer] = by_row, all_rows[by_row]
            numbers, rows = self._rows[layer]
            near: dict[str, float] = {}
            for row, cosine in cosines.items():
                first, behind = np.searchsorted(rows, (row, row + 1)).tolist()
                near |= {strings[n]: cosine for n in numbers[first:behind].tolist()}
            if word not in near and any(c.vocabulary.find(word) > 0 for c in self.columns(layer)):
                near[word] = 1.0
            order = sorted(near, key=lambda item: (item != word, -near[item], item))
            if len(self._neighbours) >= _REMEMBERED:
                self._neighbours.clear()
            self._neighbours[key] = {item: near[item] for item in order}
        return self._neighbours[key]

    def _neighbour_items(self, layer: str, word: str) -> Sequence[str]:
        return list(self.neighbours(word, layer)) if layer in self.layers else [word]

    def context(self, occurrence: Occurrence, around: int = 60) -> MatchContext:
        """The text of an occurrence, with so many characters before and after it."""
        check_limit(around)
        return context_of(self.segments[occurrence.segment].documents, occurrence, around)

    def longest(self, text: Layer | Gram, layer: str = DEFAULT) -> LongestMatches:
        """For every item of a text the longest match that begins there, and its count.

        A Layer may hold many texts: no match crosses the end of one.
        """
        query = self._text_query(text, layer)
        lengths, counts = np.zeros(query.size, np.int32), np.zeros(query.size, np.int64)
        threads = threads_for(self.threads, query.size)
        for segment_lengths, low, high in map_segments(query.longest, self.lookups(layer), threads):
            counts = np.where(segment_lengths > lengths, 0, counts) + np.where(
                segment_lengths >= lengths, high - low, 0
            )
            lengths = np.maximum(lengths, segment_lengths)
        return LongestMatches(lengths, counts)

    def lengths(self, text: Layer | Gram, layer: str = DEFAULT) -> NDArray[np.int32]:
        """The lengths of the longest matches alone, in half the time."""
        query = self._text_query(text, layer)
        none, threads = np.zeros(query.size, np.int32), threads_for(self.threads, query.size)
        return reduce(np.maximum, map_segments(query.lengths, self.lookups(layer), threads), none)

    # -- what is frequent, what comes next ---------------------------------------------------

    def top(
        self, n: int, k: int | None = None, layer: str = DEFAULT, *, documents: bool = False
    ) -> FrequentNgrams:
        """The k most frequent n-grams of a layer (all without k), exactly.

        With `documents`, also in how many documents each occurs.
        """
        columns, is_single = self.columns(layer), len(self.segments) == 1
        lookups = self.lookups(layer) if not is_single and layer in self.sorted_layers else None
        shared = None if is_single else self.shared(layer)
        threads = threads_for(self.threads, self.items_held(layer))
        return most_frequent(columns, shared, lookups, n, k, documents=documents, threads=threads)

    def extend(self, gram: Gram, layer: str = DEFAULT) -> Continuations:
        """What follows the n-gram, and how often; an empty sequence: how often each item occurs."""
        return continuations(self.lookups(layer), self.items(gram, layer) if gram else [])

    # -- what sentences mean -----------------------------------------------------------------

    def sentence_embedder(self, name: str | None = None) -> Embedder:
        """The embedder that made the vectors of the sentences; another one is refused by name."""
        from rote.annotate.embeddings import get
        from rote.index.folders.manifest import embedder_of

        where = self.path or "the index"
        if self.meanings is None:
            raise OptionError(
                f"{where} has no meanings of its sentences. `rote index add-layer "
                f"{shlex.quote(str(self.path or 'IDX'))} meaning` adds them"
            )
        embedder = embedder_of(where, self.meanings)
        if name is not None and get(name).signature != embedder.signature:
            raise OptionError(
                f"the meanings of {where} were computed by '{self.meanings.name}' "
                f"({self.meanings.signature}): '{name}' makes other vectors, which are not "
                f"comparable. Leave it out, or ask an index with the layer meaning:{name}"
            )
        return embedder

    @property
    def sentences_held(self) -> int:
        """How many sentences have a vector; their numbers go through all documents in order."""
        return sum(len(segment.meanings or ()) for segment in self.segments)

    def nearest_sentences(self, vectors: NDArray[np.float32], k: int = 10) -> NearestSentences:
        """The k sentences nearest in meaning to each vector, by the index's own embedder."""
        dimensions = self.sentence_embedder().dimensions
        if vectors.ndim != 2 or vectors.shape[1] != dimensions:
            raise OptionError(f"give vectors of {dimensions} numbers, one per row")
        if k < 1:
            raise OptionError(f"k must be at least 1 sentence, not {k}")
        query = MeaningQuery.of(vectors)
        parts = [segment.meanings for segment in self.segments if segment.meanings is not None]
        similarities = np.full((len(vectors), k), np.nan, np.float32)
        sentences = np.full((len(vectors), k), -1, np.int64)

        def find(number: int) -> None:
            best, rows = find_nearest(parts, query, number, k)
            similarities[number, : len(best)], sentences[number, : len(rows)] = best, rows

        for _ in map_segments(find, range(len(vectors)), self.threads):
            pass
        return NearestSentences(similarities, sentences)

    def sentences(self, numbers: Sequence[int] | NDArray[np.int64]) -> list[Occurrence]:
        """Where sentences stand, by their numbers; `context` gives the text of one."""
        wanted = np.asarray(numbers, np.int64)
        if len(wanted) and not 0 <= int(wanted.min()) <= int(wanted.max()) < self.sentences_held:
            raise OptionError(f"the index has {several(self.sentences_held, 'sentence')}")
        occurrences: dict[int, Occurrence] = {}
        first = 0
        for number, segment in enumerate(self.segments):
            behind = first + len(segment.meanings or ())
            inside = np.unique(wanted[(wanted >= first) & (wanted < behind)])
            if len(inside):
                if number not in self._sentences:
                    self._sentences[number] = sentence_positions(segment.positions[WORD])
                there, rows = self._sentences[number], inside - first
                places = occurrences_in(segment, number, WORD, there.starts[rows], there.ends[rows])
                occurrences |= zip(inside.tolist(), places)
            first = behind
        return [occurrences[number] for number in wanted.tolist()]

    # -- from text to items ------------------------------------------------------------------

    def items(self, gram: Gram, layer: str = DEFAULT) -> Sequence[str]:
        """The items of a text in a layer, by the annotator that made the index."""
        items = gram if not isinstance(gram, str) else self.layer_of([gram], layer).items(0)
        if not len(items):
            raise OptionError(f"{gram!r} is empty: an n-gram has at least one item")
        return items

    @cached_property
    def recipe(self) -> Recipe:
        """What annotates a text exactly as the index was annotated; refuses any other."""
        if self.manifest and self.path:
            from rote.index.folders.manifest import recipe_of

            return recipe_of(self.path, self.manifest)
        if self._recipe is None:
            raise OptionError(
                "this index was made from layers, so it has no annotator to cut a text with: give "
                "a list of items instead"
            )
        return self._recipe

    def layer_of(self, texts: Sequence[str], layer: str = DEFAULT) -> Layer:
        """The layer of these texts, made as the index's own was."""
        self.columns(layer)
        subwords = tuple(pair for pair in self.recipe.subwords if pair[0] == layer)
        wanted = () if subwords or layer == "word" else (layer,)
        documents = [Document(str(i), text) for i, text in enumerate(texts)]
        annotation = replace(self.recipe, layers=wanted, subwords=subwords).annotate(documents)
        return annotation.trees[layer] if layer in annotation.trees else annotation.layers[layer]

    # -- machinery ---------------------------------------------------------------------------

    def lookups(self, layer: str) -> list[Lookup]:
        if layer not in self._lookups:
            columns = self.columns(layer)
            if any(column.suffixes is None for column in columns):
                where = shlex.quote(str(self.path or "IDX"))
                raise OptionError(
                    f"the layer '{layer}' is stored but not sorted, so it cannot be counted; "
                    f"sorted layers: {', '.join(self.sorted_layers)}. `rote index add-layer "
                    f"{where} {layer}` sorts it; `rote search` works without sorting"
                )
            self._lookups[layer] = [Lookup(column) for column in columns]
        return self._lookups[layer]

    def shared(self, layer: str) -> SharedVocabulary:
        if layer not in self._shared:
            self._shared[layer] = share_vocabulary(self.columns(layer))
        return self._shared[layer]

    def _query_inputs(
        self, parsed: queries.Query
    ) -> list[tuple[Mapping[str, LayerColumn], PackedArray | None, queries.RegexMemo]]:
        layer, segments = parsed.layers[0], zip(self.segments, self._memos)
        return [
            (segment.columns, segment.positions_of(layer).sentence_last, memo)
            for segment, memo in segments
        ]

    def _grams(self, batch: Batch, layer: str) -> Grams:
        if isinstance(batch, str):
            raise OptionError("a batch is a list of n-grams; use `count` for a single one")
        if isinstance(batch, Grams):
            grams = batch
        elif batch and all(isinstance(gram, str) for gram in batch):
            # One call of the annotator for all of them.
            annotated = self.layer_of([str(gram) for gram in batch], layer)
            grams = Grams(annotated.ids, annotated.text_ends, annotated.vocabulary)
        else:
            grams = Grams.of([self.items(gram, layer) for gram in batch])
        if (np.diff(grams.ends, prepend=0) < 1).any():
            raise OptionError("one of the n-grams is empty: an n-gram has at least one item")
        return grams

    def _find(self, batch: Batch, layer: str) -> NgramRanges:
        grams = self._grams(batch, layer)
        return NgramRanges(
            layer, len(grams), find_all_ranges(self.lookups(layer), grams, self.threads)
        )

    def _text_query(self, text: Layer | Gram, layer: str) -> TextQuery:
        if isinstance(text, Layer):
            return TextQuery(text.ids, text.vocabulary, text.text_ends)
        grams = Grams.of([self.items(text, layer) if len(text) else ()])
        return TextQuery(grams.ids, grams.vocabulary, np.empty(0, np.int64))

    def _sum_counts(
        self, tally: Callable[..., Counter[str]], gram: Gram, layer: str
    ) -> dict[str, int]:
        ranges = enumerate(self._gram_ranges(gram, layer))
        totals = sum((tally(layer, number, *each) for number, each in ranges), Counter[str]())
        return dict(totals.most_common())

    def _gram_ranges(self, gram: Gram, layer: str) -> list[tuple[int, int]]:
        items = self.items(gram, layer)
        return [
            lookup.range([lookup.column.vocabulary.find(item) for item in items])
            for lookup in self.lookups(layer)
        ]
