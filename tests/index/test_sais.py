"""Induced sorting puts suffixes into the order that plain sorting does."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.index.columns.sais import sais
from tests.examples import drawn, lists, some
from tests.index import twins


def plainly_sorted(numbers: list[int]) -> list[int]:
    """Places of items by all that follows them, across the ends of documents."""
    places = (i for i, number in enumerate(numbers) if number)
    return sorted(places, key=lambda place: numbers[place:])


def sorted_by_doubling(ids: np.ndarray) -> np.ndarray:
    """Places of items by ranks of prefixes that double in length: slow, but not quadratic."""
    rank, step = np.unique(ids, return_inverse=True)[1].astype(np.int64), 1
    while True:
        behind = np.append(rank[step:] + 1, np.zeros(min(step, len(ids)), np.int64))
        pairs = rank * (len(ids) + 1) + behind
        rank = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
        if rank.max() == len(ids) - 1:
            order = np.argsort(rank)
            return order[ids[order] != 0]
        step *= 2


def check(numbers: list[int], entries: int | None = None) -> None:
    ids = twins.read_only(np.array(numbers, np.int32))
    order = sais(ids, max(numbers, default=0) + 1 if entries is None else entries)
    assert order.dtype == np.int32
    assert order.tolist() == plainly_sorted(numbers)


def stream(documents: list[list[int]]) -> list[int]:
    return [number for document in documents for number in [*document, 0]]


@drawn
def streams(chance: Random) -> list[int]:
    items = some(range(1, chance.choice([2, 3, 4, 10, 61])), chance.choice([1, 5, 40]))
    return stream(some(items, 8)(chance) * chance.randint(1, 4))


@given(streams, st.integers(0, 5))
def test_agrees_with_plain_sorting(numbers: list[int], unused: int) -> None:
    check(numbers, max(numbers, default=0) + 1 + unused)


@given(streams)
def test_agrees_with_the_twin_up_to_the_ends_of_documents(numbers: list[int]) -> None:
    ids = np.array(numbers, np.int32)

    def heads(places: list[int]) -> list[list[int]]:
        return [numbers[place : numbers.index(0, place)] for place in places]

    order = sais(ids, max(numbers, default=0) + 1).tolist()
    assert heads(order) == heads(twins.sorted_places(ids))


@given(
    lists(range(1, 5), 12, 1), st.integers(2, 12), lists(lambda c: (c.random(), c.randint(0, 4)), 3)
)
def test_sorts_a_text_that_is_repeated_with_changes(
    text: list[int], times: int, changes: list[tuple[float, int]]
) -> None:
    numbers = text * times
    for part, number in changes:
        numbers[int(part * len(numbers))] = number
    check([*numbers, 0])


def fibonacci_word(length: int) -> list[int]:
    word, longer = [1], [1, 2]
    while len(word) < length:
        word, longer = longer, longer + word
    return word[:length]


def de_bruijn_word(symbols: int, n: int) -> list[int]:
    """Every run of n symbols once, by taking the largest symbol that makes a new run."""
    word, seen = [1] * n, {(1,) * n}
    while True:
        for symbol in range(symbols, 0, -1):
            run = (*word[len(word) - n + 1 :], symbol)
            if run not in seen:
                seen.add(run)
                word.append(symbol)
                break
        else:
            return word


SPECIAL = {
    "nothing": [],
    "one empty document": [0],
    "empty documents": [0] * 9,
    "one item": [1, 0],
    "one item, no end": [1],
    "one item in every document": [1, 0] * 50,
    "all equal": [*[1] * 300, 0],
    "two in turn": [*[1, 2] * 150, 0],
    "falling": [*range(200, -1, -1)],
    "rising": [*range(1, 200), 0],
    "Fibonacci word": [*fibonacci_word(610), 0],
    "Thue-Morse word": [*(1 + i.bit_count() % 2 for i in range(512)), 0],
    "de Bruijn word of two": [*de_bruijn_word(2, 9), 0],
    "de Bruijn word of five": [*de_bruijn_word(5, 4), 0],
    "identical documents": stream([[3, 1, 2, 1, 2, 3, 1]] * 60),
    "identical documents but for one item": stream([[3, 1, 2, 1, 4 + i, 1] for i in range(60)]),
    "items of a wide vocabulary": [*(np.arange(1, 400) ** 2 * 7919 % 1_000_003).tolist(), 0],
}


@pytest.mark.parametrize("name", SPECIAL)
def test_sorts_special_texts(name: str) -> None:
    check(SPECIAL[name])


@pytest.mark.parametrize("largest", [2, 50, 5000])
@pytest.mark.parametrize("repeated", [1, 7])
def test_sorts_longer_random_texts(largest: int, repeated: int) -> None:
    generator = np.random.default_rng(largest)
    # Skewed as words are, so that there are single and repeated pieces on several levels.
    text = (largest * generator.random(20_000 // repeated) ** 3).astype(np.int32) + 1
    text[generator.random(len(text)) < 0.001] = 0
    ids = np.append(np.tile(text, repeated), np.int32(0))
    before = ids.copy()
    assert np.array_equal(sais(ids, largest + 1), sorted_by_doubling(ids))
    assert np.array_equal(ids, before)


@pytest.mark.parametrize("numbers", [[1, 3, 0], [1, -1, 0]])
def test_refuses_numbers_outside_the_vocabulary(numbers: list[int]) -> None:
    with pytest.raises(ValueError, match="in a vocabulary of 3"):
        sais(np.array(numbers, np.int32), 3)
