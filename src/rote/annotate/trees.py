"""Tree layers: constituents and dependency labels in the order of a walk through the tree.

They have items of their own, one per node, and serve as abstractions for templates as
tags do. Of a sentence `(S (NP (DT The) (NN cat)) (VP (VBD slept)))`:

- `constituents-bfs`, breadth first: S NP VP DT NN VBD
- `constituents-dfs`, depth first, with the brackets that close behind a node, so that
  items joined by spaces read like a tree: (S (NP (DT ) (NN )) (VP (VBD )))
- `dep-bfs`: the dependency labels of the words, breadth first from the root.

The text of Shaib et al. (2024) says breadth first; the templates in its table 5 are depth first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import UnknownName
from rote.core.layer import Ids, Layer, Offsets, number

CONSTITUENTS = ("constituents-bfs", "constituents-dfs")
DEPENDENCIES = ("dep-bfs",)
HEAD = "head"
"""Where each word's head stands; comes with the dependencies of any annotator that parses."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """The constituents of many texts, depth first: a parent stands before its children.

    Node i covers the words `firsts[i]:lasts[i]` of the word layer, at least one;
    `parents` is -1 for a root.
    """

    labels: Sequence[str]
    parents: Ids
    firsts: Ids
    lasts: Ids


def constituents(name: str, nodes: Nodes, word: Layer) -> Layer:
    """The layer of this name; a node's span is that of the words it covers."""
    if name not in CONSTITUENTS:
        raise UnknownName("tree layer", name, CONSTITUENTS)
    vocabulary, ids = number(nodes.labels if name == "constituents-bfs" else _bracketed(nodes))
    order = np.arange(len(ids))
    sentences = np.searchsorted(_sentence_ends(word), nodes.firsts, side="right")
    if name == "constituents-bfs":
        order = breadth_first(nodes.parents, sentences)
    starts, ends = word.starts[nodes.firsts], word.ends[nodes.lasts - 1]
    return Layer(
        name=name,
        ids=ids[order],
        vocabulary=vocabulary,
        starts=starts[order],
        ends=ends[order],
        text_ends=np.searchsorted(nodes.firsts, word.text_ends).astype(np.int64),
        sentence_ends=np.flatnonzero(np.diff(sentences, append=-1)).astype(np.int64) + 1,
    )


def dep_bfs(dep: Layer, heads: Ids) -> Layer:
    """The layer `dep-bfs`; an item's span is that of its word, and of no word below it."""
    sentences = np.searchsorted(_sentence_ends(dep), np.arange(len(heads)), side="right")
    order = breadth_first(heads, sentences)
    starts, ends = dep.starts[order], dep.ends[order]
    return replace(dep, name="dep-bfs", ids=dep.ids[order], starts=starts, ends=ends)


def head_layer(word: Layer, heads: Ids) -> Layer:
    """The layer `head`: how far ahead (+2) or behind (-1) of a word its head stands; 0 is a root.

    So written, trees are a layer like any other: texts can be joined, chosen and left out.
    """
    away = np.where(heads < 0, 0, heads - np.arange(len(heads), dtype=np.int32))
    distances, ids = np.unique(away, return_inverse=True)
    vocabulary = tuple(f"{distance:+d}" if distance else "0" for distance in distances.tolist())
    return replace(word, name=HEAD, ids=ids.astype(np.int32), vocabulary=vocabulary)


def head_distances(head: Layer) -> NDArray[np.int32]:
    """The layer `head` read back: the head's place minus the word's own, 0 for a root."""
    return np.array([int(entry) for entry in head.vocabulary], np.int32)[head.ids]


def breadth_first(parents: Ids, sentences: NDArray[np.integer]) -> NDArray[np.int64]:
    """The order in which a walk meets the nodes: level by level, sentence after sentence.

    Children of one node are met in the order of their numbers. All sentences are
    walked at once, so there are as many steps as the deepest tree has levels.
    """
    by_parent = np.argsort(parents, kind="stable")
    edges = np.searchsorted(parents[by_parent], np.arange(len(parents) + 1))
    level = by_parent[: edges[0] if len(parents) else 0]
    levels = [level]
    while len(level):
        begins, counts = edges[level], edges[level + 1] - edges[level]
        # The children of all nodes of the level: runs of `by_parent`, one behind the other.
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        level = by_parent[np.repeat(begins, counts) + within]
        levels.append(level)
    walk = np.concatenate(levels)
    if len(walk) != len(parents):
        raise ValueError("the heads form a cycle, so they are not trees")
    return walk[np.argsort(sentences[walk], kind="stable")]


def _bracketed(nodes: Nodes) -> list[str]:
    """`(NP` for a node that goes on, `(DT )` for a tag, with the brackets that close there."""
    parents = nodes.parents.tolist()
    count = len(parents)
    has_children = [False] * count
    for parent in parents:
        if parent >= 0:
            has_children[parent] = True
    out = []
    for node in range(count):
        if has_children[node]:
            out.append(f"({nodes.labels[node]}")
            continue
        # Everything closes between this node and the parent of the next one.
        stop, closed, open_ = parents[node + 1] if node + 1 < count else -1, 0, parents[node]
        while open_ >= 0 and open_ != stop:
            closed, open_ = closed + 1, parents[open_]
        out.append(f"({nodes.labels[node]} ){')' * closed}")
    return out


def _sentence_ends(word: Layer) -> Offsets:
    return word.text_ends if word.sentence_ends is None else word.sentence_ends
