"""Context and continuation as tokens, by the rule of lm-evaluation-harness.

Spaces at the end of a context go over to the continuation; what the tokenizer makes of both
together, less as many tokens as the context alone has, is the continuation. So a space between
two words belongs to the second one, as the model has learned it.
"""

from __future__ import annotations

from dataclasses import dataclass

from rote.core.model import Continuation
from rote.models.tokens.encoding import Encoded, Tokens


@dataclass(frozen=True, slots=True)
class Pair:
    """`ids[first:]` are to be scored; their spans count from the beginning of the text."""

    ids: list[int]
    first: int
    starts: list[int]
    ends: list[int]


def pair(tokens: Tokens, one: Continuation) -> Pair:
    """The tokens of a context and of what follows it."""
    context = one.context.rstrip()
    text = one.context[len(context) :] + one.text
    moved = len(text) - len(one.text)
    if not one.text:
        return Pair([tokens.start], 1, [], [])
    if not one.context:
        return _from_start(tokens, one.text)
    # A context of spaces alone leaves nothing that could stand before: the start token does.
    before = _read(tokens, context).ids if context else [tokens.start]
    whole = _read(tokens, context + text) if context else tokens.encode(text, special=False)
    after = _tail(whole, len(before) if context else 0)
    if not after.ids:
        # The last word of the context has swallowed the continuation: it is read by itself.
        after, context = tokens.encode(text, special=False), ""
    away = len(context) + moved
    return Pair(
        [*before, *after.ids],
        len(before),
        [max(start - away, 0) for start in after.starts],
        [max(end - away, 0) for end in after.ends],
    )


def _from_start(tokens: Tokens, text: str) -> Pair:
    found = tokens.encode(text, special=False)
    if found.ids[:1] == [tokens.start]:  # the text writes its start token itself
        return Pair(found.ids, 1, found.starts[1:], found.ends[1:])
    return Pair([tokens.start, *found.ids], 1, found.starts, found.ends)


def _read(tokens: Tokens, text: str) -> Encoded:
    """With the start token that the tokenizer adds by itself, but not twice."""
    written = bool(tokens.start_text) and text.startswith(tokens.start_text)
    return tokens.encode(text, special=not written)


def _tail(whole: Encoded, first: int) -> Encoded:
    return Encoded(whole.ids[first:], whole.starts[first:], whole.ends[first:])


def prompt(tokens: Tokens, text: str) -> list[int]:
    """What a text to be continued begins with; without one, the start token."""
    return _read(tokens, text).ids or [tokens.start]
