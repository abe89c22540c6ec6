"""Constituency trees of any parser, as brackets in a field of each record: `brackets:FIELD`.

The field holds Penn brackets, one tree for each sentence, as one string or as a list of them.
Their words must be those of the text, in order: so every node has its place in the text as it
stands. Quotes may be `` and '' or straight in one and curly in the other; brackets are -LRB-.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rote.annotate.annotators._columns import Assembly, Entry, check_layers
from rote.annotate.glyphs import FOLDS
from rote.annotate.trees import CONSTITUENTS
from rote.core.document import Annotation, Document
from rote.core.errors import InputError, OptionError
from rote.core.layer import DERIVED
from rote.corpus import Origin
from rote.corpus.brackets import Spans, Tree, annotation, parse_trees

VERSION = "1"
GIVES = ("word", *DERIVED, "pos", *CONSTITUENTS)
_PLAIN = str.maketrans({glyph: plain for glyph, plain in FOLDS.items() if len(plain) == 1})
# What parsers write for what texts have.
_OTHERS = {'"': ("``", "''"), "--": ("—", "-"), "...": ("…",), "`": ("'",)}
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class BracketsAnnotator:
    """Takes words, tags and constituents from the trees in a field."""

    field: str
    language: ClassVar[None] = None
    gives: ClassVar[tuple[str, ...]] = GIVES

    @property
    def name(self) -> str:
        return f"brackets:{self.field}"

    @property
    def signature(self) -> str:
        return f"{self.name}/{VERSION}"

    def __call__(self, documents: Sequence[Document], layers: Sequence[str]) -> Annotation:
        check_layers(layers, self.gives, self.name)
        columns = [self._read(document) for document in documents]

        def missing(place: int, what: str) -> InputError:
            return self._problem(documents[place], f"came without {what}")

        return Assembly(columns, missing).build(layers)

    def _read(self, document: Document) -> dict[str, Any]:
        value = document.meta.get(self.field)
        if value is None:
            raise self._problem(document, f"has no field '{self.field}'")
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, (list, tuple)) or not all(isinstance(t, str) for t in texts):
            raise self._problem(document, f"has no brackets in the field '{self.field}'")
        origin = Origin(f"the document '{document.id}'", document.id, document.id)
        trees: list[Tree] = []
        for text in texts:
            for _, tree in parse_trees(text, 1, origin):
                if isinstance(tree, InputError):
                    raise tree
                trees.append(tree)
        return annotation(trees, self._spans(document, trees))

    def _spans(self, document: Document, trees: Sequence[Tree]) -> Spans:
        """Where the words stand in the text, which must hold them and nothing else."""
        text = document.text.translate(_PLAIN)
        place, spans = 0, []
        for word in (word for tree in trees for word in tree.words):
            place = _skip_spaces(text, place)
            plain = word.translate(_PLAIN)
            for form in (plain, *_OTHERS.get(plain, ())):
                if text.startswith(form, place):
                    break
            else:
                there = document.text[place : place + _SHOWN] or "nothing"
                raise self._problem(document, f"has '{there}' where its trees have '{word}'")
            spans.append((place, place + len(form)))
            place += len(form)
        if (place := _skip_spaces(text, place)) < len(text):
            rest = document.text[place : place + _SHOWN]
            raise self._problem(document, f"has '{rest}' after the last word of its trees")
        return [(document.text[start:end], start, end) for start, end in spans]

    def _problem(self, document: Document, what: str) -> InputError:
        return InputError(
            f"the document '{document.id}' {what}",
            field=self.field,
            remedy="Give each record the brackets of its own text, such as (S (NP (DT The) ...",
        )


def _skip_spaces(text: str, place: int) -> int:
    while place < len(text) and text[place].isspace():
        place += 1
    return place


def entries() -> list[Entry]:
    return [Entry("brackets:FIELD", GIVES, "that of the input", "that of the input")]


def annotator(rest: str) -> BracketsAnnotator:
    if not rest:
        raise OptionError("the annotator 'brackets' needs a field: write it as brackets:FIELD")
    return BracketsAnnotator(rest)
