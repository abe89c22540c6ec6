"""The tokenizer that a GGUF file's metadata describe, by the library `tokenizers`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rote.core.errors import InputError, MissingExtra
from rote.models.tokens.encoding import LibraryTokens

_NORMAL, _CONTROL, _DEFINED = 1, 3, 4
_PIECES = "llama"
"""What llama.cpp calls SentencePiece's tokenizers that join pieces by score: Llama 2, Gemma."""
_SPACE = "▁"
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
    if kind == _PIECES:  # Phi 3 drops spaces behind special tokens, which no field says
        return fields.get("general.architecture") != "phi3"
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

    known: dict[str, tuple[Any, ...]] = {"model": ("gpt2", _PIECES), "add_eos_token": (None, False)}
    of_pieces = setting("model") == _PIECES
    if not of_pieces:
        known["pre"] = tuple(_CUTTING)
    for name, wanted in known.items():
        if setting(name) not in wanted:
            raise InputError(
                f"tokenizer.ggml.{name} is {setting(name)!r}; {', '.join(map(str, wanted))} can be "
                "read",
                file=path,
                remedy="Serve the model with llama.cpp and name it openai:URL#NAME",
            )
    tokens = setting("tokens") or []
    kinds = setting("token_type") or [_NORMAL] * len(tokens)
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    start = setting("bos_token_id")
    around = None
    if setting("add_bos_token", of_pieces) and start is not None:
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
    described = {
        "version": "1.0",
        "added_tokens": [
            {"id": number, "content": token, "special": kind == _CONTROL, **flags}
            for number, (token, kind) in enumerate(zip(tokens, kinds))
            if kind in (_CONTROL, _DEFINED)
        ],
        "post_processor": around,
    }
    vocabulary = {token: number for number, token in enumerate(tokens)}
    if of_pieces:
        return described | _pieces(
            vocabulary,
            setting("scores") or [],
            unknown=tokens[setting("unknown_token_id", 0)],
            prefix=setting("add_space_prefix", True),
        )
    return described | {
        "normalizer": None,
        "pre_tokenizer": _CUTTING[setting("pre")],
        "decoder": _LEVEL,
        "model": {
            "type": "BPE",
            "vocab": vocabulary,
            "merges": [merge.split(" ") for merge in setting("merges") or []],
            "ignore_merges": setting("pre") == "llama-bpe",
        },
    }


def _pieces(
    vocabulary: Mapping[str, int], scores: Sequence[float], *, unknown: str, prefix: bool
) -> dict[str, Any]:
    """The two neighbours that make the piece of the highest score are joined first."""
    merges = [
        (-scores[number], vocabulary[piece[:cut]], vocabulary[piece[cut:]], piece, cut)
        for piece, number in vocabulary.items()
        for cut in range(1, len(piece))
        if piece[:cut] in vocabulary and piece[cut:] in vocabulary
    ]
    before: list[dict[str, Any]] = [{"type": "Prepend", "prepend": _SPACE}] if prefix else []
    behind: list[dict[str, Any]] = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}]
    spaces = {"type": "Replace", "pattern": {"String": " "}, "content": _SPACE}
    words = {"type": "Replace", "pattern": {"String": _SPACE}, "content": " "}
    decoders = [words, {"type": "ByteFallback"}, {"type": "Fuse"}, *(behind if prefix else [])]
    return {
        "normalizer": {"type": "Sequence", "normalizers": [*before, spaces]},
        "pre_tokenizer": None,
        "decoder": {"type": "Sequence", "decoders": decoders},
        "model": {
            "type": "BPE",
            "vocab": vocabulary,
            "merges": [[piece[:cut], piece[cut:]] for *_, piece, cut in sorted(merges)],
            "unk_token": unknown,
            "fuse_unk": True,
            "byte_fallback": True,
        },
    }
