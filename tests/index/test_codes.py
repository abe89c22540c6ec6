"""The code over numbers keeps their order, is free of prefixes, and is short where it counts."""

from itertools import pairwise
from random import Random

import numpy as np
from hypothesis import given

from rote.index.columns.suffix_sort import MAX_CODE_BITS, build_alphabetic_code
from tests.examples import lists


def weight(chance: Random) -> int:
    most = chance.choice([5, 10**6, 2**62])
    return most if chance.random() < 0.1 else chance.randint(0, most)


def bits(weights: list[int]) -> list[str]:
    """The codes as strings of 0 and 1; nothing stands behind a code."""
    codes, lengths = build_alphabetic_code(np.array(weights, np.int64))
    assert codes.dtype == np.uint64
    assert lengths.dtype == np.uint8
    assert not codes.flags.writeable
    assert not lengths.flags.writeable
    whole = [f"{code:064b}" for code in codes.tolist()]
    cut = [code[:length] for code, length in zip(whole, lengths.tolist(), strict=True)]
    assert all(code.endswith("0" * (64 - len(head))) for code, head in zip(whole, cut, strict=True))
    return cut


def parted(weights: list[int], head: str = "") -> list[str]:
    """The twin: part the list where its halves weigh most alike, and each half again."""
    if len(weights) == 1:
        return [head]
    uneven = [abs(sum(weights[:i]) - sum(weights[i:])) for i in range(1, len(weights))]
    middle = uneven.index(min(uneven)) + 1
    return parted(weights[:middle], head + "0") + parted(weights[middle:], head + "1")


@given(lists(weight, 80, 1))
def test_codes_are_in_order_and_none_begins_another(weights: list[int]) -> None:
    codes = bits(weights)
    assert codes == sorted(codes)
    assert all(1 <= len(code) <= MAX_CODE_BITS for code in codes)
    for one, other in pairwise(codes):
        # In sorted order a prefix would stand right before what it begins.
        assert not other.startswith(one)


@given(lists(weight, 80, 2))
def test_codes_leave_no_gap(weights: list[int]) -> None:
    assert sum(2 ** (MAX_CODE_BITS - len(code)) for code in bits(weights)) == 2**MAX_CODE_BITS


@given(lists(range(1001), 80, 2))
def test_codes_equal_plain_parting(weights: list[int]) -> None:
    assert bits(weights) == parted([max(1, weight) for weight in weights])


def test_an_example_worked_out_by_hand() -> None:
    # 1 2 3 | 8 6 is 6 : 14 and 1 2 3 8 | 6 is 14 : 6; the lower place wins. 1 2 | 3, 1 | 2, 8 | 6.
    assert bits([1, 2, 3, 8, 6]) == ["000", "001", "01", "10", "11"]
    # 3 + 6 + 6 + 16 + 12 = 43 bits; no tree that keeps the order needs fewer.


def test_codes_are_at_most_two_bits_above_the_entropy() -> None:
    weights = 10**6 // np.random.default_rng(3).permutation(np.arange(1, 5001))
    _, lengths = build_alphabetic_code(weights)
    shares = weights / weights.sum()
    assert (shares * lengths).sum() <= -(shares * np.log2(shares)).sum() + 1


def test_steep_weights_stay_within_the_longest_code() -> None:
    for weights in ([2**i for i in range(62)], [2**62 - 1] + [0] * 3 + [2**62 - 1] * 70):
        assert max(map(len, bits(weights))) <= MAX_CODE_BITS
