"""Trace texts: their spans that an index holds, the best of them with their sources.

Texts are annotated and matched part by part, on several cores where asked; of all spans only the
best are kept on the way, and only those get evidence.

**Lemmas of words in capitals** are spelled as the corpus spells them. A lemma keeps the capitals of
a name, and nothing in the word HEAVEN says that it is none, nor in GOD that it is no acronym. What
the corpus holds most often says it well enough: of HEAVEN, Heaven and heaven that one. But where
the word as it stands is part of a longer match, it stays. The lemmas of other words are left alone
(*Rose* is no *rose*) unless the corpus lacks them, when nothing can be lost.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rote import run
from rote.core.document import Document
from rote.core.errors import OptionError
from rote.core.layer import Layer, number
from rote.core.progress import Reporter, Silent
from rote.corpus import Batch, Corpus, DuplicateIds, Problems, Shard, map_again
from rote.index.factory import open_state
from rote.index.folders.manifest import Manifest
from rote.index.grams import Grams
from rote.index.index import Index
from rote.search.trace.alignment import Numbers
from rote.search.trace.evidence import Span, add_evidence
from rote.search.trace.options import GAPPED, KINDS, LEMMA_LAYER, MEANING, VERBATIM, TraceOptions
from rote.search.trace.spans import Copy, Match, find_matches, maximal_spans

if TYPE_CHECKING:
    from rote.search.meaning.chance import Chance
    from rote.search.meaning.index_matches import IndexSentences

_MOST_COVERED = 0.7
"""A match of meaning is listed if stricter ones hold no larger share of its words."""
_CHARACTERS_AT_ONCE = 1 << 20
"""Texts that are matched together: gapped matches keep every position of their rare windows."""


@dataclass(frozen=True, slots=True)
class TracedText:
    """What was found in a text: `covered` of its words are part of a verbatim, lemma or gapped
    match, `reworded` more only of a match of meaning."""

    id: str
    source: str | None
    words: int
    covered: int
    reworded: int
    spans: int


@dataclass(frozen=True, slots=True)
class Trace:
    """Spans in the order that was asked for, each with its evidence.

    `span_counts` counts all spans by kind, also those that are not listed; `texts` holds every text
    in the order of the input, `texts_by_number` the characters of those with a listed span.
    """

    options: TraceOptions
    signature: str
    """Of the annotator that cut texts and corpus into words."""
    spans: tuple[Span, ...]
    span_counts: dict[str, int]
    texts: tuple[TracedText, ...]
    texts_by_number: dict[int, str]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _TracedPart:
    texts: list[TracedText]
    spans: list[Span]
    span_counts: Counter[str]
    texts_by_number: dict[int, str]


def trace(
    index: Index,
    texts: Corpus,
    options: TraceOptions | None = None,
    *,
    jobs: int = 1,
    engine: str | run.Engine | None = None,
    reporter: Reporter | None = None,
    unrelated: Corpus | None = None,
) -> Trace:
    """Every span of the texts that the index holds; results do not depend on `jobs`.

    `unrelated` texts tell how probable matches of meaning are; without them the index's own do.
    """
    options, notes = fit_options(index, options or TraceOptions())
    reporter = reporter or Silent()
    problems = Problems()
    works = run.get(engine, jobs)
    # An index in memory cannot travel to other processes, one on disk is opened by each.
    away = works.jobs > 1 or works.remote
    state = (index.path, index.manifest) if away and index.path and index.manifest else None
    estimate = None
    if MEANING in options.kinds and index.segments:
        from rote.search.meaning.index_matches import index_chance, unrelated_chance

        if unrelated is None:
            estimate = index_chance(index, reporter)
        else:
            with reporter.stage("estimating chance on unrelated texts", None):
                estimate = unrelated_chance(index, (document.text for document in unrelated))
    work = _TraceTask(options, state, None if state else index.on(jobs), estimate=estimate)
    parts = _trace_parts(texts, work, works if state else run.get(), problems)
    span_counts: Counter[str] = Counter()
    rows: list[TracedText] = []
    listed_spans: list[Span] = []
    texts_by_number: dict[int, str] = {}
    with reporter.stage("tracing", texts.size, unit="B") as advance:
        for size, part in parts:
            base = len(rows)
            rows += part.texts
            span_counts += part.span_counts
            texts_by_number |= {
                base + number: text for number, text in part.texts_by_number.items()
            }
            listed_spans += [replace(span, number=base + span.number) for span in part.spans]
            listed_spans = select_best(listed_spans, options)
            listed = {span.number for span in listed_spans}
            texts_by_number = {
                number: text for number, text in texts_by_number.items() if number in listed
            }
            advance(size)
    for line in problems.listed():
        reporter.say(line)
    with reporter.stage("looking up sources", None):
        spans = add_evidence(index, listed_spans, options.layer_of, options)
    return Trace(
        options=options,
        signature=index.recipe.signature,
        spans=tuple(spans),
        span_counts={kind: span_counts[kind] for kind in options.kinds},
        texts=tuple(rows),
        texts_by_number=texts_by_number,
        notes=tuple(notes),
    )


def fit_options(index: Index, options: TraceOptions) -> tuple[TraceOptions, list[str]]:
    """The options with the kinds that the index can match, and what it cannot.

    Kinds that were named are an error if the index lacks their layer.
    """
    kinds = options.kinds or KINDS
    wanted = replace(options, kinds=tuple(k for k in (*KINDS, MEANING) if k in kinds))
    if MEANING in kinds and index.segments:
        index.sentence_embedder().check()
    missing = [layer for layer in wanted.layers if layer not in index.sorted_layers]
    if not missing or not index.segments:
        return wanted, []
    how = f"`rote index add-layer {index.path or 'IDX'} {missing[0]}` adds it"
    if options.kinds or missing != [LEMMA_LAYER]:
        raise OptionError(
            f"the index cannot count over the layer '{missing[0]}', only over "
            f"{', '.join(index.sorted_layers)}. {how}"
        )
    without = replace(wanted, kinds=(VERBATIM, GAPPED))
    return without, [f"no lemma matches: the index has no sorted layer '{LEMMA_LAYER}'; {how}"]


def select_best(spans: Sequence[Span], options: TraceOptions) -> list[Span]:
    def key(span: Span) -> tuple[float, float, int, int, int]:
        size = (-span.words, -span.bits)
        first, second = size if options.sort == "longest" else size[::-1]
        return first, second, span.number, span.start, span.end

    return heapq.nsmallest(options.limit or len(spans), spans, key=key)


@dataclass(frozen=True, slots=True)
class _TraceTask:
    """Annotates and matches one shard, part by part; travels to worker processes, which open the
    index anew.

    `state` is the index as it was opened here: a merge meanwhile must not change what a segment's
    number means. Lines that are left `out` are those of documents whose ids came before.
    """

    options: TraceOptions
    state: tuple[Path, Manifest] | None
    index: Index | None
    out: frozenset[int] = frozenset()
    estimate: Chance | None = None

    def __call__(self, shard: Shard) -> tuple[int, Batch, list[_TracedPart]]:
        batch = shard.read()
        batch = batch.without({i for i, n in enumerate(batch.lines) if n in self.out}, [])
        index = open_state(*self.state) if self.state else self.index
        assert index is not None
        parts = [
            _trace_part(index, part, self.options, self.estimate) for part in _split_batch(batch)
        ]
        return shard.size, batch.bare(), parts


def _trace_parts(
    texts: Corpus, work: _TraceTask, engine: run.Engine, problems: Problems
) -> Iterator[tuple[int, _TracedPart]]:
    """What was found, part by part; what a part adds to the progress comes with its shard's last.

    A shard with documents whose ids came before, which is rare, is matched again without them.
    """
    duplicates = DuplicateIds(texts.options.on_error)
    for again, (size, batch, parts) in map_again(work, texts, engine, doing="tracing"):
        unique = duplicates.check(batch)
        problems.add(unique.problems)
        if unique is not batch:
            out = frozenset(batch.lines).difference(unique.lines)
            parts = again(replace(work, out=out))[2]
        for part_number, part in enumerate(parts, 1):
            yield size if part_number == len(parts) else 0, part


def _split_batch(batch: Batch) -> Iterator[list[Document]]:
    part: list[Document] = []
    characters = 0
    for document in batch.documents:
        if part and characters + len(document.text) > _CHARACTERS_AT_ONCE:
            yield part
            part, characters = [], 0
        # With no more than its source, which its file names if it does not.
        source = document.meta.get("source") or batch.label
        part.append(Document(document.id, document.text, {"source": source}))
        characters += len(document.text)
    yield part


def _trace_part(
    index: Index, documents: Sequence[Document], options: TraceOptions, estimate: Chance | None
) -> _TracedPart:
    recipe = replace(index.recipe, layers=options.layers, subwords=())
    annotation = recipe.annotate_words(list(documents))
    layers = {name: annotation.layers[name] for name in options.layers}
    if LEMMA_LAYER in layers:
        layers[LEMMA_LAYER] = respell_lemmas(index, layers[LEMMA_LAYER])
    matches = find_matches(index, layers, options)
    word = annotation.word
    covered = np.zeros(len(word.ids), bool)
    for match in matches:
        for first, length in match.runs:
            covered[first : first + length] = True
    meant = np.zeros(len(word.ids), bool)
    if estimate is not None:
        texts = [document.text for document in documents]
        meanings = _find_meanings(index, texts, word, covered, estimate, options.chance)
        for match in meanings:
            meant[match.first : match.last] = True
        matches += meanings
    sizes = zip(
        np.diff(word.text_ends, prepend=0).tolist(),
        _count_in_texts(word, covered),
        _count_in_texts(word, meant & ~covered),
    )
    counts = Counter(match.text for match in matches)
    layer_of = options.layer_of
    spans = [
        _as_span(match, documents[match.text], word, layers[layer_of[match.kind]])
        for match in matches
    ]
    spans = select_best(spans, options)
    return _TracedPart(
        texts=[
            TracedText(document.id, document.meta["source"], *size, counts[t])
            for t, (document, size) in enumerate(zip(documents, sizes))
        ],
        spans=spans,
        span_counts=Counter(match.kind for match in matches),
        texts_by_number={span.number: documents[span.number].text for span in spans},
    )


def _count_in_texts(word: Layer, marked: NDArray[np.bool_]) -> list[int]:
    sums = np.append(np.int64(0), np.cumsum(marked, dtype=np.int64))
    counts: list[int] = (sums[word.text_ends] - sums[word.text_starts]).tolist()
    return counts


def _find_meanings(
    index: Index,
    texts: Sequence[str],
    word: Layer,
    covered: NDArray[np.bool_],
    estimate: Chance,
    most: float,
) -> list[Match]:
    """Matches of meaning, those apart that stricter matches cover for the most part."""
    from rote.search.meaning.index_matches import find_meanings

    return [
        Match(
            MEANING,
            match.text,
            match.first,
            match.last,
            match.last - match.first,
            round(-math.log2(match.p), 1),
            (Copy(match.segment, match.start, match.end),),
            match.similarity,
            match.p,
        )
        for match in find_meanings(_index_sentences(index), texts, word, estimate, most)
        if covered[match.first : match.last].mean() <= _MOST_COVERED
    ]


@lru_cache(maxsize=1)
def _index_sentences(index: Index) -> IndexSentences:
    from rote.search.meaning.index_matches import IndexSentences

    return IndexSentences(index)


def _as_span(match: Match, document: Document, word: Layer, layer: Layer) -> Span:
    start, end = int(word.starts[match.first]), int(word.ends[match.last - 1])
    return Span(
        kind=match.kind,
        number=match.text,
        id=document.id,
        start=start,
        end=end,
        text=document.text[start:end],
        words=match.words,
        bits=match.bits,
        runs=tuple(
            (int(word.starts[first]), int(word.ends[first + length - 1]))
            for first, length in match.runs
        ),
        match=match,
        items=tuple(layer.vocabulary[i] for i in layer.ids[match.first : match.last]),
    )


_SPELLINGS = (str, str.lower, str.capitalize, str.upper)
_AROUND = 16
"""Words on either side of one in capitals among which its matches are compared."""


def respell_lemmas(index: Index, lemmas: Layer) -> Layer:
    """The layer with the most frequent spelling of every lemma in capitals or unknown."""
    spelled = _most_frequent(index, lemmas)
    respelled = np.array([new != old for new, old in zip(spelled, lemmas.vocabulary)], bool)
    words = np.flatnonzero(respelled[lemmas.ids])
    if not len(words):
        return lemmas
    vocabulary, numbers = number([*lemmas.vocabulary, *spelled])
    ids = lemmas.ids.copy()
    ids[words] = numbers[len(lemmas.vocabulary) + ids[words]]
    changed = replace(lemmas, ids=ids, vocabulary=vocabulary)
    # These words and those around them, as far as a match is looked at.
    edges = np.zeros(len(lemmas.ids) + 1, np.int64)
    np.add.at(edges, np.maximum(words - _AROUND, 0), 1)
    np.add.at(edges, np.minimum(words + _AROUND + 1, len(lemmas.ids)), -1)
    near = np.flatnonzero(np.cumsum(edges[:-1]))
    stay = _longest_around(index, lemmas, near) > _longest_around(index, changed, near)
    stay &= respelled[lemmas.ids[near]]
    ids[near[stay]] = lemmas.ids[near[stay]]
    return changed


def _longest_around(index: Index, layer: Layer, near: Numbers) -> Numbers:
    """For each of these words how long the longest match among them is that holds it."""
    texts = np.searchsorted(layer.text_ends, near, side="right")
    apart = (np.diff(near) > 1) | (np.diff(texts) > 0)
    ends = np.append(np.flatnonzero(apart) + 1, len(near))
    part = replace(layer, ids=layer.ids[near], text_ends=ends, sentence_ends=None)
    first, last = maximal_spans(index.lengths(part, layer.name), part)
    # Both rise, so that the matches that hold a word stand next to each other.
    words = np.arange(len(near))
    begin = np.searchsorted(last, words, side="right")
    end = np.searchsorted(first, words, side="right")
    lengths = np.append(last - first, 0)
    lengths_around = np.maximum.reduceat(lengths, np.stack((begin, end), axis=1).ravel())[::2]
    return np.asarray(np.where(begin < end, lengths_around, 0), np.int64)


def _most_frequent(index: Index, lemmas: Layer) -> list[str]:
    """For each lemma of the vocabulary itself, or another spelling of it."""
    known = _count_lemmas(index, lemmas.name, lemmas.vocabulary).tolist()
    uncertain = [
        place
        for place, (lemma, count) in enumerate(zip(lemmas.vocabulary, known))
        if (len(lemma) > 1 and lemma.isupper()) or not count
    ]
    variants = [
        [spelling(lemmas.vocabulary[place]) for spelling in _SPELLINGS] for place in uncertain
    ]
    counts = _count_lemmas(index, lemmas.name, [variant for row in variants for variant in row])
    spellings = list(lemmas.vocabulary)
    # Of spellings that are equally frequent the first, which is the lemma as it stands.
    best = counts.reshape(-1, len(_SPELLINGS)).argmax(axis=1).tolist()
    for place, row, most in zip(uncertain, variants, best):
        spellings[place] = row[most]
    return spellings


def _count_lemmas(index: Index, layer: str, items: Sequence[str]) -> Numbers:
    return index.counts(Grams.of([(item,) for item in items]), layer)
