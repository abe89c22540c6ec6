"""Test items in bins by their overlap, from the most novel (T_nov) to the most similar (T_sim), and
what becomes of a score from the first to the last.

Bins are (a, b], the first [0, b]. A ratio of means is worked on the log: its own interval would be
lop-sided.

The placebo is held against the training set at the same number of words: the larger of the two is
drawn several times, whole texts until the words suffice, and logarithms of ratios are averaged over
the draws. What one ratio has above the other is paired over items; which texts were drawn counts as
error too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rote.annotate import annotators, words
from rote.compare import clusters
from rote.compare.clusters import ClusterEstimate
from rote.compare.correlation import MIN_ITEMS, bonett_wright_interval, rank_estimate, ranked
from rote.compare.intervals import mean, shares
from rote.compare.resampling import generator
from rote.core.arrays import Flags, Floats, Integers
from rote.core.document import Document
from rote.core.errors import OptionError
from rote.core.layer import DERIVED, Layer, derive, n_gram_starts
from rote.core.metric import Work
from rote.core.sample import Take
from rote.corpus import Corpus, Shard, digest, map_shards
from rote.run import get
from rote.search.reference_corpus import (
    Reference,
    check_reference_corpus,
    longest_matches,
    open_reference,
    open_reference_index,
    reference_name,
)

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

    def bins(self, counts: Integers, totals: Integers) -> Integers:
        """The bin of each item: `counts` of its `totals` n-grams are held."""
        steps = steps_of(counts, totals)
        return np.where(steps == NO_BIN, NO_BIN, np.searchsorted(self.edges, steps))


def partition(overlaps: Integers, lengths: Integers, least: int | None = None) -> Partition:
    """The bins for these items; `least` items at least, by default 5 % of those with an overlap."""
    steps = steps_of(overlaps, lengths)
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


def steps_of(counts: Integers, totals: Integers) -> Integers:
    """The step that holds each overlap, 1 to 20; in whole numbers, so that edges are exact.

    Step s is ((s - 1) / 20, s / 20], and step 1 holds 0 too; NO_BIN where there is no n-gram.
    """
    steps = -(-counts * STEPS // np.maximum(totals, 1))
    return np.where(totals > 0, np.maximum(steps, 1), NO_BIN)


def ratio(novel: Floats, similar: Floats) -> float:
    """Mean score in T_sim / mean score in T_nov; nan where there is nothing to divide by."""
    below = mean(novel)
    return mean(similar) / below if below else math.nan


def log_ratio(column: Floats, bins: Integers, items: Integers, last: int) -> ClusterEstimate:
    """log of (mean score in bin `last` / mean score in bin 0); `items` number from 0 on."""
    count = int(items.max(initial=-1)) + 1
    similar, novel = (
        clusters.mean_by_cluster(column[bins == bin], items[bins == bin], count)
        for bin in (last, 0)
    )
    return similar.log() - novel.log()


def paired_log_ratio(over: Floats, under: Floats) -> ClusterEstimate:
    """log of mean(over) / mean(under), both of the same items."""
    items = np.arange(len(over))
    above, below = (clusters.mean_by_cluster(column, items, len(over)) for column in (over, under))
    return above.log() - below.log()


def rank_correlation(x: Floats, y: Floats) -> float:
    """Spearman's, over what is defined in both; nan where one of them does not vary."""
    defined = ~(np.isnan(x) | np.isnan(y))
    x, y = x[defined], y[defined]
    if len(x) < MIN_ITEMS:
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

    estimate = rank_estimate(x, y, items)
    p = float(2 * stdtr(count - 1, -abs(rho / estimate.error))) if estimate.error > 0 else math.nan
    return rho, p, estimate.interval(level), count


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

    def log_ratio(self, side: str, column: Floats, items: Integers, take: Take) -> ClusterEstimate:
        """log(T_sim / T_nov) over the draws of a side; nan where a draw puts all into one bin."""
        column, items = column[take], items[take]
        unknown = ClusterEstimate(math.nan, np.zeros(int(items.max(initial=-1)) + 1), 0)
        return clusters.average_estimates(
            [
                log_ratio(column, d.bin[take], items, d.bins - 1) if d.bins > 1 else unknown
                for d in self.draws[side]
            ]
        )

    def trend(self, side: str, column: Floats, items: Integers, take: Take) -> ClusterEstimate:
        """Spearman's correlation of score and overlap over the draws of a side."""
        overlaps = (draw.overlap[take] for draw in self.draws[side])
        estimates = [rank_estimate(overlap, column[take], items[take]) for overlap in overlaps]
        return clusters.average_estimates(estimates)

    def excess(self, kind: str, column: Floats, items: Integers, take: Take) -> ClusterEstimate:
        """How much more by the training set; `kind`: log_ratio or trend."""
        by_side = {side: getattr(self, kind)(side, column, items, take) for side in SIDES}
        difference: ClusterEstimate = by_side["train"] - by_side["placebo"]
        spread = self._spread(kind, column, items, take)
        influence = np.append(difference.influence, spread)
        return ClusterEstimate(difference.value, influence, difference.least)

    def _spread(self, kind: str, column: Floats, items: Integers, take: Take) -> float:
        """The error of having drawn these texts and no others.

        A side that was drawn once could have come out as differently as the draws of the other.
        """
        several = [side for side in SIDES if len(self.draws[side]) > 1]
        if not several:
            return 0.0
        alone = [
            getattr(Placebo(self.words, {side: (draw,)}), kind)(side, column, items, take).value
            for side in several
            for draw in self.draws[side]
        ]
        draws = [len(self.draws[side]) for side in SIDES]
        return float(np.std(alone, ddof=1)) * math.sqrt(sum(1 / count for count in draws))


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
        partitions = []
        for met in texts.drawn(words, work.seed, side):
            counts, totals = count_flagged(layer, n, wanted.found_ngrams(met))
            bins = partition(counts[first], totals[first], least)
            partitions.append(Drawn(shares(counts, totals), bins.bins(counts, totals), len(bins)))
        draws[side] = tuple(partitions)
    return Placebo(words, draws)


