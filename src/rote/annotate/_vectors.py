"""The networks' inner loops, written for vector units: sums of rows, and the best label.

A loop over numpy arrays leaves much to the compiler, and what it makes of it differs between
kinds of machines: sums that go through memory after every row, checks whether arrays overlap,
half of the width. Here the code that runs is said outright, in vectors that LLVM cuts to the
width of the machine. Sizes are constants of a kernel (`padded` fits a network to them), and
kernels check no bounds: places are those that `_hashing.place` and the vocabulary give.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from llvmlite import ir

from rote.core.vectors import (
    BYTE,
    INT,
    LONG,
    SHORT,
    array_data,
    cgutils,
    intrinsic,
    load_vector,
    store_vector,
    types,
)

LABEL_STEP = 8  # labels are padded to a multiple of it
UNIT_STEP = 32  # and units are a multiple of this
_LINE = 64  # bytes
_TRUE = ir.Constant(ir.IntType(1), 1)
_WIDEST = 64  # units at once: what fits into the registers of both kinds of machines
_LABELS = 16


def padded(labels: int) -> int:
    return -(-labels // LABEL_STEP) * LABEL_STEP


def row_adder(hidden: int, together: int, which: Sequence[int]) -> Callable[..., None]:
    """`add(total, rows, places)`: add the rows (int8) at `places[k]` for each k of `which`.

    `together` rows are added in 8 bits: so many times the largest weight must not exceed 127.
    """

    @intrinsic
    def add(typing, total, rows, places):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            sums, table, numbers = array_data(context, builder, signature, arguments)
            offsets = [_offset(builder, numbers, k, hidden) for k in which]
            for first, size in _blocks(hidden, _WIDEST):
                total_units = load_vector(builder, sums, LONG(first), SHORT, size)
                for group in range(0, len(offsets), together):
                    part = None
                    for offset in offsets[group : group + together]:
                        row = load_vector(
                            builder, table, builder.add(offset, LONG(first)), BYTE, size
                        )
                        part = row if part is None else builder.add(part, row)
                    total_units = builder.add(
                        total_units, builder.sext(part, ir.VectorType(SHORT, size))
                    )
                store_vector(builder, total_units, sums, first)
            return context.get_dummy_value()

        return types.void(total, rows, places), code

    return add  # type: ignore[no-any-return]


def sum_adder(hidden: int, roles: int, which: Sequence[int]) -> Callable[..., None]:
    """`add(total, base, sums, entries)`: total is base and `sums[entries[r], r]` for r in `which`.

    All are int16; `base` may be the total itself.
    """

    @intrinsic
    def add(typing, total, base, sums, entries):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            sums_data, start, table, numbers = array_data(context, builder, signature, arguments)
            offsets = [
                builder.add(_offset(builder, numbers, role, roles * hidden), LONG(role * hidden))
                for role in which
            ]
            for first, size in _blocks(hidden, _WIDEST):
                total = load_vector(builder, start, LONG(first), SHORT, size)
                for offset in offsets:
                    place = builder.add(offset, LONG(first))
                    total = builder.add(total, load_vector(builder, table, place, SHORT, size))
                store_vector(builder, total, sums_data, first)
            return context.get_dummy_value()

        return types.void(total, base, sums, entries), code

    return add  # type: ignore[no-any-return]


def chooser(hidden: int, labels: int, ceiling: int) -> Callable[..., tuple[int, int]]:
    """`choose(total, output, bias, margin, scores)`: best label, and how many are within margin.

    `total` is cut to 0 .. ceiling in place; `output` is (hidden, labels with padding), `bias` and
    `scores` have the same padding. Two in three units are zero and cost nothing.
    """
    width = padded(labels)
    blocks = list(_blocks(width, _LABELS))

    @intrinsic
    def choose(typing, total, output, bias, margin, scores):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            units, weights, start, _, score_data = array_data(
                context, builder, signature, arguments
            )
            sums = [
                cgutils.alloca_once_value(
                    builder, load_vector(builder, start, LONG(first), INT, size)
                )
                for first, size in blocks
            ]
            for first, size in _blocks(hidden, _WIDEST):
                open_units = _cut(builder, units, first, size, ceiling)
                for unit in _each_bit(builder, open_units, first):
                    # Known not to be negative: then 16-bit products do on both kinds of machines.
                    value = builder.and_(builder.load(builder.gep(units, [unit])), SHORT(0x7FFF))
                    value = builder.zext(value, INT)
                    for (label, count), place in zip(blocks, sums):
                        at = builder.add(builder.mul(unit, LONG(width)), LONG(label))
                        row = load_vector(builder, weights, at, SHORT, count)
                        row = builder.sext(row, ir.VectorType(INT, count))
                        product = builder.mul(_splat(builder, value, count), row)
                        builder.store(builder.add(builder.load(place), product), place)
            scored = [builder.load(place) for place in sums]
            for (first, _size), block in zip(blocks, scored):
                store_vector(builder, block, score_data, first)
            most = _highest(builder, scored)
            least = builder.sub(most, builder.trunc(arguments[3], INT))
            best = builder.cttz(_bits(builder, "==", scored, most), _TRUE)
            near = builder.ctpop(_bits(builder, ">=", scored, least))
            both = [builder.trunc(value, LONG) for value in (best, near)]
            return context.make_tuple(builder, signature.return_type, both)

        answer = types.UniTuple(types.int64, 2)
        return answer(total, output, bias, margin, scores), code

    return choose  # type: ignore[no-any-return]


@intrinsic
def add_row(typing, sums, first, rows, second, hidden):  # type: ignore[no-untyped-def]
    """Add `hidden` items of `rows` (int8) from `second` on to `sums` (int16) from `first` on.

    Both are taken as flat; `hidden` is a multiple of UNIT_STEP.
    """

    def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        total, begin, table, place, count = array_data(context, builder, signature, arguments)
        with cgutils.for_range_slice(builder, LONG(0), count, LONG(UNIT_STEP), LONG) as (k, _):
            at = builder.add(begin, k)
            row = load_vector(builder, table, builder.add(place, k), BYTE, UNIT_STEP)
            row = builder.sext(row, ir.VectorType(SHORT, UNIT_STEP))
            units = load_vector(builder, total, at, SHORT, UNIT_STEP)
            store_vector(builder, builder.add(units, row), total, at)
        return context.get_dummy_value()

    number = types.int64
    return types.void(sums, number, rows, number, number), code


@intrinsic(prefer_literal=True)
def fetch(typing, table, offset, count):  # type: ignore[no-untyped-def]
    """Ask for `count` (a constant) items of a table, taken as flat, before they are needed."""
    if not isinstance(count, types.IntegerLiteral):
        return None
    number, each = count.literal_value, table.dtype.bitwidth // 8

    def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        (data,) = array_data(context, builder, signature, arguments[:1])
        byte = BYTE.as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [byte, INT, INT, INT])
        ask = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        start = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        for line in range(0, number * each, _LINE):
            place = builder.gep(start, [LONG(line)])
            builder.call(ask, [place, INT(0), INT(3), INT(1)])  # to read, often, data
        return context.get_dummy_value()

    return types.void(table, types.int64, count), code


def _offset(builder: Any, numbers: Any, k: int, step: int) -> Any:
    return builder.mul(builder.load(builder.gep(numbers, [LONG(k)])), LONG(step))


def _splat(builder: Any, value: Any, size: int) -> Any:
    empty = ir.Constant(ir.VectorType(value.type, size), ir.Undefined)
    first_item = builder.insert_element(empty, value, INT(0))
    return builder.shuffle_vector(
        first_item, empty, ir.Constant(ir.VectorType(INT, size), [0] * size)
    )


def _cut(builder: Any, units: Any, first: int, size: int, ceiling: int) -> Any:
    """Cut some units to 0 .. ceiling in memory; the bits of those that are not zero."""
    values = load_vector(builder, units, LONG(first), SHORT, size)
    for sign, bound in ((">", 0), ("<", ceiling)):
        limit = ir.Constant(values.type, [bound] * size)
        values = builder.select(builder.icmp_signed(sign, values, limit), values, limit)
    store_vector(builder, values, units, first)
    is_open = builder.icmp_signed("!=", values, ir.Constant(values.type, [0] * size))
    bits = builder.bitcast(is_open, ir.IntType(size))
    return bits if size == LONG.width else builder.zext(bits, LONG)


def _each_bit(builder: Any, bits: Any, first: int) -> Iterator[Any]:
    """A loop over the bits that are set: what is built inside runs for each."""
    remaining = cgutils.alloca_once_value(builder, bits)
    test, body, end = (builder.append_basic_block(name) for name in ("test", "unit", "end"))
    builder.branch(test)
    builder.position_at_end(test)
    now = builder.load(remaining)
    builder.cbranch(builder.icmp_unsigned("!=", now, LONG(0)), body, end)
    builder.position_at_end(body)
    builder.store(builder.and_(now, builder.sub(now, LONG(1))), remaining)
    yield builder.add(builder.cttz(now, _TRUE), LONG(first))
    builder.branch(test)
    builder.position_at_end(end)


def _highest(builder: Any, blocks: Iterable[Any]) -> Any:
    most = None
    for block in blocks:
        kind = ir.FunctionType(INT, [block.type])
        name = f"llvm.vector.reduce.smax.v{block.type.count}i32"
        reduce = cgutils.get_or_insert_function(builder.module, kind, name)
        value = builder.call(reduce, [block])
        if most is not None:
            value = builder.select(builder.icmp_signed(">", value, most), value, most)
        most = value
    return most


def _bits(builder: Any, sign: str, blocks: Iterable[Any], value: Any) -> Any:
    """One bit for each label whose score is so."""
    wide, bitmap, first = ir.IntType(128), None, 0
    for block in blocks:
        size = block.type.count
        is_so = builder.icmp_signed(sign, block, _splat(builder, value, size))
        bits = builder.zext(builder.bitcast(is_so, ir.IntType(size)), wide)
        bits = builder.shl(bits, wide(first))
        bitmap = bits if bitmap is None else builder.or_(bitmap, bits)
        first += size
    return bitmap


def _blocks(count: int, most: int) -> Iterator[tuple[int, int]]:
    """Runs (first, size) of powers of two: vectors of other sizes are cut up badly."""
    first, size = 0, most
    while first < count:
        while size > count - first:
            size //= 2
        yield first, size
        first += size
