"""Which texts hold a part of a test item, word for word or nearly.

The one matcher of `contamination`, which finds passages by an index, and of `decontaminate`, which
streams documents. A part is its folded words (`annotate/folded_words.py`). A text that shares a
seed, a few words in a row, with a part is aligned with it there: the score is the weight of the
part's words that occur in that passage in the same order, of the weight of all its words. A word
weighs as many bits as it is rare in a sample of the corpus. Seeds that are common there start no
alignment, and words that only such seeds hold weigh nothing: a phrase that everybody writes
convicts nobody. A part that is short, or whose words are common, cannot be judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rote.annotate import folded_words
from rote.annotate.folded_words import FoldedWords
from rote.core.arrays import Array
from rote.core.kernels import njit
from rote.core.layer import Ids, Offsets, starts_of
from rote.core.metric import LONGEST_NGRAM, OptionSet, option
from rote.index.grams import END

VERSION = f"parts/2+{folded_words.VERSION}"
"""For the signatures of results: what counts as held, and by which words."""
SCORE = 0.7
SAMPLE = 16_000_000
"""Characters of a corpus, its first, that tell how rare words and phrases are."""
# A passage is so much longer than the part, on either side.
_SLACK, _LEAST_SLACK = 0.25, 8
# Bits of a word that occurs once in a million: a sample of that many words tells rare from common.
_ENOUGH = 20
_GRID = 1 << 20
_FIRST, _NEXT = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


@dataclass(frozen=True, slots=True)
class MatchOptions(OptionSet):
    """What counts as a copy of an item."""

    SECTION: ClassVar[str] = "Items"
    share: float = option(
        SCORE, "minimum share of a part's words, weighted by rarity, for a match", above=0, most=1
    )
    min_bits: float = option(60.0, "minimum total rarity of a part's words", least=0.0)
    min_words: int = option(8, "minimum number of words in a part", least=1, most=10_000)
    seed_words: int = option(
        4,
        "minimum number of consecutive words for a document to be checked",
        least=2,
        most=LONGEST_NGRAM,
    )
    seed_count: int = option(
        10, "minimum number of sampled documents for a seed to be a common phrase", least=1
    )


@dataclass(frozen=True, slots=True)
class PartMatch:
    """A passage of a text that holds a part: words `first` to `last` (inclusive) of all texts."""

    text: int
    part: int
    score: float
    bits: float
    words: int
    """Words of the part that are there."""
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class PartMatcher:
    """The parts one after another, an END behind each, ready for the kernels."""

    options: MatchOptions
    numbers: dict[str, int]
    ids: Ids
    starts: Offsets
    ends: Offsets
    weights: NDArray[np.float64]
    """Bits of each position; 0 for words that only common seeds hold."""
    totals: NDArray[np.float64]
    least: float
    """Bits that the words of a part must have in all."""
    judged: NDArray[np.bool_]
    """Which parts are long and rare enough to convict."""
    skipped: NDArray[np.bool_]
    """Positions whose seeds start no alignment: common ones, and those of parts not judged."""
    table: Ids
    links: Ids

    @classmethod
    def build(cls, parts: FoldedWords, sample: FoldedWords, options: MatchOptions) -> PartMatcher:
        used = np.unique(parts.ids)
        numbers = {parts.vocabulary[entry]: n for n, entry in enumerate(used.tolist(), 1)}
        ends = parts.text_ends + np.arange(len(parts))
        starts = starts_of(parts.text_ends) + np.arange(len(parts))
        ids = np.full(len(parts.ids) + len(parts), END, np.int32)
        inside = np.ones(len(ids), np.bool_)
        inside[ends] = False
        ids[inside] = np.searchsorted(used, parts.ids) + 1
        table = np.empty(1 << max(4, (len(ids) * 4).bit_length()), np.int32)
        links = np.empty(len(ids), np.int32)
        _make_table(ids, options.seed_words, table, links)
        words, total = _number(sample, numbers), len(sample.ids) + 1
        counts = np.bincount(words, minlength=len(numbers) + 1)
        # On a grid, so that sums are exact: no verdict hangs on the last digit of a logarithm.
        bits = np.round(np.log2(total / (counts + 1.0)) * _GRID) / _GRID
        bits[END] = 0.0
        holders = np.zeros(len(ids), np.int32)
        _count_holders(words, sample.text_ends, ids, options.seed_words, table, links, holders)
        skipped, weights = holders >= options.seed_count, bits[ids]
        _weigh(starts, ends, options.seed_words, skipped, weights)
        totals = np.add.reduceat(weights, starts) if len(starts) else np.empty(0)
        # In few words none is rare: what is asked for shrinks with what can be told.
        least = options.min_bits * min(1.0, float(np.log2(total)) / _ENOUGH)
        judged = (ends - starts >= max(options.min_words, options.seed_words)) & (totals >= least)
        judged &= totals > 0
        skipped |= np.repeat(~judged, ends - starts + 1)
        arrays = (ids, starts, ends, weights, totals, least, judged, skipped, table, links)
        return cls(options, numbers, *arrays)

    def __len__(self) -> int:
        return len(self.starts)

    def words_of(self, part: int) -> Ids:
        return self.ids[self.starts[part] : self.ends[part]]

    def number(self, texts: FoldedWords) -> Ids:
        """The words of texts by the numbers of the parts'; END for any other."""
        return _number(texts, self.numbers)

    def find(
        self,
        words: Ids,
        text_ends: Offsets,
        only: Offsets | None = None,
        score: float | None = None,
    ) -> list[PartMatch]:
        """All passages that hold a part which can be judged, by part, text and position.

        `words` are numbered. `only` names the one part that is looked for in each text; `score` is
        the least one that is told.
        """
        first = np.empty(len(words), np.int32)
        _find_seeds(words, text_ends, self.ids, self.options.seed_words, self.table, first)
        hits, positions = _list_hits(first, self.links, self.skipped)
        part_of = np.searchsorted(self.ends, positions, side="left")
        texts = np.searchsorted(text_ends, hits, side="right")
        if only is not None:
            keep = part_of == only[texts]
            hits, positions, part_of, texts = (
                each[keep] for each in (hits, positions, part_of, texts)
            )
        # Where the part would begin: hits of one copy agree, but for words added or left out.
        begins = hits - (positions - self.starts[part_of])
        order = np.lexsort((begins, texts, part_of))
        out = np.empty((len(order), 5), np.int64)
        bits = np.empty(len(order))
        count = _align_all(
            (part_of[order], texts[order], begins[order]),
            (words, starts_of(text_ends), text_ends),
            (self.ids, self.starts, self.ends, self.weights, self.totals),
            np.zeros(len(self.numbers) + 1, np.bool_),
            self.options.share if score is None else score,
            self.least,
            out,
            bits,
        )
        return [
            PartMatch(text, part, float(weight / self.totals[part]), float(weight), *where)
            for (part, text, *where), weight in zip(out[:count].tolist(), bits[:count])
        ]


