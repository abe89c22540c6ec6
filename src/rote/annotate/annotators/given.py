"""The annotation that came with the input: CoNLL-U files, bracketed trees.

`given` uses bare constituent labels (NP), `given:functions` those of the file (NP-SBJ).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rote.annotate.annotators._columns import LAYERS, Assembly, Entry, check_layers
from rote.core.document import Annotation, Document
from rote.core.errors import InputError, UnknownName

VERSION = "1"
_LABELS = {"": "label", "functions": "function"}


@dataclass(frozen=True, slots=True)
class GivenAnnotator:
    """Takes the layers from `Document.meta["annotation"]`, which the readers put there."""

    labels: str = ""
    language: ClassVar[None] = None
    gives: ClassVar[tuple[str, ...]] = LAYERS

    @property
    def name(self) -> str:
        return f"given:{self.labels}" if self.labels else "given"

    @property
    def signature(self) -> str:
        return f"{self.name}/{VERSION}"

    def __call__(self, documents: Sequence[Document], layers: Sequence[str]) -> Annotation:
        check_layers(layers, self.gives, self.name)

        def missing(place: int, what: str) -> InputError:
            return InputError(
                f"the document '{documents[place].id}' has no {what}",
                remedy="Use input that has them (CoNLL-U, bracketed trees), or an annotator that "
                "produces them, such as rote",
            )

        for place, document in enumerate(documents):
            if "annotation" not in document.meta:
                raise missing(place, "annotation")
        annotations = [document.meta["annotation"] for document in documents]
        return Assembly(annotations, missing, _LABELS[self.labels]).build(layers)


def entries() -> list[Entry]:
    return [Entry("given", LAYERS, "that of the input", "that of the input")]


def annotator(rest: str) -> GivenAnnotator:
    if rest not in _LABELS:
        raise UnknownName("variant of the annotator 'given'", rest, filter(None, _LABELS))
    return GivenAnnotator(rest)
