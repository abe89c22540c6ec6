# ruff: noqa: T201 - a command says what it does
"""Train the parser, after the tagger.

    python training/parser.py --prepare RAW.npz                  # raw text for the teacher
    python training/parser_teacher.py RAW.npz TREES.npz          # needs torch and a GPU
    python training/parser.py --raw RAW.npz --trees TREES.npz

One epoch on sentences of the novels with the teacher's trees and our own tags, then
several on EWT with jackknifed tags: three times from the same start, and the mean of
the three networks' weights is better than each. The oracle is dynamic: the parser follows its own
moves nine times in ten and learns what is best from where it stands.
"""

from __future__ import annotations

import argparse
import copy
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import features
import parser_data
import parser_evaluate
import parser_loops
import parser_raw
import parser_tags
import treebank
from network import Parameters, parameters, quantize
from parser_loops import Options

from rote.annotate import _hashing, parsing
from rote.annotate._weights import write

WEIGHTS = Path(__file__).parents[1] / "src/rote/annotate/weights"
BITS, HIDDEN, STEPS = 18, 128, 21
RAW_WORDS = 5_000_000
RAW = Options(1, explore_from=0, word_dropout=0.05, hidden_dropout=0.1)
EWT = Options(6, rate=0.08, explore_from=0)
SEEDS = (3, 4, 5)
LICENCE = "CC BY-SA 4.0 (trained on UD English EWT)"


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the parser.")
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--scratch", type=Path, default=Path("/tmp/rote-training"))
    parser.add_argument("--prepare", type=Path, help="write raw text for the teacher, and stop")
    parser.add_argument("--raw", type=Path, help="that raw text")
    parser.add_argument("--trees", type=Path, help="what the teacher made of it")
    options = parser.parse_args()
    if options.prepare:
        parser_raw.prepare(options.data, options.prepare)
    else:
        fit(options.data, options.scratch, options.raw, options.trees)


def fit(data: Path, scratch: Path, raw: Path | None, trees: Path | None) -> None:
    """Train and write the weights; without trees from a teacher, on EWT alone."""
    begun = time.time()
    known = _hashing.lexicon()
    texts = treebank.read(data / treebank.TRAIN)
    pos, upos = parser_tags.jackknifed(data, scratch, known)
    grammar = parser_data.grammar(texts, *parser_tags.tag_sets())
    gold = parser_data.with_gold(
        parser_data.trees(treebank.layer(texts), pos, upos, grammar, known), texts, grammar
    )
    weights = parameters(BITS, HIDDEN, len(grammar.named), 1)
    if raw and trees:
        silver = parser_raw.taught(raw, trees, RAW_WORDS, grammar, known)
        print(f"{len(silver.ids):,} words of raw text, {time.time() - begun:.0f} s", flush=True)
        parser_loops.train(weights, features.parser(), grammar, silver, RAW)
        print(f"raw text read, {time.time() - begun:.0f} s", flush=True)
    # Squared gradients are kept from the raw text: what is well known moves less.
    ends = []
    for seed in SEEDS:
        ends.append(copy.deepcopy(weights))
        parser_loops.train(ends[-1], features.parser(), grammar, gold, replace(EWT, seed=seed))
        print(f"EWT read, {time.time() - begun:.0f} s", flush=True)
    arrays = quantize(mean(ends), features.parser(), steps=STEPS) | {"named": grammar.named}
    about = {
        "name": "parser",
        "version": parsing.VERSION,
        "signature": parsing.SIGNATURE,
        "licence": LICENCE,
        "penn": grammar.penn,
        "universal": grammar.universal,
        "relations": grammar.relations,
        "lefts": grammar.lefts,
        "accuracy": {},
    }
    path = WEIGHTS / "parser.npz.zst"
    write(path, arrays, about)
    scores = parser_evaluate.tree_scores(treebank.read(data / treebank.DEV))
    about["accuracy"] = {name: round(value, 2) for name, value in scores.items()}
    write(path, arrays, about)
    print(about["accuracy"], f"{path.stat().st_size / 1e6:.2f} MB, {time.time() - begun:.0f} s")


def mean(networks: list[Parameters]) -> Parameters:
    """The network whose weights are the mean of several that began alike."""
    columns = zip(*(network.arrays() for network in networks))
    return Parameters(*(np.mean(column, axis=0, dtype=np.float32) for column in columns))


if __name__ == "__main__":
    main()
