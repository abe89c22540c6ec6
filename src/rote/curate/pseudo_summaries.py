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
from rote.core.document import Document
from rote.core.files import new_file
from rote.core.layer import Layer
from rote.core.progress import Reporter, Silent
from rote.corpus import Batch, Corpus, Problems, Shard, map_shards
from rote.curate.reading import UniqueIds, fields_of, json_line

Reason = Literal["one sentence", "no words"]
TEXT, DOCUMENT, REFERENCE, SCORE = "text", "document", "reference", "rouge_1"
_WORDS, _ROUGE = "ud", "rouge"


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence as the summary of the rest of its text, and its ROUGE-1 F against it."""

    document: str
    summary: str
    score: float


@dataclass(frozen=True, slots=True)
class Made:
    """How many pairs were written, which documents gave none and why, and what was skipped.

    `unrelated`: no sentence shares a word with the rest, so that the first one is the summary.
    `replaced` are fields of the input that pairs hold something else in.
    """

    pairs: int
    left_out: Counter[Reason]
    unrelated: int
    replaced: Counter[str]
    problems: Problems


def pairs(texts: Sequence[str]) -> list[Pair | Reason]:
    """For each text its pair, or why it has none."""
    from rote.curate._sentence_kernels import most_shared

    layer = split(texts, words.get(_WORDS)(texts))
    spans = list(_sentence_spans(layer))
    rouge = words.get(_ROUGE)(texts)
    best, shared = most_shared(
        rouge.ids,
        rouge.starts,
        rouge.text_ends,
        np.array([start for own in spans for start, _ in own], np.int64),
        np.cumsum([len(own) for own in spans], dtype=np.int64),
        len(rouge.vocabulary),
    )
    sizes = (rouge.text_ends - rouge.text_starts).tolist()
    return [_pair(*each) for each in zip(texts, spans, best.tolist(), shared.tolist(), sizes)]


def _pair(
    text: str, spans: Sequence[tuple[int, int]], best: int, shared: int, size: int
) -> Pair | Reason:
    if len(spans) < 2:
        return "one sentence"
    if not size:
        return "no words"
    start, end = spans[best]
    return Pair(_rest(text, spans, best), text[start:end], 2 * shared / size)


def _sentence_spans(layer: Layer) -> Iterator[list[tuple[int, int]]]:
    """For each text the characters at which its sentences start and end."""
    ends = layer.sentence_ends
    assert ends is not None
    starts = np.concatenate((np.zeros(1, np.int64), ends[:-1]))[: len(ends)]
    first, last = layer.starts[starts].tolist(), layer.ends[ends - 1].tolist()
    bounds = np.searchsorted(ends, layer.text_ends, side="right").tolist()
    for begin, end in zip([0, *bounds], bounds):
        yield list(zip(first[begin:end], last[begin:end]))


def _rest(text: str, spans: Sequence[tuple[int, int]], left_out: int) -> str:
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
class Piece:
    """One shard: a line of JSON for each document, or why it gives none."""

    batch: Batch
    size: int
    lines: list[bytes | Reason]
    unrelated: list[bool]
    replaced: Counter[str]


def summarized(shard: Shard) -> Piece:
    """The work on one shard, in any process."""
    batch = shard.read()
    found = pairs([document.text for document in batch.documents])
    return Piece(
        batch=batch.bare(),
        size=shard.size,
        lines=[
            json_line(_record(document, pair)) if isinstance(pair, Pair) else pair
            for document, pair in zip(batch.documents, found)
        ],
        unrelated=[isinstance(pair, Pair) and pair.score == 0 for pair in found],
        replaced=Counter(
            name
            for document in batch.documents
            for name in (TEXT, DOCUMENT, REFERENCE, SCORE)
            if name in document.meta
        ),
    )


def _record(document: Document, pair: Pair) -> dict[str, Any]:
    """The summary is the text, so that every measure reads it, and a reference for what a model
    makes of the document."""
    own = {
        TEXT: pair.summary,
        DOCUMENT: pair.document,
        REFERENCE: pair.summary,
        SCORE: pair.score,
    }
    return {"id": document.id, **own, **fields_of(document), **own}


def pseudo_summaries(
    corpus: Corpus,
    path: Path,
    *,
    jobs: int = 1,
    engine: str | run.Engine | None = None,
    reporter: Reporter | None = None,
) -> Made:
    """Write a JSONL file of pairs, in the order of the input; it is whole or not there."""
    reporter = reporter or Silent()
    works = run.get(engine, jobs)
    written = unrelated = 0
    left_out: Counter[Reason] = Counter()
    replaced: Counter[str] = Counter()
    problems, unique = Problems(), UniqueIds(corpus)
    with new_file(path) as file, reporter.stage("choosing", corpus.size, unit="B") as advance:
        for piece in map_shards(summarized, corpus, works, doing="summarizing"):
            batch = unique.check(piece.batch)
            problems.add(batch.problems)
            for number in np.flatnonzero(np.isin(piece.batch.lines, batch.lines)).tolist():
                line = piece.lines[number]
                if isinstance(line, bytes):
                    file.write(line)
                    written += 1
                    unrelated += piece.unrelated[number]
                else:
                    left_out[line] += 1
            replaced += piece.replaced
            advance(piece.size)
    return Made(written, left_out, unrelated, replaced, problems)
