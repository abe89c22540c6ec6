"""Longest common subsequences of two texts, and sentence BLEU of all pairs of texts, some rows of
the pair matrix at a time.

Longest common subsequences are bit-parallel (Crochemore et al. 2001, Hyyrö 2004): a column of the
usual table is a row of bits, 64 cells to a word, and a word of the other text costs one addition
with carry for each 64 words of this one. Words that this text does not hold change nothing and are
dropped beforehand. `_subsequences` scores many pairs, four at once. BLEU's matches are counted
along inverted lists: a pair is touched once for each n-gram that it shares, not once for each that
it holds.
"""

from __future__ import annotations

import numpy as np

from rote.core.arrays import Array
from rote.core.kernels import njit
from rote.core.layer import items_of, starts_of

ZERO = np.uint64(0)
ONE = np.uint64(1)
TWO = np.uint64(2)
THREE = np.uint64(3)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@njit(cache=True, nogil=True, inline="always")
def step(cells: np.uint64, mask: np.uint64, carry: np.uint64) -> tuple[np.uint64, np.uint64]:
    """64 cells of the next column, and the carry into the 64 below."""
    matched = cells & mask
    partial = cells + matched
    summed = partial + carry
    carry = np.uint64(partial < cells) | np.uint64(summed < partial)
    return summed | (cells ^ matched), carry


@njit(cache=True, nogil=True)
def _zeros(cells: np.uint64) -> int:
    """How many bits are 0."""
    zeros = ~cells
    count = 0
    while zeros != ZERO:
        zeros &= zeros - ONE
        count += 1
    return count


@njit(cache=True, nogil=True)
def common(masks: Array, rows: Array, carries: Array) -> int:
    """Length of the longest common subsequence.

    `masks[g, r]` and the three behind it mark where the word of row r stands among the words 256 g
    to 256 g + 255 of one text, with r a multiple of four; `rows` are the words of the other. Four
    words of cells stay in registers while the other text passes; longer texts take several passes,
    and `carries` brings each word's carry from one pass to the next.
    """
    common = 0
    carries[: len(rows)] = 0
    for number_of_part in range(len(masks)):
        part = masks[number_of_part]  # a loop over parts would not know that they are contiguous
        first, second, third, fourth = ALL, ALL, ALL, ALL
        for number in range(len(rows)):
            row = np.uint64(rows[number])  # not signed: an index from the end costs a test
            carry = np.uint64(carries[number])
            first, carry = step(first, part[row], carry)
            second, carry = step(second, part[row + ONE], carry)
            third, carry = step(third, part[row + TWO], carry)
            fourth, carry = step(fourth, part[row + THREE], carry)
            carries[number] = carry
        # Cells beyond the text's end never match, and so stay 1.
        common += _zeros(first) + _zeros(second) + _zeros(third) + _zeros(fourth)
    return common


