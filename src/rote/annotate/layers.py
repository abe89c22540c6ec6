"""Layers that follow from the words alone, aligned with them one to one."""

from __future__ import annotations

from collections.abc import Callable

from rote.core.errors import UnknownName
from rote.core.layer import Layer


def shape(word: str) -> str:
    """What a word looks like: Xxxx, dd, X.X.; runs of the same kind end at four."""
    out: list[str] = []
    for character in word:
        if character.isalpha():
            kind = "X" if character.isupper() else "x"
        else:
            kind = "d" if character.isdigit() else character
        if out[-4:] != [kind] * 4:
            out.append(kind)
    return "".join(out)


DERIVED: dict[str, Callable[[str], str]] = {"lower": str.lower, "shape": shape}


def derive(word: Layer, name: str) -> Layer:
    """The layer of this name made from the `word` layer; `word` is itself."""
    if name == "word":
        return word
    if name not in DERIVED:
        raise UnknownName("layer", name, ["word", *DERIVED])
    return word.map(name, DERIVED[name])
