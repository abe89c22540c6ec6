"""The tests of all measures of a panel, corrected together, and what they could have found.

A facet has two families: the verdicts, one value of each aspect, of which as many permutations are
made as it takes; and all other values, the details. A test whose smallest possible corrected p is
not below the level is marked as none: it must not be read as "no difference".
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rote.compare.families import UNDEFINED, Correction, Outcome, adjusted, correct, decide, times
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
_WIDE = 40
"""So many permutations for each p that is corrected for: the smallest is half the level."""
_MOST = 9_999
"""More are made only where somebody asks for them."""
_NAMED = 6


PERMUTATIONS = 199
"""Of each test of a panel, where the user names no number; those of verdicts begin with as many."""


def enough(others: int) -> int:
    """How many permutations make the smallest corrected p 0.025."""
    return _WIDE * others - 1


def permutations(own: int, correction: Correction, tests: int) -> int:
    """As many as a measure takes by itself, or more, so that a difference can be found."""
    wanted = enough(times(correction, tests))
    return max(own, wanted if wanted <= _MOST else 0)


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
        """What there is to say of it."""

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
        return times(self.correction, len(self.members))


def corrected(
    found: Sequence[tuple[Result, Tests]],
    correction: Correction = "westfall-young",
    *,
    most: int | None = None,
    reporter: Reporter | None = None,
) -> list[Result]:
    """The results with `p_corrected`, `floor`, `tested` and `detectable` in every row of their
    comparisons; those of results that were read keep their own.

    `most`: how many permutations verdicts may take; no more than were made (None).
    """
    families = _families(found, correction)
    outcomes: dict[tuple[int, Test], Outcome] = {}
    for family in families:
        tests = [found[number][1][key] for number, key in family.members]
        further = family.verdicts and most is not None
        judged = (
            decide(tests, correction, most or 0, reporter)
            if further
            else correct(tests, correction)
        )
        outcomes |= dict(zip(family.members, judged))
    verdicts = {member for family in families if family.verdicts for member in family.members}
    alike = _equivalent(found, families, correction)
    return [
        _filled(
            result,
            {key: out for (own, key), out in outcomes.items() if own == number},
            {key for own, key in verdicts if own == number},
            {key: p for (own, key), p in alike.items() if own == number},
            [one for one in families if any(own == number for own, _ in one.members)],
        )
        if tests or any("tested" not in row for row in result.comparisons)
        else result
        for number, (result, tests) in enumerate(found)
    ]


def _families(found: Sequence[tuple[Result, Tests]], correction: Correction) -> list[_Family]:
    members: dict[tuple[str, bool], list[tuple[int, Test]]] = {}
    pairs = False
    # Of a value without an aspect, taken by itself, the verdict is its own.
    alone = not any(test.headline for _, tests in found for test in tests.values())
    for number, (result, tests) in enumerate(found):
        titles = {group: facet.title for facet in result.facets() for group in facet.names}
        pairs = pairs or (bool(tests) and result.reference == EACH)
        first = next(iter(tests), ("",) * 4)[2]
        for key, test in tests.items():
            verdict = test.headline or (alone and key[2] == first)
            members.setdefault((titles.get(key[0], ""), verdict), []).append((number, key))
    return [_Family(*which, correction, own, pairs) for which, own in members.items()]


def _equivalent(
    found: Sequence[tuple[Result, Tests]], families: Sequence[_Family], correction: Correction
) -> dict[tuple[int, Test], float]:
    """Corrected p-values of the tests of equivalence: a family beside that of the differences."""
    rows = {
        (number, (row["source"], row["reference"], row["value"], "p")): row["equivalence_p"]
        for number, (result, _) in enumerate(found)
        for row in result.comparisons
        if "equivalence_p" in row
    }
    corrected: dict[tuple[int, Test], float] = {}
    for family in families:
        keys = [key for key in family.members if key in rows]
        corrected |= dict(zip(keys, adjusted([rows[key] for key in keys], correction)))
    return corrected


def _filled(
    result: Result,
    outcomes: Mapping[Test, Outcome],
    verdicts: Collection[Test],
    alike: Mapping[Test, float],
    families: Sequence[_Family],
) -> Result:
    rows: list[dict[str, Any]] = []
    for row in result.comparisons:
        filled, key = dict(row), (row["source"], row["reference"], row["value"])
        for field in ("p", "matched_p"):
            if field in row:
                outcome = outcomes.get((*key, field), UNDEFINED)
                before = field.removesuffix("p")
                filled[f"{field}_corrected"] = outcome.p
                filled[f"{before}floor"] = outcome.floor
                filled[f"{before}tested"] = outcome.tested
                verdict = (*key, field) in verdicts
                filled[f"{before}borderline"] = outcome.borderline and verdict
                if outcome.permutations:
                    filled[f"{before}permutations"] = outcome.permutations
                known = outcome.detectable if outcome.tested else math.nan
                filled[f"{before}detectable"] = known
        if "equivalence_p" in row:
            p = alike.get((*key, "p"), math.nan)
            filled["equivalence_p_corrected"] = p
            filled["equivalent"] = p < LEVEL
        rows.append(filled)
    notes = dict.fromkeys((*result.notes, *_untested(rows, families)))
    tables = {**result.tables, FAMILY: [family.row() for family in families]}
    return replace(result, comparisons=rows, tables=tables, notes=tuple(notes))


def _facets(families: Sequence[_Family]) -> list[_Family]:
    """Verdicts and details of a facet as one."""
    whole: dict[str, _Family] = {}
    for family in families:
        before = whole.get(family.facet)
        members = [*(before.members if before else ()), *family.members]
        whole[family.facet] = replace(family, members=members)
    return list(whole.values())


def _untested(rows: Sequence[Row], families: Sequence[_Family]) -> Iterator[str]:
    """What was not tested for want of permutations or of texts, and what would do."""
    for family in _facets(families):
        keys = {key[:3] for _, key in family.members}
        own = [row for row in rows if (row["source"], row["reference"], row["value"]) in keys]
        cells = [
            (_named(row, family), row["value"], row[field])
            for row in own
            for field in ("floor", "matched_floor")
            if not math.isnan(row.get(field, math.nan))
        ]
        # Where labels have too few ways to be exchanged, they have for every value.
        possible = {name for name, _, floor in cells if floor < LEVEL}
        untested = dict.fromkeys(name for name, _, _ in cells if name not in possible)
        tied = dict.fromkeys(v for name, v, f in cells if name in possible and f >= LEVEL)
        reference = "each other" if family.pairs else own[0]["reference"] if own else ""
        if tied:
            more = f" and {len(tied) - _NAMED} more" if len(tied) > _NAMED else ""
            yield (
                f"{UNTESTED} {reference}: {', '.join(list(tied)[:_NAMED])}{more}: too few texts "
                "hold what is counted, so that many exchanges of labels make the same largest "
                "difference and no corrected p can be small"
            )
        if not untested:
            continue
        count = min(row["permutations"] for row in own)
        floor = min(1.0, family.times / (count + 1))
        if floor >= LEVEL:
            what = (
                "tests" if family.correction == "holm" else "pairs" if family.pairs else "sources"
            )
            times = f" and {family.times:,} {what}" if family.times > 1 else ""
            yield (
                f"{UNTESTED} {reference}: with {several(count, 'permutation')}{times} no corrected "
                f"p can be below {LEVEL} (the smallest is {format_number(floor, '.2g')}); "
                f"--permutations {enough(family.times)} would do"
            )
        else:
            yield (
                f"{UNTESTED} {reference}: {', '.join(untested)}: the labels of so few texts can be "
                f"exchanged in so few ways that no corrected p can be below {LEVEL}; more texts "
                "would do"
            )


def _named(row: Row, family: _Family) -> str:
    return f"{row['source']} and {row['reference']}" if family.pairs else row["source"]
