"""Subwords of a Hugging Face tokenizer.json, given by its path.

Items are the tokenizer's own strings (`Ġthe`, `##ing`), without special tokens;
spans are the characters they stand for, and may overlap where one character is
several subwords.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from rote.core.errors import InputError, import_extra
from rote.core.layer import Layer, number

VERSION = "1"


@lru_cache(maxsize=4)
def load(path: str) -> Any:
    tokenizers = import_extra("tokenizers", "tokenizers", "subwords", "A tokenizer.json")
    try:
        tokenizer = tokenizers.Tokenizer.from_file(path)
    except Exception as error:  # the package raises bare Exception
        raise InputError(
            f"not a tokenizer.json: {error}", file=path, remedy="Save it again with save()"
        ) from None
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def tokenize(texts: Sequence[str], path: str) -> Layer:
    # Rust strings hold no surrogates; one character for one keeps the offsets right.
    clean = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
    encodings = load(path).encode_batch(clean, add_special_tokens=False)
    vocabulary, ids = number(token for encoding in encodings for token in encoding.tokens)
    spans = [pair for encoding in encodings for pair in encoding.offsets]
    pairs = np.array(spans, np.int32).reshape(-1, 2)
    return Layer(
        name="word",
        ids=ids,
        vocabulary=vocabulary,
        starts=np.ascontiguousarray(pairs[:, 0]),
        ends=np.ascontiguousarray(pairs[:, 1]),
        text_ends=np.cumsum([len(encoding.ids) for encoding in encodings], dtype=np.int64),
    )
