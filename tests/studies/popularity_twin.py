"""Popularity as its definition says it, one n-gram after another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

Gram = tuple[str, ...]


def ngrams(text: str, n: int) -> set[Gram]:
    words = text.split()
    return {tuple(words[i : i + n]) for i in range(len(words) - n + 1)}


def count(gram: Gram, corpus: Sequence[str]) -> int:
    documents = [text.split() for text in corpus]
    return sum(
        tuple(words[i : i + len(gram)]) == gram for words in documents for i in range(len(words))
    )


def deciles(counts: Sequence[float]) -> dict[float, int]:
    """Ten parts of equal size; equal counts share the lowest part that holds one of them."""
    found: dict[float, int] = {}
    for place, value in enumerate(sorted(counts)):
        part = math.floor(Fraction(10 * place, len(counts))) + 1
        found.setdefault(value, part)
    return found


def ips(text: str, n: int, counts: Mapping[Gram, int], popularity: Mapping[float, int]) -> float:
    own = ngrams(text, n)
    return sum(popularity[counts[gram]] for gram in own) / len(own) if own else math.nan


def score(options: Sequence[float], answer: int) -> float:
    right = options[answer]
    wrong = [value for number, value in enumerate(options) if number != answer]
    return right - sum(wrong) / len(wrong) if wrong else right
