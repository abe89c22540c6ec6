"""The n-grams of all texts as numbers, and which of them are a group's templates.

Counting is what resampling repeats hundreds of times, so groups are counted together: an n-gram
that stands less often in all of them than a group's last template in that group cannot be a
template of it, and is not looked at. Where that does not settle it, all are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.core.arrays import Array, Flags, Integers, empty
from rote.core.errors import OptionError
from rote.core.kernels import njit
from rote.core.layer import Layer, Offsets, items_of, starts_of
from rote.core.ngrams import ONCE, TextGroups, number_ngrams
from rote.core.sample import RawText, Take

Chosen: TypeAlias = Integers
"""Numbers of n-grams, the most frequent first, equal ones in the order of their items."""
# How many n-grams are looked at first, for each template that is asked for.
_CANDIDATES = 20


@dataclass(frozen=True, slots=True)
class WindowListing:
    """Some n-grams of each text in order: text t holds `grams[ends[t-1]:ends[t]]`.

    They have numbers of their own, below `kinds`, in the order of those of all n-grams.
    """

    grams: NDArray[np.int32]
    ends: Integers
    kinds: int

    def counts(self, take: Take) -> Integers:
        counts = np.zeros(self.kinds, np.int64)
        _count(self.grams, self.ends, take, counts)
        return counts

    def only(self, take: Take, chosen: Integers) -> WindowListing:
        """What these texts hold of these n-grams."""
        wanted = np.zeros(len(self.ends), np.bool_)
        wanted[take] = True
        return _listing(self.grams, starts_of(self.ends), self.ends, wanted, self.kinds, chosen)

    def occurrences(self, take: Take, chosen: Chosen) -> tuple[Integers, Integers]:
        """In each text: how often any of these n-grams occurs there, and how many different do."""
        return _occurrences(self.grams, self.ends, take, chosen, self.kinds)

    def template_sums(self, takes: Sequence[Take], top: int, min_count: int) -> Integers:
        """For each group: in how many of its texts any of its `top` most frequent n-grams stands,
        how often in all, how many different ones in each text, summed; how many of these n-grams
        there are, and how often the last one occurs."""
        groups = TextGroups.of(takes)
        return _template_sums(self.grams, self.ends, *groups, self.kinds, top, min_count)


@dataclass(frozen=True, slots=True)
class Windows:
    """Every window of n items within its text, or its sentence, by the number of its n-gram.

    Numbers follow the order of the items' strings, so that ties go to the smaller number.
    `numbers[p]` is the n-gram of the window that begins at item p, ONCE where there is none or
    where it stands nowhere else and could be no template. `first[g]` is the item at which n-gram
    g stands first, `counts[g]` how often it occurs in all texts.
    """

    n: int
    numbers: NDArray[np.int32]
    counts: Integers
    first: Integers
    every: WindowListing

    def templates(self, take: Take, top: int, min_count: int) -> Chosen:
        """The `top` most frequent n-grams of these texts that occur at least `min_count` times."""
        return _most_frequent(self.every.counts(take), top, min_count)

    def grams(self, layer: Layer, chosen: Chosen) -> list[tuple[str, ...]]:
        ids = layer.ids[self.first[chosen][:, None] + np.arange(self.n)]
        return [tuple(layer.vocabulary[i] for i in row) for row in ids.tolist()]

    def of_groups(self, takes: Sequence[Take], top: int, min_count: int) -> Integers:
        """For each group and its `templates`: in how many texts any stands, how often in all, and
        how many different ones in each text, summed over the texts."""
        texts = np.unique(np.concatenate(takes))
        pooled = self.every.counts(texts)
        candidates = min(len(pooled), _CANDIDATES * top)
        least = int(_last_of_largest(pooled, candidates)) if candidates else 0
        frequent = self.every.only(texts, np.flatnonzero(pooled >= max(least, min_count)))
        rows = frequent.template_sums(takes, top, min_count)
        if least > min_count:
            unsettled = np.flatnonzero((rows[:, 3] < top) | (rows[:, 4] < least))
            again = [takes[group] for group in unsettled.tolist()]
            if again:
                rows[unsettled] = self.every.template_sums(again, top, min_count)
        return rows[:, :3]

    # The rest goes by the texts of the layer, since listings may go by smaller pieces.

    def listing(self, layer: Layer, chosen: Integers) -> WindowListing:
        """These n-grams alone, numbers ascending."""
        ends, every = layer.text_ends, np.ones(len(layer), np.bool_)
        return _listing(self.numbers, starts_of(ends), ends, every, len(self.counts), chosen)

    def tally(
        self, layer: Layer, take: Take, owners: Integers | None = None
    ) -> tuple[Integers, Integers]:
        """How often each n-gram occurs in these texts, and in how many of them.

        `owners`: whose a text is, where these are what is counted; an owner's follow each other.
        """
        starts, ends = layer.text_starts, layer.text_ends
        owners = np.arange(len(ends)) if owners is None else owners
        return _tally(self.numbers, starts, ends, take, owners, len(self.counts))

    def places(self, layer: Layer, take: Take, chosen: Chosen) -> tuple[Integers, Integers]:
        """The items at which these n-grams begin, in order, and which of `chosen` occurs there."""
        wanted = np.full(len(self.counts), -1, np.int64)
        wanted[chosen] = np.arange(len(chosen))
        items, _ = items_of(layer.text_starts[take], layer.text_ends[take])
        items = items[self.numbers[items] != ONCE]
        which = wanted[self.numbers[items]]
        return items[which >= 0], which[which >= 0]


def sentence_ends(layer: Layer) -> Offsets:
    """Where a layer's sentences end, for n-grams that stay within them."""
    if layer.sentence_ends is None:
        raise OptionError(
            f"n-grams must stay within sentences, but the layer '{layer.name}' has no sentence "
            "boundaries: provide them with the layer, or use --variant exact, --windows text"
        )
    return layer.sentence_ends


