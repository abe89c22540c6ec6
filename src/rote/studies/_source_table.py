"""Saved results side by side: one row per source, one column per value of a measure.

Files may hold different measures of the same sources, the same measures of different sources, or
both. What has the same name is the same thing; where two files disagree about it, that is an error.
"""

from __future__ import annotations

import json
import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

from rote.compare.intervals import at_level, quantile
from rote.core.errors import OptionError, UnknownName
from rote.core.facets import JOINT, is_input
from rote.core.record import main_values
from rote.core.result import Interval, Result, Row, SourceResult
from rote.core.signature import Signature

ALL = "all"
_NOT_REFERENCE = "the reference is not counted as a source: --with-reference counts it"
_NOT_INPUTS = "inputs are not counted as a source: --with-inputs counts them"
_UNEQUAL = 1.5
_NO_SETTING = ("texts", "groups", "reference", "items", "rote", "seed", "sample")
"""What a signature says of the data, or of the version."""
_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class Column:
    """One value over all sources, with its standard errors where they are known."""

    name: str
    title: str
    higher: str = "neither"
    length_sensitive: bool = False
    share: bool = False
    quality: bool = False
    headline: bool = True
    values: Mapping[str, float] = field(default_factory=dict)
    errors: Mapping[str, float] = field(default_factory=dict)
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def take(self, sources: Container[str]) -> Column:
        """The column over these sources alone."""
        return replace(
            self,
            values={s: v for s, v in self.values.items() if s in sources},
            errors={s: v for s, v in self.errors.items() if s in sources},
            intervals={s: v for s, v in self.intervals.items() if s in sources},
        )

    def at_level(self, was: float, level: float) -> Column:
        """With intervals of another level than they have; 0 leaves them out."""
        if was == level:
            return self
        ends = {
            source: at_level(self.values[source], own, was, level, share=self.share)
            for source, own in self.intervals.items()
            if level
        }
        return replace(self, intervals=ends)

    def and_of(self, other: Column, source: str) -> Column:
        """With what another column of the same name holds for a source."""
        own = {source}
        found = other.take(own)
        return replace(
            self,
            values={**self.values, **found.values},
            errors={**self.errors, **found.errors},
            intervals={**self.intervals, **found.intervals},
        )


@dataclass(frozen=True, slots=True)
class SourceTable:
    """Columns over sources; `sizes` has for each source its texts and words."""

    by: tuple[str, ...]
    reference: str | None
    level: float
    sizes: Mapping[str, tuple[int, int]]
    columns: tuple[Column, ...]
    files: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def fields(self, source: str) -> dict[str, str]:
        """What each field of `by` holds for a source."""
        parts = source.split(JOINT)
        if len(parts) != len(self.by):
            raise OptionError(
                f"the source '{source}' does not consist of {', '.join(self.by) or 'fields'}: make "
                "the results with --by, of fields whose values hold no '|'"
            )
        return dict(zip(self.by, parts))

    def at_level(self, level: float | None) -> SourceTable:
        """With intervals of this level, 0 for none; None leaves it as the results have it."""
        if level is None:
            return self
        columns = tuple(column.at_level(self.level, level) for column in self.columns)
        return replace(self, level=level, columns=columns)

    @property
    def fingerprint(self) -> str:
        """What went in: the sources, and every number known of them."""
        held: list[Any] = [list(self.by), self.reference, self.level, dict(self.sizes)]
        held += [[c.name, dict(c.values), dict(c.errors), dict(c.intervals)] for c in self.columns]
        return blake2b(json.dumps(held).encode(), digest_size=6).hexdigest()

    def result(
        self,
        measure: str,
        settings: Mapping[str, Any],
        tables: Mapping[str, Sequence[Row]],
        *,
        method: str,
        notes: Iterable[str],
    ) -> Result:
        """What was found, with the table itself: a result like any other."""
        described = [
            {
                "value": column.name,
                "title": column.title,
                "higher": column.higher,
                "length_sensitive": column.length_sensitive,
                "share": column.share,
            }
            for column in self.columns
        ]
        sources = {
            name: SourceResult(
                *size,
                values={c.name: c.values.get(name, math.nan) for c in self.columns},
                intervals={c.name: c.intervals[name] for c in self.columns if name in c.intervals},
                notes=_lacking(self.columns, name),
            )
            for name, size in self.sizes.items()
        }
        return Result(
            measure=measure,
            signature=Signature.of({"measure": measure, **settings, "results": self.fingerprint}),
            by=self.by,
            reference=self.reference,
            interval=Interval(self.level, method) if self.level else None,
            sources=sources,
            tables={"values": described, **tables},
            notes=tuple(dict.fromkeys((*self.notes, *notes))),
        )


