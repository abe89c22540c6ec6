"""Every text's sum of unit vectors, what a group makes of them, and diversity at equal lengths.

With u = h / |h| of every sentence, the mean similarity over pairs needs no more than the squared
length of the sum of u. A label that only one text holds adds the same to it in every group with
that text; a group has to look only at labels that several texts hold.

At equal lengths the sentences of every source are weighted so that their lengths, in bands, have
one distribution: the smallest share that any source has in a band. With weights w the mean over
pairs is (|sum of w u|^2 - sum of w^2) / ((sum of w)^2 - sum of w^2).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from rote.annotate.trees import head_distances
from rote.compare.intervals import left_out_error
from rote.core.arrays import Array, Floats, Integers
from rote.core.errors import OptionError
from rote.core.kernels import njit
from rote.core.layer import Ids, Layer, Offsets, items_of, starts_of
from rote.core.sample import Take
from rote.measure._sentences import Sentences

# Weisfeiler-Lehman histograms of dependency trees. An artificial root, with a label of its own, is
# joined to every word that has no head. Labels are numbered exactly: the hash table compares what a
# label stands for, not its hash.

PRIME = np.uint64(0x9E3779B97F4A7C15)
SHORT = 40


@dataclass(frozen=True, slots=True)
class Histograms:
    """Sentence s holds the labels `labels[ends[s-1]:ends[s]]`, ascending, each `counts` times.

    A number means the same label in every sentence. `norms[s]` is the sum of the squared counts.
    """

    labels: Ids
    counts: Ids
    ends: Offsets
    norms: Integers
    kinds: int

    def __len__(self) -> int:
        return len(self.ends)

    def chosen(self, numbers: Integers) -> Histograms:
        """Those of some sentences."""
        entries, ends = items_of(starts_of(self.ends)[numbers], self.ends[numbers])
        labels, counts = self.labels[entries], self.counts[entries]
        return Histograms(labels, counts, ends, self.norms[numbers], self.kinds)


def histograms(upos: Layer, head: Layer, sentences: Sentences, depth: int = 2) -> Histograms:
    """The labels of depths 0 to `depth` of all given sentences."""
    nodes = int(sentences.lengths.sum()) + len(sentences)
    if nodes * (depth + 1) >= 2**31:
        raise OptionError(
            f"{nodes:,} words and roots are too many for one set of labels: take fewer sentences"
        )
    # Arrays of a memory map are read-only, another type to the compiler: these are copies.
    ends = np.array(sentences.ends, np.int64)
    starts = np.array(sentences.starts, np.int64)
    edges, edge_ends = neighbours(head_distances(head), starts, ends)
    levels = np.empty((depth + 1, nodes), np.int32)
    kinds = first_labels(np.array(upos.ids), len(upos.vocabulary), starts, ends, levels[0])
    for number in range(1, depth + 1):
        label_count = next_labels(levels[number - 1], edges, edge_ends, levels[number])
        levels[number] += kinds
        kinds += label_count
    labels, counts, label_ends, norms = counted(levels, ends - starts)
    return Histograms(labels, counts, label_ends, norms, kinds)


@njit(cache=True, nogil=True)
def neighbours(away: Array, starts: Array, ends: Array) -> tuple[Array, Array]:
    """The graphs of all sentences: every node's neighbours, and where those of each node end.

    The nodes of a sentence are its words and then its root.
    """
    words = 0
    for sentence in range(len(starts)):
        words += ends[sentence] - starts[sentence]
    edge_ends = np.zeros(words + len(starts) + 1, np.int64)
    heads = np.empty(words + len(starts), np.int64)
    first = 0
    for sentence in range(len(starts)):
        length = ends[sentence] - starts[sentence]
        for word in range(length):
            step = away[starts[sentence] + word]
            head = length if step == 0 else word + step
            if head < 0 or head > length or (head == length and step != 0):
                raise ValueError("the head of a word is outside its sentence")
            heads[first + word] = first + head
            edge_ends[first + word + 1] += 1
            edge_ends[first + head + 1] += 1
        heads[first + length] = NONE
        first += length + 1
    for node in range(len(heads)):
        edge_ends[node + 1] += edge_ends[node]
    filled = edge_ends[:-1].copy()
    edges = np.empty(2 * words, np.int32)
    for node in range(len(heads)):
        head = heads[node]
        if head != NONE:
            edges[filled[node]] = head
            edges[filled[head]] = node
            filled[node] += 1
            filled[head] += 1
    return edges, edge_ends[1:]


@njit(cache=True, nogil=True)
def first_labels(ids: Array, vocabulary: int, starts: Array, ends: Array, labels: Array) -> int:
    """Number the parts of speech that occur, and the root as 0; how many there are."""
    numbers = np.full(vocabulary, NONE, np.int32)
    kinds = 1 if len(starts) else 0
    node = 0
    for sentence in range(len(starts)):
        for place in range(starts[sentence], ends[sentence]):
            if numbers[ids[place]] == NONE:
                numbers[ids[place]] = kinds
                kinds += 1
            labels[node] = numbers[ids[place]]
            node += 1
        labels[node] = 0
        node += 1
    return kinds


@njit(cache=True, nogil=True)
def next_labels(labels: Array, edges: Array, edge_ends: Array, labelled: Array) -> int:
    """Number what each node is together with its neighbours, from 0; how many kinds there are.

    A kind is kept as it is: its label and the sorted labels of its neighbours, one behind the
    other in `parts`, so that an equal hash is never taken for an equal kind.
    """
    table = np.full(1 << 12, NONE, np.int32)
    parts = np.empty(1 << 12, np.int32)
    part_ends = np.zeros(1 << 10, np.int64)
    hashes = np.empty(1 << 10, np.uint64)
    kinds = 0
    begin = 0
    for node in range(len(labels)):
        size = 1 + edge_ends[node] - begin
        last = part_ends[kinds]
        while last + size > len(parts):
            parts = double_length(parts)
        # Written where it would stay, if it is new.
        key = parts[last : last + size]
        key[0] = labels[node]
        for entry in range(begin, edge_ends[node]):
            key[1 + entry - begin] = labels[edges[entry]]
        begin = edge_ends[node]
        sort(key[1:])
        spread = hashed(key)
        slot = np.int64(spread & np.uint64(len(table) - 1))
        while table[slot] != NONE:
            kind = table[slot]
            if hashes[kind] == spread:
                start = part_ends[kind]
                if equal(parts[start : part_ends[kind + 1]], key):
                    break
            slot = (slot + 1) & (len(table) - 1)
        if table[slot] == NONE:
            table[slot] = kinds
            hashes[kinds] = spread
            kinds += 1
            if kinds + 1 >= len(part_ends):
                part_ends = double_length(part_ends)
                hashes = double_length(hashes)
            part_ends[kinds] = last + size
            labelled[node] = kinds - 1
            if 2 * kinds > len(table):
                table = filled_table(hashes[:kinds], 2 * len(table))
        else:
            labelled[node] = table[slot]
    return kinds


@njit(cache=True, nogil=True)
def double_length(array: Array) -> Array:
    grown = np.empty(2 * len(array), array.dtype)
    for place in range(len(array)):  # to assign a slice would take a second to compile
        grown[place] = array[place]
    return grown


@njit(cache=True, nogil=True)
def filled_table(hashes: Array, size: int) -> Array:
    table = np.full(size, NONE, np.int32)
    for kind in range(len(hashes)):
        slot = np.int64(hashes[kind] & np.uint64(size - 1))
        while table[slot] != NONE:
            slot = (slot + 1) & (size - 1)
        table[slot] = kind
    return table


@njit(cache=True, nogil=True)
def hashed(key: Array) -> np.uint64:
    spread = np.uint64(len(key))
    for part in key:
        spread = (spread ^ np.uint64(part)) * PRIME
        spread ^= spread >> np.uint64(32)
    return spread


@njit(cache=True, nogil=True)
def equal(first: Array, second: Array) -> bool:
    size = len(first)
    if size != len(second):
        return False
    place = 0
    while place < size and first[place] == second[place]:
        place += 1
    return place == size


@njit(cache=True, nogil=True)
def sort(part: Array) -> None:
    """In place, by insertion at smaller and smaller steps (Shell 1959; Ciura 2001); a node has few
    neighbours and a sentence few words, for which this beats the general sort."""
    step = 1
    if len(part) > SHORT:
        while 9 * step + 4 < 4 * len(part):
            step = 9 * step // 4 + 1
    while step:
        for place in range(step, len(part)):
            label = part[place]
            before = place - step
            while before >= 0 and part[before] > label:
                part[before + step] = part[before]
                before -= step
            part[before + step] = label
        step = 4 * step // 9


@njit(cache=True, nogil=True)
def counted(levels: Array, lengths: Array) -> tuple[Array, Array, Array, Array]:
    """Labels, counts, ends and squared lengths of every sentence's histogram; sorts the levels."""
    labels = np.empty(levels.size, np.int32)
    counts = np.empty(levels.size, np.int32)
    ends = np.empty(len(lengths), np.int64)
    norms = np.zeros(len(lengths), np.int64)
    filled = 0
    first = 0
    for sentence in range(len(lengths)):
        last = first + lengths[sentence] + 1
        # Labels of a greater depth have greater numbers, so that all are ascending.
        for level in range(len(levels)):
            part = levels[level, first:last]
            sort(part)
            begin = 0
            for place in range(1, len(part) + 1):
                if place == len(part) or part[place] != part[begin]:
                    labels[filled] = part[begin]
                    counts[filled] = place - begin
                    norms[sentence] += (place - begin) * (place - begin)
                    filled += 1
                    begin = place
        ends[sentence] = filled
        first = last
    return labels[:filled].copy(), counts[:filled].copy(), ends, norms


