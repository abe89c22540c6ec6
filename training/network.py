"""The trainer of the network: hashed rows, one hidden layer, Adagrad, one example at a time.

`forward` and `backward` are numba functions that a model's own training loop calls
with the rows of one example; the loop decides what the features are, because they
may depend on what the model itself said before. `quantize` makes what is shipped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rote.annotate._network import CEILING, SCORE_UNIT
from rote.core.arrays import Arrays

Floats = NDArray[np.float32]
_START = np.float32(0.2)  # so that units are open while every row is still zero
_SMALL = np.float32(1e-6)


@dataclass(frozen=True, slots=True)
class Parameters:
    """Weights in float, each with the sum of its squared gradients."""

    rows: Floats  # (2**bits, hidden), from zero
    bias: Floats
    output: Floats  # (hidden, labels)
    output_bias: Floats
    rows_squares: Floats
    bias_squares: Floats
    output_squares: Floats
    output_bias_squares: Floats

    def arrays(self) -> tuple[Floats, ...]:
        """The arrays in the order in which `forward` and `backward` take them."""
        return (
            self.rows,
            self.bias,
            self.output,
            self.output_bias,
            self.rows_squares,
            self.bias_squares,
            self.output_squares,
            self.output_bias_squares,
        )

    def fresh(self) -> Parameters:
        """The same weights with the squares forgotten: the start of a new phase."""
        weights = (self.rows, self.bias, self.output, self.output_bias)
        return Parameters(*weights, *(_squares(array) for array in weights))


def parameters(bits: int, hidden: int, labels: int, seed: int) -> Parameters:
    """Weights to start from."""
    generator = np.random.default_rng(seed)
    span = np.sqrt(6.0 / (hidden + labels))
    weights = (
        np.zeros((1 << bits, hidden), np.float32),
        np.full(hidden, _START, np.float32),
        generator.uniform(-span, span, (hidden, labels)).astype(np.float32),
        np.zeros(labels, np.float32),
    )
    return Parameters(*weights, *(_squares(array) for array in weights))


def _squares(weights: Floats) -> Floats:
    """Room for squared gradients: one per row of a large table, else one per weight."""
    large = weights.ndim == 2 and len(weights) >= 1 << 10
    return np.zeros((len(weights), 1) if large else weights.shape, np.float32)


@njit(cache=True, nogil=True)
def seed_kernel(seed):  # type: ignore[no-untyped-def]
    """Seed the random numbers that compiled functions draw."""
    np.random.seed(seed)


@njit(cache=True, nogil=True, fastmath=True)
def forward(arrays, index, count, dropout, hidden, chances):  # type: ignore[no-untyped-def]
    """Chances of each label from the rows `index[:count]`; leaves the open units in `hidden`."""
    rows, bias, output, output_bias = arrays[0], arrays[1], arrays[2], arrays[3]
    hidden[:] = bias
    for number in range(count):
        row = rows[index[number]]
        for unit in range(len(hidden)):
            hidden[unit] += row[unit]
    kept = np.float32(1.0 / (1.0 - dropout))
    chances[:] = output_bias
    for unit in range(len(hidden)):
        value = hidden[unit]
        if value <= 0 or (dropout > 0 and np.random.random() < dropout):
            hidden[unit] = 0
            continue
        value *= kept
        hidden[unit] = value
        weights = output[unit]
        for label in range(len(chances)):
            chances[label] += value * weights[label]
    softmax(chances)


@njit(cache=True, nogil=True, fastmath=True)
def softmax(scores):  # type: ignore[no-untyped-def]
    """Scores to chances, in place."""
    top = scores.max()
    total = np.float32(0)
    for label in range(len(scores)):
        scores[label] = np.exp(scores[label] - top)
        total += scores[label]
    for label in range(len(scores)):
        scores[label] /= total


@njit(cache=True, nogil=True, fastmath=True)
def backward(arrays, index, count, dropout, hidden, slope, rate, inner):  # type: ignore[no-untyped-def]
    """One step of Adagrad; `slope` is chances minus what they should be, `inner` is scratch."""
    rows, bias, output, output_bias = arrays[0], arrays[1], arrays[2], arrays[3]
    rows_2, bias_2, output_2, output_bias_2 = arrays[4], arrays[5], arrays[6], arrays[7]
    kept = np.float32(1.0 / (1.0 - dropout))
    rate = np.float32(rate)
    labels = len(slope)
    for unit in range(len(hidden)):
        inner[unit] = 0
        value = hidden[unit]
        if value <= 0:
            continue
        total = np.float32(0)
        weights, squares = output[unit], output_2[unit]
        for label in range(labels):
            total += slope[label] * weights[label]
            step = slope[label] * value
            squares[label] += step * step
            weights[label] -= rate * step / (np.sqrt(squares[label]) + _SMALL)
        inner[unit] = total * kept
    for label in range(labels):
        output_bias_2[label] += slope[label] * slope[label]
        output_bias[label] -= rate * slope[label] / (np.sqrt(output_bias_2[label]) + _SMALL)
    for unit in range(len(hidden)):
        bias_2[unit] += inner[unit] * inner[unit]
        bias[unit] -= rate * inner[unit] / (np.sqrt(bias_2[unit]) + _SMALL)
    mean = np.float32(0)
    for unit in range(len(hidden)):
        mean += inner[unit] * inner[unit]
    mean /= np.float32(len(hidden))
    for number in range(count):
        # One rate per row, not per weight: half the memory, and as accurate.
        rows_2[index[number], 0] += mean
        step = rate / (np.sqrt(rows_2[index[number], 0]) + _SMALL)
        row = rows[index[number]]
        for unit in range(len(hidden)):
            row[unit] -= step * inner[unit]


def quantize(
    weights: Parameters, templates: NDArray[np.int32], prefix: str = "", steps: int = 127
) -> Arrays:
    """Integers for the kernels: rows from -steps to steps, scores in units of 1 / SCORE_UNIT.

    Fewer steps make a smaller file. The output weights shrink where a score could
    otherwise leave 32 bits.
    """
    held = np.abs(weights.rows[weights.rows != 0])
    scale = float(np.quantile(held, 0.9995)) / steps if len(held) else 1.0
    rows = np.clip(np.rint(weights.rows / scale), -steps, steps).astype(np.int8)
    output = weights.output.T * (scale * SCORE_UNIT)
    largest = np.abs(output).sum(1).max() * CEILING
    if np.abs(output).max() > np.iinfo(np.int16).max or largest > 2**30:
        raise ValueError("output weights too large for SCORE_UNIT")
    return {
        prefix + "rows": rows,
        prefix + "bias": np.rint(weights.bias / scale).astype(np.int16),
        prefix + "output": np.ascontiguousarray(np.rint(output).astype(np.int16)),
        prefix + "output_bias": np.rint(weights.output_bias * SCORE_UNIT).astype(np.int32),
        prefix + "templates": templates.astype(np.int32),
    }
