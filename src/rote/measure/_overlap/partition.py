"""Test items in bins by their overlap, from the most novel (T_nov) to the most similar (T_sim), and
what becomes of a score from the first to the last.

Bins are (a, b], the first [0, b]. A bin is 5 points wide and grows in steps of 5 until it holds
enough items; what is left at the end and holds too few joins the bin before; the last bin is open.
A ratio of means is worked on the log: its own interval would be lop-sided. Texts of one item
belong together.

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
from rote.compare.correlation import bonett_wright_interval
from rote.compare.intervals import mean, shares
from rote.compare.ranks import FEWEST, rank_estimate, ranked
from rote.core.array_types import Flags, Floats, Integers
from rote.core.layer import Layer
from rote.core.metric import Work
from rote.core.sample import Take
from rote.corpus import Corpus
from rote.measure._overlap.training import Wanted, counted, read_texts

STEPS = 20
"""Of 5 points each."""
LEAST = 20
"""A bin holds at least one of so many items: 5 %."""
NO_BIN = -1
NOVEL, SIMILAR = "T_nov", "T_sim"


@dataclass(frozen=True, slots=True)
class Partition:
    """`edges` are the upper ends of the bins in steps; `items` how many items each holds."""

    edges: tuple[int, ...]
    items: tuple[int, ...]
    undefined: int
    """Items without an n-gram, which are in no bin."""
    least: int

    def __len__(self) -> int:
        return len(self.edges)

    def name(self, bin: int) -> str | None:
        """T_nov for the first and T_sim for the last bin, where they are two."""
        if len(self) < 2:
            return None
        return {0: NOVEL, len(self) - 1: SIMILAR}.get(bin)

    def bounds(self, bin: int) -> tuple[float, float]:
        """The overlap above which and up to which an item is in the bin."""
        low = self.edges[bin - 1] if bin else 0
        return low / STEPS, self.edges[bin] / STEPS

    def bins(self, found: Integers, every: Integers) -> Integers:
        """The bin of each item: `found` of its `every` n-grams are held."""
        steps = steps_of(found, every)
        return np.where(steps == NO_BIN, NO_BIN, np.searchsorted(self.edges, steps))


def partition(found: Integers, every: Integers, least: int | None = None) -> Partition:
    """The bins for these items; `least` items at least, by default 5 % of those with an overlap."""
    steps = steps_of(found, every)
    defined = steps[steps != NO_BIN]
    if least is None:
        least = max(1, -(-len(defined) // LEAST))
    counts = np.bincount(defined, minlength=STEPS + 1)
    edges, items, waiting = [], [], 0
    for step in range(1, STEPS + 1):
        waiting += int(counts[step])
        if waiting >= least:
            edges.append(step)
            items.append(waiting)
            waiting = 0
    if not edges:
        edges, items = [STEPS], [0]
    edges[-1] = STEPS
    items[-1] += waiting
    return Partition(tuple(edges), tuple(items), int((steps == NO_BIN).sum()), least)


def steps_of(found: Integers, every: Integers) -> Integers:
    """The step that holds each overlap, 1 to 20; in whole numbers, so that edges are exact.

    Step s is ((s - 1) / 20, s / 20], and step 1 holds 0 too; NO_BIN where there is no n-gram.
    """
    steps = -(-found * STEPS // np.maximum(every, 1))
    return np.where(every > 0, np.maximum(steps, 1), NO_BIN)


def ratio(novel: Floats, similar: Floats) -> float:
    """Mean score in T_sim / mean score in T_nov; nan where there is nothing to divide by."""
    below = mean(novel)
    return mean(similar) / below if below else math.nan


def log_ratio(column: Floats, bins: Integers, items: Integers, last: int) -> Estimate:
    """log of (mean score in bin `last` / mean score in bin 0); `items` number from 0 on."""
    count = int(items.max(initial=-1)) + 1
    similar, novel = (
        clusters.mean(column[bins == bin], items[bins == bin], count) for bin in (last, 0)
    )
    return similar.log() - novel.log()


def paired_log_ratio(over: Floats, under: Floats) -> Estimate:
    """log of mean(over) / mean(under), both of the same items."""
    items = np.arange(len(over))
    above, below = (clusters.mean(column, items, len(over)) for column in (over, under))
    return above.log() - below.log()


def rank_correlation(x: Floats, y: Floats) -> float:
    """Spearman's, over what is defined in both; nan where one of them does not vary."""
    defined = ~(np.isnan(x) | np.isnan(y))
    x, y = x[defined], y[defined]
    if len(x) < FEWEST:
        return math.nan
    middle = (len(x) + 1) / 2
    a, b = ranked(x) - middle, ranked(y) - middle
    under = math.sqrt((a @ a) * (b @ b))
    return max(-1.0, min(1.0, float(a @ b) / under)) if under else math.nan


