"""A model to begin with: random weights of a given shape, and a tokenizer learned from the data."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from rote.core.errors import InputError, MissingExtra, OptionError
from rote.core.json_reader import read_json
from rote.models.hub_models import Loaded, libraries
from rote.models.training.objectives import encode_documents, half_precision

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
_ALPHA = 2
"""What adapters say is multiplied by this."""


def start_from_config(name: str, texts: Iterable[str], seed: int, device: str) -> Loaded:
    """Random weights of a shape (`model_config`), and a tokenizer learned from texts."""
    config = model_config(name)
    longest = int(getattr(config, "max_position_embeddings", _POSITIONS))
    return random_model(config, train_tokenizer(texts, config.vocab_size, longest), seed, device)


def model_config(config: str) -> Any:
    """`tiny`, `small`, or a config.json of transformers (a folder's, or the file itself)."""
    _, transformers = libraries()
    if config not in SHAPES:
        return _read_config(config, transformers)
    shape = SHAPES[config]
    names = {"layers": "layers", "attention_heads": "heads", "ffn_dim": "ffn"}
    sides = ("encoder", "decoder")
    both = {f"{side}_{name}": shape[names[name]] for side in sides for name in names}
    return transformers.MBartConfig(
        vocab_size=shape["vocab_size"],
        d_model=shape["d_model"],
        max_position_embeddings=_POSITIONS,
        init_std=shape["init_std"],
        scale_embedding=True,
        **both,
    )


def random_model(config: Any, tokenizer: Any, seed: int, device: str) -> Loaded:
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
    model = auto.from_config(config, trust_remote_code=False)
    return Loaded(
        model=model.to(device),
        tokenizer=tokenizer,
        device=device,
        signature=f"random-seed{seed}",
        longest=int(getattr(config, "max_position_embeddings", _POSITIONS)),
        ends=frozenset([2]),
    )


def add_adapters(loaded: Loaded, rank: int, seed: int) -> Callable[[], None]:
    """Small matrices beside all linear layers, which alone are trained (LoRA, Hu et al. 2022); what
    is given back adds them to the weights, so that the model is one like others."""
    if find_spec("peft") is None:
        raise MissingExtra("peft", "lm", "LoRA")
    from peft import LoraConfig, get_peft_model

    torch, _ = libraries()
    torch.manual_seed(seed)
    config = LoraConfig(
        r=rank, lora_alpha=_ALPHA * rank, lora_dropout=0.0, target_modules="all-linear"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of names that transformers has changed
        # The layers are put into the model itself, so `loaded` has them too.
        adapted = get_peft_model(loaded.model, config)

    def merge() -> None:
        adapted.merge_and_unload()

    return merge


def _read_config(config: str, transformers: Any) -> Any:
    path = Path(config) / "config.json" if Path(config).is_dir() else Path(config)
    if not path.is_file():
        raise OptionError(
            f"--from-config takes {', '.join(SHAPES)} or a config.json, not '{config}'"
        )
    try:
        return transformers.AutoConfig.for_model(**read_json(path))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"transformers cannot read it: {error}", file=str(path)) from None


def train_tokenizer(texts: Iterable[str], size: int, longest: int) -> Any:
    """A byte-level BPE of at most so many tokens; the end token ends each text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=list(_SPECIAL),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        "$A </s>", special_tokens=[("</s>", 2)]
    )
    return wrap_tokenizer(tokenizer, longest)


def wrap_tokenizer(tokenizer: Any, longest: int) -> Any:
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


# Summaries by beam search, and the candidates that calibration ranks.


@dataclass(frozen=True, slots=True)
class Searching:
    beams: int = 4
    max_tokens: int = 64
    longest: int = 512
    """Tokens of a document that are read."""
    candidates: int = 1
    diversity: float = 0.0
    """Taken off the log-probability of a token for each other candidate that has it at the same
    place (diverse beam search, one beam in a group); 0: plain beam search."""


@dataclass(frozen=True, slots=True)
class WrittenSummary:
    text: str
    tokens: int
    ended: bool


def write(loaded: Any, documents: Sequence[str], how: Searching) -> list[list[WrittenSummary]]:
    """One batch: of each document its summaries, the likeliest first."""
    import torch

    tokenizer, model = loaded.tokenizer, loaded.model
    paired = bool(model.config.is_encoder_decoder)
    read, pad = encode_documents(loaded, documents, how.longest, how.max_tokens)
    ids, mask = read.rows(np.arange(len(documents)), pad, pad_left=not paired)
    first, end = 1 if paired else ids.shape[1], tokenizer.eos_token_id
    more: dict[str, Any] = {"num_beams": max(how.beams, how.candidates)}
    if how.diversity:
        ids, mask = (tensor.repeat_interleave(how.candidates, 0) for tensor in (ids, mask))
        process = _diverse_processor(how, first, end)
        more = {"num_beams": 1, "logits_processor": [process]}
    elif more["num_beams"] > 1:
        more |= {"length_penalty": 1.0, "early_stopping": True}
        more |= {"num_return_sequences": how.candidates}
    with torch.inference_mode(), half_precision(loaded.device):
        output = model.generate(
            input_ids=ids,
            attention_mask=mask.long(),
            do_sample=False,
            max_new_tokens=how.max_tokens,
            pad_token_id=pad,
            **more,
        )
    summaries = []
    for row in output[:, first:].tolist():
        ended = end in row
        row = row[: row.index(end)] if ended else row
        text = tokenizer.decode(row, skip_special_tokens=True)
        summaries.append(WrittenSummary(text.strip(), len(row) + ended, ended))
    return [summaries[at : at + how.candidates] for at in range(0, len(summaries), how.candidates)]


def _diverse_processor(how: Searching, first: int, end: int) -> Any:
    """Groups of one beam each choose in turn; what an earlier one has chosen costs the later."""
    count = how.candidates

    def process(ids: Any, scores: Any) -> Any:
        import torch

        rows = torch.log_softmax(scores.float(), -1).view(-1, count, scores.shape[-1])
        on = (ids[:, first:] != end).all(1).view(-1, count)
        chosen_tokens = torch.zeros_like(rows[:, 0])
        penalized = torch.empty_like(rows)
        for group in range(count):
            penalized[:, group] = rows[:, group] - how.diversity * chosen_tokens
            chosen = penalized[:, group].argmax(-1, keepdim=True)
            chosen_tokens.scatter_add_(1, chosen, on[:, group : group + 1].to(chosen_tokens.dtype))
        return penalized.view_as(scores)

    return process