def windows(layer: Layer, n: int, *, singles: bool) -> Windows:
    """Number the n-grams of a layer; `singles`: also those that stand once."""
    return next(windows_by_length(layer, (n,), singles=singles))


def windows_by_length(
    layer: Layer, lengths: Sequence[int], *, singles: bool, within: Offsets | None = None
) -> Iterator[Windows]:
    """The same for several lengths, shortest first: longer n-grams are made from shorter ones.

    `within`: where the stretches end that hold whole n-grams, if these are smaller than texts.
    """
    ends = layer.text_ends if within is None else within
    starts = starts_of(ends)
    last = max(lengths, default=0)
    if last:
        for n, numbers, kinds, _ in number_ngrams(
            layer.ids, starts, ends, len(layer.vocabulary), last
        ):
            if n in lengths:
                # What follows overwrites the numbers, and the next length needs them.
                numbers_of_length = numbers
                if n < last:
                    numbers_of_length = empty(len(numbers), np.int32)
                    numbers_of_length[:] = numbers
                yield _numbered(layer, numbers_of_length, kinds, n, singles, ends)


def _numbered(
    layer: Layer, numbers: NDArray[np.int32], kinds: int, n: int, singles: bool, ends: Offsets
) -> Windows:
    counts, first = _count_windows(numbers, starts_of(ends), ends, n, kinds, singles)
    order = _in_order(layer, first, n)
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    _replace_by_rank(numbers, rank)
    everything = np.ones(len(layer), np.bool_)
    where = (layer.text_starts, layer.text_ends, everything)
    every = _listing(numbers, *where, len(order), np.arange(len(order)))
    return Windows(n, numbers, counts[order], first[order], every)


def _listing(
    numbers: NDArray[np.int32],
    starts: Offsets,
    ends: Offsets,
    wanted: Flags,
    kinds: int,
    chosen: Integers,
) -> WindowListing:
    """The chosen n-grams, numbers ascending, in the texts that are wanted."""
    rank = np.full(kinds + 1, ONCE, np.int32)  # the last is that of ONCE
    rank[chosen] = np.arange(len(chosen), dtype=np.int32)
    grams = empty(_size(numbers, starts, ends, wanted, rank), np.int32)
    ends_of_texts = _list_chosen(numbers, starts, ends, wanted, rank, grams)
    return WindowListing(grams, ends_of_texts, len(chosen))


