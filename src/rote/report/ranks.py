"""Ranks of sources where none is the reference, with letters: those that share one cannot be told
apart.

Letters come from the verdicts of all pairs (a compact letter display). A value that moves with
length is ranked at equal length, or not at all.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from rote.report.verdicts import Aspect, Verdicts

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Rank:
    """A source in one aspect; 1 is the most diverse."""

    rank: int
    letters: str
    value: float
    low: float
    high: float


def letter_groups(names: Sequence[str], apart: Collection[frozenset[str]]) -> dict[str, str]:
    """The letters of each name: two share one unless they are apart.

    Insert and absorb (Piepho 2004): a group that holds two that are apart is split into one without
    each, and a group inside another is dropped.

    >>> letter_groups("abc", [frozenset("ac")])
    {'a': 'a', 'b': 'ab', 'c': 'b'}
    """
    groups = [frozenset(names)]
    for pair in apart:
        first, second = pair
        split = [
            part
            for group in groups
            for part in ((group - {first}, group - {second}) if pair <= group else (group,))
        ]
        unique = list(dict.fromkeys(split))
        groups = [group for group in unique if not any(group < other for other in unique)]
    place = {name: number for number, name in enumerate(names)}
    groups.sort(key=lambda group: sorted(place[name] for name in group))
    return {
        name: "".join(_letter(n) for n, group in enumerate(groups) if name in group)
        for name in names
    }


def _letter(number: int) -> str:
    """a to z, then a2 to z2."""
    turn, place = divmod(number, len(_LETTERS))
    return _LETTERS[place] + (str(turn + 1) if turn else "")


def ranks(aspect: Aspect) -> dict[str, Rank]:
    """The sources of an aspect from the most diverse to the most repetitive; without those whose
    texts have no usable equal length."""
    cells = {}
    for one in aspect.comparisons:
        if not one.by_length:
            cells[one.source] = one.own, one.equal, one.turn
            cells[one.reference] = one.other, one.equal, one.turn
    values = {
        name: cell.matched if equal else cell.estimate for name, (cell, equal, _) in cells.items()
    }
    known = [name for name, value in values.items() if not math.isnan(value)]
    order = sorted(known, key=lambda name: cells[name][2] * values[name])
    apart = {
        frozenset((one.source, one.reference))
        for one in aspect.comparisons
        if one.state == "differs"
    }
    letters = letter_groups(order, [pair for pair in apart if pair <= set(order)])
    found = {}
    for rank, name in enumerate(order, start=1):
        cell, equal, _ = cells[name]
        ends = (cell.matched_low, cell.matched_high) if equal else (cell.low, cell.high)
        found[name] = Rank(rank, letters[name], values[name], *ends)
    return found


def ranked(shown: Verdicts) -> tuple[list[str], Mapping[str, Mapping[str, Rank]]]:
    """The sources by their mean rank over aspects of diversity, those last that some aspect has no
    rank for, and the ranks of each aspect."""
    found = {aspect.name: ranks(aspect) for aspect in shown.aspects}
    counted = [a.name for a in shown.aspects if a.row.higher != "neither"] or list(found)

    def place(source: str) -> tuple[int, float]:
        own = [found[name][source].rank for name in counted if source in found[name]]
        return len(counted) - len(own), sum(own) / max(len(own), 1)

    return sorted(shown.sources, key=place), found
