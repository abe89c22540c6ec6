"""Raw text labelled by several taggers: what the student learns before the treebank.

Six varied networks (both directions, other seeds, sizes and features) learn EWT; the
mean of their chances labels sentences of the novels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import features
import numpy as np
import sequence
from network import parameters
from numpy.typing import NDArray

from rote.annotate import _hashing, _tagger
from rote.core.layer import Layer

LONGEST = 60  # words in a sentence of raw text
EPOCHS, BITS = 6, 18
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Teacher:
    """One of the varied networks."""

    seed: int
    backwards: bool
    codes: bool
    hidden: int


TEACHERS = (
    Teacher(1, False, True, 128),
    Teacher(2, True, True, 128),
    Teacher(3, False, False, 96),
    Teacher(4, True, False, 96),
    Teacher(5, False, True, 64),
    Teacher(6, True, True, 64),
)


def kind(codes: bool = True) -> sequence.Kind:
    """The tagger's features, with the lexicon's codes or without."""
    templates = features.tagger()
    if not codes:
        templates = np.ascontiguousarray(templates[templates[:, 1] < _hashing.CODES])
    return sequence.Kind(
        _tagger.token_rows,
        _tagger.TOKEN_ROWS,
        _tagger.OFFSETS,
        templates,
        word_like(templates, features.TAGGER_NAMES, _tagger.TOKEN_ROWS),
    )


def word_like(
    templates: NDArray[np.int32], joined: tuple[int, ...], count: int
) -> NDArray[np.bool_]:
    """Features that name the word itself: left out together now and then."""
    names = np.isin(templates[:, 1], (_hashing.WORD, _hashing.LOWER, _hashing.KEY))
    marks = np.zeros(count, bool)
    marks[list(joined)] = True
    return np.concatenate(((templates[:, 0] == 0) & names, marks))


def teach(
    teacher: Teacher, layer: Layer, gold: NDArray[np.int32], known: _hashing.Lexicon, labels: int
) -> Callable[[Layer], Floats]:
    """Train a teacher: a function from layers to chances."""
    of = sequence.data(layer, known, teacher.backwards)
    weights = parameters(BITS, teacher.hidden, labels, teacher.seed)
    target = sequence.turned(gold, of.ends) if teacher.backwards else gold
    targets = (target, np.zeros((0, labels), np.float32))
    options = sequence.Options(EPOCHS, seed=teacher.seed)
    sequence.train(kind(teacher.codes), weights, of, targets, options)

    def chances(other: Layer) -> Floats:
        about = sequence.data(other, known, teacher.backwards)
        found = sequence.chances(kind(teacher.codes), weights, about)
        return sequence.turned(found, about.ends) if teacher.backwards else found

    return chances


def sample(layer: Layer, words: int, seed: int = 1) -> Layer:
    """Sentences drawn from raw text, in the order of the text, about so many words."""
    assert layer.sentence_ends is not None
    ends = layer.sentence_ends
    starts = np.concatenate(([0], ends[:-1]))
    lengths = ends - starts
    order = np.random.default_rng(seed).permutation(len(ends))
    order = order[(lengths[order] <= LONGEST) & (lengths[order] >= 3)]
    chosen = np.sort(order[: np.searchsorted(np.cumsum(lengths[order]), words)])
    places = np.concatenate([np.arange(starts[s], ends[s]) for s in chosen])
    new_ends = np.cumsum(lengths[chosen])
    return replace(
        layer,
        ids=layer.ids[places],
        starts=layer.starts[places],
        ends=layer.ends[places],
        text_ends=new_ends,
        sentence_ends=new_ends,
    )


def respelled(layer: Layer, seed: int, lower: float, upper: float) -> Layer:
    """The same sentences, a share of them without capitals and another in capitals only."""
    assert layer.sentence_ends is not None
    draw = np.random.default_rng(seed).random(len(layer.sentence_ends))
    draw = np.repeat(draw, np.diff(layer.sentence_ends, prepend=0))
    entries = list(layer.vocabulary)
    size = len(entries)
    vocabulary = [*entries, *map(str.lower, entries), *map(str.upper, entries)]
    ids = layer.ids + np.where(draw < lower, size, np.where(draw > 1 - upper, 2 * size, 0))
    return replace(layer, ids=ids.astype(np.int32), vocabulary=tuple(vocabulary))
