"""Sentences and gold trees as the parser's loops take them, and their scores."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import treebank
from numpy.typing import NDArray
from parser_loops import Grammar, Ids, Trees
from parser_oracle import projective

from rote.annotate._hashing import Lexicon, describe
from rote.annotate.parsing import kinds_of
from rote.core.layer import Layer


@dataclass(frozen=True, slots=True)
class Score:
    """Right heads; right heads and relations without and with their subtypes; in per cent."""

    uas: float
    las: float
    full: float

    def __str__(self) -> str:
        return f"UAS {self.uas:.2f}, LAS {self.las:.2f}, with subtypes {self.full:.2f}"


def gold(texts: list[treebank.Text]) -> tuple[Ids, list[str]]:
    """Heads within the sentence (-1 for the root) and relations."""
    heads = np.array(treebank.labels(texts, "head"), np.int32) - 1
    return heads, treebank.labels(texts, "relation")


def grammar(
    texts: list[treebank.Text], penn: tuple[str, ...], universal: tuple[str, ...]
) -> Grammar:
    """The actions that the trees of a treebank need."""
    heads, names = gold(texts)
    ends = np.cumsum([len(sentence) for text in texts for sentence in text])
    heads = flatten(heads, ends)
    relations = tuple(sorted(set(names)))
    numbers = np.array([relations.index(name) + 1 for name in names])
    inside = np.concatenate([np.arange(n) for n in np.diff(ends, prepend=0)])
    left = np.unique(numbers[heads > inside])
    right = np.unique(numbers[(heads < inside) & (heads >= 0)])
    named = np.concatenate(([0], left, right)).astype(np.int32)
    return Grammar(penn, universal, relations, named, len(left), kinds_of(universal))


def flatten(heads: Ids, ends: NDArray[np.int64]) -> Ids:
    """Every sentence's tree made projective."""
    out = heads.copy()
    start = 0
    for end in ends.tolist():
        out[start:end] = projective(out[start:end])
        start = end
    return out


def trees(layer: Layer, pos: Ids, upos: Ids, held: Grammar, known: Lexicon) -> Trees:
    """Tagged sentences without trees; tags are numbers in the tag sets of the grammar."""
    assert layer.sentence_ends is not None
    tags = (1 + pos * len(held.universal) + upos).astype(np.int32)
    none = np.zeros(0, np.int32)
    return Trees(
        layer.ids, tags, layer.sentence_ends, describe(layer.vocabulary, known), none, none
    )


def with_gold(of: Trees, texts: list[treebank.Text], held: Grammar) -> Trees:
    """The same sentences with their gold trees made projective."""
    heads, names = gold(texts)
    labels = np.array([held.relations.index(name) + 1 for name in names], np.int32)
    return replace(of, heads=flatten(heads, of.ends), labels=labels)


def score(heads: Ids, labels: list[str], texts: list[treebank.Text]) -> Score:
    """How good trees are: every word counts, punctuation too."""
    right_heads, right_labels = gold(texts)
    same = heads == right_heads
    short = np.array([a.split(":")[0] == b.split(":")[0] for a, b in zip(labels, right_labels)])
    exact = np.array([a == b for a, b in zip(labels, right_labels)])
    return Score(*(100 * float(np.mean(same & also)) for also in (same, short, exact)))
