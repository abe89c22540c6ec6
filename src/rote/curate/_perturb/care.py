"""Which lemmas of a synset may take the place of a word, where care is asked for.

Two words are exchanged if they mean the same most of the time, by how often annotators tagged them
with each sense: the share of the word's senses that the other lemma has, times the share of the
other's senses that the word has, is at least one half. Both also have to be used in like company,
or share still more. And the other has to be usual, so that nobody writes *caput* for head.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rote.annotate.lemmas import lemma_of
from rote.curate._perturb.bounds import CLAUSE, PREPOSITION, same_clauses, same_prepositions
from rote.curate._perturb.inflection import forms
from rote.curate._perturb.lexicons import Lexicon, Pos, Sense
from rote.curate._perturb.senses import shares
from rote.curate._perturb.senses.context import nearness, rarities
from rote.curate._perturb.words import Word

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
_APART = frozenset(
    frozenset(pair.split("/"))
    for pair in (
        "brow/forehead career/vocation castle/palace closet/cupboard committee/commission "
        "conclusion/decision holiday/vacation nutrient/food notice/detect"
    ).split()
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


def fitting(words: Sequence[Word], sense: Sense, lexicon: Lexicon) -> tuple[tuple[str, ...], str]:
    """The lemmas that may take the place of a word of this sense in all of its places; if none,
    why."""
    others = sense.others(words[0].lemma)
    if others and not all(_as_tagged(word, lexicon) for word in words):
        return (), DOUBTFUL
    # A lemma is refused for the first reason that holds anywhere.
    whys = [
        min(
            filter(None, (_why_not(word, lemma, sense, lexicon) for word in words)),
            key=_STAGES.index,
            default="",
        )
        for lemma in others
    ]
    good = tuple(lemma for lemma, why in zip(others, whys) if not why)
    return good, "" if good or not whys else max(whys, key=_STAGES.index)


def shared(lemma: str, other: str, pos: Pos, lexicon: Lexicon) -> tuple[float, float]:
    """Which share of the senses of a lemma, by how usual they are, the other has too; and the
    other way round, the senses of the other as noun and verb together."""
    own, its = lexicon.senses(lemma, pos), lexicon.senses(other, pos)
    held = {sense.synset for sense in own} & {sense.synset for sense in its}
    back = _held(its, held) * _of_pos(_met(its), _met(lexicon.senses(other, _OTHER[pos])))
    return _held(own, held), back


def _why_not(word: Word, lemma: str, sense: Sense, lexicon: Lexicon) -> str:
    if lemma.count(" ") > word.lemma.count(" ") or lemma != lemma.lower():
        return SEVERAL
    met = sum(s.count for s in lexicon.senses(lemma, word.pos) if s.synset == sense.synset)
    if _spelling(lemma) != _spelling(word.lemma) and not _usual(word, lemma, met):
        return RARE
    if not _same(word.lemma, lemma, word.pos, met, lexicon):
        return OTHERWISE
    return "" if _takes(word, lemma, sense) else COMPLEMENT


def _usual(word: Word, lemma: str, met: int) -> bool:
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


def _same(lemma: str, other: str, pos: Pos, met: int, lexicon: Lexicon) -> bool:
    """Whether two lemmas mean the same most of the time."""
    there, back = shared(lemma, other, pos, lexicon)
    both, near = there * back, nearness(lemma, other)
    own, least = NEAR_SHARED if near is not None and near >= _NEARER else SHARED
    if there < own or both < least:
        return False
    if there < 1 and other.endswith(lemma):  # a lid is more than an eyelid
        return False
    if frozenset((lemma, other)) in _APART:
        return False
    if " " in lemma:  # a glove is more than a baseball glove
        return both >= _SHARED_ALONE and (pos == "verb" or other not in lemma.split())
    if near is None:
        return both >= _SHARED_ALONE or met >= _MET_FAR
    return near >= _NEAR or (both >= _SHARED_FAR and met >= _MET_FAR)


def _takes(word: Word, lemma: str, sense: Sense) -> bool:
    """Whether a lemma fits what the word has with it: object, clause, preposition; number."""
    if word.pos == "noun":
        return not (word.counted and lemma in _UNCOUNTED)
    if word.frame == "object" and lemma in _NO_OBJECT:
        return False
    if word.bound == CLAUSE:
        return same_clauses(word.lemma, lemma)
    if word.bound == PREPOSITION:
        return same_prepositions(word.lemma, lemma)
    if word.frame == "object":
        return True
    return word.frame is None or not sense.frames or word.frame in sense.frames


def _spelling(lemma: str) -> str:
    """The same for what is one word in two spellings: *colour*, *realise*, *metre*."""
    for old, new in _SPELLINGS:
        lemma = old.sub(new, lemma)
    return lemma


def _as_tagged(word: Word, lexicon: Lexicon) -> bool:
    """Whether the form is a noun, or a verb, often enough for the tag to be believed."""
    if " " in word.lemma:
        return True
    other = _OTHER[word.pos]
    across = lexicon.senses(lemma_of(word.form.lower(), _UPOS[other]), other)
    return _of_pos(_met(lexicon.senses(word.lemma, word.pos)), _met(across)) >= _AS_TAGGED


def _held(senses: tuple[Sense, ...], held: set[str]) -> float:
    return float(sum(share for share, sense in zip(shares(senses), senses) if sense.synset in held))


def _met(senses: tuple[Sense, ...]) -> float:
    """How often a lemma was met; half a time where nobody met it."""
    return sum(sense.count for sense in senses) + 0.5 if senses else 0.0


def _of_pos(met: float, across: float) -> float:
    return met / (met + across) if met + across else 0.0
