"""All attack scores of all instances: what a model is asked, and what follows from its answers."""

from __future__ import annotations

import math
import re
import zlib as packing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rote.core.model import Continuation, Model, Scored
from rote.core.progress import Reporter
from rote.corpus.items import Item
from rote.models.answers import score_all

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


Floats = NDArray[np.float64]
Neighbours = Callable[[Sequence[str], Reporter], list[list[str]]]
"""Texts that could stand in the place of each text; none for one in which nothing can change."""


@dataclass(frozen=True, slots=True)
class Scores:
    """By attack one number per instance, and which instances of each item are right and wrong."""

    by_attack: dict[str, Floats]
    right: NDArray[np.int64]
    """-1 where nobody says which option is right."""
    wrong: tuple[NDArray[np.int64], ...]

    def of_right(self, attack: str) -> Floats:
        found = self.by_attack[attack][self.right]
        return np.where(self.right < 0, np.nan, found)

    def of_wrong(self, attack: str) -> Floats:
        """The mean over the wrong options; nan where there are none."""
        column = self.by_attack[attack]
        return np.array([column[own].mean() if len(own) else np.nan for own in self.wrong])

    def differences(self, attack: str) -> Floats:
        """(right - wrong) / |right|: log-likelihoods are negative, and the sign must stay."""
        right = self.of_right(attack)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = (right - self.of_wrong(attack)) / np.abs(right)
        return np.where(np.isfinite(found), found, np.nan)


def score(
    items: Sequence[Item], model: Model, k: float, neighbours: Neighbours | None, reporter: Reporter
) -> Scores:
    """Ask the model for every instance whole, its second half, and its neighbours."""
    instances = [text for item in items for text in item.instances()]
    wholes = score_all(model, [Continuation("", text) for text in instances], reporter)
    cuts = [halves(text) for text in instances]
    seconds = score_all(model, cuts, reporter, title="second halves")
    near = neighbours(instances, reporter) if neighbours else [[] for _ in instances]
    asked = [Continuation("", text) for some in near for text in some]
    answered = iter(score_all(model, asked, reporter, title="neighbours"))
    beside = [[next(answered) for _ in some] for some in near]
    rows = [
        (
            completed(second),
            likelihood(second),
            loss(whole),
            against_neighbours(whole, others),
            zlib(text, whole),
            min_k(whole, k),
            min_k_plus(whole, k),
        )
        for text, whole, second, others in zip(instances, wholes, seconds, beside)
    ]
    table = np.array(rows, np.float64).reshape(len(instances), len(ATTACKS))
    names = [attack.name for attack in ATTACKS]
    right, wrong = _places(items)
    return Scores({name: table[:, place] for place, name in enumerate(names)}, right, wrong)


def _places(items: Sequence[Item]) -> tuple[NDArray[np.int64], tuple[NDArray[np.int64], ...]]:
    right, wrong, first = [], [], 0
    for item in items:
        own = np.arange(first, first + len(item.options))
        right.append(-1 if item.answer is None else first + item.answer)
        wrong.append(own[:0] if item.answer is None else np.delete(own, item.answer))
        first += len(item.options)
    return np.array(right, np.int64), tuple(wrong)
