"""spaCy's documents as columns, and the columns of many as layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.annotate.layers import DERIVED, derive
from rote.annotate.trees import DEPENDENCIES, dep_bfs
from rote.core.annotation import Annotation
from rote.core.layer import Ids, Layer, number

Column = NDArray[np.uint64]

_COLUMNS = ("ORTH", "IDX", "LENGTH", "SENT_START", "HEAD", "ENT_IOB", "ENT_TYPE")
_LAYERS = {"pos": "TAG", "upos": "POS", "lemma": "LEMMA", "dep": "DEP"}
_ATTRIBUTES = (*_COLUMNS, *_LAYERS.values(), "IS_SPACE")
_INSIDE, _BEGINS = 1, 3  # spaCy's numbers for I and B


@dataclass(frozen=True, slots=True)
class Table:
    """The tokens of one piece of text, without white space.

    `entities` numbers the mentions of the piece, -1 outside; `heads` count from the
    piece's first token, -1 is a root.
    """

    text: int
    columns: dict[str, Column]
    starts: Ids
    begins_sentence: NDArray[np.bool_]
    heads: Ids
    entities: Ids


def read(doc: Any, text: int, start: int) -> Table:
    """The columns of a piece of text number `text` that begins at the character `start`."""
    rows = doc.to_array(list(_ATTRIBUTES)).reshape(-1, len(_ATTRIBUTES))
    columns = dict(zip(_ATTRIBUTES, rows.T))
    kept = columns["IS_SPACE"] == 0
    # A sentence that begins with white space begins with the first word behind it.
    sentence = np.cumsum(columns["SENT_START"] == 1)[kept]
    iob = columns["ENT_IOB"]
    mention = np.cumsum(iob == _BEGINS) - 1
    outside = (iob != _BEGINS) & (iob != _INSIDE)
    return Table(
        text=text,
        columns={name: column[kept] for name, column in columns.items()},
        starts=(columns["IDX"][kept].astype(np.int64) + start).astype(np.int32),
        begins_sentence=np.diff(sentence, prepend=-1) != 0,
        heads=_heads(columns["HEAD"], kept),
        entities=np.where(outside, -1, mention)[kept].astype(np.int32),
    )


def _heads(relative: Column, kept: NDArray[np.bool_]) -> Ids:
    """Heads among the tokens that are kept: white space hands its children on to its own head."""
    own = np.arange(len(kept))
    heads = own + relative.view(np.int64)
    while True:
        through_space = ~kept[heads] & (heads[heads] != heads)
        if not through_space.any():
            break
        heads = np.where(through_space, heads[heads], heads)
    is_root = (heads == own) | ~kept[heads]
    numbers = np.cumsum(kept) - 1
    return np.where(is_root, -1, numbers[heads])[kept].astype(np.int32)


def assemble(
    tables: Sequence[Table], texts: int, layers: Sequence[str], strings: Any
) -> Annotation:
    """The layers asked for, over the tables of all texts in order."""
    counts = np.array([len(table.starts) for table in tables], np.int64)
    per_text = np.zeros(texts, np.int64)
    np.add.at(per_text, [table.text for table in tables], counts)
    starts = _joined([table.starts for table in tables])
    begins = np.flatnonzero(_joined([table.begins_sentence for table in tables]))
    vocabulary, ids = _numbered(tables, "ORTH", strings)
    word = Layer(
        name="word",
        ids=ids,
        vocabulary=vocabulary,
        starts=starts.astype(np.int32),
        ends=(starts + _joined([table.columns["LENGTH"] for table in tables])).astype(np.int32),
        text_ends=np.cumsum(per_text),
        sentence_ends=np.append(begins[1:], len(ids))[: len(begins)].astype(np.int64),
    )
    made = {"word": word}
    for name in layers:
        if name in DERIVED:
            made[name] = derive(word, name)
        elif name == "entity":
            made[name] = _entities(word, tables, strings)
        elif name in _LAYERS:
            vocabulary, ids = _numbered(tables, _LAYERS[name], strings)
            made[name] = replace(word, name=name, ids=ids, vocabulary=vocabulary)
    if not any(name in layers for name in ("dep", *DEPENDENCIES)):
        return Annotation(made)
    bases = np.cumsum(counts) - counts
    pairs = zip(tables, bases.tolist())
    heads = _joined([np.where(t.heads >= 0, t.heads + base, -1) for t, base in pairs])
    heads = heads.astype(np.int32)
    vocabulary, ids = _numbered(tables, "DEP", strings)
    dep = replace(word, name="dep", ids=ids, vocabulary=vocabulary)
    trees = {name: dep_bfs(dep, heads) for name in DEPENDENCIES if name in layers}
    return Annotation(made, heads, trees)


def _joined(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate([*arrays, np.zeros(0, np.int64)]).astype(np.int64)


def _numbered(tables: Sequence[Table], column: str, strings: Any) -> tuple[tuple[str, ...], Ids]:
    """Vocabulary and ids of a column of string hashes, in order of first appearance."""
    values = np.concatenate([np.zeros(0, np.uint64), *(t.columns[column] for t in tables)])
    hashes, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order))
    return tuple(strings[int(value)] for value in hashes[order]), rank[inverse]


def _entities(word: Layer, tables: Sequence[Table], strings: Any) -> Layer:
    """B and I of each type, O elsewhere, whatever white space stood inside a name."""
    labels: list[str] = []
    for table in tables:
        before = -1
        kinds = table.columns["ENT_TYPE"].tolist()
        for mention, kind in zip(table.entities.tolist(), kinds):
            mark = "I" if mention == before else "B"
            labels.append(f"{mark}-{strings[kind]}" if mention >= 0 else "O")
            before = mention
    vocabulary, ids = number(labels)
    return replace(word, name="entity", ids=ids, vocabulary=vocabulary)
