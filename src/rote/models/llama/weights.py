"""The weights of a Llama decoder, laid out as the products need them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import InputError, MissingExtra
from rote.core.files import open_regular
from rote.models.tokens import read_object

_TYPES: dict[str, Any] = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2"), "BF16": np.dtype("<u2")}

Single = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _TensorPlace:
    kind: str
    shape: tuple[int, ...]
    offset: int


@dataclass(frozen=True, slots=True)
class Tensors:
    path: Path
    places: dict[str, _TensorPlace]

    def take(self, name: str, *shape: int) -> Single:
        """One tensor in single precision; its shape is the one that is expected."""
        if name not in self.places:
            raise InputError(
                f"there is no tensor '{name}'", file=str(self.path), remedy="Save the model again"
            )
        place = self.places[name]
        if place.shape != shape:
            raise InputError(
                f"tensor '{name}' has shape {place.shape}; config.json says {shape}",
                file=str(self.path),
                remedy="Keep weights and config.json of the same model together",
            )
        # The library's reader of numpy arrays knows no bfloat16.
        numbers: NDArray[Any] = np.fromfile(
            self.path, _TYPES[place.kind], math.prod(shape), offset=place.offset
        )
        if place.kind == "BF16":  # the upper half of a single-precision number
            numbers = (numbers.astype(np.uint32) << 16).view(np.float32)
        return numbers.astype(np.float32).reshape(shape)


def read_tensors(path: Path) -> Tensors:
    """What is in a file, checked by the library; no numbers are read yet."""
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError:
        raise MissingExtra("safetensors", "numpy", "A model of numpy") from None
    try:
        open_regular(path).close()
        with safe_open(path, framework="np") as file:
            # Each tensor begins where the one before ends, the first behind the header.
            slices = {name: file.get_slice(name) for name in file.offset_keys()}
            kinds = {name: str(part.get_dtype()) for name, part in slices.items()}
            shapes = {name: tuple(part.get_shape()) for name, part in slices.items()}
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror})",
            file=str(path),
            remedy="Weights in several files or of another kind are read by transformers:FOLDER",
        ) from None
    except SafetensorError as error:
        raise InputError(
            f"the file is damaged: {error}", file=str(path), remedy="Fetch it again"
        ) from None
    for name, kind in kinds.items():
        if kind not in _TYPES:
            raise InputError(
                f"tensor '{name}' holds {kind} numbers; {', '.join(_TYPES)} can be read",
                file=str(path),
                remedy="Run the model with transformers:FOLDER",
            )
    sizes = [math.prod(shapes[name]) * _TYPES[kinds[name]].itemsize for name in slices]
    offsets = accumulate(sizes, initial=path.stat().st_size - sum(sizes))
    places = (
        _TensorPlace(kinds[name], shapes[name], offset) for name, offset in zip(slices, offsets)
    )
    return Tensors(path, dict(zip(slices, places)))


@dataclass(frozen=True, slots=True)
class Shape:
    """`head` is the width of one; `groups` of them share keys and values."""

    vocabulary: int
    hidden: int
    inner: int
    layers: int
    heads: int
    groups: int
    head: int
    longest: int
    epsilon: float
    theta: float
    tied: bool
    attention_bias: bool
    inner_bias: bool
    start: int | None
    ends: frozenset[int]


_LARGEST_SIZE = 2**31 - 1
LONGEST = 2**21
"""Tokens of context: a table of angles is made for all of them."""


def read_shape(folder: Path) -> Shape:
    """What config.json says, refused where the numbers would come out wrong."""
    path = folder / "config.json"
    config = read_object(path)
    try:
        _check_config(path, config)
        heads, hidden = int(config["num_attention_heads"]), int(config["hidden_size"])
        rope = config.get("rope_parameters") or {}
        shape = Shape(
            vocabulary=int(config["vocab_size"]),
            hidden=hidden,
            inner=int(config["intermediate_size"]),
            layers=int(config["num_hidden_layers"]),
            heads=heads,
            groups=int(config.get("num_key_value_heads") or heads),
            head=int(config.get("head_dim") or hidden // max(heads, 1)),
            longest=int(config.get("max_position_embeddings", 2048)),
            epsilon=float(config.get("rms_norm_eps", 1e-6)),
            # transformers 5 writes it into rope_parameters, earlier versions beside it.
            theta=float(rope.get("rope_theta", config.get("rope_theta", 10000.0))),
            tied=bool(config.get("tie_word_embeddings", False)),
            attention_bias=bool(config.get("attention_bias", False)),
            inner_bias=bool(config.get("mlp_bias", False)),
            start=_start_token(config),
            ends=_end_tokens(folder, config),
        )
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        problem = f"a size or setting is missing or something else: {error!r}"
        raise InputError(problem, file=str(path)) from None
    sizes = (shape.vocabulary, shape.hidden, shape.inner, shape.layers, shape.groups, shape.longest)
    if not (0 < shape.theta < math.inf and 0 <= shape.epsilon < math.inf):
        raise InputError("rope_theta or rms_norm_eps is not a number above 0", file=str(path))
    odd = shape.heads % shape.groups or shape.head % 2 if shape.groups > 0 else True
    if shape.longest > LONGEST:
        problem = f"max_position_embeddings is {shape.longest}; up to {LONGEST} can be run"
        raise InputError(problem, file=str(path))
    if odd or min(*sizes, shape.head) < 1 or max(*sizes, shape.head) > _LARGEST_SIZE:
        raise InputError("its sizes are inconsistent", file=str(path))
    return shape


def _check_config(path: Path, config: dict[str, Any]) -> None:
    kind = (config.get("architectures") or [f"model type {config.get('model_type')}"])[0]
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    turning = rope.get("rope_type") or rope.get("type") or "default"
    activation = config.get("hidden_act", "silu")
    for wrong, what in (
        (kind != "LlamaForCausalLM", f"is a {kind}"),
        (activation != "silu", f"has the activation {activation}"),
        (turning != "default", f"rotates positions by the method '{turning}'"),
        (rope.get("partial_rotary_factor", 1) != 1, "rotates only a part of each head"),
        (bool(config.get("quantization_config")), "is quantized"),
    ):
        if wrong:
            raise InputError(
                f"the model {what}; numpy runs plain Llama decoders only",
                file=str(path),
                remedy=f"Run it with transformers:{path.parent}",
            )


def _start_token(config: dict[str, Any]) -> int | None:
    for name in ("bos_token_id", "eos_token_id"):
        token = config.get(name)
        if isinstance(token, list) and token:
            token = token[0]
        if isinstance(token, int):
            return token
    return None


def _end_tokens(folder: Path, config: dict[str, Any]) -> frozenset[int]:
    path = folder / "generation_config.json"
    generating = read_object(path) if path.is_file() else {}
    ends = generating.get("eos_token_id", config.get("eos_token_id"))
    if ends is None:
        return frozenset()
    return frozenset(map(int, ends if isinstance(ends, list) else [ends]))


@dataclass(frozen=True, slots=True)
class Product:
    """`x @ matrix + bias`; the matrix stands input by output."""

    matrix: Single
    bias: Single | None

    def __call__(self, x: Single) -> Single:
        result: Single = x @ self.matrix
        if self.bias is not None:
            result += self.bias
        return result


@dataclass(frozen=True, slots=True)
class DecoderLayer:
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
    layers: tuple[DecoderLayer, ...]
    norm: Single
    head: Single
    cosines: Single
    sines: Single
    """Position by half a head."""


class TensorFile(Protocol):
    """A file of weights: `Tensors`, or a GGUF file."""

    @property
    def path(self) -> object:
        """What errors name."""

    @property
    def places(self) -> Mapping[str, Any]: ...

    def take(self, name: str, *shape: int) -> Single: ...


def read_weights(folder: Path, shape: Shape) -> Weights:
    return arrange_weights(read_tensors(folder / "model.safetensors"), shape)


def arrange_weights(tensors: TensorFile, shape: Shape) -> Weights:
    """The tensors of a file, each of which must have its place."""
    used: set[str] = set()
    layers = tuple(_read_layer(tensors, shape, number, used) for number in range(shape.layers))
    embedding = _take(tensors, used, "model.embed_tokens.weight", shape.vocabulary, shape.hidden)
    head = embedding
    if not shape.tied:
        head = _take(tensors, used, "lm_head.weight", shape.vocabulary, shape.hidden)
    norm = _take(tensors, used, "model.norm.weight", shape.hidden)
    check_all_used(tensors, used)
    # Cosine and sine of every position's turns, in single precision as transformers has them.
    exponents = np.arange(0, shape.head, 2, dtype=np.float32) / np.float32(shape.head)
    frequencies = (1.0 / np.float32(shape.theta) ** exponents).astype(np.float32)
    turns = np.arange(shape.longest, dtype=np.float32)[:, None] * frequencies
    cosines, sines = np.cos(turns), np.sin(turns)
    return Weights(shape, embedding, layers, norm, np.ascontiguousarray(head.T), cosines, sines)


def check_all_used(tensors: TensorFile, used: set[str]) -> None:
    """Whether every tensor has its place: one that has none would change the numbers."""
    for name in tensors.places:
        # Written by some versions although they follow from the rest.
        if name in used or name == "lm_head.weight" or name.endswith("inv_freq"):
            continue
        raise InputError(
            f"tensor '{name}' does not belong to a plain Llama decoder",
            file=str(tensors.path),
            remedy="Run the model with transformers:FOLDER, or serve it: openai:URL#NAME",
        )


def _take(tensors: TensorFile, used: set[str], name: str, *shape: int) -> Single:
    used.add(name)
    return tensors.take(name, *shape)


def _read_layer(tensors: TensorFile, shape: Shape, number: int, used: set[str]) -> DecoderLayer:
    before = f"model.layers.{number}."
    queries, keys = shape.heads * shape.head, shape.groups * shape.head

    def take(name: str, *sizes: int) -> Single:
        return _take(tensors, used, before + name, *sizes)

    def product(outputs: dict[str, int], inputs: int, biased: bool) -> Product:
        matrices = [take(f"{name}.weight", size, inputs) for name, size in outputs.items()]
        biases = [take(f"{name}.bias", size) for name, size in outputs.items() if biased]
        matrix = np.ascontiguousarray(np.concatenate(matrices).T)
        return Product(matrix, np.concatenate(biases) if biased else None)

    looking = {"self_attn.q_proj": queries, "self_attn.k_proj": keys, "self_attn.v_proj": keys}
    inner = {"mlp.gate_proj": shape.inner, "mlp.up_proj": shape.inner}
    return DecoderLayer(
        norm=take("input_layernorm.weight", shape.hidden),
        looking=product(looking, shape.hidden, shape.attention_bias),
        out=product({"self_attn.o_proj": shape.hidden}, queries, shape.attention_bias),
        second_norm=take("post_attention_layernorm.weight", shape.hidden),
        inner=product(inner, shape.hidden, shape.inner_bias),
        down=product({"mlp.down_proj": shape.hidden}, shape.inner, shape.inner_bias),
    )
