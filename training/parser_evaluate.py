# ruff: noqa: T201 - a command says what it does
"""Print how good the shipped parser is on a treebank.

    python training/parser_evaluate.py data/treebanks/en_ewt-ud-dev.conllu

Tags are always those of the tagger. Twice: with the file's own words and sentences, and
from raw text with ours, where an arc counts if its two words have the characters of
gold words (the F of the CoNLL 2018 evaluation). Every word counts, punctuation too.
LAS compares relations without their subtypes, as that evaluation does.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import parser_data
import treebank
from evaluate import f_score, own_words, word_places

from rote.annotate import parsing, tagging
from rote.core.layer import Ids, Layer

Place = tuple[int, int, int]
Arc = tuple[Place, Place | None, str]


def main() -> None:
    parser = argparse.ArgumentParser(description="How good the shipped parser is.")
    parser.add_argument("file", type=Path, help=".conllu")
    parser.add_argument("--worst", type=int, default=15, help="relations to list")
    options = parser.parse_args()
    texts = treebank.read(options.file)
    for name, value in tree_scores(texts).items():
        print(f"{name:32}{value:8.2f}")
    by_relation(texts, options.worst)


def tree_scores(texts: list[treebank.Text]) -> dict[str, float]:
    """UAS and LAS: gold words, the same in lower case, and raw text."""
    gold = treebank.layer(texts)
    scores: dict[str, float] = {}
    for name, layer in (("", gold), ("lower case ", gold.map("word", str.lower))):
        heads, labels = predicted(layer)
        found = parser_data.score(heads, labels, texts)
        scores |= {f"{name}UAS": found.uas, f"{name}LAS": found.las}
        scores[f"{name}LAS with subtypes"] = found.full
    own = own_words(texts)
    ours = _arcs(own, *predicted(own))
    theirs = _arcs(gold, *parser_data.gold(texts))
    cuts = (lambda _: "", lambda label: label.split(":")[0], lambda label: label)
    for name, cut in zip(("UAS", "LAS", "LAS with subtypes"), cuts):
        pair = ({(c, h, cut(label)) for c, h, label in arcs} for arcs in (ours, theirs))
        scores[f"raw {name}"] = f_score(*pair)  # type: ignore[arg-type]
    return scores


def predicted(layer: Layer) -> tuple[Ids, list[str]]:
    """Heads within the sentence (-1 for the root) and relations, from words alone."""
    assert layer.sentence_ends is not None
    dep, heads = parsing.parse(layer, *tagging.tag(layer))
    lengths = np.diff(layer.sentence_ends, prepend=0)
    starts = np.repeat(layer.sentence_ends - lengths, lengths)
    local = np.where(heads >= 0, heads - starts, -1).astype(np.int32)
    return local, [dep.vocabulary[i] for i in dep.ids]


def by_relation(texts: list[treebank.Text], worst: int) -> None:
    """Print the relations that lose the most: wanted, of how many, right."""
    heads, labels = predicted(treebank.layer(texts))
    right_heads, right_labels = parser_data.gold(texts)
    wanted: Counter[str] = Counter(label.split(":")[0] for label in right_labels)
    right: Counter[str] = Counter()
    for head, label, right_head, right_label in zip(heads, labels, right_heads, right_labels):
        short = right_label.split(":")[0]
        right[short] += head == right_head and label.split(":")[0] == short
    print("relation      words    LAS")
    for name, _ in (wanted - right).most_common(worst):
        print(f"{name:12}{wanted[name]:7}{100 * right[name] / wanted[name]:7.1f}")


def _arcs(layer: Layer, heads: Ids, labels: list[str]) -> set[Arc]:
    """Child, head (None for a root) and relation, words by their place in the text."""
    assert layer.sentence_ends is not None
    places = word_places(layer)
    lengths = np.diff(layer.sentence_ends, prepend=0)
    starts = np.repeat(layer.sentence_ends - lengths, lengths)
    up = [places[s + h] if h >= 0 else None for s, h in zip(starts.tolist(), heads.tolist())]
    return set(zip(places, up, labels))


if __name__ == "__main__":
    main()
