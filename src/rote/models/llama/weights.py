"""The weights of a Llama decoder, laid out as the products need them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import InputError
from rote.core.files import open_regular
from rote.core.json_reader import parse_json
from rote.models.tokens.reading import read_object

_TYPES: dict[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype("<u2"),
}
_LONGEST_HEADER = 100_000_000  # the format's own limit

Single = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Place:
    kind: str
    shape: tuple[int, ...]
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Tensors:
    """The tensors of a file by name."""

    path: Path
    places: dict[str, _Place]
    numbers: int
    """Where the numbers begin."""

    def take(self, name: str, *shape: int) -> Single:
        """One tensor in single precision; its shape is the one that is expected."""
        if name not in self.places:
            raise InputError(
                f"there is no tensor '{name}'", file=str(self.path), remedy="Save the model again"
            )
        place = self.places[name]
        if place.shape != shape:
            raise InputError(
                f"tensor '{name}' has shape {place.shape}; by config.json it should be {shape}",
                file=str(self.path),
                remedy="Keep weights and config.json of the same model together",
            )
        kind = _TYPES[place.kind]
        held: NDArray[Any] = np.fromfile(
            self.path, kind, math.prod(shape), offset=self.numbers + place.begin
        )
        if place.kind == "BF16":  # the upper half of a single-precision number
            held = (held.astype(np.uint32) << 16).view(np.float32)
        return held.astype(np.float32).reshape(shape)


def read_tensors(path: Path) -> Tensors:
    """What is in a file, checked; no numbers are read yet."""
    try:
        size = path.stat().st_size
        with open_regular(path) as file:
            length = int.from_bytes(file.read(8), "little")
            if size < 8 or length > min(size - 8, _LONGEST_HEADER):
                raise _damaged(path, "it ends within its header")
            header = parse_json(file.read(length), strict=True)
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror})",
            file=str(path),
            remedy="Weights in several files or of another kind are read by transformers:FOLDER",
        ) from None
    except InputError as error:
        if error.file is not None:
            raise
        raise _damaged(path, f"its header {error.problem}") from None
    if not isinstance(header, dict):
        raise _damaged(path, "its header is no JSON object")
    header.pop("__metadata__", None)
    places = {name: _place(path, name, said) for name, said in header.items()}
    reached = 0
    for name, place in sorted(places.items(), key=lambda one: (one[1].begin, one[1].end)):
        if place.begin != reached:
            raise _damaged(path, f"tensor '{name}' does not begin where the one before ends")
        reached = place.end
    if 8 + length + reached != size:
        raise _damaged(path, f"it should hold {8 + length + reached} bytes and holds {size}")
    return Tensors(path, places, 8 + length)


def _place(path: Path, name: str, said: Any) -> _Place:
    try:
        kind, shape, (begin, end) = said["dtype"], tuple(said["shape"]), said["data_offsets"]
        whole = all(type(one) is int and one >= 0 for one in (*shape, begin, end))
    except (TypeError, KeyError, ValueError):
        raise _damaged(path, f"tensor '{name}' is not described") from None
    if kind not in _TYPES:
        raise InputError(
            f"tensor '{name}' holds numbers of the kind {kind}; {', '.join(_TYPES)} can be read",
            file=str(path),
            remedy="Run the model with transformers:FOLDER",
        )
    if not whole or end - begin != math.prod(shape) * _TYPES[kind].itemsize:
        raise _damaged(path, f"the place of tensor '{name}' does not fit its shape")
    return _Place(kind, shape, begin, end)


def _damaged(path: Path, why: str) -> InputError:
    return InputError(f"the file is damaged: {why}", file=str(path), remedy="Fetch it again")


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
    said = read_object(path)
    try:
        _check(path, said)
        heads = int(said["num_attention_heads"])
        hidden = int(said["hidden_size"])
        shape = Shape(
            vocabulary=int(said["vocab_size"]),
            hidden=hidden,
            inner=int(said["intermediate_size"]),
            layers=int(said["num_hidden_layers"]),
            heads=heads,
            groups=int(said.get("num_key_value_heads") or heads),
            head=int(said.get("head_dim") or hidden // max(heads, 1)),
            longest=int(said.get("max_position_embeddings", 2048)),
            epsilon=float(said.get("rms_norm_eps", 1e-6)),
            theta=_theta(said),
            tied=bool(said.get("tie_word_embeddings", False)),
            attention_bias=bool(said.get("attention_bias", False)),
            inner_bias=bool(said.get("mlp_bias", False)),
            start=_start(said),
            ends=_ends(folder, said),
        )
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        problem = f"a size or setting is missing or something else: {error!r}"
        raise InputError(problem, file=str(path)) from None
    sizes = (shape.vocabulary, shape.hidden, shape.inner, shape.layers, shape.groups, shape.longest)
    if not (0 < shape.theta < math.inf and 0 <= shape.epsilon < math.inf):
        raise InputError("rope_theta or rms_norm_eps is no number above 0", file=str(path))
    odd = shape.heads % shape.groups or shape.head % 2 if shape.groups > 0 else True
    if shape.longest > LONGEST:
        problem = f"max_position_embeddings is {shape.longest}; up to {LONGEST} can be run"
        raise InputError(problem, file=str(path))
    if odd or min(*sizes, shape.head) < 1 or max(*sizes, shape.head) > _LARGEST_SIZE:
        raise InputError("its sizes do not fit together", file=str(path))
    return shape


def _check(path: Path, said: dict[str, Any]) -> None:
    kind = (said.get("architectures") or [f"model type {said.get('model_type')}"])[0]
    rope = said.get("rope_parameters") or said.get("rope_scaling") or {}
    turning = rope.get("rope_type") or rope.get("type") or "default"
    for wrong, what in (
        (kind != "LlamaForCausalLM", f"is a {kind}"),
        (said.get("hidden_act", "silu") != "silu", f"has the activation {said.get('hidden_act')}"),
        (turning != "default", f"turns positions in the way '{turning}'"),
        (rope.get("partial_rotary_factor", 1) != 1, "turns a part of each head only"),
        (bool(said.get("quantization_config")), "is quantized"),
    ):
        if wrong:
            raise InputError(
                f"the model {what}; numpy runs plain Llama decoders only",
                file=str(path),
                remedy=f"Run it with transformers:{path.parent}",
            )


def _theta(said: dict[str, Any]) -> float:
    # transformers 5 writes it into rope_parameters, earlier versions beside it.
    rope = said.get("rope_parameters") or {}
    return float(rope.get("rope_theta", said.get("rope_theta", 10000.0)))


def _start(said: dict[str, Any]) -> int | None:
    for name in ("bos_token_id", "eos_token_id"):
        found = said.get(name)
        if isinstance(found, list) and found:
            found = found[0]
        if isinstance(found, int):
            return found
    return None


def _ends(folder: Path, said: dict[str, Any]) -> frozenset[int]:
    path = folder / "generation_config.json"
    generating = read_object(path) if path.is_file() else {}
    found = generating.get("eos_token_id", said.get("eos_token_id"))
    if found is None:
        return frozenset()
    return frozenset(map(int, found if isinstance(found, list) else [found]))


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


class Held(Protocol):
    """A file of weights: `Tensors`, or a GGUF file."""

    @property
    def path(self) -> object:
        """What errors name."""

    @property
    def places(self) -> Mapping[str, Any]: ...

    def take(self, name: str, *shape: int) -> Single: ...


def read_weights(folder: Path, shape: Shape) -> Weights:
    """From `model.safetensors`, in single precision."""
    return laid_out(read_tensors(folder / "model.safetensors"), shape)


def laid_out(tensors: Held, shape: Shape) -> Weights:
    """The tensors of a file, each of which must have its place."""
    taken: set[str] = set()
    layers = tuple(_layer(tensors, shape, number, taken) for number in range(shape.layers))
    embedding = _take(tensors, taken, "model.embed_tokens.weight", shape.vocabulary, shape.hidden)
    head = embedding
    if not shape.tied:
        head = _take(tensors, taken, "lm_head.weight", shape.vocabulary, shape.hidden)
    norm = _take(tensors, taken, "model.norm.weight", shape.hidden)
    check_left(tensors, taken)
    cosines, sines = _turns(shape)
    return Weights(shape, embedding, layers, norm, np.ascontiguousarray(head.T), cosines, sines)


def check_left(tensors: Held, taken: set[str]) -> None:
    """Whether every tensor has its place: one that has none would change the numbers."""
    for name in tensors.places:
        # Written by some versions although they follow from the rest.
        if name in taken or name == "lm_head.weight" or name.endswith("inv_freq"):
            continue
        raise InputError(
            f"tensor '{name}' has no place in a plain Llama decoder",
            file=str(tensors.path),
            remedy="Run the model with transformers:FOLDER, or serve it: openai:URL#NAME",
        )


def _take(tensors: Held, taken: set[str], name: str, *shape: int) -> Single:
    taken.add(name)
    return tensors.take(name, *shape)


def _layer(tensors: Held, shape: Shape, number: int, taken: set[str]) -> Layer:
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
