"""The tests of all measures of a panel, corrected together, and what they could have found: of each
facet the verdicts, one value of each aspect, as one family, and the details as another.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rote.compare.multiple_testing import (
    UNDEFINED,
    Correction,
    Outcome,
    adjust_p_values,
    correct,
    decide,
    min_p_factor,
)
from rote.compare.permutation import LEVEL, PermutedTest
from rote.core.facets import EACH
from rote.core.numbers import format_number
from rote.core.progress import Reporter, several
from rote.core.result import Result, Row

Test = tuple[str, str, str, str]
"""Source, reference, value and field of the row ("p", "matched_p")."""
Tests = dict[Test, PermutedTest]
UNTESTED = "not tested against"
"""How a note begins that says why."""
FAMILY = "family"
"""The table of a result that says over which tests its p-values are corrected."""
_MANY_TESTS = 40
"""So many permutations for each p that is corrected for: the smallest is half the level."""
_MAX_PERMUTATIONS = 9_999
"""More are made only where somebody asks for them."""
_MAX_NAMED = 6


PERMUTATIONS = 199
"""Of each test of a panel, where the user names no number; those of verdicts begin with as many."""


def enough_permutations(others: int) -> int:
    """How many permutations make the smallest corrected p 0.025."""
    return _MANY_TESTS * others - 1


def permutations_needed(tests_of_measure: int, correction: Correction, tests: int) -> int:
    """As many as a measure takes by itself, or more, so that a difference can be found."""
    wanted = enough_permutations(min_p_factor(correction, tests))
    return max(tests_of_measure, wanted if wanted <= _MAX_PERMUTATIONS else 0)


@dataclass(frozen=True, slots=True)
class _Family:
    """The verdicts of one facet, or its other tests: of which result each is, and which."""

    facet: str
    verdicts: bool
    correction: Correction
    members: Sequence[tuple[int, Test]]
    pairs: bool

    @property
    def sources(self) -> int:
        """Or pairs of sources, where each is tested against each."""
        return len({key[:2] for _, key in self.members})

    def row(self) -> dict[str, Any]:
        def values(field: str) -> int:
            return len({(n, key[2]) for n, key in self.members if key[3] == field})

        return {
            "facet": self.facet,
            "of": "verdicts" if self.verdicts else "details",
            "correction": self.correction,
            "tests": len(self.members),
            "values": values("p"),
            "matched_values": values("matched_p"),
            "pairs" if self.pairs else "sources": self.sources,
        }

    @property
    def times(self) -> int:
        return min_p_factor(self.correction, len(self.members))


def correct_results(
    results: Sequence[tuple[Result, Tests]],
    correction: Correction = "westfall-young",
    *,
    most: int | None = None,
    reporter: Reporter | None = None,
) -> list[Result]:
    """The results with `p_corrected`, `floor`, `tested` and `detectable` in every row of their
    comparisons; those of results that were read keep their own.

    `most`: how many permutations verdicts may take; no more than were made (None).
    """
    families = _families(results, correction)
    outcomes: dict[tuple[int, Test], Outcome] = {}
    for family in families:
        members = [results[number][1][key] for number, key in family.members]
        if family.verdicts and most is not None:
            judged = decide(members, correction, most, reporter)
        else:
            judged = correct(members, correction)
        outcomes |= dict(zip(family.members, judged))
    alike = _correct_equivalence(results, families, correction)
    corrected = []
    for number, (result, tests) in enumerate(results):
        if tests or any("tested" not in row for row in result.comparisons):
            result = _fill_rows(number, result, outcomes, alike, families)
        corrected.append(result)
    return corrected


def _families(results: Sequence[tuple[Result, Tests]], correction: Correction) -> list[_Family]:
    members: dict[tuple[str, bool], list[tuple[int, Test]]] = {}
    pairs = False
    # Of a value without an aspect, taken by itself, the verdict is its own.
    alone = not any(test.headline for _, tests in results for test in tests.values())
    for number, (result, tests) in enumerate(results):
        titles = {group: facet.title for facet in result.facets() for group in facet.names}
        pairs = pairs or (bool(tests) and result.reference == EACH)
        first = next(iter(tests), ("",) * 4)[2]
        for key, test in tests.items():
            verdict = test.headline or (alone and key[2] == first)
            members.setdefault((titles.get(key[0], ""), verdict), []).append((number, key))
    return [
        _Family(*which, correction, tests_of_family, pairs)
        for which, tests_of_family in members.items()
    ]


def _correct_equivalence(
    results: Sequence[tuple[Result, Tests]], families: Sequence[_Family], correction: Correction
) -> dict[tuple[int, Test], float]:
    """Corrected p-values of the tests of equivalence: a family beside that of the differences."""
    rows = {
        (number, (row["source"], row["reference"], row["value"], "p")): row["equivalence_p"]
        for number, (result, _) in enumerate(results)
        for row in result.comparisons
        if "equivalence_p" in row
    }
    corrected: dict[tuple[int, Test], float] = {}
    for family in families:
        keys = [key for key in family.members if key in rows]
        corrected |= dict(zip(keys, adjust_p_values([rows[key] for key in keys], correction)))
    return corrected


def _fill_rows(
    number: int,
    result: Result,
    outcomes: Mapping[tuple[int, Test], Outcome],
    alike: Mapping[tuple[int, Test], float],
    families: Sequence[_Family],
) -> Result:
    """The result of this number; `outcomes` and `alike` are those of all."""
    verdicts = {member for family in families if family.verdicts for member in family.members}
    rows: list[dict[str, Any]] = []
    for row in result.comparisons:
        filled, key = dict(row), (row["source"], row["reference"], row["value"])
        for field in ("p", "matched_p"):
            if field in row:
                test, before = (number, (*key, field)), field.removesuffix("p")
                outcome = outcomes.get(test, UNDEFINED)
                filled[f"{field}_corrected"] = outcome.p
                filled[f"{before}floor"] = outcome.floor
                filled[f"{before}tested"] = outcome.tested
                filled[f"{before}borderline"] = outcome.borderline and test in verdicts
                if outcome.permutations:
                    filled[f"{before}permutations"] = outcome.permutations
                filled[f"{before}detectable"] = outcome.detectable if outcome.tested else math.nan
        if "equivalence_p" in row:
            p = alike.get((number, (*key, "p")), math.nan)
            filled["equivalence_p_corrected"] = p
            filled["equivalent"] = p < LEVEL
        rows.append(filled)
    of_result = [
        family for family in families if any(place == number for place, _ in family.members)
    ]
    notes = dict.fromkeys((*result.notes, *_untested_notes(rows, of_result)))
    tables = {**result.tables, FAMILY: [family.row() for family in of_result]}
    return replace(result, comparisons=rows, tables=tables, notes=tuple(notes))


def _join_facets(families: Sequence[_Family]) -> list[_Family]:
    by_facet: dict[str, _Family] = {}
    for family in families:
        before = by_facet[family.facet].members if family.facet in by_facet else ()
        by_facet[family.facet] = replace(family, members=[*before, *family.members])
    return list(by_facet.values())


def _untested_notes(rows: Sequence[Row], families: Sequence[_Family]) -> Iterator[str]:
    """What was not tested for want of permutations or of texts, and what would do."""
    for family in _join_facets(families):
        keys = {key[:3] for _, key in family.members}
        tested_rows = [r for r in rows if (r["source"], r["reference"], r["value"]) in keys]
        name_of = "{source} and {reference}" if family.pairs else "{source}"
        cells = [
            (name_of.format_map(row), row["value"], row[field])
            for row in tested_rows
            for field in ("floor", "matched_floor")
            if not math.isnan(row.get(field, math.nan))
        ]
        # Where labels have too few ways to be exchanged, they have for every value.
        possible = {name for name, _, floor in cells if floor < LEVEL}
        untested = dict.fromkeys(name for name, _, _ in cells if name not in possible)
        tied = dict.fromkeys(v for name, v, f in cells if name in possible and f >= LEVEL)
        reference = next((row["reference"] for row in tested_rows), "")
        whom = f"{UNTESTED} {'each other' if family.pairs else reference}"
        if tied:
            more = f" and {len(tied) - _MAX_NAMED} more" if len(tied) > _MAX_NAMED else ""
            yield (
                f"{whom}: {', '.join(list(tied)[:_MAX_NAMED])}{more}: what is counted occurs in "
                "too few texts for any corrected p to be small"
            )
        if not untested:
            continue
        count = min(row["permutations"] for row in tested_rows)
        floor = min(1.0, family.times / (count + 1))
        if floor >= LEVEL:
            unit = "pairs" if family.pairs else "sources"
            what = "tests" if family.correction == "holm" else unit
            times = f" and {family.times:,} {what}" if family.times > 1 else ""
            yield (
                f"{whom}: with {several(count, 'permutation')}{times} no corrected p can fall "
                f"below {LEVEL} (the smallest possible is {format_number(floor, '.2g')}); use "
                f"--permutations {enough_permutations(family.times)} or more"
            )
        else:
            yield (
                f"{whom}: {', '.join(untested)}: too few texts, so no corrected p can fall below "
                f"{LEVEL}; add texts"
            )
