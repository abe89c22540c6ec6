"""Embedders: texts to unit vectors, one file each, known by the file's name.

`get("minilm")` is the default, all-MiniLM-L6-v2 from a package with its weights inside;
`get("sentence-transformers:NAME")` any other model that sentence-transformers loads;
`get("static")` adds up vectors of words, which takes microseconds.
Vectors of models are kept on disk by text and model, so that a text is embedded once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from importlib.util import find_spec
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from rote.core import plugins
from rote.core.cache import DiskCache
from rote.core.errors import MissingExtra, UnknownName
from rote.core.progress import Reporter, Silent

Vectors = NDArray[np.float32]
Flags = NDArray[np.bool_]
Batches = Iterator[tuple[list[int], Vectors]]
"""The numbers of some texts and their vectors."""


class Embedder(Protocol):
    """Makes vectors; small and picklable, since it travels to worker processes."""

    @property
    def name(self) -> str:
        """As given to `--embedder`."""

    @property
    def signature(self) -> str:
        """Name and versions of everything that can change a vector."""

    @property
    def dimensions(self) -> int:
        """The length of the vectors."""

    @property
    def english(self) -> bool:
        """Whether it is known to have learned from English alone."""

    def check(self) -> None:
        """Raises `MissingExtra` where a package is not installed; loads nothing."""

    def cut(self, texts: Sequence[str]) -> Flags:
        """Which texts are longer than the model reads: their vectors stand for the beginning."""

    def __call__(self, texts: Sequence[str], reporter: Reporter | None = None) -> Vectors:
        """One unit vector per text, in order."""

    def batches(self, texts: Sequence[str], reporter: Reporter) -> Batches:
        """For who listens while it works: every text once, in any order."""


def collect(embedder: Embedder, texts: Sequence[str], reporter: Reporter | None) -> Vectors:
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


@dataclass(frozen=True, slots=True)
class Cached:
    embedder: Embedder

    def __getattr__(self, name: str) -> Any:
        """Its name, signature and the like are those of the embedder."""
        return getattr(self.embedder, name)

    def __call__(self, texts: Sequence[str], reporter: Reporter | None = None) -> Vectors:
        return collect(cast(Embedder, self), texts, reporter)

    def batches(self, texts: Sequence[str], reporter: Reporter) -> Batches:
        places: dict[bytes, list[int]] = {}
        for place, text in enumerate(texts):
            encoded = text.encode("utf-8", "surrogatepass")
            places.setdefault(blake2b(encoded, digest_size=20).digest(), []).append(place)
        with DiskCache("vectors", self.signature, reporter) as cache:
            known = {
                key: vector
                for key, data in cache.read(list(places)).items()
                if len(vector := np.frombuffer(data, "<f4")) == self.dimensions
            }
            for key, vector in known.items():
                yield places[key], vector[None]
            missing = [key for key in places if key not in known]
            if not missing:
                return
            wanted = [texts[places[key][0]] for key in missing]
            for numbers, vectors in self.embedder.batches(wanted, reporter):
                cache.write(
                    (missing[number], vector.astype("<f4").tobytes())
                    for number, vector in zip(numbers, vectors)
                )
                for number, vector in zip(numbers, vectors):
                    yield places[missing[number]], vector[None]


ROOM = "annotate.embeddings"
DEFAULT = "minilm"


def get(name: str = DEFAULT, *, cache: bool = True) -> Embedder:
    """The embedder of this name; `cache=False` neither reads nor keeps vectors on disk."""
    kind, _, rest = name.partition(":")
    known = plugins.members(ROOM)
    if kind not in known:
        raise UnknownName("embedder", kind, known)
    module = plugins.load(ROOM, kind)
    embedder = cast(Embedder, module.embedder(rest))
    cached = cast(Embedder, Cached(embedder))
    return cached if cache and getattr(module, "CACHED", True) else embedder