class _Texts:
    """The texts of one side: their words, and which of the wanted n-grams each holds."""

    def __init__(self, wanted: Wanted, corpus: Corpus, layer: Layer, work: Work) -> None:
        sizes, keys, texts, numbers = [], [], [], []
        known = 0
        for part, cut in read_texts(corpus, layer.name, work):
            text, number = wanted.hits(cut)
            texts.append(text + known)
            numbers.append(number)
            sizes.append(cut.text_ends - cut.text_starts)
            keys += part
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
            is_drawn = np.zeros(len(self.sizes), np.bool_)
            is_drawn[chosen] = True
            met = np.zeros(self._kinds, np.bool_)
            met[self._number[is_drawn[self._text]]] = True
            yield met


# How many of each text's n-grams a training set holds: an index, or files that are read once.
#
# The n-grams of the test items are few, those of the training set many. So the former are numbered
# and the latter only looked up: memory goes with the test set alone, however large the training set
# is. Numbers are exact, as an n-gram's key is made from the number of its first n-1 words and its
# last word; nothing is hashed.

WITHOUT = "no training set to compare the items with: --train takes an index or texts"


def check_train(
    train: Reference, layer: str, signature: str, placebo: str | Corpus | None = None
) -> None:
    """Refuse, before any text is read, a training set whose words do not compare.

    `signature`: of whoever makes the layers of the measured texts.
    """
    sides: dict[str, Reference | None] = {"train": train, "placebo": placebo}
    for flag, corpus in sides.items():
        if corpus is None:
            continue
        texts = open_reference(corpus, role=flag)
        if placebo and not isinstance(texts, Corpus):
            raise OptionError(
                f"--{flag} {reference_name(texts)} is an index, which cannot be sampled: with "
                "--placebo, both sets must be texts"
            )
        check_reference_corpus(texts, (layer,), signature, flag)


def count_held(layer: Layer, n: int, train: Reference, work: Work) -> tuple[Integers, Integers]:
    """Of every text how many of its n-gram positions the training set holds, and how many it has.

    The same layer of the training texts is asked.
    """
    texts = open_reference(train, role="train")
    if not isinstance(texts, Corpus):
        # An n-gram is held where the longest match has at least n items.
        index = open_reference_index(texts, (layer.name,), work.reporter)
        flags = np.asarray(longest_matches(index, layer, work) >= n, np.bool_)
        return count_flagged(layer, n, flags)
    wanted = Wanted(layer, n)
    for _, part in read_texts(texts, layer.name, work):
        wanted.meet(part)
    return count_flagged(layer, n, wanted.found_ngrams())


