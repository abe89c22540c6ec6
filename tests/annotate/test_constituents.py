"""Constituents from dependencies: trees written by hand, and what holds for any tree."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given

from rote.annotate.annotators import get
from rote.annotate.constituents import build_nodes
from rote.annotate.trees import Nodes, constituents
from rote.core.document import Document
from rote.core.layer import Layer, number
from tests.annotate.test_trees import words
from tests.examples import drawn, some

# Word/tag/relation/number of the head, 0 for a root; below it the tree by hand.
BY_HAND = {
    "The/DT/det/3 big/JJ/amod/3 cat/NN/nsubj/4 slept/VBD/root/0 ././punct/4": (
        "(S (NP The big cat) (VP slept) .)"
    ),
    "Ann/NNP/nsubj/5 will/MD/aux/5 not/RB/advmod/5 have/VB/aux/5 left/VBN/root/0"
    " the/DT/det/8 old/JJ/amod/8 house/NN/obj/5 with/IN/case/10 us/PRP/obl/5": (
        "(S (NP Ann) (VP will not (VP have (VP left (NP the old house) (PP with (NP us))))))"
    ),
    "She/PRP/nsubj/2 knew/VBD/root/0 that/IN/mark/5 he/PRP/nsubj/5 lied/VBD/ccomp/2": (
        "(S (NP She) (VP knew (SBAR that (S (NP he) (VP lied)))))"
    ),
    "the/DT/det/2 man/NN/root/0 who/WP/nsubj/4 saw/VBD/acl:relcl/2 it/PRP/obj/4": (
        "(NP (NP the man) (SBAR (WHNP who) (S (VP saw (NP it)))))"
    ),
    "Tom/NNP/nsubj/2 wanted/VBD/root/0 to/TO/mark/4 go/VB/xcomp/2 and/CC/cc/6 ate/VBD/conj/2": (
        "(S (NP Tom) (VP (VP wanted (S (VP to (VP go)))) and (VP ate)))"
    ),
    "Rain/NN/nsubj/2 fell/VBD/root/0 ,/,/punct/6 but/CC/cc/6 they/PRP/nsubj/6 sang/VBD/conj/2": (
        "(S (S (NP Rain) (VP fell)) , but (S (NP they) (VP sang)))"
    ),
    "the/DT/det/2 dogs/NNS/nsubj/7 and/CC/cc/4 cats/NNS/conj/2 were/VBD/cop/7 very/RB/advmod/7"
    " happy/JJ/root/0": "(S (NP the dogs and cats) (VP were (ADJP very happy)))",
    "Bob/NNP/nmod:poss/3 's/POS/case/1 house/NN/root/0 in/IN/case/5 Rome/NNP/nmod/3"
    " and/CC/cc/8 in/IN/case/8 Pisa/NNP/conj/5": (
        "(NP (NP (NP Bob 's) house) (PP (PP in (NP Rome)) and (PP in (NP Pisa))))"
    ),
    "When/WRB/advmod/4 did/VBD/aux/4 you/PRP/nsubj/4 give/VB/root/0"
    " up/RP/compound:prt/4 ?/./punct/4": (
        "(SBARQ (WHADVP When) (SQ did (NP you) (VP give (PRT up))) ?)"
    ),
    "He/PRP/nsubj/2 paid/VBD/root/0 about/RB/advmod/4 $/$/obj/2 3/CD/compound/6 million/CD/nummod/4"
    " by/IN/mark/8 selling/VBG/advcl/2 land/NN/obj/8": (
        "(S (NP He) (VP paid (NP (QP about $ 3 million)) (PP by (S (VP selling (NP land))))))"
    ),
    "Make/VB/root/0 me/PRP/obj/1 laugh/VB/xcomp/1 (/-LRB-/punct/5 please/UH/discourse/1"
    " )/-RRB-/punct/5": "(S (VP Make (S (NP me) (VP laugh)) (PRN ( (INTJ please) ))))",
}
TAGS = "NN NNS VB VBD VBG VBN MD IN TO JJ RB RP UH CC CD $ DT WP WRB WDT PRP POS LS , . -LRB- XX"
DEPS = (
    "nsubj obj iobj obl nmod amod advmod aux cop mark case cc conj punct det ccomp xcomp advcl acl"
    " acl:relcl appos nummod compound flat fixed parataxis expl compound:prt nmod:poss discourse"
)
MARKS = ["not", "that", "by", "make", "tell", "w"]


def nodes_of(sentences: list[list[tuple[str, str, str, int]]]) -> tuple[Layer, Nodes]:
    """The words and nodes of sentences of (word, tag, relation, head in the sentence or -1)."""
    base = words([[len(sentence)] for sentence in sentences])
    layers = {}
    for place, name in enumerate(("word", "pos", "dep")):
        vocabulary, ids = number(str(item[place]) for sentence in sentences for item in sentence)
        layers[name] = Layer(
            name, ids, vocabulary, base.starts, base.ends, base.text_ends, base.sentence_ends
        )
    begins = np.repeat(base.text_starts, np.diff(base.text_ends, prepend=0))
    heads = np.array([item[3] for sentence in sentences for item in sentence], np.int32)
    heads = np.where(heads < 0, -1, heads + begins).astype(np.int32)
    return layers["word"], build_nodes(layers["word"], layers["pos"], layers["dep"], heads)


def brackets(word: Layer, nodes: Nodes) -> str:
    """The trees with words in the place of tags, by recursion."""
    children: dict[int, list[int]] = {}
    for node, parent in enumerate(nodes.parents.tolist()):
        children.setdefault(parent, []).append(node)

    def write(node: int) -> str:
        if node not in children:
            return word.vocabulary[word.ids[nodes.firsts[node]]]
        return f"({nodes.labels[node]} {' '.join(map(write, children[node]))})"

    return " ".join(map(write, children[-1]))


@pytest.mark.parametrize(("sentence", "tree"), BY_HAND.items())
def test_trees_by_hand(sentence: str, tree: str) -> None:
    items = [entry.rsplit("/", 3) for entry in sentence.split()]
    assert brackets(*nodes_of([[(w, tag, dep, int(h) - 1) for w, tag, dep, h in items]])) == tree


def projective(chance: random.Random) -> list[tuple[str, str, str, int]]:
    """A sentence with one root, no crossing arcs, and any tags and relations."""
    heads: dict[int, int] = {}

    def attach(first: int, last: int, head: int) -> None:
        while first < last:
            end = chance.randint(first + 1, last)
            child = chance.randrange(first, end)
            heads[child] = head
            attach(first, child, child)
            attach(child + 1, end, child)
            first = end

    size = chance.randint(1, 12)
    root = chance.randrange(size)
    heads[root] = -1
    attach(0, root, root)
    attach(root + 1, size, root)
    tags, deps = TAGS.split(), DEPS.split()
    return [
        (chance.choice(MARKS), chance.choice(tags), chance.choice(deps), heads[place])
        for place in range(size)
    ]


@given(drawn(some(projective, 4, least=1)))
def test_any_tree_becomes_a_tree_over_every_word(
    sentences: list[list[tuple[str, str, str, int]]],
) -> None:
    word, nodes = nodes_of(sentences)
    parents, firsts, lasts = (a.tolist() for a in (nodes.parents, nodes.firsts, nodes.lasts))
    inner = set(parents)
    leaves = [node for node in range(len(parents)) if node not in inner]
    assert [(firsts[leaf], lasts[leaf]) for leaf in leaves] == [
        (place, place + 1) for place in range(len(word.ids))
    ]
    assert [nodes.labels[leaf] for leaf in leaves] == [item[1] for s in sentences for item in s]
    assert parents.count(-1) == len(sentences)
    ends: dict[int, int] = {}
    for node, parent in enumerate(parents):
        assert parent < node
        if parent >= 0:  # children stand one behind another and fill their parent
            assert firsts[node] == ends.get(parent, firsts[parent])
            ends[parent] = lasts[node]
    assert all(ends[node] == lasts[node] for node in ends)
    for name in ("constituents-bfs", "constituents-dfs"):
        assert len(constituents(name, nodes, word).ids) == len(parents)


def test_deep_trees_need_no_deep_stack() -> None:
    for step, root in ((1, 1199), (-1, 0)):
        heads = [place + step if place != root else -1 for place in range(1200)]
        for tag, dep in (("NN", "compound"), ("CD", "nummod"), ("VB", "ccomp"), ("IN", "case")):
            word, nodes = nodes_of([[("w", tag, dep, head) for head in heads]])
            assert len(nodes.labels) > len(word.ids) == 1200


def test_rote_gives_constituents() -> None:
    found = get("rote")(
        [Document("1", "The dog barked. A cat slept."), Document("2", "")],
        ["constituents-bfs", "constituents-dfs"],
    )
    assert found.trees["constituents-bfs"].items(0)[:7] == "S NP VP . DT NN VBD".split()
    depth = found.trees["constituents-dfs"]
    assert " ".join(depth.items(0)[:7]) == "(S (NP (DT ) (NN )) (VP (VBD )) (. ))"
    assert depth.items(1) == []
    assert set(found.layers) == {"word"}
