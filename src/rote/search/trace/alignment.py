"""Alignments: passages of a document that stand in a text with words exchanged, added or left out.

**Runs.** A run is a sequence of words that stands in a text and in a document, and that cannot be
made longer on either side. Every window of `seed` words that is rare enough leads to the runs it
lies in, by its positions in the sorted suffixes; windows of one run lie on one diagonal (position
minus word number), so each run is compared once.

**Alignments.** A run is made longer on both sides, past words that differ. A word that is the same
in both adds its bits; one that was exchanged, added or left out is an edit and takes `EDIT` bits
off. On either side the alignment with the most bits is taken, among those that never fall more than
`drop` edits below the best before them: so it ends where other words begin. Each word of the text
is held against the `2 * drop + 1` words of the document around the one that it is most likely to
be, so the time is proportional to the words. The runs with the most bits are extended first, and
those inside an alignment that was found are part of it.

**Bounds.** Most runs begin no alignment. No alignment has more bits than one that could take every
word which the document holds anywhere near, in any order, and had no other edits. How near follows
from the bits too: whoever is so many words off has left so many out. That takes one look at each
word, until the edits are too many, and shows of nearly all runs that they are not worth an
alignment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit
from rote.core.layer import Layer, items_of
from rote.index.columns.intrinsics import prefetch
from rote.index.columns.packed_array import read
from rote.index.counts.lookup import Lookup, as_kernel_array, find_ranges
from rote.index.grams import ABSENT, Grams

Aligned = tuple[tuple[int, int, int], ...]
"""(word of the text, position, length) of each run of an alignment."""
_SAME, _REPLACED, _INSERTED, _DELETED = 1, 2, 3, 4
_DEAD = -np.inf


@dataclass(frozen=True, slots=True)
class Alignments:
    """Alignment a is the runs `ends[a - 1]` to `ends[a]` of these, in order."""

    first: Numbers
    place: Numbers
    length: Numbers
    ends: Numbers

    def __len__(self) -> int:
        return len(self.ends)

    def runs(self, number: int) -> Aligned:
        wanted = slice(int(self.ends[number - 1]) if number else 0, int(self.ends[number]))
        columns = (self.first, self.place, self.length)
        return tuple(zip(*(column[wanted].tolist() for column in columns)))


def find_alignments(
    lookup: Lookup, layer: Layer, runs: Runs, documents: NDArray[Any], bar: AlignmentThreshold
) -> Alignments:
    """The alignments that clear the bar; `documents` says of each run where it lies."""
    sums = np.concatenate((np.zeros(1), np.cumsum(bar.weights)))
    run_bits = sums[runs.first + runs.length] - sums[runs.first]
    texts = np.searchsorted(layer.text_ends, runs.first, side="right")
    order = np.lexsort((runs.place, runs.first, -run_bits, texts, documents))
    same = (np.diff(texts[order]) == 0) & (np.diff(documents[order]) == 0)
    arrays = _align_runs(
        _kernel_words(lookup, layer, bar),
        as_kernel_array(layer.text_starts[texts[order]], np.int64),
        as_kernel_array(layer.text_ends[texts[order]], np.int64),
        as_kernel_array(np.stack((runs.first, runs.place, runs.length))[:, order], np.int64),
        as_kernel_array(run_bits[order], np.float64),
        np.concatenate((np.zeros(min(1, len(order)), np.int64), np.cumsum(~same))),
        float(bar.least),
        int(bar.drop),
        int(np.diff(layer.text_ends, prepend=0).max(initial=0)),
    )
    return Alignments(*arrays)


@njit(cache=True, nogil=True)
def _align_runs(words, lows, highs, runs, run_bits, pair, least, drop, longest):  # type: ignore[no-untyped-def]
    """Extend each run in turn; the runs of all alignments with enough bits, and their ends."""
    width = 2 * drop + 1
    rows = np.empty((2, width))
    moves = np.empty((2, longest + 1, width), np.uint8)
    bases = np.empty((2, longest + 1), np.int64)
    pairs = np.empty((2, longest), np.int64)
    firsts, positions, lengths = [np.int64(0)], [np.int64(0)], [np.int64(0)]
    ends = [np.int64(0)]
    # Where the alignments of this text and this document lie in both.
    boxes = [(np.int64(0), np.int64(0), np.int64(0), np.int64(0))]
    for h in range(runs.shape[1]):
        if h == 0 or pair[h] != pair[h - 1]:
            boxes.clear()
        first, position, length = runs[0, h], runs[1, h], runs[2, h]
        last, behind = first + length, position + length
        inside = False
        for a, b, c, d in boxes:
            if a <= first and last <= b and c <= position and behind <= d:
                inside = True
                break
        if inside:
            continue
        before, i, p = _extend_alignment(
            words, first - 1, position - 1, -1, first - lows[h], drop, rows, moves[0], bases[0]
        )
        after, j, q = _extend_alignment(
            words, last, behind, 1, highs[h] - last, drop, rows, moves[1], bases[1]
        )
        if before + run_bits[h] + after < least:
            continue
        boxes.append((first - i, last + j, position - p, behind + q))
        start = len(firsts)
        # From the far end to the run: in the order of the text.
        while i or p:
            move = moves[0, i, p - bases[0, i]]
            if move == _SAME:
                _add_word(firsts, positions, lengths, start, first - i, position - p)
            i -= move != _DELETED
            p -= move != _INSERTED
        for n in range(length):
            _add_word(firsts, positions, lengths, start, first + n, position + n)
        # From the far end to the run once more: here that is backwards.
        count = 0
        while j or q:
            move = moves[1, j, q - bases[1, j]]
            if move == _SAME:
                pairs[0, count], pairs[1, count] = last + j - 1, behind + q - 1
                count += 1
            j -= move != _DELETED
            q -= move != _INSERTED
        for n in range(count - 1, -1, -1):
            _add_word(firsts, positions, lengths, start, pairs[0, n], pairs[1, n])
        ends.append(np.int64(len(firsts) - 1))
    # Lists that began empty would have no type.
    return np.array(firsts)[1:], np.array(positions)[1:], np.array(lengths)[1:], np.array(ends)[1:]


@njit(cache=True, nogil=True)
def _add_word(firsts, positions, lengths, start, first, position):  # type: ignore[no-untyped-def]
    """A word that is the same in both goes on with the run before it, or begins one."""
    size = len(firsts)
    if (
        size > start
        and firsts[-1] + lengths[-1] == first
        and positions[-1] + lengths[-1] == position
    ):
        lengths[-1] += 1
    else:
        firsts.append(first)
        positions.append(position)
        lengths.append(np.int64(1))


@njit(cache=True, nogil=True)
def _extend_alignment(words, word, position, step, most, drop, rows, moves, bases):  # type: ignore[no-untyped-def]
    """The best alignment from a word and a position on, in the direction of `step`.

    Its bits, and how many words of the text (at most `most`) and of the document it has. Row r
    holds the best alignments of r words of the text, by the number j of words of the document;
    `moves[r, j - bases[r]]` says how they end.
    """
    data, bits, ids, weights = words
    best, best_r, best_j = 0.0, np.int64(0), np.int64(0)
    old, new = rows[0], rows[1]
    # Cells from `low` to `high` of the row before may be gone on from.
    base, low, high, centre = np.int64(-drop), np.int64(0), np.int64(0), np.int64(0)
    bases[0], old[drop] = base, 0.0
    while high < drop and _word_at(data, bits, position, step, high + 1):
        high += 1
        old[high - base], moves[0, high - base] = -EDIT * high, _DELETED
    for r in range(1, most + 1):
        under, base = base, centre + 1 - drop
        bases[r] = base
        at = word + step * (r - 1)
        first, last, top, previous = np.int64(-1), np.int64(-2), _DEAD, _DEAD
        for j in range(max(base, low), base + 2 * drop + 1):
            if j > high + 1 and previous == _DEAD:
                break
            value, move = _DEAD, 0
            if j <= high and old[j - under] > _DEAD:
                value, move = old[j - under] - EDIT, _INSERTED
            diagonal = old[j - 1 - under] if low < j <= high + 1 else _DEAD
            if diagonal > _DEAD or previous > _DEAD:
                word_there = _word_at(data, bits, position, step, j)
                if word_there and diagonal > _DEAD:
                    same = word_there == ids[at]
                    score = diagonal + (weights[at] if same else -EDIT)
                    if score >= value:
                        value, move = score, _SAME if same else _REPLACED
                if word_there and previous - EDIT > value:
                    value, move = previous - EDIT, _DELETED
            if value < best - drop * EDIT:
                value = _DEAD
            new[j - base], moves[r, j - base], previous = value, move, value
            if value == _DEAD:
                continue
            first, last = np.int64(j) if first < 0 else first, np.int64(j)
            if value > top:
                top, centre = value, np.int64(j)
            if value > best:
                best, best_r, best_j = value, np.int64(r), np.int64(j)
        if last < 0:
            break
        low, high = first, last
        old, new = new, old
    return best, best_r, best_j


@njit(cache=True, nogil=True)
def _word_at(data, bits, position, step, j):  # type: ignore[no-untyped-def]
    """The j-th word from a position on; 0 beyond the document."""
    at = position + step * (j - 1)
    return read(data, bits, at) if at >= 0 else 0


Numbers = NDArray[np.int64]
# Words of the texts that are looked up at once need fewer, and so do positions.
_BITS = 31
_WORDS = 1 << _BITS
_AHEAD = 8


@dataclass(frozen=True, slots=True)
class Runs:
    """`length` words from `first` on (in the layer) stand at `place` of a segment's stream.

    In the order of diagonals.
    """

    first: Numbers
    place: Numbers
    length: Numbers

    def __len__(self) -> int:
        return len(self.first)


def find_shared_runs(
    lookups: Sequence[Lookup],
    layer: Layer,
    seed: int,
    most: int,
    *,
    lengths: NDArray[np.int32] | None = None,
    bar: AlignmentThreshold | None = None,
) -> list[Runs]:
    """The runs of at least `seed` words in each segment.

    A run counts if it holds a window of `seed` words that stands at most `most` times in all
    segments together. `lengths` of the longest matches say which windows stand there at all. With
    a `bar`, runs are left out that no alignment which clears it can begin with.
    """
    if lengths is None:
        windows, starts = Grams.windows(layer, seed)
    else:
        starts = np.flatnonzero(lengths >= seed)
        windows = Grams.of_rows(layer.ids[starts[:, None] + np.arange(seed)], layer.vocabulary)
    ranges = [find_ranges(lookup, windows) for lookup in lookups]
    total = sum((high - low for low, high in ranges), np.zeros(len(starts), np.int64))
    rare = (total > 0) & (total <= most)
    runs = []
    for lookup, (low, high) in zip(lookups, ranges):
        runs.append(_runs_in_segment(lookup, layer, starts[rare], low[rare], high[rare], bar))
    return runs


def _kernel_words(lookup: Lookup, layer: Layer, bar: AlignmentThreshold) -> tuple[Any, ...]:
    """A segment's stream, the words of a layer in its numbers, and their bits."""
    table = np.append(lookup.column.vocabulary.numbers(layer.vocabulary), np.int32(ABSENT))
    numbers = as_kernel_array(table[layer.ids], np.int32)
    weights = as_kernel_array(bar.weights, np.float64)
    return lookup.parts.ids, lookup.parts.ids_bits, numbers, weights


