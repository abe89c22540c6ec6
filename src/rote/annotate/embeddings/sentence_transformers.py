"""Any model of sentence-transformers: sentence-transformers:NAME, such as all-mpnet-base-v2.

Needs torch, and a model that is on this machine already or can be downloaded by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from rote.annotate.embeddings import Batches, Flags, Vectors, check_installed, collect, unit
from rote.core.errors import OptionError, import_extra
from rote.core.progress import Reporter

BATCH = 32
_EXTRA = "semantic-torch"


@dataclass(frozen=True, slots=True)
class SentenceTransformer:
    """A model by its name on the Hugging Face hub, or by its path."""

    model: str

    @property
    def name(self) -> str:
        return f"sentence-transformers:{self.model}"

    @property
    def signature(self) -> str:
        return f"sentence-transformers/{_package(self.model).__version__}/{self.model}"

    @property
    def dimensions(self) -> int:
        return int(_load(self.model).get_sentence_embedding_dimension())

    @property
    def english(self) -> bool:
        return False

    def check(self) -> None:
        check_installed(
            {"sentence_transformers": "sentence-transformers"}, _EXTRA, _purpose(self.model)
        )

    def cut(self, texts: Sequence[str]) -> Flags:
        model = _load(self.model)
        longest = model.max_seq_length
        if longest is None:
            return np.zeros(len(texts), np.bool_)
        pieces = (model.tokenizer(text, truncation=False)["input_ids"] for text in texts)
        return np.fromiter((len(ids) > longest for ids in pieces), np.bool_, len(texts))

    def __call__(self, texts: Sequence[str], reporter: Reporter | None = None) -> Vectors:
        return collect(self, texts, reporter)

    def batches(self, texts: Sequence[str], reporter: Reporter) -> Batches:
        model = _load(self.model)
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        with reporter.stage("embedding", len(texts)) as advance:
            for start in range(0, len(order), BATCH):
                places = order[start : start + BATCH]
                some = [texts[place] for place in places]
                vectors = model.encode(some, batch_size=BATCH, show_progress_bar=False)
                yield places, unit(np.asarray(vectors, np.float32))
                advance(len(places))


def embedder(rest: str) -> SentenceTransformer:
    if not rest:
        raise OptionError(
            "put the model's name after the colon: sentence-transformers:all-mpnet-base-v2"
        )
    return SentenceTransformer(rest)


def _purpose(model: str) -> str:
    return f"The embedder sentence-transformers:{model}"


def _package(model: str) -> Any:
    purpose = _purpose(model)
    return import_extra("sentence_transformers", "sentence-transformers", _EXTRA, purpose)


@cache
def _load(model: str) -> Any:
    try:
        return _package(model).SentenceTransformer(model)
    except (OSError, ValueError) as error:
        raise OptionError(
            f"sentence-transformers cannot load '{model}': give a model's name or path, and "
            f"download it once where there is a network ({str(error).splitlines()[0]})"
        ) from None
