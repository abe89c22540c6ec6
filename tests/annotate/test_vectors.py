"""The networks' inner loops against numpy, in sizes that do and do not fill vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rote.annotate._network import NEVER, Network, fitted
from rote.annotate._vectors import add_row, chooser, padded, row_adder, sum_adder
from rote.core.kernels import njit

CEILING = 300
SIZES = [(32, 5, 3), (64, 17, 8), (96, 49, 14)]  # units, labels, rows
Array = np.ndarray[Any, Any]


def kernel(hidden: int, labels: int, which: list[int]) -> Any:
    add_sums, add_rows = sum_adder(hidden, 2, [1]), row_adder(hidden, 6, which)
    choose = chooser(hidden, labels, CEILING)

    @njit
    def run(bias, sums, entries, rows, places, output, output_bias, margin, total, scores):  # type: ignore[no-untyped-def]
        add_sums(total, bias, sums, entries)
        add_rows(total, rows, places)
        return choose(total, output, output_bias, margin, scores)

    return run


@pytest.mark.parametrize(("hidden", "labels", "count"), SIZES)
def test_vectors_equal_numpy(hidden: int, labels: int, count: int) -> None:
    draw = np.random.default_rng(hidden)
    width, which = padded(labels), list(range(0, count, 2))
    run = kernel(hidden, labels, which)
    rows = draw.integers(-21, 22, (50, hidden)).astype(np.int8)
    sums = draw.integers(-200, 200, (9, 2, hidden)).astype(np.int16)
    output = np.zeros((hidden, width), np.int16)
    output[:, :labels] = draw.integers(-300, 300, (hidden, labels))
    output_bias = np.full(width, NEVER, np.int32)
    output_bias[:labels] = draw.integers(-999, 999, labels)
    for _ in range(30):
        bias = draw.integers(-99, 99, hidden).astype(np.int16)
        entries, places = draw.integers(0, 9, 2), draw.integers(0, 50, count)
        total, scores = np.zeros(hidden, np.int16), np.zeros(width, np.int32)
        margin = int(draw.integers(0, 900_000))
        given = (bias, sums, entries, rows, places, output, output_bias, margin, total, scores)
        best, near = run(*given)
        units = bias + sums[entries[1], 1] + rows[places[which]].sum(0, dtype=np.int64)
        units = np.clip(units, 0, CEILING)
        wanted = units @ output[:, :labels].astype(np.int64) + output_bias[:labels]
        assert total.tolist() == units.tolist()
        assert scores[:labels].tolist() == wanted.tolist()
        assert best == wanted.argmax()
        assert near == (wanted >= wanted.max() - margin).sum()


def test_the_first_of_equal_labels_is_best() -> None:
    run = kernel(32, 17, [0])
    bias, output = np.ones(32, np.int16), np.zeros((32, 24), np.int16)
    output[:, [3, 9, 16]] = 7
    nothing = (np.zeros((1, 2, 32), np.int16), np.zeros(2, np.int64), np.zeros((1, 32), np.int8))
    rest = (np.full(24, -1, np.int32), 0, np.zeros(32, np.int16), np.zeros(24, np.int32))
    assert run(bias, *nothing, np.zeros(1, np.int64), output, *rest) == (3, 3)


def test_a_row_is_added_where_it_is_said() -> None:
    @njit
    def add(sums, rows):  # type: ignore[no-untyped-def]
        add_row(sums, 96, rows, 64, 32)

    draw = np.random.default_rng(1)
    sums = draw.integers(-99, 99, (3, 64)).astype(np.int16)
    rows = draw.integers(-99, 99, (4, 32)).astype(np.int8)
    wanted = sums.copy()
    wanted[1, 32:] += rows[2]
    add(sums, rows)
    assert sums.tolist() == wanted.tolist()


@pytest.mark.parametrize(
    ("units", "labels", "weight", "out"),
    [(33, 5, 9, 9), (32, 9, 9, 9), (32, 5, 22, 9), (32, 5, 9, 4200)],
)
def test_a_network_that_does_not_fit_is_refused(
    units: int, labels: int, weight: int, out: int
) -> None:
    rows = np.full((4, units), -weight, np.int8)
    output = np.full((labels, units), out, np.int16)
    net = Network(
        rows,
        np.zeros(units, np.int16),
        output,
        np.zeros(labels, np.int32),
        np.zeros((1, 3), np.int32),
    )
    with pytest.raises(ValueError, match="too large"):
        fitted(net, 32, 8, 6)
