"""What a factor does, column by column: trends, changes, agreement, and which group is which level
of which source.

From the values of single texts a mixed model, in which what texts share (a prompt, an author, a
source) is a random effect, and sources and levels are crossed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rote.compare.correlation import (
    MIN_SOURCES,
    agreement,
    correlate_columns,
    largest_block,
    spearman,
)
from rote.compare.exact_tests import sign_test, wilcoxon_exact
from rote.compare.intervals import interval_from_error, joint_units, mean_error
from rote.compare.mixed import MixedModel, NoFit
from rote.compare.permutation import holm
from rote.core.arrays import Floats
from rote.core.errors import OptionError, UnknownName
from rote.core.facets import JOINT
from rote.core.progress import several
from rote.core.result import Result
from rote.core.table import FullTable, Row, Rows, estimate, make_columns
from rote.studies._source_table import SourceColumn, SourceTable, reorder_source, short_name

Scale = Literal["auto", "linear", "log"]
WIDE = 20
_UNKNOWN, _ENDS = (math.nan, math.nan), ("low", "high")
Ends = tuple[float, float]
KnownValue = tuple[float, float, int]
"""A value, its standard error, and from how many independent units that comes."""
_FEW = "an interval over sources needs two of them"


@dataclass(frozen=True, slots=True)
class FactorFacet:
    """One facet: source -> level -> the group that holds it; the reference's groups apart."""

    title: str
    groups: Mapping[str, Mapping[str, str]]
    reference: Mapping[str, str]


def split_by_facet(
    table: SourceTable, chosen: SourceTable, place: str | None, *, over: str, facet: Sequence[str]
) -> list[FactorFacet]:
    """Facets, by the fields named or by those beside the factor and the field of the reference.

    `chosen` are the sources that count, `place` is the field that names the reference.
    """
    for name in facet:
        if name not in table.by or name == over:
            raise UnknownName("field of the sources", name, [f for f in table.by if f != over])
    if not facet and place not in (None, over):
        facet = [name for name in table.by if name not in (place, over)]
    source_fields = [name for name in table.by if name != over and name not in facet]
    groups: dict[str, dict[str, dict[str, str]]] = {}
    references: dict[str, dict[str, str]] = {}
    for group in table.sizes:
        fields = table.fields(group)
        title = JOINT.join(fields[name] for name in facet)
        source = JOINT.join(fields[name] for name in source_fields) or "all"
        level = fields[over]
        is_reference = place not in (None, over) and fields[str(place)] == table.reference
        if is_reference or group == table.reference:
            references.setdefault(title, {})[level] = group
        if group in chosen.sizes:
            groups.setdefault(title, {}).setdefault(source, {})[level] = group
    return [
        FactorFacet(title, by_source, references.get(title, {}))
        for title, by_source in groups.items()
    ]


def reference_field(table: SourceTable) -> str | None:
    if table.reference is None or table.reference in table.sizes:
        return None
    fields = (field for group in table.sizes for field in table.fields(group).items())
    return next((name for name, value in fields if value == table.reference), None)


