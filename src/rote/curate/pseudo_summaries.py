"""Documents to pairs of document and pseudo-summary, as for training PEGASUS.

The pseudo-summary is the sentence with the highest ROUGE-1 F against the rest of its document; the
rest is what is to be summarized. Sentence and rest have together as many words whichever sentence
it is, so F = 2 * shared / all is highest for the sentence that shares most words: whole numbers
are compared, and equal ones are equal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rote import run
from rote.annotate import words
from rote.annotate.sentences import split
from rote.core.arrays import Array
from rote.core.document import Document
from rote.core.files import new_file
from rote.core.kernels import njit
from rote.core.layer import Layer
from rote.core.progress import Reporter, Silent
from rote.corpus import Batch, Corpus, Problems, Shard, map_shards
from rote.curate.corpus_reader import UniqueIds, json_line, other_fields

Reason = Literal["one sentence", "no words"]
TEXT, DOCUMENT, REFERENCE, SCORE = "text", "document", "reference", "rouge_1"
_WORDS, _ROUGE = "ud", "rouge"


@dataclass(frozen=True, slots=True)
class SummaryPair:
    """A sentence as the summary of the rest of its text, and its ROUGE-1 F against it."""

    document: str
    summary: str
    score: float


@dataclass(frozen=True, slots=True)
class SummaryCounts:
    """How many pairs were written, which documents gave none and why, and what was skipped.

    `unrelated`: no sentence shares a word with the rest, so that the first one is the summary.
    `replaced` are fields of the input that pairs hold something else in.
    """

    pairs: int
    left_out: Counter[Reason]
    unrelated: int
    replaced: Counter[str]
    problems: Problems


def make_pairs(texts: Sequence[str]) -> list[SummaryPair | Reason]:
    layer = split(texts, words.get(_WORDS)(texts))
    spans = list(_sentence_spans(layer))
    rouge = words.get(_ROUGE)(texts)
    best, shared = _most_shared(
        rouge.ids,
        rouge.starts,
        rouge.text_ends,
        np.array([start for text_spans in spans for start, _ in text_spans], np.int64),
        np.cumsum([len(text_spans) for text_spans in spans], dtype=np.int64),
        len(rouge.vocabulary),
    )
    sizes = (rouge.text_ends - rouge.text_starts).tolist()
    return [_make_pair(*each) for each in zip(texts, spans, best.tolist(), shared.tolist(), sizes)]


def _make_pair(
    text: str, spans: Sequence[tuple[int, int]], best: int, shared: int, size: int
) -> SummaryPair | Reason:
    if len(spans) < 2:
        return "one sentence"
    if not size:
        return "no words"
    start, end = spans[best]
    return SummaryPair(_without_sentence(text, spans, best), text[start:end], 2 * shared / size)


def _sentence_spans(layer: Layer) -> Iterator[list[tuple[int, int]]]:
    """For each text the characters at which its sentences start and end."""
    ends = layer.sentence_ends
    assert ends is not None
    starts = np.concatenate((np.zeros(1, np.int64), ends[:-1]))[: len(ends)]
    first, last = layer.starts[starts].tolist(), layer.ends[ends - 1].tolist()
    bounds = np.searchsorted(ends, layer.text_ends, side="right").tolist()
    for begin, end in zip([0, *bounds], bounds):
        yield list(zip(first[begin:end], last[begin:end]))


def _without_sentence(text: str, spans: Sequence[tuple[int, int]], left_out: int) -> str:
    """The text without one of its sentences; of the gaps around it the one with more lines stays,
    so that paragraphs stay apart."""
    start, end = spans[left_out]
    if left_out == 0:
        return text[spans[1][0] :].rstrip()
    before = text[: spans[left_out - 1][1]].lstrip()
    if left_out == len(spans) - 1:
        return before
    after = spans[left_out + 1][0]
    gaps = text[spans[left_out - 1][1] : start], text[end:after]
    return before + max(gaps, key=lambda gap: gap.count("\n")) + text[after:].rstrip()


@dataclass(frozen=True, slots=True)
class SummarizedShard:
    """One shard: a line of JSON for each document, or why it gives none."""

    batch: Batch
    size: int
    lines: list[bytes | Reason]
    unrelated: list[bool]
    replaced: Counter[str]


def summarize_shard(shard: Shard) -> SummarizedShard:
    batch = shard.read()
    text_pairs = make_pairs([document.text for document in batch.documents])
    return SummarizedShard(
        batch=batch.bare(),
        size=shard.size,
        lines=[
            json_line(_record(document, pair)) if isinstance(pair, SummaryPair) else pair
            for document, pair in zip(batch.documents, text_pairs)
        ],
        unrelated=[isinstance(pair, SummaryPair) and pair.score == 0 for pair in text_pairs],
        replaced=Counter(
            name
            for document in batch.documents
            for name in (TEXT, DOCUMENT, REFERENCE, SCORE)
            if name in document.meta
        ),
    )


def _record(document: Document, pair: SummaryPair) -> dict[str, Any]:
    """The summary is the text, so that every measure reads it, and a reference for what a model
    makes of the document."""
    texts = {TEXT: pair.summary, DOCUMENT: pair.document, REFERENCE: pair.summary}
    pair_fields = {**texts, SCORE: pair.score}
    return {"id": document.id, **pair_fields, **other_fields(document), **pair_fields}


def pseudo_summaries(
    corpus: Corpus,
    path: Path,
    *,
    jobs: int = 1,
    engine: str | run.Engine | None = None,
    reporter: Reporter | None = None,
) -> SummaryCounts:
    """Write a JSONL file of pairs, in the order of the input; it is whole or not there."""
    reporter = reporter or Silent()
    works = run.get(engine, jobs)
    summaries = unrelated = 0
    left_out: Counter[Reason] = Counter()
    replaced: Counter[str] = Counter()
    problems, unique = Problems(), UniqueIds(corpus)
    with new_file(path) as file, reporter.stage("choosing", corpus.size, unit="B") as advance:
        for piece in map_shards(summarize_shard, corpus, works, doing="summarizing"):
            batch = unique.check(piece.batch)
            problems.add(batch.problems)
            for number in np.flatnonzero(np.isin(piece.batch.lines, batch.lines)).tolist():
                line = piece.lines[number]
                if isinstance(line, bytes):
                    file.write(line)
                    summaries += 1
                    unrelated += piece.unrelated[number]
                else:
                    left_out[line] += 1
            replaced += piece.replaced
            advance(piece.size)
    return SummaryCounts(summaries, left_out, unrelated, replaced, problems)


@njit(cache=True, nogil=True)
def _most_shared(
    ids: Array, places: Array, text_ends: Array, sentences: Array, last_sentences: Array, kinds: int
) -> tuple[Array, Array]:
    """For each text the first of its sentences that share most words, and how many it shares.

    Text t holds the words `text_ends[t-1]:text_ends[t]`, which begin at the characters `places`,
    and the sentences `last_sentences[t-1]:last_sentences[t]`, which begin at the characters
    `sentences`. A word is shared as often as it stands both in the sentence and in the rest. A
    text without sentences has -1.
    """
    best = np.full(len(text_ends), -1, np.int64)
    shared = np.zeros(len(text_ends), np.int64)
    text_counts = np.zeros(kinds, np.int32)
    sentence_counts = np.zeros(kinds, np.int32)
    word = 0
    first = 0
    for text in range(len(text_ends)):
        begin = word
        for place in range(begin, text_ends[text]):
            text_counts[ids[place]] += 1
        last = last_sentences[text]
        for sentence in range(first, last):
            start = word
            while word < text_ends[text] and (
                sentence + 1 == last or places[word] < sentences[sentence + 1]
            ):
                sentence_counts[ids[word]] += 1
                word += 1
            count = 0
            for place in range(start, word):
                here = sentence_counts[ids[place]]
                count += min(here, text_counts[ids[place]] - here)
                sentence_counts[ids[place]] = 0  # a second occurrence adds nothing
            if best[text] < 0 or count > shared[text]:
                best[text] = sentence - first
                shared[text] = count
        word = text_ends[text]
        for place in range(begin, word):
            text_counts[ids[place]] = 0
        first = last
    return best, shared
