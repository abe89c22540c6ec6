"""Tags for training the parser, as they will be at run time: with the tagger's errors.

The tagger leaves Penn tags of every document by students that have not seen it; here
UPOS follows in the same way. Raw text and dev are tagged by the shipped tagger.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import tagger
import treebank

from rote.annotate import tagging
from rote.annotate._hashing import Lexicon, describe
from rote.annotate._network import fitted, network
from rote.core.layer import Ids


def jackknifed(data: Path, scratch: Path, known: Lexicon) -> tuple[Ids, Ids]:
    """Penn tags and UPOS of the training part, as numbers in the tagger's tag sets."""
    texts = treebank.read(data / treebank.TRAIN)
    folds = tagger.folds(data / treebank.TRAIN)
    held = np.load(scratch / "jackknife.npz")
    names = held["tags"].tolist()
    tags, universal = tag_sets()
    pos = np.array([tags.index(name) for name in names], np.int32)[held["ewt"]]
    upos = np.zeros(len(pos), np.int32)
    lengths = [sum(map(len, text)) for text in texts]
    owner = np.repeat(folds, lengths)
    gold = np.array([tags.index(t) for t in treebank.labels(texts, "xpos")], np.int32)
    for fold in sorted(set(folds)):
        rest = [text for text, f in zip(texts, folds) if f != fold]
        taught: Any = SimpleNamespace(
            texts=rest, layer=treebank.layer(rest), tags=tags, gold=gold[owner != fold], known=known
        )
        arrays, labels = tagger.upos(taught, pos[owner != fold])
        own = treebank.layer([text for text, f in zip(texts, folds) if f == fold])
        sizes = (tagging.HIDDEN, tagging.LABELS, tagging.TOGETHER)
        net = fitted(network(arrays, "upos_"), *sizes)
        table = describe(own.vocabulary, known)
        out = np.zeros(len(own.ids), np.int32)
        seen = (pos[owner == fold], arrays["fixed"], tagging.kinds_of(tags))
        one = (net.sums(table, tagging.ROLES), net.weights)
        tagging.upos_tokens(own.ids, own.sentence_ends, table, seen, one, out)
        upos[owner == fold] = np.array([universal.index(name) for name in labels], np.int32)[out]
    return pos, upos


def tag_sets() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The Penn tags and the UPOS tags of the shipped tagger."""
    empty = treebank.layer([])
    pos, upos = tagging.tag(empty)
    return tuple(pos.vocabulary), tuple(upos.vocabulary)
