"""*a* or *an* before a word that was replaced.

The article changes where the first sound does, so that what was right stays right, and what was
wrong on purpose stays wrong.
"""

from __future__ import annotations

import re

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