def joined(read: Sequence[tuple[str, Result]], *, matched: bool = False) -> SourceTable:
    """Results, each with the name of its file, as one table.

    `matched`: values at equal size where a result has them, which come without intervals.
    """
    by = read[0][1].by
    level = next((r.interval.level for _, r in read if r.interval and r.interval.level), 0.95)
    columns: dict[str, Column] = {}
    sizes: dict[str, tuple[int, int]] = {}
    whence: dict[tuple[str, str], str] = {}
    made: dict[str, tuple[str, Result]] = {}
    notes: dict[str, None] = {}
    for file, result in read:
        for column in _columns(result, by, level, matched, notes):
            whole = columns.get(column.name, column.take(()))
            for source, value in column.values.items():
                before = whole.values.get(source, math.nan)
                if math.isnan(before):
                    whole = whole.and_of(column, source)
                    whence[column.name, source] = file
                elif not math.isnan(value) and not _equal(before, value):
                    raise OptionError(
                        f"{column.name} of '{source}' is {before:.6g} in "
                        f"{whence[column.name, source]} and {value:.6g} in {file}: leave one of "
                        "them out"
                    )
            columns[column.name] = whole
            other = made.setdefault(column.name, (file, result))
            notes.update(_settings_differ(column.name, other, (file, result)))
        for source, found in result.sources.items():
            name, size = _reordered(source, result.by, by), (found.texts, found.words)
            if sizes.setdefault(name, size)[0] != size[0]:
                counts = f"{sizes[name][0]:,} texts in one result and {size[0]:,} in another"
                notes[f"'{name}' has {counts}"] = None
    return SourceTable(
        by=by,
        reference=_reference(read),
        level=level,
        sizes=sizes,
        columns=tuple(columns.values()),
        files=tuple(dict.fromkeys(file for file, _ in read)),
        notes=tuple(notes),
    )


def chosen(table: SourceTable, values: Sequence[str]) -> SourceTable:
    """The columns that `values` names: measure.value, a measure, a value, or `all`.

    Without any, those that stand for their measure. Quality columns always stay.
    """
    own = [column for column in table.columns if not column.quality]
    if not values:
        wanted = {column.name for column in own if column.headline}
    else:
        wanted = set()
        for name in values:
            found = [c.name for c in own if name == ALL or name in _names(c)]
            if not found:
                known = {known for c in own for known in _names(c)}
                raise UnknownName("value", name, known)
            wanted.update(found)
    kept = tuple(c for c in table.columns if c.quality or c.name in wanted)
    return replace(table, columns=kept)


def without(
    table: SourceTable, left_out: Sequence[str], *, reference: bool, inputs: bool
) -> SourceTable:
    """The table without some sources; `reference`, `inputs`: whether these stay."""
    dropped: dict[str, list[str]] = {"": [], _NOT_REFERENCE: [], _NOT_INPUTS: []}
    for source in table.sizes:
        parts = source.split(JOINT)
        if source in left_out or any(part in left_out for part in parts):
            dropped[""].append(source)
        elif not reference and table.reference in (source, *parts):
            dropped[_NOT_REFERENCE].append(source)
        elif not inputs and any(map(is_input, parts)):
            dropped[_NOT_INPUTS].append(source)
    known = {part for source in table.sizes for part in (source, *source.split(JOINT))}
    for name in left_out:
        if name not in known:
            raise UnknownName("source", name, known)
    gone = {source for sources in dropped.values() for source in sources}
    said = [f"{why} ({_listed(sources)})" for why, sources in dropped.items() if why and sources]
    kept = [source for source in table.sizes if source not in gone]
    return only(replace(table, notes=(*table.notes, *said)), kept)


def only(table: SourceTable, sources: Sequence[str]) -> SourceTable:
    """The table of these sources alone; a column that none of them has stays, empty."""
    keep = set(sources)
    return replace(
        table,
        sizes={name: size for name, size in table.sizes.items() if name in keep},
        columns=tuple(column.take(keep) for column in table.columns),
    )


def length_remarks(
    table: SourceTable, together: Iterable[Iterable[str]], *, matched: bool
) -> list[str]:
    """Says which values move with the amount of text, where sources that stand together differ
    in it."""
    moving = [c.name for c in table.columns if c.length_sensitive]
    most = 1.0
    for sources in together:
        words = [table.sizes[source][1] for source in sources if table.sizes[source][1]]
        most = max(most, max(words) / min(words)) if words else most
    if matched or not moving or most < _UNEQUAL:
        return []
    return [
        f"sources differ in length, up to {most:.1f} times as many words: what moves with the "
        f"amount of text ({', '.join(moving)}) may show that alone. --matched takes values at "
        "equal size, where the results have them"
    ]


