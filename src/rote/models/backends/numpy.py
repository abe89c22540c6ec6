"""A small Llama decoder by numpy alone: `numpy:FOLDER`, or the folder itself.

The folder is as transformers saves it: config.json, model.safetensors (float32, float16 or
bfloat16, computed with in float32), tokenizer.json. Equal to transformers to about 1e-5 nats.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from rote.core.errors import InputError
from rote.core.model import (
    Continuation,
    Decoding,
    Floats,
    Generated,
    Message,
    Model,
    Prompt,
    Scored,
)
from rote.core.progress import Once, Reporter
from rote.models.chat import ChatTemplate, folder_template, render
from rote.models.options import ModelOptions
from rote.models.windows import (
    Parts,
    Read,
    TextInProgress,
    TokenPair,
    Window,
    encode_pair,
    encode_uncut,
    score_pairs,
    start_texts,
)

if TYPE_CHECKING:
    from rote.models.llama.weights import Weights
    from rote.models.tokens import Tokens

VERSION = "1"
_FILES = (
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "chat_template.jinja",
    "model.safetensors",
)
"""What the numbers and texts depend on; three of them need not be there."""
_TOKENS = 1024
"""Read at once: what the layers compute with stays in the cache. It is cut by the data alone,
so that numbers do not depend on how many threads share the work."""
_TEXTS = 16
"""Written at once."""

Question = TypeVar("Question")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Numpy:
    """The model of a folder."""

    signature: str
    batch: int
    tokens: Tokens
    weights: Weights
    threads: int
    tell: Once
    template: ChatTemplate | None = None

    @property
    def limit(self) -> int:
        return self.weights.shape.longest

    @property
    def chat_form(self) -> str | None:
        return self.template.signature if self.template else None

    def render(self, messages: Sequence[Message]) -> str:
        return render(self.template, messages)

    def length(self, text: str) -> int:
        return len(self.tokens.encode(text, special=False).ids)

    def score(self, wanted: Sequence[Continuation]) -> list[Scored]:
        return self._scored(wanted, None)

    def drawn(self, wanted: Sequence[Continuation], decoding: Decoding) -> list[Scored]:
        return self._scored(wanted, decoding)

    def _scored(self, wanted: Sequence[Continuation], decoding: Decoding | None) -> list[Scored]:
        from rote.models.llama.forward import read_windows

        pairs = [encode_pair(self.tokens, request) for request in wanted]

        def read(some: Sequence[Window]) -> list[Floats]:
            return read_windows(self.weights, some, decoding)

        def run(work: Read, parts: Parts) -> Iterable[list[Floats]]:
            return _threaded(work, parts, self.threads)

        return score_pairs(pairs, self.limit, _TOKENS, read, self.tell, run)

    def near(
        self, wanted: Sequence[Continuation], decoding: Decoding, edits: int, beams: int
    ) -> list[float]:
        from rote.models.llama.forward import search_near

        def search(part: TokenPair) -> float:
            return search_near(self.weights, part.ids, part.first, decoding, edits, beams)

        return _threaded(search, encode_uncut(self.tokens, wanted, self.limit), self.threads)

    def generate(self, wanted: Sequence[Prompt], decoding: Decoding) -> list[Generated]:
        from rote.models.llama.forward import write

        ends = self.weights.shape.ends
        texts = start_texts(wanted, decoding, self.tokens, ends, self.limit, self.tell, self.render)
        parts = [texts[first : first + _TEXTS] for first in range(0, len(texts), _TEXTS)]

        def written(part: Sequence[TextInProgress]) -> None:
            write(self.weights, part)

        _threaded(written, parts, self.threads)
        return [text.done for text in texts if text.done is not None]


def _threaded(
    work: Callable[[Question], Answer], some: Sequence[Question], threads: int
) -> list[Answer]:
    if threads == 1 or len(some) < 2:
        return [work(entry) for entry in some]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, some))


def threads_of(requested: int) -> int:
    """As many as there are cores, unless numpy's own products use them already."""
    single = any(
        os.environ.get(name) == "1" for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
    )
    return requested or ((os.cpu_count() or 1) if single else 1)


def open_model(name: str, options: ModelOptions, reporter: Reporter) -> Model:
    """`numpy:FOLDER`"""
    from rote.models.llama.weights import read_shape, read_weights
    from rote.models.tokens import read_tokens

    folder = Path(name)
    if not folder.is_dir():
        raise InputError(
            "there is no such folder of a model",
            file=name,
            remedy="A model of the hub is run by transformers:NAME",
        )
    shape = read_shape(folder)
    tokens = read_tokens(folder, shape.start)
    if max(tokens.size, tokens.start + 1, *(end + 1 for end in shape.ends)) > shape.vocabulary:
        raise InputError(
            f"the tokenizer knows {tokens.size} tokens, the model {shape.vocabulary}",
            file=str(folder / "tokenizer.json"),
            remedy="Keep the files of one model together",
        )
    weights = read_weights(folder, shape)
    signature = f"numpy/{VERSION}-{folder.resolve().name}-{_fingerprint(folder)}"
    if options.dtype not in ("auto", "float32"):
        reporter.say(f"{folder}: numpy computes in float32, not in {options.dtype}")
    threads = threads_of(options.threads)
    return Numpy(
        signature, options.batch, tokens, weights, threads, Once(reporter), folder_template(folder)
    )


def _fingerprint(folder: Path) -> str:
    digest = hashlib.blake2b(digest_size=6)
    for name in _FILES:
        if not (folder / name).is_file():
            continue
        digest.update(f"{name}\n".encode())
        with (folder / name).open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()
