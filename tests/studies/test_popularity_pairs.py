"""Pairs of n-grams: counts, scores and correlations are those of the definition."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

import rote
from rote.core.errors import InputError, OptionError
from rote.core.progress import Silent
from rote.corpus.items import Item
from rote.index.index import Index
from rote.search.backends import open_backend
from rote.studies import _popularity_scores
from rote.studies.popularity import Options
from tests.indexes import build_index, index_texts
from tests.studies import popularity_twin as twin

WORDS = st.lists(st.sampled_from("abcd"), max_size=8).map(" ".join)


def item(name: str, given: str, answer: str, likelihood: float = -1.0, **more: Any) -> Item:
    """With a wrong option first, so that the right one has to be looked for."""
    asked = [[given, "z"], [given, answer]]
    meta = {"asked": asked, "loglikelihoods": [0.0, likelihood], **more}
    return Item(name, "t", f"{given} ", ("z", answer), 1, meta=meta)


def stretches(corpus: Sequence[str], within: int | None) -> list[set[tuple[str, ...]]]:
    """The n-grams (n up to 2) that begin in each document, or in each stretch of one."""
    found = []
    for text in corpus:
        words = text.split()
        size = within or max(1, len(words))
        for first in range(0, len(words), size) if within else [0]:
            starts = range(first, min(first + size, len(words)))
            found.append({tuple(words[s : s + n]) for s in starts for n in (1, 2)})
    return found


def slow(
    given: str, answer: str, corpus: Sequence[str], n: int, within: int | None, most: int
) -> dict[str, float] | None:
    held = stretches(corpus, within)
    logs = []
    for x, y in itertools.product(twin.ngrams(given, n), twin.ngrams(answer, n)):
        if x == y or max(twin.count(x, corpus), twin.count(y, corpus)) > most:
            continue
        a, b = (sum(gram in units for units in held) for gram in (x, y))
        both = sum(x in units and y in units for units in held)
        chance = math.log1p(a * b / len(held)) if held else 0.0
        joint = math.log1p(both)
        logs.append((joint, joint - math.log1p(a), math.log1p(a), math.log1p(b), chance, both > 0))
    if not logs:
        return None
    together, conditional, first, second, expected, seen = np.mean(logs, axis=0)
    return {
        "together": together,
        "given": conditional,
        "input": first,
        "output": second,
        "expected": expected,
        "lift": together - expected,
        "seen": seen,
        "number": len(logs),
    }


def counted(items: Sequence[Item], index: Index, **options: Any) -> _popularity_scores.NgramPairs:
    asked = Options(corpus="IDX", **options)
    return _popularity_scores.count_pairs(
        items, _popularity_scores.check_pairs(items, open_backend(index)), asked, Silent()
    )


@given(
    st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=4),
    st.lists(WORDS, min_size=1, max_size=5),
    st.integers(1, 2),
    st.sampled_from([None, 1, 2, 3]),
    st.sampled_from([2, 100]),
)
def test_scores_equal_the_twin(
    texts: list[tuple[str, str]], corpus: list[str], n: int, within: int | None, most: int
) -> None:
    items = [item(str(number), *own) for number, own in enumerate(texts)]
    index = index_texts(corpus, layers=("lower",))
    with patch.object(_popularity_scores, "MOST_OCCURRENCES", most):
        found = counted(items, index, pairs=n, pairs_within=within)
    for number, own in enumerate(texts):
        expected = slow(*own, corpus, n, within, most)
        if expected is None:
            assert found.number[number] == 0
            assert math.isnan(found.scores["together"][number])
            continue
        assert found.number[number] == expected["number"]
        assert found.both_seen[number] == pytest.approx(expected["seen"])
        for name in _popularity_scores.SCORES:
            assert found.scores[name][number] == pytest.approx(expected[name]), name
        assert found.likelihood[number] == pytest.approx(-1 / len(own[1].split()))


CORPUS = ("paris is in france", "france has paris and lyon", "rome is in italy", "oslo is cold")


def test_an_item_worked_out_by_hand(tmp_path: Path) -> None:
    """paris and france are both in two of four documents, paris and italy in none."""
    build_index(CORPUS, tmp_path / "IDX", layers=("lower",))
    items = [
        item("1", "Paris", "France", -1.0),
        item("2", "Paris", "Italy", -4.0),
        item("3", "Rome", "Italy", -2.0),
        item("4", "Rome", "Rome", -3.0),
        item("5", "Oslo", "Italy", -3.0),
    ]
    result = rote.popularity(items, corpus=str(tmp_path / "IDX"), n=1, pairs=1, interval=0)
    rows = result.tables["items"]
    log = math.log
    assert [row["pairs"] for row in rows] == [1, 1, 1, 0, 1]
    assert [row["together"] for row in rows] == pytest.approx(
        [log(3), 0, log(2), math.nan, 0], nan_ok=True
    )
    assert rows[0]["given"] == 0
    assert rows[1]["given"] == pytest.approx(-log(3))
    assert rows[0]["expected"] == pytest.approx(log(2))
    assert rows[0]["lift"] == pytest.approx(log(3 / 2))
    (row,) = result.tables["pairs"]
    assert (row["items"], row["pairs"], row["seen"]) == (4, 1, 0.5)
    assert row["together"] == pytest.approx(
        spearmanr([log(3), 0, log(2), 0], [-1, -4, -2, -3]).statistic
    )
    assert row["output"] == pytest.approx(spearmanr([3, 2, 2, 2], [-1, -4, -2, -3]).statistic)
    assert math.isnan(row["together_low"])
    assert any("1 of 5 items have no part" in note for note in result.notes)
    assert "pairs:1|in:document|most:10000" in str(result.signature)


@pytest.mark.parametrize("compact", [False, True])
def test_segments_and_stretches_do_not_mix(compact: bool) -> None:
    """Documents of several segments are numbered on; a document's last stretch may be short."""
    parts = [index_texts(texts, compact=compact) for texts in (["a b c", "a"], ["", "b a b"])]
    index = Index([segment for part in parts for segment in part.segments])
    found = index.holders([["a"], ["b"], ["z"]])
    assert (found.ends.tolist(), found.units.tolist(), found.total) == (
        [3, 5, 5],
        [0, 1, 3, 0, 3],
        4,
    )
    found = index.holders([["a"], ["b"], ["a", "b"]], within=2)
    # a b | c, a, nothing, b a | b
    assert found.total == 5
    assert found.units.tolist() == [0, 2, 3, 0, 3, 4, 0, 3]
    assert found.counts.tolist() == [3, 3, 2]
    with pytest.raises(OptionError, match="at least one item"):
        index.holders([["a"]], within=0)