def _runs_in_segment(
    lookup: Lookup,
    layer: Layer,
    starts: Numbers,
    low: Numbers,
    high: Numbers,
    bar: AlignmentThreshold | None,
) -> Runs:
    hits, ends = items_of(low, high)
    first = np.repeat(starts, np.diff(ends, prepend=0))
    order = lookup.column.suffixes
    assert order is not None
    position = order.order.take(hits)
    # By diagonal, then by word: as one number they are sorted far faster.
    keys = np.sort((position - first + _WORDS) << _BITS | first)
    texts = np.diff(layer.text_ends, prepend=0)
    out = np.empty((3, len(keys)), np.int64)
    bar = bar or AlignmentThreshold(np.zeros(len(layer.ids)), -np.inf, 0)
    count = _extend_hits(
        _kernel_words(lookup, layer, bar),
        lookup.parts.last,
        as_kernel_array(np.repeat(layer.text_starts, texts), np.int64),
        as_kernel_array(np.repeat(layer.text_ends, texts), np.int64),
        keys,
        float(bar.least),
        int(bar.drop),
        out,
    )
    return Runs(*(column[:count].copy() for column in out))


@njit(cache=True, nogil=True)
def _extend_hits(words, last, text_starts, text_ends, keys, least, drop, out):  # type: ignore[no-untyped-def]
    """Make each hit as long as it gets; hits inside a run that is known are left out."""
    data, bits, ids, weights = words
    count, diagonal, known = 0, np.int64(0), np.int64(-1)
    stamps = np.full(SEEN, -1, np.int64)
    for h in range(len(keys)):
        ahead = keys[min(h + _AHEAD, len(keys) - 1)]
        prefetch(data, (((ahead >> _BITS) - _WORDS + (ahead & (_WORDS - 1))) * bits) >> 3)
        first = keys[h] & (_WORDS - 1)
        position = (keys[h] >> _BITS) - _WORDS + first
        if known >= 0 and position - first == diagonal and first < known:
            continue
        # A document's end is 0 and no word is, so no run crosses it.
        low, high = text_starts[first], text_ends[first]
        begin, at = first, position
        while begin > low and at > 0 and read(data, bits, at - 1) == ids[begin - 1]:
            begin -= 1
            at -= 1
        end, behind = first, position
        while end < high and read(data, bits, behind) == ids[end]:
            end += 1
            behind += 1
        diagonal, known = position - first, end
        if least > -np.inf:
            hope = SLACK
            for i in range(begin, end):
                hope += weights[i]
            hope += max_gain(words, last, begin - 1, at - 1, -1, begin - low, drop, stamps, 2 * h)
            if hope < np.inf:
                hope += max_gain(words, last, end, behind, 1, high - end, drop, stamps, 2 * h + 1)
            if hope < least:
                continue
        out[0, count], out[1, count], out[2, count] = begin, at, end - begin
        count += 1
    return count


