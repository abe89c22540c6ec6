"""How alike the texts of given pairs are: ROUGE-L, and words in runs that both texts hold.

All pairs of a first text follow each other, so that what is made of it serves all of them.
"""

from __future__ import annotations

import numpy as np

from rote.core.array_types import Array
from rote.core.kernels import njit
from rote.measure._pair_kernels import common, forget, held, marks


@njit(cache=True, nogil=True)
def rouge_pairs(
    ids: Array, starts: Array, ends: Array, kinds: int, first: Array, second: Array
) -> Array:
    """ROUGE-L F of each pair: 2 * LCS / (length + length); nan where a text is empty."""
    scores = np.full(len(first), np.nan)
    longest = 0
    for text in range(len(starts)):
        longest = max(longest, ends[text] - starts[text])
    rows = np.empty(longest + 1, np.int32)
    carries = np.zeros(longest + 1, np.uint8)
    row_of = np.full(kinds, -1, np.int32)
    pair = 0
    while pair < len(first):
        one = first[pair]
        words = ids[starts[one] : ends[one]]
        masks = marks(words, row_of)
        while pair < len(first) and first[pair] == one:
            others = ids[starts[second[pair]] : ends[second[pair]]]
            if len(words) and len(others):
                found = held(others, row_of, rows)
                shared = common(masks, found, carries) if len(found) else 0
                scores[pair] = 2.0 * shared / (len(words) + len(others))
            pair += 1
        forget(words, row_of)
    return scores


@njit(cache=True, nogil=True)
def run_pairs(
    numbers: Array, starts: Array, ends: Array, n: int, kinds: int, first: Array, second: Array
) -> Array:
    """The share of the words of both texts that lie in a run of n which the other text holds too.

    `numbers[p]` is the number of the n-gram that begins at p, negative where it occurs once. nan
    where a text is shorter than n.
    """
    scores = np.full(len(first), np.nan)
    holder = np.full(kinds, -1, np.int64)
    met = np.full(kinds, -1, np.int64)
    for pair in range(len(first)):
        one, other = first[pair], second[pair]
        if pair == 0 or first[pair - 1] != one:
            for place in range(starts[one], ends[one] - n + 1):
                if numbers[place] >= 0:
                    holder[numbers[place]] = one
        if min(ends[one] - starts[one], ends[other] - starts[other]) < n:
            continue
        covered, until = 0, starts[other]
        for place in range(starts[other], ends[other] - n + 1):
            number = numbers[place]
            if number >= 0 and holder[number] == one:
                met[number] = pair
                covered += place + n - max(until, place)
                until = place + n
        until = starts[one]
        for place in range(starts[one], ends[one] - n + 1):
            number = numbers[place]
            if number >= 0 and met[number] == pair:
                covered += place + n - max(until, place)
                until = place + n
        scores[pair] = covered / (ends[one] - starts[one] + ends[other] - starts[other])
    return scores


@njit(cache=True, nogil=True)
def set_means(first: Array, second: Array, sets: Array, scores: Array, held: Array) -> Array:
    """For many groups: the mean over sets of the mean over pairs, of a text in the group and one
    that is not, and of two texts in it.

    `held[t, g]` is 1 where group g holds text t, else 0; `sets` are those of the pairs, ascending.
    """
    groups = held.shape[1]
    found = np.zeros((2, groups))
    count = np.zeros((2, groups))
    total = np.zeros((2, groups))
    pairs = np.zeros((2, groups))
    for pair in range(len(first)):
        if not np.isnan(scores[pair]):
            one, two = held[first[pair]], held[second[pair]]
            for group in range(groups):
                together, either = one[group] & two[group], one[group] ^ two[group]
                total[0, group] += scores[pair] * either
                pairs[0, group] += either
                total[1, group] += scores[pair] * together
                pairs[1, group] += together
        if pair == len(first) - 1 or sets[pair] != sets[pair + 1]:
            for kind in range(2):
                for group in range(groups):
                    if pairs[kind, group]:
                        found[kind, group] += total[kind, group] / pairs[kind, group]
                        count[kind, group] += 1
                    total[kind, group] = 0.0
                    pairs[kind, group] = 0.0
    for kind in range(2):
        for group in range(groups):
            some = count[kind, group]
            found[kind, group] = found[kind, group] / some if some else np.nan
    return found
