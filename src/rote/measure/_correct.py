"""The tests of all measures of a panel, corrected together, and what they could have found.

Every facet is a family of its own. A test whose smallest possible corrected p is not below the
level is marked as none: it must not be read as "no difference".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rote.compare.permutation import LEVEL, Outcome, PermutedTest, correct
from rote.core.result import Result, Row

Tests = dict[tuple[str, str, str], PermutedTest]
"""By source, value and field of the row ("p", "matched_p")."""
UNTESTED = "not tested against"
"""How a note begins that says why."""
_WIDE = 40
"""So many permutations for every source: the smallest corrected p is half the level."""
_NAMED = 6


PERMUTATIONS = 199
"""Of each test of a panel, where the user names no number: only as many draws are used as every
test of the family has, and the smallest p of five sources is 0.025 then."""


def enough(others: int) -> int:
    """How many permutations make the smallest corrected p 0.025."""
    return _WIDE * others - 1


def corrected(found: Sequence[tuple[Result, Tests]]) -> list[Result]:
    """The results with `p_corrected`, `floor` and `tested` in every row of their comparisons."""
    families: dict[str, list[tuple[int, tuple[str, str, str]]]] = {}
    for number, (result, tests) in enumerate(found):
        reference = {row["source"]: row["reference"] for row in result.comparisons}
        for key in tests:
            families.setdefault(reference[key[0]], []).append((number, key))
    outcomes: dict[tuple[int, tuple[str, str, str]], Outcome] = {}
    for family in families.values():
        tests_of = [found[number][1][key] for number, key in family]
        outcomes |= dict(zip(family, correct(tests_of)))
    return [
        _filled(result, {key: out for (own, key), out in outcomes.items() if own == number})
        for number, (result, _) in enumerate(found)
    ]


def _filled(result: Result, outcomes: Mapping[tuple[str, str, str], Outcome]) -> Result:
    rows: list[dict[str, Any]] = []
    for row in result.comparisons:
        filled = dict(row)
        for field in ("p", "matched_p"):
            if field in row:
                nothing = Outcome(math.nan, math.nan)
                outcome = outcomes.get((row["source"], row["value"], field), nothing)
                before = field.removesuffix("p")
                filled[f"{field}_corrected"] = outcome.p
                filled[f"{before}floor"] = outcome.floor
                filled[f"{before}tested"] = outcome.tested
        rows.append(filled)
    notes = dict.fromkeys((*result.notes, *_untested(rows)))
    return replace(result, comparisons=rows, notes=tuple(notes))


def _untested(rows: Sequence[Row]) -> Iterator[str]:
    """What was not tested for want of permutations or of texts, and what would do."""
    by_reference: dict[str, list[Row]] = {}
    for row in rows:
        by_reference.setdefault(row["reference"], []).append(row)
    for reference, family in by_reference.items():
        cells = [
            (row["source"], row["value"], row[field])
            for row in family
            for field in ("floor", "matched_floor")
            if not math.isnan(row.get(field, math.nan))
        ]
        # Where labels have too few ways to be exchanged, they have for every value.
        possible = {source for source, _, floor in cells if floor < LEVEL}
        untested = dict.fromkeys(source for source, _, _ in cells if source not in possible)
        tied = dict.fromkeys(v for s, v, floor in cells if s in possible and floor >= LEVEL)
        if tied:
            more = f" and {len(tied) - _NAMED} more" if len(tied) > _NAMED else ""
            yield (
                f"{UNTESTED} {reference}: {', '.join(list(tied)[:_NAMED])}{more}: too few texts "
                "hold what is counted, so that many exchanges of labels make the same largest "
                "difference and no corrected p can be small"
            )
        if not untested:
            continue
        others = len({row["source"] for row in family})
        count = min(row["permutations"] for row in family)
        floor = min(1.0, others / (count + 1))
        if floor >= LEVEL:
            several = f" and {others:,} sources" if others > 1 else ""
            yield (
                f"{UNTESTED} {reference}: with {count:,} permutations{several} no corrected p can "
                f"be below {LEVEL} (the smallest is {floor:.2g}); --permutations {enough(others)} "
                "would do"
            )
        else:
            yield (
                f"{UNTESTED} {reference}: {', '.join(untested)}: the labels of so few texts can be "
                f"exchanged in so few ways that no corrected p can be below {LEVEL}; more texts "
                "would do"
            )
