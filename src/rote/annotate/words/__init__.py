"""Tokenizers: texts to `word` layers, one file each or in `_patterns`, known by their names.

`get("ud")` gives the default; `get("path/to/tokenizer.json")` one of Hugging Face's.
What a tokenizer is called and which version it has is its signature, which goes
into every result and every index made with it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rote.annotate import glyphs
from rote.core import plugins
from rote.core.errors import InputError, OptionError
from rote.core.layer import Layer

ROOM = "annotate.words"
DEFAULT = "ud"


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """A tokenizer by name: small, so that it travels to worker processes as it is."""

    name: str
    signature: str

    def __call__(self, texts: Sequence[str]) -> Layer:
        if self.name.endswith(".json"):
            from rote.annotate.words import subwords

            return subwords.tokenize(texts, self.name)
        folded = glyphs.fold_texts(texts)
        layer: Layer = plugins.load(ROOM, self.name).tokenize(folded.texts)
        return folded.restore(layer)


def get(name: str = DEFAULT) -> Tokenizer:
    if name.endswith(".json"):
        path = Path(name)
        if not path.is_file():
            raise InputError("no such file", file=name, remedy="Give the path of a tokenizer.json")
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        return Tokenizer(name, f"subwords/{digest[:12]}")
    module = plugins.load(ROOM, name)
    if name == "subwords":
        raise OptionError("subwords needs a file: give the path of a tokenizer.json as the name")
    return Tokenizer(name, f"{name}/{module.VERSION}-glyphs{glyphs.VERSION}")