class FactorTrends:
    """The rows of one factor, column by column."""

    def __init__(self, table: SourceTable, levels: Levels, options: Any) -> None:
        self.table, self.levels, self.options = table, levels, options
        positive = levels.kind == "numeric" and levels.numbers[0] > 0
        if options.scale == "log" and not positive:
            raise OptionError("--scale log needs a factor of numbers above 0")
        wide = positive and levels.numbers[-1] >= WIDE * levels.numbers[0]
        self.scale = (
            "log" if options.scale == "log" or (options.scale == "auto" and wide) else "linear"
        )
        self.numbers = dict(zip(levels.names, levels.numbers))
        if self.scale == "log":
            self.numbers = {name: math.log2(number) for name, number in self.numbers.items()}

    def cells(
        self, part: FactorFacet, column: SourceColumn, full_column: SourceColumn
    ) -> Iterator[dict[str, Any]]:
        """Every value with its interval; those of the reference too."""
        numbers = dict(zip(self.levels.names, self.levels.numbers))
        kinds = ((part.groups, column, False), ({"": part.reference}, full_column, True))
        for groups, source_column, reference in kinds:
            for source, by_level in groups.items():
                for level, group in by_level.items():
                    value = source_column.values.get(group, math.nan)
                    if math.isnan(value) or (level not in numbers and not reference):
                        continue
                    reach = source_column.intervals.get(group, _UNKNOWN)
                    yield {
                        "facet": part.title,
                        "source": self.table.reference if reference else source,
                        "level": level,
                        "number": numbers.get(level, math.nan),
                        "column": column.name,
                        **estimate("estimate", value, reach, _ENDS),
                        "reference": reference,
                    }

    def trends(self, part: FactorFacet, column: SourceColumn) -> Iterator[dict[str, Any]]:
        """Each source by itself: does the value rise or fall with the factor?"""
        for source in part.groups:
            known = self._known_levels(part, source, column)
            if not known:
                continue
            places = np.array([self.levels.names.index(level) for level in known], float)
            numbers = np.array([self.numbers[level] for level in known])
            values, errors, units = (np.array(list(column_)) for column_ in zip(*known.values()))
            rho, p, reason = math.nan, math.nan, None
            if self.levels.kind == "unordered":
                reason = "the levels have no order: --order gives one"
            elif len(known) < MIN_SOURCES:
                reason = f"{several(len(known), 'level')}: a trend needs {MIN_SOURCES}"
            else:
                block = np.stack((places, values), axis=-1)[None]
                pair = correlate_columns(block, level=self.table.level, seed=self.options.seed)[0]
                rho, p = pair.spearman.estimate, pair.spearman.p
                reason = pair.reason if math.isnan(rho) else None
            slope, reaches = _fit_slope(numbers, values, errors, units, self.table.level)
            if self.levels.kind != "numeric":
                slope, reaches = math.nan, _UNKNOWN
            change, *reach = self._change(known)
            yield {
                "facet": part.title,
                "source": source,
                "column": column.name,
                "levels": len(known),
                "spearman": rho,
                "p": p,
                **estimate("slope", slope, reaches),
                "per": "doubling" if self.scale == "log" else "unit",
                "first": self.levels.names[0],
                "last": self.levels.names[-1],
                **estimate("change", change, reach),
                "note": reason,
            }

    def change(self, part: FactorFacet, column: SourceColumn) -> Iterator[dict[str, Any]]:
        """From the first level to the last, over the sources that have both."""
        if self.levels.kind == "unordered":
            return
        all_changes = [
            self._change(self._known_levels(part, source, column))[0] for source in part.groups
        ]
        changes = np.array([change for change in all_changes if not math.isnan(change)])
        mean, reach = float(changes.mean()) if len(changes) else math.nan, _UNKNOWN
        if len(changes) > 1 and self.table.level:
            error = mean_error(changes)
            reach = interval_from_error(mean, error, self.table.level, len(changes))
        yield {
            "facet": part.title,
            "column": column.name,
            "first": self.levels.names[0],
            "last": self.levels.names[-1],
            "sources": len(changes),
            **estimate("mean", mean, reach, _ENDS),
            "up": int((changes > 0).sum()),
            "down": int((changes < 0).sum()),
            "p_sign": sign_test(changes.tolist()),
            "p_wilcoxon": wilcoxon_exact(changes.tolist()),
            "note": _FEW if self.table.level and len(changes) < 2 else None,
        }

    def agreement(self, part: FactorFacet, column: SourceColumn) -> Iterator[dict[str, Any]]:
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
        w, p, exact = math.nan, math.nan, True
        reason: str | None = "no two sources have the same two levels"
        if rows:
            block = grid[np.ix_(rows, places)]
            judged = agreement(block, seed=self.options.seed, purpose=column.name)
            w, p, exact, reason = judged.w, judged.p, judged.exact, judged.reason
        yield {**row, "w": w, "p": p, "exact": exact, "note": reason}

    def neighbours(self, part: FactorFacet, column: SourceColumn) -> Iterator[dict[str, Any]]:
        """Spearman between each level and the next, over the sources that have both."""
        if self.levels.kind == "unordered":
            return
        _, grid = self._grid(part, column)
        for place, (level, following) in enumerate(zip(self.levels.names, self.levels.names[1:])):
            both = ~np.isnan(grid[place]) & ~np.isnan(grid[place + 1])
            enough = both.sum() >= MIN_SOURCES
            rho = spearman(grid[place][both], grid[place + 1][both]) if enough else math.nan
            yield {
                "facet": part.title,
                "column": column.name,
                "level": level,
                "next": following,
                "sources": int(both.sum()),
                "spearman": rho,
                "note": None if enough else f"fewer than {MIN_SOURCES} sources have both",
            }

    def remarks(self, parts: Sequence[FactorFacet], seen_levels: Sequence[str]) -> Iterator[str]:
        if self.levels.kind == "unordered":
            yield (
                f"the levels of {self.options.factor} ({', '.join(self.levels.names)}) are neither "
                "numbers nor ordered by --order or --pair: no trends and changes, only the "
                "agreement of the levels"
            )
        unused = [level for level in dict.fromkeys(seen_levels) if level not in self.numbers]
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

    def _gap_remarks(self, part: FactorFacet, where: str) -> Iterator[str]:
        """Says what W rests on, where not on every cell."""
        blocks: dict[str, list[str]] = {}
        for column in self.table.columns:
            judged = next(self.agreement(part, column))
            used, sources = judged["levels"], judged["sources"]
            complete = len(used) == len(self.levels.names) and len(sources) == len(part.groups)
            if math.isnan(judged["w"]):
                remark = f"is undefined: {judged['note']}"
            elif not complete:
                remark = "rests on the cells without gaps: "
                remark += f"{self.options.factor} {', '.join(used)} of {', '.join(sources)}"
            else:
                continue
            blocks.setdefault(remark, []).append(column.name)
        for remark, columns in blocks.items():
            yield f"{where}W of {', '.join(columns)} {remark}"

    def _known_levels(
        self, part: FactorFacet, source: str, column: SourceColumn
    ) -> dict[str, KnownValue]:
        """The levels that a source has, in order."""
        known = {}
        for level in self.levels.names:
            group = part.groups[source].get(level)
            if group is not None and not math.isnan(column.values.get(group, math.nan)):
                error, units = column.errors.get(group, math.nan), column.units.get(group, 0)
                known[level] = (column.values[group], error, units)
        return known

    def _change(self, known: Mapping[str, KnownValue]) -> tuple[float, float, float]:
        first, last = self.levels.names[0], self.levels.names[-1]
        if self.levels.kind == "unordered" or first not in known or last not in known:
            return math.nan, math.nan, math.nan
        (before, *of_first), (after, *of_last) = known[first], known[last]
        errors, units = zip(of_first, of_last)
        return after - before, *_sum_interval(after - before, errors, units, self.table.level)

    def _grid(
        self, part: FactorFacet, column: SourceColumn
    ) -> tuple[list[str], np.ndarray[Any, Any]]:
        """Levels x sources, nan where there is no number."""
        sources = list(part.groups)
        grid = np.full((len(self.levels.names), len(sources)), math.nan)
        for place, source in enumerate(sources):
            for level, (value, _, _) in self._known_levels(part, source, column).items():
                grid[self.levels.names.index(level), place] = value
        return sources, grid


