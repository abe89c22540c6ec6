"""Counts by an index of rote: words in lower case, or the subwords of a tokenizer.json."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from rote.core.compiling import say_if_compiling
from rote.core.layer import Layer
from rote.core.progress import Reporter
from rote.index.answers import Counts
from rote.index.folders.manifest import is_index, read_manifest
from rote.index.grams import Grams
from rote.index.index import DEFAULT, Index
from rote.index.opening import open_index
from rote.search.backends import BackendOptions, signed

NAME = "rote"


def accepts(corpus: str) -> bool:
    return is_index(Path(corpus))


def opened(corpus: str, options: BackendOptions, reporter: Reporter) -> RoteIndex:
    path = Path(corpus)
    manifest, layer = read_manifest(path), options.layer or DEFAULT
    made = {subword.layer: subword.signature for subword in manifest.subwords}
    index = open_index(path, reporter)
    index.lookups(layer)  # refuses a layer that cannot be counted
    return RoteIndex(
        held=index,
        layer=layer,
        tokenizer=f"{layer}={made.get(layer, manifest.signature)}",
        index=f"{path.resolve().name}={manifest.fingerprint[:12]}",
        count=options.count,
    )


@dataclass(frozen=True)
class RoteIndex:
    """One layer of an index of rote."""

    held: Index
    layer: str
    tokenizer: str
    index: str
    count: str = "occurrences"
    name: str = NAME

    @cached_property
    def signature(self) -> str:
        return signed(self.name, self.tokenizer, self.index, self.count)

    def tokenize(self, texts: Sequence[str], reporter: Reporter) -> Layer:
        return self.held.layer_of(texts, self.layer)

    def counts(self, grams: Grams, reporter: Reporter) -> Counts:
        say_if_compiling(reporter, "rote.index.counting.lookup")
        asked = self.held.document_counts if self.count == "documents" else self.held.counts
        return asked(grams, self.layer)
