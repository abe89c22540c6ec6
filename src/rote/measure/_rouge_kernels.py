"""What two texts have in common: n-grams, the longest common subsequence, and its union over lines.

A pair is a text and one reference; its words are two runs of places in one column of ids.
Subsequences are bit-parallel, as in `_pair_kernels`: a column of the usual table is a row of bits,
and a 0 says that the table grows by one there. That is all that is needed to walk back through it.
"""

from __future__ import annotations

import numpy as np

from rote.core.array_types import Array
from rote.core.kernels import njit
from rote.measure._ngram_kernels import ONCE
from rote.measure._pair_kernels import ALL, ONE, ZERO, common, forget, held, marks, step

NEW_LINE = 1
NEW_TEXT = 2


@njit(cache=True, nogil=True)
def breaks(
    data: Array, byte_ends: Array, places: Array, text_ends: Array, line: int, several: int
) -> Array:
    """For each word what begins with it: NEW_LINE, NEW_TEXT (which is a new line too), or 0.

    `places` are the characters at which words start in their own text, `data` the texts in
    UTF-8. The first word of a text begins one; so does the first after the byte `several`.
    """
    begins = np.zeros(len(places), np.uint8)
    byte = 0
    word = 0
    for text in range(len(text_ends)):
        character = -1
        begun = NEW_TEXT
        while word < text_ends[text]:
            # Up to and including the word's first byte; bytes 10xxxxxx continue a character.
            while character < places[word]:
                if data[byte] == line:
                    begun = max(begun, NEW_LINE)
                elif data[byte] == several:
                    begun = NEW_TEXT
                character += (data[byte] & 0xC0) != 0x80
                byte += 1
            begins[word] = begun
            begun = 0
            word += 1
        byte = byte_ends[text]
    return begins


@njit(cache=True, nogil=True)
def shared_ngrams(
    numbers: Array, kinds: int, starts: Array, ends: Array, others: Array, other_ends: Array, n: int
) -> Array:
    """For each pair: how many n-grams both hold, each as often as in the one that has fewer.

    `numbers` are those of `number_ngrams`; text p is at `starts[p]:ends[p]`, its reference at
    `others[p]:other_ends[p]`.
    """
    shared = np.zeros(len(starts), np.int64)
    left = np.zeros(kinds, np.int32)
    for pair in range(len(starts)):
        for place in range(others[pair], other_ends[pair] - n + 1):
            if numbers[place] != ONCE:
                left[numbers[place]] += 1
        for place in range(starts[pair], ends[pair] - n + 1):
            number = numbers[place]
            if number != ONCE and left[number] > 0:
                left[number] -= 1
                shared[pair] += 1
        for place in range(others[pair], other_ends[pair] - n + 1):
            if numbers[place] != ONCE:
                left[numbers[place]] = 0
    return shared


@njit(cache=True, nogil=True)
def common_subsequences(
    ids: Array,
    kinds: int,
    begins: Array,
    starts: Array,
    ends: Array,
    others: Array,
    other_ends: Array,
) -> Array:
    """For each pair: length of the longest common subsequence, and of the union over lines."""
    found = np.zeros((len(starts), 2), np.int64)
    row_of = np.full(kinds, -1, np.int32)
    left = np.zeros(kinds, np.int32)
    for pair in range(len(starts)):
        text, other = (starts[pair], ends[pair]), (others[pair], other_ends[pair])
        found[pair, 0] = _longest(ids, row_of, text, other)
        if _one_line(begins, text) and _one_line(begins, other):
            found[pair, 1] = found[pair, 0]
        else:
            found[pair, 1] = _union(ids, row_of, left, begins, text, other)
    return found


@njit(cache=True, nogil=True)
def _one_line(begins: Array, run: tuple[int, int]) -> bool:
    place = run[0] + 1
    while place < run[1] and not begins[place]:
        place += 1
    return place >= run[1]


@njit(cache=True, nogil=True)
def _number_rows(ids: Array, row_of: Array, run: tuple[int, int]) -> int:
    """Give the words of a run rows, which `forget` takes back; how many there are."""
    rows = 0
    for place in range(run[0], run[1]):
        if row_of[ids[place]] < 0:
            row_of[ids[place]] = rows
            rows += 1
    return rows


@njit(cache=True, nogil=True)
def _longest(ids: Array, row_of: Array, text: tuple[int, int], other: tuple[int, int]) -> int:
    """Length of the longest common subsequence of two runs."""
    words, others = ids[text[0] : text[1]], ids[other[0] : other[1]]
    masks = marks(others, row_of)
    found = held(words, row_of, np.empty(len(words) + 1, np.int32))
    forget(others, row_of)
    return common(masks, found, np.empty(len(found), np.uint8)) if len(found) else 0


@njit(cache=True, nogil=True)
def _union(
    ids: Array,
    row_of: Array,
    left: Array,
    begins: Array,
    text: tuple[int, int],
    other: tuple[int, int],
) -> int:
    """Words of the reference's lines that lie on a common subsequence with some line of the text.

    A word counts at most as often as the text holds it.
    """
    for place in range(text[0], text[1]):
        left[ids[place]] += 1
    hits = 0
    line = other[0]
    while line < other[1]:
        end = line + 1
        while end < other[1] and not begins[end]:
            end += 1
        on_path = _on_paths(ids, row_of, begins, text, (line, end))
        for place in range(line, end):
            if on_path[place - line] and left[ids[place]] > 0:
                left[ids[place]] -= 1
                hits += 1
        line = end
    for place in range(text[0], text[1]):
        left[ids[place]] = 0
    return hits


@njit(cache=True, nogil=True)
def _on_paths(
    ids: Array, row_of: Array, begins: Array, text: tuple[int, int], line: tuple[int, int]
) -> Array:
    """Which words of one line of the reference lie on a common subsequence with a line of the text.

    There may be several longest ones; the walk takes the one that rouge-score takes.
    """
    length = line[1] - line[0]
    width = (length + 63) // 64
    masks = np.zeros((_number_rows(ids, row_of, line), width), np.uint64)
    for place in range(length):
        masks[row_of[ids[line[0] + place]], place >> 6] |= ONE << np.uint64(place & 63)
    on_path = np.zeros(length, np.bool_)
    columns = np.empty((text[1] - text[0], width), np.uint64)
    cells = np.empty(width, np.uint64)
    first = text[0]
    while first < text[1]:
        for part in range(width):
            cells[part] = ALL
        place = first
        while place == first or (place < text[1] and not begins[place]):
            row = row_of[ids[place]]
            if row >= 0:
                carry = ZERO
                for part in range(width):
                    cells[part], carry = step(cells[part], masks[row, part], carry)
            for part in range(width):
                columns[place - first, part] = cells[part]
            place += 1
        _walk_back(ids, columns, on_path, first, place, line[0])
        first = place
    forget(ids[line[0] : line[1]], row_of)
    return on_path


@njit(cache=True, nogil=True)
def _walk_back(ids: Array, columns: Array, on_path: Array, first: int, end: int, line: int) -> None:
    """Mark one longest common subsequence of the line and the words `first` to `end`."""
    own = len(on_path) - 1
    column = end - first - 1
    while own >= 0 and column >= 0:
        if ids[line + own] == ids[first + column]:
            on_path[own] = True
            own -= 1
            column -= 1
        elif columns[column, own >> 6] >> np.uint64(own & 63) & ONE:
            own -= 1  # the table does not grow with this word: nothing is lost without it
        else:
            column -= 1
