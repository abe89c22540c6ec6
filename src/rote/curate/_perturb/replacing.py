"""The words of an item exchanged: which lemma is drawn, and the fields with it in place."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from rote.annotate.glyphs import fold
from rote.annotate.lemmas import lemma_of
from rote.corpus.items import Item
from rote.curate._perturb.inflection import TAGS, agreeing, forms, in_case_of, inflected
from rote.curate._perturb.lexicons import Pos, Sense
from rote.curate._perturb.senses import Answer
from rote.curate._perturb.words import CONTEXT, ENDING, OPTIONS, Key, Part, Word

UNLIKE = "not alike everywhere"
TARGET = "target"
CONTRAST = "options differ in it"
_FEW = 2
"""Words in which options differ that are a minimal pair, or answers rather than sentences."""
_WORD = re.compile(r"[\w']+")


def agreed(
    item: Item, words: Sequence[Word], standing: Mapping[str, int], *, careful: bool = False
) -> list[Word]:
    """The words, those marked that have to stay; `standing` says how often each form occurs in
    the item, in small letters. With care also the words stay that the answer hangs on, and a word
    that is before a clause or a preposition somewhere counts as such everywhere."""
    words = _asked_for(item, _tagged(words))
    if careful:
        words = _alike_bound(_contrasted(item, words))
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


def _contrasted(item: Item, words: list[Word]) -> list[Word]:
    """Where options are short or differ in few words, what they differ in is the question."""
    counts = [Counter(_WORD.findall(fold(option.lower()))) for option in item.options]
    common = counts[0]
    for count in counts[1:]:
        common = common & count
    longest = max(count.total() for count in counts)
    apart = max((count - common).total() for count in counts)
    if len(item.options) < 2 or apart > _FEW or (longest > _FEW and 2 * common.total() < longest):
        return words
    differ = frozenset(form for count in counts for form in count - common)
    return [
        replace(word, why=CONTRAST)
        if not word.why and any(part.form in differ for part in word.parts)
        else word
        for word in words
    ]


def _alike_bound(words: list[Word]) -> list[Word]:
    bounds: dict[Key, set[str]] = {}
    for word in words:
        if word.bound:
            bounds.setdefault(word.key, set()).add(word.bound)
    # Verbs that take the same clauses and the same prepositions are not known: those stay.
    return [
        replace(word, bound=min(found), why=word.why or ("" if len(found) == 1 else min(found)))
        if (found := bounds.get(word.key))
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


Variant = Literal["careful", "exact", "paper"]


@dataclass(frozen=True, slots=True)
class Replacement:
    """One word that was replaced; spans are characters of the field, before and after.

    `sense` numbers the senses of the lemma from 1 on, `share` says how sure it is; `choice` is the
    lemma that was drawn and `choices` how many it was drawn from.
    """

    item: str
    task: str
    field: str
    start: int
    end: int
    original: str
    lemma: str
    pos: str
    tag: str
    synset: str
    sense: int
    share: float
    replacement: str
    choice: str
    choices: int
    new_start: int
    new_end: int


@dataclass(frozen=True, slots=True)
class Chosen:
    """The sense of a word and its number, and the lemma that takes its place."""

    sense: Sense
    answer: Answer
    lemma: str
    choices: int


def drawn(
    lemmas: Sequence[str], sense: Sense, answer: Answer, word: Word, item: Item, *, seed: int
) -> Chosen:
    """One of the lemmas, each as likely as the other.

    The draw depends on the seed, the item and the word alone, not on what else is read.
    """
    key = "\0".join((str(seed), item.task, item.id, word.pos, word.lemma))
    digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    lemma = lemmas[int.from_bytes(digest, "big") % len(lemmas)]
    return Chosen(sense, answer, lemma, len(lemmas))


def distinct(item: Item, chosen: Sequence[tuple[Word, Chosen]]) -> Sequence[tuple[Word, Chosen]]:
    """Those words whose replacement leaves options different that were so.

    *that foot* and *that feet* may become one; then what the options do not share stays.
    """
    if not _merges(item, chosen):
        return chosen
    held: dict[tuple[str, str], list[Counter[str]]] = {}
    for word, _ in chosen:
        if word.field.startswith(OPTIONS):
            counts = held.setdefault(word.key, [Counter() for _ in item.options])
            counts[int(word.field.partition(".")[2])][word.form.lower()] += 1
    shared = [
        (word, choice)
        for word, choice in chosen
        if all(one == held[word.key][0] for one in held.get(word.key, ()))
    ]
    return [] if _merges(item, shared) else shared


def _merges(item: Item, chosen: Sequence[tuple[Word, Chosen]]) -> bool:
    return len(set(exchanged(item, chosen)[0].options)) < len(set(item.options))


def exchanged(item: Item, chosen: Iterable[tuple[Word, Chosen]]) -> tuple[Item, list[Replacement]]:
    """The item with these words replaced, and what was done."""
    by_field: dict[str, list[tuple[Word, Chosen]]] = {}
    for word, choice in chosen:
        by_field.setdefault(word.field, []).append((word, choice))
    done: list[Replacement] = []

    def new(field: str, text: str) -> str:
        changed, log = _field(item, text, by_field.get(field, []))
        done.extend(log)
        return changed

    made = replace(
        item,
        context=new(CONTEXT, item.context),
        options=tuple(new(f"{OPTIONS}.{n}", text) for n, text in enumerate(item.options)),
        ending=new(ENDING, item.ending),
    )
    return made, done


def _field(
    item: Item, text: str, words: Sequence[tuple[Word, Chosen]]
) -> tuple[str, list[Replacement]]:
    out, at = "", 0
    done = []
    for word, choice in sorted(words, key=lambda each: each[0].start):
        form = in_case_of(inflected(choice.lemma, word.pos, word.tag), word.form)
        out = agreeing(out + text[at : word.start], word.form, form)
        done.append(
            Replacement(
                item=item.id,
                task=item.task,
                field=word.field,
                start=word.start,
                end=word.end,
                original=word.form,
                lemma=word.lemma,
                pos=word.pos,
                tag=word.tag,
                synset=choice.sense.synset,
                sense=choice.answer.number + 1,
                share=choice.answer.share,
                replacement=form,
                choice=choice.lemma,
                choices=choice.choices,
                new_start=len(out),
                new_end=len(out) + len(form),
            )
        )
        out += form
        at = word.end
    return out + text[at:], done