def _number(texts: FoldedWords, numbers: dict[str, int]) -> Ids:
    table = np.array([numbers.get(entry, END) for entry in texts.vocabulary] or [END], np.int32)
    return table[texts.ids]


def holds_run(words: Ids, run: Ids) -> bool:
    """Whether some words occur there one behind another."""
    if not 0 < len(run) <= len(words):
        return False
    windows = np.lib.stride_tricks.sliding_window_view(words, len(run))
    return bool((windows == run).all(axis=1).any())


@njit(cache=True, nogil=True)
def _key(ids: Array, position: int, length: int) -> np.uint64:
    """A hash of the next words; who takes a place by it compares the words."""
    key = _FIRST
    for step in range(length):
        key = (key ^ np.uint64(ids[position + step])) * _NEXT
        key ^= key >> np.uint64(29)
    return key


@njit(cache=True, nogil=True)
def _is_same(ids: Array, position: int, others: Array, other: int, length: int) -> bool:
    step = 0
    while step < length and ids[position + step] == others[other + step]:
        step += 1
    return step == length


@njit(cache=True, nogil=True)
def _make_table(ids: Array, length: int, table: Array, links: Array) -> None:
    """The positions of each seed: the first in the table (-1: none), the next ones by `links`."""
    mask = np.uint64(len(table) - 1)
    table[:] = -1
    links[:] = -1
    known = 0
    for position in range(len(ids)):
        known = known + 1 if ids[position] != END else 0
        if known < length:
            continue
        start = position - length + 1
        slot = _key(ids, start, length) & mask
        while table[slot] >= 0 and not _is_same(ids, start, ids, table[slot], length):
            slot = (slot + np.uint64(1)) & mask
        links[start] = table[slot]
        table[slot] = start


@njit(cache=True, nogil=True)
def _find_seeds(
    words: Array, ends: Array, ids: Array, length: int, table: Array, first: Array
) -> None:
    """Per word of the texts the first position of the seed that begins there, -1 if none does."""
    mask = np.uint64(len(table) - 1)
    first[:] = -1
    start = 0
    for end in ends:
        known = 0
        for position in range(start, end):
            known = known + 1 if words[position] != END else 0
            if known < length:
                continue
            begin = position - length + 1
            slot = _key(words, begin, length) & mask
            while table[slot] >= 0:
                if _is_same(words, begin, ids, table[slot], length):
                    first[begin] = table[slot]
                    break
                slot = (slot + np.uint64(1)) & mask
        start = end


@njit(cache=True, nogil=True)
def _count_holders(
    words: Array, ends: Array, ids: Array, length: int, table: Array, links: Array, holders: Array
) -> None:
    """How many texts hold the seed that begins at each position of the parts."""
    first = np.empty(len(words), np.int32)
    _find_seeds(words, ends, ids, length, table, first)
    last = np.full(len(holders), -1, np.int64)
    start = 0
    for text, end in enumerate(ends):
        for position in range(start, end):
            at = first[position]
            if at >= 0 and last[at] != text:
                last[at] = text
                holders[at] += 1
        start = end
    for position in table:
        if position >= 0:
            at = links[position]
            while at >= 0:
                holders[at] = holders[position]
                at = links[at]


