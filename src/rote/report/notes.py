"""What must be known of results, each thing once: the same note of several sources is one note."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rote.core.result import Result

# A number by itself: the 4 of gpt-4 is part of a name.
_NUMBER = re.compile(r"(?<![\w.,-])\d[\d,]*(?:\.\d+)?(?![\w-])")


def gathered(result: Result) -> list[tuple[str, list[str]]]:
    """The notes of a result with the sources that each is about; none: it is about all of it.

    Notes that differ in their numbers alone are one, with the range of each number that differs.
    """
    about: dict[str, list[tuple[str, str]]] = {note: [] for note in result.notes}
    for source, found in result.by_source.items():
        for note in found.notes:
            about.setdefault(_form(note), []).append((source, note))
    return [
        (_joined([note for _, note in said]) if said else line, [source for source, _ in said])
        for line, said in about.items()
    ]


def _form(note: str) -> str:
    """A note without its numbers: 1 text and 2 texts are alike."""
    return re.sub(r"(# \w+?)s\b", r"\1", _NUMBER.sub("#", note))


def _joined(notes: Sequence[str]) -> str:
    """Notes that are alike but for their numbers as one."""
    numbers = iter(zip(*(_NUMBER.findall(note) for note in notes)))
    # The longest says "texts" where one of them says "1 text".
    return _NUMBER.sub(lambda _: _range(next(numbers)), max(notes, key=len))


def _range(written: Sequence[str]) -> str:
    ordered = sorted(set(written), key=lambda number: float(number.replace(",", "")))
    return ordered[0] if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}"
