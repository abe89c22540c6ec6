"""Facts that two similar texts must share: numbers, names and negation.

"Born in 1912" and "born in 1921" mean nearly the same to an embedder, and are not the same. Two
texts state different facts if each has a number (or a name) that the other lacks, or if one denies
what the other says: the first word of meaning behind the negation, or one near it, is in the other.
What only one side mentions is no difference: a paraphrase may leave it out, and *could not stand*
is *hated*. Exchanged roles ("Ann hit Bob", "Bob hit Ann") and antonyms are not noticed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np

from rote.annotate import sentences, tagging, words
from rote.annotate.embeddings import static
from rote.annotate.lemmas import lemma_of
from rote.core.layer import Layer

VERSION = "4"
NUMBERS, NAMES, NEGATION = "numbers", "names", "negation"

_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_ORDINALS = (
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
    "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
).split()
_VALUES = {name: float(value) for value, name in enumerate(_UNITS)}
_VALUES |= {name: float(value) for value, name in enumerate(_ORDINALS)}
_VALUES |= {name: 10.0 * value for value, name in enumerate(_TENS, 2)}
_VALUES |= {name[:-1] + "ieth": 10.0 * value for value, name in enumerate(_TENS, 2)}
_VALUES |= {"dozen": 12.0, "score": 20.0, "twice": 2.0, "thrice": 3.0, "once": 1.0, "half": 0.5}
_VALUES |= {"threescore": 60.0, "fourscore": 80.0, "dozens": 12.0}
_SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_SCALES |= {name + "th": value for name, value in _SCALES.items()}
_SCALES |= {name + "s": value for name, value in _SCALES.items() if not name.endswith("th")}
_DIGITS = re.compile(
    r"[$€£#]?(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(st|nd|rd|th|s|%|k|m|bn)?"
)
_HAS_DIGIT = re.compile(r"\d")
_CLOCK = re.compile(r"(\d{1,2})[:.](\d{2})")
_JOINTS = frozenset(("and", "-", "–"))
_SCALE_VALUES = frozenset(_SCALES.values())
_SUFFIXES = {"k": 1e3, "m": 1e6, "bn": 1e9}
_WEAK = frozenset({1.0, 2.0, 0.5})
"""Numbers that are also pronouns, seconds and halves: alone they tell no difference."""

_NEGATIONS = frozenset(
    "not n't no never none nobody nothing nowhere neither nor cannot without hardly scarcely "
    "barely seldom rarely".split()
)
_SOFT = re.compile(
    r"(?:un|dis|non|mis|im|in|ir|il)[a-z]{4,}|[a-z]{3,}less(?:ly)?|fail\w*|refus\w*|den(?:y|ie[sd]|ying)|"
    r"lack\w*|miss(?:ed|es|ing)?|prevent\w*|avoid\w*|stop(?:s|ped|ping)?|ceas\w*|reject\w*|forb[aio]d\w*|"
    r"except|absent|absence|empty|rather|instead|only|few|little|far|too|hard|hardly|or|free|deni\w*|declin\w*|"
    r"beyond|nil|ignor\w*|neglect\w*|keep|kept|still|remain\w*|impossible|ban(?:s|ned)?|forg[eo]t\w*|"
    r"hat(?:e[ds]?|ing)|with(?:h[eo]ld\w*)|gone|vanish\w*|cur(?:e[ds]?|ing)|worse|less"
)
_CLAUSE_ENDS = frozenset('. , ; : ! ? ( ) " “ ” and but or'.split())
_WORDS_OF_MEANING = frozenset("NOUN VERB ADJ PROPN NUM ADV".split())
_LIGHT = frozenset(
    "be have do able get become go ever more most much many long far very really quite yet "
    "enough other same one too so as any anyone anybody anything".split()
)
"""Lemmas that are passed over in looking for what a negation denies."""
_PRONOUNS = frozenset("nobody nothing none never nowhere".split())
"""Negations that may deny what stands before them: he said nothing."""
_SAME_DENIED = 0.4
"""The cosine of static vectors from which on a denied word may be a word of the other text. At 0.4
30 of 40 rewordings with a negation more are told apart, and 5 of 300 that say the same are taken
for them; if any negation counted, 40 and 22 (tests/search/test_facts.py, docs/curate.md)."""
_TITLES = frozenset("mr mrs ms dr miss sir lady lord king queen st saint prof".split())


@dataclass(frozen=True, slots=True)
class TextFacts:
    """What a text states in numbers and names, and how often it denies."""

    numbers: frozenset[float]
    names: frozenset[str]
    negations: int
    lower: frozenset[str]
    """All its words, in lower case."""
    lemmas: frozenset[str]
    """Of its words of meaning."""
    denied: frozenset[str]
    """Of these the first behind each negation."""


def read_facts(texts: Sequence[str]) -> list[TextFacts]:
    """The facts of each text.

    >>> read_facts(["Ann was not born in nineteen hundred and twelve."])[0].numbers
    frozenset({1912.0})
    """
    layer = sentences.split(texts, words.get(words.DEFAULT)(texts))
    upos = tagging.tag(layer)[1]
    return [_facts_of(layer, upos, number) for number in range(len(texts))]


def _facts_of(layer: Layer, upos: Layer, number: int) -> TextFacts:
    place = layer.slice(number)
    strings = [layer.vocabulary[item] for item in layer.ids[place].tolist()]
    tags = [upos.vocabulary[item] for item in upos.ids[place].tolist()]
    folded = [string.lower().replace("’", "'") for string in strings]
    names = {
        _plain_name(word)
        for string, word, tag in zip(strings, folded, tags)
        if tag == "PROPN" and string[:1].isupper() and word.rstrip(".") not in _TITLES
        if len(word.rstrip(".")) > 1 and word not in _VALUES and not _HAS_DIGIT.search(word)
    }
    lemmas = [
        lemma if tag in _WORDS_OF_MEANING and lemma not in _LIGHT else ""
        for lemma, tag in zip(map(lemma_of, folded, tags), tags)
    ]
    negations = list(_find_negations(folded))
    return TextFacts(
        frozenset(_numbers(folded)),
        frozenset(names),
        len(negations),
        frozenset((*folded, *map(_plain_name, folded))),
        frozenset(lemmas) - {""},
        frozenset(_denied(folded, lemmas, negations)) - {""},
    )


def _plain_name(name: str) -> str:
    """Without accents and stops: Übel is Ubel, U.S. is US."""
    plain = unicodedata.normalize("NFD", name.replace("ß", "ss").replace(".", ""))
    return "".join(character for character in plain if not unicodedata.combining(character))


def _numbers(folded: Sequence[str]) -> Iterator[float]:
    """The numbers of a text, those in words put together: two hundred and five, nineteen twelve."""
    parts: list[float] = []
    pieces = [piece for word in folded for piece in _split_hyphen(word)]
    for place, word in enumerate([*pieces, "."]):
        value = _value(word)
        if value is None:
            after = _value(pieces[place + 1]) if place + 1 < len(pieces) else None
            if word in _JOINTS and parts and after is not None:
                continue  # a hundred and five; twenty - one
            yield from _sums(parts)
            parts = []
            if clock := _CLOCK.fullmatch(word):
                yield 60.0 * int(clock[1]) + int(clock[2])
            continue
        parts.append(value)


def _value(word: str) -> float | None:
    if digits := _DIGITS.fullmatch(word):
        return float(digits[1].replace(",", "")) * _SUFFIXES.get(digits[2] or "", 1.0)
    return _VALUES.get(word, _SCALES.get(word))


def _sums(parts: Sequence[float]) -> Iterator[float]:
    """Number words in a row: what multiplies, what is added, and where another number begins."""
    total, current = 0.0, None
    for value in parts:
        if current is None:
            current = value
        elif value in _SCALE_VALUES and (value > current or (value >= 1e3 and current % value)):
            # 205 thousand, 5,500 thousand: what was said so far of that scale is done.
            total, current = (
                (total, current * value) if value == 100 else (total + current * value, 0)
            )
        elif value < 100 and (current % 100 == 0 or (current % 10 == 0 and value < 10)):
            current += value
        elif 13 <= current <= 20 and 10 <= value < 100:
            current = 100 * current + value  # nineteen twelve
        else:
            yield total + current
            total, current = 0.0, value
    if current is not None:
        yield total + current


def _split_hyphen(word: str) -> Sequence[str]:
    parts = word.split("-")
    return parts if len(parts) > 1 and all(_value(part) is not None for part in parts) else (word,)


def _find_negations(folded: Sequence[str]) -> Iterator[int]:
    for place, word in enumerate(folded):
        after = folded[place + 1] if place + 1 < len(folded) else ""
        if word == "nor" or (word == "not" and after in ("only", "merely", "just")):
            continue  # neither ... nor denies once
        if word == "no" and after in ("doubt", "matter", "."):
            continue
        if word in _NEGATIONS or (word.endswith("n't") and word != "n't"):
            yield place


def _denied(
    folded: Sequence[str], lemmas: Sequence[str], negations: Iterable[int]
) -> Iterator[str]:
    """The first word of meaning behind each negation in its clause."""
    for place in negations:
        behind, before = range(place + 1, len(folded)), range(place - 1, -1, -1)
        for side in (behind, before)[: 1 + (folded[place] in _PRONOUNS)]:
            clause = takewhile(lambda each: folded[each] not in _CLAUSE_ENDS, side)
            word = next((w for each in clause if (w := lemmas[each]) and w not in _NEGATIONS), "")
            if word:
                yield word
                break


def compare_facts(one: TextFacts, other: TextFacts) -> tuple[str, ...]:
    """In what two similar texts differ: numbers, names, negation; nothing if they may agree.

    >>> compare_facts(*read_facts(["She was born in 1912.", "She was born in 1921."]))
    ('numbers',)
    """
    differences = []
    here, there = one.numbers - other.numbers, other.numbers - one.numbers
    if here and there and (here | there) - _WEAK:
        differences.append(NUMBERS)
    if _lacking_names(one, other) and _lacking_names(other, one):
        differences.append(NAMES)
    if _denies(one, other):
        differences.append(NEGATION)
    return tuple(differences)


def compare_pairs(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, ...]]:
    """The same for each pair of texts, which are read together."""
    facts = read_facts([text for pair in pairs for text in pair])
    return list(map(compare_facts, facts[::2], facts[1::2]))


def _lacking_names(one: TextFacts, other: TextFacts) -> set[str]:
    """The names of one text that the other lacks in any spelling, short forms included."""
    here = sorted(name[0] for name in one.names - other.names)
    if any(sorted(name) == here for name in other.names - one.names):
        return set()
    return {
        name
        for name in one.names
        if name not in other.lower and not any(is_same_name(name, each) for each in other.names)
    }


def is_same_name(first: str, second: str) -> bool:
    """Whether two names in lower case may be one: spelled nearly alike, or one shortened.

    >>> is_same_name("zelenskyy", "selensky"), is_same_name("kiev", "kyiv")
    (True, True)
    >>> is_same_name("london", "linden"), is_same_name("austria", "australia")
    (False, False)
    """
    first, second = (name.removesuffix("'s").strip(".'") for name in (first, second))
    if first == second:
        return True
    short, long = sorted((first, second), key=len)
    if len(short) >= 3 and long.startswith(short) and len(long) - len(short) <= 3:
        return True
    if len(short) >= 5 and first[0] == second[0] and _count_edits(short, long) == 1:
        return True
    return len(short) >= 4 and _sounds_alike(short, long)


_SOUNDS = (("ph", "f"), ("tz", "s"), ("ck", "k"), ("x", "ks"), ("th", "t"), ("kh", "k"), ("h", ""))
_LETTERS = str.maketrans("yjwzcq", "iivskk")
_REPEATED = re.compile(r"(.)\1+")
_VOWELS = re.compile("[aeiou]+")


def _sounds_alike(first: str, second: str) -> bool:
    """Whether names have the same consonants as they are transcribed from other languages, and at
    most a quarter of their letters differs."""
    sounds = []
    for name in (first, second):
        for spelled, sound in _SOUNDS:
            name = name.replace(spelled, sound)
        sounds.append(_REPEATED.sub(r"\1", name.translate(_LETTERS)))
    plain, second_plain = sounds
    if _VOWELS.sub("", plain) != _VOWELS.sub("", second_plain) or plain[:1] != second_plain[:1]:
        return False
    if len(second) <= 5 and len(plain) == len(second_plain):
        return plain == second_plain  # Leeds is not Lodz
    return _count_edits(plain, second_plain) <= max(1, len(second) // 4)


def _count_edits(first: str, second: str) -> int:
    """Letters that are exchanged, added or left out."""
    before = list(range(len(second) + 1))
    for row, letter in enumerate(first, 1):
        now = [row]
        for column, rival in enumerate(second, 1):
            best = min(before[column], now[-1]) + 1
            now.append(min(best, before[column - 1] + (letter != rival)))
        before = now
    return before[-1]


def _denies(one: TextFacts, other: TextFacts) -> bool:
    """Whether one text denies what the other says, not even in a softer word."""
    fewer, more = sorted((one, other), key=lambda facts: facts.negations)
    if fewer.negations or more.negations % 2 == 0:
        return False
    if any(_SOFT.fullmatch(word) for word in fewer.lower - more.lower):
        return False
    if more.denied & fewer.lemmas or not (more.denied and fewer.lemmas):
        return bool(more.denied & fewer.lemmas)
    denied, stated = (
        static.unit(static.weighted_rows(sorted(each)).astype(np.int64))
        for each in (more.denied, fewer.lemmas)
    )
    return bool(np.max(denied @ stated.T) >= _SAME_DENIED)
