"""A transformers model run over a batch: padded, with masks and positions that hide the padding."""

from __future__ import annotations

import hashlib
import inspect
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from rote.core.choosing import drawn_logs
from rote.core.errors import InputError, MissingExtra, OptionError
from rote.core.files import open_regular
from rote.core.model import Decoding, Floats
from rote.core.progress import Reporter
from rote.models.options import ModelOptions
from rote.models.tokens.encoding import Encoded, decoded, without_gaps
from rote.models.windows import Window, Writing
from rote.run import cores

_LENGTHS = ("n_positions", "max_position_embeddings", "n_ctx")
_UNKNOWN_LENGTH = 2048
_NO_LIMIT = 10**12
"""Where a tokenizer has no limit, transformers writes a number beyond this."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model ready to be asked."""

    model: Any
    tokenizer: Any
    device: str
    signature: str
    longest: int
    ends: frozenset[int]


def load(name: str, options: ModelOptions, reporter: Reporter, version: str) -> Loaded:
    """`name` is a folder, or a model of the hub, `name@revision` one of its revisions."""
    torch, transformers = libraries()
    device = device_of(options.device)
    kind = _type(options.dtype, device)
    where, revision = (name, "") if Path(name).exists() else _revision(name)
    # Code of a model is not run, and nobody is asked whether it should be.
    asked: dict[str, Any] = {"trust_remote_code": False}
    asked |= {"revision": revision} if revision else {}
    said = asked | _precision(kind, torch, transformers)
    with reporter.stage(f"loading {where}", None), quiet():
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(where, **asked)
            config = transformers.AutoConfig.from_pretrained(where, **asked)
            kind_of = "Seq2SeqLM" if config.is_encoder_decoder else "CausalLM"
            model: Any = getattr(transformers, f"AutoModelFor{kind_of}").from_pretrained(
                where, **said
            )
        except (OSError, ValueError, ImportError) as error:
            raise InputError(
                f"transformers cannot load it: {' '.join(str(error).split())[:400]}",
                file=name,
                remedy="Name a folder that holds config.json, or a model of the hub that this "
                "machine can reach or has in its cache",
            ) from None
        if not getattr(tokenizer, "is_fast", False):
            raise InputError(
                "its tokenizer does not say where a token stands in the text",
                file=name,
                remedy="Save it with a tokenizer.json",
            )
        if kind != "4bit":
            model = model.to(device)
        model.eval()
    kept = kind if kind == "4bit" else str(model.dtype).removeprefix("torch.")
    named = Path(where).resolve().name if Path(where).exists() else name
    return Loaded(
        model=model,
        tokenizer=tokenizer,
        device=device,
        signature=f"transformers/{version}-{named}-{kept}-{_fingerprint(where, model, reporter)}",
        longest=_longest(model.config, tokenizer),
        ends=_ends(model, tokenizer),
    )


def load_gguf(name: str, options: ModelOptions, reporter: Reporter, version: str) -> Loaded:
    """The weights and the tokenizer of a GGUF file (`llama.gguf`), run by torch."""
    from rote.models.llama.gguf import read_all
    from rote.models.llama.gguf_files import find_file, fingerprint
    from rote.models.llama.weights import check_left

    torch, transformers = libraries()
    device = device_of(options.device)
    if options.dtype == "4bit":
        raise OptionError("a GGUF file is dequantized: take dtype float32, bfloat16 or float16")
    kind = "float32" if options.dtype == "auto" else options.dtype
    path = find_file(name)
    with reporter.stage(f"loading {path.stem}", None), quiet():
        held, shape, tokens = read_all(path)
        config = transformers.LlamaConfig(
            vocab_size=shape.vocabulary,
            hidden_size=shape.hidden,
            intermediate_size=shape.inner,
            num_hidden_layers=shape.layers,
            num_attention_heads=shape.heads,
            num_key_value_heads=shape.groups,
            head_dim=shape.head,
            max_position_embeddings=shape.longest,
            rms_norm_eps=shape.epsilon,
            tie_word_embeddings=shape.tied,
            # transformers 5 reads the second, earlier versions the first.
            rope_theta=shape.theta,
            rope_parameters={"rope_type": "default", "rope_theta": shape.theta},
        )
        model: Any = transformers.LlamaForCausalLM(config)
        own = model.state_dict()
        for place, tensor in own.items():
            if place != "lm_head.weight" or not shape.tied:
                tensor.copy_(torch.from_numpy(held.take(place, *tensor.shape)))
        check_left(held, set(own))
        model = model.to(device=device, dtype=getattr(torch, kind)).eval()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokens.tokenizer, bos_token=tokens.start_text, eos_token=tokens.start_text
    )
    signature = f"transformers/{version}-{path.stem}-{kind}-{fingerprint(path)}"
    return Loaded(model, tokenizer, device, signature, shape.longest, shape.ends)


