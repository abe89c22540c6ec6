"""What was measured and measured against: names, fingerprints and sizes for the reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rote.corpus import Corpus, Input, open_corpus
from rote.report.reading import Overview
from rote.report.report import Material

_NAMED = 4


def texts_material(inputs: Input, found: Overview, by: Sequence[str]) -> Material:
    """The texts; files go by their names alone, since a report is sent to others."""
    return Material(
        role="texts",
        name=named(inputs),
        fingerprint=found.fingerprint,
        facts={
            "texts": sum(size.texts for size in found.sizes.values()),
            "words": sum(size.words for size in found.sizes.values()),
            "by": ", ".join(by) or "file",
            "sources": {
                source: {"texts": size.texts, "words": size.words}
                for source, size in found.sizes.items()
            },
        },
    )


def corpus_material(role: str, name: str) -> Material:
    """An index, or texts that are read each time."""
    from rote.index.folders.manifest import is_index, read_manifest

    path = Path(name)
    if is_index(path):
        manifest = read_manifest(path)
        facts: dict[str, Any] = {
            "kind": "index",
            "documents": manifest.documents,
            "words": manifest.words,
            "layers": ", ".join(manifest.layers),
            "made by": manifest.signature,
        }
        return Material(role, path.resolve().name, manifest.fingerprint, facts)
    corpus = open_corpus([path])
    facts = {"kind": "texts", "documents": sum(1 for _ in corpus), "bytes": corpus.size}
    return Material(role, path.name, corpus.fingerprint, facts)


def named(inputs: Input) -> str:
    """The inputs in a few words."""
    names = _names(inputs)
    if not names:
        return "texts"
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _names(inputs: Input) -> list[str]:
    if isinstance(inputs, Path):
        return [inputs.name]
    if isinstance(inputs, str):
        return [Path(inputs).name]
    if isinstance(inputs, Mapping):
        return [str(name) for name in inputs]
    if isinstance(inputs, Corpus):
        return []
    return [path.name for path in inputs if isinstance(path, Path)]
