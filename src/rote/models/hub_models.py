"""Models of the transformers library: one is loaded with its tokenizer, and run over a batch with
masks and positions that hide the padding. torch is imported inside the functions.
"""

from __future__ import annotations

import hashlib
import inspect
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from rote.core.decoding import Logits, drawn_logs, refuse_nan
from rote.core.errors import InputError, MissingExtra, OptionError
from rote.core.files import open_regular
from rote.core.model import Decoding, Floats
from rote.core.progress import Reporter
from rote.models.chat import ChatTemplate, chat_template, gguf_template
from rote.models.options import ModelOptions
from rote.models.tokens import Encoded, decode_after, gguf_tokens, has_known_tokenizer
from rote.models.windows import TextInProgress, Window, near_bound
from rote.run import cores

if TYPE_CHECKING:
    from rote.models.llama.gguf import Gguf

_LENGTHS = ("n_positions", "max_position_embeddings", "n_ctx")
_UNKNOWN_LENGTH = 2048
_NO_LIMIT = 10**12
"""Where a tokenizer has no limit, transformers writes a number beyond this."""


@dataclass(frozen=True, slots=True)
class Loaded:
    model: Any
    tokenizer: Any
    device: str
    signature: str
    longest: int
    ends: frozenset[int]
    template: ChatTemplate | None = None


def load(name: str, options: ModelOptions, reporter: Reporter, version: str) -> Loaded:
    """`name` is a folder, or a model of the hub, `name@revision` one of its revisions."""
    torch, transformers = libraries()
    device, place = _place(options.device)
    if options.dtype == "4bit" and device != "cuda":
        raise OptionError(f"dtype 4bit needs a CUDA device; this is {device}")
    # A processor is slow in half precision and gains nothing by it.
    kind = "float32" if options.dtype == "auto" and device == "cpu" else options.dtype
    where, revision = (name, "") if Path(name).exists() else name.partition("@")[::2]
    # Code of a model is not run, and nobody is asked whether it should be.
    arguments: dict[str, Any] = {"trust_remote_code": False}
    arguments |= {"revision": revision} if revision else {}
    model_arguments = arguments | _precision(kind, torch, transformers) | place
    with reporter.stage(f"loading {where}", None), quiet_transformers():
        tokenizer = _from_pretrained(name, where, arguments)
        model = _from_pretrained(name, where, arguments, model_arguments)
        if not getattr(tokenizer, "is_fast", False):
            raise InputError(
                "its tokenizer gives no token offsets",
                file=name,
                remedy="Save it with a tokenizer.json",
            )
        if kind != "4bit" and not place:
            model = model.to(device)
        model.eval()
    precision = kind if kind == "4bit" else str(model.dtype).removeprefix("torch.")
    folder_name = Path(where).resolve().name if Path(where).exists() else name
    return Loaded(
        model=model,
        tokenizer=tokenizer,
        device=str(model.device) if place else device,
        signature=f"transformers/{version}-{folder_name}-{precision}-"
        + _fingerprint(where, model, reporter),
        longest=_context_length(model.config, tokenizer),
        ends=_end_tokens(model, tokenizer),
        template=chat_template(tokenizer.chat_template, tokenizer.special_tokens_map, name),
    )


def load_gguf(name: str, options: ModelOptions, reporter: Reporter, version: str) -> Loaded:
    """A GGUF file of any architecture that transformers' own loader knows, dequantized."""
    from rote.models.llama import gguf

    torch, transformers = libraries()
    if find_spec("accelerate") is None:
        raise MissingExtra("accelerate", "lm", "A model in a GGUF file")
    device, place = _place(options.device)
    if options.dtype == "4bit":
        raise OptionError("a GGUF file is dequantized: use dtype float32, bfloat16 or float16")
    kind = "float32" if options.dtype == "auto" else options.dtype
    file = gguf.find_file(name)
    contents = gguf.read_gguf(file)
    gguf.check_positions(contents)
    with reporter.stage(f"loading {file.stem}", None), quiet_transformers():
        with _one_file(contents, transformers) as path:
            arguments = {"gguf_file": path.name}
            model_arguments = arguments | _precision(kind, torch, transformers) | place
            if hasattr(transformers, "GgufConfig"):  # else weights stay packed where they can
                settings = transformers.GgufConfig(dequantize=True)
                model_arguments["quantization_config"] = settings
            model = _from_pretrained(str(file), str(path.parent), arguments, model_arguments)
        if has_known_tokenizer(contents.fields):
            tokens = gguf_tokens(str(file), contents.fields)
            tokenizer = transformers.PreTrainedTokenizerFast(
                tokenizer_object=tokens.tokenizer,
                bos_token=tokens.start_text,
                eos_token=tokens.start_text,
            )
        else:
            with _one_file(contents) as path:
                tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(
                    str(path.parent), gguf_file=path.name
                )
            _check_tokenizer(tokenizer, contents, transformers.__version__)
    extra = gguf.numbers_in(contents) - sum(weights.numel() for weights in model.parameters())
    if extra:
        whose = "the file holds" if extra > 0 else "transformers expects"
        raise InputError(
            f"{whose} {abs(extra):,} weights more than {'it reads' if extra > 0 else 'there are'}",
            file=str(file),
            remedy="Serve the model with llama.cpp and name it openai:URL#NAME",
        )
    return Loaded(
        model=(model if place else model.to(device)).eval(),
        tokenizer=tokenizer,
        device=str(model.device) if place else device,
        signature=f"transformers/{version}-{file.stem}-{kind}-{gguf.fingerprint(file)}",
        longest=_context_length(model.config, tokenizer),
        ends=gguf.end_tokens(contents),
        template=gguf_template(contents.fields, str(file)),
    )


