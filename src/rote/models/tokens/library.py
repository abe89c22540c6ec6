"""Tokenizers of every other kind, run by the `tokenizers` package (extra `subwords`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rote.core.errors import InputError, MissingExtra
from rote.models.tokens.encoding import Encoded, without_gaps

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
