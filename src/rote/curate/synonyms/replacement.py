"""Which lemmas of a synset may take the place of a word, which is drawn, and the item with it.

With care two words are exchanged if they mean the same most of the time, by how often annotators
tagged them with each sense: the share of the word's senses that the other lemma has, times the
share of the other's senses that the word has, is at least one half. Both also have to be used in
like company, or share still more. And the other has to be usual, so that nobody writes *caput* for
head.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from rote.annotate.glyphs import fold
from rote.annotate.lemmas import lemma_of
from rote.corpus.items import Item
from rote.curate.synonyms.lexicons import Pos, Sense, SynonymLexicon
from rote.curate.synonyms.senses import SenseAnswer, nearness, rarities, sense_shares
from rote.curate.synonyms.words import (
    CLAUSE,
    CONTEXT,
    ENDING,
    OPTIONS,
    PREPOSITION,
    TAGS,
    Key,
    Word,
    agree_article,
    forms,
    inflect,
    match_case,
    take_same_clauses,
    take_same_prepositions,
    word_groups,
)

SHARED, NEAR_SHARED = (0.6, 0.5), (0.5, 0.35)
"""What of the word's own senses the other has at least, and what the two share; the same for words
that are used in very much the same company."""
_NEAR, _NEARER = 0.42, 0.58
"""Cosines from which on words are used in like company, and in very much the same."""
_SHARED_FAR, _MET_FAR, _SHARED_ALONE = 0.65, 15, 0.8
"""What has to be shared, and how often the other was met, where they are not; what has to be shared
where nothing is known about that, or the word is an expression of several words."""
_MET, _MET_UNKNOWN = 2, 8
"""How often annotators met a usual lemma in the sense; and one that novels do not have."""
_RAREST, _FARTHER = 12.3, 3.0
"""Log of 1 / share of a lemma in novels and definitions, and how far it may be above the word's."""
_AS_TAGGED = 0.3
"""How often a form has to be of this part of speech, noun or verb, for a tag to be believed."""
_ABBREVIATED = 4
"""Letters; a shorter word inside a longer one is an abbreviation."""
_UNWANTED = frozenset(
    "babe bairn betide instal lad lass maiden morn raiment slumber somebody someone steed "
    "wench".split()
)
"""Archaic words that novels have, and pronouns."""
_APART = word_groups(
    "brow/forehead career/vocation castle/palace closet/cupboard committee/commission "
    "conclusion/decision holiday/vacation nutrient/food notice/detect"
)
"""Words that share a synset but not a meaning."""
_UNCOUNTED = frozenset(
    "aid assistance clothing dirt equipment furniture help laughter mathematics soil "
    "warfare".split()
)
_NO_OBJECT = frozenset(
    "attempt begin commence disappear gaze happen inquire occur reply respond roam speak "
    "stare talk vanish wander".split()
)
"""Verbs that take none, or not any that the word takes: *start the engine*, *try the soup*."""
_SPELLINGS = (
    (re.compile("our"), "or"),
    (re.compile(r"is(e|ing|ation)\b"), r"iz\1"),
    (re.compile(r"([bt])re\b"), r"\1er"),
)
SEVERAL, RARE, OTHERWISE = "synonym of several words", "rare synonym", "means other things too"
COMPLEMENT, DOUBTFUL = "other complement", "tag not sure"
_STAGES = (SEVERAL, RARE, OTHERWISE, COMPLEMENT)
_OTHER: dict[Pos, Pos] = {"noun": "verb", "verb": "noun"}
_UPOS: dict[Pos, str] = {"noun": "NOUN", "verb": "VERB"}


def fitting_lemmas(
    words: Sequence[Word], sense: Sense, lexicon: SynonymLexicon
) -> tuple[tuple[str, ...], str]:
    """The lemmas that may take the place of a word of this sense in all of its places; if none,
    why."""
    others = sense.others(words[0].lemma)
    if others and not all(_is_as_tagged(word, lexicon) for word in words):
        return (), DOUBTFUL
    # A lemma is refused for the first reason that holds anywhere.
    whys = []
    for lemma in others:
        reasons = filter(None, (_refusal(word, lemma, sense, lexicon) for word in words))
        whys.append(min(reasons, key=_STAGES.index, default=""))
    good = tuple(lemma for lemma, why in zip(others, whys) if not why)
    return good, "" if good or not whys else max(whys, key=_STAGES.index)