def _check_tokenizer(tokenizer: Any, contents: Gguf, version: str) -> None:
    """Refuse one that transformers has read wrongly, as some versions do: it begins and ends texts
    by other tokens."""
    for name in ("bos", "eos"):
        wanted = contents.fields.get(f"tokenizer.ggml.{name}_token_id")
        got = getattr(tokenizer, f"{name}_token_id")
        if got is not None and wanted not in (None, got):
            raise InputError(
                f"transformers {version} misreads its tokenizer: {name} is {got}, not {wanted}",
                file=str(contents.path),
                remedy="Install another version of transformers, or serve the model with llama.cpp "
                "and name it openai:URL#NAME",
            )


@contextmanager
def _one_file(contents: Gguf, transformers: Any = None) -> Iterator[Path]:
    """The model as one file in a folder of its own: transformers looks at what is beside it. For
    the model alone, without the vocabulary, where only its size is needed."""
    from rote.models.llama.gguf import write_without_vocabulary

    file = contents.path
    if len(file.splits) > 1:
        raise InputError(
            "transformers does not read models split by llama.cpp",
            file=str(file),
            remedy="Join the files: llama-gguf-split --merge FIRST.gguf WHOLE.gguf",
        )
    integrations = getattr(transformers, "integrations", None)
    kind = contents.fields.get("general.architecture")
    read = getattr(integrations, "GGUF_CONFIG_MAPPING", {}).get(kind, {})
    newer = getattr(getattr(integrations, "gguf", None), "GGUF_CONFIG_ARCHS", ())
    with TemporaryDirectory(prefix="rote-") as folder:
        path = Path(folder) / f"{file.stem}.gguf"
        if "vocab_size" in read and kind not in newer:
            write_without_vocabulary(contents, path)
        elif len(file.paths) == 1 and os.name == "posix":
            path.symlink_to(file.paths[0].resolve())
        else:
            file.write(path)
        yield path


def _from_pretrained(
    name: str, where: str, arguments: dict[str, Any], model_arguments: dict[str, Any] | None = None
) -> Any:
    """The tokenizer, or the model where its arguments are given."""
    _, transformers = libraries()
    try:
        if model_arguments is None:
            return transformers.AutoTokenizer.from_pretrained(where, **arguments)
        config = transformers.AutoConfig.from_pretrained(where, **arguments)
        model_arguments = {**model_arguments, "config": config}
        kind = "Seq2SeqLM" if config.is_encoder_decoder else "CausalLM"
        auto = getattr(transformers, f"AutoModelFor{kind}")
        return auto.from_pretrained(where, **model_arguments)
    except (OSError, ValueError, ImportError, KeyError, NotImplementedError) as error:
        raise InputError(
            f"transformers cannot load it: {' '.join(str(error).split())[:400]}",
            file=name,
            remedy="Serve the model with llama.cpp and name it openai:URL#NAME"
            if "gguf_file" in arguments
            else "Name a folder with config.json, or a model of the hub that this machine can "
            "reach or has in its cache",
        ) from None


def libraries() -> tuple[Any, Any]:
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


def _place(requested: str) -> tuple[str, dict[str, str]]:
    """The kind of device, and what places the layers on several of them (accelerate)."""
    if requested != "balanced":
        return choose_device(requested), {}
    if find_spec("accelerate") is None:
        raise MissingExtra("accelerate", "lm", "A model over several devices")
    return choose_device("auto"), {"device_map": "balanced"}


