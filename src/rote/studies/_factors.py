"""What a factor does, column by column: trends, changes, agreement, and which group is which level
of which source."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rote.compare.correlation import LEAST, agreement, largest_block, pairs, spearman
from rote.compare.exact_tests import sign_test, wilcoxon_exact
from rote.compare.intervals import interval_from_error, joint_units, mean_error
from rote.compare.levels import Levels
from rote.core.errors import OptionError, UnknownName
from rote.core.facets import JOINT
from rote.core.progress import several
from rote.core.table import estimate
from rote.studies._source_table import Column, SourceTable

Scale = Literal["auto", "linear", "log"]
WIDE = 20
_UNKNOWN, _ENDS = (math.nan, math.nan), ("low", "high")
Ends = tuple[float, float]
Known = tuple[float, float, int]
"""A value, its standard error, and from how many independent units that comes."""
_FEW = "an interval over sources needs two of them"


@dataclass(frozen=True, slots=True)
class Part:
    """One facet: source -> level -> the group that holds it; the reference's groups apart."""

    title: str
    groups: Mapping[str, Mapping[str, str]]
    reference: Mapping[str, str]


def factor_parts(
    table: SourceTable,
    kept: SourceTable,
    place: str | None,
    *,
    over: str,
    facet: Sequence[str],
) -> list[Part]:
    """Facets, by the fields named or by those beside the factor and the field of the reference.

    `kept` are the sources that count, `place` is the field that names the reference.
    """
    for name in facet:
        if name not in table.by or name == over:
            raise UnknownName("field of the sources", name, [f for f in table.by if f != over])
    if not facet and place not in (None, over):
        facet = [name for name in table.by if name not in (place, over)]
    own = [name for name in table.by if name != over and name not in facet]
    groups: dict[str, dict[str, dict[str, str]]] = {}
    references: dict[str, dict[str, str]] = {}
    for group in table.sizes:
        held = table.fields(group)
        title = JOINT.join(held[name] for name in facet)
        source = JOINT.join(held[name] for name in own) or "all"
        level = held[over]
        is_reference = place not in (None, over) and held[str(place)] == table.reference
        if is_reference or group == table.reference:
            references.setdefault(title, {})[level] = group
        if group in kept.sizes:
            groups.setdefault(title, {}).setdefault(source, {})[level] = group
    return [Part(title, held, references.get(title, {})) for title, held in groups.items()]


def reference_field(table: SourceTable) -> str | None:
    """The field that names the reference."""
    if table.reference is None or table.reference in table.sizes:
        return None
    for group in table.sizes:
        for name, value in table.fields(group).items():
            if value == table.reference:
                return name
    return None