NONE = -1
SEVERAL = -2


@dataclass(frozen=True, slots=True)
class TextSums:
    """Of every text: how many vectors, the squared length of their sum, the part of it from labels
    of its own, and the sum over shared labels, `weights[ends[t-1]:ends[t]]`."""

    counts: Integers
    squares: Floats
    unshared: Floats
    shared: Ids
    weights: Floats
    ends: Offsets
    kinds: int

    def square(self, take: Integers, factors: Floats | None = None) -> float:
        """The squared length of the sum over a group, of each text `factors` times its sum."""
        factors = np.ones(len(take)) if factors is None else factors
        total = self.total(take, factors)
        # Not by BLAS, whose last digit may depend on how many threads are at work.
        return float((factors**2 * self.unshared[take]).sum() + np.square(total).sum())

    def squares_of_groups(self, take: Integers, factors: Floats) -> Floats:
        """`square` of many groups of the same texts: of text i, group g takes `factors[i, g]`."""
        squares = (factors**2 * self.unshared[take][:, None]).sum(axis=0)
        return np.asarray(
            squares + group_squares(self.shared, self.weights, self.ends, self.kinds, take, factors)
        )

    def total(self, take: Integers, factors: Floats) -> Floats:
        """That sum over the shared labels."""
        return group_sum(self.shared, self.weights, self.ends, self.kinds, take, factors)

    def products(self, take: Integers) -> Floats:
        """The sum over the group times that over each of its texts."""
        total = self.total(take, np.ones(len(take)))
        return self.unshared[take] + text_products(
            self.shared, self.weights, self.ends, total, take
        )