def count_flagged(layer: Layer, n: int, flags: Flags) -> tuple[Integers, Integers]:
    """Of every text how many of its n-gram positions are flagged, and how many it has."""
    counts: Integers = np.concatenate(([0], np.cumsum(flags)))
    every = np.maximum(layer.text_ends - layer.text_starts - n + 1, 0)
    return counts[layer.text_ends] - counts[layer.text_starts], every


def read_texts(corpus: Corpus, layer: str, work: Work) -> Iterator[tuple[list[bytes], Layer]]:
    """Read once, a shard at a time; words are cut on all cores. With the hash of each text."""
    for line in corpus.guesses:
        work.reporter.say(line)
    if field := corpus.options.text_field:
        work.reporter.say(f"{corpus.name}: the items are looked up in the field '{field}'")
    with work.reporter.stage(f"reading {corpus.short_name}", corpus.size, unit="B") as advance:
        engine = get(work.engine, work.jobs)
        pieces = map_shards(partial(_cut_shard, layer), corpus, engine, doing="cutting texts")
        for size, keys, texts in pieces:
            yield keys, texts
            advance(size)


def _cut_shard(layer: str, shard: Shard) -> tuple[int, list[bytes], Layer]:
    """The work on one shard, in worker processes."""
    documents = shard.read().documents
    keys = [digest(Document("", document.text)) for document in documents]
    if layer == "word" or layer in DERIVED:
        cut = words.get()([document.text for document in documents])
        return shard.size, keys, derive(cut, layer)
    annotation = annotators.get()(documents, (layer,))
    return shard.size, keys, {**annotation.layers, **annotation.trees}[layer]


_UNKNOWN = -1


class Wanted:
    """The n-grams of a layer's texts, and which of them were met elsewhere."""

    def __init__(self, layer: Layer, n: int) -> None:
        self.n = n
        self._words = {word: number for number, word in enumerate(layer.vocabulary)}
        self._keys: list[Integers] = []
        """For 2, 3, ... n words: the keys of all n-grams, ascending; the place is the number."""
        self._places = n_gram_starts(layer, n)
        numbers = layer.ids.astype(np.int64)
        for length in range(2, n + 1):
            starts = n_gram_starts(layer, length)
            keys = self._key(numbers[starts], layer.ids[starts + length - 1])
            known, key_numbers = np.unique(keys, return_inverse=True)
            self._keys.append(known)
            numbers[starts] = key_numbers
        self._numbers = numbers[self._places]
        self._items = len(layer.ids)
        self._met = np.zeros(len(self._keys[-1]) if self._keys else len(self._words), np.bool_)

    @property
    def kinds(self) -> int:
        return len(self._met)

    def meet(self, layer: Layer) -> None:
        self._met[self._places_and_numbers(layer)[1]] = True

    def hits(self, layer: Layer) -> tuple[Integers, Integers]:
        """Which of these texts holds which n-gram, by number; each pair once."""
        starts, numbers = self._places_and_numbers(layer)
        kinds = max(1, self.kinds)
        pairs = np.unique(np.searchsorted(layer.text_ends, starts, side="right") * kinds + numbers)
        return pairs // kinds, pairs % kinds

    def _places_and_numbers(self, layer: Layer) -> tuple[Integers, Integers]:
        """Where these texts hold an n-gram of the items, and which."""
        words = np.array([self._words.get(w, _UNKNOWN) for w in layer.vocabulary], np.int64)
        if not len(words) or not len(self._met):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        ids = words[layer.ids]
        starts = n_gram_starts(layer, self.n)
        starts = starts[ids[starts] != _UNKNOWN]
        numbers = ids[starts]
        for length, known in enumerate(self._keys, 2):
            last = ids[starts + length - 1]
            keys = self._key(numbers, last)
            positions = np.minimum(np.searchsorted(known, keys), len(known) - 1)
            is_known = (last != _UNKNOWN) & (known[positions] == keys)
            starts, numbers = starts[is_known], positions[is_known]
        return starts, numbers

    def found_ngrams(self, met: Flags | None = None) -> Flags:
        """For every item of the layer: whether the n-gram that begins there was met, or is among
        those that are given."""
        flags = np.zeros(self._items, np.bool_)
        flags[self._places] = (self._met if met is None else met)[self._numbers]
        return flags

    def _key(self, first: Integers, last: Integers | NDArray[np.int32]) -> Integers:
        return first * len(self._words) + last