def shared_senses(
    lemma: str, synonym: str, pos: Pos, lexicon: SynonymLexicon
) -> tuple[float, float]:
    """Which share of the senses of a lemma, by how usual they are, the other has too; and the
    other way round, the senses of the other as noun and verb together."""
    senses, its = lexicon.senses(lemma, pos), lexicon.senses(synonym, pos)
    common = {sense.synset for sense in senses} & {sense.synset for sense in its}
    back = _share_of_synsets(its, common) * _share_of_pos(
        _times_met(its), _times_met(lexicon.senses(synonym, _OTHER[pos]))
    )
    return _share_of_synsets(senses, common), back


def _refusal(word: Word, lemma: str, sense: Sense, lexicon: SynonymLexicon) -> str:
    if lemma.count(" ") > word.lemma.count(" ") or lemma != lemma.lower():
        return SEVERAL
    met = sum(s.count for s in lexicon.senses(lemma, word.pos) if s.synset == sense.synset)
    if _common_spelling(lemma) != _common_spelling(word.lemma) and not _is_usual(word, lemma, met):
        return RARE
    if not _means_same(word.lemma, lemma, word.pos, met, lexicon):
        return OTHERWISE
    return "" if _fits_frame(word, lemma, sense) else COMPLEMENT


def _is_usual(word: Word, lemma: str, met: int) -> bool:
    """Whether people use a lemma in a sense in which annotators met it so often."""
    short, long = sorted((lemma, word.lemma), key=len)
    abbreviated = len(short) < _ABBREVIATED and re.search(".*".join(short), long)
    if lemma in _UNWANTED or abbreviated or not re.search("[aeiouy]", lemma):  # min, yr, lb
        return False
    if word.pos == "noun" and lemma_of(lemma, "NOUN") != lemma:  # authorities
        return False
    if word.pos == "verb":
        spelled = forms(lemma.partition(" ")[0], "verb", word.tag)
        if lemma in spelled[1:]:  # quit, quitted
            return False
    rarity = rarities().get(lemma)
    if rarity is None:  # a word of today, or a rare one
        return met >= _MET_UNKNOWN
    farther = rarity - rarities().get(word.lemma, rarity)
    return met >= _MET and rarity <= _RAREST and farther <= _FARTHER


def _means_same(lemma: str, synonym: str, pos: Pos, met: int, lexicon: SynonymLexicon) -> bool:
    """Whether two lemmas mean the same most of the time."""
    there, back = shared_senses(lemma, synonym, pos, lexicon)
    both, near = there * back, nearness(lemma, synonym)
    least_there, least = NEAR_SHARED if near is not None and near >= _NEARER else SHARED
    if there < least_there or both < least:
        return False
    if there < 1 and synonym.endswith(lemma):  # a lid is more than an eyelid
        return False
    if frozenset((lemma, synonym)) in _APART:
        return False
    if " " in lemma:  # a glove is more than a baseball glove
        return both >= _SHARED_ALONE and (pos == "verb" or synonym not in lemma.split())
    if near is None:
        return both >= _SHARED_ALONE or met >= _MET_FAR
    return near >= _NEAR or (both >= _SHARED_FAR and met >= _MET_FAR)


def _fits_frame(word: Word, lemma: str, sense: Sense) -> bool:
    """Whether a lemma fits what the word has with it: object, clause, preposition; number."""
    if word.pos == "noun":
        return not (word.counted and lemma in _UNCOUNTED)
    if word.frame == "object" and lemma in _NO_OBJECT:
        return False
    if word.bound == CLAUSE:
        return take_same_clauses(word.lemma, lemma)
    if word.bound == PREPOSITION:
        return take_same_prepositions(word.lemma, lemma)
    if word.frame == "object":
        return True
    return word.frame is None or not sense.frames or word.frame in sense.frames