def text_sums(histograms: Histograms, sentences: Sentences, texts: int) -> TextSums:
    """The sums of the sentences of each of `texts` texts."""
    counts = np.bincount(sentences.texts, minlength=texts).astype(np.int64)
    lengths = np.sqrt(histograms.norms.astype(np.float64))
    sums = summed(
        histograms.labels, histograms.counts, histograms.ends, lengths, counts, histograms.kinds
    )
    return TextSums(counts, *sums)


@njit(cache=True, nogil=True)
def summed(
    labels: Array, counts: Array, ends: Array, lengths: Array, per_text: Array, kinds: int
) -> tuple[Array, Array, Array, Array, Array, int]:
    owner = np.full(kinds, NONE, np.int32)
    sentence = 0
    entry = 0
    for text in range(len(per_text)):
        for _ in range(per_text[text]):
            while entry < ends[sentence]:
                label = labels[entry]
                if owner[label] == NONE:
                    owner[label] = text
                elif owner[label] != text:
                    owner[label] = SEVERAL
                entry += 1
            sentence += 1

    renumbered = np.full(kinds, NONE, np.int32)
    shared_kinds = 0
    most = 0
    for label in range(kinds):
        if owner[label] == SEVERAL:
            renumbered[label] = shared_kinds
            shared_kinds += 1
    for label in labels:
        most += owner[label] == SEVERAL

    single = np.zeros(kinds, np.float64)
    shared = np.empty(most, np.int32)
    weights = np.empty(most, np.float64)
    shared_ends = np.empty(len(per_text), np.int64)
    squares = np.zeros(len(per_text), np.float64)
    self_products = np.zeros(len(per_text), np.float64)
    place_of = np.full(shared_kinds, NONE, np.int64)
    filled = 0
    sentence = 0
    entry = 0
    for text in range(len(per_text)):
        begin = filled
        for _ in range(per_text[text]):
            while entry < ends[sentence]:
                weight = counts[entry] / lengths[sentence]
                number = renumbered[labels[entry]]
                if number == NONE:
                    single[labels[entry]] += weight
                elif place_of[number] >= begin:
                    weights[place_of[number]] += weight
                else:
                    place_of[number] = filled
                    shared[filled] = number
                    weights[filled] = weight
                    filled += 1
                entry += 1
            sentence += 1
        shared_ends[text] = filled
        for place in range(begin, filled):
            squares[text] += weights[place] * weights[place]
    for label in range(kinds):
        if owner[label] >= 0:
            self_products[owner[label]] += single[label] * single[label]
    return (
        squares + self_products,
        self_products,
        shared[:filled].copy(),
        weights[:filled].copy(),
        shared_ends,
        shared_kinds,
    )