def _fit_slope(x: Any, y: Any, errors: Any, units: Any, level: float) -> tuple[float, Ends]:
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


EVERY_SOURCE = "every source"
_TEXT_FIELDS = ("doc_id", "id")


@dataclass(frozen=True, slots=True)
class FacetTexts:
    """The texts of a facet that have a value: whose, at which level, and what they share."""

    values: Floats
    sources: list[str]
    levels: list[str]
    shared: Mapping[str, list[tuple[str, ...]]]


class MixedEffects:
    """The rows of the mixed models of one factor."""

    def __init__(self, read: Sequence[tuple[str, Result]], trends: FactorTrends, over: str) -> None:
        self.trends, self.table, self.over = trends, trends.table, over
        self.random = {name: tuple(name.split(":")) for name in trends.options.random}
        known = (*_TEXT_FIELDS, *self.table.by)
        for name in (field for fields in self.random.values() for field in fields):
            if name not in known:
                raise UnknownName("random effect", name, known)
        if (over,) in self.random.values():
            raise OptionError(f"{over} is the factor, so its own effect cannot be random")
        self.texts = {
            column.name: _read_text_values(read, column.name, self.table.by)
            for column in self.table.columns
        }
        if not any(self.texts.values()):
            raise OptionError(
                "--random needs per-text values, and the results have none: measure with "
                "--per-text, and choose values that a single text has (MTLD, not Unique-n)"
            )

    def tables(self, parts: Sequence[FactorFacet]) -> dict[str, list[dict[str, Any]]]:
        tables: dict[str, list[dict[str, Any]]] = {"mixed": [], "alike": [], "random": []}
        for part in parts:
            for column, texts in self.texts.items():
                if not texts:
                    continue
                labels = {"facet": part.title, "column": column}
                try:
                    rows = self._rows(self._select_texts(part, texts))
                except NoFit as why:
                    where = " of ".join(filter(None, (column, part.title)))
                    raise OptionError(f"{where}: {why}") from None
                for table, table_rows in rows.items():
                    tables[table] += [{**labels, **row} for row in table_rows]
            means = [r for r in tables["mixed"] if (r["facet"], r["all"]) == (part.title, True)]
            for row, p in zip(means, holm([row["p"] for row in means])):
                row["p_corrected"] = p
        return tables

    def notes(self) -> list[str]:
        """Which values no single text has."""
        lacking = [name for name, texts in self.texts.items() if not texts]
        return [f"no mixed model of what no single text has: {', '.join(lacking)}"] * bool(lacking)

    def _select_texts(
        self, part: FactorFacet, texts: Sequence[tuple[str, Row, float]]
    ) -> FacetTexts:
        """Those of the facet's sources that have every level; a number's trend needs two."""
        numeric = self.trends.levels.kind == "numeric"
        groups = {group for by_level in part.groups.values() for group in by_level.values()}
        single = {fields[0] for fields in self.random.values() if len(fields) == 1}
        source_fields = [
            n for n in self.table.by if n not in (self.over, *self.trends.options.facet, *single)
        ]
        entries = []
        for group, row, value in texts:
            group_fields = self.table.fields(group) if group in groups else {}
            if group_fields.get(self.over) in self.trends.numbers:
                source = JOINT.join(group_fields[name] for name in source_fields) or EVERY_SOURCE
                entries.append((source, group_fields, row, value))
        have: dict[str, set[str]] = {}
        for source, group_fields, _, _ in entries:
            have.setdefault(source, set()).add(group_fields[self.over])
        least = 2 if numeric else len(self.trends.numbers)
        entries = [entry for entry in entries if len(have[entry[0]]) >= least]
        if not entries:
            raise NoFit(f"no source has {'two' if numeric else 'all'} levels of {self.over}")
        return FacetTexts(
            np.array([value for *_, value in entries], np.float64),
            [source for source, *_ in entries],
            [group_fields[self.over] for _, group_fields, _, _ in entries],
            {
                name: [
                    tuple(_shared_value({**row, **group_fields}, f) for f in fields)
                    for _, group_fields, row, _ in entries
                ]
                for name, fields in self.random.items()
            },
        )

    def _rows(self, texts: FacetTexts) -> dict[str, list[dict[str, Any]]]:
        """Each source by itself, their mean, whether they change alike; the random effects."""
        sources = list(dict.fromkeys(texts.sources))
        which = np.eye(len(sources))[[sources.index(source) for source in texts.sources]]
        names, numbers = self.trends.levels.names, self.trends.numbers
        if self.trends.levels.kind == "numeric":
            steps, across = [""], np.array([[numbers[level]] for level in texts.levels])
        else:
            steps = list(names[1:])
            across = np.eye(len(names))[[names.index(level) for level in texts.levels]][:, 1:]
        design = np.column_stack([which, *(which * column[:, None] for column in across.T)])
        model = MixedModel(texts.values, design, texts.shared)
        count, level = len(sources), self.table.level
        mixed, unlike = [], []
        for step, name in enumerate(steps, 1):
            of_step = np.eye(design.shape[1])[step * count : (step + 1) * count]
            every = [(EVERY_SOURCE, of_step.mean(axis=0), True)] if count > 1 else []
            single = ((source, row, count == 1) for source, row in zip(sources, of_step))
            for source, weights, is_mean in (*every, *single):
                effect = model.contrast(weights)
                row: dict[str, Any] = {"source": source, "level": name}
                row |= estimate("estimate", effect.estimate, effect.interval(level), _ENDS)
                row |= {"error": effect.error, "freedom": effect.freedom, "p": effect.p}
                mixed.append(row | {"texts": len(texts.values), "all": is_mean})
            unlike += [step_weights - of_step[0] for step_weights in of_step[1:]]
        alike: list[dict[str, Any]] = []
        if unlike:
            test = model.joint(np.array(unlike))
            alike = [{"f": test.f, **dict(zip(("freedom", "of"), test.freedom)), "p": test.p}]
        random: list[dict[str, Any]] = [
            {"effect": name, "sd": sd, "levels": count}
            for (name, sd), count in zip(model.deviations.items(), model.counts)
        ]
        random.append({"effect": "residual", "sd": model.residual, "levels": len(texts.values)})
        return {"mixed": mixed, "alike": alike, "random": random}