def _common_spelling(lemma: str) -> str:
    """The same for what is one word in two spellings: *colour*, *realise*, *metre*."""
    for old, new in _SPELLINGS:
        lemma = old.sub(new, lemma)
    return lemma


def _is_as_tagged(word: Word, lexicon: SynonymLexicon) -> bool:
    """Whether the form is a noun, or a verb, often enough for the tag to be believed."""
    if " " in word.lemma:
        return True
    other_form = _OTHER[word.pos]
    across = lexicon.senses(lemma_of(word.form.lower(), _UPOS[other_form]), other_form)
    met = _times_met(lexicon.senses(word.lemma, word.pos))
    return _share_of_pos(met, _times_met(across)) >= _AS_TAGGED


def _share_of_synsets(senses: tuple[Sense, ...], synsets: set[str]) -> float:
    return float(
        sum(share for share, sense in zip(sense_shares(senses), senses) if sense.synset in synsets)
    )


def _times_met(senses: tuple[Sense, ...]) -> float:
    """How often a lemma was met; half a time where nobody met it."""
    return sum(sense.count for sense in senses) + 0.5 if senses else 0.0


def _share_of_pos(met: float, across: float) -> float:
    return met / (met + across) if met + across else 0.0


UNLIKE = "not alike everywhere"
TARGET = "target"
CONTRAST = "options differ in it"
_FEW = 2
"""Words in which options differ that are a minimal pair, or answers rather than sentences."""
_WORD = re.compile(r"[\w']+")


def mark_bound_words(
    item: Item, words: Sequence[Word], standing: Mapping[str, int], *, careful: bool = False
) -> list[Word]:
    """The words, those marked that have to stay; `standing` says how often each form occurs in
    the item, in small letters. With care also the words stay that the answer hangs on, and a word
    that is before a clause or a preposition somewhere counts as such everywhere."""
    words = _keep_target(item, _unify_tags(words))
    if careful:
        words = _unify_bounds(_keep_contrast(item, words))
    form_counts: dict[Key, Counter[str]] = {}
    claimed: dict[Key, set[str]] = {}
    for word in words:
        counts = form_counts.setdefault(word.key, Counter())
        claims = claimed.setdefault(word.key, set())
        for part in word.parts:
            counts[part.form] += 1
            claims.add(part.form)
            if part.pos is not None:
                claims |= _inflections(part.lemma.lower(), part.pos)
    stay = {word.key for word in words if word.why}
    for key, claims in claimed.items():
        if any(standing.get(form, 0) > form_counts[key][form] for form in claims):
            stay.add(key)
    return _mark_words(words, UNLIKE, lambda word: word.key in stay and not word.why)


def _mark_words(words: list[Word], why: str, stays: Callable[[Word], bool]) -> list[Word]:
    return [replace(word, why=why) if stays(word) else word for word in words]


def target_forms(item: Item) -> frozenset[str]:
    """All forms of the word that an item with a single option asks for, as a noun and a verb."""
    if len(item.options) != 1:
        return frozenset()
    word = item.options[0].strip().lower()
    noun, verb = lemma_of(word, "NOUN"), lemma_of(word, "VERB")
    return frozenset((word,)) | _inflections(noun, "noun") | _inflections(verb, "verb")


def _unify_tags(words: Sequence[Word]) -> list[Word]:
    """One tag for one form: of a noun everywhere, of a verb in the options, of which one may be
    ungrammatical and mislead the tagger. The first counts."""
    tags: dict[tuple[str, Key], str] = {}
    tagged = []
    for word in words:
        if word.pos == "noun" or word.field.startswith(OPTIONS):
            word = replace(word, tag=tags.setdefault((word.form.lower(), word.key), word.tag))
        tagged.append(word)
    return tagged


def _keep_target(item: Item, words: list[Word]) -> list[Word]:
    """The word that an item asks for stays, wherever it stands."""
    target = target_forms(item)
    return [
        replace(word, why=TARGET)
        if target and (word.field.startswith(OPTIONS) or any(p.form in target for p in word.parts))
        else word
        for word in words
    ]


def _keep_contrast(item: Item, words: list[Word]) -> list[Word]:
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
    return _mark_words(
        words, CONTRAST, lambda word: not word.why and any(p.form in differ for p in word.parts)
    )


