"""The tests of all measures of a panel, corrected together, and what they could have found.

Every facet is a family of its own; here is decided what belongs to it. A test whose smallest
possible corrected p is not below the level is marked as none: it must not be read as "no
difference".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rote.compare.families import Correction, Outcome, adjusted, correct, times
from rote.compare.permutation import LEVEL, PermutedTest
from rote.core.facets import EACH
from rote.core.numbers import format_number
from rote.core.progress import several
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
"""Of each test of a panel, where the user names no number: only as many draws are used as every
test of the family has, and the smallest p of five sources is 0.025 then."""


def enough(others: int) -> int:
    """How many permutations make the smallest corrected p 0.025."""
    return _WIDE * others - 1


def permutations(own: int, correction: Correction, tests: int, sources: int) -> int:
    """As many as a measure takes by itself, or more, so that a difference can be found."""
    wanted = enough(times(correction, tests, sources))
    return max(own, enough(sources), wanted if wanted <= _MOST else 0)


@dataclass(frozen=True, slots=True)
class _Family:
    """The tests of one facet: of which result each is, and which."""

    facet: str
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
            "correction": self.correction,
            "tests": len(self.members),
            "values": values("p"),
            "matched_values": values("matched_p"),
            "pairs" if self.pairs else "sources": self.sources,
        }

    @property
    def times(self) -> int:
        return times(self.correction, len(self.members), self.sources)


def corrected(
    found: Sequence[tuple[Result, Tests]], correction: Correction = "westfall-young"
) -> list[Result]:
    """The results with `p_corrected`, `floor`, `tested` and `detectable` in every row of their
    comparisons; those of results that were read keep their own."""
    families = _families(found, correction)
    outcomes: dict[tuple[int, Test], Outcome] = {}
    for family in families:
        tests = [found[number][1][key] for number, key in family.members]
        outcomes |= dict(zip(family.members, correct(tests, correction)))
    alike = _equivalent(found, families, correction)
    return [
        _filled(
            result,
            {key: out for (own, key), out in outcomes.items() if own == number},
            {key: p for (own, key), p in alike.items() if own == number},
            [one for one in families if any(own == number for own, _ in one.members)],
        )
        if tests or any("tested" not in row for row in result.comparisons)
        else result
        for number, (result, tests) in enumerate(found)
    ]


def _families(found: Sequence[tuple[Result, Tests]], correction: Correction) -> list[_Family]:
    members: dict[str, list[tuple[int, Test]]] = {}
    pairs = False
    for number, (result, tests) in enumerate(found):
        titles = {group: facet.title for facet in result.facets() for group in facet.names}
        pairs = pairs or (bool(tests) and result.reference == EACH)
        for key in tests:
            members.setdefault(titles.get(key[0], ""), []).append((number, key))
    return [_Family(title, correction, own, pairs) for title, own in members.items()]


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
    alike: Mapping[Test, float],
    families: Sequence[_Family],
) -> Result:
    rows: list[dict[str, Any]] = []
    nothing = Outcome(math.nan, math.nan)
    for row in result.comparisons:
        filled, key = dict(row), (row["source"], row["reference"], row["value"])
        for field in ("p", "matched_p"):
            if field in row:
                outcome = outcomes.get((*key, field), nothing)
                before = field.removesuffix("p")
                filled[f"{field}_corrected"] = outcome.p
                filled[f"{before}floor"] = outcome.floor
                filled[f"{before}tested"] = outcome.tested
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


def _untested(rows: Sequence[Row], families: Sequence[_Family]) -> Iterator[str]:
    """What was not tested for want of permutations or of texts, and what would do."""
    for family in families:
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