def _last_of_largest(counts: Integers, top: int) -> np.int64:
    """The smallest of the `top` largest numbers."""
    place = len(counts) - top
    return np.int64(np.partition(counts, place)[place])


def reaching_top(counts: Integers, top: int) -> Integers:
    """The places of the `top` largest numbers, and of all that tie with the last of them."""
    if len(counts) <= top:
        return np.arange(len(counts))
    return np.flatnonzero(counts >= _last_of_largest(counts, top))


def _most_frequent(counts: Integers, top: int, min_count: int) -> Chosen:
    there = np.flatnonzero(counts >= min_count)
    there = there[reaching_top(counts[there], top)]
    # Stable: equal counts stay in the order of the numbers, which is that of the items.
    return there[np.argsort(-counts[there], kind="stable")][:top]


def _in_order(layer: Layer, first: Integers, n: int) -> Integers:
    """The n-grams sorted by the strings of their items."""
    rank = np.empty(len(layer.vocabulary), np.int64)
    rank[np.argsort(np.array(layer.vocabulary, dtype=object))] = np.arange(len(rank))
    columns = (rank[layer.ids[first + i]] for i in range(n))
    bits = max(1, len(rank).bit_length())
    if n * bits <= 63:
        key = np.zeros(len(first), np.int64)
        for column in columns:
            key = (key << bits) | column
        return np.argsort(key, kind="stable")
    return np.lexsort(list(columns)[::-1])


@njit(cache=True, nogil=True)
def _count_windows(
    numbers: Array, starts: Array, ends: Array, n: int, kinds: int, singles: bool
) -> tuple[Array, Array]:
    """How often each n-gram stands, and where first. Where none begins the number becomes ONCE;
    `singles`: those that stand once get numbers too."""
    every = kinds
    for text in range(len(ends)):
        for place in range(max(starts[text], ends[text] - n + 1), ends[text]):
            numbers[place] = ONCE
        for place in range(starts[text], ends[text] - n + 1 if singles else starts[text]):
            if numbers[place] == ONCE:
                numbers[place] = every
                every += 1
    counts = np.zeros(every, np.int64)
    first = np.empty(every, np.int64)
    for text in range(len(ends)):
        for place in range(starts[text], ends[text] - n + 1):
            number = numbers[place]
            if number != ONCE:
                if counts[number] == 0:
                    first[number] = place
                counts[number] += 1
    return counts, first


@njit(cache=True, nogil=True)
def _replace_by_rank(numbers: Array, rank: Array) -> None:
    for place in range(len(numbers)):
        if numbers[place] != ONCE:
            numbers[place] = rank[numbers[place]]


@njit(cache=True, nogil=True)
def _size(numbers: Array, starts: Array, ends: Array, wanted: Array, rank: Array) -> int:
    size = 0
    for text in range(len(ends)):
        for place in range(starts[text], ends[text] if wanted[text] else starts[text]):
            size += int(rank[numbers[place]] != ONCE)
    return size


@njit(cache=True, nogil=True)
def _list_chosen(
    numbers: Array, starts: Array, ends: Array, wanted: Array, rank: Array, grams: Array
) -> Array:
    sizes = np.empty(len(ends), np.int64)
    filled = 0
    for text in range(len(ends)):
        if wanted[text]:
            for place in range(starts[text], ends[text]):
                if rank[numbers[place]] != ONCE:
                    grams[filled] = rank[numbers[place]]
                    filled += 1
        sizes[text] = filled
    return sizes


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
    counts = np.zeros(len(take), np.int64)
    different = np.zeros(len(take), np.int64)
    for rank in range(len(take)):
        text = take[rank]
        start = ends[text - 1] if text else 0
        for place in range(start, ends[text]):
            mark = marks[numbers[place]]
            if mark > -2:
                counts[rank] += 1
                if mark != rank:
                    different[rank] += 1
                    marks[numbers[place]] = rank
    return counts, different