def _unify_bounds(words: list[Word]) -> list[Word]:
    bounds: dict[Key, set[str]] = {}
    for word in words:
        if word.bound:
            bounds.setdefault(word.key, set()).add(word.bound)
    unified = []
    for word in words:
        if kinds := bounds.get(word.key):
            # Verbs that take the same clauses and the same prepositions are not known: those stay.
            why = word.why or ("" if len(kinds) == 1 else min(kinds))
            word = replace(word, bound=min(kinds), why=why)
        unified.append(word)
    return unified


@cache
def _inflections(lemma: str, pos: Pos) -> frozenset[str]:
    return frozenset(form.lower() for tag in TAGS[pos] for form in forms(lemma, pos, tag))


Variant = Literal["careful", "exact", "paper"]
_WORD_FIELDS = ("field", "start", "end", "lemma", "pos", "tag")


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
class ChosenLemma:
    """The sense of a word and its number, and the lemma that takes its place."""

    sense: Sense
    answer: SenseAnswer
    lemma: str
    choices: int


def draw_lemma(
    lemmas: Sequence[str], sense: Sense, answer: SenseAnswer, word: Word, item: Item, *, seed: int
) -> ChosenLemma:
    """One of the lemmas, each as likely as the other.

    The draw depends on the seed, the item and the word alone, not on what else is read.
    """
    key = "\0".join((str(seed), item.task, item.id, word.pos, word.lemma))
    digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    lemma = lemmas[int.from_bytes(digest, "big") % len(lemmas)]
    return ChosenLemma(sense, answer, lemma, len(lemmas))


def keep_distinct(
    item: Item, chosen: Sequence[tuple[Word, ChosenLemma]]
) -> Sequence[tuple[Word, ChosenLemma]]:
    """Those words whose replacement leaves options different that were so.

    *that foot* and *that feet* may become one; then what the options do not share stays.
    """
    if not _merges_options(item, chosen):
        return chosen
    option_counts: dict[tuple[str, str], list[Counter[str]]] = {}
    for word, _ in chosen:
        if word.field.startswith(OPTIONS):
            counts = option_counts.setdefault(word.key, [Counter() for _ in item.options])
            counts[int(word.field.partition(".")[2])][word.form.lower()] += 1
    shared = [
        (word, choice)
        for word, choice in chosen
        if all(count == option_counts[word.key][0] for count in option_counts.get(word.key, ()))
    ]
    return [] if _merges_options(item, shared) else shared


def _merges_options(item: Item, chosen: Sequence[tuple[Word, ChosenLemma]]) -> bool:
    return len(set(replace_words(item, chosen)[0].options)) < len(set(item.options))


def replace_words(
    item: Item, chosen: Iterable[tuple[Word, ChosenLemma]]
) -> tuple[Item, list[Replacement]]:
    """The item with these words replaced, and what was done."""
    by_field: dict[str, list[tuple[Word, ChosenLemma]]] = {}
    for word, choice in chosen:
        by_field.setdefault(word.field, []).append((word, choice))
    done: list[Replacement] = []

    def new(field: str, text: str) -> str:
        changed, log = _replace_in_field(item, text, by_field.get(field, []))
        done.extend(log)
        return changed

    new_item = replace(
        item,
        context=new(CONTEXT, item.context),
        options=tuple(new(f"{OPTIONS}.{n}", text) for n, text in enumerate(item.options)),
        ending=new(ENDING, item.ending),
    )
    return new_item, done


def _replace_in_field(
    item: Item, text: str, words: Sequence[tuple[Word, ChosenLemma]]
) -> tuple[str, list[Replacement]]:
    out, at = "", 0
    done = []
    for word, choice in sorted(words, key=lambda each: each[0].start):
        form = match_case(inflect(choice.lemma, word.pos, word.tag), word.form)
        out = agree_article(out + text[at : word.start], word.form, form)
        done.append(
            Replacement(
                item=item.id,
                task=item.task,
                **{name: getattr(word, name) for name in _WORD_FIELDS},
                original=word.form,
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