def libraries() -> tuple[Any, Any]:
    """torch and transformers."""
    try:
        import torch
        import transformers
    except ImportError as error:
        package = "torch" if error.name == "torch" else "transformers"
        raise MissingExtra(package, "lm", "A model of transformers") from None
    # The one thread that the shell leaves numpy's BLAS (`cli/main.py`) would be torch's too.
    if "OMP_NUM_THREADS" not in os.environ and torch.get_num_threads() != cores():
        torch.set_num_threads(cores())
    return torch, transformers


def device_of(asked: str) -> str:
    """The best that there is, or the one that is asked for."""
    torch, _ = libraries()
    there = {"cpu": True, "cuda": torch.cuda.is_available()}
    there["mps"] = torch.backends.mps.is_available()
    if asked == "auto":
        return next(name for name in ("cuda", "mps", "cpu") if there[name])
    if not there[asked]:
        raise OptionError(f"there is no device {asked} that torch can use: take auto or cpu")
    return asked


def _type(asked: str, device: str) -> str:
    if asked == "4bit" and device != "cuda":
        raise OptionError(f"dtype 4bit needs a CUDA device; this is {device}")
    # A processor is slow in half precision and gains nothing by it.
    return "float32" if asked == "auto" and device == "cpu" else asked


def _precision(kind: str, torch: Any, transformers: Any) -> dict[str, Any]:
    if kind == "4bit":
        for package in ("bitsandbytes", "accelerate"):
            if find_spec(package) is None:
                raise OptionError(
                    f"dtype 4bit needs the package '{package}': pip install {package}"
                )
        settings = transformers.BitsAndBytesConfig(
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_compute_dtype=torch.bfloat16,
        )
        return {"quantization_config": settings, "device_map": {"": 0}}
    # The keyword has another name since 4.56.
    numbers = [int(part) for part in transformers.__version__.split(".")[:2]]
    name = "dtype" if numbers >= [4, 56] else "torch_dtype"
    return {name: "auto" if kind == "auto" else getattr(torch, kind)}


def _revision(name: str) -> tuple[str, str]:
    where, _, revision = name.partition("@")
    return where, revision


@contextmanager
def quiet() -> Iterator[None]:
    """rote shows its own progress."""
    _, transformers = libraries()
    logging = transformers.utils.logging
    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(before[0])
        if before[1]:
            logging.enable_progress_bar()


def _fingerprint(where: str, model: Any, reporter: Reporter) -> str:
    """Of a model of the hub the commit, of a folder a hash of its files."""
    folder = Path(where)
    commit = getattr(model.config, "_commit_hash", None)
    if not folder.is_dir():
        return str(commit or "unknown")[:12]
    endings = (".safetensors", ".bin", ".json")
    files = [path for path in sorted(folder.iterdir()) if path.suffix in endings]
    digest = hashlib.blake2b(digest_size=6)
    size = sum(path.stat().st_size for path in files)
    with reporter.stage("fingerprint of the weights", size, "B") as advance:
        for path in files:
            digest.update(f"{path.name}\n".encode())
            with open_regular(path) as file:
                while block := file.read(1 << 24):
                    digest.update(block)
                    advance(len(block))
    return digest.hexdigest()


def _longest(config: Any, tokenizer: Any) -> int:
    """The context length, looked for where lm-evaluation-harness does."""
    within = getattr(config, "text_config", None) or config
    for name in _LENGTHS:
        if (found := getattr(within, name, None)) is not None:
            return int(found)
    found = getattr(tokenizer, "model_max_length", None)
    return int(found) if found is not None and found < _NO_LIMIT else _UNKNOWN_LENGTH


def _ends(model: Any, tokenizer: Any) -> frozenset[int]:
    found = getattr(model.generation_config, "eos_token_id", None)
    if found is None:
        found = tokenizer.eos_token_id
    if found is None:
        return frozenset()
    return frozenset(map(int, found if isinstance(found, list) else [found]))