def square_of(histograms: Histograms, chosen: Integers) -> float:
    """The squared length of the sum over the chosen sentences."""
    starts, ends = starts_of(histograms.ends)[chosen], histograms.ends[chosen]
    entries, _ = items_of(starts, ends)
    lengths = np.repeat(np.sqrt(histograms.norms[chosen].astype(np.float64)), ends - starts)
    total = np.bincount(
        histograms.labels[entries], histograms.counts[entries] / lengths, histograms.kinds
    )
    return float(np.square(total).sum())


@njit(cache=True, nogil=True)
def group_sum(
    shared: Array, weights: Array, ends: Array, kinds: int, take: Array, factors: Array
) -> Array:
    """The sum of the chosen texts' vectors, times their factors, over the shared labels."""
    total = np.zeros(kinds, np.float64)
    for number in range(len(take)):
        text, factor = take[number], factors[number]
        for entry in range(ends[text - 1] if text else 0, ends[text]):
            total[shared[entry]] += factor * weights[entry]
    return total


@njit(cache=True, nogil=True)
def group_squares(
    shared: Array, weights: Array, ends: Array, kinds: int, take: Array, factors: Array
) -> Array:
    """The squared lengths of many such sums, over the shared labels: label by label, for all groups
    at once."""
    ends_of = np.zeros(kinds + 1, np.int64)
    for text in take:
        for entry in range(ends[text - 1] if text else 0, ends[text]):
            ends_of[shared[entry] + 1] += 1
    for label in range(kinds):
        ends_of[label + 1] += ends_of[label]
    # Where a label begins; once all its entries are there, where it ends.
    holders = np.empty(ends_of[kinds], np.int32)
    entries = np.empty(ends_of[kinds], np.float64)
    for number in range(len(take)):
        text = take[number]
        for entry in range(ends[text - 1] if text else 0, ends[text]):
            place = ends_of[shared[entry]]
            holders[place] = number
            entries[place] = weights[entry]
            ends_of[shared[entry]] = place + 1
    groups = factors.shape[1]
    squares = np.zeros(groups)
    total = np.empty(groups)
    # What labels add that stand in one of these texts alone, by text.
    single = np.zeros(len(take))
    place = 0
    for label in range(kinds):
        if place + 1 >= ends_of[label]:
            if place < ends_of[label]:
                single[holders[place]] += entries[place] * entries[place]
                place += 1
            continue
        weight, factor = entries[place], factors[holders[place]]
        for group in range(groups):
            total[group] = weight * factor[group]
        place += 1
        while place + 1 < ends_of[label]:
            weight, factor = entries[place], factors[holders[place]]
            for group in range(groups):
                total[group] += weight * factor[group]
            place += 1
        weight, factor = entries[place], factors[holders[place]]
        for group in range(groups):
            product = total[group] + weight * factor[group]
            squares[group] += product * product
        place += 1
    for number in range(len(take)):
        factor = factors[number]
        for group in range(groups):
            squares[group] += single[number] * factor[group] * factor[group]
    return squares