@njit(cache=True, nogil=True)
def marks(words: Array, row_of: Array) -> Array:
    """What `common` needs of a text. Its words get rows in `row_of`, which `forget` takes back."""
    rows = 0
    for word in words:
        if row_of[word] < 0:
            row_of[word] = rows
            rows += 4
    bits = np.zeros(((len(words) + 255) // 256, rows), np.uint64)
    for place in range(len(words)):
        row = row_of[words[place]] + ((place >> 6) & 3)
        bits[place >> 8, row] |= ONE << np.uint64(place & 63)
    return bits


@njit(cache=True, nogil=True)
def forget(words: Array, row_of: Array) -> None:
    for word in words:
        row_of[word] = -1


@njit(cache=True, nogil=True)
def held(words: Array, row_of: Array, rows: Array) -> Array:
    """The rows of those of these words that the other text holds, in `rows`."""
    count = 0
    for word in words:
        row = row_of[word]
        rows[count] = row  # overwritten by the next unless it counts: no branch
        count += row >= 0
    return rows[:count]


@njit(cache=True, nogil=True, inline="always")
def compared(first: int, second: int, reference: int) -> bool:
    """Whether texts of these two sources ever meet in a group: of one source, or a source and the
    reference, whose labels are exchanged."""
    return first == second or reference in (first, second)


BLEU_LENGTHS = 4


def invert(
    shared: Array, counts: Array, shared_ends: Array, shared_kinds: int, take: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """Lists of the chosen texts by n-gram.

    Gives: for each entry of the chosen texts, one after another, its place in the
    lists and where the list of its n-gram ends; where each text's entries end; and
    the lists: text (numbered within the choice, ascending) and count.
    """
    starts, ends = starts_of(shared_ends)[take], shared_ends[take]
    entries, text_ends = items_of(starts, ends)
    grams = shared[entries]
    order = np.argsort(grams, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    list_ends = np.cumsum(np.bincount(grams, minlength=shared_kinds))
    list_text = np.repeat(np.arange(len(take), dtype=np.int32), ends - starts)[order]
    return place, list_ends[grams], text_ends, list_text, counts[entries][order]


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
    for text in range(first, last):
        row = matches[text - first]
        for entry in range(text_ends[text - 1] if text else 0, text_ends[text]):
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
    scores = np.zeros((matches.shape[1], matches.shape[2]))
    longest = 1
    for length in lengths:
        longest = max(longest, length)
    logs = np.zeros(longest + 1)
    for number in range(2, longest + 1):
        logs[number] = np.log(number)
    for row in range(matches.shape[1]):
        text = first + row
        for second in range(text + 1, len(lengths)):
            if matches[0, row, second] == 0:
                continue  # no word in common, so no longer n-gram either
            summed = 0.0
            for direction in range(2):
                length = lengths[text] if direction == 0 else lengths[second]
                reference = lengths[second] if direction == 0 else lengths[text]
                orders = min(length, BLEU_LENGTHS)
                logarithm = 0.0
                unmatched = 0
                for n in range(orders):
                    common = matches[n, row, second]
                    unmatched += common == 0
                    logarithm += logs[common] - (unmatched * logs[2] if common == 0 else 0.0)
                    logarithm -= logs[length - n]
                penalty = min(1.0 - reference / length, 0.0)
                summed += np.exp(penalty + logarithm / orders)
            scores[row, second] = summed / 2
    return scores


@njit(cache=True, nogil=True)
def keep_rows(triangle: Array, scores: Array, first: int, order: Array) -> None:
    """Store rows of the pair matrix whose texts stand in this order: pairs (i, j > i), row after
    row."""
    texts = scores.shape[1]
    for row in range(len(scores)):
        for second in range(first + row + 1, texts):
            text = min(order[first + row], order[second])
            later = max(order[first + row], order[second])
            begin = text * texts - text * (text + 1) // 2
            triangle[begin + later - text - 1] = scores[row, second]


@njit(cache=True, nogil=True)
def row_sums(triangle: Array, texts: int, take: Array) -> Array:
    """For each chosen text the sum of its scores with all other chosen texts."""
    sums = np.zeros(len(take))
    for number in range(len(take)):
        text = take[number]
        begin = text * texts - text * (text + 1) // 2 - text - 1
        for later in range(number + 1, len(take)):
            score = triangle[begin + take[later]]
            sums[number] += score
            sums[later] += score
    return sums


@njit(cache=True, nogil=True)
def pair_sums(triangle: Array, texts: int, take: Array, members: Array) -> Array:
    """For each of many groups the sum of the scores of its pairs.

    `members[i, g]` is 1 where group g holds text `take[i]`, else 0: all groups in one pass.
    """
    sums = np.zeros(members.shape[1])
    with_one = np.zeros(members.shape[1])
    for number in range(len(take)):
        text = take[number]
        begin = text * texts - text * (text + 1) // 2 - text - 1
        with_one[:] = 0.0
        for later in range(number + 1, len(take)):
            score, is_member = triangle[begin + take[later]], members[later]
            for group in range(len(sums)):
                with_one[group] += score * is_member[group]
        sums += with_one * members[number]
    return sums
