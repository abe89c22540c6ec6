"""Tree layers: the fast walks against slow twins, and spans."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given

from rote.annotate.trees import Nodes, breadth_first, constituents, dep_bfs
from rote.core.errors import UnknownName
from rote.core.layer import Layer, number
from tests.examples import dear, drawn, some


@dataclass
class Tree:
    label: str
    children: list[Tree] = field(default_factory=list)


def words(counts: list[list[int]]) -> Layer:
    """A word layer of texts, given the number of words of each sentence of each text."""
    total = sum(map(sum, counts))
    vocabulary, ids = number(f"w{i}" for i in range(total))
    per_text = [sum(sentences) for sentences in counts]
    starts = [2 * i for n in per_text for i in range(n)]
    return Layer(
        name="word",
        ids=ids,
        vocabulary=vocabulary,
        starts=np.array(starts, np.int32),
        ends=np.array(starts, np.int32) + 1,
        text_ends=np.cumsum(per_text, dtype=np.int64),
        sentence_ends=np.cumsum([n for s in counts for n in s], dtype=np.int64),
    )


def columns(trees: list[Tree]) -> tuple[Nodes, list[int]]:
    """Trees as columns, by recursion; and the number of words of each."""
    labels, parents, firsts, lasts, sizes = [], [], [], [], []
    word = 0

    def visit(tree: Tree, parent: int) -> None:
        nonlocal word
        here = len(labels)
        labels.append(tree.label)
        parents.append(parent)
        firsts.append(word)
        lasts.append(word)
        if not tree.children:
            word += 1
        for child in tree.children:
            visit(child, here)
        lasts[here] = word

    for tree in trees:
        before = word
        visit(tree, -1)
        sizes.append(word - before)
    arrays = (np.array(c, np.int32) for c in (parents, firsts, lasts))
    return Nodes(labels, *arrays), sizes


def slow_bfs(tree: Tree) -> list[str]:
    queue, out = deque([tree]), []
    while queue:
        node = queue.popleft()
        out.append(node.label)
        queue.extend(node.children)
    return out


def slow_brackets(tree: Tree) -> str:
    if not tree.children:
        return f"({tree.label} )"
    return f"({tree.label} {' '.join(map(slow_brackets, tree.children))})"


LABELS = ["S", "NP", "VP", "DT", "NN"]


def any_tree(chance: random.Random, deepest: int = 5) -> Tree:
    if not deepest or chance.random() < 0.4:
        return Tree(chance.choice(LABELS))
    inner = some(lambda chance: any_tree(chance, deepest - 1), 3, least=1)(chance)
    return Tree(chance.choice(LABELS), inner)


@dear(50)
@given(drawn(some(any_tree, 5)))
def test_constituents_agree_with_recursion(trees: list[Tree]) -> None:
    nodes, sizes = columns(trees)
    word = words([[size] for size in sizes])
    breadth = constituents("constituents-bfs", nodes, word)
    depth = constituents("constituents-dfs", nodes, word)
    for text, tree in enumerate(trees):
        assert breadth.items(text) == slow_bfs(tree)
        assert " ".join(depth.items(text)) == slow_brackets(tree)
        assert breadth.spans(text)[0] == depth.spans(text)[0] == (0, 2 * sizes[text] - 1)
    assert breadth.sentence_ends is not None
    assert breadth.sentence_ends.tolist() == breadth.text_ends.tolist()


def test_templates_read_as_in_the_paper() -> None:
    noun = Tree("NP", [Tree("DT"), Tree("JJ"), Tree("NN")])
    tree = Tree(
        "VP", [Tree("VB"), Tree("NP", [noun, Tree("PP", [Tree("IN"), Tree("NP", [Tree("NNS")])])])]
    )
    nodes, sizes = columns([tree])
    items = constituents("constituents-dfs", nodes, words([sizes])).items(0)
    assert " ".join(items[:10]) == "(VP (VB ) (NP (NP (DT ) (JJ ) (NN )) (PP (IN ) (NP"


def test_texts_of_several_sentences_and_of_none() -> None:
    nodes, sizes = columns(
        [Tree("S", [Tree("NN"), Tree("VB")]), Tree("X"), Tree("S", [Tree("UH")])]
    )
    word = words([[], sizes[:2], [], sizes[2:]])
    layer = constituents("constituents-bfs", nodes, word)
    assert [layer.items(text) for text in range(4)] == [[], ["S", "NN", "VB", "X"], [], ["S", "UH"]]
    assert layer.spans(1) == [(0, 3), (0, 1), (2, 3), (4, 5)]
    assert layer.sentence_ends is not None
    assert layer.sentence_ends.tolist() == [3, 4, 6]
    empty = Nodes([], *(np.zeros(0, np.int32) for _ in range(3)))
    assert len(constituents("constituents-bfs", empty, words([[]])).ids) == 0
    with pytest.raises(UnknownName, match="constituents-dfs"):
        constituents("constituents-dfc", nodes, word)


def slow_walk(heads: list[int]) -> list[int]:
    queue = deque(i for i, head in enumerate(heads) if head < 0)
    out = []
    while queue:
        node = queue.popleft()
        out.append(node)
        queue.extend(i for i, head in enumerate(heads) if head == node)
    return out


def forest(chance: random.Random) -> list[int]:
    """Heads of one sentence, crossing arcs and several roots too."""
    size = chance.randint(1, 8)
    order, heads = chance.sample(range(size), size), [-1] * size
    for place in range(1, size):
        above = order[chance.randint(0, place - 1)]
        heads[order[place]] = above if chance.random() < 0.5 else -1
    return heads


@given(drawn(some(forest, 5)))
def test_dependency_labels_agree_with_a_queue(sentences: list[list[int]]) -> None:
    word = words([[len(heads)] for heads in sentences])
    base = np.cumsum([0, *map(len, sentences)])
    flat = [h + base[i] if h >= 0 else -1 for i, heads in enumerate(sentences) for h in heads]
    layer = dep_bfs(word, np.array(flat, np.int32))
    for text, heads in enumerate(sentences):
        order = slow_walk(heads)
        assert layer.items(text) == [word.items(text)[i] for i in order]
        assert layer.spans(text) == [word.spans(text)[i] for i in order]


def test_a_circle_is_refused() -> None:
    with pytest.raises(ValueError, match="the heads form a cycle"):
        breadth_first(np.array([1, 0, -1], np.int32), np.zeros(3, np.int64))
