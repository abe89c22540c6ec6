"""ONNX files as far as they are needed: the arrays of one are read, one of a product is written.

A file is a protobuf message: fields of a number and a whole number, or a number and bytes, which
may be a message again. The numbers are those of onnx.proto.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.arrays import Array

_KINDS = {1: "<f4", 2: "u1", 3: "i1", 6: "<i4", 7: "<i8"}
_BYTE, _INT8, _INT32 = 2, 3, 6
_ZERO = 64
"""Digits of activations are that much too large."""


def arrays(model: bytes) -> dict[str, Array]:
    """The arrays that a model holds, by name, in the order of the file."""
    by_name = {}
    for number, graph in _fields(memoryview(model)):
        for inner, tensor in _fields(graph) if number == 7 else ():
            if inner == 5:
                name, array = _array(tensor)
                by_name[name] = array
    return by_name


def product(matrix: NDArray[np.int8]) -> Any:
    """A session that multiplies rows of digits ("a") by a matrix of whole numbers to "y"."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    # Texts are shared out to threads; one product is not.
    options.intra_op_num_threads = 1
    node = b"".join(_field(1, name) for name in (b"a", b"b", b"zero"))
    node += _field(2, b"y") + _field(4, b"MatMulInteger")
    rows, columns = matrix.shape
    graph = _field(1, node) + _field(2, b"product")
    graph += _field(5, _tensor(b"b", _INT8, (rows, columns), matrix.tobytes()))
    graph += _field(5, _tensor(b"zero", _BYTE, (), bytes([_ZERO])))
    graph += _field(11, _value(b"a", _BYTE, rows)) + _field(12, _value(b"y", _INT32, columns))
    model = _field(1, 8) + _field(8, _field(2, 17)) + _field(7, graph)
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _tensor(name: bytes, kind: int, shape: tuple[int, ...], data: bytes) -> bytes:
    return (
        b"".join(_field(1, n) for n in shape) + _field(2, kind) + _field(8, name) + _field(9, data)
    )


def _value(name: bytes, kind: int, columns: int) -> bytes:
    """Of as many rows as there are."""
    shape = _field(1, _field(2, b"n")) + _field(1, _field(1, columns))
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, shape)))


def _field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    data = bytearray()
    while value > 127:
        data.append(value & 127 | 128)
        value >>= 7
    return bytes([*data, value])


def _array(tensor: memoryview) -> tuple[str, Array]:
    shape: list[int] = []
    name, kind, data = "", 0, memoryview(b"")
    for number, value in _fields(tensor):
        if number == 1:
            shape += [value] if isinstance(value, int) else _varints(value)
        elif number == 2:
            kind = value
        elif number == 8:
            name = bytes(value).decode()
        elif number == 9:
            data = value
    if kind not in _KINDS or not len(data):
        return name, np.empty(0)
    return name, np.frombuffer(data, _KINDS[kind]).reshape(shape)


def _fields(message: memoryview) -> Iterator[tuple[int, Any]]:
    """Number and value of every field: a whole number, or bytes."""
    at = 0
    while at < len(message):
        key, at = _read(message, at)
        if key & 7 == 0:
            value, at = _read(message, at)
            yield key >> 3, value
            continue
        size, at = _read(message, at) if key & 7 == 2 else ({1: 8, 5: 4}[key & 7], at)
        yield key >> 3, message[at : at + size]
        at += size


def _varints(data: memoryview) -> list[int]:
    numbers, at = [], 0
    while at < len(data):
        value, at = _read(data, at)
        numbers.append(value)
    return numbers


def _read(message: memoryview, at: int) -> tuple[int, int]:
    """A whole number and where it ends."""
    value, shift = 0, 0
    while True:
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
