"""Scores that are said to tell texts a model was trained on from others.

    TDE accuracy      whether the greedy completion of the first half is the second
    TDE likelihood    log p(second half | first half)
    loss              - mean over tokens of log p(t)
    neighbours        loss(text) - mean over neighbours of loss(neighbour)
    zlib              loss / number of bytes after zlib
    Min-K%            mean of the k % lowest log p(t)
    Min-K%++          the same of (log p(t) - mu(t)) / sigma(t), mu and sigma those of log p under
                      the model's own distribution at t

Logarithms are natural. Carlini et al. (2021, 2023), Yeom et al. (2018), Mattern et al. (2023),
Shi et al. (2024), Zhang et al. (2025). An attack that needs what a backend does not give is nan.
"""

from __future__ import annotations

import math
import re
import zlib as packing
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rote.core.model import Continuation, Scored

_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Attack:
    """One score of a text; `sign` is +1 where higher values speak for memorization."""

    name: str
    title: str
    sign: Literal[1, -1]


ATTACKS = (
    Attack("tde_accuracy", "second half completed word for word", 1),
    Attack("tde_likelihood", "log-likelihood of the second half", 1),
    Attack("loss", "loss per token", -1),
    Attack("neighbours", "loss less that of neighbours", -1),
    Attack("zlib", "loss per compressed byte", -1),
    Attack("min_k", "Min-K%", 1),
    Attack("min_k_plus", "Min-K%++", 1),
)


def halves(text: str) -> Continuation:
    """The first half of the words, and the second with the space before it.

    Of an odd number of words the second half has one more. A text of one word has no half.
    """
    words = list(_WORD.finditer(text))
    cut = words[len(words) // 2 - 1].end() if len(words) > 1 else len(text)
    return Continuation(text[:cut], text[cut:])


def completed(second: Scored) -> float:
    """1 where every token of the second half is the likeliest one, so that greedy decoding writes
    exactly it; nan where there is none."""
    return float(second.greedy.all()) if len(second.greedy) else math.nan


def likelihood(second: Scored) -> float:
    return second.total if len(second.logprobs) else math.nan


def loss(whole: Scored) -> float:
    return -float(whole.logprobs.mean()) if len(whole.logprobs) else math.nan


def against_neighbours(whole: Scored, neighbours: Sequence[Scored]) -> float:
    """Negative where the model likes the text better than what could stand in its place."""
    losses = [loss(one) for one in neighbours]
    return loss(whole) - sum(losses) / len(losses) if losses else math.nan


def zlib(text: str, whole: Scored) -> float:
    return loss(whole) / len(packing.compress(text.encode("utf-8", "surrogatepass")))


def min_k(whole: Scored, k: float) -> float:
    return _lowest(whole.logprobs, k)


def min_k_plus(whole: Scored, k: float) -> float:
    """A place where the model is certain (no spread) says nothing and is left out."""
    told = whole.spread > 0
    if np.isnan(whole.spread).any():
        return math.nan
    return _lowest((whole.logprobs[told] - whole.expected[told]) / whole.spread[told], k)


def _lowest(values: NDArray[np.float64], k: float) -> float:
    """The mean of the lowest share `k` of the values, of one at least."""
    if not len(values):
        return math.nan
    count = max(1, int(k * len(values)))
    return float(np.sort(values)[:count].mean())
