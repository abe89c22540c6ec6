"""The tokenizer that a GGUF file's metadata describe, by the library `tokenizers`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rote.core.errors import InputError, MissingExtra
from rote.models.tokens.encoding import LibraryTokens

_NORMAL, _CONTROL, _DEFINED = 1, 3, 4
_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
_WORDS = _LEVEL | {"use_regex": True}
_DIGITS = {"type": "Digits", "individual_digits": True}
_LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
    r"\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN2 = _LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")


def _split(pattern: str) -> dict[str, Any]:
    """Words by a pattern, then bytes."""
    cut = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    return {"type": "Sequence", "pretokenizers": [cut, _LEVEL | {"use_regex": False}]}


_CUTTING: dict[str, dict[str, Any]] = {
    "gpt-2": _WORDS,
    "smollm": {"type": "Sequence", "pretokenizers": [_DIGITS, _WORDS]},
    "llama-bpe": _split(_LLAMA3),
    "qwen2": _split(_QWEN2),
}
"""How words are cut, by the name that llama.cpp gives it."""


def is_known(fields: Mapping[str, Any]) -> bool:
    """Whether `gguf_tokens` cuts words as this file's model does."""
    kind, cut = (fields.get(f"tokenizer.ggml.{name}") for name in ("model", "pre"))
    return kind == "gpt2" and cut in _CUTTING


def gguf_tokens(path: str, fields: Mapping[str, Any]) -> LibraryTokens:
    """The tokenizer of a file's metadata, with its start token (else its end token)."""
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise MissingExtra("tokenizers", "gguf", "The tokenizer of a GGUF file") from None
    numbers = (fields.get(f"tokenizer.ggml.{name}_token_id") for name in ("bos", "eos"))
    start = next((number for number in numbers if number is not None), None)
    if type(start) is not int:
        raise InputError(
            "neither tokenizer.ggml.bos_token_id nor tokenizer.ggml.eos_token_id is a number",
            file=path,
            remedy="Convert the model again",
        )
    try:
        tokenizer = Tokenizer.from_str(json.dumps(tokenizer_description(path, fields)))
    except Exception as error:  # the package raises bare Exception
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"its tokenizer.ggml fields do not fit together: {error}",
            file=path,
            remedy="Convert the model again",
        ) from None
    return LibraryTokens(tokenizer, int(start))


def tokenizer_description(path: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata as a tokenizer.json."""

    def setting(name: str, default: Any = None) -> Any:
        return fields.get(f"tokenizer.ggml.{name}", default)

    for name, wanted in (("model", ("gpt2",)), ("pre", _CUTTING), ("add_eos_token", (None, False))):
        if setting(name) not in wanted:
            known = ", ".join(map(str, wanted))
            raise InputError(
                f"tokenizer.ggml.{name} is {setting(name)!r}; {known} can be read",
                file=path,
                remedy="Serve the model with llama.cpp and name it openai:URL#NAME",
            )
    tokens = setting("tokens") or []
    kinds = setting("token_type") or [_NORMAL] * len(tokens)
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    start = setting("bos_token_id")
    around = None
    if setting("add_bos_token") and start is not None:
        name = tokens[start]
        around = {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": name, "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
            ],
            "pair": [],
            "special_tokens": {name: {"id": name, "ids": [start], "tokens": [name]}},
        }
    return {
        "version": "1.0",
        "added_tokens": [
            {"id": number, "content": token, "special": kind == _CONTROL, **flags}
            for number, (token, kind) in enumerate(zip(tokens, kinds))
            if kind in (_CONTROL, _DEFINED)
        ],
        "normalizer": None,
        "pre_tokenizer": _CUTTING[setting("pre")],
        "post_processor": around,
        "decoder": _LEVEL,
        "model": {
            "type": "BPE",
            "vocab": {token: number for number, token in enumerate(tokens)},
            "merges": [merge.split(" ") for merge in setting("merges") or []],
            "ignore_merges": setting("pre") == "llama-bpe",
        },
    }
