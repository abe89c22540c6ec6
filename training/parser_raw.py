"""Raw text for the parser's teacher, and its trees as the parser's training data."""

from __future__ import annotations

from pathlib import Path

import corpus
import numpy as np
import parser_data
import treebank
from numba import njit
from numpy.typing import NDArray
from parser_loops import Grammar, Ids, Trees
from parser_tags import tag_sets

from rote.annotate import tagging
from rote.annotate._hashing import Lexicon
from rote.core.layer import Layer

SHORTEST, LONGEST = 3, 60  # words in a sentence that is parsed
TREEBANK_WEIGHT = 5  # a word of the treebank counts as so many of the novels


def prepare(data: Path, output: Path, parsed_words: int = 6_000_000) -> None:
    """Write what `parser_teacher.py` needs: numbered words, gold labels of EWT."""
    raw = corpus.novels(data)
    sets = {name: treebank.read(data / path) for name, path in _PARTS.items()}
    layers = {name: treebank.layer(texts) for name, texts in sets.items()}
    numbers = _vocabulary(raw, layers["train"], layers["dev"])
    out: dict[str, NDArray[np.generic]] = {}
    penn, universal = tag_sets()
    relations = tuple(sorted(set(treebank.labels(sets["train"], "relation"))))
    for name, texts in sets.items():
        out[f"{name}_ids"] = _renumbered(layers[name], numbers)
        out[f"{name}_ends"] = _ends(layers[name])
        out[f"{name}_heads"], labels = parser_data.gold(texts)
        out[f"{name}_labels"] = _places(labels, relations)
        out[f"{name}_pos"] = _places(treebank.labels(texts, "xpos"), penn)
        out[f"{name}_upos"] = _places(treebank.labels(texts, "upos"), universal)
    # The text of EWT is raw text too, and nearer to what the teacher will be asked about.
    own, own_ends = out["train_ids"], _ends(layers["train"])
    base = len(raw.ids)
    out["raw_ids"] = np.concatenate((_renumbered(raw, numbers), own, own))
    parts = (_ends(raw), own_ends + base, own_ends + base + len(own))
    out["raw_ends"] = np.concatenate(parts)
    out["parse"] = _sample(_ends(raw), parsed_words)
    out["vocabulary"] = np.frombuffer("\n".join(numbers).encode("utf-8"), np.uint8)
    output.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(output, **out)  # type: ignore[arg-type]


def taught(source: Path, trees: Path, words: int, held: Grammar, known: Lexicon) -> Trees:
    """Sentences of the novels with our tags and the teacher's trees, about so many words."""
    with np.load(source) as file:
        raw = {name: file[name] for name in ("raw_ids", "raw_ends", "parse", "vocabulary")}
    with np.load(trees) as file:
        heads, labels = file["heads"].astype(np.int32), file["labels"].astype(np.int32)
    starts = np.concatenate(([0], raw["raw_ends"][:-1]))
    ends = raw["raw_ends"]
    chosen = raw["parse"]
    lengths = (ends - starts)[chosen]
    parsed_ends = np.cumsum(lengths)
    good = np.flatnonzero(_whole(heads, parsed_ends))
    good = np.random.default_rng(3).permutation(good)
    good = good[: np.searchsorted(np.cumsum(lengths[good]), words)]
    here = _inside(parsed_ends - lengths, lengths, good)
    there = _inside(starts[chosen], lengths, good)
    vocabulary = tuple(raw["vocabulary"].tobytes().decode("utf-8").split("\n"))
    ids, new_ends = raw["raw_ids"][there].astype(np.int32), np.cumsum(lengths[good])
    layer = Layer("word", ids, vocabulary, ids, ids, new_ends, new_ends)
    pos, upos = tagging.tag(layer)
    found = parser_data.trees(layer, pos.ids, upos.ids, held, known)
    flat = parser_data.flatten(heads[here], new_ends)
    return Trees(found.ids, found.tags, found.ends, found.table, flat, labels[here] + 1)


_PARTS = {"train": treebank.TRAIN, "dev": treebank.DEV}


def _ends(layer: Layer) -> NDArray[np.int64]:
    assert layer.sentence_ends is not None
    return layer.sentence_ends


def _vocabulary(raw: Layer, train: Layer, dev: Layer) -> dict[str, int]:
    """Every word, the most frequent first; dev adds words but no counts."""
    counts: dict[str, int] = {}
    for layer, weight in ((raw, 1), (train, TREEBANK_WEIGHT), (dev, 0)):
        seen = np.bincount(layer.ids, minlength=len(layer.vocabulary))
        for word, times in zip(layer.vocabulary, seen.tolist()):
            counts[word] = counts.get(word, 0) + weight * times
    order = sorted(counts, key=lambda word: (-counts[word], word))
    return {word: number for number, word in enumerate(order)}


def _renumbered(layer: Layer, numbers: dict[str, int]) -> Ids:
    return np.array([numbers[word] for word in layer.vocabulary], np.int32)[layer.ids]


def _places(labels: list[str], names: tuple[str, ...]) -> Ids:
    """The number of each label; -1 where the training part does not have it."""
    number = {name: place for place, name in enumerate(names)}
    return np.array([number.get(label, -1) for label in labels], np.int32)


def _sample(ends: NDArray[np.int64], words: int) -> Ids:
    lengths = np.diff(ends, prepend=0)
    order = np.random.default_rng(1).permutation(len(ends))
    order = order[(lengths[order] >= SHORTEST) & (lengths[order] <= LONGEST)]
    return np.sort(order[: np.searchsorted(np.cumsum(lengths[order]), words)]).astype(np.int32)


def _inside(starts: NDArray[np.int64], lengths: NDArray[np.int64], chosen: NDArray[np.int64]):  # type: ignore[no-untyped-def]
    """The places of the words of some sentences."""
    begun = np.repeat(starts[chosen], lengths[chosen])
    before = np.repeat(np.cumsum(lengths[chosen]) - lengths[chosen], lengths[chosen])
    return begun + np.arange(len(begun)) - before


def _whole(heads: Ids, ends: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which sentences are trees with one root; the teacher picks each head by itself."""
    out = np.zeros(len(ends), np.bool_)
    _check(heads, ends, out)
    return out


@njit(cache=True, nogil=True)
def _check(heads, ends, out):  # type: ignore[no-untyped-def]
    start = 0
    for sentence in range(len(ends)):
        end = ends[sentence]
        roots = 0
        good = True
        for i in range(end - start):
            roots += heads[start + i] < 0
            up, steps = i, 0
            while up >= 0 and steps <= end - start:
                up = heads[start + up]
                steps += 1
            good = good and up < 0
        out[sentence] = good and roots == 1
        start = end
