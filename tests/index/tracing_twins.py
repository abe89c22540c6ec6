"""Matched spans, runs and chains the slow way, on lists of words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from rote.core.layer import Layer, number

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


def link(first: Run, second: Run, gap: int) -> tuple[int, int] | None:
    """How much of the second run is cut off, and the words in both gaps; None: no link."""
    (i, p, n), (j, q, m) = first, second
    if not (i < j and p < q):
        return None
    cut = max(0, i + n - j, p + n - q)
    gaps = (j + cut - i - n, q + cut - p - n)
    return (cut, sum(gaps)) if cut < m and max(gaps) <= gap else None


def best_chains(found: Sequence[Run], gap: int) -> list[tuple[int, int]]:
    """(words, minus the words in gaps) of the best chain of each group, if it has two runs."""
    groups: list[set[Run]] = []
    for run in found:
        near = [g for g in groups if any(link(a, run, gap) or link(run, a, gap) for a in g)]
        groups = [g for g in groups if g not in near] + [{run}.union(*near)]
    best = []
    for group in groups:
        chains = [chain for run in group for chain in _from(run, group, gap)]
        words, gaps, size = max(chains)
        if size > 1:
            best.append((words, gaps))
    return sorted(best)


def _from(run: Run, group: set[Run], gap: int) -> list[tuple[int, int, int]]:
    """Every chain that begins with a run: its words, minus its gaps, how many runs."""
    chains = [(run[2], 0, 1)]
    for other in group:
        linked = link(run, other, gap)
        if linked is not None:
            cut, apart = linked
            for words, gaps, size in _from(other, group, gap):
                chains.append((run[2] + words - cut, gaps - apart, size + 1))
    return chains