@njit(cache=True, nogil=True)
def _weigh(starts: Array, ends: Array, length: int, common: Array, weights: Array) -> None:
    """Words that only common seeds hold get no weight.

    A part of which every seed is common is copied as a whole, or says nothing: its length and its
    rarity tell which, so all of its seeds count.
    """
    for part in range(len(starts)):
        start, end = starts[part], ends[part]
        rare = False
        for position in range(start, end - length + 1):
            rare |= not common[position]
        if not rare:
            common[start:end] = False
            continue
        until = start  # the end of the last rare seed
        for position in range(start, end):
            if position <= end - length and not common[position]:
                until = position + length
            if position >= until:
                weights[position] = 0.0


@njit(cache=True, nogil=True)
def _list_hits(first: Array, links: Array, common: Array) -> tuple[Array, Array]:
    """All pairs of a word of a text and a position of a part that begin with the same seed, those
    apart that are common."""
    count = 0
    for position in range(len(first)):
        at = first[position]
        while at >= 0:
            count += not common[at]
            at = links[at]
    words, positions = np.empty(count, np.int64), np.empty(count, np.int64)
    count = 0
    for position in range(len(first)):
        at = first[position]
        while at >= 0:
            if not common[at]:
                words[count], positions[count] = position, at
                count += 1
            at = links[at]
    return words, positions


@njit(cache=True, nogil=True)
def _align_all(
    hits: tuple[Array, ...],
    texts_given: tuple[Array, ...],
    parts_given: tuple[Array, ...],
    marked: Array,
    score: float,
    least: float,
    out: Array,
    bits: Array,
) -> int:
    """Align each part with the passages of texts that its hits lead to, which are in order.

    Hits that are no further apart than a passage may be longer than the part lead to one passage.
    Rows of part, text, words, first and last word, with their `bits`; how many there are.
    """
    parts, texts, begins = hits
    words, text_starts, text_ends = texts_given
    ids, starts, ends, weights, totals = parts_given
    count, hit = 0, 0
    while hit < len(parts):
        part, text, begin = parts[hit], texts[hit], begins[hit]
        length = ends[part] - starts[part]
        slack = max(_LEAST_SLACK, int(_SLACK * length))
        last = begin
        hit += 1
        while (
            hit < len(parts)
            and parts[hit] == part
            and texts[hit] == text
            and begins[hit] - last <= slack
            and begins[hit] - begin <= length
        ):
            last = begins[hit]
            hit += 1
        low = max(text_starts[text], begin - slack)
        high = min(text_ends[text], last + length + slack)
        part_words, window = ids[starts[part] : ends[part]], words[low:high]
        needed = max(least, score * totals[part])
        if (
            _most_shared(part_words, weights[starts[part] : ends[part]], window, marked)
            < needed - 1e-9
        ):
            continue
        weight, first, stop, matched = align(part_words, weights[starts[part] : ends[part]], window)
        if matched and weight >= needed - 1e-9:
            out[count, 0], out[count, 1], out[count, 2] = part, text, matched
            out[count, 3], out[count, 4] = low + first, low + stop
            bits[count] = weight
            count += 1
    return count


@njit(cache=True, nogil=True)
def _most_shared(part: Array, weights: Array, window: Array, marked: Array) -> float:
    """The weight of a part's words that occur in a window in any order: no alignment has more."""
    for word in window:
        marked[word] = True
    marked[END] = False
    weight = 0.0
    for position in range(len(part)):
        if marked[part[position]]:
            weight += weights[position]
    for word in window:
        marked[word] = False
    return weight


@njit(cache=True, nogil=True)
def align(part: Array, weights: Array, window: Array) -> tuple[float, int, int, int]:
    """The heaviest words of a part that occur in a window in the same order.

    Their weight, the first and the last word of the window that is one of them (-1: none), and how
    many they are; of several such passages the one that ends first, as short as can be.
    """
    size = len(window) + 1
    best = np.zeros(size)
    # Of the alignment that ends in a column: its first and last word, and how many it has.
    first, last = np.full(size, -1, np.int64), np.full(size, -1, np.int64)
    counts = np.zeros(size, np.int64)
    for row in range(len(part)):
        weight, word = weights[row], part[row]
        if weight <= 0.0:
            continue
        # Of the column before, as it was in the row above.
        before, before_first, before_count = 0.0, -1, 0
        for column in range(1, size):
            above, above_first, above_count = best[column], first[column], counts[column]
            value = above
            if best[column - 1] > value:
                value = best[column - 1]
                first[column], last[column] = first[column - 1], last[column - 1]
                counts[column] = counts[column - 1]
            # Of equal ways the one that takes a word last: the passage begins as late as it can.
            if window[column - 1] == word and before + weight >= value:
                value = before + weight
                first[column] = before_first if before_count else column - 1
                last[column], counts[column] = column - 1, before_count + 1
            best[column] = value
            before, before_first, before_count = above, above_first, above_count
    column = size - 1
    while column > 0 and best[column - 1] == best[size - 1]:
        column -= 1  # and it ends as early as it can
    return best[size - 1], first[column], last[column], counts[column]
