"""What may follow a context, with the probability of everything, at the price of what was seen.

`language_model.BackOff` holds the formula. Here a distribution is a chain: the items that followed
a context stand in it with their probabilities; all others have those of the context that is one
item shorter, times one number. So the mean and the spread of the log-probability over the whole
vocabulary need no pass over the vocabulary:

    sum over others of s p log(s p) = s log s (1 - P) + s (M - M'),

with P and M' the sums of p and p log p over the items that are not others, and M that over all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.core.model import Floats
from rote.index.columns.parts import ABSENT

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Mixture:
    """The distribution of the next item. Items are numbers of the shared vocabulary, 0 the
    document's end, ABSENT the unknown.

    `items` are those that followed the context, ascending, `chances` theirs; every other has
    `rest` times its chance under `shorter`. The shortest one holds the whole vocabulary, and
    `rest` is the chance of the unknown. `first` and `second` are the sums of p log p and
    p (log p)^2 over everything that can follow; `best` is the likeliest item.
    """

    items: Numbers
    chances: Floats
    rest: float
    shorter: Mixture | None
    first: float
    second: float
    best: int
    best_chance: float

    @property
    def expected(self) -> float:
        """The mean log-probability, in nats: minus the entropy."""
        return self.first

    @property
    def spread(self) -> float:
        """The standard deviation of the log-probability."""
        return float(np.sqrt(max(0.0, self.second - self.first**2)))

    def chance(self, item: int) -> float:
        """The probability of one item."""
        if self.shorter is None:
            return float(self.chances[item]) if item != ABSENT else self.rest
        place = int(np.searchsorted(self.items, item))
        if place < len(self.items) and self.items[place] == item:
            return float(self.chances[place])
        return self.rest * self.shorter.chance(item)

    def all(self) -> Floats:
        """The probability of every number of the vocabulary, the document's end included."""
        if self.shorter is None:
            return self.chances.copy()
        every = self.shorter.all()
        every *= self.rest
        every[self.items] = self.chances
        return every

    def _chances_of(self, items: Numbers) -> Floats:
        """Of items that all stand in `items`."""
        if self.shorter is None:
            return self.chances[items]
        return self.chances[np.searchsorted(self.items, items)]


def shortest(counts: Numbers, scale: float, power: float) -> Mixture:
    """Without any context: how often each number of the vocabulary stands in the index, mixed
    with a uniform guess over all of them and the unknown."""
    events, uniform = float(counts.sum()), 1 / (len(counts) + 1)
    doubt = scale * events**power
    chances = (counts + doubt * uniform) / (events + doubt)
    unknown = doubt * uniform / (events + doubt)
    logs = np.append(np.log(chances), np.log(unknown))
    weighted = np.append(chances, unknown) * logs
    best = int(np.argmax(chances))
    return Mixture(
        np.arange(len(counts), dtype=np.int64),
        chances,
        unknown,
        None,
        float(weighted.sum()),
        float((weighted * logs).sum()),
        best,
        float(chances[best]),
    )


def longer(
    shorter: Mixture, items: Numbers, counts: Numbers, scale: float, power: float
) -> Mixture:
    """After a context that is one item longer, which these items followed so often.

    What followed it also followed the shorter one, so nothing has to be searched further down.
    """
    held = float(counts.sum())
    doubt = scale * held**power
    rest = doubt / (held + doubt)
    before = shorter._chances_of(items)
    chances = (counts + doubt * before) / (held + doubt)
    logs_before, logs, log_rest = np.log(before), np.log(chances), float(np.log(rest))
    others = 1.0 - float(before.sum())
    others_first = shorter.first - float((before * logs_before).sum())
    others_second = shorter.second - float((before * logs_before**2).sum())
    first = float((chances * logs).sum()) + rest * (log_rest * others + others_first)
    second = float((chances * logs**2).sum()) + rest * (
        log_rest**2 * others + 2 * log_rest * others_first + others_second
    )
    place = int(np.argmax(chances))
    best, best_chance = int(items[place]), float(chances[place])
    other = rest * shorter.best_chance
    # The shorter one's best may be none of these items: they are all that rose.
    if other > best_chance or (other == best_chance and shorter.best < best):
        best, best_chance = shorter.best, other
    return Mixture(items, chances, rest, shorter, first, second, best, best_chance)
