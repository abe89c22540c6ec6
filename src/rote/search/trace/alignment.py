"""Alignments: passages of a document that stand in a text with words exchanged, added or left out.

A run that a text shares with a document is made longer on both sides, past words that differ. A
word that is the same in both adds its bits; one that was exchanged, added or left out is an edit
and takes `EDIT` bits off. On either side the alignment with the most bits is taken, among those
that never fall more than `drop` edits below the best before them: so it ends where a stretch of
other words begins. Each word of the text is held against the `2 * drop + 1` words of the document
around the one that it is most likely to be, so the time is proportional to the words.

Of a text and a document, the runs with the most bits are extended first, and those inside an
alignment that was found are part of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit
from rote.core.layer import Layer
from rote.index.columns.packed import read
from rote.index.counting.lookup import Lookup, fixed
from rote.search.trace.bounds import EDIT, Bar
from rote.search.trace.runs import Numbers, Runs, numbers_in

Aligned = tuple[tuple[int, int, int], ...]
"""(word of the text, place, length) of each run of an alignment."""
_SAME, _EXCHANGED, _ADDED, _LEFT_OUT = 1, 2, 3, 4
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
        own = slice(int(self.ends[number - 1]) if number else 0, int(self.ends[number]))
        columns = (self.first, self.place, self.length)
        return tuple(zip(*(column[own].tolist() for column in columns)))


def alignments(
    lookup: Lookup,
    layer: Layer,
    runs: Runs,
    documents: NDArray[Any],
    bar: Bar,
) -> Alignments:
    """The alignments that clear the bar; `documents` says of each run where it lies."""
    sums = np.concatenate((np.zeros(1), np.cumsum(bar.weights)))
    own = sums[runs.first + runs.length] - sums[runs.first]
    texts = np.searchsorted(layer.text_ends, runs.first, side="right")
    order = np.lexsort((runs.place, runs.first, -own, texts, documents))
    same = (np.diff(texts[order]) == 0) & (np.diff(documents[order]) == 0)
    found = _aligned(
        lookup.parts.ids,
        lookup.parts.ids_bits,
        numbers_in(lookup, layer),
        fixed(bar.weights, np.float64),
        fixed(layer.text_starts[texts[order]], np.int64),
        fixed(layer.text_ends[texts[order]], np.int64),
        fixed(np.stack((runs.first, runs.place, runs.length))[:, order], np.int64),
        fixed(own[order], np.float64),
        np.concatenate((np.zeros(min(1, len(order)), np.int64), np.cumsum(~same))),
        float(bar.least),
        int(bar.drop),
        int(np.diff(layer.text_ends, prepend=0).max(initial=0)),
    )
    return Alignments(*found)


@njit(cache=True, nogil=True)
def _aligned(data, bits, ids, weights, lows, highs, runs, own, pair, least, drop, longest):  # type: ignore[no-untyped-def]
    """Extend each run in turn; the runs of all alignments with enough bits, and their ends."""
    width = 2 * drop + 1
    rows = np.empty((2, width))
    moves = np.empty((2, longest + 1, width), np.uint8)
    bases = np.empty((2, longest + 1), np.int64)
    pairs = np.empty((2, longest), np.int64)
    firsts, places, lengths = [np.int64(0)], [np.int64(0)], [np.int64(0)]
    ends = [np.int64(0)]
    # Where the alignments of this text and this document lie in both.
    boxes = [(np.int64(0), np.int64(0), np.int64(0), np.int64(0))]
    for h in range(runs.shape[1]):
        if h == 0 or pair[h] != pair[h - 1]:
            boxes.clear()
        first, place, length = runs[0, h], runs[1, h], runs[2, h]
        last, behind = first + length, place + length
        inside = False
        for a, b, c, d in boxes:
            if a <= first and last <= b and c <= place and behind <= d:
                inside = True
                break
        if inside:
            continue
        before, i, p = _extended(
            data, bits, ids, weights, first - 1, place - 1, -1, first - lows[h],
            drop, rows, moves[0], bases[0],
        )  # fmt: skip
        after, j, q = _extended(
            data, bits, ids, weights, last, behind, 1, highs[h] - last,
            drop, rows, moves[1], bases[1],
        )  # fmt: skip
        if before + own[h] + after < least:
            continue
        boxes.append((first - i, last + j, place - p, behind + q))
        start = len(firsts)
        # From the far end to the run: in the order of the text.
        while i or p:
            move = moves[0, i, p - bases[0, i]]
            if move == _SAME:
                _add(firsts, places, lengths, start, first - i, place - p)
            i -= move != _LEFT_OUT
            p -= move != _ADDED
        for n in range(length):
            _add(firsts, places, lengths, start, first + n, place + n)
        # From the far end to the run once more: here that is backwards.
        count = 0
        while j or q:
            move = moves[1, j, q - bases[1, j]]
            if move == _SAME:
                pairs[0, count], pairs[1, count] = last + j - 1, behind + q - 1
                count += 1
            j -= move != _LEFT_OUT
            q -= move != _ADDED
        for n in range(count - 1, -1, -1):
            _add(firsts, places, lengths, start, pairs[0, n], pairs[1, n])
        ends.append(np.int64(len(firsts) - 1))
    # Lists that began empty would have no type.
    return np.array(firsts)[1:], np.array(places)[1:], np.array(lengths)[1:], np.array(ends)[1:]


@njit(cache=True, nogil=True)
def _add(firsts, places, lengths, start, first, place):  # type: ignore[no-untyped-def]
    """A word that is the same in both goes on with the run before it, or begins one."""
    size = len(firsts)
    if size > start and firsts[-1] + lengths[-1] == first and places[-1] + lengths[-1] == place:
        lengths[-1] += 1
    else:
        firsts.append(first)
        places.append(place)
        lengths.append(np.int64(1))


@njit(cache=True, nogil=True)
def _extended(data, bits, ids, weights, word, place, step, most, drop, rows, moves, bases):  # type: ignore[no-untyped-def]
    """The best alignment from a word and a place on, in the direction of `step`.

    Its bits, and how many words of the text (at most `most`) and of the document it has. Row r
    holds the best alignments of r words of the text, by the number j of words of the document;
    `moves[r, j - bases[r]]` says how they end.
    """
    best, best_r, best_j = 0.0, np.int64(0), np.int64(0)
    old, new = rows[0], rows[1]
    # Cells from `low` to `high` of the row before may be gone on from.
    base, low, high, centre = np.int64(-drop), np.int64(0), np.int64(0), np.int64(0)
    bases[0], old[drop] = base, 0.0
    while high < drop and _word(data, bits, place, step, high + 1):
        high += 1
        old[high - base], moves[0, high - base] = -EDIT * high, _LEFT_OUT
    for r in range(1, most + 1):
        under, base = base, centre + 1 - drop
        bases[r] = base
        at = word + step * (r - 1)
        first, last, top, left = np.int64(-1), np.int64(-2), _DEAD, _DEAD
        for j in range(max(base, low), base + 2 * drop + 1):
            if j > high + 1 and left == _DEAD:
                break
            value, move = _DEAD, 0
            if j <= high and old[j - under] > _DEAD:
                value, move = old[j - under] - EDIT, _ADDED
            diagonal = old[j - 1 - under] if low < j <= high + 1 else _DEAD
            if diagonal > _DEAD or left > _DEAD:
                held = _word(data, bits, place, step, j)
                if held and diagonal > _DEAD:
                    same = held == ids[at]
                    score = diagonal + (weights[at] if same else -EDIT)
                    if score >= value:
                        value, move = score, _SAME if same else _EXCHANGED
                if held and left - EDIT > value:
                    value, move = left - EDIT, _LEFT_OUT
            if value < best - drop * EDIT:
                value = _DEAD
            new[j - base], moves[r, j - base], left = value, move, value
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
def _word(data, bits, place, step, j):  # type: ignore[no-untyped-def]
    """The j-th word from a place on; 0 beyond the document."""
    at = place + step * (j - 1)
    return read(data, bits, at) if at >= 0 else 0