@dataclass(frozen=True, slots=True)
class HubTokens:
    """A fast tokenizer; `start` is its start token, else its end token."""

    tokenizer: Any
    start: int
    start_text: str

    @property
    def size(self) -> int:
        return len(self.tokenizer)

    def encode(self, text: str, *, special: bool) -> Encoded:
        # Rust strings hold no surrogates; one character for one keeps the offsets right.
        clean = text.encode("utf-8", "replace").decode("utf-8")
        found = self.tokenizer(
            clean, add_special_tokens=special, return_offsets_mapping=True, verbose=False
        )
        ends = [end for _, end in found["offset_mapping"]]
        starts = [start for start, _ in found["offset_mapping"]]
        return Encoded(list(found["input_ids"]), without_gaps(starts, ends), ends)

    def decode(self, ids: Sequence[int], before: Sequence[int]) -> str:
        return decoded(self._decode, ids, before)

    def _decode(self, ids: list[int]) -> str:
        # Cleaning up would take out spaces that the model has written.
        text: str = self.tokenizer.decode(
            ids, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return text


def hub_tokens(tokenizer: Any, name: str) -> HubTokens:
    """With its start token, which has to be there."""
    start = tokenizer.bos_token_id
    start = tokenizer.eos_token_id if start is None else start
    if start is None:
        raise InputError("its tokenizer has neither a start nor an end token", file=name)
    return HubTokens(tokenizer, int(start), str(tokenizer.decode([int(start)])))


_ROWS = 1 << 24
"""Logits made single precision at once."""


def out_of_memory(error: RuntimeError) -> bool:
    """Of CUDA a class of its own, of other devices a message."""
    text = str(error).lower()
    return "out of memory" in text or "can't allocate memory" in text


@contextmanager
def memory_watched(device: str) -> Iterator[None]:
    """What torch raises where a batch does not fit becomes a MemoryError."""
    import torch

    full = False
    try:
        with torch.inference_mode():
            yield
    except RuntimeError as error:
        if not out_of_memory(error):
            raise
        full = True
    if full:  # outside of the handler, which would keep the batch alive
        if device == "cuda":
            torch.cuda.empty_cache()
        raise MemoryError


def read_windows(
    loaded: Loaded, some: Sequence[Window], filler: int, decoding: Decoding | None = None
) -> list[Floats]:
    """For each window the columns log-probability, greedy, expected, spread of what it asks; with
    a decoding, the log-probability of its draws."""
    import torch

    width = max(len(one.ids) for one in some) - 1
    ids = torch.full((len(some), width), filler, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, one in enumerate(some):
        ids[row, : len(one.ids) - 1] = torch.tensor(one.ids[:-1])
        mask[row, : len(one.ids) - 1] = 1
    first = min(one.first for one in some) - 1
    given = model_inputs(loaded, ids, mask) | {"use_cache": False}
    # Most contexts are much longer than what follows: the logits of those before are left out.
    kept = "logits_to_keep" in _parameters(loaded)
    if kept:
        given["logits_to_keep"] = width - first
    logits = loaded.model(**given).logits
    away = first if kept else 0
    found = []
    for row, one in enumerate(some):
        part = logits[row, one.first - 1 - away : len(one.ids) - 1 - away]
        targets = torch.tensor(one.ids[one.first :], device=part.device)
        found.append(_columns(part, targets, decoding))
    return found


def _columns(logits: Any, targets: Any, decoding: Decoding | None) -> Floats:
    import torch

    parts = []
    step = max(1, _ROWS // logits.shape[-1])
    for first in range(0, len(targets), step):
        exact = torch.log_softmax(logits[first : first + step].float(), -1)
        wanted = targets[first : first + step]
        own = exact.gather(1, wanted[:, None])[:, 0]
        greedy = (exact.argmax(-1) == wanted).float()
        # Tokens that can not follow (minus infinity) weigh nothing.
        exact = exact.clamp(min=-1e4)
        chances = exact.exp()
        mean = (chances * exact).sum(-1)
        spread = (chances * (exact - mean[:, None]) ** 2).sum(-1).sqrt()
        rows = torch.stack([own, greedy, mean, spread]).cpu().numpy().astype(np.float64)
        if decoding is not None:
            plain = logits[first : first + step].float().cpu().numpy()
            rows[0] = drawn_logs(plain, wanted.cpu().numpy(), decoding)
        parts.append(rows)
    return np.concatenate(parts, 1)


def write(loaded: Loaded, texts: Sequence[Writing], filler: int) -> None:
    """Continue all of them until each is done; padding stands on the left."""
    import torch

    width = max(len(one.before) for one in texts)
    ids = torch.full((len(texts), width), filler, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, one in enumerate(texts):
        ids[row, width - len(one.before) :] = torch.tensor(one.before)
        mask[row, width - len(one.before) :] = 1
    past = None
    while True:
        given = model_inputs(loaded, ids, mask) | {"use_cache": True}
        if past is not None:
            given["past_key_values"] = past
        if "logits_to_keep" in _parameters(loaded):
            given["logits_to_keep"] = 1
        answer = loaded.model(**given)
        past = answer.past_key_values
        rows = answer.logits[:, -1].float().cpu().numpy()
        for one, logits in zip(texts, rows):
            if one.done is None:
                one.go_on(logits)
        if all(one.done is not None for one in texts):
            return
        # Rows that are done read on, unheard.
        last = [one.ids[-1] if one.done is None else filler for one in texts]
        ids = torch.tensor(last)[:, None]
        mask = torch.cat([mask, torch.ones_like(ids)], 1)


def model_inputs(loaded: Loaded, ids: Any, mask: Any) -> dict[str, Any]:
    """The last tokens under the mask, with their positions, on the device."""
    given = {"input_ids": ids, "attention_mask": mask}
    if "position_ids" in _parameters(loaded):
        positions = (mask.cumsum(-1) - 1).clamp(min=0)
        given["position_ids"] = positions[:, -ids.shape[1] :]
    return {name: one.to(loaded.device) for name, one in given.items()}


def _parameters(loaded: Loaded) -> frozenset[str]:
    return frozenset(inspect.signature(loaded.model.forward).parameters)
