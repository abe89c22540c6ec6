"""Sentence BLEU of all pairs of texts, some rows of the pair matrix at a time.

Matches are counted along inverted lists: a pair is touched once for each n-gram
that it shares, not once for each that it holds.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit

Array: TypeAlias = NDArray[Any]

BLEU_LENGTHS = 4


@njit(cache=True, nogil=True)
def invert(
    shared: Array, counts: Array, shared_ends: Array, shared_kinds: int, take: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """Lists of the chosen texts by n-gram.

    Gives: for each entry of the chosen texts, one after another, its place in the
    lists and where the list of its n-gram ends; where each text's entries end; and
    the lists: text (numbered within the choice, ascending) and count.
    """
    sizes = np.zeros(shared_kinds + 1, np.int64)
    text_ends = np.empty(len(take), np.int64)
    entries = 0
    for number in range(len(take)):
        text = take[number]
        begin = shared_ends[text - 1] if text else 0
        for entry in range(begin, shared_ends[text]):
            sizes[shared[entry] + 1] += 1
        entries += shared_ends[text] - begin
        text_ends[number] = entries
    list_ends = np.cumsum(sizes)
    free = list_ends[:-1].copy()
    place = np.empty(entries, np.int64)
    place_end = np.empty(entries, np.int64)
    list_text = np.empty(entries, np.int32)
    list_count = np.empty(entries, np.int32)
    filled = 0
    for number in range(len(take)):
        text = take[number]
        for entry in range(shared_ends[text - 1] if text else 0, shared_ends[text]):
            gram = shared[entry]
            place[filled] = free[gram]
            place_end[filled] = list_ends[gram + 1]
            list_text[free[gram]] = number
            list_count[free[gram]] = counts[entry]
            free[gram] += 1
            filled += 1
    return place, place_end, text_ends, list_text, list_count


@njit(cache=True, nogil=True)
def match_rows(
    place: Array,
    place_end: Array,
    text_ends: Array,
    list_text: Array,
    list_count: Array,
    first: int,
    last: int,
) -> Array:
    """Clipped n-gram matches of the texts `first` to `last` with every later text."""
    matches = np.zeros((last - first, len(text_ends)), np.int32)
    for one in range(first, last):
        row = matches[one - first]
        for entry in range(text_ends[one - 1] if one else 0, text_ends[one]):
            count = list_count[place[entry]]
            for spot in range(place[entry] + 1, place_end[entry]):
                row[list_text[spot]] += min(count, list_count[spot])
    return matches


@njit(cache=True, nogil=True)
def bleu_rows(matches: Array, lengths: Array, first: int) -> Array:
    """Sentence BLEU of pairs, mean of both directions, from matches by n, row and text.

    Smoothing `exp`: the k-th order without a match counts 1 / 2^k matches. Orders
    that the hypothesis is too short for are left out.
    """
    scores = np.zeros(matches.shape[1:])
    logs = np.log(np.maximum(np.arange(lengths.max() + 1), 1).astype(np.float64))
    for row in range(matches.shape[1]):
        one = first + row
        for other in range(one + 1, len(lengths)):
            if matches[0, row, other] == 0:
                continue  # no word in common, so no longer n-gram either
            summed = 0.0
            for direction in range(2):
                length = lengths[one] if direction == 0 else lengths[other]
                reference = lengths[other] if direction == 0 else lengths[one]
                orders = min(length, BLEU_LENGTHS)
                logarithm = 0.0
                unmatched = 0
                for n in range(orders):
                    common = matches[n, row, other]
                    unmatched += common == 0
                    logarithm += logs[common] - (unmatched * logs[2] if common == 0 else 0.0)
                    logarithm -= logs[length - n]
                penalty = min(1.0 - reference / length, 0.0)
                summed += np.exp(penalty + logarithm / orders)
            scores[row, other] = summed / 2
    return scores