def chosen_settings(options: Any) -> dict[str, Any]:
    """What a signature says of the options that both commands on saved results have."""
    names = ("facet", "without", "with_reference", "with_inputs", "matched")
    given = {name: getattr(options, name) for name in names if getattr(options, name)}
    return {**given, "seed": options.seed}


def _columns(
    result: Result, by: tuple[str, ...], level: float, matched: bool, notes: dict[str, None]
) -> Iterator[Column]:
    described = {row["value"]: row for row in result.tables.get("values", ())}
    names = list(
        dict.fromkeys([*described, *(v for s in result.sources.values() for v in s.values)])
    )
    own_level = result.interval.level if result.interval else 0.0
    equal = _matched(result, notes) if matched else {}
    for value in names:
        row = described.get(value, {})
        values: dict[str, float] = {}
        errors: dict[str, float] = {}
        intervals: dict[str, tuple[float, float]] = {}
        for source, found in result.sources.items():
            name, estimate = _reordered(source, result.by, by), found.values.get(value, math.nan)
            values[name], errors[name] = equal.get((source, value), estimate), math.nan
            if (source, value) in equal or value not in found.intervals or not own_level:
                continue
            low, high = found.intervals[value]
            # An interval that was cut at 0 or 1 is shorter on that side.
            errors[name] = max(high - estimate, estimate - low) / quantile(own_level)
            intervals[name] = (low, high)
        column = Column(
            name=value if "." in value else f"{result.measure}.{value}",
            title=row.get("title", value),
            higher=row.get("higher", "neither"),
            length_sensitive=bool(row.get("length_sensitive", False)),
            share=bool(row.get("share", False)),
            headline=value in main_values(result.measure, names),
            values=values,
            errors=errors,
            intervals=intervals,
        )
        yield column.at_level(own_level, level)


def _matched(result: Result, notes: dict[str, None]) -> dict[tuple[str, str], float]:
    rows = result.tables.get("matched", ())
    units = ("words", "sentences", "texts")
    sizes = {next(row[unit] for unit in units if unit in row) for row in rows}
    if len(sizes) > 1:
        notes[
            f"{result.measure}: values at equal size are those of {min(sizes):,} to {max(sizes):,} "
            "units, equal only within each facet of the result"
        ] = None
    return {(row["source"], row["value"]): row["mean"] for row in rows if row["mean"] is not None}


def _names(column: Column) -> tuple[str, ...]:
    measure, _, value = column.name.partition(".")
    return (column.name, measure, value)


def _reordered(source: str, own: tuple[str, ...], by: tuple[str, ...]) -> str:
    """The name of a source of `--by b,a` where others were made with `--by a,b`."""
    parts = source.split(JOINT)
    if own == by or sorted(own) != sorted(by) or len(parts) != len(own):
        return source
    held = dict(zip(own, parts))
    return JOINT.join(held[name] for name in by)


def _reference(read: Sequence[tuple[str, Result]]) -> str | None:
    named = {result.reference: file for file, result in read if result.reference is not None}
    if len(named) > 1:
        said = ", ".join(f"'{name}' in {file}" for name, file in named.items())
        raise OptionError(f"the results have different references: {said}")
    return next(iter(named), None)


def _settings_differ(
    name: str, first: tuple[str, Result], second: tuple[str, Result]
) -> dict[str, None]:
    """A remark where a column comes from two results that were not made alike."""
    if first[1] is second[1]:
        return {}
    left, right = (dict(result.signature.settings) for _, result in (first, second))
    differ = [
        f"{key} {left.get(key, 'none')} / {right.get(key, 'none')}"
        for key in dict.fromkeys((*left, *right))
        if key not in _NO_SETTING and left.get(key) != right.get(key)
    ]
    if not differ:
        return {}
    return {
        f"{name} was made with different settings in {first[0]} and {second[0]}: "
        f"{', '.join(differ)}": None
    }


def _lacking(columns: Sequence[Column], source: str) -> tuple[str, ...]:
    missing = [c.name for c in columns if math.isnan(c.values.get(source, math.nan))]
    return (f"no value of {', '.join(missing)}",) if missing else ()


def _listed(names: Sequence[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _equal(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=_SAME, abs_tol=_SAME)
