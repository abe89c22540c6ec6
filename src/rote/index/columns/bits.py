"""Bits of a number, which numba has no words for: how many zeros it ends in, how many are set."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def _trailing_zeros(typing: Any, number: Any) -> Any:
    """How many zeros stand behind the last bit that is set; 64 if none is."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


@intrinsic
def _ones(typing: Any, number: Any) -> Any:
    """How many bits are set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


# numba hides the first argument, which type checkers do not know.
trailing_zeros: Any = _trailing_zeros
ones: Any = _ones