class Trends:
    """The rows of one factor, column by column."""

    def __init__(self, table: SourceTable, levels: Levels, options: Any) -> None:
        self.table, self.levels, self.options = table, levels, options
        self.scale = _scale(levels, options.scale)
        self.numbers = dict(zip(levels.names, levels.numbers))
        if self.scale == "log":
            self.numbers = {name: math.log2(number) for name, number in self.numbers.items()}

    def cells(self, part: Part, column: Column, whole: Column) -> Iterator[dict[str, Any]]:
        """Every value with its interval; those of the reference too."""
        numbers = dict(zip(self.levels.names, self.levels.numbers))
        kinds = ((part.groups, column, False), ({"": part.reference}, whole, True))
        for groups, held, reference in kinds:
            for source, by_level in groups.items():
                for level, group in by_level.items():
                    value = held.values.get(group, math.nan)
                    if math.isnan(value) or (level not in numbers and not reference):
                        continue
                    yield {
                        "facet": part.title,
                        "source": self.table.reference if reference else source,
                        "level": level,
                        "number": numbers.get(level, math.nan),
                        "column": column.name,
                        **estimate("estimate", value, held.intervals.get(group, _UNKNOWN), _ENDS),
                        "reference": reference,
                    }

    def trends(self, part: Part, column: Column) -> Iterator[dict[str, Any]]:
        """Each source by itself: does the value rise or fall with the factor?"""
        for source in part.groups:
            held = self._held(part, source, column)
            if not held:
                continue
            places = np.array([self.levels.names.index(level) for level in held], float)
            numbers = np.array([self.numbers[level] for level in held])
            values, errors, units = (np.array(list(column_)) for column_ in zip(*held.values()))
            rho, p, reason = math.nan, math.nan, None
            if self.levels.kind == "unordered":
                reason = "the levels have no order: --order gives one"
            elif len(held) < LEAST:
                reason = f"{several(len(held), 'level')}: a trend needs {LEAST}"
            else:
                block = np.stack((places, values), axis=-1)[None]
                pair = pairs(block, level=self.table.level, seed=self.options.seed)[0]
                rho, p = pair.spearman.estimate, pair.spearman.p
                reason = pair.reason if math.isnan(rho) else None
            slope, reaches = _slope(numbers, values, errors, units, self.table.level)
            if self.levels.kind != "numeric":
                slope, reaches = math.nan, _UNKNOWN
            change, *reach = self._change(held)
            yield {
                "facet": part.title,
                "source": source,
                "column": column.name,
                "levels": len(held),
                "spearman": rho,
                "p": p,
                **estimate("slope", slope, reaches),
                "per": "doubling" if self.scale == "log" else "unit",
                "first": self.levels.names[0],
                "last": self.levels.names[-1],
                **estimate("change", change, reach),
                "note": reason,
            }

    def change(self, part: Part, column: Column) -> Iterator[dict[str, Any]]:
        """From the first level to the last, over the sources that have both."""
        if self.levels.kind == "unordered":
            return
        found = [self._change(self._held(part, source, column))[0] for source in part.groups]
        changes = np.array([change for change in found if not math.isnan(change)])
        mean = float(changes.mean()) if len(changes) else math.nan
        yield {
            "facet": part.title,
            "column": column.name,
            "first": self.levels.names[0],
            "last": self.levels.names[-1],
            "sources": len(changes),
            **estimate("mean", mean, _mean_interval(changes, self.table.level), _ENDS),
            "up": int((changes > 0).sum()),
            "down": int((changes < 0).sum()),
            "p_sign": sign_test(changes.tolist()),
            "p_wilcoxon": wilcoxon_exact(changes.tolist()),
            "note": _FEW if self.table.level and len(changes) < 2 else None,
        }

    def agreement(self, part: Part, column: Column) -> Iterator[dict[str, Any]]:
        """Kendall's W: levels judge sources. Over the largest part of the cells without gaps."""
        sources, grid = self._grid(part, column)
        rows, places = largest_block(~np.isnan(grid))
        levels = [self.levels.names[row] for row in rows]
        row: dict[str, Any] = {
            "facet": part.title,
            "column": column.name,
            "sources": [sources[place] for place in places],
            "levels": levels,
        }
        if not rows:
            reason = "no two sources have the same two levels"
            yield {**row, "w": math.nan, "p": math.nan, "exact": True, "note": reason}
            return
        block = grid[np.ix_(rows, places)]
        found = agreement(block, seed=self.options.seed, purpose=column.name)
        yield {**row, "w": found.w, "p": found.p, "exact": found.exact, "note": found.reason}

    def neighbours(self, part: Part, column: Column) -> Iterator[dict[str, Any]]:
        """Spearman between each level and the next, over the sources that have both."""
        if self.levels.kind == "unordered":
            return
        _, grid = self._grid(part, column)
        for place, (level, following) in enumerate(zip(self.levels.names, self.levels.names[1:])):
            both = ~np.isnan(grid[place]) & ~np.isnan(grid[place + 1])
            enough = both.sum() >= LEAST
            rho = spearman(grid[place][both], grid[place + 1][both]) if enough else math.nan
            yield {
                "facet": part.title,
                "column": column.name,
                "level": level,
                "next": following,
                "sources": int(both.sum()),
                "spearman": rho,
                "note": None if enough else f"fewer than {LEAST} sources have both",
            }

    def remarks(self, parts: Sequence[Part], found: Sequence[str]) -> Iterator[str]:
        if self.levels.kind == "unordered":
            yield (
                f"the levels of {self.options.factor} ({', '.join(self.levels.names)}) are neither "
                "numbers nor ordered by --order or --pair: no trends and changes, only the "
                "agreement of the levels"
            )
        unused = [level for level in dict.fromkeys(found) if level not in self.numbers]
        if unused:
            yield f"levels that were not named are left out: {', '.join(unused)}"
        for part in parts:
            where = f"{part.title}: " if part.title else ""
            lacking: dict[str, list[str]] = {}
            for source, by_level in part.groups.items():
                missing = [level for level in self.levels.names if level not in by_level]
                if missing:
                    lacking.setdefault(", ".join(missing), []).append(source)
            for missing_levels, sources in lacking.items():
                yield f"{where}no {self.options.factor} {missing_levels} of {', '.join(sources)}"
            yield from self._gap_remarks(part, where)

    def _gap_remarks(self, part: Part, where: str) -> Iterator[str]:
        """Says what W rests on, where not on every cell."""
        blocks: dict[str, list[str]] = {}
        for column in self.table.columns:
            judged = next(self.agreement(part, column))
            used, sources = judged["levels"], judged["sources"]
            whole = len(used) == len(self.levels.names) and len(sources) == len(part.groups)
            if math.isnan(judged["w"]):
                said = f"is undefined: {judged['note']}"
            elif not whole:
                said = "rests on the cells without gaps: "
                said += f"{self.options.factor} {', '.join(used)} of {', '.join(sources)}"
            else:
                continue
            blocks.setdefault(said, []).append(column.name)
        for said, columns in blocks.items():
            yield f"{where}W of {', '.join(columns)} {said}"

    def _held(self, part: Part, source: str, column: Column) -> dict[str, Known]:
        """The levels that a source has, in order."""
        held = {}
        for level in self.levels.names:
            group = part.groups[source].get(level)
            if group is not None and not math.isnan(column.values.get(group, math.nan)):
                error, units = column.errors.get(group, math.nan), column.units.get(group, 0)
                held[level] = (column.values[group], error, units)
        return held

    def _change(self, held: Mapping[str, Known]) -> tuple[float, float, float]:
        first, last = self.levels.names[0], self.levels.names[-1]
        if self.levels.kind == "unordered" or first not in held or last not in held:
            return math.nan, math.nan, math.nan
        (before, *of_first), (after, *of_last) = held[first], held[last]
        errors, units = zip(of_first, of_last)
        return after - before, *_sum_interval(after - before, errors, units, self.table.level)

    def _grid(self, part: Part, column: Column) -> tuple[list[str], np.ndarray[Any, Any]]:
        """Levels x sources, nan where there is no number."""
        sources = list(part.groups)
        grid = np.full((len(self.levels.names), len(sources)), math.nan)
        for place, source in enumerate(sources):
            for level, (value, _, _) in self._held(part, source, column).items():
                grid[self.levels.names.index(level), place] = value
        return sources, grid


