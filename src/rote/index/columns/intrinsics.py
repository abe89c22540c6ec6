"""What numba has no function for: unaligned loads, pointers, prefetches, counts of bits.

A prefetch asks for a cache line that will be needed soon. Searches over gigabytes wait for
memory most of the time; asking for the lines of many searches before reading the first makes
the waits overlap.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload


def _address(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    base = context.make_array(array_type)(context, builder, array).data
    start = builder.ptrtoint(base, ir.IntType(64))
    size = context.get_abi_sizeof(context.get_data_type(array_type.dtype))
    return builder.add(start, builder.mul(index, ir.Constant(ir.IntType(64), size)))


@intrinsic
def _load64(typing: Any, data: Any, byte: Any) -> Any:
    """The eight bytes from `data[byte]` on as one little-endian number; no bounds are checked."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _address(context, builder, signature.args[0], arguments[0], arguments[1])
        pointer = builder.inttoptr(address, cgutils.voidptr_t)
        word = builder.bitcast(pointer, ir.IntType(64).as_pointer())
        return builder.load(word, align=1, typ=ir.IntType(64))

    return types.uint64(data, types.int64), generate


@intrinsic
def _load64_at(typing: Any, address: Any) -> Any:
    """The eight bytes from an address on as one little-endian number."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        return builder.load(word, align=1, typ=ir.IntType(64))

    return types.uint64(types.int64), generate


@intrinsic
def _prefetch_array(typing: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _address(context, builder, signature.args[0], arguments[0], arguments[1])
        pointer = builder.inttoptr(address, cgutils.voidptr_t)
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
        declare: Any = cgutils.get_or_insert_function
        function = declare(builder.module, kind, "llvm.prefetch.p0")
        # For reading, into all levels of the cache, data.
        builder.call(function, [pointer, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


# numba hides the first argument, which type checkers do not know.
load64: Any = _load64
load64_at: Any = _load64_at
prefetch_array: Any = _prefetch_array


def prefetch(array: Any, index: Any) -> None:
    """Ask for the cache line of `array[index]`; an index out of bounds does no harm.

    Columns of several arrays know a way of their own (`packed.py`).
    """
    raise NotImplementedError("only kernels can ask for memory")


@overload(prefetch)
def _prefetch_of(array, index):  # type: ignore[no-untyped-def]
    if isinstance(array, types.Array):
        return lambda array, index: prefetch_array(array, index)
    return None


@intrinsic
def _pointer(typing: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(address), generate


@intrinsic
def _trailing_zeros(typing: Any, number: Any) -> Any:
    """How many zeros stand behind the last bit that is set; 64 if none is."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


@intrinsic
def _count_ones(typing: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


pointer: Any = _pointer
trailing_zeros: Any = _trailing_zeros
count_ones: Any = _count_ones
