"""The levels of a factor and their order: 0.7 and 1.0, 7B and 1.5T, base and instruct."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rote.core.errors import OptionError, UnknownName

Kind = Literal["numeric", "ordered", "paired", "unordered"]
_SIZES = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}
_NUMBER = r"(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+)"
_SIZED = re.compile(rf"([+-]?){_NUMBER}\s*([kmbtKMBT]?)")
# A word before or after the number, such as step1000 or 16bit.
_WORDED = re.compile(rf"([^\d.]*?){_NUMBER}([^\d.]*)")


@dataclass(frozen=True, slots=True)
class Levels:
    """The levels in order, and for each its number, or its place where it has none.

    `unit` is what all numbers share: B of 7B and 13B, bit of 4bit and 16bit.
    """

    kind: Kind
    names: tuple[str, ...]
    numbers: tuple[float, ...]
    unit: str = ""


def ordered_levels(
    found: Sequence[str], field: str, *, order: Sequence[str] = (), pair: Sequence[str] = ()
) -> Levels:
    """The levels to use of those that were found: all, or the ones that `order` or `pair` name."""
    if order and pair:
        raise OptionError("choose one of --order and --pair")
    if pair and len(pair) != 2:
        raise OptionError(f"--pair names two levels of '{field}', not {len(pair)}")
    given = tuple(order or pair)
    if given:
        if len(set(given)) < len(given) or len(given) < 2:
            raise OptionError(f"--order names at least two levels of '{field}', each once")
        for name in given:
            if name not in found:
                raise UnknownName(f"level of '{field}':", name, found)
        places = tuple(float(place) for place in range(len(given)))
        return Levels("paired" if pair else "ordered", given, places)
    names = tuple(dict.fromkeys(found))
    numbers, unit = _numbers(names)
    if numbers:
        inorder = sorted(zip(numbers, names))
        return Levels(
            "numeric",
            tuple(name for _, name in inorder),
            tuple(number for number, _ in inorder),
            unit,
        )
    return Levels("unordered", names, tuple(float(place) for place in range(len(names))))


def _numbers(names: Sequence[str]) -> tuple[list[float], str]:
    """The numbers in the names and their unit; none where one of them is no number."""
    sized = [_SIZED.fullmatch(name.strip()) for name in names]
    if all(sized):
        parts = [match.groups() for match in sized if match]
        units = {size for _, _, size in parts}
        # 7B, 13B, 70B stay 7, 13, 70: a slope per parameter would be hard to read.
        shared = units.pop() if len(units) == 1 else ""
        return [
            float(sign + number) * (1.0 if shared else _SIZES[size.lower()])
            for sign, number, size in parts
        ], shared
    worded = [_WORDED.fullmatch(name.strip()) for name in names]
    around = {(match[1], match[3]) for match in worded if match}
    if all(worded) and len(around) == 1:
        before, after = around.pop()
        return [float(match[2]) for match in worded if match], (after or before).strip(" -_")
    return [], ""