@njit(cache=True, nogil=True)
def text_products(shared: Array, weights: Array, ends: Array, total: Array, take: Array) -> Array:
    """`total` times the vector of each chosen text, over the shared labels."""
    products = np.zeros(len(take), np.float64)
    for number in range(len(take)):
        text = take[number]
        for entry in range(ends[text - 1] if text else 0, ends[text]):
            products[number] += total[shared[entry]] * weights[entry]
    return products


LENGTHS = (1, 5, 9, 13, 17, 21, 26, 36)
"""Where the bands of sentence length begin, in words; the last one is open."""
BANDS = len(LENGTHS)


def bands_of(sentences: Sentences) -> Integers:
    """The band that each sentence's length lies in."""
    return np.asarray(np.searchsorted(LENGTHS, sentences.lengths, side="right") - 1, np.int64)


def by_band(sentences: Sentences) -> Sentences:
    """The same sentences, those of one text and one band next to each other."""
    order = np.lexsort((bands_of(sentences), sentences.texts))
    return Sentences(sentences.starts[order], sentences.ends[order], sentences.texts[order])


@dataclass(frozen=True, slots=True)
class EqualLengthSentences:
    """Sums over the sentences of one text and one band; the share that each band is to have.

    `sums` takes text t in band b for text number t * BANDS + b. The target is 0 everywhere where
    there is nothing to match: `alone` says that there are no two sources with a diversity.
    """

    sums: TextSums
    target: Floats
    alone: bool

    def counts(self, take: Take) -> Integers:
        """How many sentences each text has in each band."""
        return self.sums.counts.reshape(-1, BANDS)[take]

    def entries(self, take: Take) -> int:
        """How many shared labels these texts hold, band by band."""
        ends = self.sums.ends[BANDS - 1 :: BANDS]
        return int((ends[take] - starts_of(ends)[take]).sum())

    def diversity(self, take: Take) -> float:
        """1 minus the weighted mean similarity over pairs."""
        counts = self.counts(take).sum(axis=0)
        weights = band_weights(self.target, counts)
        square = self.sums.square(_parts(take), np.tile(weights, len(take)))
        return float(1 - weighted_similarity(np.array(square), weights, counts))

    def diversities(self, take: Take, membership: Floats) -> Floats:
        """`diversity` of many groups of the same texts; `membership[i, g]`: 1 if g holds text i."""
        counts = (membership.T @ self.counts(take)).astype(np.int64)
        weights = band_weights(self.target, counts)
        factors = (membership[:, None] * weights.T).reshape(-1, membership.shape[1])
        squares = self.sums.squares_of_groups(_parts(take), factors)
        return np.asarray(1 - weighted_similarity(squares, weights, counts))

    def error(self, take: Take) -> float:
        """Jackknife standard error over texts, with the weights of the texts that are left.

        Weights that stay as they are would let the lengths vary again, which is just what they
        are there to prevent, and the interval would be too wide.
        """
        without = self.similarity_without(take)
        return left_out_error(without[~np.isnan(without)])

    def similarity_without(self, take: Take) -> Floats:
        """The weighted mean similarity without each text in turn; nan for texts without weight."""
        counts, without = self.counts(take), np.full(len(take), np.nan)
        has_target = counts @ self.target > 0
        remaining = counts[has_target].sum(axis=0) - counts[has_target]
        weights = band_weights(self.target, remaining)
        squares = squares_without(self.sums, take[has_target], weights)
        without[has_target] = weighted_similarity(squares, weights, remaining)
        return without

    def effective(self, take: Take) -> float:
        """How many sentences of equal weight would be worth as much (Kish)."""
        counts = self.counts(take).sum(axis=0)
        squares = float((counts * band_weights(self.target, counts) ** 2).sum())
        return 1 / squares if squares else 0.0


