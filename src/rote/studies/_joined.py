"""Saved results, from files or just made, put side by side as one table; and quality columns that
the user brings: COMET, human ratings, perplexity, anything in numbers.

Files may hold different measures of the same sources, the same measures of different sources, or
both. What has the same name is the same thing; where two files disagree about it, that is an error.
A table of quality (CSV, TSV or JSONL) has one row per source, or one per text; several rows of a
source are averaged, which is said. A saved result (JSON) of any measure is one, too. From Python,
the rows of one table may be given themselves.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rote.compare.intervals import interval_error
from rote.core.errors import InputError, OptionError, UnknownName
from rote.core.facets import JOINT
from rote.core.json_reader import parse_json, read_json
from rote.core.numbers import format_number
from rote.core.progress import several
from rote.core.record import Call
from rote.core.registry import main_values
from rote.core.result import Result
from rote.corpus.memory import to_rows
from rote.studies._source_table import Column, SourceTable, TableOptions, chosen

_NO_SETTING = (
    "texts",
    "groups",
    "reference",
    "items",
    "rote",
    "seed",
    "sample",
    "correction",
    "equivalent",
)
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
                elif not math.isnan(value) and not math.isclose(
                    before, value, rel_tol=_SAME, abs_tol=_SAME
                ):
                    raise OptionError(
                        f"{column.name} of '{source}' is {format_number(before, '.6g')} in "
                        f"{whence[column.name, source]} and {format_number(value, '.6g')} in "
                        f"{file}: leave one of them out"
                    )
            columns[column.name] = whole
            other = made.setdefault(column.name, (file, result))
            notes.update(_settings_differ(column.name, other, (file, result)))
        for source, found in result.by_source.items():
            name, size = reordered(source, result.by, by), (found.texts, found.words)
            if sizes.setdefault(name, size)[0] != size[0]:
                counts = (
                    f"{several(sizes[name][0], 'text')} in one result and {size[0]:,} in another"
                )
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
        dict.fromkeys([*described, *(v for s in result.by_source.values() for v in s.values)])
    )
    own_level = result.interval.level if result.interval else 0.0
    equal = _matched(result, notes) if matched else {}
    for value in names:
        row = described.get(value, {})
        values: dict[str, float] = {}
        errors: dict[str, float] = {}
        intervals: dict[str, tuple[float, float]] = {}
        units: dict[str, int] = {}
        for source, found in result.by_source.items():
            name, estimate = reordered(source, result.by, by), found.values.get(value, math.nan)
            values[name], errors[name] = equal.get((source, value), estimate), math.nan
            if (source, value) in equal or value not in found.intervals or not own_level:
                continue
            intervals[name], units[name] = found.intervals[value], found.units
            errors[name] = interval_error(estimate, intervals[name], own_level, found.units)
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
            units=units,
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


def reordered(source: str, own: tuple[str, ...], by: tuple[str, ...]) -> str:
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


SOURCE = "source"
_NO_QUALITY = ("id", "doc_id")
_DELIMITERS = {".csv": ",", ".tsv": "\t"}


def with_quality(table: SourceTable, given: Any, wanted: Sequence[str] = ()) -> SourceTable:
    """The table with the columns of these files, or of records; `wanted` names columns of any of
    them."""
    left, given = set(wanted), to_rows(given)
    given = [given] if isinstance(given, (Path, Result)) else given
    if not isinstance(given, Sequence) or not all(
        isinstance(one, (Path, Result, Mapping)) for one in given
    ):
        kind = type(given[0] if isinstance(given, Sequence) else given).__name__
        raise InputError(
            f"quality cannot be of type {kind}",
            remedy="Give files, results, records with a field 'source', or a frame of them",
        )
    rows = [one for one in given if isinstance(one, Mapping)]
    tables = [*(one for one in given if not isinstance(one, Mapping)), *([rows] if rows else [])]
    for own in tables:
        columns, notes = quality_columns(own, table, [] if len(tables) > 1 else wanted)
        if wanted:
            columns = [column for column in columns if column.name in wanted]
            left -= {column.name for column in columns}
        taken = {column.name for column in table.columns}
        for column in columns:
            if column.name in taken:
                raise InputError(f"'{column.name}' is there already", file=_name(own))
        table = replace(table, columns=(*table.columns, *columns), notes=(*table.notes, *notes))
    if left:
        known = [column.name for column in table.columns if column.quality]
        raise UnknownName("quality column", sorted(left)[0], known)
    return table


def quality_columns(
    given: Path | Result | Sequence[Mapping[str, Any]],
    table: SourceTable,
    wanted: Sequence[str] = (),
) -> tuple[list[Column], list[str]]:
    """The numeric columns of a file over the sources of a table, and what should be said of them.

    A row's source is named by the fields that the results were made by, where it has them all,
    or by its field `source`.
    """
    file = _name(given)
    keys: tuple[str, ...] = ()
    rows = []
    if isinstance(given, Result):
        given = _of_results([given])
    for line, row in _rows(given) if isinstance(given, Path) else enumerate(given, 1):
        keys = keys or _keys(row, table.by, file)
        rows.append((line, _source(row, keys, file, line), row))
    if not rows:
        raise InputError("holds no rows", file=file)
    known = [(line, source, row) for line, source, row in rows if source in table.sizes]
    if not known:
        theirs = ", ".join(list(dict.fromkeys(source for _, source, _ in rows))[:4])
        raise InputError(
            f"names none of the sources of the results: it has {theirs}, they have "
            f"{', '.join(list(table.sizes)[:4])}",
            file=file,
            remedy=f"Give the columns {', '.join(table.by)}" if len(table.by) > 1 else None,
        )
    names = _numeric([row for _, _, row in known], keys, wanted, file)
    columns = []
    for name in names:
        held: dict[str, list[float]] = {}
        for line, source, row in known:
            number = _number(row.get(name))
            if number is None:
                raise InputError(f"{row[name]!r} is not a number", file=file, line=line, field=name)
            held.setdefault(source, []).extend([] if math.isnan(number) else [number])
        values = {s: sum(found) / len(found) if found else math.nan for s, found in held.items()}
        columns.append(Column(name=name, title=name, quality=True, values=values))
    return columns, list(_remarks(file, rows, known, table))


def _remarks(file: str, rows: Any, known: Any, table: SourceTable) -> Iterator[str]:
    counts: dict[str, int] = {}
    for _, source, _ in known:
        counts[source] = counts.get(source, 0) + 1
    if max(counts.values()) > 1:
        few, many = min(counts.values()), max(counts.values())
        rest = f"{few:,}" if few == many else f"{few:,} to {many:,}"
        yield f"{file}: the mean over the {rest} rows of each source is taken"
    unknown = list(dict.fromkeys(s for _, s, _ in rows if s not in table.sizes))
    if unknown:
        yield f"{file}: not among the results, and left out: {', '.join(unknown)}"


def _name(given: Any) -> str:
    return str(given) if isinstance(given, Path) else "quality"


def _rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    file = str(path)
    try:
        if path.suffix in _DELIMITERS:
            with open(path, encoding="utf-8-sig", newline="") as lines:
                reader = csv.DictReader(lines, delimiter=_DELIMITERS[path.suffix])
                for row in reader:
                    yield reader.line_num, {k: v for k, v in row.items() if k is not None}
        elif path.suffix in (".jsonl", ".ndjson"):
            with open(path, encoding="utf-8-sig") as lines:
                for number, line in enumerate(lines, 1):
                    if line.strip():
                        yield number, _parsed(line, file, number)
        elif path.suffix == ".json":
            yield from enumerate(_of_results(_saved(path, file)), 1)
        else:
            raise InputError(
                "is no table that can be read", file=file, remedy="Give .csv, .tsv, .jsonl or .json"
            )
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise InputError(f"cannot be read ({why})", file=file) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"cannot be read ({error})", file=file) from None


def _saved(path: Path, file: str) -> list[Result]:
    """A saved result, or a panel."""
    try:
        held = read_json(path, regular=False)
        return [Result.from_dict(one) for one in (held if isinstance(held, list) else [held])]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError("is no saved result of rote", file=file) from None


def _of_results(results: Sequence[Result]) -> list[Mapping[str, Any]]:
    """The values of results by source."""
    rows: dict[str, dict[str, Any]] = {}
    for result in results:
        for source, found in result.by_source.items():
            own = {f"{result.measure}.{name}": value for name, value in found.values.items()}
            rows.setdefault(source, {SOURCE: source}).update(own)
    return list(rows.values())


def _parsed(line: str, file: str, number: int) -> Mapping[str, Any]:
    row = parse_json(line, file, line=number)
    if not isinstance(row, Mapping):
        raise InputError("is not an object", file=file, line=number)
    return row


def _keys(row: Mapping[str, Any], by: tuple[str, ...], file: str) -> tuple[str, ...]:
    """The columns that name a source."""
    if by and all(name in row for name in by):
        return by
    if SOURCE in row:
        return (SOURCE,)
    raise InputError(
        f"has no column '{SOURCE}'", file=file, remedy=f"It has: {', '.join(row) or 'none'}"
    )


def _source(row: Mapping[str, Any], keys: Sequence[str], file: str, line: int) -> str:
    for name in keys:
        if row.get(name) in (None, ""):
            raise InputError("is empty", file=file, line=line, field=name)
    return JOINT.join(str(row[name]) for name in keys)


def _numeric(
    rows: Sequence[Mapping[str, Any]], keys: Sequence[str], wanted: Sequence[str], file: str
) -> list[str]:
    """The columns to take: those asked for, or all that hold nothing but numbers."""
    names = list(dict.fromkeys(name for row in rows for name in row if name not in keys))
    for name in wanted:
        if name not in names:
            raise UnknownName(f"column of {file}:", name, names)
    if wanted:
        return list(wanted)
    found = []
    for name in names:
        numbers = [_number(row.get(name)) for row in rows]
        some = any(number is not None and not math.isnan(number) for number in numbers)
        if name not in _NO_QUALITY and None not in numbers and some:
            found.append(name)
    if not found:
        raise InputError(
            "has no column of numbers", file=file, remedy=f"It has: {', '.join(names) or 'none'}"
        )
    return found


def _number(value: Any) -> float | None:
    """nan for nothing, None for what is no number."""
    if value is None or value == "":
        return math.nan
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else math.nan