def rank_test(x: Floats, y: Floats) -> tuple[float, float, int]:
    """Spearman's correlation, the two-sided p-value of its t statistic, and over how many texts."""
    rho, n = rank_correlation(x, y), int((~(np.isnan(x) | np.isnan(y))).sum())
    if math.isnan(rho):
        return rho, math.nan, n
    if abs(rho) == 1:
        return rho, 0.0, n
    from scipy.special import stdtr

    statistic = rho * math.sqrt((n - 2) / (1 - rho * rho))
    return rho, float(2 * stdtr(n - 2, -abs(statistic))), n


def clustered_rank_test(
    x: Floats, y: Floats, items: Integers, level: float
) -> tuple[float, float, tuple[float, float], int]:
    """Spearman's correlation, its p-value and interval, and over how many items.

    Where every text is one item, by the t statistic, and after Bonett and Wright; where several
    texts belong to one, by what each item adds to the correlation.
    """
    rho, p, texts = rank_test(x, y)
    defined = ~(np.isnan(x) | np.isnan(y))
    count = len(np.unique(items[defined]))
    if count == texts or math.isnan(rho):
        return rho, p, rank_interval(rho, texts, level), count
    from scipy.special import stdtr

    found = rank_estimate(x, y, items)
    p = float(2 * stdtr(count - 1, -abs(rho / found.error))) if found.error > 0 else math.nan
    return rho, p, found.interval(level), count


def rank_interval(rho: float, items: int, level: float) -> tuple[float, float]:
    """Of Spearman's correlation over so many items, after Bonett and Wright."""
    return bonett_wright_interval(rho, items, level) if level else (math.nan, math.nan)


DRAWS = 20
SIDES = ("train", "placebo")


@dataclass(frozen=True, slots=True)
class Drawn:
    """One draw: of every text its overlap and its bin; how many bins there are."""

    overlap: Floats
    bin: Integers
    bins: int


@dataclass(frozen=True, slots=True)
class Placebo:
    """The draws of both sides, each of `words` words."""

    words: int
    draws: Mapping[str, tuple[Drawn, ...]]

    def log_ratio(self, side: str, column: Floats, items: Integers, take: Take) -> Estimate:
        """log(T_sim / T_nov) over the draws of a side; nan where a draw puts all into one bin."""
        return clusters.average(
            [
                log_ratio(column[take], one.bin[take], items[take], one.bins - 1)
                if one.bins > 1
                else Estimate(math.nan, np.zeros(_count(items[take])), 0)
                for one in self.draws[side]
            ]
        )

    def trend(self, side: str, column: Floats, items: Integers, take: Take) -> Estimate:
        """Spearman's correlation of score and overlap over the draws of a side."""
        return clusters.average(
            [
                rank_estimate(one.overlap[take], column[take], items[take])
                for one in self.draws[side]
            ]
        )

    def excess(self, kind: str, column: Floats, items: Integers, take: Take) -> Estimate:
        """How much more by the training set; `kind`: log_ratio or trend."""
        own = {side: getattr(self, kind)(side, column, items, take) for side in SIDES}
        found: Estimate = own["train"] - own["placebo"]
        spread = self._spread(kind, column, items, take)
        return Estimate(found.value, np.append(found.influence, spread), found.least)

    def _spread(self, kind: str, column: Floats, items: Integers, take: Take) -> float:
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
    layer: Layer,
    n: int,
    corpora: Mapping[str, Corpus],
    least: int | None,
    work: Work,
    first: Integers,
) -> Placebo:
    """By `corpora` of both sides; `first`: a text of each item, `least`: the fewest of a bin."""
    wanted = Wanted(layer, n)
    sides = {side: _Texts(wanted, corpora[side], layer, work) for side in SIDES}
    words = min(texts.words for texts in sides.values())
    draws = {}
    for side, texts in sides.items():
        made = []
        for met in texts.drawn(words, work.seed, side):
            found, every = counted(layer, n, wanted.found(met))
            bins = partition(found[first], every[first], least)
            made.append(Drawn(shares(found, every), bins.bins(found, every), len(bins)))
        draws[side] = tuple(made)
    return Placebo(words, draws)


class _Texts:
    """The texts of one side: their words, and which of the wanted n-grams each holds."""

    def __init__(self, wanted: Wanted, corpus: Corpus, layer: Layer, work: Work) -> None:
        sizes, keys, texts, numbers = [], [], [], []
        known = 0
        for own, cut in read_texts(corpus, layer.name, work):
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
