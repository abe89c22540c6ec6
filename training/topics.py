# ruff: noqa: T201 - a command says what it does
"""Make vectors of words that stand near each other, by which senses are chosen in context.

    python training/topics.py wordnet-base/usr/share/wordnet --data data

Lemmas of the novels, and of WordNet's definitions, each as a text of its own (the files that
`training/wordnet.py` reads; only counts remain of them). Positive pointwise mutual information
with the 6,000 most frequent lemmas within 8 words on either side, contexts smoothed by 0.75;
SVD to 96 dimensions; the mean taken away; 8 bits a number. The 120 most frequent lemmas are left
out on both sides: they stand near everything.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import svds

sys.path.insert(0, str(Path(__file__).parent))

import corpus

from rote.annotate.lemmas import lemma_of
from rote.core.arrays import pack
from rote.core.files import write_atomically
from rote.curate.synonyms import lexicons

TARGET = Path(__file__).parents[1] / "src/rote/curate/wordnet/topics.npz.zst"
WINDOW, CONTEXTS, MINIMUM, DIMENSIONS, STOPPED = 8, 6000, 15, 96, 120
SMOOTHING = 0.75
_LEVEL = 19
_EXAMPLE = re.compile(r'"[^"]*"')
_WORD = re.compile("[a-z]+")
Numbers = NDArray[np.int64]


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the vectors that senses are chosen by.")
    parser.add_argument("wordnet", type=Path, help="the folder with data.noun and the others")
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--output", type=Path, default=TARGET)
    options = parser.parse_args()
    numbers: dict[str, int] = {}
    tokens = np.concatenate(
        [_novels(options.data, numbers), _definitions(options.wordnet, numbers)]
    )
    print(f"{len(tokens):,} words, {len(numbers):,} different lemmas")
    names = list(numbers)
    counts = np.bincount(tokens[tokens >= 0], minlength=len(names))
    chosen, contexts = _chosen(names, counts)
    vectors = _vectors(_together(tokens, chosen, contexts, len(names)))
    scale = np.abs(vectors).max(axis=1, keepdims=True)
    arrays = {
        "words": np.frombuffer("\n".join(names[n] for n in chosen).encode(), np.uint8),
        "vectors": np.rint(vectors / scale * 127).astype(np.int8),
        "rarity": np.log(counts.sum() / counts[chosen]).astype(np.float16),
    }
    about = {
        "name": "topics",
        "version": "1",
        "source": "counts over public-domain English novels and WordNet 3.0's definitions",
    }
    write_atomically(options.output, pack(arrays, about, _LEVEL))
    print(f"{len(chosen):,} vectors, {options.output.stat().st_size / 1e6:.2f} MB")


def _novels(data: Path, numbers: dict[str, int]) -> Numbers:
    layer = corpus.novels(data)
    table = [numbers.setdefault(_lemma(word.lower()), len(numbers)) for word in layer.vocabulary]
    return np.array(table, np.int64)[layer.ids]


def _definitions(folder: Path, numbers: dict[str, int]) -> Numbers:
    """The lemmas of every synset and what it is said to mean, far from each other."""
    found: list[int] = []
    for words in _texts(folder):
        found += [numbers.setdefault(_lemma(word), len(numbers)) for word in words]
        found += [-1] * WINDOW
    return np.array([-1] * WINDOW + found, np.int64)


def _texts(folder: Path) -> Iterator[list[str]]:
    for name in ("noun", "verb", "adj", "adv"):
        with (folder / f"data.{name}").open(encoding="utf-8") as file:
            for line in file:
                if not line.startswith("  "):
                    facts, _, meaning = line.partition("|")
                    fields = facts.split()
                    lemmas = fields[4 : 4 + 2 * int(fields[3], 16) : 2]
                    text = f"{' '.join(lemmas)} {_EXAMPLE.sub(' ', meaning)}"
                    yield _WORD.findall(text.lower().replace("_", " "))


@cache
def _lemma(word: str) -> str:
    """Without a tag: the noun or verb that it is a form of, if WordNet holds one."""
    if word.isalpha():
        lexicon = lexicons.get()
        for upos, pos in (("NOUN", "noun"), ("VERB", "verb")):
            lemma = lemma_of(word, upos)
            if lemma != word and lexicon.senses(lemma, pos):  # type: ignore[arg-type]
                return lemma
    return word


def _chosen(names: list[str], counts: Numbers) -> tuple[Numbers, Numbers]:
    """The lemmas that get a vector, and those that are counted near them."""
    order = np.argsort(-counts, kind="stable").tolist()
    left = [n for n in order[STOPPED:] if names[n].isalpha() and len(names[n]) > 1]
    return np.array([n for n in left if counts[n] >= MINIMUM]), np.array(left[:CONTEXTS])


def _together(tokens: Numbers, chosen: Numbers, contexts: Numbers, size: int) -> csr_matrix:
    """How often each lemma stands near each context."""
    row, column = np.full(size + 1, -1), np.full(size + 1, -1)
    row[chosen], column[contexts] = np.arange(len(chosen)), np.arange(len(contexts))
    found = csr_matrix((len(chosen), len(contexts)), dtype=np.float32)
    for distance in range(1, WINDOW + 1):
        for here, there in ((slice(None, -distance), slice(distance, None)),) * 2:
            pairs = row[tokens[here]], column[tokens[there]]
            good = (pairs[0] >= 0) & (pairs[1] >= 0)
            ones = np.ones(int(good.sum()), np.float32)
            found = found + csr_matrix((ones, (pairs[0][good], pairs[1][good])), found.shape)
            tokens = tokens[::-1]
    return found


def _vectors(together: csr_matrix) -> NDArray[np.float64]:
    pairs = together.tocoo()
    rows = np.bincount(pairs.row, pairs.data, pairs.shape[0])
    columns = np.bincount(pairs.col, pairs.data, pairs.shape[1]) ** SMOOTHING
    share = columns / columns.sum()
    information = np.log(pairs.data / (rows[pairs.row] * share[pairs.col]))
    good = information > 0
    matrix = csr_matrix((information[good], (pairs.row[good], pairs.col[good])), pairs.shape)
    start = np.random.default_rng(0).standard_normal(min(matrix.shape))
    left, strength, _ = svds(matrix, k=DIMENSIONS, v0=start)
    vectors = _unit(left * np.sqrt(strength))
    return _unit(vectors - vectors.mean(axis=0))


def _unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


if __name__ == "__main__":
    main()