def _read_text_values(
    read: Sequence[tuple[str, Result]], column: str, by: tuple[str, ...]
) -> list[tuple[str, Row, float]]:
    """The group, the row and the number of every text that has this value."""
    entries = []
    for _, result in read:
        measure, _, value = column.partition(".")
        name = value if measure == result.measure else column
        for row in result.tables.get("texts", ()):
            number = row.get(name)
            if number is not None and np.isfinite(number):
                entries.append((reorder_source(row["source"], result.by, by), row, float(number)))
    return entries


def _shared_value(row: Row, field: str) -> str:
    if row.get(field) is None:
        raise NoFit(f"the text {row.get('id')} has no {field}")
    return str(row[field])


def shorten_columns(rows: Rows, result: Result) -> list[Row]:
    return [
        {**row, "facet": row["facet"] or None, "column": short_name(row["column"])} for row in rows
    ]


MIXED_TABLES = (
    FullTable(
        "mixed",
        "Mixed model of the texts",
        make_columns(
            "facet? column=value source level? estimate=effect:number~low freedom=df:number.1 p:p "
            "p_corrected?=corrected:p"
        ),
        note="effect: per unit (doubling) of the factor, or from the first level to this one; "
        "corrected: by Holm over the values",
        rows=shorten_columns,
    ),
    FullTable(
        "alike",
        "Do all sources change alike?",
        make_columns("facet? column=value f=F:number.2 freedom=df:count of:number.1 p:p"),
        rows=shorten_columns,
    ),
    FullTable(
        "random",
        "Random effects",
        make_columns("facet? column=value effect sd:number levels:count"),
        note="sd: how far texts of one level are from those of another, all else equal",
        rows=shorten_columns,
    ),
)


# The levels of a factor and their order: 0.7 and 1.0, 7B and 1.5T, base and instruct.

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
    available: Sequence[str], field: str, *, order: Sequence[str] = (), pair: Sequence[str] = ()
) -> Levels:
    """The levels to use of those that were found: all, or the ones that `order` or `pair` name."""
    if order and pair:
        raise OptionError("choose one of --order and --pair")
    if pair and len(pair) != 2:
        raise OptionError(f"--pair names two levels of '{field}', not {len(pair)}")
    chosen = tuple(order or pair)
    if chosen:
        if len(set(chosen)) < len(chosen) or len(chosen) < 2:
            raise OptionError(f"--order names at least two levels of '{field}', each once")
        for name in chosen:
            if name not in available:
                raise UnknownName(f"level of '{field}':", name, available)
        places = tuple(float(place) for place in range(len(chosen)))
        return Levels("paired" if pair else "ordered", chosen, places)
    names = tuple(dict.fromkeys(available))
    numbers, unit = _numbers(names)
    if numbers:
        ordered, level_names = zip(*sorted(zip(numbers, names)))
        return Levels("numeric", level_names, ordered, unit)
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
