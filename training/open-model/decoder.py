"""The decoder in plain PyTorch: weights, names and arithmetic of transformers' LlamaForCausalLM."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812 - as everywhere
from safetensors.torch import load_file, save_file
from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class Size:
    vocabulary: int = 4096
    width: int = 192
    layers: int = 6
    heads: int = 6
    inner: int = 512
    context: int = 512
    theta: float = 10_000.0
    epsilon: float = 1e-5


class Attention(nn.Module):
    def __init__(self, size: Size) -> None:
        super().__init__()
        self.heads = size.heads
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(self, name, nn.Linear(size.width, size.width, bias=False))

    def forward(self, x: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
        count, length, width = x.shape
        shape = count, length, self.heads, width // self.heads
        query, key, value = (
            part(x).view(shape).transpose(1, 2) for part in (self.q_proj, self.k_proj, self.v_proj)
        )
        query, key = _turned(query, *turn), _turned(key, *turn)
        seen = F.scaled_dot_product_attention(query, key, value.to(query.dtype), is_causal=True)
        return self.o_proj(seen.transpose(1, 2).reshape(count, length, width))


class Gated(nn.Module):
    def __init__(self, size: Size) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(size.width, size.inner, bias=False)
        self.up_proj = nn.Linear(size.width, size.inner, bias=False)
        self.down_proj = nn.Linear(size.inner, size.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, size: Size) -> None:
        super().__init__()
        self.input_layernorm = nn.RMSNorm(size.width, size.epsilon)
        self.self_attn = Attention(size)
        self.post_attention_layernorm = nn.RMSNorm(size.width, size.epsilon)
        self.mlp = Gated(size)

    def forward(self, x: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), turn)
        return x + self.mlp(self.post_attention_layernorm(x))


class Decoder(nn.Module):
    def __init__(self, size: Size) -> None:
        super().__init__()
        self.size = size
        self.embed_tokens = nn.Embedding(size.vocabulary, size.width)
        self.layers = nn.ModuleList(Layer(size) for _ in range(size.layers))
        self.norm = nn.RMSNorm(size.width, size.epsilon)
        head = size.width // size.heads
        speeds = size.theta ** (-torch.arange(0, head, 2, dtype=torch.float64) / head)
        angles = torch.outer(torch.arange(size.context, dtype=torch.float64), speeds)
        angles = torch.cat([angles, angles], 1)
        self.register_buffer("cos", angles.cos().float(), persistent=False)
        self.register_buffer("sin", angles.sin().float(), persistent=False)
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                into_stream = name.endswith(("o_proj.weight", "down_proj.weight"))
                scale = 1 / math.sqrt(2 * size.layers) if into_stream else 1.0
                nn.init.normal_(weight, std=0.02 * scale)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits for the token after each token."""
        x = self.embed_tokens(ids)
        turn = self.cos[: ids.shape[1]], self.sin[: ids.shape[1]]
        for layer in self.layers:
            x = layer(x, turn)
        return F.linear(self.norm(x), self.embed_tokens.weight)


def _turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, -1)
    return (x * cos + torch.cat([-second, first], -1) * sin).to(x.dtype)


def save(model: Decoder, folder: Path) -> None:
    """The weights in half precision under transformers' names, and the configuration."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {
        f"model.{name}": weight.detach().half().cpu().contiguous()
        for name, weight in model.state_dict().items()
    }
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    size = model.size
    _write(
        folder / "config.json",
        {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "vocab_size": size.vocabulary,
            "hidden_size": size.width,
            "intermediate_size": size.inner,
            "num_hidden_layers": size.layers,
            "num_attention_heads": size.heads,
            "num_key_value_heads": size.heads,
            "head_dim": size.width // size.heads,
            "max_position_embeddings": size.context,
            "rope_theta": size.theta,
            "rms_norm_eps": size.epsilon,
            "hidden_act": "silu",
            "attention_bias": False,
            "mlp_bias": False,
            "attention_dropout": 0.0,
            "tie_word_embeddings": True,
            "bos_token_id": 0,
            "eos_token_id": 0,
            "dtype": "float32",
        },
    )
    _write(
        folder / "generation_config.json",
        {"bos_token_id": 0, "eos_token_id": 0, "do_sample": False},
    )
    _write(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": "<|endoftext|>",
            "eos_token": "<|endoftext|>",
            "clean_up_tokenization_spaces": False,
            "model_max_length": size.context,
        },
    )


def load(folder: Path) -> Decoder:
    said = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    model = Decoder(
        Size(
            said["vocab_size"],
            said["hidden_size"],
            said["num_hidden_layers"],
            said["num_attention_heads"],
            said["intermediate_size"],
            said["max_position_embeddings"],
            said["rope_theta"],
            said["rms_norm_eps"],
        )
    )
    weights = load_file(folder / "model.safetensors")
    model.load_state_dict(
        {name.removeprefix("model."): one.float() for name, one in weights.items()}
    )
    return model


def _write(path: Path, said: dict[str, object]) -> None:
    path.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
