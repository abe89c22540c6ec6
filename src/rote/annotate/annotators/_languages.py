"""Texts of several languages, each read by the annotator of its own: `de=spacy:MODEL,fr=...`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rote.annotate.annotators._columns import check_layers
from rote.annotate.script import languages
from rote.annotate.trees import DEPENDENCIES
from rote.core.annotation import Annotation, Annotator
from rote.core.document import Document
from rote.core.layer import Ids, Layer, concatenate, items_of
from rote.core.sample import some_texts


@dataclass(frozen=True, slots=True)
class ByLanguage:
    """Pairs of a language's code and an annotator's name; "" is for those that are not named."""

    names: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        return ",".join(f"{code}={name}" if code else name for code, name in self.names)

    @property
    def signature(self) -> str:
        return " ".join(
            f"{code}={part.signature}" if code else part.signature for code, part in self.parts()
        )

    @property
    def gives(self) -> tuple[str, ...]:
        return self.of("").gives

    @property
    def language(self) -> None:
        return None

    def parts(self) -> list[tuple[str, Annotator]]:
        from rote.annotate.annotators import get

        return [(code, get(name)) for code, name in self.names]

    def of(self, code: str) -> Annotator:
        """Who reads texts of this language."""
        from rote.annotate.annotators import get

        names = dict(self.names)
        return get(names.get(code, names[""]))

    def __call__(self, documents: Sequence[Document], layers: Sequence[str]) -> Annotation:
        check_layers(layers, self.gives, self.name)
        codes = languages(documents)
        places: dict[str, list[int]] = {}
        for place, code in enumerate(codes):
            places.setdefault(code if code in dict(self.names) else "", []).append(place)
        made = [
            _complete(self.of(code), [documents[place] for place in own], layers)
            for code, own in places.items()
        ]
        if len(made) == 1:
            return made[0]
        if not made:
            return self.of("")(documents, layers)
        return merge(made, np.argsort(np.concatenate([*places.values()])))


def _complete(
    annotator: Annotator, documents: Sequence[Document], layers: Sequence[str]
) -> Annotation:
    """Layers that the annotator does not make have empty items: nobody is to count them."""
    made = annotator(documents, [name for name in layers if name in annotator.gives])
    missing = [name for name in layers if name not in annotator.gives]
    empty = {name: made.word.map(name, lambda word: "") for name in missing}
    heads = made.heads
    if heads is None and any(name in layers for name in ("dep", *DEPENDENCIES)):
        heads = np.full(len(made.word.ids), -1, np.int32)
    trees = {name: layer for name, layer in empty.items() if name in DEPENDENCIES}
    aligned = {name: layer for name, layer in empty.items() if name not in trees}
    return Annotation({**made.layers, **aligned}, heads, {**made.trees, **trees})


def merge(made: Sequence[Annotation], order: np.ndarray) -> Annotation:
    """The texts of several annotations as one; text t of it is text `order[t]` of all of them."""

    def ordered(layers: Sequence[Layer]) -> Layer:
        return some_texts(concatenate(layers), order)

    first = made[0]
    layers = {name: ordered([one.layers[name] for one in made]) for name in first.layers}
    trees = {name: ordered([one.trees[name] for one in made]) for name in first.trees}
    return Annotation(layers, _heads(made, order), trees)


def _heads(made: Sequence[Annotation], order: np.ndarray) -> Ids | None:
    """Heads by their distance, which does not change when texts move."""
    away = []
    for one in made:
        if one.heads is None:
            return None
        own = np.arange(len(one.heads), dtype=np.int32)
        away.append(np.where(one.heads < 0, 0, one.heads - own))
    ends = concatenate([one.word for one in made]).text_ends
    starts = np.concatenate(([0], ends[:-1]))
    items, _ = items_of(starts[order], ends[order])
    moved = np.concatenate(away)[items]
    heads: Ids = np.where(moved == 0, -1, moved + np.arange(len(moved))).astype(np.int32)
    return heads
