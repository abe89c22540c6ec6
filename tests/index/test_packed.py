"""Packed columns hold what was put in."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.index.columns.packed_array import PackedArray, bits_for, pack, packed_size
from tests.examples import drawn, lists, some


@drawn
def columns(chance: Random) -> tuple[int, np.ndarray]:
    bits = chance.randint(1, 57)
    # The largest numbers too, which no draw would give.
    ends = (0, 2**bits - 1)
    values = some(lambda c: c.choice((*ends, c.randint(*ends))), 70)(chance)
    return bits, np.array(values, np.int64)


def by_hand(values: np.ndarray, bits: int) -> bytes:
    """The whole column as one huge number, low bits first."""
    whole = sum(int(value) << (bits * i) for i, value in enumerate(values))
    return whole.to_bytes(packed_size(len(values), bits), "little")


@given(columns)
def test_packing_equals_one_huge_number(column: tuple[int, np.ndarray]) -> None:
    bits, values = column
    held = pack(values, bits)
    assert held.data.tobytes() == by_hand(values, bits)
    assert held.all().tolist() == values.tolist()
    assert [held[i] for i in range(len(held))] == values.tolist()


@given(columns, st.integers(0, 80), st.integers(0, 80), lists(range(70), 20))
def test_parts_of_a_column(
    column: tuple[int, np.ndarray], start: int, stop: int, drawn: list[int]
) -> None:
    bits, values = column
    held = pack(values, bits)
    assert held.slice(start, stop).tolist() == values[start:stop].tolist()
    if len(values):
        places = [place % len(values) for place in drawn]
        assert held.take(np.array(places, np.int64)).tolist() == values[places].tolist()


def test_pieces_join_without_a_seam() -> None:
    values = np.arange(2_500_003) % 1021
    held = pack(values.astype(np.int32), 10)
    assert len(held.data) == packed_size(len(values), 10)
    assert (held.all() == values).all()


def test_bits() -> None:
    assert [bits_for(n) for n in (0, 1, 2, 255, 256)] == [1, 1, 2, 8, 9]
    with pytest.raises(ValueError, match="does not fit"):
        bits_for(2**57)


def test_an_index_beyond_the_column_is_refused() -> None:
    held = pack(np.array([1, 2, 3]), 2)
    with pytest.raises(IndexError):
        held[3]
    assert isinstance(held, PackedArray)
