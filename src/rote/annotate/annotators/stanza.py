"""Stanza's models of a language: stanza:LANG, such as stanza:en.

Nothing is downloaded: models have to be there already. Words of a multiword token
stand at the parts of it that they spell, or all of them at the whole token.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from rote.annotate import glyphs
from rote.annotate.annotators._columns import LAYERS, Assembly, Entry, check_layers
from rote.annotate.trees import CONSTITUENTS
from rote.core.distribution import install_command
from rote.core.document import Annotation, Document
from rote.core.errors import InputError, OptionError, import_extra
from rote.corpus import Origin
from rote.corpus.brackets import Tree, annotation, parse_trees

# Stanza adds the splitter of multiword tokens by itself where a language has one.
_PROCESSORS = {
    "pos": ("pos",),
    "upos": ("pos",),
    "lemma": ("pos", "lemma"),
    "dep": ("pos", "lemma", "depparse"),
    "dep-bfs": ("pos", "lemma", "depparse"),
    "entity": ("ner",),
    **dict.fromkeys(CONSTITUENTS, ("pos", "constituency")),
}
_ORDER = ("tokenize", "pos", "lemma", "depparse", "ner", "constituency")
_LANGUAGE = re.compile(r"[A-Za-z][A-Za-z-]*")
_FIELDS = ("lemma", "upos", "xpos", "deprel")


@dataclass(frozen=True, slots=True)
class StanzaAnnotator:
    language: str
    gives: ClassVar[tuple[str, ...]] = LAYERS

    @property
    def name(self) -> str:
        return f"stanza:{self.language}"

    @property
    def signature(self) -> str:
        version = _package(self.language).__version__
        return f"stanza/{version}/{self.language}-glyphs{glyphs.VERSION}"

    def __call__(self, documents: Sequence[Document], layers: Sequence[str]) -> Annotation:
        check_layers(layers, self.gives, self.name)
        needed = {name for layer in layers for name in _PROCESSORS.get(layer, ())}
        processors = ",".join(name for name in _ORDER if name in needed or name == "tokenize")
        pipeline = _load(self.language, processors)
        # Stanza cannot read a text without words, so such texts are not shown to it.
        folded = glyphs.fold_texts([document.text for document in documents])
        texts = [text for text in folded.texts if text.strip()]
        done = iter(pipeline.bulk_process(texts) if texts else ())
        columns = [_document_columns(next(done) if text.strip() else None) for text in folded.texts]

        def missing(place: int, what: str) -> InputError:
            problem = f"Stanza's models of '{self.language}' give no {what}"
            return InputError(problem, remedy="Choose other layers or another annotator")

        return folded.restore_all(Assembly(columns, missing).build(layers))


def entries() -> list[Entry]:
    from importlib.util import find_spec

    if find_spec("stanza") is None:
        return [Entry("stanza:LANG", (), "", "", f"{install_command('stanza')} and its models")]
    return [Entry("stanza:LANG", LAYERS, "by language", "by language", "downloaded models")]


def annotator(rest: str) -> StanzaAnnotator:
    # Stanza makes a path of it, and loads what is there.
    if not _LANGUAGE.fullmatch(rest):
        raise OptionError("put the language code after the colon: stanza:en")
    return StanzaAnnotator(rest)


def _package(language: str) -> Any:
    return import_extra("stanza", "stanza", "stanza", f"The annotator stanza:{language}")


@cache
def _load(language: str, processors: str) -> Any:
    stanza = _package(language)
    try:
        return stanza.Pipeline(language, processors=processors, download_method=None, verbose=False)
    except (FileNotFoundError, KeyError, ValueError) as error:
        reason = " ".join(str(error).split())[:100]
        raise OptionError(
            f"Stanza's models for '{language}' ({processors}) are not installed; download them "
            f"with: python -c \"import stanza; stanza.download('{language}')\" ({reason})"
        ) from None


def _document_columns(document: Any) -> dict[str, Any]:
    out: dict[str, Any] = {"starts": [], "ends": [], "form": [], "head": [], "sentence_ends": []}
    out |= {name: [] for name in _FIELDS} | {"entity": []}
    trees: list[Tree] = []
    sentences = [] if document is None else document.to_dict()
    for number, sentence in enumerate(sentences):
        base = len(out["form"])
        _add_words(out, sentence, base)
        out["sentence_ends"].append(len(out["form"]))
        parsed = getattr(document.sentences[number], "constituency", None)
        if parsed is not None:
            for _, tree in parse_trees(str(parsed), 1, Origin("Stanza", "stanza", "stanza")):
                if isinstance(tree, InputError):
                    raise tree
                trees.append(tree)
    # A column is there only if every word has it: without a tagger there are no tags.
    for name in (*_FIELDS, "head", "entity"):
        if None in out[name]:
            del out[name]
    nodes = annotation(trees, [])["tree"]
    if nodes["label"] or not sentences:
        out["tree"] = nodes
    return out


def _add_words(out: dict[str, Any], sentence: Iterable[dict[str, Any]], base: int) -> None:
    """Words of one sentence; a multiword token stands in front of its words, as a range."""
    token: dict[str, Any] = {}
    inside: list[str] = []
    expected = 0
    for entry in sentence:
        identity = entry["id"]
        if not isinstance(identity, int) and len(identity) > 1:
            if identity[0] <= len(out["form"]) - base:
                continue  # an empty node, numbered after the word before it
            token, inside = entry, []
            expected = identity[-1] - identity[0] + 1
            continue
        out["form"].append(entry["text"])
        for name in _FIELDS:
            out[name].append(entry.get(name))
        head = entry.get("head")
        out["head"].append(None if head is None else head + base - 1 if head else -1)
        if not expected:
            out["starts"].append(entry["start_char"])
            out["ends"].append(entry["end_char"])
            out["entity"].append(_entity(entry.get("ner"), 0))
            continue
        out["entity"].append(_entity(token.get("ner"), len(inside)))
        inside.append(entry["text"])
        if len(inside) == expected:
            _add_spans(out, token, inside)
            expected = 0


def _add_spans(out: dict[str, Any], token: dict[str, Any], words: list[str]) -> None:
    start, end = token["start_char"], token["end_char"]
    if "".join(words).lower() == token["text"].lower():
        for word in words:
            out["starts"].append(start)
            start += len(word)
            out["ends"].append(start)
    else:
        out["starts"] += [start] * len(words)
        out["ends"] += [end] * len(words)


def _entity(tag: str | None, place: int) -> str | None:
    """B and I for Stanza's B, I, E and S; the second word of a token is never the first."""
    if tag is None or tag == "O":
        return tag
    mark, _, kind = tag.partition("-")
    return f"{'B' if mark in 'BS' and place == 0 else 'I'}-{kind}"
