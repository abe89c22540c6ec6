# ruff: noqa: T201 - a command says what it does
"""Train the entity finder on UNER English EWT.

    python training/entities.py --data data

Tags are those of the tagger for documents it was not trained on (`tagger.py` leaves
them in the scratch folder), so that training sees the errors of run time.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))

import evaluate
import features
import sequence
import tagger
import teachers
import treebank
from network import Parameters, parameters, quantize

from rote.annotate import _hashing, entities
from rote.annotate._weights import write

BITS, HIDDEN, EPOCHS = 16, 64, 8
RATE, WORD_DROPOUT = 0.04, 0.3
TYPES = entities.NAMES


def bilou(labels: list[str], ends: NDArray[np.int64]) -> NDArray[np.int32]:
    """IOB2 labels as numbers in BILOU; other types than ours are O."""
    out = np.zeros(len(labels), np.int32)
    last = set((ends - 1).tolist())
    for i, label in enumerate(labels):
        mark, _, kind = label.partition("-")
        if kind not in TYPES:
            continue
        goes_on = i not in last and i + 1 < len(labels) and labels[i + 1] == f"I-{kind}"
        part = ("B" if goes_on else "U") if mark == "B" else ("I" if goes_on else "L")
        out[i] = entities.BILOU.index(f"{part}-{kind}")
    return out


def kind() -> sequence.Kind:
    """The entity finder's features."""
    templates = features.entities()
    return sequence.Kind(
        entities.token_rows,
        entities.TOKEN_ROWS,
        entities.OFFSETS,
        templates,
        teachers.word_like(templates, features.ENTITY_NAMES, entities.TOKEN_ROWS),
    )


def fit(of: sequence.Data, gold: NDArray[np.int32], seed: int) -> Parameters:
    """A trained network."""
    weights = parameters(BITS, HIDDEN, len(entities.BILOU), seed)
    none = np.zeros((0, len(entities.BILOU)), np.float32)
    options = sequence.Options(EPOCHS, RATE, word_dropout=WORD_DROPOUT, seed=seed)
    sequence.train(kind(), weights, of, (gold, none), options)
    return weights


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the entity finder.")
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--scratch", type=Path, default=Path("/tmp/rote-training"))
    options = parser.parse_args()
    texts = treebank.read(options.data / treebank.ENTITY_TRAIN)
    layer = treebank.layer(texts)
    tagged = np.load(options.scratch / "jackknife.npz")
    assert layer.sentence_ends is not None
    gold = bilou(treebank.labels(texts, "entity"), layer.sentence_ends)
    of = replace(sequence.data(layer, _hashing.lexicon()), extra=tagged["uner"])
    weights = fit(of, gold, seed=1)
    about = {
        "name": "entities",
        "version": entities.VERSION,
        "signature": entities.SIGNATURE,
        "licence": "CC BY-SA 4.0 (trained on Universal NER, English EWT)",
        "tags": tagged["tags"].tolist(),
        "accuracy": {},
    }
    path = tagger.WEIGHTS / "entities.npz.zst"
    arrays = quantize(weights, kind().templates, steps=tagger.STEPS)
    write(path, arrays, about)
    scores = evaluate.entity_scores(treebank.read(options.data / treebank.ENTITY_DEV))
    about["accuracy"] = {name: round(value, 2) for name, value in scores.items()}
    write(path, arrays, about)
    print(about["accuracy"], f"{path.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
