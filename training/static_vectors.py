# ruff: noqa: T201 - a command says what it does
"""Make the static vectors of words: each word through all-MiniLM-L6-v2 by itself.

    python training/static_vectors.py --data data

Words are MiniLM's word pieces and the words that the novels use at least 15 times. Their vectors
are centred, the 8 principal components that most words share are removed, the next 256 kept, and
each is scaled to length one and rounded (64 steps to a length of one). A word's weight is a / (a
+ p), a = 0.001 (Arora et al. 2017); p is its share of the novels' words, or, for word pieces that
are rarer there, what Zipf's law gives for its place in MiniLM's vocabulary, which is ordered by
frequency.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))

import corpus

from rote.annotate._weights import write
from rote.annotate.embeddings import minilm, static

TARGET = Path(__file__).parents[1] / "src/rote/annotate/weights/static.npz.zst"
MINIMUM, REMOVED, STEPS, SMOOTHING = 15, 8, 64, 0.001
FIRST_WORD = 1996
"""Where whole words begin in the vocabulary of word pieces, the most frequent first."""
_BATCH = 150


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the static vectors of words.")
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--output", type=Path, default=TARGET)
    parser.add_argument("--scratch", type=Path, help="keep what the model says here (npy)")
    options = parser.parse_args()
    counts = count_words(options.data)
    pieces = minilm.vocabulary()
    known = set(pieces)
    extra = sorted(word for word, n in counts.items() if n >= MINIMUM and word not in known)
    if options.scratch and options.scratch.exists():
        vectors = np.load(options.scratch)
    else:
        vectors = embed(pieces, extra)
        if options.scratch:
            np.save(options.scratch, vectors)
    arrays = {
        "words": np.frombuffer("\n".join(extra).encode(), np.uint8),
        "rows": directions(vectors),
        "weights": weights(pieces, extra, counts),
    }
    about = {
        "name": "static",
        "version": static.VERSION,
        "source": "all-MiniLM-L6-v2 (Apache-2.0); counts over public-domain English novels",
    }
    write(options.output, arrays, about)
    print(f"{len(vectors):,} rows, {options.output.stat().st_size / 1e6:.2f} MB")


def count_words(data: Path) -> Counter[str]:
    layer = corpus.novels(data)
    counts: Counter[str] = Counter()
    for word, count in zip(layer.vocabulary, np.bincount(layer.ids).tolist()):
        if any(character.isalnum() for character in word):
            counts[static.normalize(word)] += count
    return counts


def embed(pieces: list[str], extra: list[str]) -> NDArray[np.float32]:
    """Each piece, then each word, between the two marks that every text has."""
    numbers = {piece: number for number, piece in enumerate(pieces)}
    marks = numbers[minilm.CLS], numbers[minilm.SEP]
    ids = [[marks[0], number, marks[1]] for number in range(len(pieces))]
    ids += [list(encoding.ids) for encoding in minilm.tokenizer(64).encode_batch(extra)]
    model = minilm._model()

    def some(start: int) -> NDArray[np.float32]:
        batch = ids[start : start + _BATCH]
        ends = np.cumsum([len(text) for text in batch])
        return model(np.concatenate(batch).astype(np.int64), ends)

    with ThreadPoolExecutor() as pool:
        return np.concatenate(list(pool.map(some, range(0, len(ids), _BATCH))))


def directions(vectors: NDArray[np.float32]) -> NDArray[np.int8]:
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    _, components = np.linalg.eigh(centred.T @ centred)
    chosen = components[:, ::-1][:, REMOVED : REMOVED + static.DIMENSIONS]
    # An eigenvector has no sign of its own: the largest number of each is positive.
    chosen = chosen * np.sign(chosen[np.abs(chosen).argmax(axis=0), np.arange(chosen.shape[1])])
    rows = centred @ chosen
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return np.rint(rows * STEPS).astype(np.int8)


def weights(pieces: list[str], extra: list[str], counts: Counter[str]) -> NDArray[np.uint8]:
    total = sum(counts.values())
    share = np.array([counts[word] / total for word in [*pieces, *extra]])
    ranks = np.arange(1, len(pieces) - FIRST_WORD + 1)
    by_rank = 1 / ranks / (1 / ranks).sum()
    share[FIRST_WORD : len(pieces)] = np.maximum(share[FIRST_WORD : len(pieces)], by_rank)
    weight = np.rint(255 * SMOOTHING / (SMOOTHING + share))
    marks = [not any(c.isalnum() for c in word) for word in [*pieces, *extra]]
    marks[: len(pieces)] = [m or p[0] == "[" for m, p in zip(marks, pieces)]
    return np.where(marks, 0, np.maximum(1, weight)).astype(np.uint8)


if __name__ == "__main__":
    main()
