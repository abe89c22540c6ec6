"""Indexes for tests, in a folder or in memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rote.annotate import annotators
from rote.annotate.pieces import Recipe
from rote.core.document import Document
from rote.core.progress import Reporter, Silent
from rote.corpus import Batch, Input, ReadOptions, open_corpus
from rote.index.factory import index_corpus, open_index
from rote.index.folders import build
from rote.index.folders.options import MEANING, BuildOptions
from rote.index.index import DEFAULT, Index
from rote.index.segments.writers import build_memory_segment
from rote.studies.dispatch.driver import build_options


def build_index(
    inputs: Input,
    path: str | Path,
    *,
    read: ReadOptions | None = None,
    reporter: Reporter | None = None,
    **settings: Any,
) -> Index:
    """Build an index folder and open it; `settings` are the fields of `BuildOptions`."""
    options = build_options((BuildOptions,), settings)[BuildOptions]
    corpus = open_corpus(inputs, read or ReadOptions())
    build.build_index(corpus, Path(path), options, reporter)
    return open_index(path, reporter)


def index_texts(
    texts: Sequence[str], layers: Sequence[str] = (DEFAULT,), *, compact: bool = False
) -> Index:
    """An index in memory of texts, of empty ones and of none too; their ids are numbers from 0."""
    documents = [Document(str(number), text) for number, text in enumerate(texts)]
    if MEANING in {name.partition(":")[0] for name in layers}:
        options = BuildOptions(layers=tuple(layers), compact=compact)
        return index_corpus(open_corpus(documents), options, Silent())
    recipe = Recipe(
        "rote", annotators.get("rote").signature, tuple(name for name in layers if name != "word")
    )
    batch = Batch(documents, "texts", "texts", list(range(1, len(documents) + 1)), [])
    pieces = [(batch, recipe.annotate(documents))] if documents else []
    segment = build_memory_segment(pieces, layers=layers, sorted_layers=layers, compact=compact)
    return Index([segment], recipe)
