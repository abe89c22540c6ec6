"""Lexical richness of single texts, word counts of groups, and n-grams drawn without replacement.

For a draw ranks are drawn, their places looked up, and only the drawn windows are read, so the
column of ids may be a file larger than the memory.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from rote.core.arrays import Array
from rote.core.kernels import njit
from rote.core.ngrams import ONCE


@njit(cache=True, nogil=True)
def mattr_of_texts(ids: Array, starts: Array, ends: Array, kinds: int, window: int) -> Array:
    """Mean distinct / total over all windows of each text; nan if it is shorter."""
    counts = np.zeros(kinds, np.int64)
    result = np.full(len(starts), np.nan)
    for text in range(len(starts)):
        first, last = starts[text], ends[text]
        if last - first < window or window < 1:
            continue
        distinct = 0
        summed = 0
        for place in range(first, last):
            word = ids[place]
            distinct += counts[word] == 0
            counts[word] += 1
            if place - first >= window:
                gone = ids[place - window]
                counts[gone] -= 1
                distinct -= counts[gone] == 0
            if place - first >= window - 1:
                summed += distinct
        for place in range(last - window, last):
            counts[ids[place]] = 0
        result[text] = summed / window / (last - first - window + 1)
    return result


@njit(cache=True, nogil=True)
def _factors(
    ids: Array, first: int, last: int, step: int, threshold: float, stamps: Array, stamp: int
) -> tuple[float, int]:
    """Factors of one text read from `first` towards `last`, and the next free stamp."""
    stamp += 1
    factors = 0.0
    words = 0
    distinct = 0
    place = first
    while place != last:
        word = ids[place]
        if stamps[word] != stamp:
            stamps[word] = stamp
            distinct += 1
        words += 1
        if distinct / words <= threshold:
            factors += 1
            words = 0
            distinct = 0
            stamp += 1
        place += step
    if words > 0:
        factors += (1 - distinct / words) / (1 - threshold)
    if factors == 0:
        factors = 1.0  # no word comes twice: the whole text counts as one factor
    return factors, stamp


@njit(cache=True, nogil=True)
def mtld_of_texts(ids: Array, starts: Array, ends: Array, kinds: int, threshold: float) -> Array:
    """Words per factor, mean of reading forwards and backwards; nan without words."""
    word_counts = np.zeros(kinds, np.int64)
    stamp = 0
    result = np.full(len(starts), np.nan)
    for text in range(len(starts)):
        first, last = starts[text], ends[text]
        words = last - first
        if words == 0:
            continue
        forward, stamp = _factors(ids, first, last, 1, threshold, word_counts, stamp)
        backward, stamp = _factors(ids, last - 1, first - 1, -1, threshold, word_counts, stamp)
        result[text] = (words / forward + words / backward) / 2
    return result


@njit(cache=True, nogil=True)
def hdd_of_texts(ids: Array, starts: Array, ends: Array, kinds: int, draws: int) -> Array:
    """Expected distinct / total among `draws` words of each text; nan if it is shorter.

    A word of frequency f is missed with probability C(N-f, d) / C(N, d), which is
    symmetric in f and d: the product runs over the smaller of the two.
    """
    counts = np.zeros(kinds, np.int64)
    result = np.full(len(starts), np.nan)
    for text in range(len(starts)):
        first, last = starts[text], ends[text]
        words = last - first
        if words < draws or draws < 1:
            continue
        for place in range(first, last):
            counts[ids[place]] += 1
        expected = 0.0
        for place in range(first, last):
            frequency = counts[ids[place]]
            if frequency == 0:
                continue  # met before in this text
            counts[ids[place]] = 0
            missed = 1.0
            small, large = min(frequency, draws), max(frequency, draws)
            for step in range(small):
                missed *= max(words - large - step, 0) / (words - step)
            expected += 1 - missed
        result[text] = expected / draws
    return result


@njit(cache=True, nogil=True)
def ttr_of_texts(ids: Array, starts: Array, ends: Array, kinds: int) -> Array:
    """Distinct / total words of each text; nan without words."""
    last_text = np.full(kinds, -1, np.int64)
    result = np.full(len(starts), np.nan)
    for text in range(len(starts)):
        distinct = 0
        for place in range(starts[text], ends[text]):
            if last_text[ids[place]] != text:
                last_text[ids[place]] = text
                distinct += 1
        if ends[text] > starts[text]:
            result[text] = distinct / (ends[text] - starts[text])
    return result


@njit(cache=True, nogil=True)
def ttr_and_entropy(
    ids: Array, starts: Array, ends: Array, take: Array, kinds: int, bits: Array
) -> tuple[float, float]:
    """Distinct / total words and Shannon entropy in bits of the chosen texts together.

    `bits[c]` is c log2 c (0 for 0), for as many counts c as one likes: computed beforehand.
    """
    counts = np.zeros(kinds, np.int64)
    total = 0
    for text in take:
        total += ends[text] - starts[text]
        for place in range(starts[text], ends[text]):
            counts[ids[place]] += 1
    if total == 0:
        return np.nan, np.nan
    distinct = 0
    weighted = 0.0
    for count in counts:
        distinct += int(count > 0)
        weighted += bits[count] if count < len(bits) else count * np.log2(count)
    # Rounding may leave a tiny negative number where all words are the same.
    return distinct / total, max(np.log2(total) - weighted / total, 0.0)


Integer: TypeAlias = int | np.integer[Any]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST_MIX = np.uint64(0xBF58476D1CE4E5B9)
SECOND_MIX = np.uint64(0x94D049BB133111EB)


@njit(cache=True, nogil=True, inline="always")
def mixed(seed: np.uint64, counter: np.uint64) -> np.uint64:
    """Number `counter` of the splitmix64 sequence that starts at `seed`."""
    state = seed + counter * GOLDEN
    state = (state ^ (state >> np.uint64(30))) * FIRST_MIX
    state = (state ^ (state >> np.uint64(27))) * SECOND_MIX
    return state ^ (state >> np.uint64(31))


@njit(cache=True, nogil=True)
def table_size(entries: int) -> int:
    """Slots of an open-addressing table at most half full: a power of two."""
    size = 16
    while size < 2 * entries:
        size *= 2
    return size


@njit(cache=True, nogil=True)
def candidates(total: int, count: int, seed: np.uint64) -> Array:
    """For each number `last` from `total - count` on a random one that is not larger (Floyd).

    They are cut from the bits and rejected when too large, so they carry no modulo bias.
    """
    numbers = np.empty(count + 1, np.int64)
    counter = np.uint64(0)
    bits = np.uint64(1)
    filled = 0
    while filled < count:
        last = np.int64(total - count + filled)
        while bits < np.uint64(last):
            bits = (bits << np.uint64(1)) | np.uint64(1)
        counter += np.uint64(1)
        number = np.int64(mixed(seed, counter) & bits)
        numbers[filled] = number  # overwritten by the next unless it counts: no branch
        filled += int(number <= last)
    return numbers[:count]


@njit(cache=True, nogil=True)
def draw(total: int, count: int, seed: np.uint64) -> Array:
    """`count` distinct numbers below `total`, all subsets equally likely (Floyd)."""
    drawn = candidates(total, count, seed)
    table = np.full(table_size(count), -1, np.int64)
    for place in range(count):
        if not _add_to_table(table, drawn[place]):
            drawn[place] = total - count + place  # larger than all before it, so never drawn yet
            _add_to_table(table, drawn[place])
    return drawn


@njit(cache=True, nogil=True)
def marked(total: int, count: int, seed: np.uint64) -> Array:
    """What `draw` draws as ones among zeros: faster, in `total` bytes."""
    marks = np.zeros(total, np.uint8)
    last = total - count
    for number in candidates(total, count, seed):
        number += np.int64(marks[number]) * (last - number)
        marks[number] = 1
        last += 1
    return marks


@njit(cache=True, nogil=True, inline="always")
def _add_to_table(table: Array, number: Integer) -> bool:
    """Enter a number in a hash table; whether it was not there before."""
    slot = np.int64((np.uint64(number) * GOLDEN) >> np.uint64(32)) & (len(table) - 1)
    while table[slot] != -1:
        if table[slot] == number:
            return False
        slot = (slot + 1) & (len(table) - 1)
    table[slot] = number
    return True


@njit(cache=True, nogil=True)
def ngram_total(starts: Array, ends: Array, take: Array, n: int) -> int:
    """How many n-grams the chosen texts hold, none across two texts."""
    total = 0
    for text in take:
        total += max(ends[text] - starts[text] - n + 1, 0)
    return total


@njit(cache=True, nogil=True)
def places(starts: Array, ends: Array, take: Array, n: int, ranks: Array) -> Array:
    """Where the n-grams with the given ranks start, ranked in the order of the texts.

    A guide table leads from the high bits of a rank to the first text that can
    hold it; on average one step from there finds the text.
    """
    before = np.empty(len(take) + 1, np.int64)
    before[0] = 0
    for number in range(len(take)):
        length = ends[take[number]] - starts[take[number]] - n + 1
        before[number + 1] = before[number] + max(length, 0)
    total = before[len(take)]
    shift = 0
    while (total >> shift) > len(take):
        shift += 1
    guide = np.empty((total >> shift) + 1, np.int64)
    text = 0
    for bucket in range(len(guide)):
        while text + 1 < len(take) and before[text + 1] <= (bucket << shift):
            text += 1
        guide[bucket] = text
    positions = np.empty(len(ranks), np.int64)
    for number in range(len(ranks)):
        rank = ranks[number]
        text = guide[rank >> shift]
        while before[text + 1] <= rank:
            text += 1
        positions[number] = starts[take[text]] + rank - before[text]
    return positions


@njit(cache=True, nogil=True)
def windows(ids: Array, positions: Array, n: int) -> Array:
    rows = np.empty((len(positions), n), ids.dtype)
    for number in range(len(positions)):
        place = positions[number]
        for step in range(n):
            rows[number, step] = ids[place + step]
    return rows


@njit(cache=True, nogil=True)
def distinct_rows(rows: Array) -> int:
    size = table_size(len(rows))
    table = np.full(size, -1, np.int32)
    distinct = 0
    for number in range(len(rows)):
        code = np.uint64(0)
        for step in range(rows.shape[1]):
            code = (code ^ np.uint64(rows[number, step])) * GOLDEN
            code ^= code >> np.uint64(29)
        slot = np.int64(code & np.uint64(size - 1))
        while True:
            occupant = table[slot]
            if occupant == -1:
                table[slot] = number
                distinct += 1
                break
            same = True
            for step in range(rows.shape[1]):
                if rows[number, step] != rows[occupant, step]:
                    same = False
                    break
            if same:
                break
            slot = (slot + 1) & (size - 1)
    return distinct


@njit(cache=True, nogil=True)
def distinct_share(
    ids: Array, starts: Array, ends: Array, take: Array, n: int, limit: int, seed: np.uint64
) -> float:
    """Distinct / total over `limit` drawn n-grams, or over all where there are fewer."""
    total = ngram_total(starts, ends, take, n)
    if total == 0:
        return np.nan
    ranks = draw(total, limit, seed) if total > limit else np.arange(total)
    rows = windows(ids, places(starts, ends, take, n, ranks), n)
    return distinct_rows(rows) / len(rows)


@njit(cache=True, nogil=True)
def numbered_share(
    numbers: Array,
    kinds: int,
    starts: Array,
    ends: Array,
    take: Array,
    n: int,
    limit: int,
    seed: np.uint64,
) -> float:
    """`distinct_share` where every n-gram has a number by its place (`number_ngrams`)."""
    total = ngram_total(starts, ends, take, n)
    if total == 0:
        return np.nan
    drawn = np.empty(min(total, limit) + 1, np.int32)
    marks = marked(total, limit, seed) if total > limit else np.ones(total, np.uint8)
    filled = 0
    rank = 0
    for text in take:
        ngrams_of_text = numbers[starts[text] : max(ends[text] - n + 1, starts[text])]
        of_own = marks[rank : rank + len(ngrams_of_text)]
        rank += len(ngrams_of_text)
        for place in range(len(ngrams_of_text)):
            drawn[filled] = ngrams_of_text[
                place
            ]  # overwritten by the next unless it counts: no branch
            filled += of_own[place]
    occurs = np.zeros(kinds + 1, np.uint8)
    distinct = 0
    for number in drawn[:filled]:
        distinct += 1 - occurs[number + 1]
        occurs[number + 1] = number != ONCE  # what stands nowhere else is always new
    return distinct / filled
