"""Weisfeiler-Lehman histograms and their sums against plain Python over the same trees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.measure._sentences import sentences_of
from rote.measure._tree_histograms import Histograms, histograms, square_of, text_sums

from ..examples import dear
from .trees import Tree, grown, layers_of, texts_of_trees

CAT_SLEEPS: Tree = [("DET", 1), ("NOUN", 2), ("VERB", -1)]
CATS_SLEEP: Tree = [("NOUN", 1), ("VERB", -1)]


def histogram_twin(tree: Tree, depth: int) -> Counter[Any]:
    """Labels as what they stand for: nested tuples."""
    labels: list[Any] = [(tag,) for tag, _ in tree] + [("the root",)]
    neighbours: list[list[int]] = [[] for _ in labels]
    for place, (_, head) in enumerate(tree):
        other = head if head >= 0 else len(tree)
        neighbours[place].append(other)
        neighbours[other].append(place)
    counted = Counter((0, label) for label in labels)
    for step in range(1, depth + 1):
        labels = [
            (label, tuple(sorted((labels[n] for n in near), key=repr)))
            for label, near in zip(labels, neighbours)
        ]
        counted.update((step, label) for label in labels)
    return counted


def made_of(texts: Sequence[Sequence[Tree]], depth: int = 2) -> Histograms:
    upos, head = layers_of(texts)
    return histograms(upos, head, sentences_of(upos), depth)


def counters(made: Histograms) -> list[Counter[int]]:
    starts = [0, *made.ends[:-1].tolist()]
    return [
        Counter(dict(zip(made.labels[a:b].tolist(), made.counts[a:b].tolist())))
        for a, b in zip(starts, made.ends.tolist())
    ]


def product(one: Counter[Any], other: Counter[Any]) -> int:
    return sum(count * other[label] for label, count in one.items())


def check_against_twin(texts: Sequence[Sequence[Tree]], depth: int) -> None:
    made = made_of(texts, depth)
    twins = [histogram_twin(tree, depth) for text in texts for tree in text]
    found = counters(made)
    assert made.kinds == len(set().union(*twins))
    # Equal products of all pairs: a number stands for the same label in every sentence.
    assert [[product(a, b) for b in found] for a in found] == [
        [product(a, b) for b in twins] for a in twins
    ]
    assert made.norms.tolist() == [product(twin, twin) for twin in twins]
    for first, end in zip([0, *made.ends[:-1].tolist()], made.ends.tolist()):
        assert (np.diff(made.labels[first:end]) > 0).all()


@given(texts=texts_of_trees(), depth=st.integers(0, 3))
@dear(75)
def test_histograms_are_those_of_plain_python(texts: list[list[Tree]], depth: int) -> None:
    check_against_twin(texts, depth)


def test_long_sentences_wide_nodes_and_many_labels() -> None:
    rng = np.random.default_rng(0)
    wide: Tree = [("ROOT", -1), *((f"T{tag}", 0) for tag in rng.integers(0, 9, 60))]
    check_against_twin([[wide, grown(rng, 400, 3)], [wide[:40]]], 2)
    many = [[grown(rng, 40, 6) for _ in range(10)] for _ in range(40)]
    made = made_of(many)
    assert made.kinds > 5_000
    assert made.kinds == len(set().union(*(histogram_twin(t, 2) for text in many for t in text)))


def test_two_sentences_worked_out_by_hand() -> None:
    """Three words and the root are all different at every depth: 12 labels. Two words: 9, of which
    NOUN, VERB and root agree at depth 0, the verb and the root at depth 1, the root at depth 2."""
    made = made_of([[CAT_SLEEPS], [CATS_SLEEP]])
    assert made.norms.tolist() == [12, 9]
    assert made.kinds == 12 + 9 - 6
    one, other = counters(made)
    assert product(one, other) == 6


def test_a_part_of_speech_called_root_is_not_the_root() -> None:
    made = made_of([[[("ROOT", -1)]]], depth=0)
    assert made.kinds == 2
    assert made.norms.tolist() == [2]


def test_only_the_sentences_asked_for_are_counted() -> None:
    upos, head = layers_of([[CAT_SLEEPS, CATS_SLEEP], [CATS_SLEEP, CAT_SLEEPS]])
    sentences = sentences_of(upos)
    some = histograms(upos, head, sentences.chosen(np.array([False, True, True, False])))
    assert some.kinds == 9
    assert some.norms.tolist() == [9, 9]
    none = histograms(upos, head, sentences.chosen(np.zeros(4, np.bool_)))
    assert (len(none), none.kinds, len(none.labels)) == (0, 0, 0)


def test_columns_that_may_not_be_written_to_are_read() -> None:
    upos, head = layers_of([[CAT_SLEEPS], [CATS_SLEEP]])
    for layer in (upos, head):
        for column in (layer.ids, layer.text_ends, layer.sentence_ends):
            assert column is not None
            column.flags.writeable = False
    assert histograms(upos, head, sentences_of(upos)).norms.tolist() == [12, 9]


@pytest.mark.parametrize("cut", [1, 2])
def test_a_head_outside_of_the_sentence_is_refused(cut: int) -> None:
    upos, head = layers_of([[CAT_SLEEPS]])
    broken = sentences_of(replace(upos, sentence_ends=np.array([cut, 3])))
    with pytest.raises(ValueError, match="outside its sentence"):
        histograms(upos, head, broken)


@given(texts_of_trees(), st.integers(0, 31))
@dear(50)
def test_sums_over_groups_are_those_of_whole_vectors(texts: list[list[Tree]], kept: int) -> None:
    chosen = [number for number in range(len(texts)) if kept >> number & 1]
    made, sentences = made_of(texts), sentences_of(layers_of(texts)[0])
    units = np.zeros((len(made), made.kinds))
    for unit, counted in zip(units, counters(made)):
        unit[list(counted)] = list(counted.values())
        unit /= np.linalg.norm(unit)
    vectors = np.array([units[sentences.texts == text].sum(axis=0) for text in range(len(texts))])
    vectors = vectors.reshape(len(texts), made.kinds)
    sums, take = text_sums(made, sentences, len(texts)), np.array(chosen, np.int64)
    total = vectors[take].sum(axis=0)
    assert sums.counts.tolist() == [len(text) for text in texts]
    assert sums.squares == pytest.approx((vectors**2).sum(axis=1))
    assert sums.square(take) == pytest.approx(total @ total)
    assert sums.products(take) == pytest.approx(vectors[take] @ total)
    assert square_of(made, sentences.of(take)) == pytest.approx(total @ total)
