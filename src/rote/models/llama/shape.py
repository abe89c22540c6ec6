"""The sizes and settings of a Llama decoder, from config.json; others are refused."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rote.core.errors import InputError
from rote.models.tokens.reading import read_json


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


def read_shape(folder: Path) -> Shape:
    """What config.json says, refused where the numbers would come out wrong."""
    path = folder / "config.json"
    said = read_json(path)
    _check(path, said)
    try:
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
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"a size is missing or no number: {error}", file=str(path)) from None
    sizes = (shape.vocabulary, shape.hidden, shape.inner, shape.layers, shape.groups, shape.longest)
    if min(*sizes, shape.head) < 1 or shape.heads % shape.groups or shape.head % 2:
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
    generating = read_json(path) if path.is_file() else {}
    found = generating.get("eos_token_id", said.get("eos_token_id"))
    if found is None:
        return frozenset()
    return frozenset(map(int, found if isinstance(found, list) else [found]))
