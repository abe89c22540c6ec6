"""Weights in a file of the safetensors format, read without its package.

Eight bytes for the length of the header, the header as JSON (each tensor's type, shape and
place), then the numbers. Everything the header says is checked before a number is read.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import InputError

_TYPES: dict[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype("<u2"),
}
_LONGEST_HEADER = 100_000_000  # the format's own limit

Single = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Place:
    kind: str
    shape: tuple[int, ...]
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Tensors:
    """The tensors of a file by name."""

    path: Path
    places: dict[str, _Place]
    numbers: int
    """Where the numbers begin."""

    def take(self, name: str, *shape: int) -> Single:
        """One tensor in single precision; its shape is the one that is expected."""
        if name not in self.places:
            raise InputError(
                f"there is no tensor '{name}'", file=str(self.path), remedy="Save the model again"
            )
        place = self.places[name]
        if place.shape != shape:
            raise InputError(
                f"tensor '{name}' has shape {place.shape}; by config.json it should be {shape}",
                file=str(self.path),
                remedy="Keep weights and config.json of the same model together",
            )
        kind = _TYPES[place.kind]
        held: NDArray[Any] = np.fromfile(
            self.path, kind, math.prod(shape), offset=self.numbers + place.begin
        )
        if place.kind == "BF16":  # the upper half of a single-precision number
            held = (held.astype(np.uint32) << 16).view(np.float32)
        return held.astype(np.float32).reshape(shape)


def read_tensors(path: Path) -> Tensors:
    """What is in a file, checked; no numbers are read yet."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if size < 8 or length > min(size - 8, _LONGEST_HEADER):
                raise _damaged(path, "it ends within its header")
            header = json.loads(file.read(length), object_pairs_hook=_once)
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror})",
            file=str(path),
            remedy="Weights in several files or of another kind are read by transformers:FOLDER",
        ) from None
    except ValueError as error:
        raise _damaged(path, f"its header is not what the format asks for: {error}") from None
    if not isinstance(header, dict):
        raise _damaged(path, "its header is no JSON object")
    header.pop("__metadata__", None)
    places = {name: _place(path, name, said) for name, said in header.items()}
    reached = 0
    for name, place in sorted(places.items(), key=lambda one: (one[1].begin, one[1].end)):
        if place.begin != reached:
            raise _damaged(path, f"tensor '{name}' does not begin where the one before ends")
        reached = place.end
    if 8 + length + reached != size:
        raise _damaged(path, f"it should hold {8 + length + reached} bytes and holds {size}")
    return Tensors(path, places, 8 + length)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands there twice")
    return found


def _place(path: Path, name: str, said: Any) -> _Place:
    try:
        kind, shape, (begin, end) = said["dtype"], tuple(said["shape"]), said["data_offsets"]
        whole = all(type(one) is int and one >= 0 for one in (*shape, begin, end))
    except (TypeError, KeyError, ValueError):
        raise _damaged(path, f"tensor '{name}' is not described") from None
    if kind not in _TYPES:
        raise InputError(
            f"tensor '{name}' holds numbers of the kind {kind}; {', '.join(_TYPES)} can be read",
            file=str(path),
            remedy="Run the model with transformers:FOLDER",
        )
    if not whole or end - begin != math.prod(shape) * _TYPES[kind].itemsize:
        raise _damaged(path, f"the place of tensor '{name}' does not fit its shape")
    return _Place(kind, shape, begin, end)


def _damaged(path: Path, why: str) -> InputError:
    return InputError(f"the file is damaged: {why}", file=str(path), remedy="Fetch it again")
