"""A word is replaced wherever it stands in an item, or nowhere.

A form may be a noun in one place and in another a verb, a name or a part of a longer word (*pig*,
*guinea pig*), in truth or because the tagger errs. A reader sees one word; so whatever cannot be
replaced everywhere, in each of its forms, stays everywhere. Options can then be found again in
the sentence, and two options differ as they did.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from rote.annotate.lemmas import lemma_of
from rote.corpus.items import Item
from rote.curate._perturb.inflection import TAGS, forms
from rote.curate._perturb.lexicons import Pos
from rote.curate._perturb.words import OPTIONS, Key, Part, Word

UNLIKE = "not alike everywhere"
TARGET = "target"


def agreed(item: Item, words: Sequence[Word], standing: Mapping[str, int]) -> list[Word]:
    """The words, those marked that have to stay; `standing` says how often each form stands in
    the item, in small letters."""
    words = _asked_for(item, _tagged(words))
    own: dict[Key, Counter[str]] = {}
    claimed: dict[Key, set[str]] = {}
    for word in words:
        counts, claims = own.setdefault(word.key, Counter()), claimed.setdefault(word.key, set())
        for part in word.parts:
            counts[part.form] += 1
            claims |= _forms_of(part)
    stay = {word.key for word in words if word.why}
    for key, claims in claimed.items():
        if any(standing.get(form, 0) > own[key][form] for form in claims):
            stay.add(key)
    return [
        replace(word, why=UNLIKE) if word.key in stay and not word.why else word for word in words
    ]


def target_forms(item: Item) -> frozenset[str]:
    """All forms of the word that an item with a single option asks for."""
    if len(item.options) != 1:
        return frozenset()
    return _all_forms(item.options[0].strip().lower())


def _tagged(words: Sequence[Word]) -> list[Word]:
    """One tag for one form: of a noun everywhere, of a verb in the options, of which one may be
    ungrammatical and mislead the tagger. The first counts."""
    tags: dict[tuple[str, Key], str] = {}
    found = []
    for word in words:
        if word.pos == "noun" or word.field.startswith(OPTIONS):
            word = replace(word, tag=tags.setdefault((word.form.lower(), word.key), word.tag))
        found.append(word)
    return found


def _asked_for(item: Item, words: list[Word]) -> list[Word]:
    """The word that an item asks for stays, wherever it stands."""
    target = target_forms(item)
    return [
        replace(word, why=TARGET)
        if target and (word.field.startswith(OPTIONS) or any(p.form in target for p in word.parts))
        else word
        for word in words
    ]


def _forms_of(part: Part) -> frozenset[str]:
    held = frozenset((part.form,))
    return held if part.pos is None else held | _inflections(part.lemma.lower(), part.pos)


@cache
def _inflections(lemma: str, pos: Pos) -> frozenset[str]:
    return frozenset(form.lower() for tag in TAGS[pos] for form in forms(lemma, pos, tag))


def _all_forms(word: str) -> frozenset[str]:
    """Those of the noun and of the verb that a word may be."""
    return frozenset((word,)).union(
        _inflections(lemma_of(word, "NOUN"), "noun"), _inflections(lemma_of(word, "VERB"), "verb")
    )
