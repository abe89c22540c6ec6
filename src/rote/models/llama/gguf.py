"""A GGUF file: its metadata, its tensors, and the form of the Llama decoder that it holds.

The header is read here, with every length checked against the file; the numbers of a tensor are
dequantized by the package `gguf` (extra `gguf`). What the metadata asks for and is not computed
here is refused by the name of its field.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rote.core.errors import InputError, MissingExtra
from rote.core.json_reader import shortened
from rote.models.llama.gguf_files import Bytes, GgufFile
from rote.models.llama.weights import LONGEST, Shape, Single
from rote.models.tokens.encoding import Library
from rote.models.tokens.gguf import gguf_tokens

_NUMBERS = dict(zip((0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12), "BbHhIif?Qqd"))
_STRING, _ARRAY = 8, 9
_VERSIONS = (2, 3)
_DEEPEST = 8
"""Levels of lists in lists; the format's own fields have none."""
_MOST = 10_000
"""Layers or heads; larger models than any there is have some hundred."""
_LAYER = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_REST = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
}
_SIZES = (
    "block_count",
    "context_length",
    "embedding_length",
    "feed_forward_length",
    "vocab_size",
    "attention.head_count",
    "attention.head_count_kv",
    "attention.layer_norm_rms_epsilon",
    "attention.key_length",
    "attention.value_length",
    "rope.freq_base",
    "rope.dimension_count",
)
_AT_REST: dict[str, tuple[Any, ...]] = {
    "rope.scaling.type": ("none",),
    "rope.scaling.factor": (1, 0),
    "rope.scale_linear": (1,),
    "expert_count": (0,),
    "expert_used_count": (0,),
}
"""Values that change nothing; others are refused."""


@dataclass(frozen=True, slots=True)
class _Place:
    file: GgufFile
    kind: int
    shape: tuple[int, ...]
    """As numpy has it: rows first."""
    begin: int


@dataclass(frozen=True, slots=True)
class Gguf:
    """A file's fields, and its tensors under the names that transformers gives them."""

    path: GgufFile
    fields: Mapping[str, Any]
    places: Mapping[str, _Place]
    turned: Mapping[str, int]
    """Tensors whose rows GGUF keeps in another order, with the number of their heads."""

    def take(self, name: str, *shape: int) -> Single:
        """One tensor in single precision; its shape is the one that is expected."""
        if name not in self.places:
            raise _damaged(self.path, f"there is no tensor '{_own_name(name)}'")
        place = self.places[name]
        if place.shape != shape:
            raise InputError(
                f"tensor '{_own_name(name)}' has shape {place.shape}; by the metadata it should "
                f"be {shape}",
                file=str(self.path),
                remedy="Convert the model again",
            )
        found = _dequantized(name, place)
        if name in self.turned:
            # llama.cpp turns neighbours, transformers the first half against the second.
            pairs = found.reshape(self.turned[name], -1, 2, shape[1])
            found = pairs.swapaxes(1, 2).reshape(shape)
        return found


def read_all(path: GgufFile) -> tuple[Gguf, Shape, Library]:
    """Everything but the numbers."""
    held = read_gguf(path)
    shape = shape_of(held)
    tokens = gguf_tokens(str(path), held.fields)
    if max(tokens.size, tokens.start + 1, *(end + 1 for end in shape.ends)) > shape.vocabulary:
        raise InputError(
            f"tokenizer.ggml.tokens has {tokens.size} tokens, the model {shape.vocabulary}",
            file=str(path),
            remedy="Convert the model again",
        )
    return held, shape, tokens


def read_gguf(path: GgufFile) -> Gguf:
    """What is in a file, checked; no weights are read yet."""
    fields: dict[str, Any] = {}
    places: dict[str, _Place] = {}
    for file in path.splits:
        try:
            with file.mapped() as data:
                own, held = _Header(file, data).read()
        except (OSError, ValueError) as error:  # an empty file cannot be mapped
            raise InputError(f"cannot be read ({error})", file=str(file)) from None
        fields, places = {**own, **fields}, {**places, **held}
    count = fields.get("split.count", 1)
    if count not in (0, len(path.splits)):
        raise InputError(
            f"it is one of {count} files of a model, and its name does not say so",
            file=str(path),
            remedy=f"Name the first NAME-00001-of-{count:05}.gguf, with the others beside it",
        )
    kind = fields.get("general.architecture")
    if kind != "llama":
        raise _refused(path, "general.architecture", kind, "llama can be run")
    for field in ("block_count", "attention.head_count", "attention.head_count_kv"):
        said = fields.get(f"llama.{field}", 0)
        if type(said) is not int or not 0 <= said <= _MOST:
            raise _refused(path, f"llama.{field}", said, f"a whole number up to {_MOST} is needed")
    turned = {
        f"model.layers.{number}.self_attn.{name}_proj.weight": fields.get(f"llama.{field}", 0)
        for number in range(fields.get("llama.block_count", 0))
        for name, field in (("q", "attention.head_count"), ("k", "attention.head_count_kv"))
    }
    return Gguf(path, fields, places, turned)


