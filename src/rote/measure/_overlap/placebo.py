"""The same partition by texts that nobody was trained on: what overlap shows of the genre alone.

Items that are typical of their genre overlap with any texts of it, and may be easier for whoever
knows the genre. So the training set is held against a placebo, unseen texts of the same kind, at
the same number of words: the larger of the two is drawn several times, whole texts until the words
suffice, and logarithms of ratios are averaged over the draws. What the ratio by the training set
has above the ratio by the placebo is paired over items; which texts were drawn counts as error too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from rote.compare import clusters
from rote.compare._resample import generator
from rote.compare.clusters import Estimate
from rote.core.layer import Layer
from rote.core.metric import Work
from rote.core.sample import Take
from rote.measure._overlap.held import Reading, counted, read_texts
from rote.measure._overlap.partition import partition
from rote.measure._overlap.trends import Integers, Numbers, log_ratio, rank_estimate
from rote.measure._overlap.wanted import Flags, Wanted

DRAWS = 20
SIDES = ("train", "placebo")


@dataclass(frozen=True, slots=True)
class Drawn:
    """One draw: of every text its overlap and its bin; how many bins there are."""

    overlap: Numbers
    bin: Integers
    bins: int


@dataclass(frozen=True, slots=True)
class Placebo:
    """The draws of both sides, each of `words` words."""

    words: int
    draws: Mapping[str, tuple[Drawn, ...]]

    def log_ratio(self, side: str, column: Numbers, items: Integers, take: Take) -> Estimate:
        """log(T_sim / T_nov) over the draws of a side; nan where a draw puts all into one bin."""
        return clusters.average(
            [
                log_ratio(column[take], one.bin[take], items[take], one.bins - 1)
                if one.bins > 1
                else Estimate(math.nan, np.zeros(_count(items[take])), 0)
                for one in self.draws[side]
            ]
        )

    def trend(self, side: str, column: Numbers, items: Integers, take: Take) -> Estimate:
        """Spearman's correlation of score and overlap over the draws of a side."""
        return clusters.average(
            [
                rank_estimate(one.overlap[take], column[take], items[take])
                for one in self.draws[side]
            ]
        )

    def excess(self, kind: str, column: Numbers, items: Integers, take: Take) -> Estimate:
        """How much more by the training set; `kind`: log_ratio or trend."""
        own = {side: getattr(self, kind)(side, column, items, take) for side in SIDES}
        found: Estimate = own["train"] - own["placebo"]
        spread = self._spread(kind, column, items, take)
        return Estimate(found.value, np.append(found.influence, spread), found.least)

    def _spread(self, kind: str, column: Numbers, items: Integers, take: Take) -> float:
        """The error of having drawn these texts and no others.

        A side that was drawn once could have come out as differently as the draws of the other.
        """
        several = [side for side in SIDES if len(self.draws[side]) > 1]
        if not several:
            return 0.0
        alone = [
            getattr(Placebo(self.words, {side: (one,)}), kind)(side, column, items, take).value
            for side in several
            for one in self.draws[side]
        ]
        return float(np.std(alone, ddof=1)) * math.sqrt(
            sum(1 / len(self.draws[side]) for side in SIDES)
        )


def placebo(
    layer: Layer, n: int, paths: Mapping[str, str], reading: Reading, work: Work, first: Integers
) -> Placebo:
    """`paths` of both sides; `first` is a text of each item, `reading` says what is read."""
    wanted = Wanted(layer, n)
    sides = {side: _Texts(wanted, paths[side], layer, reading, work) for side in SIDES}
    words = min(texts.words for texts in sides.values())
    draws = {}
    for side, texts in sides.items():
        made = []
        for met in texts.drawn(words, work.seed, side):
            found, every = counted(layer, n, wanted.found(met))
            bins = partition(found[first], every[first], reading.least)
            overlap = np.divide(found, every, out=np.full(len(every), np.nan), where=every > 0)
            made.append(Drawn(overlap, bins.bins(found, every), len(bins)))
        draws[side] = tuple(made)
    return Placebo(words, draws)


class _Texts:
    """The texts of one side: their words, and which of the wanted n-grams each holds."""

    def __init__(
        self, wanted: Wanted, path: str, layer: Layer, reading: Reading, work: Work
    ) -> None:
        sizes, keys, texts, numbers = [], [], [], []
        known = 0
        for own, cut in read_texts(path, layer.name, reading.field, work):
            text, number = wanted.hits(cut)
            texts.append(text + known)
            numbers.append(number)
            sizes.append(cut.text_ends - cut.text_starts)
            keys += own
            known += len(cut)
        self.sizes = np.concatenate([*sizes, np.empty(0, np.int64)])
        self.words = int(self.sizes.sum())
        self._kinds = wanted.kinds
        self._text, self._number = (
            np.concatenate([*parts, np.empty(0, np.int64)]) for parts in (texts, numbers)
        )
        # Drawn in an order that does not depend on that of the file.
        self._canonical = np.array(sorted(range(known), key=keys.__getitem__), np.int64)

    def drawn(self, words: int, seed: int, side: str) -> Iterator[Flags]:
        """The n-grams that so many words of whole texts hold: once where those are all."""
        for draw in range(1 if self.words <= words else DRAWS):
            order = generator(seed, f"placebo {side}", draw).permutation(self._canonical)
            chosen = order[: int(np.searchsorted(self.sizes[order].cumsum(), words)) + 1]
            kept = np.zeros(len(self.sizes), np.bool_)
            kept[chosen] = True
            met = np.zeros(self._kinds, np.bool_)
            met[self._number[kept[self._text]]] = True
            yield met


def _count(items: Integers) -> int:
    return int(items.max(initial=-1)) + 1