@njit(cache=True, nogil=True)
def _template_sums(
    numbers: Array,
    ends: Array,
    members: Array,
    member_ends: Array,
    kinds: int,
    top: int,
    min_count: int,
) -> Array:
    sums = np.zeros((len(member_ends), 5), np.int64)
    counts = np.empty(kinds, np.int64)
    marks = np.empty(kinds, np.int64)
    for group in range(len(member_ends)):
        first = member_ends[group - 1] if group else 0
        counts[:] = 0
        for member in range(first, member_ends[group]):
            text = members[member]
            for place in range(ends[text - 1] if text else 0, ends[text]):
                counts[numbers[place]] += 1
        most = 0
        for number in range(kinds):
            most = max(most, counts[number])
        having = np.zeros(most + 1, np.int64)
        for number in range(kinds):
            having[counts[number]] += 1
        # All that occur more often than `last`, and as many of those that occur so often as there
        # is room for: the first ones, as in `_most_frequent`.
        last = most + 1
        above = 0
        while last > max(min_count, 1) and above < top:
            last -= 1
            above += having[last]
        room = top - (above - having[last]) if last <= most else 0
        chosen = 0
        for number in range(kinds):
            marks[number] = -2
            if counts[number] > last or (counts[number] == last and room > 0):
                room -= counts[number] == last
                marks[number] = -1
                chosen += 1
        for member in range(first, member_ends[group]):
            text = members[member]
            before = sums[group, 1]
            for place in range(ends[text - 1] if text else 0, ends[text]):
                mark = marks[numbers[place]]
                if mark > -2:
                    sums[group, 1] += 1
                    if mark != member:
                        sums[group, 2] += 1
                        marks[numbers[place]] = member
            sums[group, 0] += sums[group, 1] > before
        sums[group, 3] = chosen
        sums[group, 4] = last
    return sums


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


# The words behind a template: what its places read like, and sentences that hold it.
#
# Places are item numbers of the counted layer, so a text is decoded only where something in it is
# shown. Places with the same words are counted by the words' numbers; only those that are shown
# are spelled.

Places: TypeAlias = Integers
"""Items at which an n-gram begins."""
Read: TypeAlias = list[tuple[str, int]]
"""What an n-gram reads like and how often, most frequent first."""

MATCHES = 10
EXAMPLES = 3
# Around a match, where sentences are not known or endless.
_AROUND = 80
_LONGEST_SENTENCE = 500


def spans(layer: Layer, places: Places, n: int) -> tuple[Integers, Integers]:
    """First and last character of the n items from each place on, in its own text.

    In a tree layer items are not in the order of the text, and what they span may hold
    words of others.
    """
    starts = np.full(len(places), np.iinfo(np.int64).max, np.int64)
    ends = np.zeros(len(places), np.int64)
    for step in range(n):
        np.minimum(starts, layer.starts[places + step], out=starts)
        np.maximum(ends, layer.ends[places + step], out=ends)
    return starts, ends


