"""Texts that say the same in other words: pairs, against a plain loop, and what chance does."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from rote.annotate import words
from rote.annotate.embeddings import static
from rote.search.meaning.chains import word_weight
from rote.search.meaning.paraphrases import ParaphrasePairs, find_pairs

ONE = "The committee approved the new budget for the harbour on Tuesday after a long debate."
OTHER = "On Tuesday, following a lengthy debate, the committee approved a new harbour budget."
NOUNS = "harbour budget committee debate river mountain teacher violin market winter".split()
VERBS = "approved sold painted crossed forgot praised".split()


def pairs_of(texts: list[str], most: float) -> ParaphrasePairs:
    layer = words.get()(texts)
    return find_pairs(layer.ids, layer.vocabulary, layer.text_starts, layer.text_ends, most)


def made_texts(count: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    return [
        f"The {rng.choice(NOUNS)} {rng.choice(VERBS)} a {rng.choice(NOUNS)} near the "
        f"{' '.join(rng.choices(NOUNS, k=rng.randint(1, 5)))}."
        for _ in range(count)
    ]


def score_twin(one: str, other: str, counts: Counter[str], total: int) -> tuple[int, int]:
    sides = [{w.lower() for w in text.split()} for text in (one, other)]
    sides = [{w.rstrip(".") for w in side} for side in sides]
    weigh = {w: word_weight((c + 0.5) / (total + 1)) for w, c in counts.items()}
    most = max(sum(weigh[w] for w in side) for side in sides)
    shared = sum(weigh[w] for w in sides[0] & sides[1]) * 1000 // most
    vectors = static.quantize(sums([one, other])).astype(np.int64)
    return int(vectors[0] @ vectors[1]) * 1000 // static.UNIT**2 + shared, shared


def sums(texts: list[str]) -> static.Sums:
    layer = words.get()(texts)
    rows = static.weighted_rows(layer.vocabulary)
    return static.sum_spans(rows, layer.ids, layer.text_starts, layer.text_ends)


@pytest.mark.parametrize("seed", range(3))
def test_no_pair_is_missed(seed: int) -> None:
    texts = made_texts(60, seed)
    counts = Counter(w for text in texts for w in {w.rstrip(".") for w in text.lower().split()})
    found = pairs_of(texts, 0.2)
    scores = {
        (later, earlier): score
        for later in range(len(texts))
        for earlier in range(later)
        for score, shared in [score_twin(texts[later], texts[earlier], counts, len(texts))]
        if shared >= 200
    }
    pairs = list(zip(found.later.tolist(), found.earlier.tolist()))
    assert [found.similarity[n] for n in range(len(pairs))] == [
        pytest.approx(scores[pair] / 2000, abs=6e-4) for pair in pairs
    ]
    # The most similar ones that no text before has are found for each text, in order.
    for later in set(found.later.tolist()):
        mine = [earlier for text, earlier in pairs if text == later]
        ranked = sorted((-scores[later, e], e) for e in range(later) if (later, e) in scores)
        assert mine == [earlier for _, earlier in ranked[: len(mine)]]
    assert pairs


def test_a_paraphrase_is_rarely_chance() -> None:
    known = [word for word in static.table().numbers if word.isalpha() and len(word) > 4]
    rng = random.Random(5)
    unrelated = [" ".join(rng.choices(known, k=15)) for _ in range(300)]
    found = pairs_of([ONE, *unrelated, OTHER], 1e-3)
    assert list(zip(found.later.tolist(), found.earlier.tolist())) == [(301, 0)]
    assert found.p[0] <= 1e-3
    # Where all texts are alike, being alike says nothing.
    assert 301 not in pairs_of([ONE, *made_texts(300, 5), OTHER], 1e-3).later
