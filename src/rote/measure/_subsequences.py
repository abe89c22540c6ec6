"""ROUGE-L of all pairs of texts: longest common subsequences of a text with four others at once, as
in `_pair_kernels`.

A vector holds a run of bits of each of four other texts. Vector units have no carry: of the 64 bits
of a number 63 are cells, and the last shows what is carried over.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from rote.core.arrays import Array
from rote.core.kernels import njit
from rote.core.vectors import (
    BYTE,
    LONG,
    array_data,
    cgutils,
    intrinsic,
    load_vector,
    store_vector,
    types,
)
from rote.measure._pair_kernels import compared, forget, held

LANES = 4
"""Texts in a vector."""
CELLS = 63
"""Words of a text in a number."""
RUNS = 8
"""Runs of cells that stay in registers while a text passes."""
STRETCH = RUNS * CELLS
_VECTOR = ir.VectorType(LONG, LANES)


def _splat(value: int) -> Any:
    return ir.Constant(_VECTOR, [value] * LANES)


def _passer(runs: int) -> Any:
    """`advance(marks, row_of, words, count, carries, lengths)`: a text passes some runs of cells.

    `marks[row_of[w]]` says where word w stands in them, run by run and text by text; `words` are
    the first `count` words of the text that passes. `carries` brings each word's carries from one
    stretch to the next, and `lengths` grow by what these runs add.
    """

    @intrinsic
    def advance(typing, marks, row_of, words, count, carries, lengths):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            pointers = array_data(context, builder, signature, arguments)
            table, rows, passing, _, carried, totals = pointers
            every = _splat((1 << CELLS) - 1)
            cells = [cgutils.alloca_once_value(builder, every) for _ in range(runs)]
            with cgutils.for_range(builder, arguments[3]) as loop:
                word = builder.zext(builder.load(builder.gep(passing, [loop.index])), LONG)
                row = builder.zext(builder.load(builder.gep(rows, [word])), LONG)
                begin = builder.mul(row, LONG(RUNS * LANES))
                place = builder.mul(loop.index, LONG(LANES))
                carry = builder.zext(load_vector(builder, carried, place, BYTE, LANES), _VECTOR)
                for number, run in enumerate(cells):
                    at = builder.add(begin, LONG(number * LANES))
                    before = builder.load(run)
                    matched = builder.and_(before, load_vector(builder, table, at, LONG, LANES))
                    summed = builder.add(builder.add(before, matched), carry)
                    carry = builder.lshr(summed, _splat(CELLS))
                    unmatched = builder.xor(before, matched)
                    builder.store(builder.or_(builder.and_(summed, every), unmatched), run)
                carry = builder.trunc(carry, ir.VectorType(BYTE, LANES))
                store_vector(builder, carry, carried, place)
            kind = ir.FunctionType(_VECTOR, [_VECTOR])
            name = f"llvm.ctpop.v{LANES}i{LONG.width}"
            ones = cgutils.get_or_insert_function(builder.module, kind, name)
            total = load_vector(builder, totals, LONG(0), LONG, LANES)
            for run in cells:
                # Cells beyond a text's end never match, and so stay 1.
                zeros = builder.call(ones, [builder.xor(builder.load(run), every)])
                total = builder.add(total, zeros)
            store_vector(builder, total, totals, 0)
            return context.get_dummy_value()

        return types.void(marks, row_of, words, count, carries, lengths), code

    return advance


_pass_8, _pass_6, _pass_4, _pass_2 = map(_passer, (8, 6, 4, 2))


@njit(cache=True, nogil=True)
def mark_lanes(
    ids: Array, starts: Array, ends: Array, number_of: Array
) -> tuple[Array, Array, int]:
    """What `common_lanes` needs of at most four texts: by stretch of cells the row of each word,
    what these rows mark, and how long the longest text is.

    Words that a stretch does not hold share the empty row 0, so that little is looked at. All words
    get numbers in `number_of`, which `forget` takes back.
    """
    words = 0
    longest = 0
    for lane in range(len(starts)):
        longest = max(longest, ends[lane] - starts[lane])
        for word in ids[starts[lane] : ends[lane]]:
            if number_of[word] < 0:
                number_of[word] = words
                words += 1
    rows = np.zeros((-(-longest // STRETCH), words), np.int32)
    count = 1
    for stretch in range(len(rows)):
        for lane in range(len(starts)):
            begin = starts[lane] + stretch * STRETCH
            for word in ids[begin : min(begin + STRETCH, ends[lane])]:
                if not rows[stretch, number_of[word]]:
                    rows[stretch, number_of[word]] = count
                    count += 1
    marks = np.zeros((count, RUNS * LANES), np.uint64)
    for stretch in range(len(rows)):
        for lane in range(len(starts)):
            begin = starts[lane] + stretch * STRETCH
            for run in range(RUNS):
                cell = np.uint64(1)
                first = begin + run * CELLS
                for word in ids[first : min(first + CELLS, ends[lane])]:
                    marks[rows[stretch, number_of[word]], run * LANES + lane] |= cell
                    cell <<= np.uint64(1)
    return rows, marks, longest


@njit(cache=True, nogil=True)
def common_lanes(
    rows: Array, marks: Array, longest: int, words: Array, carries: Array, lengths: Array
) -> None:
    """The lengths of the longest common subsequences of a text and each of the four."""
    count = len(words)
    carries[: count * LANES] = 0
    lengths[:] = 0
    for stretch in range(len(rows)):
        rest = longest - stretch * STRETCH
        if rest > 6 * CELLS:
            _pass_8(marks, rows[stretch], words, count, carries, lengths)
        elif rest > 4 * CELLS:
            _pass_6(marks, rows[stretch], words, count, carries, lengths)
        elif rest > 2 * CELLS:
            _pass_4(marks, rows[stretch], words, count, carries, lengths)
        else:
            _pass_2(marks, rows[stretch], words, count, carries, lengths)


@njit(cache=True, nogil=True)
def rouge_rows(
    ids: Array,
    starts: Array,
    ends: Array,
    kinds: int,
    numbers: Array,
    sources: Array,
    reference: int,
    first: int,
    last: int,
) -> Array:
    """ROUGE-L F of the texts `first` to `last` with every later text that is compared; 0 elsewhere.

    F = 2 * LCS / (length + length), and 0 if one of the two is empty. A text may have several
    versions, a row of `starts` and `ends` each: two texts are compared in the version that the
    sum of their `numbers` says. Texts of one version that stand together are scored together.
    """
    versions, texts = starts.shape
    scores = np.zeros((last - first, texts))
    longest = 0
    for version in range(versions):
        for text in range(texts):
            longest = max(longest, ends[version, text] - starts[version, text])
    rows = np.empty(longest + 1, np.int32)
    carries = np.zeros((longest + 1) * LANES, np.uint8)
    lengths = np.zeros(LANES, np.uint64)
    row_of = np.full(kinds, -1, np.int32)
    begin = first
    while begin < last:
        end = begin + 1
        while end < min(begin + LANES, last) and (numbers[end] - numbers[begin]) % versions == 0:
            end += 1
        for version in range(versions):
            # A row cut out of an array is contiguous, which the part of several rows is not.
            version_starts, version_ends = starts[version], ends[version]
            lanes = mark_lanes(ids, version_starts[begin:end], version_ends[begin:end], row_of)
            for second in range(begin + 1, texts):
                if (numbers[begin] + numbers[second]) % versions != version:
                    continue
                is_compared = False
                for this in range(begin, min(end, second)):
                    is_compared |= compared(sources[this], sources[second], reference)
                if not is_compared:
                    continue
                others = ids[version_starts[second] : version_ends[second]]
                passing = held(others, row_of, rows)
                if not len(passing):
                    continue
                common_lanes(*lanes, passing, carries, lengths)
                for this in range(begin, min(end, second)):
                    if compared(sources[this], sources[second], reference):
                        both = version_ends[this] - version_starts[this] + len(others)
                        scores[this - first, second] = 2.0 * lengths[this - begin] / both
            for this in range(begin, end):
                forget(ids[version_starts[this] : version_ends[this]], row_of)
        begin = end
    return scores
