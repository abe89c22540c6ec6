"""Vectors of numbers in arrays: what kernels for vector units are made of, in the words of LLVM.

A loop over numpy arrays leaves much to the compiler, and what it makes of it differs between kinds
of machines. Here the code that runs is said outright, and LLVM cuts it to the width of the machine.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import core, extending

cgutils: Any = core.cgutils
types: Any = core.types
intrinsic: Any = extending.intrinsic

BYTE, SHORT, INT, LONG = (ir.IntType(bits) for bits in (8, 16, 32, 64))


def array_data(context: Any, builder: Any, signature: Any, arguments: Any) -> list[Any]:
    """The pointers behind arrays; other arguments as they are."""
    return [
        context.make_array(kind)(context, builder, value).data
        if isinstance(kind, types.Array)
        else value
        for kind, value in zip(signature.args, arguments)
    ]


def load_vector(builder: Any, data: Any, offset: Any, kind: Any, size: int) -> Any:
    """`size` numbers of a kind, from a place of an array on."""
    return builder.load(_pointer(builder, data, offset, kind, size), align=kind.width // 8)


def store_vector(builder: Any, vector: Any, data: Any, first: Any) -> None:
    kind, size = vector.type.element, vector.type.count
    first = LONG(first) if isinstance(first, int) else first
    place = _pointer(builder, data, first, kind, size)
    builder.store(vector, place, align=kind.width // 8)


def _pointer(builder: Any, data: Any, offset: Any, kind: Any, size: int) -> Any:
    return builder.bitcast(builder.gep(data, [offset]), ir.VectorType(kind, size).as_pointer())
