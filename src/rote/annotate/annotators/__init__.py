"""Annotators: documents to layers, one file each, known by the file's name.

`get("rote")` gives rote's own English models; `get("spacy:MODEL")` any installed spaCy
pipeline, `get("stanza:LANG")` Stanza's models of a language, `get("given")` the
annotation that came with the input. An annotator is small and travels to worker
processes as it is; each process loads the models once, when they are first needed.
`get("de=spacy:MODEL")` has German texts read by another one (`_languages.py`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

from rote.annotate.annotators._columns import Entry, check_layers
from rote.annotate.language_check import by_language, languages
from rote.annotate.trees import DEPENDENCIES
from rote.core import plugins
from rote.core.document import Annotation, Annotator, Document
from rote.core.errors import InputError, UnknownName
from rote.core.layer import Ids, Layer, concatenate, items_of
from rote.core.sample import some_texts

ROOM = "annotate.annotators"
DEFAULT = "rote"
TRUSTED = "ROTE_TRUSTED_ANNOTATORS"
"""Names, separated by commas, that are loaded whichever file names them."""


def entries() -> list[Entry]:
    """What can be used here, and what could be."""
    return [entry for name in plugins.members(ROOM) for entry in plugins.load(ROOM, name).entries()]


def get(name: str = DEFAULT) -> Annotator:
    """The annotator of this name; what stands behind a colon is handed on to it."""
    if len(names := by_language(name, DEFAULT)) > 1:
        return ByLanguage(tuple(names.items()))
    kind, _, rest = name.partition(":")
    known = plugins.members(ROOM)
    if kind not in known:
        raise UnknownName("annotator", kind, known)
    return cast(Annotator, plugins.load(ROOM, kind).annotator(rest))


def get_recorded(name: str, file: Path) -> Annotator:
    """The annotator that a file names, which may be somebody else's: none that is loaded from a
    path, unless the user trusts it."""
    kind, _, rest = name.partition(":")
    if name in os.environ.get(TRUSTED, "").split(","):
        return get(name)
    is_known = kind in plugins.members(ROOM)
    if is_known:
        is_installed = getattr(plugins.load(ROOM, kind), "is_installed", None)
        is_path = "/" in rest or "\\" in rest
        is_known = is_installed(rest) if is_installed else not is_path
    if not is_known:
        raise InputError(
            f"is '{name}', which is not installed, and rote does not load paths named in a file "
            "that may come from someone else",
            file=str(file),
            field="annotator",
            remedy=f"Install it; or, if you trust it, set {TRUSTED}={name}",
        )
    return get(name)


# Texts of several languages, each read by the annotator of its own: `de=spacy:MODEL,fr=...`.


@dataclass(frozen=True, slots=True)
class ByLanguage:
    """Pairs of a language's code and an annotator's name; "" is for those that are not named."""

    names: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        return ",".join(f"{code}={name}" if code else name for code, name in self.names)

    @property
    def signature(self) -> str:
        makers = [(code, get(name).signature) for code, name in self.names]
        return " ".join(f"{code}={maker}" if code else maker for code, maker in makers)

    @property
    def gives(self) -> tuple[str, ...]:
        return self.of("").gives

    @property
    def language(self) -> None:
        return None

    def of(self, code: str) -> Annotator:
        """Who reads texts of this language."""
        names = dict(self.names)
        return get(names.get(code, names[""]))

    def __call__(self, documents: Sequence[Document], layers: Sequence[str]) -> Annotation:
        check_layers(layers, self.gives, self.name)
        codes = languages(documents)
        places: dict[str, list[int]] = {}
        for place, code in enumerate(codes):
            places.setdefault(code if code in dict(self.names) else "", []).append(place)
        annotations = [
            _complete(self.of(code), [documents[place] for place in numbers], layers)
            for code, numbers in places.items()
        ]
        if len(annotations) == 1:
            return annotations[0]
        if not annotations:
            return self.of("")(documents, layers)
        return merge(annotations, np.argsort(np.concatenate([*places.values()])))


def _complete(
    annotator: Annotator, documents: Sequence[Document], layers: Sequence[str]
) -> Annotation:
    """Layers that the annotator does not make have empty items: nobody is to count them."""
    annotation = annotator(documents, [name for name in layers if name in annotator.gives])
    missing = [name for name in layers if name not in annotator.gives]
    empty = {name: annotation.word.map(name, lambda word: "") for name in missing}
    heads = annotation.heads
    if heads is None and any(name in layers for name in ("dep", *DEPENDENCIES)):
        heads = np.full(len(annotation.word.ids), -1, np.int32)
    trees = {name: layer for name, layer in empty.items() if name in DEPENDENCIES}
    aligned = {name: layer for name, layer in empty.items() if name not in trees}
    return Annotation({**annotation.layers, **aligned}, heads, {**annotation.trees, **trees})


def merge(annotations: Sequence[Annotation], order: np.ndarray) -> Annotation:
    """The texts of several annotations as one; text t of it is text `order[t]` of all of them."""

    def ordered(layers: Sequence[Layer]) -> Layer:
        return some_texts(concatenate(layers), order)

    first = annotations[0]
    layers = {
        name: ordered([annotation.layers[name] for annotation in annotations])
        for name in first.layers
    }
    trees = {
        name: ordered([annotation.trees[name] for annotation in annotations])
        for name in first.trees
    }
    return Annotation(layers, _heads(annotations, order), trees)


def _heads(annotations: Sequence[Annotation], order: np.ndarray) -> Ids | None:
    """Heads by their distance, which does not change when texts move."""
    away = []
    for annotation in annotations:
        if annotation.heads is None:
            return None
        places = np.arange(len(annotation.heads), dtype=np.int32)
        away.append(np.where(annotation.heads < 0, 0, annotation.heads - places))
    ends = concatenate([annotation.word for annotation in annotations]).text_ends
    starts = np.concatenate(([0], ends[:-1]))
    items, _ = items_of(starts[order], ends[order])
    moved = np.concatenate(away)[items]
    heads: Ids = np.where(moved == 0, -1, moved + np.arange(len(moved))).astype(np.int32)
    return heads
