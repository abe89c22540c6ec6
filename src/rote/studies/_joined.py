"""Saved results, from files or just made, put side by side as one table.

Files may hold different measures of the same sources, the same measures of different sources, or
both. What has the same name is the same thing; where two files disagree about it, that is an error.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rote.compare.intervals import quantile
from rote.core.errors import OptionError
from rote.core.facets import JOINT
from rote.core.record import Call
from rote.core.registry import main_values
from rote.core.result import Result
from rote.studies._source_table import Column, SourceTable, TableOptions, chosen

_NO_SETTING = ("texts", "groups", "reference", "items", "rote", "seed", "sample")
"""What a signature says of the data, or of the version."""
_SAME = 1e-9


def table_of(call: Call) -> SourceTable:
    """The values that are asked for side by side, and a remark on what is left out."""
    options: TableOptions = call.options
    whole = joined(call.inputs, matched=options.matched)
    table = chosen(whole, options.values)
    if not options.values and len(table.columns) < len(whole.columns):
        call.reporter.say(
            f"{len(table.columns)} of {len(whole.columns)} values stand for their measures; "
            "--values all takes every one"
        )
    return table.at_level(options.interval)


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


def _equal(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=_SAME, abs_tol=_SAME)
