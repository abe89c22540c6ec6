"""Random dependency trees, and layers made from them, for tests that need no parser."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from rote.annotate.trees import head_layer
from rote.core.layer import Layer, number
from tests.examples import Maker, drawn, some

Tree = list[tuple[str, int]]
"""For each word its part of speech and its head's place, counted from 0; -1: no head."""

TAGS = ("NOUN", "VERB", "DET")


def layers_of(texts: Sequence[Sequence[Tree]]) -> tuple[Layer, Layer]:
    """The layers `upos` (with sentence ends) and `head`."""
    vocabulary, ids = number(tag for text in texts for tree in text for tag, _ in tree)
    lengths = [len(tree) for text in texts for tree in text]
    sentence_ends = np.cumsum(lengths, dtype=np.int64)
    text_ends = np.cumsum([sum(len(tree) for tree in text) for text in texts], dtype=np.int64)
    firsts = sentence_ends - np.array(lengths, np.int64)
    trees = [tree for text in texts for tree in text]
    heads = [
        int(first) + head if head >= 0 else -1
        for first, tree in zip(firsts, trees)
        for _, head in tree
    ]
    nothing = np.empty(0, np.int32)
    upos = Layer("upos", ids, vocabulary, nothing, nothing, text_ends, sentence_ends)
    return upos, head_layer(replace(upos, name="word"), np.array(heads, np.int32))


def tree(longest: int = 6) -> Maker:
    """Words hang on any word that was placed before, in any order; several may have no head."""

    def made(chance: random.Random) -> Tree:
        size = chance.randint(1, longest)
        order, heads = chance.sample(range(size), size), {}
        for rank, word in enumerate(order):
            above = chance.randint(-1, rank - 1)
            heads[word] = order[above] if above >= 0 else -1
        return [(chance.choice(TAGS), heads[word]) for word in range(size)]

    return made


def trees() -> st.SearchStrategy[Tree]:
    return drawn(tree())


def texts_of_trees(longest: int = 6, most: int = 5) -> st.SearchStrategy[list[list[Tree]]]:
    return drawn(some(some(tree(longest), 3), most))


def grown(rng: np.random.Generator, words: int, reach: int) -> Tree:
    """A large tree whose words hang at most `reach` places ahead."""
    tags = [f"T{tag}" for tag in rng.integers(0, 12, words)]
    heads = [-1, *(max(0, place - int(rng.integers(1, reach + 1))) for place in range(1, words))]
    return list(zip(tags, heads))


def conllu(texts: Sequence[Sequence[Tree]]) -> str:
    """The same as a treebank file, for the annotator `given`; each text is a document."""
    lines = []
    for text_number, text in enumerate(texts):
        lines.append(f"# newdoc id = text{text_number}")
        for tree_number, tree in enumerate(text):
            lines.append(f"# sent_id = {text_number}-{tree_number}")
            for place, (tag, head) in enumerate(tree, 1):
                deprel = "dep" if head >= 0 else "root"
                lines.append(f"{place}\tw\tw\t{tag}\t_\t_\t{head + 1}\t{deprel}\t_\t_")
            lines.append("")
    return "\n".join(lines) + "\n"
