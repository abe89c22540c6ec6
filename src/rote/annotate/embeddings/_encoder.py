"""An encoder of the BERT kind with 8-bit weights, in whole numbers where it takes time.

Every activation becomes a whole number of 14 bits, as a share of the largest of its piece, written
as two digits; the products of digits and weights are exact, and quick on every processor. So a
text's vector does not depend on the texts beside it, nor on the machine. There is no padding:
the pieces of all texts stand in one column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.annotate.embeddings._batches import Vectors, unit
from rote.annotate.embeddings._onnx import product
from rote.core.array_types import Array
from rote.core.layer import starts_of


@dataclass(frozen=True, slots=True)
class Linear:
    """A product with a matrix of weights, the scale of each of its columns, and the bias."""

    session: Any
    scales: Vectors
    bias: Vectors

    def __call__(self, digits: NDArray[np.uint8], out: NDArray[np.int32]) -> NDArray[np.int32]:
        """Exact; `out` is long enough to hold the result."""
        found = out[: len(digits) * len(self.bias)].reshape(len(digits), len(self.bias))
        binding = self.session.io_binding()
        binding.bind_input("a", "cpu", 0, np.uint8, digits.shape, digits.ctypes.data)
        binding.bind_output("y", "cpu", 0, np.int32, found.shape, found.ctypes.data)
        self.session.run_with_iobinding(binding)
        return found


@dataclass(frozen=True, slots=True)
class Layer:
    attention: Linear
    """Queries, keys and values, side by side."""
    output: Linear
    output_norm: Vectors
    up: Linear
    down: Linear
    norm: Vectors


@dataclass(frozen=True, slots=True)
class Encoder:
    """Weights, ready to work; `words` are 8-bit numbers in `units` of each word."""

    words: NDArray[np.int8]
    units: Vectors
    places: Vectors
    norm: Vectors
    layers: tuple[Layer, ...]
    heads: int

    def __call__(self, pieces: NDArray[np.int64], ends: NDArray[np.int64]) -> Vectors:
        """One vector for each text; the pieces of text t end at `ends[t]`."""
        from rote.annotate.embeddings import _encoder_kernels as kernels

        count, width, widest = len(pieces), len(self.norm[0]), len(self.layers[0].up.bias)
        starts = starts_of(ends)
        places = np.arange(count) - np.repeat(starts, ends - starts)
        states = self.words[pieces] * self.units[pieces, None] + self.places[places]
        units = np.zeros(count, np.float32)
        narrow = np.empty((2 * count, width), np.uint8)
        wide = np.empty((2 * count, widest), np.uint8)
        out = np.zeros(2 * count * widest, np.int32)

        def after(linear: Linear, digits: Array) -> tuple[Array, Array, Array, Array]:
            return linear(digits, out), units, linear.scales, linear.bias

        # What words and places begin with is normed; nothing is added.
        nothing = np.zeros(width, np.float32)
        added = out[: 2 * count * width].reshape(2 * count, width)
        kernels.add(added, units, nothing, nothing, self.norm, states, narrow)
        for layer in self.layers:
            kernels.attend(*after(layer.attention, narrow), ends, self.heads, narrow)
            kernels.add(*after(layer.output, narrow), layer.output_norm, states, narrow)
            kernels.activate(*after(layer.up, narrow), wide)
            kernels.add(*after(layer.down, wide), layer.norm, states, narrow)
        return unit(np.add.reduceat(states, starts) / (ends - starts)[:, None])


def encoder(weights: Mapping[str, Array], heads: int) -> Encoder:
    """From the arrays of a model that torch wrote: matrices `NAME_q` with the scales of their
    columns `NAME_scale`, six for each layer, in the order in which they are used."""

    def linear(names: list[str], biases: list[str]) -> Linear:
        matrix = np.concatenate([weights[name] for name in names], axis=1)
        scales = [weights[name.removesuffix("_q") + "_scale"].ravel() for name in names]
        return Linear(
            product(np.ascontiguousarray(matrix)),
            np.concatenate(scales),
            np.concatenate([weights[name] for name in biases]),
        )

    def norm(name: str) -> Vectors:
        return np.stack([weights[f"{name}.weight"], weights[f"{name}.bias"]])

    matrices = [name for name in weights if name.startswith("val_") and name.endswith("_q")]
    layers = []
    for number in range(len(matrices) // 6):
        *three, out, up, down = matrices[6 * number : 6 * number + 6]
        own = f"inner.encoder.layer.{number}"
        biases = [f"{own}.attention.self.{part}.bias" for part in ("query", "key", "value")]
        layers.append(
            Layer(
                attention=linear(three, biases),
                output=linear([out], [f"{own}.attention.output.dense.bias"]),
                output_norm=norm(f"{own}.attention.output.LayerNorm"),
                up=linear([up], [f"{own}.intermediate.dense.bias"]),
                down=linear([down], [f"{own}.output.dense.bias"]),
                norm=norm(f"{own}.output.LayerNorm"),
            )
        )
    tables = "inner.embeddings"
    places = weights[f"{tables}.position_embeddings.weight_q"].astype(np.float32)
    places *= weights[f"{tables}.position_embeddings.weight_scale"]
    return Encoder(
        words=weights[f"{tables}.word_embeddings.weight_q"],
        units=weights[f"{tables}.word_embeddings.weight_scale"].ravel(),
        places=places + weights[f"{tables}.token_type_embeddings.weight"][0],
        norm=norm(f"{tables}.LayerNorm"),
        layers=tuple(layers),
        heads=heads,
    )
