"""Kernels of lexical measures against slow twins in plain Python."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.core import ngrams as numbered_ngrams
from rote.measure import _lexical_kernels

from .strategies import Texts, columns, texts_and_take, texts_of_ids


def twin_random(seed: int, counter: int) -> int:
    word = 2**64
    state = (seed + counter * 0x9E3779B97F4A7C15) % word
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) % word
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) % word
    return state ^ (state >> 31)


def twin_draw(total: int, count: int, seed: int) -> list[int]:
    drawn: list[int] = []
    counter = 0
    for last in range(total - count, total):
        bits = max(2 ** last.bit_length() - 1, 1)
        number = last + 1
        while number > last:
            counter += 1
            number = twin_random(seed, counter) & bits
        drawn.append(last if number in drawn else number)
    return drawn


def ngrams(text: list[int], n: int) -> list[tuple[int, ...]]:
    return [tuple(text[i : i + n]) for i in range(len(text) - n + 1)]


def test_random_numbers_are_splitmix64() -> None:
    # The first number of the published generator for seed 0.
    assert int(_lexical_kernels.mixed(np.uint64(0), np.uint64(1))) == 0xE220A8397B1DCDAF


@given(st.integers(1, 300), st.data())
def test_draw_equals_its_twin(total: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, total))
    seed = data.draw(st.integers(0, 2**64 - 1))
    drawn = _lexical_kernels.draw(total, count, np.uint64(seed)).tolist()
    assert drawn == twin_draw(total, count, seed)
    assert len(set(drawn)) == count
    assert all(0 <= number < total for number in drawn)
    marks = _lexical_kernels.marked(total, count, np.uint64(seed))
    assert np.flatnonzero(marks).tolist() == sorted(drawn)


def test_draw_gives_all_subsets_equally_often() -> None:
    counts = Counter(
        frozenset(_lexical_kernels.draw(5, 2, np.uint64(s)).tolist()) for s in range(10_000)
    )
    assert set(counts) == {frozenset(pair) for pair in combinations(range(5), 2)}
    # 9 degrees of freedom: chi-square stays below 27.9 in 999 of 1,000 cases.
    assert sum((count - 1000) ** 2 / 1000 for count in counts.values()) < 27.9


@given(texts_and_take(), st.integers(1, 4))
def test_places_of_all_ranks(drawn: tuple[Texts, list[int]], n: int) -> None:
    texts, take = drawn
    ids, starts, ends = columns(texts)
    expected = [
        int(starts[text]) + step for text in take for step in range(len(texts[text]) - n + 1)
    ]
    chosen = np.array(take, np.int64)
    assert _lexical_kernels.ngram_total(starts, ends, chosen, n) == len(expected)
    ranks = np.arange(len(expected))[::-1].copy()
    if expected:
        found = _lexical_kernels.places(starts, ends, chosen, n, ranks)
        assert found.tolist() == expected[::-1]
        rows = _lexical_kernels.windows(ids, found, n)
        assert rows.tolist() == [ids[place : place + n].tolist() for place in expected[::-1]]


@given(st.integers(1, 4), st.data())
def test_distinct_rows(width: int, data: st.DataObject) -> None:
    row = st.lists(st.integers(0, 2), min_size=width, max_size=width)
    rows = data.draw(st.lists(row, max_size=40))
    array = np.array(rows, np.int32).reshape(len(rows), width)
    assert _lexical_kernels.distinct_rows(array) == len({tuple(row) for row in rows})


@given(texts_and_take(), st.integers(1, 40), st.integers(0, 2**64 - 1))
def test_distinct_among_drawn(drawn: tuple[Texts, list[int]], limit: int, seed: int) -> None:
    texts, take = drawn
    ids, starts, ends = columns(texts)
    chosen = np.array(take, np.int64)
    for n, numbers, repeated, _ in numbered_ngrams.number_ngrams(ids, starts, ends, 4, 3):
        where = (starts, ends, chosen, n, limit, np.uint64(seed))
        every = [gram for text in take for gram in ngrams(texts[text], n)]
        ranks = twin_draw(len(every), limit, seed) if len(every) > limit else range(len(every))
        grams = [every[rank] for rank in ranks]
        expected = len(set(grams)) / len(grams) if grams else math.nan
        found = _lexical_kernels.distinct_share(ids, *where)
        assert found == pytest.approx(expected, nan_ok=True)
        by_number = _lexical_kernels.numbered_share(numbers, repeated, *where)
        assert by_number == pytest.approx(expected, nan_ok=True)


def twin_mattr(text: list[int], window: int) -> float:
    parts = ngrams(text, window)
    return float(np.mean([len(set(p)) / window for p in parts])) if parts else math.nan


def twin_factors(text: list[int], threshold: float) -> float:
    factors, segment = 0.0, list[int]()
    for word in text:
        segment.append(word)
        if len(set(segment)) / len(segment) <= threshold:
            factors, segment = factors + 1, []
    if segment:
        factors += (1 - len(set(segment)) / len(segment)) / (1 - threshold)
    return factors or 1.0


def twin_mtld(text: list[int], threshold: float) -> float:
    if not text:
        return math.nan
    both = (twin_factors(text, threshold), twin_factors(text[::-1], threshold))
    return sum(len(text) / factors for factors in both) / 2


def twin_hdd(text: list[int], draws: int) -> float:
    if len(text) < draws:
        return math.nan
    found = Fraction(0)
    for count in Counter(text).values():
        found += 1 - Fraction(math.comb(len(text) - count, draws), math.comb(len(text), draws))
    return float(found / draws)


@given(texts_of_ids(words=5, longest=40), st.integers(1, 12))
def test_values_of_texts(texts: Texts, size: int) -> None:
    words = (*columns(texts), 5)
    same = {"rel": 1e-12, "nan_ok": True}
    assert _lexical_kernels.mattr_of_texts(*words, size).tolist() == pytest.approx(
        [twin_mattr(text, size) for text in texts], **same
    )
    threshold = size / 13
    assert _lexical_kernels.mtld_of_texts(*words, threshold).tolist() == pytest.approx(
        [twin_mtld(text, threshold) for text in texts], **same
    )
    assert _lexical_kernels.hdd_of_texts(*words, size).tolist() == pytest.approx(
        [twin_hdd(text, size) for text in texts], **same
    )
    assert _lexical_kernels.ttr_of_texts(*words).tolist() == pytest.approx(
        [len(set(text)) / len(text) if text else math.nan for text in texts], **same
    )


@given(texts_and_take())
def test_ttr_and_entropy(drawn: tuple[Texts, list[int]]) -> None:
    texts, take = drawn
    pooled = Counter(word for text in take for word in texts[text])
    total = pooled.total() if hasattr(pooled, "total") else sum(pooled.values())
    bits = np.array([0.0, 0.0, 2.0])
    ttr, entropy = _lexical_kernels.ttr_and_entropy(
        *columns(texts), np.array(take, np.int64), 4, bits
    )
    if not total:
        assert math.isnan(ttr)
        assert math.isnan(entropy)
        return
    assert ttr == len(pooled) / total
    expected = -sum(c / total * math.log2(c / total) for c in pooled.values())
    assert entropy == pytest.approx(expected, abs=1e-12)


@given(texts_of_ids(), st.integers(1, 5))
def test_sets_of_ngrams(texts: Texts, longest: int) -> None:
    ids, starts, ends = columns(texts)
    for n, numbers, repeated, once in numbered_ngrams.number_ngrams(ids, starts, ends, 4, longest):
        every = Counter(gram for text in texts for gram in ngrams(text, n))
        assert repeated == sum(count > 1 for count in every.values())
        assert once == len(every) - repeated
        known: dict[int, tuple[int, ...]] = {}
        for text, start in zip(texts, starts):
            for step, gram in enumerate(ngrams(text, n)):
                number = int(numbers[start + step])
                assert (number == numbered_ngrams.ONCE) == (every[gram] == 1)
                assert every[gram] == 1 or known.setdefault(number, gram) == gram
        assert sorted(known) == list(range(repeated))
        assert len(set(known.values())) == repeated
    shared, counts, shared_ends, shared_kinds = numbered_ngrams.shared_sets(
        numbers, starts, ends, longest, repeated
    )

    sets = [Counter(ngrams(text, longest)) for text in texts]
    frequency = Counter(gram for grams in sets for gram in grams)
    assert shared_kinds == sum(count > 1 for count in frequency.values())
    begins = [0, *shared_ends.tolist()]
    names: dict[int, tuple[int, ...]] = {}
    for number, grams in enumerate(sets):
        part = slice(begins[number], begins[number + 1])
        expected = {gram: count for gram, count in grams.items() if frequency[gram] > 1}
        assert counts[part].tolist() == list(expected.values())
        for code, gram in zip(shared[part].tolist(), expected):
            assert names.setdefault(code, gram) == gram
    assert len(set(names.values())) == len(names)


@given(texts_of_ids(), st.integers(1, 3))
def test_ngrams_numbered_by_their_halves(texts: Texts, half: int) -> None:
    ids, starts, ends = columns(texts)
    kinds = int(ids.max(initial=0)) + 1
    *_, (_, expected, repeated, _) = numbered_ngrams.number_ngrams(
        ids, starts, ends, kinds, 2 * half
    )
    known: dict[tuple[int, ...], int] = {}
    spelled = [tuple(ids[place : place + half].tolist()) for place in range(len(ids))]
    halves = np.array([known.setdefault(gram, len(known)) for gram in spelled], np.int32)
    half_ends = np.maximum(ends - half + 1, starts)
    found, count = numbered_ngrams.number_pairs(halves, starts, half_ends, len(known), half)
    places = [p for a, b in zip(starts, ends) for p in range(a, b - 2 * half + 1)]
    assert (found[places].tolist(), count) == (expected[places].tolist(), repeated)


def postings_of(texts: Texts, n: int, *, counted: bool) -> numbered_ngrams.Postings:
    columns_ = ids, starts, ends = columns(texts)
    kinds = int(ids.max(initial=0)) + 1
    *_, (_, numbers, repeated, _) = numbered_ngrams.number_ngrams(*columns_, kinds, n)
    return numbered_ngrams.Postings.build(numbers, starts, ends, n, repeated, counted=counted)


def some_groups(texts: int, count: int, seed: int) -> list[list[int]]:
    """Some are empty, some hold all texts."""
    chance = random.Random(seed)
    shares = [chance.choice([0, 0.1, 0.5, 0.9, 1]) for _ in range(count)]
    return [[text for text in range(texts) if chance.random() < share] for share in shares]


def text_groups(takes: list[list[int]]) -> numbered_ngrams.TextGroups:
    return numbered_ngrams.TextGroups.of([np.array(take, np.int64) for take in takes])


@given(texts_of_ids(), st.integers(1, 4), st.booleans())
def test_postings_list_the_texts_of_each_ngram(texts: Texts, n: int, counted: bool) -> None:
    found = postings_of(texts, n, counted=counted)
    sets = [Counter(ngrams(text, n)) for text in texts]
    total = sum(sets, Counter[tuple[int, ...]]())
    held = {gram: [t for t, grams in enumerate(sets) if gram in grams] for gram in total}
    listed = {gram for gram in held if (total[gram] > 1 if counted else len(held[gram]) > 1)}
    assert found.alone.tolist() == [len(grams.keys() - listed) for grams in sets]
    lists = np.split(found.texts, found.ends[:-1])
    assert sorted(map(list, lists if len(found.ends) else [])) == sorted(held[g] for g in listed)
    if counted:
        assert found.most == max((count for count in total.values() if count > 1), default=0)
        both = zip(lists, np.split(found.counts, found.ends[:-1])) if len(found.ends) else ()
        rows = [list(zip(own.tolist(), counts.tolist())) for own, counts in both]
        assert sorted(rows) == sorted([(t, sets[t][g]) for t in held[g]] for g in listed)
        totals = [sum(count for _, count in row) for row in rows]
        rare = numbered_ngrams.RARE
        assert [count <= rare for count in totals] == [n < found.rare for n in range(len(totals))]


def compare_groups(texts: Texts, n: int, takes: list[list[int]]) -> None:
    """What postings say of groups against sets and counts of Python."""
    groups, sets = text_groups(takes), [Counter(ngrams(text, n)) for text in texts]
    together = [Counter(gram for text in take for gram in sets[text]) for take in takes]
    alone, counted = (postings_of(texts, n, counted=flag) for flag in (False, True))
    for postings in (alone, counted):
        assert postings.distinct(groups).tolist() == [len(found) for found in together]
        assert postings.elsewhere(groups).tolist() == [
            sum(found[gram] - 1 for gram in sets[text])
            for take, found in zip(takes, together)
            for text in take
        ]
    # Tables of different lengths: counts beyond the last entry have its value.
    tables = np.array([[0, 3.5, 1.25, 7, 2, 9], [0, 1, 1, 1, 1, 1]])
    chosen = np.arange(len(takes)) % 2
    every = sum(sets, Counter[tuple[int, ...]]())
    expected = []
    for number, take in enumerate(takes):
        summed = sum((sets[text] for text in take), Counter[tuple[int, ...]]())
        several = [count for gram, count in summed.items() if every[gram] > 1]
        expected.append(sum(tables[number % 2, min(count, 5)] for count in several))
    # Where an n-gram stands often, columns have more bits.
    for postings in (counted, replace(counted, most=1 << 16)):
        assert postings.summed(groups, tables, chosen).tolist() == pytest.approx(expected)
    short = np.array([[0.0, 2.0]])
    ones = np.zeros(len(takes), np.int64)
    assert counted.summed(groups, short, ones).tolist() == [
        2.0 * sum(every[gram] > 1 for gram in found) for found in together
    ]


@given(
    texts_of_ids(),
    st.integers(1, 3),
    st.sampled_from([1, 2, 63, 64, 65, 127, 128, 129, 300]),
    st.integers(0, 10**6),
)
def test_groups_of_postings_equal_their_twins(texts: Texts, n: int, count: int, seed: int) -> None:
    compare_groups(texts, n, some_groups(len(texts), count, seed))


@pytest.mark.parametrize("words", [3, 2000])
def test_many_ngrams_of_many_groups(words: int) -> None:
    rng = np.random.default_rng(words)
    texts = [rng.integers(0, words, rng.integers(0, 120)).tolist() for _ in range(25)]
    compare_groups(texts, 2, some_groups(25, 130, words))


def test_groups_of_very_many_texts_have_fewer_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [[text % 7, text % 3, text % 5] for text in range(40)]
    monkeypatch.setattr(numbered_ngrams, "COLUMN_BYTES", 40 * 12 * 3)
    compare_groups(texts, 2, some_groups(40, 10, 1))


def test_sums_by_group() -> None:
    takes = [[0, 2], [], [0, 1, 2], [1]]
    found = text_groups(takes).sums(np.array([1.5, 2, 4]), np.array([True, False, True]))
    assert found.tolist() == [[5.5, 0, 7.5, 2], [2, 0, 2, 0]]


def test_ngram_table_grows_without_losing_any() -> None:
    rng = np.random.default_rng(7)
    ids = rng.integers(0, 500, 150_000).astype(np.int32)
    starts, ends = np.array([0, 70_000]), np.array([70_000, 150_000])
    both = [ids[:70_000].tolist(), ids[70_000:].tolist()]
    for n, _, repeated, once in numbered_ngrams.number_ngrams(ids, starts, ends, 500, 3):
        every = Counter(gram for text in both for gram in ngrams(text, n))
        assert repeated == sum(count > 1 for count in every.values())
        assert once == len(every) - repeated


@pytest.mark.parametrize("bytes_free", [400, 20_000, 500_000])
def test_ngrams_that_do_not_fit_are_numbered_alike(
    bytes_free: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(3)
    ids = rng.integers(0, 60, 20_000).astype(np.int32)
    ends = np.sort(rng.integers(0, len(ids), 40))
    ends[-1] = len(ids)
    starts = np.concatenate((np.zeros(1, np.int64), ends[:-1]))

    def found() -> list[object]:
        made = []
        for n, numbers, repeated, once in numbered_ngrams.number_ngrams(ids, starts, ends, 60, 5):
            held = [numbers[a : max(a, b - n + 1)].tolist() for a, b in zip(starts, ends)]
            sets = numbered_ngrams.shared_sets(numbers, starts, ends, n, repeated)
            made.append((n, held, repeated, once, [np.asarray(part).tolist() for part in sets]))
        return made

    whole = found()
    monkeypatch.setattr(numbered_ngrams, "room", lambda: bytes_free)
    monkeypatch.setattr("rote.core.arrays.room", lambda: bytes_free)
    assert found() == whole
