"""rote: what is new in the text of language models, and what they repeat.

    import rote
    result = rote.lexical("stories.jsonl", by="source", reference="human")
    print(result.table())

Every measure is a function of this package; `rote.diversity` runs the panel. `rote.open_index`
opens an index over a corpus, `rote.index_texts` makes one in memory.
Nothing heavy is imported before it is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str

    from rote.core.document import Document
    from rote.core.errors import InputError, MissingExtra, OptionError, RoteError, UnknownName
    from rote.core.layer import Layer
    from rote.core.result import Result
    from rote.core.signature import Signature
    from rote.corpus import Corpus, ReadOptions, open_corpus
    from rote.index.index import Index
    from rote.index.opening import build_index, index_texts, open_index
    from rote.measure import Settings
    from rote.measure._functions import (
        compression,
        contamination,
        diversity,
        entity_scores,
        favoured,
        homogenization,
        lexical,
        novelty,
        originality,
        overlap,
        perplexity,
        precision_recall,
        rouge,
        self_repetition,
        semantic,
        similarity,
        syntactic,
        templates,
    )
    from rote.search.model.back_off import BackOff

_ROOMS = {
    "rote.core.document": ("Document",),
    "rote.core.errors": ("InputError", "MissingExtra", "OptionError", "RoteError", "UnknownName"),
    "rote.core.layer": ("Layer",),
    "rote.core.result": ("Result",),
    "rote.core.signature": ("Signature",),
    "rote.corpus": ("Corpus", "ReadOptions", "open_corpus"),
    "rote.index.index": ("Index",),
    "rote.search.model.back_off": ("BackOff",),
    "rote.index.opening": ("build_index", "index_texts", "open_index"),
    "rote.measure": ("Settings",),
    "rote.measure._functions": (
        *("compression", "contamination", "diversity", "entity_scores", "favoured"),
        *("homogenization", "lexical", "novelty", "originality", "overlap"),
        *("perplexity", "precision_recall", "rouge", "self_repetition", "semantic", "similarity"),
        *("syntactic", "templates"),
    ),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "BackOff",
    "Corpus",
    "Document",
    "Index",
    "InputError",
    "Layer",
    "MissingExtra",
    "OptionError",
    "ReadOptions",
    "Result",
    "RoteError",
    "Settings",
    "Signature",
    "UnknownName",
    "__version__",
    "build_index",
    "compression",
    "contamination",
    "diversity",
    "entity_scores",
    "favoured",
    "homogenization",
    "index_texts",
    "lexical",
    "novelty",
    "open_corpus",
    "open_index",
    "originality",
    "overlap",
    "perplexity",
    "precision_recall",
    "rouge",
    "self_repetition",
    "semantic",
    "similarity",
    "syntactic",
    "templates",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from rote.core.distribution import version

        return version()
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'rote' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