def test_shuffled_likelihoods_give_intervals_that_hold_0_at_the_level() -> None:
    """Counts of real pairs, twins that share a base, and likelihoods that know nothing of them."""
    rng, runs = np.random.default_rng(6), 400
    words = [f"w{number}" for number in range(40)]
    weights = 1 / np.arange(1, 41)
    draw = lambda size: " ".join(rng.choice(words, size, p=weights / weights.sum()))  # noqa: E731
    index = index_texts([draw(30) for _ in range(60)], layers=("lower",))
    items = [item(str(n), draw(4), draw(3), base_id=str(n // 2)) for n in range(80)]
    found = counted(items, index, pairs=1)
    bases, options = np.arange(80) // 2, Options(corpus="IDX", pairs=1)
    held = dict.fromkeys(("together", "output", "difference", "partial"), 0)
    for _ in range(runs):
        noise = rng.normal(size=40)[bases] + rng.normal(size=80)
        shuffled = _popularity_scores.NgramPairs(
            found.number, found.both_seen, found.scores, noise, 0, 0
        )
        (row,) = _popularity_scores.correlation_rows(shuffled, bases, {"t": np.arange(80)}, options)
        assert (row["items"], row["independent"]) == (80, 40)
        for name in held:
            held[name] += row[f"{name}_low"] <= 0 <= row[f"{name}_high"]
    # The difference of two correlations that nearly agree is called less sure than it is.
    assert held.pop("difference") / runs >= 0.92
    assert all(0.92 <= count / runs <= 0.98 for count in held.values()), held


def test_pairs_that_say_more_than_their_words_are_found() -> None:
    """Likelihoods follow the joint count alone: the partial correlation is above 0."""
    rng = np.random.default_rng(7)
    names = [(f"x{a}", f"y{b}") for a in range(12) for b in range(12)]
    strength = {pair: int(rng.integers(0, 6)) for pair in names}
    corpus = [" ".join(pair) for pair in names for _ in range(strength[pair])]
    index = index_texts(corpus, layers=("lower",))
    items = [item("-".join(pair), *pair, strength[pair] + rng.normal()) for pair in names]
    found = counted(items, index, pairs=1)
    groups = {"t": np.arange(len(items))}
    (row,) = _popularity_scores.correlation_rows(
        found, np.arange(len(items)), groups, Options(corpus="IDX", pairs=1)
    )
    assert row["partial_low"] > 0.5
    assert row["difference_low"] > 0.3
    assert row["lift_low"] > 0.5


def test_pairs_may_be_kept_by_meaning(monkeypatch: pytest.MonkeyPatch) -> None:
    angles = {"a": 0.0, "b": 0.1, "c": 1.5}

    class Embed:
        def check(self) -> None: ...

        def __call__(self, texts: list[str], reporter: object) -> np.ndarray:
            return np.array([[math.cos(angles[t]), math.sin(angles[t])] for t in texts])

    monkeypatch.setattr("rote.annotate.embeddings.get", lambda name: Embed())
    index = index_texts(["a b", "a c"], layers=("lower",))
    items = [item("1", "a", "b c")]
    assert counted(items, index, pairs=1).number.tolist() == [2]
    assert counted(items, index, pairs=1, pairs_similar=0.9).number.tolist() == [1]


class Uncounted:
    """A corpus without documents, which must not be asked for any count."""

    name, tokenizer, index, count = "infini-gram", "spaces", "none", "occurrences"


def test_what_cannot_be_counted_is_refused() -> None:
    index = index_texts(CORPUS, layers=("lower",))
    with pytest.raises(OptionError, match=r"rote\.evaluate\(write=\.\.\.\)"):
        rote.popularity([Item("1", "t", "a ", ("b",), 0)], corpus=index, n=1, pairs=1)
    with pytest.raises(OptionError, match="infini-gram gives counts alone"):
        rote.popularity([item("1", "a", "b")], corpus=Uncounted(), n=1, pairs=1)
    broken = Item("1", "t", "a ", ("b",), 0, meta={"asked": ["a"], "loglikelihoods": [-1.0]})
    with pytest.raises(InputError, match="log-likelihood"):
        rote.popularity([broken], corpus=index, n=1, pairs=1)
    with pytest.raises(OptionError, match="--pairs takes"):
        Options(corpus="IDX", pairs_within=3)
    with pytest.raises(OptionError):
        Options(corpus="IDX", pairs=0)
