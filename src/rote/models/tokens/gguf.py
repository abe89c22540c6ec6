"""The tokenizer that a GGUF file's metadata describe, by the library `tokenizers`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rote.core.errors import InputError, MissingExtra
from rote.models.tokens.encoding import Library

_NORMAL, _CONTROL, _DEFINED = 1, 3, 4
_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
_WORDS = _LEVEL | {"use_regex": True}
_DIGITS = {"type": "Digits", "individual_digits": True}
_LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
    r"\s*[\r\n]+|\s+(?!\S)|\s+"
)
_CUTTING: dict[str, dict[str, Any]] = {
    "gpt-2": _WORDS,
    "smollm": {"type": "Sequence", "pretokenizers": [_DIGITS, _WORDS]},
    "llama-bpe": {
        "type": "Sequence",
        "pretokenizers": [
            {
                "type": "Split",
                "pattern": {"Regex": _LLAMA3},
                "behavior": "Isolated",
                "invert": False,
            },
            _LEVEL | {"use_regex": False},
        ],
    },
}
"""How words are cut, by the name that llama.cpp gives it."""


def gguf_tokens(path: str, fields: Mapping[str, Any]) -> Library:
    """The tokenizer of a file's metadata, with its start token (else its end token)."""
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise MissingExtra("tokenizers", "gguf", "The tokenizer of a GGUF file") from None
    found = (fields.get(f"tokenizer.ggml.{name}_token_id") for name in ("bos", "eos"))
    start = next((one for one in found if one is not None), None)
    if type(start) is not int:
        raise InputError(
            "neither tokenizer.ggml.bos_token_id nor tokenizer.ggml.eos_token_id is a number",
            file=path,
            remedy="Convert the model again",
        )
    try:
        made = Tokenizer.from_str(json.dumps(described(path, fields)))
    except Exception as error:  # the package raises bare Exception
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"its tokenizer.ggml fields do not fit together: {error}",
            file=path,
            remedy="Convert the model again",
        ) from None
    return Library(made, int(start))


def described(path: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata as a tokenizer.json."""

    def said(name: str, default: Any = None) -> Any:
        return fields.get(f"tokenizer.ggml.{name}", default)

    for name, wanted in (("model", ("gpt2",)), ("pre", _CUTTING), ("add_eos_token", (None, False))):
        if said(name) not in wanted:
            known = ", ".join(map(str, wanted))
            raise InputError(
                f"tokenizer.ggml.{name} is {said(name)!r}; {known} can be read",
                file=path,
                remedy="Serve the model with llama.cpp and name it openai:URL#NAME",
            )
    tokens = said("tokens") or []
    kinds = said("token_type") or [_NORMAL] * len(tokens)
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    start = said("bos_token_id")
    around = None
    if said("add_bos_token") and start is not None:
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
        "pre_tokenizer": _CUTTING[said("pre")],
        "post_processor": around,
        "decoder": _LEVEL,
        "model": {
            "type": "BPE",
            "vocab": {token: number for number, token in enumerate(tokens)},
            "merges": [one.split(" ") for one in said("merges") or []],
            "ignore_merges": said("pre") == "llama-bpe",
        },
    }
