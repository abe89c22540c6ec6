"""Counts by an index of rote: words in lower case, or the subwords of a tokenizer.json."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

from rote.core.layer import Layer
from rote.core.progress import Reporter
from rote.index.answers import Holders
from rote.index.factory import open_index
from rote.index.folders.manifest import is_index
from rote.index.grams import Counts, Grams
from rote.index.index import DEFAULT, Index
from rote.search.backends import BackendOptions, backend_signature

NAME = "rote"


def accepts(corpus: str) -> bool:
    return is_index(Path(corpus))


def opened(corpus: str, options: BackendOptions, reporter: Reporter) -> RoteIndex:
    return wrap_index(open_index(Path(corpus), reporter), options)


def wrap_index(index: Index, options: BackendOptions) -> RoteIndex:
    """One that is open already, on disk or in memory."""
    layer, manifest = options.layer or DEFAULT, index.manifest
    signatures = (
        {subwords.layer: subwords.signature for subwords in manifest.subwords} if manifest else {}
    )
    maker = manifest.signature if manifest else index.recipe.signature
    index.lookups(layer)  # refuses a layer that cannot be counted
    return RoteIndex(
        opened_index=index,
        layer=layer,
        tokenizer=f"{layer}={signatures.get(layer, maker)}",
        index=index_signature(index, layer),
        count=options.count,
    )


def index_signature(index: Index, layer: str = DEFAULT) -> str:
    """What a signature says of an index: its name, and which documents it holds."""
    if index.manifest and index.path:
        return f"{index.path.resolve().name}={index.manifest.fingerprint[:12]}"
    digest = blake2b(digest_size=6)
    for column in index.columns(layer):
        digest.update(json.dumps(list(column.vocabulary)).encode())
        digest.update(column.ids.all().tobytes())
    return f"memory={digest.hexdigest()}"


@dataclass(frozen=True)
class RoteIndex:
    opened_index: Index
    layer: str
    tokenizer: str
    index: str
    count: str = "occurrences"
    name: str = NAME

    @cached_property
    def signature(self) -> str:
        return backend_signature(self.name, self.tokenizer, self.index, self.count)

    def tokenize(self, texts: Sequence[str], reporter: Reporter) -> Layer:
        return self.opened_index.layer_of(texts, self.layer)

    def counts(self, grams: Grams, reporter: Reporter) -> Counts:
        count_grams = (
            self.opened_index.document_counts
            if self.count == "documents"
            else self.opened_index.counts
        )
        return count_grams(grams, self.layer)

    def holders(self, grams: Grams, within: int | None) -> Holders:
        """Which documents hold each n-gram, or which stretches of `within` tokens."""
        return self.opened_index.holders(grams, self.layer, within=within)
