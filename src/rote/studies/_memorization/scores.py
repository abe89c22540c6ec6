"""All attack scores of all instances: what a model is asked, and what follows from its answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.core.model import Continuation, Model
from rote.core.progress import Reporter
from rote.corpus.items import Item
from rote.models.answers import score_all
from rote.studies._memorization import attacks

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
    cuts = [attacks.halves(text) for text in instances]
    seconds = score_all(model, cuts, reporter, title="second halves")
    near = neighbours(instances, reporter) if neighbours else [[] for _ in instances]
    asked = [Continuation("", text) for some in near for text in some]
    answered = iter(score_all(model, asked, reporter, title="neighbours"))
    beside = [[next(answered) for _ in some] for some in near]
    rows = [
        (
            attacks.completed(second),
            attacks.likelihood(second),
            attacks.loss(whole),
            attacks.against_neighbours(whole, others),
            attacks.zlib(text, whole),
            attacks.min_k(whole, k),
            attacks.min_k_plus(whole, k),
        )
        for text, whole, second, others in zip(instances, wholes, seconds, beside)
    ]
    table = np.array(rows, np.float64).reshape(len(instances), len(attacks.ATTACKS))
    names = [attack.name for attack in attacks.ATTACKS]
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
