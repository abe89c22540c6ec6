"""Small models for the tests, the same on every machine: random weights, a tokenizer by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

PATTERN = r"'(?:s|t|d|m|ll|re|ve)| ?[A-Za-z]+| ?[0-9]| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+"
END = "<|endoftext|>"
_MERGES = "t h|th e|i n|Ġ the|a n|an d|Ġ and|e r|Ġ a|o n|Ġ s|r e|in g|Ġ t|Ġt h|Ċ Ċ|Ġ Ġ|Ã ©|ð Ł"

PLAIN: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "max_position_embeddings": 32,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "hidden_act": "silu",
    "tie_word_embeddings": True,
    "attention_bias": False,
    "mlp_bias": False,
    "bos_token_id": 0,
    "eos_token_id": 0,
}
GROUPED = PLAIN | {
    "head_dim": 12,
    "num_key_value_heads": 2,
    "max_position_embeddings": 300,
    "rope_theta": 500000.0,
    "tie_word_embeddings": False,
    "attention_bias": True,
    "mlp_bias": True,
}
SHAPES = {"plain": PLAIN, "grouped": GROUPED}


def byte_letters() -> dict[int, str]:
    """The visible letter that stands for each byte in a vocabulary, as GPT-2 has it."""
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letter_of = {byte: chr(byte) for byte in visible}
    for byte in range(256):
        if byte not in letter_of:
            letter_of[byte] = chr(0x100 + len(letter_of) - len(visible))
    return letter_of


def tokenizer(pattern: str = PATTERN, merges: str = _MERGES) -> dict[str, Any]:
    """A tokenizer.json: all bytes, some merges, one special token."""
    vocabulary = {END: 0}
    pairs = [pair.split(" ") for pair in merges.split("|")] if merges else []
    for token in [*byte_letters().values(), *(first + second for first, second in pairs)]:
        vocabulary.setdefault(token, len(vocabulary))
    special = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated"}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": 0, "content": END, "special": True} | special],
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [split | {"invert": False}, level | {"use_regex": False}],
        },
        "post_processor": None,
        "decoder": level | {"use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": vocabulary,
            "merges": [" ".join(pair) for pair in pairs],
        },
    }


def write_model(folder: Path, config: dict[str, Any], kind: str = "F32", seed: int = 1) -> Path:
    """A model of this form with random weights."""
    folder.mkdir(parents=True, exist_ok=True)
    described = tokenizer()
    size = len(described["model"]["vocab"])
    config = config | {"vocab_size": size}
    (folder / "tokenizer.json").write_text(json.dumps(described), "utf-8")
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": END,
        "eos_token": END,
        "clean_up_tokenization_spaces": False,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), "utf-8")
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    write_tensors(folder / "model.safetensors", weights(config, seed), kind)
    return folder


def weights(config: dict[str, Any], seed: int) -> dict[str, np.ndarray]:
    """Drawn by numpy's old generator, whose stream does not change with its version."""
    random = np.random.RandomState(seed)

    def drawn(*shape: int) -> np.ndarray:
        scale = 0.5 if len(shape) == 1 else 2 / np.sqrt(shape[-1])
        return (random.standard_normal(shape) * scale).astype(np.float32)

    hidden, inner, size = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    head = config.get("head_dim", hidden // config["num_attention_heads"])
    queries, keys = (config[f"num_{one}_heads"] * head for one in ("attention", "key_value"))
    products = {
        "self_attn.q_proj": (queries, hidden, "attention_bias"),
        "self_attn.k_proj": (keys, hidden, "attention_bias"),
        "self_attn.v_proj": (keys, hidden, "attention_bias"),
        "self_attn.o_proj": (hidden, queries, "attention_bias"),
        "mlp.gate_proj": (inner, hidden, "mlp_bias"),
        "mlp.up_proj": (inner, hidden, "mlp_bias"),
        "mlp.down_proj": (hidden, inner, "mlp_bias"),
    }
    found = {"model.embed_tokens.weight": drawn(size, hidden)}
    for number in range(config["num_hidden_layers"]):
        before = f"model.layers.{number}."
        for name, (outputs, inputs, biased) in products.items():
            found[f"{before}{name}.weight"] = drawn(outputs, inputs)
            if config[biased]:
                found[f"{before}{name}.bias"] = drawn(outputs)
        for name in ("input_layernorm", "post_attention_layernorm"):
            found[f"{before}{name}.weight"] = 1 + drawn(hidden) / 4
    found["model.norm.weight"] = 1 + drawn(hidden) / 4
    if not config["tie_word_embeddings"]:
        found["lm_head.weight"] = drawn(size, hidden)
    return found


def write_tensors(path: Path, tensors: dict[str, np.ndarray], kind: str = "F32") -> None:
    """A file of the safetensors format, written by hand."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, tensor in tensors.items():
        part = as_kind(tensor, kind).tobytes()
        place = [len(data), len(data) + len(part)]
        header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": place}
        data += part
    written = json.dumps(header).encode()
    path.write_bytes(len(written).to_bytes(8, "little") + written + data)


def as_kind(tensor: np.ndarray, kind: str) -> np.ndarray:
    if kind == "BF16":  # cut off, which is all that a test needs
        return (tensor.astype("<f4").view("<u4") >> 16).astype("<u2")
    return tensor.astype({"F32": "<f4", "F16": "<f2"}[kind])
