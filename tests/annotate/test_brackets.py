"""Trees in a field of a record: the layers of the same trees in a file, at the text's places."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import rote
from rote.annotate import annotators
from rote.core.document import Document
from rote.core.errors import InputError, OptionError, UnknownName
from rote.corpus import ReadOptions, open_corpus
from tests.kit import write_jsonl

LAYERS = ("lower", "pos", "constituents-bfs", "constituents-dfs")
DOG = "(S (NP (DT The) (NN dog)) (VP (VBD barked)) (. .))"
SAID = (
    "(ROOT (S (`` ``) (S (NP (PRP I)) (VP (VBP do) (RB n't))) (, ,) ('' '') (NP (PRP he)) "
    "(VP (VBD said) (PRN (-LRB- -LRB-) (ADVP (RB softly)) (-RRB- -RRB-))) (: ...) (: --) (. .)))"
)


def annotated(text: str, trees: object, field: str = "parse") -> rote.core.document.Annotation:
    return annotators.get(f"brackets:{field}")([Document("x", text, {field: trees})], LAYERS)


def test_a_tree_by_hand() -> None:
    found = annotated("The  dog\nbarked.", DOG)
    assert found.word.items(0) == ["The", "dog", "barked", "."]
    assert found.word.spans(0) == [(0, 3), (5, 8), (9, 15), (15, 16)]
    assert found.layers["pos"].items(0) == ["DT", "NN", "VBD", "."]
    bfs = found.trees["constituents-bfs"]
    assert bfs.items(0) == ["S", "NP", "VP", ".", "DT", "NN", "VBD"]
    assert bfs.spans(0)[1] == (0, 8)
    assert found.trees["constituents-dfs"].items(0)[:2] == ["(S", "(NP"]


@pytest.mark.parametrize("trees", [f"{DOG}\n{DOG}", [DOG, DOG]])
def test_several_trees_are_several_sentences(trees: object) -> None:
    found = annotated("The dog barked. The dog barked.", trees)
    assert found.word.sentence_ends is not None
    assert found.word.sentence_ends.tolist() == [4, 8]
    tree = found.trees["constituents-bfs"]
    assert tree.sentence_ends is not None
    assert tree.sentence_ends.tolist() == [7, 14]


def test_what_parsers_write_otherwise_is_the_text_as_it_stands() -> None:
    text = "“I don’t,” he said (softly)… —."
    found = annotated(text, SAID)
    assert found.word.items(0) == [
        *("“", "I", "do", "n’t", ",", "”", "he", "said", "(", "softly", ")", "…", "—", ".")
    ]
    assert [text[a:b] for a, b in found.word.spans(0)] == found.word.items(0)
    straight = annotated("``I don't,'' he said (softly)... --.", SAID)
    assert straight.word.items(0)[0] == "``"
    assert straight.layers["pos"].items(0) == found.layers["pos"].items(0)


def test_the_same_trees_in_a_file_give_the_same_layers(tmp_path: Path) -> None:
    draw = random.Random(1)

    def tree(depth: int) -> str:
        if depth == 0 or draw.random() < 0.3:
            return f"({draw.choice(['NN', 'VB', 'DT'])} {draw.choice(['a', 'bc', 'd'])})"
        parts = " ".join(tree(depth - 1) for _ in range(draw.randint(1, 3)))
        return f"({draw.choice(['S', 'NP', 'VP-1'])} {parts})"

    for number in range(20):
        trees = [f"(S {tree(4)})" for _ in range(draw.randint(1, 4))]
        file = tmp_path / f"{number}.mrg"
        file.write_text("\n".join(trees))
        (given,) = open_corpus(file, ReadOptions())
        ours = annotators.get("brackets:t")([Document("x", given.text, {"t": trees})], LAYERS)
        theirs = annotators.get("given")([given], LAYERS)
        for name in ("word", *LAYERS):
            one, other = (
                (made.layers[name] if name in made.layers else made.trees[name])
                for made in (ours, theirs)
            )
            assert one.items(0) == other.items(0)
            assert one.spans(0) == other.spans(0)
            assert one.sentence_ends is not None
            assert other.sentence_ends is not None
            assert one.sentence_ends.tolist() == other.sentence_ends.tolist()


@pytest.mark.parametrize(
    ("text", "trees", "message"),
    [
        ("The cat barked.", DOG, "has 'cat barked.' where its trees have 'dog'"),
        ("The dog", DOG, "has 'nothing' where its trees have 'barked'"),
        ("The dog barked. It", DOG, "has 'It' after the last word of its trees"),
        ("The dog barked.", "(S (NP", "the tree is not closed"),
        ("The dog barked.", 7, "no brackets in the field 'parse'"),
        ("The dog barked.", None, "has no field 'parse'"),
    ],
)
def test_what_does_not_fit_is_named(text: str, trees: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        annotated(text, trees)
    assert message in str(caught.value)
    assert "'x'" in str(caught.value)


def test_what_it_does_not_give_is_refused() -> None:
    with pytest.raises(OptionError, match="brackets:FIELD"):
        annotators.get("brackets")
    with pytest.raises(UnknownName):
        annotators.get("brackets:t")([], ["lemma"])


def test_templates_of_constituents_from_a_parser(tmp_path: Path) -> None:
    """A chart parser with a small grammar: whatever writes Penn brackets will do."""
    nltk = pytest.importorskip("nltk")
    grammar = nltk.CFG.fromstring(
        """
        S -> NP VP
        NP -> DT NN | NP PP
        VP -> VBD NP | VP PP
        PP -> IN NP
        DT -> 'the' | 'a'
        NN -> 'dog' | 'man' | 'park'
        VBD -> 'saw' | 'left'
        IN -> 'in' | 'with'
        """
    )
    parser = nltk.ChartParser(grammar)
    texts = ["the dog saw a man", "a man left the park", "the man saw a dog with the man"]
    file = tmp_path / "parsed.jsonl"
    records = [
        {"id": str(i), "text": text, "parse": str(next(iter(parser.parse(text.split()))))}
        for i, text in enumerate(texts)
    ]
    write_jsonl(file, records)
    walks = {
        "constituents-bfs": "S NP VP DT NN VBD NP DT NN",
        "constituents-dfs": "(S (NP (DT ) (NN )) (VP (VBD ) (NP (DT ) (NN ))))",
    }
    for layer, walk in walks.items():
        asked = {"layer": layer, "annotator": "brackets:parse", "windows": "sentence"}
        result = rote.templates(file, n=9, lengths=(9,), **asked)
        found = [(r["template"], r["count"], r["texts"]) for r in result.tables["templates"]]
        assert found == [(walk, 2, 2)]
