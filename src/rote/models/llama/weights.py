"""The weights of a Llama decoder, laid out as the products need them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rote.core.errors import InputError
from rote.models.llama.safetensors import Single, Tensors, read_tensors
from rote.models.llama.shape import Shape


@dataclass(frozen=True, slots=True)
class Product:
    """`x @ matrix + bias`; the matrix stands input by output."""

    matrix: Single
    bias: Single | None

    def __call__(self, x: Single) -> Single:
        found: Single = x @ self.matrix
        if self.bias is not None:
            found += self.bias
        return found


@dataclass(frozen=True, slots=True)
class Layer:
    """Attention and the feed-forward part, each with the norm before it."""

    norm: Single
    looking: Product
    """Queries, keys and values side by side."""
    out: Product
    second_norm: Single
    inner: Product
    """Gate and values side by side."""
    down: Product


@dataclass(frozen=True, slots=True)
class Weights:
    """A model. `head` is the transposed embedding where the two are tied."""

    shape: Shape
    embedding: Single
    layers: tuple[Layer, ...]
    norm: Single
    head: Single
    cosines: Single
    sines: Single
    """Position by half a head."""


def read_weights(folder: Path, shape: Shape) -> Weights:
    """From `model.safetensors`, in single precision."""
    tensors = read_tensors(folder / "model.safetensors")
    taken: set[str] = set()
    layers = tuple(_layer(tensors, shape, number, taken) for number in range(shape.layers))
    embedding = _take(tensors, taken, "model.embed_tokens.weight", shape.vocabulary, shape.hidden)
    head = embedding
    if not shape.tied:
        head = _take(tensors, taken, "lm_head.weight", shape.vocabulary, shape.hidden)
    norm = _take(tensors, taken, "model.norm.weight", shape.hidden)
    left = [
        name
        for name in tensors.places
        # Written by some versions although they follow from the rest.
        if name not in taken and name != "lm_head.weight" and not name.endswith("inv_freq")
    ]
    if left:
        raise InputError(
            f"tensor '{left[0]}' has no place in a Llama decoder as config.json describes it",
            file=str(tensors.path),
            remedy=f"Run the model with transformers:{folder}",
        )
    cosines, sines = _turns(shape)
    return Weights(shape, embedding, layers, norm, np.ascontiguousarray(head.T), cosines, sines)


def _take(tensors: Tensors, taken: set[str], name: str, *shape: int) -> Single:
    taken.add(name)
    return tensors.take(name, *shape)


def _layer(tensors: Tensors, shape: Shape, number: int, taken: set[str]) -> Layer:
    before = f"model.layers.{number}."
    queries, keys = shape.heads * shape.head, shape.groups * shape.head

    def product(outputs: dict[str, int], inputs: int, biased: bool) -> Product:
        matrices = [
            _take(tensors, taken, f"{before}{name}.weight", size, inputs)
            for name, size in outputs.items()
        ]
        biases = [
            _take(tensors, taken, f"{before}{name}.bias", size)
            for name, size in outputs.items()
            if biased
        ]
        matrix = np.ascontiguousarray(np.concatenate(matrices).T)
        return Product(matrix, np.concatenate(biases) if biased else None)

    def norm(name: str) -> Single:
        return _take(tensors, taken, f"{before}{name}.weight", shape.hidden)

    looking = {"self_attn.q_proj": queries, "self_attn.k_proj": keys, "self_attn.v_proj": keys}
    inner = {"mlp.gate_proj": shape.inner, "mlp.up_proj": shape.inner}
    return Layer(
        norm=norm("input_layernorm"),
        looking=product(looking, shape.hidden, shape.attention_bias),
        out=product({"self_attn.o_proj": shape.hidden}, queries, shape.attention_bias),
        second_norm=norm("post_attention_layernorm"),
        inner=product(inner, shape.hidden, shape.inner_bias),
        down=product({"mlp.down_proj": shape.hidden}, shape.inner, shape.inner_bias),
    )


def _turns(shape: Shape) -> tuple[Single, Single]:
    """Cosine and sine of every position's turns, in single precision as transformers has them."""
    exponents = np.arange(0, shape.head, 2, dtype=np.float32) / np.float32(shape.head)
    frequencies = (1.0 / np.float32(shape.theta) ** exponents).astype(np.float32)
    turns = np.arange(shape.longest, dtype=np.float32)[:, None] * frequencies
    return np.cos(turns), np.sin(turns)
