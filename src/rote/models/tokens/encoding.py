"""What a model's tokenizer is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Encoded:
    """The tokens of a text and the characters they stand for.

    Spans follow each other without a gap. Where one character is several tokens, each of them
    has the whole character as its span, so that spans overlap there. A token that stands for no
    character (a start token) has an empty span.
    """

    ids: list[int]
    starts: list[int]
    ends: list[int]


class Tokens(Protocol):
    """A tokenizer."""

    @property
    def start(self) -> int:
        """What a text begins with: the start token, or the end token where there is none."""

    @property
    def start_text(self) -> str:
        """How the start token is written."""

    @property
    def size(self) -> int:
        """One more than the highest number of a token."""

    def encode(self, text: str, *, special: bool) -> Encoded:
        """`special`: with the tokens that the tokenizer puts around a text, if it does that."""

    def decode(self, ids: Sequence[int], before: Sequence[int]) -> str:
        """The text of tokens that follow others; bytes that are no character become U+FFFD."""


def without_gaps(starts: Sequence[int], ends: Sequence[int]) -> list[int]:
    """Starts moved back to the end before, where some tokenizers leave a space out."""
    moved: list[int] = []
    reached = 0
    for start, end in zip(starts, ends):
        moved.append(min(start, reached) if end > start else start)
        reached = max(reached, end)
    return moved
