# ruff: noqa: T201 - a command says what it does
"""Train the tagger: teachers, raw text labelled by them, two students, then UPOS.

    python training/tagger.py --data data

The students read from the left and from the right; at run time their scores are
added. Each learns the raw text labelled by the teachers (one epoch), then EWT. Five
more pairs, each without a fifth of the documents, tag that fifth: tags as they will
be at run time, for training what comes after the tagger (UPOS, names, the parser).
They are left in the scratch folder, and so is the labelled raw text (`--reuse`).
"""

from __future__ import annotations

import argparse
import copy
import sys
import time
import zlib
from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))

import corpus
import evaluate
import features
import sequence
import teachers
import treebank
from network import Parameters, parameters, quantize

from rote.annotate import _hashing, tagging
from rote.annotate._weights import read, write
from rote.core.layer import Layer

WEIGHTS = Path(__file__).parents[1] / "src/rote/annotate/weights"
BITS, HIDDEN, STEPS = 17, 96, 15
UPOS_BITS, UPOS_HIDDEN = 15, 32
RAW_WORDS, RAW_RATE = 1_500_000, 0.04
EPOCHS, RATE = 6, 0.08
FOLDS = 5
LICENCE = "CC BY-SA 4.0 (trained on UD English EWT)"
Ids = NDArray[np.int32]
Floats = NDArray[np.float32]


class Trainer:
    """The treebank, the lexicon and the labelled raw text, once for all models."""

    def __init__(self, data: Path, scratch: Path, reuse: bool) -> None:
        arrays, _ = read(WEIGHTS / "lexicon.npz.zst")
        self.known = _hashing.Lexicon(arrays["keys"], arrays["classes"])
        self.texts = treebank.read(data / treebank.TRAIN)
        self.folds = folds(data / treebank.TRAIN)
        self.tags = tuple(sorted(set(treebank.labels(self.texts, "xpos"))))
        self.gold = self.numbers(self.texts)
        self.layer = treebank.layer(self.texts)
        if not (reuse and (scratch / "raw.npz").exists()):
            self._label(data, scratch)
        held = np.load(scratch / "raw.npz")
        ids, ends = held["ids"], held["ends"]
        self.raw = Layer("word", ids, tuple(held["vocabulary"].tolist()), ids, ids, ends, ends)
        self.chances: Floats = held["chances"]
        self.started: dict[bool, Parameters] = {}

    def numbers(self, texts: list[treebank.Text]) -> Ids:
        """Gold Penn tags as numbers; -1 where the training part does not have the tag."""
        number = {tag: place for place, tag in enumerate(self.tags)}
        return np.array([number.get(t, -1) for t in treebank.labels(texts, "xpos")], np.int32)

    def student(self, texts: list[treebank.Text], backwards: bool) -> Parameters:
        """A network that has read the raw text and then these texts."""
        if backwards not in self.started:
            self.started[backwards] = self._start(backwards)
        weights = copy.deepcopy(self.started[backwards])
        # Squared gradients are kept from the raw text: what is well known moves less.
        layer = teachers.respelled(treebank.layer(texts), 2, lower=0.08, upper=0.03)
        of = sequence.data(layer, self.known, backwards)
        gold = self.numbers(texts)
        target = sequence.turned(gold, of.ends) if backwards else gold
        none = np.zeros((0, len(self.tags)), np.float32)
        options = sequence.Options(EPOCHS, RATE, seed=11)
        sequence.train(teachers.kind(), weights, of, (target, none), options)
        return weights

    def tag(self, pair: tuple[Parameters, Parameters], layer: Layer) -> Ids:
        """The tags that a pair of students gives, left first."""
        left, right = (self._chances(pair[b], layer, bool(b)) for b in (0, 1))
        return (left * right).argmax(1).astype(np.int32)

    def _chances(self, weights: Parameters, layer: Layer, backwards: bool) -> Floats:
        of = sequence.data(layer, self.known, backwards)
        found = sequence.chances(teachers.kind(), weights, of)
        return sequence.turned(found, of.ends) if backwards else found

    def _start(self, backwards: bool) -> Parameters:
        layer = teachers.respelled(self.raw, 1, lower=0.15, upper=0.05)
        of = sequence.data(layer, self.known, backwards)
        soft = sequence.turned(self.chances, of.ends) if backwards else self.chances
        weights = parameters(BITS, HIDDEN, len(self.tags), 1)
        hard = np.zeros(0, np.int32)
        sequence.train(teachers.kind(), weights, of, (hard, soft), sequence.Options(1, RAW_RATE))
        return weights

    def _label(self, data: Path, scratch: Path) -> None:
        raw = teachers.sample(corpus.novels(data), RAW_WORDS)
        total = np.zeros((len(raw.ids), len(self.tags)), np.float32)
        for teacher in teachers.TEACHERS:
            begun = time.time()
            chances = teachers.teach(teacher, self.layer, self.gold, self.known, len(self.tags))
            total += chances(raw) / len(teachers.TEACHERS)
            print(f"{teacher}, {time.time() - begun:.0f} s", flush=True)
        scratch.mkdir(parents=True, exist_ok=True)
        held = {"ids": raw.ids, "ends": raw.sentence_ends, "chances": total}
        np.savez(scratch / "raw.npz", vocabulary=np.array(raw.vocabulary), **held)


