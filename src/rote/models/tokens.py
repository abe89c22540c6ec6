"""What a model's tokenizer is asked for, and those that the library `tokenizers` reads: by a
`tokenizer.json`, or as the metadata of a GGUF file describe one."""

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

    @classmethod
    def of(cls, ids: Sequence[int], offsets: Sequence[tuple[int, int]]) -> Encoded:
        """Starts are moved back to the end before, where some tokenizers leave a space out."""
        starts: list[int] = []
        reached = 0
        for start, end in offsets:
            starts.append(min(start, reached) if end > start else start)
            reached = max(reached, end)
        return cls(list(ids), starts, [end for _, end in offsets])


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


_BEFORE = 8
"""Tokens before, that decoding may look at: some write the first of all without its space."""


@dataclass(frozen=True, slots=True)
class LibraryTokens:
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
        return Encoded.of(encoding.ids, encoding.offsets)

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
    try:
        return dict(JsonObject.of(read_json(path), str(path)).values)
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror})",
            file=str(path),
            remedy="A model folder contains config.json, tokenizer.json, model.safetensors",
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


def has_known_tokenizer(fields: Mapping[str, Any]) -> bool:
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
    except InputError:
        raise
    except Exception as error:  # the package raises bare Exception
        raise InputError(
            f"its tokenizer.ggml fields are inconsistent: {error}",
            file=path,
            remedy="Convert the model again",
        ) from None
    return LibraryTokens(tokenizer, int(start))


def tokenizer_description(path: str, fields: Mapping[str, Any]) -> dict[str, Any]:
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
        scores, unknown = setting("scores") or [], tokens[setting("unknown_token_id", 0)]
        prefix = setting("add_space_prefix", True)
        return described | _pieces(vocabulary, scores, unknown=unknown, prefix=prefix)
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
