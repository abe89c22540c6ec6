"""rote's own English models: fast, shipped with the package, the default.

Words and sentences by rule, tags, trees and names by small networks, lemmas by
dictionary. Only what is asked for is computed, and what that needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from rote.annotate.annotators._columns import Entry, check_layers
from rote.annotate.trees import CONSTITUENTS, DEPENDENCIES, constituents, dep_bfs
from rote.core.document import Annotation, Document
from rote.core.errors import OptionError
from rote.core.layer import DERIVED, Layer, derive

_TOKENIZER = "ud"
_TAGGED = ("pos", "upos")
_TREES = (*DEPENDENCIES, *CONSTITUENTS)
_PARSED = ("dep", *_TREES)
_GIVES = ("word", *DERIVED, *_TAGGED, "lemma", "dep", "entity", *_TREES)
_HEADLINES = ("xpos", "upos", "UAS", "LAS", "entity F")


@dataclass(frozen=True, slots=True)
class RoteAnnotator:
    name: ClassVar[str] = "rote"
    language: ClassVar[str] = "en"
    gives: ClassVar[tuple[str, ...]] = _GIVES

    @property
    def signature(self) -> str:
        from rote.annotate import constituents as phrases
        from rote.annotate import entities, glyphs, lemmas, parsing, sentences, tagging
        from rote.annotate.words import ud

        parts = {
            "glyphs": glyphs,
            _TOKENIZER: ud,
            "sentences": sentences,
            "tagger": tagging,
            "parser": parsing,
            "entities": entities,
            "lemmas": lemmas,
        }
        if phrases.VERSION != "1":  # came later: without it signatures stay as they were
            parts["constituents"] = phrases
        return "rote-en/" + "-".join(f"{part}{m.VERSION}" for part, m in parts.items())

    def words(self, documents: Sequence[Document], layers: Sequence[str]) -> Annotation:
        """Layers that follow from the words alone; nobody asks where sentences end."""
        from rote.annotate.words import get

        return Annotation(_derive_layers(get(_TOKENIZER)([d.text for d in documents]), layers))

    def __call__(self, documents: Sequence[Document], layers: Sequence[str]) -> Annotation:
        from rote.annotate.sentences import split
        from rote.annotate.words import get

        check_layers(layers, self.gives, self.name)
        texts = [document.text for document in documents]
        word = split(texts, get(_TOKENIZER)(texts))
        layers_made = _derive_layers(word, layers)
        if not any(name in layers for name in (*_TAGGED, *_PARSED, "lemma", "entity")):
            return Annotation(layers_made)
        from rote.annotate import tagging

        if not any(name in layers for name in ("upos", "lemma", *_PARSED)):
            tags = {"pos": tagging.penn(word)}
        else:
            tags = dict(zip(_TAGGED, tagging.tag(word)))
        heads = None
        trees: dict[str, Layer] = {}
        if any(name in layers for name in _PARSED):
            from rote.annotate import parsing

            tags["dep"], heads = parsing.parse(word, tags["pos"], tags["upos"])
            trees = {name: dep_bfs(tags["dep"], heads) for name in DEPENDENCIES if name in layers}
            if any(name in layers for name in CONSTITUENTS):
                from rote.annotate.constituents import build_nodes

                nodes = build_nodes(word, tags["pos"], tags["dep"], heads)
                for name in CONSTITUENTS:
                    if name in layers:
                        trees[name] = constituents(name, nodes, word)
        if "entity" in layers:
            from rote.annotate import entities

            tags["entity"] = entities.find(word, tags["pos"])
        if "lemma" in layers:
            from rote.annotate import lemmas

            tags["lemma"] = lemmas.lemma(word, tags["upos"])
        layers_made |= {name: layer for name, layer in tags.items() if name in layers}
        return Annotation(layers_made, heads, trees)


def _derive_layers(word: Layer, layers: Sequence[str]) -> dict[str, Layer]:
    return {"word": word} | {name: derive(word, name) for name in layers if name in DERIVED}


@cache  # weights take long to read
def entries() -> list[Entry]:
    from rote.annotate._weights import load

    models = [load(name)[1] for name in ("tagger", "parser", "entities")]
    licences = dict.fromkeys(model["licence"] for model in models)
    figures = {name: value for model in models for name, value in model["accuracy"].items()}
    accuracy = ", ".join(f"{name} {figures[name]:.1f}" for name in _HEADLINES)
    return [
        Entry("rote", RoteAnnotator().gives, "; ".join(licences), f"{accuracy} (EWT dev, UNER dev)")
    ]


def annotator(rest: str) -> RoteAnnotator:
    if rest:
        raise OptionError(f"the annotator 'rote' has no variants, so 'rote:{rest}' does not exist")
    return RoteAnnotator()
