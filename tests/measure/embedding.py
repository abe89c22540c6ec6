"""Samples and an embedder for tests of measures on vectors: quick, and known to the last digit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rote.annotate import words
from rote.annotate.embeddings import Vectors
from rote.core.sample import RawText, Sample
from rote.measure._sentences import WORD


@dataclass
class FakeEmbedder:
    """Vectors that depend on the string alone, and a list of what was asked for."""

    english: bool = False
    longest: int = 10_000
    vector: Callable[[str], Sequence[float]] | None = None
    asked: list[str] = field(default_factory=list)
    name, signature, dimensions = "fake", "fake/1", 5

    def check(self) -> None:
        return None

    def cut(self, texts: Sequence[str]) -> Any:
        return np.array([len(text) > self.longest for text in texts], np.bool_)

    def __call__(self, texts: Sequence[str], reporter: Any = None) -> Vectors:
        self.asked.extend(texts)
        rows = [(self.vector or self._any)(text) for text in texts]
        found = np.array(rows, np.float32).reshape(len(texts), -1 if texts else self.dimensions)
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        return found / np.where(lengths == 0, 1, lengths)

    def _any(self, text: str) -> Sequence[float]:
        seed = list(text.encode("utf-8", "surrogatepass")) or [0]
        return list(np.random.default_rng(seed).normal(size=self.dimensions))


def texts_sample(texts: Sequence[str], tokenizer: str = "ud") -> Sample:
    """As the driver makes it from plain texts: words without sentence ends, and the raw text."""
    layer = words.get(tokenizer)(texts)
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    return Sample(
        words=layer.text_ends - layer.text_starts,
        layers={WORD: layer},
        raws={
            None: RawText(
                np.frombuffer(b"".join(encoded), np.uint8),
                np.cumsum([len(text) for text in encoded], dtype=np.int64),
            )
        },
    )