def choose_device(requested: str) -> str:
    """The best that there is, or the one that is asked for."""
    torch, _ = libraries()
    if requested == "balanced":
        raise OptionError("training runs on one device: use --device cuda")
    there = {"cpu": True, "cuda": torch.cuda.is_available()}
    there["mps"] = torch.backends.mps.is_available()
    if requested == "auto":
        return next(name for name in ("cuda", "mps", "cpu") if there[name])
    if not there[requested]:
        raise OptionError(f"torch has no device {requested}: use auto or cpu")
    return requested


def _precision(kind: str, torch: Any, transformers: Any) -> dict[str, Any]:
    if kind == "4bit":
        for package in ("bitsandbytes", "accelerate"):
            if find_spec(package) is None:
                problem = f"dtype 4bit needs the package '{package}': pip install {package}"
                raise OptionError(problem)
        settings = transformers.BitsAndBytesConfig(
            load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16
        )
        return {"quantization_config": settings, "device_map": {"": 0}}
    # The keyword has another name since 4.56.
    numbers = [int(part) for part in transformers.__version__.split(".")[:2]]
    name = "dtype" if numbers >= [4, 56] else "torch_dtype"
    return {name: "auto" if kind == "auto" else getattr(torch, kind)}


@contextmanager
def quiet_transformers() -> Iterator[None]:
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
    endings = (".safetensors", ".bin", ".json", ".jinja")
    files = [path for path in sorted(folder.iterdir()) if path.suffix in endings]
    digest, size = hashlib.blake2b(digest_size=6), sum(path.stat().st_size for path in files)
    with reporter.stage("fingerprint of the weights", size, "B") as advance:
        for path in files:
            digest.update(f"{path.name}\n".encode())
            with open_regular(path) as file:
                while block := file.read(1 << 24):
                    digest.update(block)
                    advance(len(block))
    return digest.hexdigest()


def _context_length(config: Any, tokenizer: Any) -> int:
    """The context length, looked for where lm-evaluation-harness does."""
    within = getattr(config, "text_config", None) or config
    for name in _LENGTHS:
        if (length := getattr(within, name, None)) is not None:
            return int(length)
    length = getattr(tokenizer, "model_max_length", None)
    return int(length) if length is not None and length < _NO_LIMIT else _UNKNOWN_LENGTH


def _end_tokens(model: Any, tokenizer: Any) -> frozenset[int]:
    ends = getattr(model.generation_config, "eos_token_id", None)
    ends = tokenizer.eos_token_id if ends is None else ends
    return frozenset(np.atleast_1d(ends).tolist() if ends is not None else ())


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
        encoding = self.tokenizer(
            clean, add_special_tokens=special, return_offsets_mapping=True, verbose=False
        )
        return Encoded.of(encoding["input_ids"], encoding["offset_mapping"])

    def decode(self, ids: Sequence[int], before: Sequence[int]) -> str:
        # Cleaning up would take out spaces that the model has written.
        how = {"skip_special_tokens": True, "clean_up_tokenization_spaces": False}
        return decode_after(partial(self.tokenizer.decode, **how), ids, before)


def hub_tokens(tokenizer: Any, name: str) -> HubTokens:
    """With its start token, which has to be there."""
    start = tokenizer.bos_token_id
    start = tokenizer.eos_token_id if start is None else start
    if start is None:
        raise InputError("its tokenizer has neither a start nor an end token", file=name)
    return HubTokens(tokenizer, int(start), str(tokenizer.decode([int(start)])))


_ROWS = 1 << 24
"""Logits made single precision at once."""


def is_out_of_memory(error: RuntimeError) -> bool:
    """Of CUDA a class of its own, of other devices a message."""
    text = str(error).lower()
    return "out of memory" in text or "can't allocate memory" in text


@contextmanager
def watch_memory(device: str) -> Iterator[None]:
    """What torch raises where a batch does not fit becomes a MemoryError."""
    import torch

    full = False
    try:
        with torch.inference_mode():
            yield
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        full = True
    if full:  # outside of the handler, which would keep the batch alive
        if device.startswith("cuda"):
            torch.cuda.empty_cache()
        raise MemoryError


