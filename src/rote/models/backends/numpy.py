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
from rote.core.model import Continuation, Decoding, Floats, Generated, Model, Prompt, Scored
from rote.core.progress import Once, Reporter
from rote.models.options import ModelOptions
from rote.models.windows import Pair, Parts, Read, Window, Writing, answered, begin, pair, uncut

if TYPE_CHECKING:
    from rote.models.llama.weights import Weights
    from rote.models.tokens.encoding import Tokens

VERSION = "1"
_FILES = (
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "model.safetensors",
)
"""What the numbers and texts depend on; two of them need not be there."""
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

    @property
    def limit(self) -> int:
        return self.weights.shape.longest

    def length(self, text: str) -> int:
        return len(self.tokens.encode(text, special=False).ids)

    def score(self, wanted: Sequence[Continuation]) -> list[Scored]:
        return self._scored(wanted, None)

    def drawn(self, wanted: Sequence[Continuation], decoding: Decoding) -> list[Scored]:
        return self._scored(wanted, decoding)

    def _scored(self, wanted: Sequence[Continuation], decoding: Decoding | None) -> list[Scored]:
        from rote.models.llama.reading import read_windows

        found = [pair(self.tokens, one) for one in wanted]

        def read(some: Sequence[Window]) -> list[Floats]:
            return read_windows(self.weights, some, decoding)

        def run(work: Read, parts: Parts) -> Iterable[list[Floats]]:
            return _threaded(work, parts, self.threads)

        return answered(found, self.limit, _TOKENS, read, self.tell, run)

    def near(
        self, wanted: Sequence[Continuation], decoding: Decoding, edits: int, beams: int
    ) -> list[float]:
        from rote.models.llama.reading import search_near

        def one(part: Pair) -> float:
            return search_near(self.weights, part.ids, part.first, decoding, edits, beams)

        return _threaded(one, uncut(self.tokens, wanted, self.limit), self.threads)

    def generate(self, wanted: Sequence[Prompt], decoding: Decoding) -> list[Generated]:
        from rote.models.llama.reading import write

        ends = self.weights.shape.ends
        texts = begin(wanted, decoding, self.tokens, ends, self.limit, self.tell)
        parts = [texts[first : first + _TEXTS] for first in range(0, len(texts), _TEXTS)]

        def written(part: Sequence[Writing]) -> None:
            write(self.weights, part)

        _threaded(written, parts, self.threads)
        return [one.done for one in texts if one.done is not None]


def _threaded(
    work: Callable[[Question], Answer], some: Sequence[Question], threads: int
) -> list[Answer]:
    if threads == 1 or len(some) < 2:
        return [work(one) for one in some]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, some))


def threads_of(asked: int) -> int:
    """As many as there are cores, unless numpy's own products use them already."""
    single = any(
        os.environ.get(name) == "1" for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
    )
    return asked or ((os.cpu_count() or 1) if single else 1)


def open_model(name: str, options: ModelOptions, reporter: Reporter) -> Model:
    """`numpy:FOLDER`"""
    from rote.models.llama.weights import read_shape, read_weights
    from rote.models.tokens.reading import read_tokens

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
    return Numpy(signature, options.batch, tokens, weights, threads, Once(reporter))


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
