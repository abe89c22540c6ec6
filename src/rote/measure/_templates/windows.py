"""The n-grams of all texts as numbers, and which of them are a group's templates.

Counting is what resampling repeats hundreds of times, so it first looks only at n-grams that
are frequent over all texts together: one that stands there less often than a group's last
template cannot be a template of that group. Where that does not settle it, all are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.core.array_types import Array, Integers
from rote.core.kernels import njit
from rote.core.layer import Layer, Offsets, items_of, n_gram_starts
from rote.core.sample import Take
from rote.measure._ngram_kernels import ONCE, number_ngrams

Chosen: TypeAlias = Integers
"""Numbers of n-grams, the most frequent first, equal ones in the order of their items."""
# How many n-grams are looked at first, for each template that is asked for.
_CANDIDATES = 300


@dataclass(frozen=True, slots=True)
class Listing:
    """The n-grams of each text in order; rarer ones are left out.

    Text t holds the n-grams `grams[ranks[ends[t-1]:ends[t]]]`. `grams` are the numbers of those
    that are listed, ascending; `least` is the smallest of their counts over all texts.
    """

    ranks: NDArray[np.int32]
    ends: Integers
    grams: Integers
    least: int


@dataclass(frozen=True, slots=True)
class Windows:
    """Every window of n items within its text, by the number of its n-gram.

    Numbers follow the order of the items' strings, so that ties go to the smaller number.
    `numbers[p]` is the n-gram of the window that begins at item p, ONCE where there is none or
    where it stands nowhere else and could be no template. `first[g]` is the item at which n-gram
    g stands first, `counts[g]` how often it stands in all texts.
    """

    n: int
    numbers: NDArray[np.int32]
    counts: Integers
    first: Integers
    frequent: Listing
    every: Listing

    def templates(self, take: Take, top: int, min_count: int) -> Chosen:
        """The `top` most frequent n-grams of these texts that stand at least `min_count` times."""
        chosen, last = _best(self.frequent, take, top, min_count)
        least = self.frequent.least
        if least <= min_count or (len(chosen) == top and last >= least):
            return chosen
        return _best(self.every, take, top, min_count)[0]

    def grams(self, layer: Layer, chosen: Chosen) -> list[tuple[str, ...]]:
        """The items of n-grams."""
        ids = layer.ids[self.first[chosen][:, None] + np.arange(self.n)]
        return [tuple(layer.vocabulary[i] for i in row) for row in ids.tolist()]

    def occurrences(self, take: Take, chosen: Chosen) -> tuple[Integers, Integers]:
        """In each text: how often any of the n-grams stands there, and how many different do."""
        listing = self.frequent if self._listed(chosen) else self.every
        ranks = np.searchsorted(listing.grams, chosen)
        return _occurrences(listing.ranks, listing.ends, take, ranks, len(listing.grams))

    # The rest goes by the texts of the layer, since listings may go by smaller pieces.

    def tally(
        self, layer: Layer, take: Take, owners: Integers | None = None
    ) -> tuple[Integers, Integers]:
        """How often each n-gram stands in these texts, and in how many of them.

        `owners`: whose a text is, where these are what is counted; an owner's follow each other.
        """
        starts, ends = layer.text_starts, layer.text_ends
        owners = np.arange(len(ends)) if owners is None else owners
        return _tally(self.numbers, starts, ends, take, owners, len(self.counts))

    def places(self, layer: Layer, take: Take, chosen: Chosen) -> tuple[Integers, Integers]:
        """The items at which these n-grams begin, in order, and which of `chosen` stands there."""
        wanted = np.full(len(self.counts), -1, np.int64)
        wanted[chosen] = np.arange(len(chosen))
        items, _ = items_of(layer.text_starts[take], layer.text_ends[take])
        items = items[self.numbers[items] != ONCE]
        which = wanted[self.numbers[items]]
        return items[which >= 0], which[which >= 0]

    def _listed(self, chosen: Chosen) -> bool:
        return not len(chosen) or int(self.counts[chosen].min()) >= self.frequent.least


def windows(layer: Layer, n: int, top: int, *, singles: bool) -> Windows:
    """Number the n-grams of a layer; `singles`: also those that stand once."""
    return next(windows_by_length(layer, (n,), top, singles=singles))


def windows_by_length(
    layer: Layer, lengths: Sequence[int], top: int, *, singles: bool
) -> Iterator[Windows]:
    """The same for several lengths, shortest first: longer n-grams are made from shorter ones."""
    starts, ends = layer.text_starts, layer.text_ends
    last = max(lengths, default=0)
    if last:
        for n, numbers, kinds, _ in number_ngrams(
            layer.ids, starts, ends, len(layer.vocabulary), last
        ):
            if n in lengths:
                # What follows overwrites the numbers, and the next length needs them.
                own = numbers if n == last else numbers.copy()
                yield _listings(layer, own, kinds, n, top, singles)


def _listings(
    layer: Layer, numbers: NDArray[np.int32], kinds: int, n: int, top: int, singles: bool
) -> Windows:
    begins = np.zeros(len(numbers), np.bool_)
    begins[n_gram_starts(layer, n)] = True
    numbers[~begins] = ONCE
    if singles:
        alone = np.flatnonzero(begins & (numbers == ONCE))
        numbers[alone] = np.arange(kinds, kinds + len(alone))
        kinds += len(alone)
    held = np.flatnonzero(numbers != ONCE)
    counts = np.bincount(numbers[held], minlength=kinds)
    first = np.empty(kinds, np.int64)
    first[numbers[held][::-1]] = held[::-1]  # the last that is written is the first that stands
    order = _in_order(layer, first, n)
    rank = np.empty(kinds, np.int32)
    rank[order] = np.arange(kinds, dtype=np.int32)
    numbers[held] = rank[numbers[held]]
    counts, first = counts[order], first[order]
    kept = min(kinds, _CANDIDATES * top)
    least = int(np.partition(counts, kinds - kept)[kinds - kept]) if kept else 1
    return Windows(
        n,
        numbers,
        counts,
        first,
        _listing(numbers, layer.text_ends, counts, least),
        _listing(numbers, layer.text_ends, counts, 1),
    )


def _listing(numbers: NDArray[np.int32], ends: Offsets, counts: Integers, least: int) -> Listing:
    grams = np.flatnonzero(counts >= least)
    rank = np.full(len(counts), ONCE, np.int32)
    rank[grams] = np.arange(len(grams), dtype=np.int32)
    listed = numbers != ONCE
    listed[listed] = rank[numbers[listed]] != ONCE
    before = np.concatenate((np.zeros(1, np.int64), np.cumsum(listed)))
    return Listing(rank[numbers[listed]], before[ends], grams, least)


def _in_order(layer: Layer, first: Integers, n: int) -> Integers:
    """The n-grams sorted by the strings of their items."""
    rank = np.empty(len(layer.vocabulary), np.int64)
    rank[np.argsort(np.array(layer.vocabulary, dtype=object))] = np.arange(len(rank))
    columns = [rank[layer.ids[first + i]] for i in range(n)]
    bits = max(1, len(rank).bit_length())
    if n * bits <= 63:
        key = np.zeros(len(first), np.int64)
        for column in columns:
            key = (key << bits) | column
        return np.argsort(key, kind="stable")
    return np.lexsort(columns[::-1])


def _best(listing: Listing, take: Take, top: int, min_count: int) -> tuple[Chosen, int]:
    """The most frequent n-grams of these texts, and how often the last of them stands there."""
    counts = np.zeros(len(listing.grams), np.int64)
    _count(listing.ranks, listing.ends, take, counts)
    there = np.flatnonzero(counts >= min_count)
    if len(there) > top:
        last = np.partition(counts[there], len(there) - top)[len(there) - top]
        there = there[counts[there] >= last]
    # Stable: equal counts stay in the order of the numbers, which is that of the items.
    chosen = there[np.argsort(-counts[there], kind="stable")][:top]
    return listing.grams[chosen], int(counts[chosen[-1]]) if len(chosen) else 0


@njit(cache=True, nogil=True)
def _count(numbers: Array, ends: Array, take: Array, counts: Array) -> None:
    for text in take:
        start = ends[text - 1] if text else 0
        for place in range(start, ends[text]):
            counts[numbers[place]] += 1


@njit(cache=True, nogil=True)
def _occurrences(
    numbers: Array, ends: Array, take: Array, chosen: Array, kinds: int
) -> tuple[Array, Array]:
    # -2: not asked for; otherwise the last text (by its rank in `take`) that held it, -1 for none.
    marks = np.full(kinds, -2, np.int64)
    marks[chosen] = -1
    found = np.zeros(len(take), np.int64)
    different = np.zeros(len(take), np.int64)
    for rank in range(len(take)):
        text = take[rank]
        start = ends[text - 1] if text else 0
        for place in range(start, ends[text]):
            mark = marks[numbers[place]]
            if mark > -2:
                found[rank] += 1
                if mark != rank:
                    different[rank] += 1
                    marks[numbers[place]] = rank
    return found, different


@njit(cache=True, nogil=True)
def _tally(
    numbers: Array, starts: Array, ends: Array, take: Array, owners: Array, kinds: int
) -> tuple[Array, Array]:
    counts = np.zeros(kinds, np.int64)
    texts = np.zeros(kinds, np.int64)
    last = np.full(kinds, -1, np.int32)
    for text in take:
        for place in range(starts[text], ends[text]):
            number = numbers[place]
            if number != ONCE:
                counts[number] += 1
                if last[number] != owners[text]:
                    last[number] = owners[text]
                    texts[number] += 1
    return counts, texts
