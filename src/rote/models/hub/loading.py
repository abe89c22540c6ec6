"""A model of the hub or of a folder, on its device, in its precision."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rote.core.errors import InputError, MissingExtra, OptionError
from rote.core.progress import Reporter
from rote.models.options import ModelOptions

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
    try:
        import torch
        import transformers
    except ImportError as error:
        package = "torch" if error.name == "torch" else "transformers"
        raise MissingExtra(package, "lm", "A model of transformers") from None
    device = _device(options.device, torch)
    kind = _type(options.dtype, device)
    where, revision = (name, "") if Path(name).exists() else _revision(name)
    asked: dict[str, Any] = {"revision": revision} if revision else {}
    said = asked | _precision(kind, torch, transformers)
    with reporter.stage(f"loading {where}", None), _quiet(transformers):
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(where, **asked)
            model: Any = transformers.AutoModelForCausalLM.from_pretrained(where, **said)
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


def _device(asked: str, torch: Any) -> str:
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
def _quiet(transformers: Any) -> Iterator[None]:
    """rote shows its own progress."""
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
            with path.open("rb") as file:
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
