"""From the files of a model's folder to its tokenizer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rote.core.errors import InputError
from rote.core.json_reader import JsonObject, read_json
from rote.models.tokens.byte_bpe import ByteBPE, carried_over, letters
from rote.models.tokens.encoding import Library, Tokens, open_library

_PLAIN = {
    "type": "BPE",
    "dropout": None,
    "unk_token": None,
    "continuing_subword_prefix": None,
    "end_of_word_suffix": None,
    "fuse_unk": False,
    "byte_fallback": False,
    "ignore_merges": False,
}
"""What is read here; empty prefixes and suffixes are as good as none."""


def read_tokens(folder: Path, start: int | None) -> Tokens:
    """The tokenizer of `tokenizer.json`. `start` is what config.json says, if it does; the
    tokenizer's own settings go before it, as in transformers."""
    path = folder / "tokenizer.json"
    described = read_object(path)
    try:
        first = _first(folder, described, start)
        own = _own(described, first)
    except (LookupError, ValueError, TypeError, AttributeError) as error:
        raise InputError(
            f"it, or tokenizer_config.json, does not fit together ({error!r})",
            file=str(path),
            remedy="Save the tokenizer again",
        ) from None
    return own or Library(open_library(str(path)), first)


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


def _first(folder: Path, described: Mapping[str, Any], start: int | None) -> int:
    """The start token: that of tokenizer_config.json, or its end token, or config.json's."""
    settings = folder / "tokenizer_config.json"
    said = read_object(settings) if settings.is_file() else {}
    added = {one.get("content"): one.get("id") for one in described.get("added_tokens") or ()}
    for name in ("bos_token", "eos_token"):
        token = said.get(name)
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


def _own(described: Mapping[str, Any], start: int) -> ByteBPE | None:
    """Read here, if it is byte-level BPE whose expression means the same in Python."""
    model = described.get("model") or {}
    said = {name: model.get(name) or default for name, default in _PLAIN.items()}
    words = _words(described.get("pre_tokenizer"))
    before = _before(described.get("post_processor"))
    if (
        said != _PLAIN
        or words is None
        or before is None
        or described.get("normalizer")
        or (described.get("decoder") or {}).get("type") != "ByteLevel"
    ):
        return None
    added: dict[str, int] = {}
    for one in described.get("added_tokens") or ():
        if not one.get("special") or any(one.get(flag) for flag in _FLAGS) or not one["content"]:
            return None
        added[one["content"]] = int(one["id"])
    names = {number: name for name, number in added.items()}
    found = _built(model, words, added, start, names.get(start, ""))
    return found and replace(found, before=before)


_FLAGS = ("single_word", "lstrip", "rstrip", "normalized")


def _words(cutting: Mapping[str, Any] | None) -> re.Pattern[str] | None:
    """The expression of `Split`, isolated, followed by `ByteLevel` without one of its own."""
    parts: list[Any] = (cutting or {}).get("pretokenizers") or []
    if len(parts) != 2:
        return None
    split, level = parts
    regular = (split.get("pattern") or {}).get("Regex")
    if (
        (split.get("type"), level.get("type")) != ("Split", "ByteLevel")
        or (split.get("behavior"), split.get("invert")) != ("Isolated", False)
        or level.get("add_prefix_space") is not False
        or level.get("use_regex") is not False
        or regular is None
    ):
        return None
    return carried_over(regular)


def _before(around: Mapping[str, Any] | None) -> list[int] | None:
    """The special tokens before every text; None where something else is put around it."""
    if not around or around.get("type") == "ByteLevel":
        return []
    *first, last = around.get("single") or [None]
    if (
        around.get("type") != "TemplateProcessing"
        or last != {"Sequence": {"id": "A", "type_id": 0}}
        or not all(isinstance(one, dict) and "SpecialToken" in one for one in first)
    ):
        return None
    known = around.get("special_tokens") or {}
    found: list[int] = []
    for one in first:
        found += known[one["SpecialToken"]["id"]]["ids"]
    return found


def _built(
    model: Mapping[str, Any],
    words: re.Pattern[str],
    added: Mapping[str, int],
    start: int,
    start_text: str,
) -> ByteBPE | None:
    letter_of = letters()
    bytes_of = {letter: byte for byte, letter in letter_of.items()}
    vocabulary: dict[str, int] = model["vocab"]
    if not all(type(number) is int and number >= 0 for number in vocabulary.values()):
        raise ValueError("the number of a token is none")
    if not set(letter_of.values()) <= set(vocabulary):
        return None  # bytes without a token would be lost: the package knows how
    texts = {
        number: bytes(bytes_of[letter] for letter in token)
        for token, number in vocabulary.items()
        if token not in added
    }
    merges: dict[tuple[int, int], tuple[int, int]] = {}
    for rank, pair in enumerate(model["merges"]):
        first, second = pair.split(" ") if isinstance(pair, str) else pair
        merges[vocabulary[first], vocabulary[second]] = (rank, vocabulary[first + second])
    longest_first = sorted(added, key=len, reverse=True)
    return ByteBPE(
        start=start,
        start_text=start_text,
        texts=texts,
        added=added,
        names=re.compile("|".join(map(re.escape, longest_first))) if added else None,
        single=[vocabulary[letter_of[byte]] for byte in range(256)],
        merges=merges,
        words=words,
    )