def _scale(levels: Levels, wanted: Scale) -> str:
    positive = levels.kind == "numeric" and levels.numbers[0] > 0
    if wanted == "log" and not positive:
        raise OptionError("--scale log needs a factor of numbers above 0")
    wide = positive and levels.numbers[-1] >= WIDE * levels.numbers[0]
    return "log" if wanted == "log" or (wanted == "auto" and wide) else "linear"


def _slope(x: Any, y: Any, errors: Any, units: Any, level: float) -> tuple[float, Ends]:
    """Least squares, and the interval that the values' own errors give it."""
    centred = x - x.mean()
    size = float((centred**2).sum())
    if size == 0:
        return math.nan, _UNKNOWN
    weights = centred / size
    slope = float(weights @ y)
    return slope, _sum_interval(slope, (weights * errors).tolist(), units.tolist(), level)


def _sum_interval(
    value: float, errors: Sequence[float], units: Sequence[float], level: float
) -> Ends:
    """Of a sum whose parts are independent and have these errors, from so many units each."""
    return interval_from_error(value, math.hypot(*errors), level, joint_units(errors, units))


def _mean_interval(values: Any, level: float) -> Ends:
    """Student's t interval of a mean; nan with fewer than two, or with no level."""
    if len(values) < 2 or not level:
        return math.nan, math.nan
    return interval_from_error(float(values.mean()), mean_error(values), level, len(values))
