"""One piece of a store as arrays: documents, layers, spans, heads, and back again.

Ids take the fewest bytes that their vocabulary needs. Layers that follow from the word
alone are not kept: deriving them takes less time than reading them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.annotate.layers import DERIVED, derive
from rote.core.annotation import Annotation
from rote.core.arrays import Arrays
from rote.core.document import Document
from rote.core.layer import Layer
from rote.corpus import Batch


def to_arrays(batch: Batch, annotation: Annotation) -> tuple[Arrays, dict[str, Any]]:
    """Everything of one piece; the description says which layers there are."""
    arrays: Arrays = {"documents": _json(_record(document) for document in batch.documents)}
    arrays |= _spans("", annotation.word)
    kept = [name for name in annotation.layers if name not in DERIVED]
    for name in kept:
        arrays |= _column(name, annotation.layers[name])
    for name, layer in annotation.trees.items():
        arrays |= _column(name, layer) | _spans(f"{name}.", layer)
    if annotation.heads is not None:
        # Distance to the head, 0 for a root: small numbers compress well.
        own = np.arange(len(annotation.heads), dtype=np.int32)
        arrays["heads"] = np.where(annotation.heads < 0, 0, annotation.heads - own)
    about = {
        "file": batch.file,
        "label": batch.label,
        "lines": batch.lines,
        "layers": kept,
        "trees": list(annotation.trees),
    }
    return arrays, about


def from_arrays(
    arrays: Arrays, about: dict[str, Any], derived: Iterable[str] = DERIVED
) -> tuple[Batch, Annotation]:
    """The reverse of `to_arrays`; the derived layers named are there again."""
    documents = [Document(*record) for record in _parsed(arrays["documents"])]
    layers = {name: _layer(name, "", arrays) for name in about["layers"]}
    layers |= {name: derive(layers["word"], name) for name in derived}
    heads = None
    if "heads" in arrays:
        away = arrays["heads"]
        heads = np.where(away == 0, -1, away + np.arange(len(away), dtype=np.int32))
        heads = heads.astype(np.int32)
    trees = {name: _layer(name, f"{name}.", arrays) for name in about["trees"]}
    batch = Batch(documents, about["file"], about["label"], about["lines"], [])
    return batch, Annotation(layers, heads, trees)


def _record(document: Document) -> list[Any]:
    # Annotation that came with the input is in the layers now.
    meta = {key: value for key, value in document.meta.items() if key != "annotation"}
    return [document.id, document.text, meta]


def _spans(prefix: str, layer: Layer) -> Arrays:
    # -1 stands for "no sentence ends": an empty array would mean a text without words.
    none = np.array([-1], np.int64)
    return {
        f"{prefix}starts": layer.starts,
        f"{prefix}lengths": _narrow(layer.ends - layer.starts),
        f"{prefix}text_ends": layer.text_ends,
        f"{prefix}sentence_ends": none if layer.sentence_ends is None else layer.sentence_ends,
    }


def _column(name: str, layer: Layer) -> Arrays:
    return {f"{name}.ids": _narrow(layer.ids), f"{name}.vocabulary": _json(layer.vocabulary)}


def _layer(name: str, prefix: str, arrays: Arrays) -> Layer:
    starts = arrays[f"{prefix}starts"]
    sentence_ends = arrays[f"{prefix}sentence_ends"]
    return Layer(
        name=name,
        ids=arrays[f"{name}.ids"].astype(np.int32),
        vocabulary=tuple(_parsed(arrays[f"{name}.vocabulary"])),
        starts=starts,
        ends=(starts + arrays[f"{prefix}lengths"]).astype(np.int32),
        text_ends=arrays[f"{prefix}text_ends"],
        sentence_ends=None if sentence_ends.tolist() == [-1] else sentence_ends,
    )


def _narrow(numbers: NDArray[Any]) -> NDArray[Any]:
    """Unsigned, in as few bytes as the largest number needs."""
    largest = int(numbers.max()) if len(numbers) else 0
    return numbers.astype(np.min_scalar_type(largest))


def _json(values: Iterable[Any]) -> NDArray[np.uint8]:
    # ASCII escapes keep lone surrogates, which UTF-8 could not.
    return np.frombuffer(json.dumps(list(values)).encode("ascii"), np.uint8)


def _parsed(data: NDArray[Any]) -> list[Any]:
    found: list[Any] = json.loads(data.tobytes())
    return found
