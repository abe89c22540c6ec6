"""Small GGUF files, written by the package `gguf` as llama.cpp's own conversion writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests.models import tiny

NAMES = {
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
GEMMA = NAMES | {
    "post_attention_layernorm": "post_attention_norm",
    "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
}
CONFIG = tiny.PLAIN | {
    "num_key_value_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 300,
    "rope_theta": 500000.0,
}


def write_gguf(
    path: Path,
    config: dict[str, Any],
    kind: str = "F32",
    most_tensors: int = 0,
    architecture: str = "llama",
    tensors: dict[str, np.ndarray] | None = None,
    **fields: Any,
) -> Path:
    """The weights of `tiny.weights`, or of another architecture; `fields` replaces metadata, None
    leaves one out. Files of so many tensors at most are named as llama.cpp names those that it
    splits."""
    import gguf

    described = tiny.tokenizer()
    tokens = list(described["model"]["vocab"])
    config = config | {"vocab_size": len(tokens)}
    writer = gguf.GGUFWriter(path, architecture, split_max_tensors=most_tensors)
    said = {
        f"{architecture}.block_count": config["num_hidden_layers"],
        f"{architecture}.context_length": config["max_position_embeddings"],
        f"{architecture}.embedding_length": config["hidden_size"],
        f"{architecture}.feed_forward_length": config["intermediate_size"],
        f"{architecture}.attention.head_count": config["num_attention_heads"],
        f"{architecture}.attention.head_count_kv": config["num_key_value_heads"],
        "tokenizer.ggml.bos_token_id": 0,
        "tokenizer.ggml.eos_token_id": 0,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        f"{architecture}.rope.freq_base": config["rope_theta"],
        f"{architecture}.attention.layer_norm_rms_epsilon": config["rms_norm_eps"],
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [3] + [1] * (len(tokens) - 1),
        "tokenizer.ggml.merges": described["model"]["merges"],
    }
    adding = {bool: writer.add_bool, int: writer.add_uint32, float: writer.add_float32}
    adding |= {str: writer.add_string, list: writer.add_array}
    for name, value in (said | fields).items():
        if value is not None:
            adding[type(value)](name, value)
    for name, tensor in (tensors or tiny.weights(config, 1)).items():
        of_vectors = "F32" if tensor.ndim == 1 else kind
        way = gguf.GGMLQuantizationType[of_vectors]
        kept = permuted(name, tensor, config) if architecture == "llama" else tensor
        quantized = gguf.quants.quantize(kept, way)
        writer.add_tensor(own_name(name, architecture), quantized, raw_dtype=way)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def permuted(name: str, tensor: np.ndarray, config: dict[str, Any]) -> np.ndarray:
    """Queries and keys, row by row in the order of llama.cpp (its conversion script's words)."""
    for part, count in (("q_proj", "num_attention_heads"), ("k_proj", "num_key_value_heads")):
        if part in name:
            heads = config[count]
            split = tensor.reshape(heads, 2, len(tensor) // heads // 2, *tensor.shape[1:])
            return np.ascontiguousarray(split.swapaxes(1, 2).reshape(tensor.shape))
    return tensor


def own_name(name: str, architecture: str = "llama") -> str:
    rest = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
    short, _, kind = name.rpartition(".")
    if short in rest:
        return f"{rest[short]}.{kind}"
    _, _, number, part = short.split(".", 3)
    names = GEMMA if architecture == "gemma3" else NAMES
    return f"blk.{number}.{names[part]}.{kind}"
