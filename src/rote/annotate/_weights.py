"""The weight files of the package: named arrays, and what is known about the model."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

from rote.core.arrays import ENDING, Arrays, pack, unpack
from rote.core.files import write_atomically

_LEVEL = 19  # written once, read often


def load(name: str) -> tuple[Arrays, dict[str, Any]]:
    """The arrays and the description in the package's file of this name."""
    file = resources.files("rote.annotate") / "weights" / f"{name}{ENDING}"
    return unpack(file.read_bytes(), str(file))


def read(path: Path) -> tuple[Arrays, dict[str, Any]]:
    return unpack(path.read_bytes(), str(path))


def write(path: Path, arrays: Arrays, about: dict[str, Any]) -> None:
    """Write a weight file; the same arrays give the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, pack(arrays, about, _LEVEL))
