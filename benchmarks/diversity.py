"""Linguistic diversity of parsed sentences: time, memory, growth, and GraKeL on the same sentences.

    python benchmarks/diversity.py            both Bible translations
    python benchmarks/diversity.py TEXTS...   other texts, as for `rote syntactic`

Parsing is done before the clock starts, and so is compiling rote's kernels (cached on disk after
the first run). Seconds are processor seconds on one core, the best of three. Growth is the time
over that of the line above. Memory is the peak of the whole process so far, with all parsed texts
in it; rote is measured first.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from rote.annotate import annotators
from rote.annotate.trees import head_distances, head_layer
from rote.compare.intervals import clustered_error, mean_similarity
from rote.core.layer import Layer, concatenate
from rote.corpus import ReadOptions, open_corpus
from rote.measure._sentences import Sentences, sentences_of
from rote.measure._tree_histograms import histograms, text_sums

SIZES, PEER_SIZES = (1_000, 10_000, 100_000), (500, 1_000, 2_000)
TEXTS_AT_A_TIME = 100
REPEATS = 3


@dataclass(frozen=True)
class Parsed:
    """Texts with parts of speech, heads and sentences."""

    upos: Layer
    head: Layer
    sentences: Sentences

    def first(self, count: int) -> Parsed:
        """The first sentences alone."""
        kept = self.sentences.chosen(np.arange(len(self)) < count)
        items = int(kept.ends[-1])
        return Parsed(_cut(self.upos, items), _cut(self.head, items), kept)

    def __len__(self) -> int:
        return len(self.sentences)


def _cut(layer: Layer, items: int) -> Layer:
    assert layer.sentence_ends is not None
    text_ends = np.append(layer.text_ends[layer.text_ends < items], items)
    sentence_ends = layer.sentence_ends[layer.sentence_ends <= items]
    ids = layer.ids[:items]
    return replace(layer, ids=ids, text_ends=text_ends, sentence_ends=sentence_ends)


def parsed(inputs: list[str], most: int) -> Parsed:
    """As many texts as hold `most` sentences, or all."""
    documents, annotator = iter(open_corpus(inputs, ReadOptions())), annotators.get()
    upos, head, found = [], [], 0
    while found < most and (batch := list(islice(documents, TEXTS_AT_A_TIME))):
        annotation = annotator(batch, ("upos", "dep"))
        assert annotation.heads is not None
        upos.append(annotation.layers["upos"])
        head.append(head_layer(annotation.word, annotation.heads))
        found += len(sentences_of(annotation.word))
    joined = concatenate(upos)
    return Parsed(joined, concatenate(head), sentences_of(joined)).first(most)


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """The best of some runs, and what the last one gave."""
    took = []
    for _ in range(REPEATS):
        start = time.process_time()
        made = work()
        took.append(time.process_time() - start)
    return min(took), made


def peak_megabytes() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3


def growth(took: float, before: float | None) -> str:
    return f"{took / before:.1f}x" if before else ""


def wl_diversity(texts: Parsed) -> tuple[float, float]:
    """Mean of 1 - k over all pairs of sentences, and its standard error over texts."""
    made = histograms(texts.upos, texts.head, texts.sentences)
    sums = text_sums(made, texts.sentences, len(texts.upos))
    take = np.arange(len(texts.upos), dtype=np.int64)
    square, counts = sums.square(take), sums.counts.astype(np.float64)
    error = clustered_error(square, sums.products(take), sums.squares, counts)
    return 1 - mean_similarity(square, len(texts)), error


def grakel_graphs(texts: Parsed) -> list[Any]:
    from grakel import Graph

    away, made = head_distances(texts.head), []
    names, ids = texts.upos.vocabulary, texts.upos.ids
    for start, end in zip(texts.sentences.starts.tolist(), texts.sentences.ends.tolist()):
        edges = [(p, p + int(away[p]) if away[p] else -1) for p in range(start, end)]
        labels = {-1: "the root", **{p: names[ids[p]] for p in range(start, end)}}
        made.append(Graph([*edges, *((b, a) for a, b in edges)], node_labels=labels))
    return made


def grakel_diversity(graphs: list[Any]) -> float:
    from grakel.kernels import VertexHistogram, WeisfeilerLehman

    kernel = WeisfeilerLehman(n_iter=2, normalize=True, base_graph_kernel=VertexHistogram)
    matrix, count = kernel.fit_transform(graphs), len(graphs)
    return float(1 - (matrix.sum() - count) / (count * (count - 1)))


def syntactic_section(texts: Parsed) -> None:
    print("syntactic diversity, Weisfeiler-Lehman kernel of depth 2, all pairs")
    print(f"{'sentences':>10}{'words':>12}{'rote s':>10}{'growth':>8}{'peak MB':>9}{'value':>10}")
    wl_diversity(texts.first(100))
    before = None
    for size in sorted({min(size, len(texts)) for size in SIZES}):
        part = texts.first(size)
        took, (value, error) = seconds(lambda part=part: wl_diversity(part))
        words = int(part.sentences.lengths.sum())
        print(
            f"{size:>10,}{words:>12,}{took:>10.3f}{growth(took, before):>8}"
            f"{peak_megabytes():>9,.0f}{value:>10.4f} ±{1.96 * error:.4f}",  # nan: one text
            flush=True,
        )
        before = took
    print(
        f"\n{'sentences':>10}{'GraKeL s':>10}{'growth':>8}{'peak MB':>9}{'rote s':>10}{'ratio':>9}"
        f"{'difference':>12}"
    )
    before = None
    for size in PEER_SIZES:
        part = texts.first(size)
        graphs = grakel_graphs(part)
        ours, (value, _) = seconds(lambda part=part: wl_diversity(part))
        theirs, expected = seconds(lambda graphs=graphs: grakel_diversity(graphs))
        print(
            f"{size:>10,}{theirs:>10.3f}{growth(theirs, before):>8}{peak_megabytes():>9,.0f}"
            f"{ours:>10.4f}{theirs / ours:>8,.0f}x{abs(value - expected):>12.1e}",
            flush=True,
        )
        before = theirs


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("texts", nargs="*", default=["bible:kjv", "bible:asv"])
    given = parser.parse_args()
    texts = parsed(given.texts, max(SIZES))
    syntactic_section(texts)


if __name__ == "__main__":
    main()