def shape_of(held: Gguf) -> Shape:
    """What the metadata says, refused where the numbers would come out wrong."""
    for name, value in held.fields.items():
        short = name.removeprefix("llama.")
        if (
            name.startswith("llama.")
            and short not in _SIZES
            and value not in _AT_REST.get(short, ())
        ):
            raise _refused(held.path, name, value, "rote's own decoder does not compute that")

    def said(name: str, default: Any = None) -> Any:
        found = held.fields.get(f"llama.{name}", default)
        if isinstance(found, bool) or not isinstance(found, (int, float)) or found <= 0:
            raise _refused(held.path, f"llama.{name}", found, "one number above 0 is needed")
        return found

    heads, hidden = said("attention.head_count"), said("embedding_length")
    head = said("attention.key_length", hidden // heads)
    for name in ("attention.value_length", "rope.dimension_count"):
        if said(name, head) != head:
            raise _refused(held.path, f"llama.{name}", said(name), f"a head is {head} wide")
    if (longest := said("context_length")) > LONGEST:
        raise _refused(held.path, "llama.context_length", longest, f"up to {LONGEST} can be run")
    groups = said("attention.head_count_kv", heads)
    if heads % groups or head % 2:
        raise _refused(
            held.path, "llama.attention.head_count_kv", groups, f"there are {heads} heads"
        )
    tokens = held.fields.get("tokenizer.ggml.tokens") or []
    if type(tokens) is not list or not all(isinstance(token, str) for token in tokens):
        raise _refused(held.path, "tokenizer.ggml.tokens", tokens, "a list of tokens is needed")
    ends = []
    for name in ("eos", "eot", "eom"):
        end = held.fields.get(f"tokenizer.ggml.{name}_token_id")
        if end is not None and type(end) is not int:
            field = f"tokenizer.ggml.{name}_token_id"
            raise _refused(held.path, field, end, "the number of a token is needed")
        ends.append(end)
    return Shape(
        vocabulary=said("vocab_size", len(tokens)),
        hidden=hidden,
        inner=said("feed_forward_length"),
        layers=said("block_count"),
        heads=heads,
        groups=groups,
        head=head,
        longest=longest,
        epsilon=said("attention.layer_norm_rms_epsilon"),
        theta=said("rope.freq_base", 10000.0),
        tied="lm_head.weight" not in held.places,
        attention_bias=False,
        inner_bias=False,
        start=held.fields.get("tokenizer.ggml.bos_token_id"),
        ends=frozenset(end for end in ends if end is not None),
    )


@dataclass(slots=True)
class _Header:
    """Reads on from byte to byte."""

    path: GgufFile
    data: Bytes
    at: int = 0

    def read(self) -> tuple[dict[str, Any], dict[str, _Place]]:
        if self.data[:4] != b"GGUF":
            raise InputError(
                "is no GGUF file", file=str(self.path), remedy="Name one that ends in .gguf"
            )
        self.at = 4
        version = self.number("I")
        if version not in _VERSIONS:
            raise InputError(
                f"is of version {version} of the format (or of a machine with the other order "
                f"of bytes); versions {' and '.join(map(str, _VERSIONS))} can be read",
                file=str(self.path),
                remedy="Convert the model again",
            )
        tensors, fields = self.number("Q"), self.number("Q")
        held = {self.string(): self.value(self.number("I")) for _ in range(fields)}
        found = [self.tensor() for _ in range(tensors)]
        unit = held.get("general.alignment", 32)
        if type(unit) is not int or unit < 1:
            raise _damaged(self.path, f"general.alignment is {unit!r}, not a number of bytes")
        first = -(-self.at // unit) * unit
        return held, {name: self.placed(name, place, first) for name, place in found}

    def tensor(self) -> tuple[str, _Place]:
        name = _their_name(self.string())
        shape = tuple(self.number("Q") for _ in range(self.number("I")))
        return name, _Place(self.path, self.number("I"), shape[::-1], self.number("Q"))

    def placed(self, name: str, place: _Place, first: int) -> _Place:
        begin = first + place.begin
        count, size = _block(self.path, name, place.kind)
        if not place.shape or place.shape[-1] % count:
            raise _damaged(self.path, f"tensor '{_own_name(name)}' has shape {place.shape}")
        end = begin + math.prod(place.shape) // count * size
        if end > len(self.data):
            raise _damaged(
                self.path, f"it should hold {end} bytes or more and holds {len(self.data)}"
            )
        return replace(place, begin=begin)

    def number(self, kind: str) -> Any:
        (found,) = struct.unpack("<" + kind, self.take(struct.calcsize(kind)))
        return found

    def string(self) -> str:
        return self.take(self.number("Q")).decode("utf-8", "replace")

    def value(self, kind: int, level: int = 0) -> Any:
        if kind in _NUMBERS:
            return self.number(_NUMBERS[kind])
        if kind == _STRING:
            return self.string()
        if kind != _ARRAY:
            raise _damaged(self.path, f"a field holds a value of the unknown kind {kind}")
        inner, count = self.number("I"), self.number("Q")
        if count > len(self.data):
            raise _damaged(self.path, "it ends within its header")
        if inner in _NUMBERS:
            letter = _NUMBERS[inner]
            return list(
                struct.unpack(f"<{count}{letter}", self.take(count * struct.calcsize(letter)))
            )
        if level >= _DEEPEST:
            raise _damaged(self.path, f"a field holds lists more than {_DEEPEST} levels deep")
        return [self.value(inner, level + 1) for _ in range(count)]

    def take(self, size: int) -> bytes:
        first, self.at = self.at, self.at + size
        if self.at > len(self.data):
            raise _damaged(self.path, "it ends within its header")
        return self.data[first : self.at]


def _their_name(name: str) -> str:
    """The name that transformers gives a tensor; one without a place keeps its own."""
    if name.startswith("blk."):
        _, number, short, *rest = [*name.split("."), "", ""]
        for theirs, ours in _LAYER.items():
            if short == ours:
                return f"model.layers.{number}.{theirs}.{'.'.join(one for one in rest if one)}"
    return next((theirs for theirs, ours in _REST.items() if ours == name), name)


def _own_name(name: str) -> str:
    """The name in the file."""
    for theirs, ours in _LAYER.items():
        if name.startswith("model.layers.") and f".{theirs}." in name:
            return name.replace("model.layers.", "blk.").replace(theirs, ours)
    return _REST.get(name, name)


def _block(path: GgufFile, name: str, kind: int) -> tuple[int, int]:
    """How many numbers a block of this quantization holds, and in how many bytes."""
    constants = _package().constants
    try:
        count, size = constants.GGML_QUANT_SIZES[constants.GGMLQuantizationType(kind)]
    except (ValueError, KeyError):
        raise _unknown(path, name, f"kind {kind}") from None
    return int(count), int(size)


def _dequantized(name: str, place: _Place) -> Single:
    package = _package()
    kind = package.constants.GGMLQuantizationType(place.kind)
    count, size = _block(place.file, name, place.kind)
    row = place.shape[-1] // count * size
    held = place.file.read(place.begin, math.prod(place.shape[:-1]) * row)
    try:
        found = package.quants.dequantize(held.reshape(*place.shape[:-1], row), kind)
    except NotImplementedError:
        raise _unknown(place.file, name, kind.name) from None
    return np.asarray(found, np.float32).reshape(place.shape)


def _package() -> Any:
    try:
        import gguf
    except ImportError:
        raise MissingExtra("gguf", "gguf", "A model in a GGUF file") from None
    return gguf


def _unknown(path: GgufFile, name: str, kind: str) -> InputError:
    return InputError(
        f"tensor '{_own_name(name)}' is quantized as {kind}, which the installed package gguf "
        "cannot dequantize",
        file=str(path),
        remedy="Take the model in another quantization, such as Q8_0 or Q4_1",
    )


def _refused(path: GgufFile, field: str, value: Any, why: str) -> InputError:
    return InputError(
        f"{field} is {shortened(value)}; {why}",
        file=str(path),
        remedy="Serve the model with llama.cpp and name it openai:URL#NAME",
    )


def _damaged(path: GgufFile, why: str) -> InputError:
    if path.is_part:
        return InputError(
            f"parts of the file are missing: {why}",
            file=str(path),
            remedy="Install the packages of all parts, or put all files beside each other",
        )
    return InputError(f"the file is damaged: {why}", file=str(path), remedy="Fetch it again")
