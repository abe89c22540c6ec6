"""A model to begin with: random weights of a given shape, and a tokenizer learned from the data."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rote.core.errors import InputError, OptionError
from rote.core.json_reader import read_json
from rote.models.hub.computing import Loaded, libraries

SHAPES: dict[str, dict[str, Any]] = {
    "tiny": {
        "d_model": 64,
        "layers": 2,
        "heads": 4,
        "ffn": 256,
        "vocab_size": 1_000,
        "init_std": 0.1,
    },
    "small": {
        "d_model": 384,
        "layers": 4,
        "heads": 6,
        "ffn": 1536,
        "vocab_size": 12_000,
        "init_std": 0.02,
    },
}
"""Encoder-decoders with the layers of mBART: those of BART, which norm after each sum, do not learn
from random weights at the rates that a small model needs. The weights of a narrow model begin
larger: with 0.02 its decoder takes thousands of updates to find out that there is a document."""
_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")
_POSITIONS = 512


def from_config(named: str, texts: Iterable[str], seed: int, device: str) -> Loaded:
    """Random weights of a shape (`shape_of`), and a tokenizer learned from texts."""
    config = shape_of(named)
    longest = int(getattr(config, "max_position_embeddings", _POSITIONS))
    return random_model(config, byte_pairs(texts, config.vocab_size, longest), seed, device)


def shape_of(named: str) -> Any:
    """`tiny`, `small`, or a config.json of transformers (a folder's, or the file itself)."""
    _, transformers = libraries()
    if named not in SHAPES:
        return _config(named, transformers)
    shape = SHAPES[named]
    both = {
        f"{side}_{name}": shape[own]
        for side in ("encoder", "decoder")
        for name, own in (("layers", "layers"), ("attention_heads", "heads"), ("ffn_dim", "ffn"))
    }
    return transformers.MBartConfig(
        vocab_size=shape["vocab_size"],
        d_model=shape["d_model"],
        max_position_embeddings=_POSITIONS,
        init_std=shape["init_std"],
        scale_embedding=True,
        **both,
    )


def random_model(config: Any, tokenizer: Any, seed: int, device: str) -> Loaded:
    """The model of a config for the tokens of `byte_pairs`."""
    torch, transformers = libraries()
    config.vocab_size = len(tokenizer)
    special = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2}
    if config.is_encoder_decoder:
        special |= {"decoder_start_token_id": 2, "forced_eos_token_id": 2}
    for name, value in special.items():
        setattr(config, name, value)
    torch.manual_seed(seed)
    kind = "Seq2SeqLM" if config.is_encoder_decoder else "CausalLM"
    auto = getattr(transformers, f"AutoModelFor{kind}")
    made = auto.from_config(config, trust_remote_code=False)
    return Loaded(
        model=made.to(device),
        tokenizer=tokenizer,
        device=device,
        signature=f"random-seed{seed}",
        longest=int(getattr(config, "max_position_embeddings", _POSITIONS)),
        ends=frozenset([2]),
    )


def _config(named: str, transformers: Any) -> Any:
    path = Path(named) / "config.json" if Path(named).is_dir() else Path(named)
    if not path.is_file():
        raise OptionError(
            f"--from-config takes {', '.join(SHAPES)} or a config.json, not '{named}'"
        )
    try:
        return transformers.AutoConfig.for_model(**read_json(path))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"transformers cannot read it: {error}", file=str(path)) from None


def byte_pairs(texts: Iterable[str], size: int, longest: int) -> Any:
    """A byte-level BPE of at most so many tokens; the end token ends each text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    made = Tokenizer(models.BPE(unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=list(_SPECIAL),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    made.train_from_iterator(texts, trainer)
    made.post_processor = processors.TemplateProcessing("$A </s>", special_tokens=[("</s>", 2)])
    return wrapped(made, longest)


def wrapped(tokenizer: Any, longest: int) -> Any:
    """A tokenizer of the library tokenizers for transformers."""
    _, transformers = libraries()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        model_max_length=longest,
        clean_up_tokenization_spaces=False,
    )
