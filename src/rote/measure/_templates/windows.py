"""The n-grams of all texts as numbers, and which of them are a group's templates.

Counting is what resampling repeats hundreds of times, so groups are counted together: an n-gram
that stands less often in all of them than a group's last template in that group cannot be a
template of it, and is not looked at. Where that does not settle it, all are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.core.array_types import Array, Integers
from rote.core.kernels import njit
from rote.core.layer import Layer, Offsets, items_of, n_gram_starts, starts_of
from rote.core.sample import Take
from rote.measure._ngram_kernels import ONCE, number_ngrams

Chosen: TypeAlias = Integers
"""Numbers of n-grams, the most frequent first, equal ones in the order of their items."""
# How many n-grams are looked at first, for each template that is asked for.
_CANDIDATES = 20


@dataclass(frozen=True, slots=True)
class Listing:
    """Some n-grams of each text in order: text t holds `grams[ends[t-1]:ends[t]]`.

    They have numbers of their own, below `kinds`, in the order of those of all n-grams.
    """

    grams: NDArray[np.int32]
    ends: Integers
    kinds: int

    def counts(self, take: Take) -> Integers:
        """How often each of them stands in these texts."""
        counts = np.zeros(self.kinds, np.int64)
        _count(self.grams, self.ends, take, counts)
        return counts

    def of_texts(self, take: Take, chosen: Integers) -> Listing:
        """These texts and n-grams alone."""
        items, ends = items_of(starts_of(self.ends)[take], self.ends[take])
        return _listing(self.grams[items], ends, self.kinds, chosen)

    def groups(self, takes: Sequence[Take], top: int, min_count: int) -> Integers:
        """See `_of_groups`."""
        ends = np.cumsum([len(take) for take in takes])
        texts = np.concatenate(takes)
        return _of_groups(self.grams, self.ends, self.kinds, texts, ends, top, min_count)


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
    every: Listing

    def templates(self, take: Take, top: int, min_count: int) -> Chosen:
        """The `top` most frequent n-grams of these texts that stand at least `min_count` times."""
        counts = self.every.counts(take)
        there = np.flatnonzero(counts >= min_count)
        if len(there) > top:
            last = np.partition(counts[there], len(there) - top)[len(there) - top]
            there = there[counts[there] >= last]
        # Stable: equal counts stay in the order of the numbers, which is that of the items.
        return there[np.argsort(-counts[there], kind="stable")][:top]

    def grams(self, layer: Layer, chosen: Chosen) -> list[tuple[str, ...]]:
        """The items of n-grams."""
        ids = layer.ids[self.first[chosen][:, None] + np.arange(self.n)]
        return [tuple(layer.vocabulary[i] for i in row) for row in ids.tolist()]

    def occurrences(self, take: Take, chosen: Chosen) -> tuple[Integers, Integers]:
        """In each text: how often any of the n-grams stands there, and how many different do."""
        return _occurrences(self.every.grams, self.every.ends, take, chosen, self.every.kinds)

    def of_groups(self, takes: Sequence[Take], top: int, min_count: int) -> Integers:
        """For each group and its `templates`: in how many texts any stands, how often in all, and
        how many different ones in each text, summed over the texts."""
        texts = np.unique(np.concatenate(takes))
        pooled = self.every.counts(texts)
        kept = min(len(pooled), _CANDIDATES * top)
        least = int(np.partition(pooled, len(pooled) - kept)[len(pooled) - kept]) if kept else 0
        frequent = self.every.of_texts(texts, np.flatnonzero(pooled >= max(least, min_count)))
        places = [np.searchsorted(texts, take) for take in takes]
        found = frequent.groups(places, top, min_count)
        unsettled = (found[:, 3] < top) | (found[:, 4] < least)
        if least > min_count and unsettled.any():
            some = [take for take, again in zip(takes, unsettled.tolist()) if again]
            found[unsettled] = self.every.groups(some, top, min_count)
        return found[:, :3]

    # The rest goes by the texts of the layer, since listings may go by smaller pieces.

    def listing(self, layer: Layer, chosen: Integers) -> Listing:
        """These n-grams alone, numbers ascending."""
        return _listing(self.numbers, layer.text_ends, len(self.counts), chosen)

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


def windows(layer: Layer, n: int, *, singles: bool) -> Windows:
    """Number the n-grams of a layer; `singles`: also those that stand once."""
    return next(windows_by_length(layer, (n,), singles=singles))


def windows_by_length(layer: Layer, lengths: Sequence[int], *, singles: bool) -> Iterator[Windows]:
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
                yield _numbered(layer, own, kinds, n, singles)


def _numbered(
    layer: Layer, numbers: NDArray[np.int32], kinds: int, n: int, singles: bool
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
    every = _listing(numbers, layer.text_ends, kinds, np.arange(kinds))
    return Windows(n, numbers, counts, first, every)


def _listing(numbers: NDArray[np.int32], ends: Offsets, kinds: int, chosen: Integers) -> Listing:
    rank = np.full(kinds + 1, ONCE, np.int32)  # the last is that of ONCE
    rank[chosen] = np.arange(len(chosen), dtype=np.int32)
    grams = rank[numbers]
    listed = grams != ONCE
    before = np.concatenate((np.zeros(1, np.int64), np.cumsum(listed)))
    return Listing(grams[listed], before[ends], len(chosen))


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
def _of_groups(
    numbers: Array, ends: Array, kinds: int, texts: Array, group_ends: Array, top: int, least: int
) -> Array:
    """Templates of many groups, one after another in `texts`: texts that hold any, occurrences,
    different ones in a text, how many templates there are, how often the last of them stands."""
    found = np.zeros((len(group_ends), 5), np.int64)
    counts = np.empty(kinds, np.int32)
    # The last text that held it where a template, else one that there is not.
    holder = np.empty(kinds, np.int32)
    for group in range(len(group_ends)):
        take = texts[group_ends[group - 1] if group else 0 : group_ends[group]]
        counts[:] = 0
        for text in take:
            for number in numbers[ends[text - 1] if text else 0 : ends[text]]:
                counts[number] += 1
        of_count = np.zeros(counts.max() + 2 if kinds else 2, np.int64)
        for count in counts:
            of_count[count] += 1
        last = len(of_count) - 1
        above = 0
        while last > least and above + of_count[last] < top:
            above += of_count[last]
            last -= 1
        last = max(last, least)
        ties = top - above  # of the last count the first, as the items are ordered
        chosen = 0
        for number in range(kinds):
            ties -= counts[number] == last
            is_template = counts[number] > last or (counts[number] == last and ties >= 0)
            holder[number] = -1 if is_template else -2
            chosen += is_template
        for rank in range(len(take)):
            text = take[rank]
            before = found[group, 1]
            for number in numbers[ends[text - 1] if text else 0 : ends[text]]:
                if holder[number] > -2:
                    found[group, 1] += 1
                    found[group, 2] += holder[number] != rank
                    holder[number] = rank
            found[group, 0] += found[group, 1] > before
        found[group, 3], found[group, 4] = chosen, last
    return found


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
