"""Lemmas: the dictionary form of each word, from the word and its UPOS tag.

Closed classes by a small table in the manner of UD English (`n't` is `not`, `'ll` is
`will`, `them` is `they`); nouns, verbs, adjectives and adverbs by lemminflect's
dictionary, and its rules for nouns and verbs that it does not hold. Each distinct pair
of word and tag is looked up once. Context is not used: `'s` is `be` as an auxiliary,
though one in twenty stands for `has`.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

import numpy as np

from rote.annotate.glyphs import fold
from rote.core.layer import Layer, number

VERSION = "1"


def _table(lines: str) -> dict[str, str]:
    """From `lemma form form; ...` to form -> lemma."""
    return {form: lemma for lemma, *forms in map(str.split, lines.split(";")) for form in forms}


_CLOSED = {
    "AUX": _table(
        "be am is are was were been being 's 'm 're s m re r ai art; have has had having 've ve;"
        "do does did doing done; can ca; will 'll wo ll wilt; would 'd d; shall sha;"
        "could could; should should; might might; must must; may may; get got gets getting gotten"
    ),
    "PRON": _table(
        "I i me; we us 's; they them 'em em; he him; she her; that those; this these; my mine;"
        "our ours; your yours ur; their theirs; you u ya; hers hers; its it's; no-one noone"
    ),
    "DET": _table("a an; this these; that those"),
    "PART": _table("not n't nt; 's s '; to na ta"),
    "ADP": _table("through thru; with w w/"),
    "NOUN": _table(
        "thanks thanks; regards regards; media media; p.m. pm p.m; a.m. am a.m; etc. etc"
    ),
    "ADJ": _table("other other; more more; most most; least least; less less"),
    "ADV": _table(
        "more more; most most; least least; less less; late later; soon sooner; further further"
    ),
    "VERB": _table("be 's 'm 're; have 've; go gon; want wan"),
    "NUM": _table("million m mn; thousand k; billion b bn"),
}
_ROMAN = re.compile(r"[IVXLCDM]+")
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")


def lemma(word: Layer, upos: Layer) -> Layer:
    tags = len(upos.vocabulary)
    keys = word.ids.astype(np.int64) * max(tags, 1) + upos.ids
    pairs, inverse = np.unique(keys, return_inverse=True)
    vocabulary, ids = number(
        lemma_of(word.vocabulary[pair // tags], upos.vocabulary[pair % tags])
        for pair in pairs.tolist()
    )
    return replace(word, name="lemma", ids=ids[inverse], vocabulary=vocabulary)


@lru_cache(maxsize=1 << 17)  # batch after batch holds the same words
def lemma_of(form: str, upos: str) -> str:
    plain = fold(form).replace("`", "'")
    lower = plain.lower()
    closed = _CLOSED.get(upos, {}).get(lower)
    if closed is not None:
        return closed
    if upos in ("NOUN", "VERB", "ADJ", "ADV"):
        return _open_class(plain, lower, upos)
    if upos == "PROPN":
        # Peoples and the like are held with their capital: Americans, Muslims.
        return str(_dictionary().get(form, {}).get("NOUN", (form,))[0])
    if upos == "NUM" and _GROUPED.fullmatch(form):
        return form.replace(",", "")
    return form if upos in ("X", "SYM") or _ROMAN.fullmatch(form) else lower


def _open_class(form: str, lower: str, upos: str) -> str:
    known = _dictionary()
    for key in (lower, form):  # `French` is held with its capital, `Great` without
        entry = known.get(key, {}).get(upos)
        if entry:
            return str(entry[0])
    # Codes and short names in capitals (HR, CO2, TV) are no inflected words.
    if upos == "NOUN" and ((len(form) <= 4 and form.isupper()) or not form.isalpha()):
        return form if form.isupper() else lower
    if upos == "ADJ" and form[:1].isupper() and lower not in known:
        return form  # a nation or a faith that the dictionary does not hold
    if upos in ("ADJ", "ADV") or not lower.isascii() or not lower.isalpha():
        return lower
    by_rule = lemmatizer().getAllLemmasOOV(lower, upos).get(upos)
    return str(by_rule[0]) if by_rule else lower


@cache
def _dictionary() -> dict[str, dict[str, tuple[str, ...]]]:
    machine = lemmatizer()
    lemmas: dict[str, dict[str, tuple[str, ...]]] = machine._getLemmaDict()
    for form, entry in machine._getOverridesDict().items():
        lemmas[form] = {**lemmas.get(form, {}), **entry}
    return lemmas


@cache
def lemmatizer() -> Any:
    """From forms to lemmas."""
    with _package():
        from lemminflect.core.Lemmatizer import Lemmatizer

        return Lemmatizer()


@cache
def inflections() -> Any:
    """From lemmas to forms."""
    with _package():
        from lemminflect.core.Inflections import Inflections

        return Inflections()


@contextmanager
def _package() -> Iterator[None]:
    """lemminflect as an empty package, so that its modules can be imported one by one: its start
    would import spaCy, where it is installed, only to hook into it, which takes two seconds."""
    loaded = "lemminflect" in sys.modules
    if not loaded:
        spec = importlib.util.find_spec("lemminflect")
        if spec is None:
            raise ModuleNotFoundError("No module named 'lemminflect'", name="lemminflect")
        sys.modules["lemminflect"] = importlib.util.module_from_spec(spec)
    try:
        yield
    finally:
        if not loaded:
            del sys.modules["lemminflect"]  # whoever imports the package gets all of it
