"""Tree edit distance between sentences: how many words to insert, delete or relabel.

Slow (it grows with the cube of the sentences' length, and with the square of their number), so
only for small samples. Computed by the package `apted`: ordered trees, words in the order in which
they stand, labelled with their part of speech, under an artificial root; every edit costs 1.
Divided by the words of both sentences, it lies between 0 (equal trees) and 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from rote.annotate.trees import head_distances
from rote.compare.intervals import clustered_error, mean_similarity
from rote.core.array_types import Floats, Integers
from rote.core.errors import MissingExtra
from rote.core.layer import Layer
from rote.core.metric import Progress
from rote.core.sample import Take
from rote.measure._sentences import Sentences
from rote.run import Engine, Shared

LONGEST = 150
"""Words in a sentence; a pair of such sentences takes some seconds."""

Tree: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
"""Labels of the words, and how far from each its head stands; 0 for none."""


@dataclass(frozen=True, slots=True)
class Block:
    """All pairs of some sentences of one source: 1 minus their distance, and whose they are."""

    texts: Integers
    likeness: Floats

    def mean_distance(self, take: Take) -> float:
        chosen = np.isin(self.texts, take)
        square = float(self.likeness[np.ix_(chosen, chosen)].sum())
        return 1 - mean_similarity(square, int(chosen.sum()))

    def error(self, take: Take) -> float:
        """Jackknife over texts."""
        chosen = np.isin(self.texts, take)
        likeness = self.likeness[np.ix_(chosen, chosen)]
        texts, owner = np.unique(self.texts[chosen], return_inverse=True)
        membership = np.zeros((len(texts), len(owner)))
        membership[owner, np.arange(len(owner))] = 1
        products = membership @ likeness.sum(axis=1)
        squares = np.einsum("ts,sr,tr->t", membership, likeness, membership, optimize=True)
        return clustered_error(float(likeness.sum()), products, squares, membership.sum(axis=1))


def check_installed() -> None:
    try:
        import apted  # noqa: F401
    except ImportError:
        raise MissingExtra("apted", "tree-edit", "the tree edit distance") from None


def trees_of(upos: Layer, head: Layer, sentences: Sentences) -> list[Tree]:
    away = head_distances(head)
    return [
        (tuple(upos.ids[start:end].tolist()), tuple(away[start:end].tolist()))
        for start, end in zip(sentences.starts.tolist(), sentences.ends.tolist())
    ]


def blocks(
    trees: Sequence[Sequence[Tree]], texts: Sequence[Integers], engine: Engine, tell: Progress
) -> list[Block]:
    """The pairs of each source's trees, on several processes."""
    everything = [tree for trees_of_source in trees for tree in trees_of_source]
    ends = np.cumsum([len(trees_of_source) for trees_of_source in trees]).tolist()
    rows = [
        (number, end)
        for trees_of_source, end in zip(trees, ends)
        for number in range(end - len(trees_of_source), end)
    ]
    work = partial(distances_from, engine.share(everything))
    distances = engine.map(work, rows, doing="comparing trees")
    heard = _report_rows(distances, len(rows), tell)
    return [_block(trees_of_source, owner, heard) for trees_of_source, owner in zip(trees, texts)]


def distances_from(shared: Shared[Sequence[Tree]], row: tuple[int, int]) -> list[float]:
    """From tree number `row[0]` to each of those behind it and before `row[1]`."""
    from apted import APTED, Config

    trees, (number, end) = shared.value, row
    first, config = _nested_tree(trees[number]), Config()
    return [
        APTED(first, _nested_tree(second), config).compute_edit_distance()
        / (len(trees[number][0]) + len(second[0]))
        for second in trees[number + 1 : end]
    ]


def _nested_tree(tree: Tree) -> Any:
    from apted.helpers import Tree as Node

    labels, away = tree
    root, nodes = Node("root"), [Node(label) for label in labels]
    for place, node in enumerate(nodes):
        (nodes[place + away[place]] if away[place] else root).children.append(node)
    return root


def _block(trees: Sequence[Tree], texts: Integers, rows: Iterator[list[float]]) -> Block:
    likeness = np.eye(len(trees))
    for number in range(len(trees)):
        likeness[number, number + 1 :] = 1 - np.array(next(rows))
    return Block(texts, np.triu(likeness, 1).T + likeness)


def _report_rows(rows: Iterable[list[float]], count: int, tell: Progress) -> Iterator[list[float]]:
    for number, row in enumerate(rows, 1):
        yield row
        tell(number / count)
