"""Embedders: texts to unit vectors, one file each, known by the file's name.

`get("minilm")` is the default, all-MiniLM-L6-v2 from a package with its weights inside;
`get("sentence-transformers:NAME")` any other model that sentence-transformers loads.
Vectors are kept on disk by text and model, so that a text is embedded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

from rote.annotate.embeddings._batches import Batched, Flags, Vectors
from rote.annotate.embeddings._cache import Cached
from rote.core import plugins
from rote.core.errors import UnknownName
from rote.core.progress import Reporter

ROOM = "annotate.embeddings"
DEFAULT = "minilm"


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


def get(name: str = DEFAULT, *, cache: bool = True) -> Embedder:
    """The embedder of this name; `cache=False` neither reads nor keeps vectors on disk."""
    kind, _, rest = name.partition(":")
    known = plugins.members(ROOM)
    if kind not in known:
        raise UnknownName("embedder", kind, known)
    found = cast(Batched, plugins.load(ROOM, kind).embedder(rest))
    return Cached(found) if cache else found
