"""Bracketed trees: documents, columns of nodes, and what can be wrong with them."""

from __future__ import annotations

import gzip

import pytest

from rote.corpus import open_corpus
from rote.corpus.brackets import bare

from .files import ReadOptions, complaint, skipped

TREES = """\

( (S
    (NP-SBJ-1 (DT The) (NN cat) )
    (VP (VBD wanted)
      (S (NP-SBJ (-NONE- *-1) ) (VP (TO to) (VP (VB sleep) ))))
    (. .) ))

(ROOT (FRAG (NP (CD 1\\/2) (-LRB- -LRB-) (`` ``))))
(NN word)
"""


def documents(path, **options):
    return list(open_corpus(path, ReadOptions(**options)))


def test_a_file_is_a_document_unless_told_otherwise(write):
    path = write("a.mrg", TREES)
    (whole,) = documents(path)
    assert whole.id == "a"
    assert whole.text == 'The cat wanted to sleep .\n1/2 ( "\nword'
    assert "one document per file" in open_corpus(path).guesses[0]
    by_tree = documents(path, plain="line")
    assert [(d.id, d.text) for d in by_tree] == [
        ("a:2", "The cat wanted to sleep ."),
        ("a:8", '1/2 ( "'),
        ("a:9", "word"),
    ]
    by_run = documents(path, plain="paragraph")
    assert [(d.id, d.text) for d in by_run] == [
        ("a:2", "The cat wanted to sleep ."),
        ("a:8", '1/2 ( "\nword'),
    ]


def test_nodes_stand_depth_first_without_traces_and_outer_brackets(write):
    held = documents(write("a.ptb", TREES), plain="line")[0].meta["annotation"]
    assert held["xpos"] == ["DT", "NN", "VBD", "TO", "VB", "."]
    tree = held["tree"]
    assert " ".join(tree["label"]) == "S NP DT NN VP VBD S VP TO VP VB ."
    assert tree["function"][1] == "NP-SBJ-1"
    assert tree["parent"] == [-1, 0, 1, 1, 0, 4, 4, 6, 7, 7, 9, 0]
    assert tree["first"] == [0, 0, 0, 1, 2, 2, 3, 3, 3, 4, 4, 5]
    assert tree["last"] == [6, 2, 1, 2, 5, 3, 5, 5, 4, 5, 5, 6]


def test_several_trees_of_a_document_keep_apart(write):
    held = documents(write("a.brackets", TREES))[0].meta["annotation"]
    assert held["sentence_ends"] == [6, 9, 10]
    assert held["tree"]["parent"].count(-1) == 3
    assert held["tree"]["first"][-1] == 9
    assert held["tree"]["last"][-1] == 10


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("NP-SBJ-1", "NP"),
        ("NP=2", "NP"),
        ("-LRB-", "-LRB-"),
        ("PRP$", "PRP$"),
        ("ADVP|PRT", "ADVP|PRT"),
    ],
)
def test_labels_lose_function_tags(label, expected):
    assert bare(label) == expected


@pytest.mark.parametrize(
    ("bad", "line", "problem"),
    [
        ("(S (NN a)", 2, "the tree is not closed"),
        ("(S (NN a)))", 2, "a closing bracket has no opening one"),
        ("word (S (NN a))", 2, "'word' is outside all brackets"),
        ("(S (NN a b))", 2, "'b' where a bracket must open or close"),
        ("(S (NN a (X b)))", 2, "a bracket opens after the word 'a'"),
        ("(S (NN a) ())", 2, "the brackets are empty"),
        ("(S\n  (NN a) b)", 3, "'b' where a bracket"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(write, bad, line, problem):
    good = "(S (NN fine))\n"
    path = write("bad.mrg", good + bad + "\n")
    error = complaint(path)
    assert (error.file, error.line, error.field) == (str(path), line, "tree")
    assert problem in error.problem
    texts, problems = skipped(write("bad2.mrg", f"{good}{bad}\n{good}"), plain="line")
    assert texts[0] == "fine"
    assert len(problems) == 1
    if "not closed" not in problem:
        assert texts[-1] == "fine"


@pytest.mark.parametrize("size", [1, 40, 10**6])
def test_shards_hold_whole_trees_and_add_up(write, monkeypatch, size):
    monkeypatch.setattr("rote.corpus._linewise.SHARD_BYTES", size)
    for plain, count in (("file", 1), ("line", 3), ("paragraph", 2)):
        for name, data in (("a.mrg", TREES.encode()), ("a.mrg.gz", gzip.compress(TREES.encode()))):
            corpus = open_corpus(write(name, data), ReadOptions(plain=plain))
            assert len(list(corpus)) == count
            assert sum(shard.size for shard in corpus.shards()) == corpus.size


def test_very_deep_trees_are_read(write):
    deep = "(X " * 5000 + "(NN a)" + ")" * 5000
    assert documents(write("deep.mrg", deep))[0].text == "a"
