"""What a model's tokenizer is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rote.core.errors import InputError, MissingExtra


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


_BEFORE = 8
"""Tokens before, that decoding may look at: some write the first of all without its space."""


@dataclass(frozen=True, slots=True)
class Library:
    """A tokenizer of the package."""

    tokenizer: Any
    start: int

    @property
    def start_text(self) -> str:
        return str(self.tokenizer.id_to_token(self.start) or "")

    @property
    def size(self) -> int:
        return int(max(self.tokenizer.get_vocab(with_added_tokens=True).values())) + 1

    def encode(self, text: str, *, special: bool) -> Encoded:
        # Rust strings hold no surrogates; one character for one keeps the offsets right.
        clean = text.encode("utf-8", "replace").decode("utf-8")
        found = self.tokenizer.encode(clean, add_special_tokens=special)
        ends = [end for _, end in found.offsets]
        return Encoded(
            list(found.ids), without_gaps([start for start, _ in found.offsets], ends), ends
        )

    def decode(self, ids: Sequence[int], before: Sequence[int]) -> str:
        return decoded(self.tokenizer.decode, ids, before)


def decoded(decode: Any, ids: Sequence[int], before: Sequence[int]) -> str:
    """What the tokens add to the text of those before."""
    known = list(before[-_BEFORE:])
    start: str = decode(known) if known else ""
    whole: str = decode([*known, *ids])
    return whole[len(start) :] if whole.startswith(start) else str(decode(list(ids)))


def open_library(path: str) -> Any:
    """The package's tokenizer of a file."""
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise MissingExtra(
            "tokenizers", "subwords", f"The kind of tokenizer that {path} describes"
        ) from None
    try:
        tokenizer = Tokenizer.from_file(path)
    except Exception as error:  # the package raises bare Exception
        raise InputError(
            f"not a tokenizer.json: {error}", file=path, remedy="Save the tokenizer again"
        ) from None
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer
