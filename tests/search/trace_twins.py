"""Matched spans, runs and alignments the slow way, on lists of words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product

import numpy as np

from rote.core.layer import Layer, number
from rote.search.trace.alignment import EDIT

Texts = Sequence[Sequence[str]]
Run = tuple[int, int, int]


def layer_of(texts: Texts, name: str = "lower") -> Layer:
    """Words with character spans, as if they stood one after the other."""
    vocabulary, ids = number(word for text in texts for word in text)
    starts = np.array([2 * place for text in texts for place in range(len(text))], np.int32)
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    return Layer(name, ids, vocabulary, starts, starts + np.int32(1), ends)


def occurs(gram: Sequence[str], documents: Texts) -> int:
    n = len(gram)
    return sum(
        list(document[i : i + n]) == list(gram)
        for document in documents
        for i in range(len(document) - n + 1)
    )


def maximal_spans(text: Sequence[str], documents: Texts) -> list[tuple[int, int]]:
    """All spans that some document holds, but those inside another such span."""
    size = len(text)
    held = [
        (i, j) for i in range(size) for j in range(i + 1, size + 1) if occurs(text[i:j], documents)
    ]
    return [
        (i, j) for i, j in held if not any((a, b) != (i, j) and a <= i and j <= b for a, b in held)
    ]


def runs(text: Sequence[str], documents: Texts, seed: int, most: int) -> set[tuple[int, Run]]:
    """(document, (word of the text, word of the document, length)) of every shared run."""
    found = set()
    for holder, document in enumerate(documents):
        for i, p in product(range(len(text)), range(len(document))):
            if i and p and text[i - 1] == document[p - 1]:
                continue
            length = 0
            while (
                i + length < len(text)
                and p + length < len(document)
                and text[i + length] == document[p + length]
            ):
                length += 1
            windows = [text[i + k : i + k + seed] for k in range(length - seed + 1)]
            if any(occurs(window, documents) <= most for window in windows):
                found.add((holder, (i, p, length)))
    return found


def extended(
    text: Sequence[str], document: Sequence[str], weights: Sequence[float], edit: float, drop: int
) -> tuple[float, list[tuple[int, int]]]:
    """The bits of the best alignment from the first words on, and its pairs of equal words.

    A cell (i, j) holds the best way to consume i words of the text and j of the document.
    """
    best, where = 0.0, (0, 0)
    cells = {(0, j): (-edit * j, (0, j - 1)) for j in range(1, min(drop, len(document)) + 1)}
    cells[0, 0] = (0.0, (0, 0))
    centre = 0
    for i in range(1, len(text) + 1):
        for j in range(max(0, centre + 1 - drop), min(centre + 1 + drop, len(document)) + 1):
            same = j > 0 and text[i - 1] == document[j - 1]
            ways = [
                (cells[before][0] + gain, before)
                for before, gain in (
                    ((i - 1, j - 1), weights[i - 1] if same else -edit),
                    ((i - 1, j), -edit),
                    ((i, j - 1), -edit),
                )
                if before in cells
            ]
            score, before = max(ways, key=lambda way: way[0], default=(-np.inf, (0, 0)))
            if score >= best - drop * edit:
                cells[i, j] = (score, before)
                if score > best:
                    best, where = score, (i, j)
        row = {j: score for (r, j), (score, _) in cells.items() if r == i}
        if not row:
            break
        centre = max(row, key=lambda j: (row[j], -j))
    pairs = []
    while where != (0, 0):
        before = cells[where][1]
        if cells[where][0] > cells[before][0]:
            pairs.append(before)
        where = before
    return best, pairs[::-1]


def best_prefixes(
    text: Sequence[str], document: Sequence[str], weight: float, edit: float
) -> float:
    """The bits of the best alignment of any prefix of each, without bounds."""

    @cache
    def score(i: int, j: int) -> float:
        if not i or not j:
            return -edit * (i + j)
        same = text[i - 1] == document[j - 1]
        return max(
            score(i - 1, j - 1) + (weight if same else -edit),
            score(i - 1, j) - edit,
            score(i, j - 1) - edit,
        )

    return max(score(i, j) for i in range(len(text) + 1) for j in range(len(document) + 1))


def aligned(
    text: Sequence[str], document: Sequence[str], run: Run, weights: Sequence[float], drop: int
) -> tuple[float, list[Run]]:
    """A run made longer on both sides: its bits, and the runs that it then has."""
    i, p, n = run
    before, back = extended(text[:i][::-1], document[:p][::-1], weights[:i][::-1], EDIT, drop)
    after, ahead = extended(text[i + n :], document[p + n :], weights[i + n :], EDIT, drop)
    pairs = [(i - 1 - a, p - 1 - b) for a, b in back[::-1]]
    pairs += [(i + k, p + k) for k in range(n)] + [(i + n + a, p + n + b) for a, b in ahead]
    runs: list[Run] = []
    for a, b in pairs:
        if runs and (runs[-1][0] + runs[-1][2], runs[-1][1] + runs[-1][2]) == (a, b):
            runs[-1] = (*runs[-1][:2], runs[-1][2] + 1)
        else:
            runs.append((a, b, 1))
    return before + sum(weights[i : i + n]) + after, runs


def followed(
    text: Sequence[str], document: Sequence[str], span: tuple[int, int], place: int
) -> tuple[int, int, int, int]:
    """A match from a place of a document on, past seams: from where to where in both."""

    def word(i: int) -> str:
        return text[i] if 0 <= i < len(text) else ""

    def held(p: int) -> str:
        return document[p] if 0 <= p < len(document) else ""

    first, last = span
    start, end = place, place + last - first
    while word(last) and held(end):
        if word(last) == held(end):
            last, end = last + 1, end + 1
        elif word(last) + word(last + 1) == held(end) and word(last + 1) == ".":
            last, end = last + 2, end + 1
        elif held(end) + held(end + 1) == word(last) and held(end + 1) == ".":
            last, end = last + 1, end + 2
        else:
            break
    while word(first - 1) and held(start - 1):
        if word(first - 1) == held(start - 1):
            first, start = first - 1, start - 1
        elif word(first - 2) + word(first - 1) == held(start - 1) and word(first - 1) == ".":
            first, start = first - 2, start - 1
        elif held(start - 2) + held(start - 1) == word(first - 1) and held(start - 1) == ".":
            first, start = first - 1, start - 2
        else:
            break
    return first, last, start, end


def joined(texts: Texts, segments: Sequence[Texts], least: int) -> list[tuple[int, ...]]:
    """(first, last, segment, start, end) of the spans across seams, those inside another left out.

    Words are counted from the first text on, places in the stream of each segment.
    """
    everything = [document for segment in segments for document in segment]
    found: set[tuple[int, ...]] = set()
    base = 0
    for text in texts:
        for i, j in maximal_spans(text, everything) if text else ():
            for which, segment in enumerate(segments if j - i >= least else ()):
                stream = 0
                for document in segment:
                    for p in range(len(document)):
                        if list(document[p : p + j - i]) == list(text[i:j]):
                            a, b, c, d = followed(text, document, (i, j), p)
                            if (a, b) != (i, j):
                                found.add((base + a, base + b, which, stream + c, stream + d))
                    stream += len(document) + 1
        base += len(text)
    inside = [
        span
        for span in found
        if not any(
            other[0] <= span[0] and span[1] <= other[1] and other[:2] != span[:2] for other in found
        )
    ]
    return sorted(inside, key=lambda span: (span[0], -span[1], *span[2:4]))
