"""What embedders share: vectors come in batches, in whatever order is fast."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import MissingExtra
from rote.core.progress import Reporter, Silent

Vectors = NDArray[np.float32]
Flags = NDArray[np.bool_]
Batches = Iterator[tuple[list[int], Vectors]]
"""The numbers of some texts and their vectors."""


class Batched(Protocol):
    """An embedder that can also be listened to while it works."""

    @property
    def name(self) -> str: ...

    @property
    def signature(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    @property
    def english(self) -> bool: ...

    def check(self) -> None: ...

    def cut(self, texts: Sequence[str]) -> Flags: ...

    def batches(self, texts: Sequence[str], reporter: Reporter) -> Batches:
        """Every text once, in any order."""

    def __call__(self, texts: Sequence[str], reporter: Reporter | None = None) -> Vectors: ...


def collect(embedder: Batched, texts: Sequence[str], reporter: Reporter | None) -> Vectors:
    """The vectors of all texts, in order."""
    out = np.empty((len(texts), embedder.dimensions), np.float32)
    for places, vectors in embedder.batches(texts, reporter or Silent()):
        out[places] = vectors
    return out


def unit(vectors: Vectors) -> Vectors:
    """Rows of length one; a row of zeros stays what it is."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths == 0, 1, lengths)).astype(np.float32)


def check_installed(modules: dict[str, str], extra: str, purpose: str) -> None:
    """Raises for the first module that is not there; `modules` has the package of each."""
    for module, package in modules.items():
        if find_spec(module) is None:
            raise MissingExtra(package, extra, purpose)
