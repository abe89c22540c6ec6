"""From the annotation of single documents, as plain lists, to layers over all of them.

What a reader puts into `Document.meta["annotation"]`, and what Stanza's output is turned
into, has one form: `starts`, `ends` (characters of the text), `form`, and where known
`lemma`, `upos`, `xpos`, `deprel`, `entity` (one string per word), `head` (number of a
word of the document, -1 for a root), `sentence_ends` (numbers of words), and `tree`
(`label`, `function`, `parent`, `first`, `last`: nodes depth first, see trees.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from rote.annotate.trees import CONSTITUENTS, DEPENDENCIES, Nodes, constituents, dep_bfs
from rote.core.document import Annotation
from rote.core.errors import InputError, UnknownName
from rote.core.layer import DERIVED, Ids, Layer, Offsets, derive, number

Given = Mapping[str, Any]

# Layer -> the column that holds it.
COLUMNS = {"lemma": "lemma", "upos": "upos", "pos": "xpos", "dep": "deprel", "entity": "entity"}
TREES = (*CONSTITUENTS, *DEPENDENCIES)
LAYERS = ("word", *DERIVED, *COLUMNS, *TREES)
_KINDS = {"lemma": "lemmas", "upos": "UPOS tags", "pos": "Penn tags", "dep": "dependencies"}
_KINDS |= {"entity": "entities", "dep-bfs": "dependencies"}


def check_layers(layers: Iterable[str], gives: Sequence[str], name: str) -> None:
    for layer in layers:
        if layer not in gives:
            raise UnknownName(f"layer for the annotator '{name}'", layer, gives)


@dataclass(frozen=True, slots=True)
class Assembly:
    """The annotation of several documents, before it is made into layers.

    `missing` makes the error for a document (by number) that lacks what is asked for.
    """

    documents: Sequence[Given]
    missing: Callable[[int, str], InputError]
    labels: str = "label"

    def build(self, layers: Sequence[str]) -> Annotation:
        word = self._word()
        by_name: dict[str, Layer] = {"word": word}
        trees: dict[str, Layer] = {}
        heads = None
        if any(name in layers for name in ("dep", *DEPENDENCIES)):
            heads = self._heads(word.text_ends)
        for name in layers:
            if name in DERIVED:
                by_name[name] = derive(word, name)
            elif name in COLUMNS:
                by_name[name] = self._column(word, name)
            elif name in CONSTITUENTS:
                trees[name] = constituents(name, self._nodes(word.text_ends), word)
            elif name in DEPENDENCIES and heads is not None:
                trees[name] = dep_bfs(self._column(word, "dep"), heads)
        return Annotation(by_name, heads, trees)

    def _word(self) -> Layer:
        counts = [len(columns["form"]) for columns in self.documents]
        text_ends = np.cumsum(counts, dtype=np.int64)
        vocabulary, ids = number(chain.from_iterable(columns["form"] for columns in self.documents))
        sentence_ends = [
            np.array(columns["sentence_ends"], np.int64) + base
            for columns, base in zip(self.documents, (text_ends - counts).tolist())
        ]
        return Layer(
            name="word",
            ids=ids,
            vocabulary=vocabulary,
            starts=_joined(columns["starts"] for columns in self.documents),
            ends=_joined(columns["ends"] for columns in self.documents),
            text_ends=text_ends,
            sentence_ends=np.concatenate([np.zeros(0, np.int64), *sentence_ends]),
        )

    def _column(self, word: Layer, name: str) -> Layer:
        column = COLUMNS[name]
        for place, columns in enumerate(self.documents):
            if column not in columns and columns["form"]:
                raise self.missing(place, _KINDS[name])
        entries = chain.from_iterable(columns.get(column, ()) for columns in self.documents)
        vocabulary, ids = number(entries)
        return replace(word, name=name, ids=ids, vocabulary=vocabulary)

    def _heads(self, text_ends: Offsets) -> Ids:
        offsets = []
        base = 0
        for place, (columns, end) in enumerate(zip(self.documents, text_ends.tolist())):
            if "head" not in columns and columns["form"]:
                raise self.missing(place, _KINDS["dep"])
            heads = np.array(columns.get("head", ()), np.int32)
            offsets.append(np.where(heads >= 0, heads + base, -1).astype(np.int32))
            base = end
        return np.concatenate(offsets) if offsets else np.zeros(0, np.int32)

    def _nodes(self, text_ends: Offsets) -> Nodes:
        labels: list[str] = []
        parents, firsts, lasts = [], [], []
        base = 0
        for place, (columns, end) in enumerate(zip(self.documents, text_ends.tolist())):
            if "tree" not in columns and columns["form"]:
                raise self.missing(place, "constituency trees")
            tree = columns.get("tree", {"parent": (), "first": (), "last": (), self.labels: ()})
            parent = np.array(tree["parent"], np.int32)
            parents.append(np.where(parent >= 0, parent + len(labels), -1).astype(np.int32))
            firsts.append(np.array(tree["first"], np.int32) + base)
            lasts.append(np.array(tree["last"], np.int32) + base)
            labels += tree[self.labels]
            base = end
        empty = [np.zeros(0, np.int32)]
        return Nodes(labels, *(np.concatenate(c or empty) for c in (parents, firsts, lasts)))


def _joined(columns: Iterable[Sequence[int]]) -> Ids:
    return np.fromiter(chain.from_iterable(columns), np.int32)


@dataclass(frozen=True, slots=True)
class Entry:
    """`needs` is empty where the annotator can be used as it is."""

    name: str
    gives: tuple[str, ...]
    licence: str
    accuracy: str
    needs: str = ""
