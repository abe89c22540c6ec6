# ruff: noqa: T201 - a command says what it does
"""Make the lexicon: which words stand alike in the novels, and which are capitalized.

    python training/lexicon.py --data data

Words in lower case with every digit read as 0, at least 6 times; positive pointwise
mutual information with the 1,500 most frequent words at distances -2, -1, +1, +2;
SVD to 100 dimensions; spherical k-means with 64, 256 and 1,024 clusters; and a code
of eight parts (product quantization), which keeps more of the vector than clusters do.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import svds

sys.path.insert(0, str(Path(__file__).parent))

import corpus

from rote.annotate import _hashing
from rote.annotate._weights import write
from rote.core.layer import Layer

WEIGHTS = Path(__file__).parents[1] / "src/rote/annotate/weights"
MINIMUM, CONTEXTS, DIMENSIONS = 6, 1500, 100
CLUSTERS = (64, 256, 1024)
PARTS, PART_CLUSTERS = 8, 256
CAPITAL_BUCKETS = (0.02, 0.1, 0.3, 0.6, 0.9, 0.98)
Vectors = NDArray[np.float32]


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the lexicon from the novels.")
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--output", type=Path, default=WEIGHTS / "lexicon.npz.zst")
    options = parser.parse_args()
    layer = corpus.novels(options.data)
    print(f"{len(layer.ids):,} words, {len(layer.vocabulary):,} different")
    keys, classes = build(layer)
    about = {
        "name": "lexicon",
        "version": "1",
        "words": len(keys),
        "source": "public-domain English novels, published before 1930",
    }
    write(options.output, {"keys": keys, "classes": classes}, about)
    print(f"{len(keys):,} entries, {options.output.stat().st_size / 1e6:.2f} MB")


def build(layer: Layer) -> tuple[NDArray[np.uint64], NDArray[np.uint16]]:
    """Keys of the known words, ascending, and their classes (from 1; 0 is unknown)."""
    assert layer.sentence_ends is not None
    table = _hashing.attributes(layer.vocabulary)[: len(layer.vocabulary)]
    keys, key_of = np.unique(table[:, _hashing.KEY], return_inverse=True)
    tokens = key_of[layer.ids]
    counts = np.bincount(tokens, minlength=len(keys))
    frequent = np.flatnonzero(counts >= MINIMUM)
    number = np.full(len(keys), -1, np.int64)
    number[frequent] = np.arange(len(frequent))
    tokens = number[tokens]
    capital = _capital(layer, table[:, _hashing.FLAGS], tokens, len(frequent))
    vectors = _vectors(tokens, layer.sentence_ends, counts[frequent])
    generator = np.random.default_rng(1)
    columns = [capital]
    columns += [_k_means(vectors, size, generator) + 1 for size in CLUSTERS]
    turned = vectors @ _rotation(vectors.shape[1], generator)
    for part in np.array_split(turned, PARTS, axis=1):
        columns.append(_k_means(part, PART_CLUSTERS, generator, spherical=False) + 1)
    return keys[frequent], np.stack(columns, axis=1).astype(np.uint16)


def _capital(layer: Layer, flags: NDArray[np.uint64], tokens: NDArray[np.int64], size: int):  # type: ignore[no-untyped-def]
    """A bucket of how often a word is capitalized when it does not begin a sentence."""
    inside = np.ones(len(tokens), bool)
    assert layer.sentence_ends is not None
    inside[0] = False
    inside[layer.sentence_ends[:-1]] = False
    # Nor after a quotation mark or the like, where speech begins.
    marks = (flags & np.uint64(_hashing.ONLY_MARKS)).astype(bool)[layer.ids]
    commas = np.isin(layer.ids, [i for i, word in enumerate(layer.vocabulary) if word == ","])
    inside[1:] &= ~(marks & ~commas)[:-1]
    inside &= tokens >= 0
    upper = (flags & np.uint64(_hashing.FIRST_UPPER)).astype(bool)[layer.ids]
    total = np.bincount(tokens[inside], minlength=size)
    raised = np.bincount(tokens[inside & upper], minlength=size)
    bucket = np.digitize(raised / np.maximum(total, 1), CAPITAL_BUCKETS) + 2
    return np.where(total >= 3, bucket, 1)


def _vectors(tokens: NDArray[np.int64], ends: NDArray[np.int64], counts) -> Vectors:  # type: ignore[no-untyped-def]
    """A vector of length 1 for each word, from its neighbours."""
    sentence = np.zeros(len(tokens), np.int32)
    sentence[ends[:-1]] = 1
    sentence = np.cumsum(sentence, dtype=np.int32)
    context = np.full(len(counts), -1, np.int64)
    context[np.argsort(-counts, kind="stable")[:CONTEXTS]] = np.arange(CONTEXTS)
    parts = []
    for block, distance in enumerate((-2, -1, 1, 2)):
        here = np.arange(max(0, -distance), len(tokens) - max(0, distance))
        there = here + distance
        around = np.where(tokens[there] >= 0, context[tokens[there]], -1)
        good = (tokens[here] >= 0) & (around >= 0) & (sentence[here] == sentence[there])
        pairs = tokens[here[good]] * (4 * CONTEXTS) + block * CONTEXTS + around[good]
        parts.append(np.unique(pairs, return_counts=True))
    codes = np.concatenate([part[0] for part in parts])
    seen = np.concatenate([part[1] for part in parts]).astype(np.float64)
    row, column = codes // (4 * CONTEXTS), codes % (4 * CONTEXTS)
    by_row = np.bincount(row, seen, len(counts))
    by_column = np.bincount(column, seen, 4 * CONTEXTS)
    block_total = by_column.reshape(4, -1).sum(1)[column // CONTEXTS]
    information = np.log(seen * block_total * 4 / (by_row[row] * by_column[column]))
    positive = information > 0
    matrix = csr_matrix(
        (information[positive], (row[positive], column[positive])), (len(counts), 4 * CONTEXTS)
    )
    start = np.random.default_rng(0).standard_normal(min(matrix.shape))
    left, strength, _ = svds(matrix, k=DIMENSIONS, v0=start)
    vectors = (left * np.sqrt(strength)).astype(np.float32)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def _rotation(size: int, generator: np.random.Generator) -> Vectors:
    """A random rotation, so that every part of the code carries as much as another."""
    return np.linalg.qr(generator.standard_normal((size, size)))[0].astype(np.float32)


def _k_means(  # type: ignore[no-untyped-def]
    points: Vectors,
    size: int,
    generator: np.random.Generator,
    spherical: bool = True,
    rounds: int = 20,
):
    centres = points[generator.choice(len(points), size, replace=False)].copy()
    nearest = np.zeros(len(points), np.int64)
    for _ in range(rounds):
        shift = np.zeros(size) if spherical else 0.5 * (centres**2).sum(1)
        nearest = np.argmax(points @ centres.T - shift, axis=1)
        held = np.bincount(nearest, minlength=size)
        order = np.argsort(nearest, kind="stable")
        starts = np.concatenate(([0], np.cumsum(held)[:-1]))
        sums = np.add.reduceat(points[order], np.minimum(starts, len(points) - 1), axis=0)
        empty = held == 0
        sums[empty] = points[generator.choice(len(points), int(empty.sum()))]
        centres = sums / np.maximum(held, 1)[:, None]
        if spherical:
            centres /= np.maximum(np.linalg.norm(centres, axis=1, keepdims=True), 1e-9)
    return nearest


if __name__ == "__main__":
    main()