def equal_lengths(
    histograms: Histograms, sentences: Sentences, texts: int, groups: Iterable[Take]
) -> EqualLengthSentences:
    """Of sentences that are sorted by `by_band`, and their histograms."""
    parts = replace(sentences, texts=sentences.texts * BANDS + bands_of(sentences))
    sums = text_sums(histograms, parts, texts * BANDS)
    counts = sums.counts.reshape(-1, BANDS)
    by_source = [counts[take].sum(axis=0) for take in groups]
    alone = sum(of_source.sum() > 1 for of_source in by_source) < 2
    return EqualLengthSentences(sums, common_shares(by_source), alone)


def common_shares(counts: Iterable[Integers]) -> Floats:
    """Of each band the smallest share among the sources, adding up to 1; all 0 if none is common.

    A source with fewer than two sentences has no diversity, and does not take part. One source
    alone has no other to be like: taken as its own target it would seem to be known better than
    the plain mean, since lengths that vary from text to text would not count as chance.
    """
    shares = [of_source / of_source.sum() for of_source in counts if of_source.sum() > 1]
    least = np.min(shares, axis=0) if len(shares) > 1 else np.zeros(BANDS)
    return np.asarray(least / (least.sum() or 1), np.float64)


def band_weights(target: Floats, counts: Integers) -> Floats:
    """The weight of one sentence of each band; all sentences together weigh 1.

    Of one group (bands) or several (groups, bands). Bands that a group has not are left out of its
    target; without any of them, all weights are 0.
    """
    weights = np.where(counts > 0, target, 0.0)
    total = weights.sum(axis=-1, keepdims=True)
    return np.asarray(weights / np.maximum(counts, 1) / np.where(total > 0, total, 1.0), np.float64)


def weighted_similarity(squares: Floats, weights: Floats, counts: Integers) -> Floats:
    """Mean over pairs of different sentences; `squares` are the squared lengths of weighted sums.

    nan with fewer than two sentences of any weight.
    """
    several = ((weights > 0) * counts).sum(axis=-1) > 1
    same = (counts * weights**2).sum(axis=-1)
    return np.asarray(np.where(several, (squares - same) / np.where(several, 1 - same, 1), np.nan))


def squares_without(sums: TextSums, take: Take, weights: Floats) -> Floats:
    """The squared length of the weighted sum over all texts but one, for each of them.

    `weights[i]` are those of the bands when the i-th text is left out.
    """
    parts = _parts(take)
    squares = sums.unshared[parts].reshape(-1, BANDS)
    ones = np.ones(len(take))
    totals = np.stack([sums.total(parts[band::BANDS], ones) for band in range(BANDS)], axis=1)
    # Not by BLAS, whose last digit may depend on how many threads are at work.
    between = np.einsum("ka,kb->ab", totals, totals)
    everything = np.einsum("ta,ab,tb->t", weights, between, weights)
    lone = (weights**2 * (squares.sum(axis=0) - squares)).sum(axis=1)
    with_all, with_itself = products_of_texts(
        sums.shared, sums.weights, sums.ends, totals, take, weights
    )
    return np.asarray(everything - 2 * with_all + with_itself + lone, np.float64)


@njit(cache=True, nogil=True)
def products_of_texts(
    shared: Array, entries: Array, ends: Array, totals: Array, take: Array, weights: Array
) -> tuple[Array, Array]:
    """For each text, over shared labels: its weighted sum times that of all texts, and itself."""
    kinds, bands = totals.shape
    with_all = np.zeros(len(take), np.float64)
    with_itself = np.zeros(len(take), np.float64)
    text_sum = np.zeros(kinds, np.float64)
    for number in range(len(take)):
        first = take[number] * bands
        for band in range(bands):
            part = first + band
            for entry in range(ends[part - 1] if part else 0, ends[part]):
                text_sum[shared[entry]] += weights[number, band] * entries[entry]
        for entry in range(ends[first - 1] if first else 0, ends[first + bands - 1]):
            label = shared[entry]
            # A label of several bands is met again, with nothing left of it.
            count = text_sum[label]
            text_sum[label] = 0.0
            with_itself[number] += count * count
            for band in range(bands):
                with_all[number] += count * weights[number, band] * totals[label, band]
    return with_all, with_itself


def _parts(take: Take) -> Integers:
    """All bands of the first text, then of the next."""
    return (take[:, None] * BANDS + np.arange(BANDS)).ravel()
