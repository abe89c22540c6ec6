"""What a model's tokenizer is asked for, and the tokenizers of the library `tokenizers`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from rote.core.errors import InputError, MissingExtra
from rote.core.json_reader import JsonObject, read_json


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


def close_gaps(starts: Sequence[int], ends: Sequence[int]) -> list[int]:
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
class LibraryTokens:
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
        encoding = self.tokenizer.encode(clean, add_special_tokens=special)
        ends = [end for _, end in encoding.offsets]
        return Encoded(
            list(encoding.ids), close_gaps([start for start, _ in encoding.offsets], ends), ends
        )

    def decode(self, ids: Sequence[int], before: Sequence[int]) -> str:
        return decode_after(self.tokenizer.decode, ids, before)


def decode_after(decode: Any, ids: Sequence[int], before: Sequence[int]) -> str:
    """What the tokens add to the text of those before."""
    known = list(before[-_BEFORE:])
    start: str = decode(known) if known else ""
    full_text: str = decode([*known, *ids])
    return full_text[len(start) :] if full_text.startswith(start) else str(decode(list(ids)))


def read_tokens(folder: Path, start: int | None) -> LibraryTokens:
    """The tokenizer of `tokenizer.json`. `start` is what config.json says, if it does; the
    tokenizer's own settings go before it, as in transformers."""
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise MissingExtra("tokenizers", "numpy", "A model of numpy") from None
    path = folder / "tokenizer.json"
    described = read_object(path)
    _keep_spaces(described)
    try:
        tokenizer = Tokenizer.from_str(json.dumps(described))
        tokens = LibraryTokens(tokenizer, _start_token(folder, described, start))
    except InputError:
        raise
    except Exception as error:  # the package raises bare Exception
        raise InputError(
            f"it, or tokenizer_config.json, does not fit together ({error})",
            file=str(path),
            remedy="Save the tokenizer again",
        ) from None
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokens


def _keep_spaces(described: Any) -> None:
    """Spans with the spaces of a token, which belong to it."""
    for part in described.values() if isinstance(described, dict) else described:
        if isinstance(part, dict | list):
            _keep_spaces(part)
    if isinstance(described, dict) and "trim_offsets" in described:
        described["trim_offsets"] = False


def read_object(path: Path) -> dict[str, Any]:
    """An object in a file of a model's folder."""
    try:
        return dict(JsonObject.of(read_json(path), str(path)).values)
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror})",
            file=str(path),
            remedy="The folder of a model holds config.json, tokenizer.json, model.safetensors",
        ) from None


def _start_token(folder: Path, described: Mapping[str, Any], start: int | None) -> int:
    """The start token: that of tokenizer_config.json, or its end token, or config.json's."""
    settings = folder / "tokenizer_config.json"
    config = read_object(settings) if settings.is_file() else {}
    added = {entry.get("content"): entry.get("id") for entry in described.get("added_tokens") or ()}
    for name in ("bos_token", "eos_token"):
        token = config.get(name)
        text = token.get("content") if isinstance(token, dict) else token
        if isinstance(added.get(text), int):
            return int(added[text])
    if start is None:
        raise InputError(
            "neither tokenizer_config.json nor config.json names a start or an end token",
            file=str(folder),
            remedy="Give bos_token_id in config.json",
        )
    return start
