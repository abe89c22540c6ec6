"""Kernels over pairs of texts, and the writing of texts, against slow twins."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.core import ngrams
from rote.measure import _pair_kernels, _subsequences, compression

from .strategies import Texts, columns, texts_and_take, texts_of_ids


def twin_lcs(one: list[int], other: list[int]) -> int:
    table = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            table[i + 1][j + 1] = (
                table[i][j] + 1 if a == b else max(table[i][j + 1], table[i + 1][j])
            )
    return table[-1][-1]


def twin_rouge(one: list[int], other: list[int]) -> float:
    return 2 * twin_lcs(one, other) / (len(one) + len(other)) if one and other else 0.0


def twin_bleu(hypothesis: list[int], reference: list[int]) -> float:
    logs, unmatched, common = [], 0, 0
    for n in range(1, 5):
        mine, theirs = (
            Counter(tuple(text[i : i + n]) for i in range(len(text) - n + 1))
            for text in (hypothesis, reference)
        )
        total, correct = sum(mine.values()), sum((mine & theirs).values())
        common += correct
        if not total:
            break
        unmatched += not correct
        logs.append(math.log(correct / total if correct else 1 / (2**unmatched * total)))
    if not common:
        return 0.0
    brevity = min(0.0, 1 - len(reference) / len(hypothesis))
    return math.exp(brevity + sum(logs) / len(logs))


def upper(texts: Texts, score: object) -> np.ndarray:
    table = np.zeros((len(texts), len(texts)))
    for i, one in enumerate(texts):
        for j in range(i + 1, len(texts)):
            table[i, j] = score(one, texts[j])  # type: ignore[operator]
    return table


def rouge(texts: Texts, words: int, first: int = 0, last: int | None = None) -> np.ndarray:
    last = len(texts) if last is None else last
    one_source = (np.arange(len(texts)), np.zeros(len(texts), np.int64), -1)
    ids, starts, ends = columns(texts)
    versions = (ids, starts[None], ends[None])
    return _subsequences.rouge_rows(*versions, words, *one_source, first, last)


@given(texts_of_ids(words=6, longest=12), st.integers(1, 4), st.integers(0, 99), st.booleans())
def test_two_texts_are_compared_in_one_version_and_the_next_two_in_another(
    texts: Texts, count: int, seed: int, together: bool
) -> None:
    versions = [[text[number:] for text in texts] for number in range(count)]
    ids, starts, ends = columns(texts)
    begins = np.stack([np.minimum(starts + number, ends) for number in range(count)])
    numbers = np.random.default_rng(seed).permutation(len(texts))
    if together:  # texts of one version stand together, and are scored together
        numbers = numbers[np.argsort(numbers % count, kind="stable")]
    one_source = (numbers, np.zeros(len(texts), np.int64), -1)
    found = _subsequences.rouge_rows(
        ids, begins, np.stack([ends] * count), 6, *one_source, 0, len(texts)
    )
    expected = np.zeros((len(texts), len(texts)))
    for i in range(len(texts)):
        for j in range(i + 1, len(texts)):
            chosen = versions[(numbers[i] + numbers[j]) % count]
            expected[i, j] = twin_rouge(chosen[i], chosen[j])
    assert np.allclose(found, expected, rtol=1e-14)


@given(texts_of_ids(words=6, longest=20), st.integers(-1, 2), st.integers(0, 99))
def test_rouge_of_short_texts(texts: Texts, reference: int, seed: int) -> None:
    expected = upper(texts, twin_rouge)
    assert np.allclose(rouge(texts, 6), expected, rtol=1e-14)
    sources = np.random.default_rng(seed).integers(0, 3, len(texts))
    ids, starts, ends = columns(texts)
    versions = (ids, starts[None], ends[None])
    numbers = np.arange(len(texts))
    found = _subsequences.rouge_rows(*versions, 6, numbers, sources, reference, 0, len(texts))
    of_reference = sources == reference
    meet = (sources[:, None] == sources) | of_reference[:, None] | of_reference
    assert np.allclose(found, np.where(meet, expected, 0.0), rtol=1e-14)


@pytest.mark.parametrize("words", [2, 60])
def test_rouge_at_block_edges(words: int) -> None:
    rng = np.random.default_rng(words)
    # A number is 63 cells, a pass 1, 2, 4 or 8 numbers, a vector four texts.
    lengths = (62, 63, 64, 126, 127, 252, 253, 504, 505)
    texts = [rng.integers(0, words, length).tolist() for length in lengths]
    assert np.allclose(rouge(texts, words), upper(texts, twin_rouge), rtol=1e-14)


def test_rouge_rows_of_a_part_are_those_of_the_whole() -> None:
    rng = np.random.default_rng(1)
    texts = [rng.integers(0, 9, length).tolist() for length in (5, 0, 30, 12, 7)]
    assert np.array_equal(rouge(texts, 9, 2, 4), rouge(texts, 9)[2:4])


@given(texts_and_take(words=4, longest=15))
def test_bleu(drawn: tuple[Texts, list[int]]) -> None:
    texts, take = drawn
    ids, starts, ends = columns(texts)
    chosen = np.array(take, np.int64)
    sets = [
        ngrams.shared_sets(numbers, starts, ends, n, repeated)
        for n, numbers, repeated, _ in ngrams.number_ngrams(ids, starts, ends, 4, 4)
    ]
    some = [texts[text] for text in take]
    if not some:
        return
    matches = []
    for n, shared in enumerate(sets, start=1):
        lists = _pair_kernels.invert(*shared, chosen)
        found = _pair_kernels.match_rows(*lists, 0, len(take))
        matches.append(found)

        def common(one: list[int], other: list[int], n: int = n) -> int:
            both = (
                Counter(tuple(t[i : i + n]) for i in range(len(t) - n + 1)) for t in (one, other)
            )
            return sum((next(both) & next(both)).values())

        assert np.array_equal(found, upper(some, common))
    scores = _pair_kernels.bleu_rows(np.stack(matches), np.array([len(t) for t in some]), 0)
    mean = upper(some, lambda a, b: (twin_bleu(a, b) + twin_bleu(b, a)) / 2 if a and b else 0.0)
    assert np.allclose(scores, mean, rtol=1e-12)
    later = _pair_kernels.bleu_rows(np.stack(matches)[:, 1:], np.array([len(t) for t in some]), 1)
    assert np.array_equal(later, scores[1:])


@given(st.integers(0, 9), st.data())
def test_row_sums(texts: int, data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    matrix = np.triu(rng.random((texts, texts)), 1)
    triangle = np.full(texts * (texts - 1) // 2, np.nan)
    order = rng.permutation(texts)
    for first in range(0, texts, 2):
        _pair_kernels.keep_rows(triangle, matrix[first : first + 2], first, order)
    take = np.array(sorted(data.draw(st.sets(st.integers(0, max(texts - 1, 0))))), np.int64)
    take = take[take < texts]
    both = np.zeros((texts, texts))
    both[np.ix_(order, order)] = matrix + matrix.T
    expected = both[np.ix_(take, take)].sum(axis=1)
    found = _pair_kernels.row_sums(triangle, texts, take)
    assert np.allclose(found, expected, rtol=1e-13)
    members = np.stack((np.ones(len(take)), np.arange(len(take)) % 2), axis=1)
    of_groups = _pair_kernels.pair_sums(triangle, texts, take, members)
    some = _pair_kernels.row_sums(triangle, texts, take[1::2])
    assert np.allclose(of_groups, [found.sum() / 2, some.sum() / 2], rtol=1e-13)


@given(texts_and_take())
def test_texts_are_written_with_separators(drawn: tuple[Texts, list[int]]) -> None:
    texts, take = drawn
    words = ["a", "", "häh", "dd"]
    encoded = [word.encode() for word in words]
    letters = np.frombuffer(bytearray(b"".join(encoded)), np.uint8)
    word_ends = np.cumsum([len(word) for word in encoded])
    written = [b" ".join(encoded[word] for word in text) for text in texts]
    column = columns(texts)
    lengths = compression.spelled_lengths(*column, word_ends)
    assert lengths.tolist() == [len(text) for text in written]
    chosen = np.array(take, np.int64)
    expected = b"".join(written[text] + b"\n" for text in take)
    spelled = compression.spelled_texts(*column, letters, word_ends, chosen, len(expected), 10)
    assert spelled.tobytes() == expected
    data = np.frombuffer(bytearray(b"".join(written)), np.uint8)
    ends = np.cumsum(lengths)
    raw = compression.raw_texts(data, ends - lengths, ends, chosen, len(expected), 10)
    assert raw.tobytes() == expected
