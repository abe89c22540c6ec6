"""From a lemma to the form that occurs in a text: number, tense, capitals.

Forms are lemminflect's: its dictionary, and its rules for lemmas that the dictionary lacks. Of a
lemma of several words the head is inflected: the last word of a noun (the one before *of* and the
like, where there is one), the first of a verb.
"""

from __future__ import annotations

import re
from functools import cache

from rote.annotate._lemminflect import inflections
from rote.curate._perturb.lexicons import Pos

NOUN_TAGS = ("NN", "NNS")
VERB_TAGS = ("VB", "VBD", "VBG", "VBN", "VBP", "VBZ")
TAGS: dict[Pos, tuple[str, ...]] = {"noun": NOUN_TAGS, "verb": VERB_TAGS}
_UPOS: dict[Pos, str] = {"noun": "NOUN", "verb": "VERB"}
_AFTER_HEAD = frozenset(("of", "in", "to", "for", "at", "on", "by", "from", "with", "and", "de"))
"""Words that follow the head of a noun: *point of view*, *mother-in-law*."""
_PARTICLES = frozenset(("up", "off", "out", "in", "down", "over", "away", "on", "by", "through"))
_BREAK = re.compile("([ -])")


def inflected(lemma: str, pos: Pos, tag: str) -> str:
    """The form of a lemma, of one word or of several, that a Penn tag asks for."""
    pieces = _BREAK.split(lemma)
    words = pieces[::2]
    # mother-in-law is inflected like son of man, hand-me-down and make-up like one word.
    if pos == "verb" or not any(word.lower() in _AFTER_HEAD for word in words[1:]):
        pieces = re.split("( )", lemma)
        words = pieces[::2]
    head = 2 * _head(words, pos)
    pieces[head] = _word(pieces[head], pos, tag)
    return "".join(pieces)


@cache
def forms(lemma: str, pos: Pos, tag: str) -> tuple[str, ...]:
    """All spellings of one word in one form, the usual one first."""
    wanted = "VB" if tag == "VBP" else tag
    machine = inflections()
    known = machine.getAllInflections(lemma, _UPOS[pos])
    if wanted in known:
        return tuple(known[wanted])
    if wanted in ("NN", "VB"):
        return (lemma,)
    if wanted == "NNS" and _is_plural(lemma):
        return (lemma,)
    return tuple(machine.getAllInflectionsOOV(lemma, _UPOS[pos]).get(wanted, (lemma,)))


def fitting_tag(form: str, lemma: str, pos: Pos, tag: str) -> str:
    """The tag, or where the form cannot have it (a tagger errs) the first that it can have."""
    fits = [each for each in TAGS[pos] if form.lower() in forms(lemma, pos, each)]
    return tag if tag in fits or not fits else fits[0]


def in_case_of(form: str, original: str) -> str:
    """A form with the capitals of the word that it replaces."""
    letters = [character for character in original if character.isalpha()]
    if len(letters) > 1 and all(character.isupper() for character in letters):
        return form.upper()
    if original[:1].isupper():
        return form[:1].upper() + form[1:]
    return form


def _head(words: list[str], pos: Pos) -> int:
    if pos == "verb":
        return 0
    after = [n for n, word in enumerate(words) if n and word.lower() in _AFTER_HEAD]
    return after[0] - 1 if after else len(words) - 1


def _word(word: str, pos: Pos, tag: str) -> str:
    lower = word.lower()
    base, _, after = lower.partition("-")
    if pos == "verb" and after in _PARTICLES:  # give-up the ghost
        return forms(base, pos, tag)[0] + lower[len(base) :]
    if tag == "NNS" and lower.endswith("."):  # Dr., Drs.
        return f"{word[:-1]}s."
    found = forms(lower, pos, tag)[0]
    # Capitals inside a lemma are its own, an ending has none: TVs, Walkmans.
    pairs = enumerate(zip(lower, found))
    same = next((at for at, (a, b) in pairs if a != b), min(len(lower), len(found)))
    return word[:same] + found[same:]


@cache
def _is_plural(lemma: str) -> bool:
    """Whether a noun is the plural form of itself or of another: *trousers*, *goods*."""
    from rote.annotate.lemmas import lemma_of

    return lemma.endswith("s") and (
        lemma_of(lemma, "NOUN") != lemma
        or not inflections().getAllInflections(lemma, "NOUN").get("NN")
    )


_SILENT = re.compile(r"(?i)(?:hour|honest|honou?r|heir)")
_CONSONANT = re.compile(
    r"(?i)(?:eu|ewe|uni(?!n|m)|us[aeiu]|ut[ei]|ubiq|ur[aieo]|u[kf]\b|one|once|ouija|o[nc]e\b)"
)
_LETTERS = re.compile(r"[AEFHILMNORSX][A-Z0-9]*\b")
"""Spelled out: an MP, an X-ray."""
_ARTICLE = re.compile(r"(?i)(?:^|(?<=[^\w'’-]))(an?)(\s+)$")


def vowel_first(text: str) -> bool:
    """Whether a text begins with the sound of a vowel."""
    if _LETTERS.match(text) and (text[1:2].isupper() or text[1:2] in ("", "-")):
        return True
    if _SILENT.match(text):
        return True
    return text[:1].lower() in "aeiou" and not _CONSONANT.match(text) if text else False


def agreeing(before: str, original: str, replacement: str) -> str:
    """The text before a word, with its last article, if it ends with one, made to agree."""
    found = _ARTICLE.search(before)
    if not found or vowel_first(original) == vowel_first(replacement):
        return before
    article = found[1]
    turned = article[0] if len(article) == 2 else article + ("N" if _shouted(before) else "n")
    return before[: found.start(1)] + turned + found[2]


def _shouted(before: str) -> bool:
    letters = [character for character in before[-12:] if character.isalpha()]
    return len(letters) > 1 and all(character.isupper() for character in letters)
