"""Tracing texts: their spans that an index holds, the best of them with their sources.

Texts are annotated and matched part by part, on several cores where asked; of all spans only the
best are kept on the way, and only those get evidence.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from rote import run
from rote.core.document import Document
from rote.core.errors import OptionError
from rote.core.layer import Layer
from rote.core.progress import Reporter, Silent
from rote.corpus import Batch, Corpus, DuplicateIds, Problems, Shard, map_again
from rote.index.folders.manifest import Manifest
from rote.index.index import Index
from rote.index.opening import open_state
from rote.search.trace.capitals import as_the_corpus_spells
from rote.search.trace.evidence import Span, with_evidence
from rote.search.trace.match import Match
from rote.search.trace.options import (
    EXACT_LAYER,
    GAPPED,
    KINDS,
    LEMMA,
    LEMMA_LAYER,
    VERBATIM,
    TraceOptions,
)
from rote.search.trace.spans import matches

_CHARACTERS_AT_ONCE = 1 << 20
"""Texts that are matched together: gapped matches keep every place of their rare windows."""


@dataclass(frozen=True, slots=True)
class TracedText:
    """What was found in a text: `covered` of its words are part of a match of any kind."""

    id: str
    source: str | None
    words: int
    covered: int
    spans: int


@dataclass(frozen=True, slots=True)
class Trace:
    """Spans in the order that was asked for, each with its evidence.

    `found` counts all spans by kind, also those that are not listed; `texts` holds every text in
    the order of the input, `held` the characters of those with a listed span, by number.
    """

    options: TraceOptions
    signature: str
    """Of the annotator that cut texts and corpus into words."""
    spans: tuple[Span, ...]
    found: dict[str, int]
    texts: tuple[TracedText, ...]
    held: dict[int, str]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Part:
    texts: list[TracedText]
    spans: list[Span]
    found: Counter[str]
    held: dict[int, str]


def trace(
    index: Index,
    texts: Corpus,
    options: TraceOptions | None = None,
    *,
    jobs: int = 1,
    engine: str | run.Engine | None = None,
    reporter: Reporter | None = None,
) -> Trace:
    """Every span of the texts that the index holds; results do not depend on `jobs`."""
    options, notes = fitting(index, options or TraceOptions())
    reporter = reporter or Silent()
    problems = Problems()
    works = run.get(engine, jobs)
    # An index in memory cannot travel to other processes, one on disk is opened by each.
    away = works.jobs > 1 or works.remote
    state = (index.path, index.manifest) if away and index.path and index.manifest else None
    work = _Work(options, state, None if state else index.on(jobs))
    parts = _parts(texts, work, works if state else run.get(), problems)
    found: Counter[str] = Counter()
    rows: list[TracedText] = []
    kept: list[Span] = []
    held: dict[int, str] = {}
    with reporter.stage("tracing", texts.size, unit="B") as advance:
        for size, part in parts:
            base = len(rows)
            rows += part.texts
            found += part.found
            held |= {base + number: text for number, text in part.held.items()}
            kept += [replace(span, number=base + span.number) for span in part.spans]
            kept = best(kept, options)
            listed = {span.number for span in kept}
            held = {number: text for number, text in held.items() if number in listed}
            advance(size)
    for line in problems.listed():
        reporter.say(line)
    with reporter.stage("looking up sources", None):
        spans = with_evidence(index, kept, layers_of(options), options)
    return Trace(
        options=options,
        signature=index.recipe.signature,
        spans=tuple(spans),
        found={kind: found[kind] for kind in options.kinds},
        texts=tuple(rows),
        held=held,
        notes=tuple(notes),
    )


def fitting(index: Index, options: TraceOptions) -> tuple[TraceOptions, list[str]]:
    """The options with the kinds that the index can match, and what it cannot.

    Kinds that were named are an error if the index lacks their layer.
    """
    asked = options.kinds or KINDS
    wanted = replace(options, kinds=tuple(kind for kind in KINDS if kind in asked))
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


def layers_of(options: TraceOptions) -> dict[str, str]:
    """Which layer each kind matches in."""
    layers = {VERBATIM: EXACT_LAYER, LEMMA: LEMMA_LAYER, GAPPED: options.gap_layer}
    return {kind: layers[kind] for kind in options.kinds}


def best(spans: Sequence[Span], options: TraceOptions) -> list[Span]:
    """The spans in the order that was asked for, cut at the limit."""

    def key(span: Span) -> tuple[float, float, int, int, int]:
        size = (-span.words, -span.bits)
        first, second = size if options.sort == "longest" else size[::-1]
        return first, second, span.number, span.start, span.end

    return heapq.nsmallest(options.limit or len(spans), spans, key=key)


@dataclass(frozen=True, slots=True)
class _Work:
    """Annotates and matches one shard, part by part; travels to worker processes, which open the
    index anew.

    `state` is the index as it was opened here: a merge meanwhile must not change what a segment's
    number means. Lines that are left `out` are those of documents whose ids came before.
    """

    options: TraceOptions
    state: tuple[Path, Manifest] | None
    index: Index | None
    out: frozenset[int] = frozenset()

    def __call__(self, shard: Shard) -> tuple[int, Batch, list[_Part]]:
        batch = shard.read()
        batch = batch.without({i for i, n in enumerate(batch.lines) if n in self.out}, [])
        index = _opened(*self.state) if self.state else self.index
        assert index is not None
        parts = [_traced(index, part, self.options) for part in _cut(batch)]
        return shard.size, batch.bare(), parts


@lru_cache(maxsize=1)
def _opened(path: Path, manifest: Manifest) -> Index:
    return open_state(path, manifest)


def _parts(
    texts: Corpus, work: _Work, engine: run.Engine, problems: Problems
) -> Iterator[tuple[int, _Part]]:
    """What was found, part by part; what a part adds to the progress comes with its shard's last.

    A shard with documents whose ids came before, which is rare, is matched again without them.
    """
    duplicates = DuplicateIds(texts.options.on_error)
    for again, (size, batch, parts) in map_again(work, texts, engine, doing="tracing"):
        kept = duplicates.check(batch)
        problems.add(kept.problems)
        if kept is not batch:
            out = frozenset(batch.lines).difference(kept.lines)
            parts = again(replace(work, out=out))[2]
        for number, part in enumerate(parts, 1):
            yield size if number == len(parts) else 0, part


def _cut(batch: Batch) -> Iterator[list[Document]]:
    """Documents in parts of some size."""
    part: list[Document] = []
    characters = 0
    for document in batch.documents:
        if part and characters + len(document.text) > _CHARACTERS_AT_ONCE:
            yield part
            part, characters = [], 0
        part.append(_labelled(document, batch.label))
        characters += len(document.text)
    yield part


def _labelled(document: Document, label: str) -> Document:
    """The document with no more than its source, which its file names if it does not."""
    return Document(document.id, document.text, {"source": document.meta.get("source") or label})


def _traced(index: Index, documents: Sequence[Document], options: TraceOptions) -> _Part:
    recipe = replace(index.recipe, layers=options.layers, subwords=())
    made = recipe.annotate_words(list(documents))
    layers = {name: made.layers[name] for name in options.layers}
    if LEMMA_LAYER in layers:
        layers[LEMMA_LAYER] = as_the_corpus_spells(index, layers[LEMMA_LAYER])
    found = matches(index, layers, options)
    word = made.word
    covered = np.zeros(len(word.ids), bool)
    for match in found:
        for first, length in match.runs:
            covered[first : first + length] = True
    sums = np.concatenate((np.zeros(1, np.int64), np.cumsum(covered)))
    in_text = sums[word.text_ends] - sums[word.text_starts]
    counts = Counter(match.text for match in found)
    layer_of = layers_of(options)
    spans = [
        _span(match, documents[match.text], word, layers[layer_of[match.kind]]) for match in found
    ]
    spans = best(spans, options)
    return _Part(
        texts=[
            TracedText(document.id, document.meta["source"], words, inside, counts[t])
            for t, (document, words, inside) in enumerate(
                zip(documents, np.diff(word.text_ends, prepend=0).tolist(), in_text.tolist())
            )
        ],
        spans=spans,
        found=Counter(match.kind for match in found),
        held={span.number: documents[span.number].text for span in spans},
    )


def _span(match: Match, document: Document, word: Layer, layer: Layer) -> Span:
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