def read_windows(
    loaded: Loaded, some: Sequence[Window], filler: int, decoding: Decoding | None = None
) -> list[Floats]:
    """For each window the columns log-probability, greedy, expected, spread of what it asks; with
    a decoding, the log-probability of its draws."""
    import torch

    width = max(len(window.ids) for window in some) - 1
    ids = torch.full((len(some), width), filler, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, window in enumerate(some):
        ids[row, : len(window.ids) - 1] = torch.tensor(window.ids[:-1])
        mask[row, : len(window.ids) - 1] = 1
    first = min(window.first for window in some) - 1
    inputs = model_inputs(loaded, ids, mask) | {"use_cache": False}
    # Most contexts are much longer than what follows: the logits of those before are left out.
    keeps_few = "logits_to_keep" in _parameters(loaded)
    if keeps_few:
        inputs["logits_to_keep"] = width - first
    logits = loaded.model(**inputs).logits
    away = first if keeps_few else 0
    results = []
    for row, window in enumerate(some):
        part = logits[row, window.first - 1 - away : len(window.ids) - 1 - away]
        targets = torch.tensor(window.ids[window.first :], device=part.device)
        results.append(_columns(part, targets, decoding))
    return results


def _columns(logits: Any, targets: Any, decoding: Decoding | None) -> Floats:
    import torch

    parts = []
    step = max(1, _ROWS // logits.shape[-1])
    for first in range(0, len(targets), step):
        exact = torch.log_softmax(logits[first : first + step].float(), -1)
        wanted = targets[first : first + step]
        target_logs = exact.gather(1, wanted[:, None])[:, 0]
        greedy = (exact.argmax(-1) == wanted).float()
        # Tokens that can not follow (minus infinity) weigh nothing.
        exact = exact.clamp(min=-1e4)
        chances = exact.exp()
        mean = (chances * exact).sum(-1)
        spread = (chances * (exact - mean[:, None]) ** 2).sum(-1).sqrt()
        rows = torch.stack([target_logs, greedy, mean, spread]).cpu().numpy().astype(np.float64)
        refuse_nan(rows[0])
        if decoding is not None:
            plain = logits[first : first + step].float().cpu().numpy()
            rows[0] = drawn_logs(plain, wanted.cpu().numpy(), decoding)
        parts.append(rows)
    return np.concatenate(parts, 1)


def write(loaded: Loaded, texts: Sequence[TextInProgress], filler: int) -> None:
    """Continue all of them until each is done; padding stands on the left."""
    import torch

    width = max(len(text.before) for text in texts)
    ids = torch.full((len(texts), width), filler, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, text in enumerate(texts):
        ids[row, width - len(text.before) :] = torch.tensor(text.before)
        mask[row, width - len(text.before) :] = 1
    past = None
    while True:
        inputs = model_inputs(loaded, ids, mask) | {"use_cache": True}
        if past is not None:
            inputs["past_key_values"] = past
        if "logits_to_keep" in _parameters(loaded):
            inputs["logits_to_keep"] = 1
        answer = loaded.model(**inputs)
        past = answer.past_key_values
        rows = answer.logits[:, -1].float().cpu().numpy()
        for text, logits in zip(texts, rows):
            if text.done is None:
                text.go_on(logits)
        if all(text.done is not None for text in texts):
            return
        # Rows that are done read on, unheard.
        last = [text.ids[-1] if text.done is None else filler for text in texts]
        ids = torch.tensor(last)[:, None]
        mask = torch.cat([mask, torch.ones_like(ids)], 1)


def model_inputs(loaded: Loaded, ids: Any, mask: Any) -> dict[str, Any]:
    """The last tokens under the mask, with their positions, on the device."""
    inputs = {"input_ids": ids, "attention_mask": mask}
    if "position_ids" in _parameters(loaded):
        positions = (mask.cumsum(-1) - 1).clamp(min=0)
        inputs["position_ids"] = positions[:, -ids.shape[1] :]
    return {name: tensor.to(loaded.device) for name, tensor in inputs.items()}


def _parameters(loaded: Loaded) -> frozenset[str]:
    return frozenset(inspect.signature(loaded.model.forward).parameters)


def search_near(
    loaded: Loaded, ids: Sequence[int], first: int, decoding: Decoding, edits: int, beams: int
) -> float:
    """The bound of `models.windows` for the tokens from `first` on."""
    import torch

    past: Any = None
    length = 0

    def read(rows: Any) -> Logits:
        nonlocal past, length
        length += rows.shape[1]
        mask = torch.ones((rows.shape[0], length), dtype=torch.long)
        inputs = model_inputs(loaded, rows, mask) | {"use_cache": True}
        if past is not None:
            inputs["past_key_values"] = past
        with torch.inference_mode():
            answer = loaded.model(**inputs)
        past = answer.past_key_values
        logits: Logits = answer.logits[:, -1].float().cpu().numpy()
        return logits

    def step(parents: list[int], tokens: list[int]) -> Logits:
        # Places on the processor fit every layer, also where each has a device of its own.
        past.batch_select_indices(torch.tensor(parents))
        return read(torch.tensor(tokens)[:, None])

    begin = read(torch.tensor([list(ids[:first])]))
    return near_bound(ids[first:], begin, step, decoding, edits, beams)
