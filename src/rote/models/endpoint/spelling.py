"""Where the tokens of an endpoint stand in the text that they spell.

Endpoints name tokens by their text. What they say of offsets differs (some count a start token
that is not in the text), so tokens are laid along the text instead. A token that holds a part of
a character only cannot be written: those between two that can share the characters between them.
"""

from __future__ import annotations

from collections.abc import Sequence

_FAR = 256
"""How many characters tokens that cannot be written may stand for."""


def lay(tokens: Sequence[str], text: str) -> list[tuple[int, int]] | None:
    """The span of each token up to the end of the text; None where they do not spell the text.

    A start token has an empty span, and one token behind the text (which the endpoint had to
    generate) is left out.
    """
    spans: list[tuple[int, int]] = []
    place = 0
    if tokens and not _seems(tokens[0], text) and tokens[1:] and _seems(tokens[1], text):
        spans.append((0, 0))
    while place < len(text):
        number = len(spans)
        if number == len(tokens):
            return None
        if length := _fits(tokens[number], text, place):
            spans.append((place, place + length))
            place += length
            continue
        whole, start = _next_whole(tokens, number, text, place)
        if start <= place:
            return None
        spans += [(place, start)] * (whole - number)
        place = start
    return spans


def _fits(token: str, text: str, place: int) -> int:
    """How many characters the token spells there; 0 where it spells something else."""
    if text.startswith(token, place):
        return len(token)
    # Some tokenizers put a space before every text.
    if not place and len(token) > 1 and token[0] == " " and text.startswith(token[1:]):
        return len(token) - 1
    return 0


def _seems(token: str, text: str) -> bool:
    """Whether the text may begin with this token, as far as can be seen."""
    return _fits(token, text, 0) > 0 or _broken(token)


def _next_whole(tokens: Sequence[str], first: int, text: str, place: int) -> tuple[int, int]:
    """The next token that can be found behind broken ones, and where it begins; -1: none can."""
    number = first
    while number < len(tokens) and _broken(tokens[number]):
        number += 1
    if number == first:
        return number, -1
    start = -1
    if number < len(tokens):
        start = text.find(tokens[number], place + 1, place + _FAR)
    if start < 0 and number >= len(tokens) - 1 and len(text) - place <= _FAR:
        start = len(text)  # the broken ones are the last of the text
    return number, start


def _broken(token: str) -> bool:
    return "\ufffd" in token or token.startswith("bytes:") or not token