EDIT = 6.0
"""Bits that a word takes off which was exchanged, added or left out."""
SEEN = 1 << 10
"""Slots for the words of a document that were seen; what shares one is taken for the same."""
# Words after which nothing is said; the alignment will tell.
_FAR = 64
# Words of a document that are looked at together.
_TOGETHER = 4
_PER_EDIT = 1 / EDIT
SLACK = 1e-3
"""More than sums of bits can be wrong by."""


@dataclass(frozen=True, slots=True)
class AlignmentThreshold:
    """What is asked of an alignment: `weights` are the bits of each word of the texts."""

    weights: NDArray[np.float64]
    least: float
    drop: int


@njit(inline="always")
def max_gain(words, last, word, position, step, most, drop, stamps, stamp):  # type: ignore[no-untyped-def]
    """No alignment from a word and a position on, in the direction of `step`, has more bits.

    For words and positions beside a run, which differ; `most` words of the text are left, and
    `last` is the last position. `stamps` say who saw a word last: this one must be new. Words of
    the next document may be seen too, which only makes the bound larger.
    """
    data, bits, ids, weights = words
    gained, edits, best, known = 0.0, 0, 0.0, 0
    for r in range(min(most, _FAR)):
        while known <= r + drop + np.int64((gained + SLACK) * _PER_EDIT):
            for k in range(_TOGETHER):
                at = min(max(position + step * (known + k), 0), last)
                stamps[read(data, bits, at) & (SEEN - 1)] = stamp
            known += _TOGETHER
        item = ids[word + step * r]
        # Counted rather than asked: nobody could guess the answer.
        is_there = (item > 0) & (stamps[item & (SEEN - 1)] == stamp)
        gained += weights[word + step * r] * is_there
        edits += 1 - is_there
        value = gained - EDIT * max(1, edits)
        best = max(best, value)
        if value < -EDIT * drop - SLACK:
            return best
    return best if most < _FAR else np.inf