@dataclass(frozen=True, slots=True)
class Example:
    """One place of an n-gram: characters of text number `text`, and the sentence around it."""

    text: int
    start: int
    end: int
    sentence: str
    sentence_start: int

    @property
    def row(self) -> dict[str, int | str]:
        names = ("start", "end", "sentence", "sentence_start")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class MatchReader:
    """Reads places of n items: the layer they belong to, the words, the texts."""

    layer: Layer
    word: Layer
    raw: RawText
    n: int

    def texts(self, places: Places) -> Integers:
        return np.searchsorted(self.layer.text_ends, places, side="right").astype(np.int64)

    def matches(self, groups: Sequence[Places]) -> list[Read]:
        """What each group of places reads like: the most frequent, ties in the strings' order."""
        # Whether item i of both is the same word of the same text.
        aligned = (
            len(self.layer.ids) == len(self.word.ids)
            and np.array_equal(self.layer.starts, self.word.starts)
            and np.array_equal(self.layer.ends, self.word.ends)
            and np.array_equal(self.layer.text_ends, self.word.text_ends)
        )
        snippets, weights = [], []
        for places in groups:
            counts = np.ones(len(places), np.int64)
            if aligned:
                places, counts = self._same_words(places)
                # Those that can be among the most frequent.
                frequent = reaching_top(counts, MATCHES)
                places, counts = places[frequent], counts[frequent]
            snippets.append(places)
            weights.append(counts)
        spelled = iter(self._spelled(_concatenate(snippets)))
        by_group = []
        for counts in weights:
            read: Counter[str] = Counter()
            for count in counts.tolist():
                read[next(spelled)] += count
            by_group.append(sorted(read.items(), key=lambda pair: (-pair[1], pair[0]))[:MATCHES])
        return by_group

    def examples(self, groups: Sequence[Places]) -> list[list[Example]]:
        """For each group of places the first ones that occur in different texts."""
        sentences = []
        for places in groups:
            _, first = np.unique(self.texts(places), return_index=True)
            sentences.append(places[first[:EXAMPLES]])
        every = _concatenate(sentences)
        starts, ends = spans(self.layer, every, self.n)
        examples: dict[int, Example] = {}
        for index, number, text in self.decoded(every):
            start, end = int(starts[index]), int(ends[index])
            sentence_start, right = self._sentence(int(every[index]), text, start, end)
            sentence = text[sentence_start:right]
            examples[index] = Example(number, start, end, sentence, sentence_start)
        in_order = iter(range(len(every)))
        return [[examples[next(in_order)] for _ in places] for places in sentences]

    def _same_words(self, places: Places) -> tuple[Places, Integers]:
        """One place for each sequence of words, and how often it stands.

        Words that touch ("do" "n't") and words apart ("do" "not") are kept apart.
        """
        key = np.zeros(len(places), np.int64)
        words = len(self.word.vocabulary)
        for step in range(self.n):
            item = places + step
            column = self.word.ids[item].astype(np.int64)
            if step:
                touching = self.word.starts[item] <= self.word.ends[item - 1]
                column = column * 2 + touching
            # Renumbered at every step, so that the key never outgrows 64 bits.
            _, key = np.unique(key * (2 * words) + column, return_inverse=True)
        _, first, counts = np.unique(key, return_index=True, return_counts=True)
        return places[first], counts.astype(np.int64)

    def _spelled(self, places: Places) -> list[str]:
        """The raw text of each place, white space as one space."""
        starts, ends = spans(self.layer, places, self.n)
        out = [""] * len(places)
        for index, _, text in self.decoded(places):
            out[index] = " ".join(text[starts[index] : ends[index]].split())
        return out

    def decoded(self, places: Places) -> Iterator[tuple[int, int, str]]:
        """Index, text number and text of each place, text by text: each is decoded once."""
        numbers = self.texts(places)
        last, text = -1, ""
        for index in np.argsort(numbers, kind="stable").tolist():
            number = int(numbers[index])
            if number != last:
                last, text = number, self.raw.string(number)
            yield index, number, text

    def _sentence(self, place: int, text: str, start: int, end: int) -> tuple[int, int]:
        """The characters of the sentence, or sentences, that hold a match."""
        begin_char, right = 0, len(text)
        sentences = self.layer.sentence_ends
        if sentences is not None:
            first, last = np.searchsorted(sentences, (place, place + self.n - 1), side="right")
            # Clipped to the match's own text: nothing is taken for granted of imported layers.
            items = self.layer.slice(int(self.texts(np.array([place]))[0]))
            begin = max(items.start, int(sentences[first - 1]) if first else 0)
            stop = min(items.stop, int(sentences[last]) if last < len(sentences) else items.stop)
            begin_char = min(start, int(self.layer.starts[begin:stop].min()))
            right = max(end, int(self.layer.ends[begin:stop].max()))
            if right - begin_char <= _LONGEST_SENTENCE:
                return begin_char, right
        # Cut at white space, if there is any.
        first, behind = max(begin_char, start - _AROUND), min(right, end + _AROUND)
        if first > begin_char:
            first = next((i for i in range(first, start) if text[i - 1].isspace()), first)
        if behind < right:
            behind = next((i for i in range(behind, end, -1) if text[i].isspace()), behind)
        return first, behind


def _concatenate(groups: Sequence[Places]) -> Places:
    return np.concatenate((np.empty(0, np.int64), *groups))