def folds(path: Path) -> list[int]:
    """The fold of each document, by its name, so that other files can be cut alike."""
    return [zlib.crc32(name.encode()) % FOLDS for name in treebank.names(path)]


def jackknife(trainer: Trainer, data: Path) -> dict[str, Ids]:
    """Tags of the training parts by students that have not seen the document."""
    named = treebank.read(data / treebank.ENTITY_TRAIN)
    sets = {"ewt": (trainer.texts, trainer.folds)}
    sets["uner"] = (named, folds(data / treebank.ENTITY_TRAIN))
    found = {name: [np.zeros(0, np.int32)] * len(texts) for name, (texts, _) in sets.items()}
    for fold in range(FOLDS):
        rest = [t for t, f in zip(trainer.texts, trainer.folds) if f != fold]
        pair = (trainer.student(rest, False), trainer.student(rest, True))
        for name, (texts, where) in sets.items():
            chosen = [place for place, f in enumerate(where) if f == fold]
            layer = treebank.layer([texts[place] for place in chosen])
            parts = np.split(trainer.tag(pair, layer), layer.text_ends[:-1])
            for place, part in zip(chosen, parts):
                found[name][place] = part
        print(f"fold {fold} tagged", flush=True)
    joined = {name: np.concatenate(parts) for name, parts in found.items()}
    print(f"jackknifed tags right: {100 * np.mean(joined['ewt'] == trainer.gold):.2f}")
    return joined


def upos(trainer: Trainer, tags: Ids) -> tuple[dict[str, NDArray[np.generic]], tuple[str, ...]]:
    """The arrays of the UPOS model, trained on jackknifed Penn tags, and its tag set."""
    labels = treebank.labels(trainer.texts, "upos")
    universal = tuple(sorted(set(labels)))
    gold = np.array([universal.index(label) for label in labels], np.int32)
    fixed = np.full(len(trainer.tags), -1, np.int32)
    for number in range(len(trainer.tags)):
        counts = Counter(gold[trainer.gold == number].tolist()).most_common(2)
        if len(counts) == 1 or counts[1][1] * 500 < counts[0][1]:
            fixed[number] = counts[0][0]
    templates = features.upos()
    kind = sequence.Kind(
        tagging.token_rows,
        tagging.TOKEN_ROWS,
        tagging.OFFSETS,
        templates,
        teachers.word_like(templates, (), tagging.TOKEN_ROWS),
    )
    of = sequence.data(trainer.layer, trainer.known)
    of = sequence.Data(of.ids, of.ends, of.table, (tags, tagging.kinds_of(trainer.tags)))
    weights = parameters(UPOS_BITS, UPOS_HIDDEN, len(universal), 1)
    none = np.zeros((0, len(universal)), np.float32)
    options = sequence.Options(6, word_dropout=0.05, seed=1)
    sequence.train(kind, weights, of, (gold, none), options)
    return {**quantize(weights, templates, "upos_", STEPS), "fixed": fixed}, universal


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the tagger.")
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--scratch", type=Path, default=Path("/tmp/rote-training"))
    parser.add_argument("--reuse", action="store_true", help="take the labelled raw text as it is")
    options = parser.parse_args()
    trainer = Trainer(options.data, options.scratch, options.reuse)
    templates = teachers.kind().templates
    pair = (trainer.student(trainer.texts, False), trainer.student(trainer.texts, True))
    arrays = quantize(pair[0], templates, "left_", STEPS) | quantize(
        pair[1], templates, "right_", STEPS
    )
    found = jackknife(trainer, options.data)
    np.savez(options.scratch / "jackknife.npz", tags=np.array(trainer.tags), **found)
    upos_arrays, universal = upos(trainer, found["ewt"])
    about = {
        "name": "tagger",
        "version": tagging.VERSION,
        "signature": tagging.SIGNATURE,
        "licence": LICENCE,
        "tags": trainer.tags,
        "universal": universal,
        "accuracy": {},
    }
    path = WEIGHTS / "tagger.npz.zst"
    write(path, arrays | upos_arrays, about)
    scores = evaluate.tag_scores(treebank.read(options.data / treebank.DEV))
    about["accuracy"] = {name: round(value, 2) for name, value in scores.items()}
    write(path, arrays | upos_arrays, about)
    print(about["accuracy"], f"{path.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
