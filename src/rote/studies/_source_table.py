"""Values of results side by side: one row per source, one column per value of a measure; and
quality columns that the user brings: COMET, human ratings, perplexity, anything in numbers.

Files may hold different measures of the same sources, the same measures of different sources, or
both. What has the same name is the same thing; where two files disagree about it, that is an error.
A table of quality (CSV, TSV or JSONL) has one row per source, or one per text; several rows of a
source are averaged, which is said. A saved result (JSON) of any measure is one, too. From Python,
the rows of one table may be given themselves.
"""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from rote.compare.intervals import change_level, interval_error
from rote.core.errors import InputError, OptionError, UnknownName
from rote.core.facets import JOINT, is_input
from rote.core.json_reader import parse_json, read_json
from rote.core.metric import OptionSet, option, unsigned_option
from rote.core.numbers import format_number, name_some
from rote.core.progress import several
from rote.core.record import Call, Findings
from rote.core.registry import main_values
from rote.core.result import Result, Row, SourceResult
from rote.corpus.memory import to_rows

ALL = "all"
_NOT_REFERENCE = "the reference is not counted as a source: --with-reference counts it"
_NOT_INPUTS = "inputs are not counted as a source: --with-inputs counts them"
_UNEQUAL = 1.5
_BY_SOURCE = ("values", "errors", "intervals", "units")


def sign_if_given(value: Any) -> Any:
    """For `sign`: a signature says it where it was asked for."""
    return value or None


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """One value over all sources, with its standard errors where they are known, and from how many
    independent units these come."""

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
    units: Mapping[str, int] = field(default_factory=dict)

    def take(self, sources: Container[str]) -> SourceColumn:
        by_source: dict[str, Any] = {
            name: {s: v for s, v in getattr(self, name).items() if s in sources}
            for name in _BY_SOURCE
        }
        return replace(self, **by_source)

    def at_level(self, was: float, level: float) -> SourceColumn:
        """With intervals of another level than they have; 0 leaves them out."""
        if was == level:
            return self
        reaches = {}
        for source, interval in self.intervals.items() if level else ():
            value, units = self.values[source], self.units[source]
            reaches[source] = change_level(value, interval, was, level, units, share=self.share)
        return replace(self, intervals=reaches)

    def and_of(self, other: SourceColumn, source: str) -> SourceColumn:
        """With what another column of the same name holds for a source."""
        addition = other.take({source})
        merged: dict[str, Any] = {
            name: {**getattr(self, name), **getattr(addition, name)} for name in _BY_SOURCE
        }
        return replace(self, **merged)


@dataclass(frozen=True, slots=True)
class SourceTable:
    """Columns over sources; `sizes` has for each source its texts and words."""

    by: tuple[str, ...]
    reference: str | None
    level: float
    sizes: Mapping[str, tuple[int, int]]
    columns: tuple[SourceColumn, ...]
    files: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def fields(self, source: str) -> dict[str, str]:
        """What each field of `by` holds for a source."""
        parts = source.split(JOINT)
        if len(parts) != len(self.by):
            raise OptionError(
                f"the source '{source}' does not consist of {', '.join(self.by) or 'fields'}: make "
                "the results with --by, of fields whose values contain no '|'"
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
        content: list[Any] = [list(self.by), self.reference, self.level, dict(self.sizes)]
        content += [
            [c.name, dict(c.values), dict(c.errors), dict(c.intervals)] for c in self.columns
        ]
        return blake2b(json.dumps(content).encode(), digest_size=6).hexdigest()

    def findings(
        self,
        tables: Mapping[str, Sequence[Row]],
        *,
        method: str,
        notes: Iterable[str],
        signed: Mapping[str, Any],
    ) -> Findings:
        """What was found, with the table itself: a result like any other."""
        properties = ("title", "higher", "length_sensitive", "share")
        described = [
            {"value": c.name, **{n: getattr(c, n) for n in properties}} for c in self.columns
        ]
        sources = {}
        for name, size in self.sizes.items():
            values = {c.name: c.values.get(name, math.nan) for c in self.columns}
            reaches = {c.name: c.intervals[name] for c in self.columns if name in c.intervals}
            missing = ", ".join(value for value in values if math.isnan(values[value]))
            remarks = (f"no value of {missing}",) if missing else ()
            sources[name] = SourceResult(*size, values, reaches, remarks)
        names = [column.name for column in self.columns]
        return Findings(
            signed={"values": names, **signed, "results": self.fingerprint},
            sources=sources,
            values=described,
            by=self.by,
            tables=tables,
            method=method,
            level=self.level,
            reference=self.reference,
            notes=tuple(dict.fromkeys((*self.notes, *notes))),
        )


@dataclass(frozen=True, slots=True)
class TableOptions(OptionSet):
    """Which values of which sources: what all commands on saved results have."""

    values: tuple[str, ...] = option(
        (),
        "Values to use: lexical.mtld, the name of a measure or value, or all; default: the one or "
        "two main values of each measure",
    )
    facet: tuple[str, ...] = option(
        (),
        "Fields of the sources to analyse separately by value (default: as the reference of the "
        "results implies)",
        sign=sign_if_given,
    )
    without: tuple[str, ...] = option(
        (), "Sources to leave out, by name or by the value of a field", sign=sign_if_given
    )
    with_reference: bool = option(False, "Also count the reference as a source", sign=sign_if_given)
    with_inputs: bool = option(
        False, "Also count the inputs as a source (input documents)", sign=sign_if_given
    )
    matched: bool = option(
        False, "Use the values at equal size, if a result has them", sign=sign_if_given
    )
    interval: float | None = unsigned_option(
        None,
        "Confidence level of the intervals; 0: no intervals  [default: the level of the results]",
    )
    seed: int = option(0, "Random seed for orders, if the sources are too many for all orders")


def select_columns(table: SourceTable, values: Sequence[str]) -> SourceTable:
    """The columns that `values` names: measure.value, a measure, a value, or `all`.

    Without any, those that stand for their measure. Quality columns always stay.
    """
    measured = [column for column in table.columns if not column.quality]
    if not values:
        wanted = {column.name for column in measured if column.headline}
    else:
        wanted = set()
        for name in values:
            matching = [c.name for c in measured if name == ALL or name in _column_names(c)]
            if not matching:
                known = {known for c in measured for known in _column_names(c)}
                raise UnknownName("value", name, known)
            wanted.update(matching)
    columns = tuple(c for c in table.columns if c.quality or c.name in wanted)
    return replace(table, columns=columns)


def drop_sources(
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
    remarks = [
        f"{why} ({name_some(sources, 6)})" for why, sources in dropped.items() if why and sources
    ]
    return replace(
        table,
        sizes={source: size for source, size in table.sizes.items() if source not in gone},
        columns=tuple(column.take(table.sizes.keys() - gone) for column in table.columns),
        notes=(*table.notes, *remarks),
    )


def note_lengths(
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
        f"sources differ in length, up to {format_number(most, '.1f')} times as many words: what "
        f"depends on the amount of text ({', '.join(moving)}) may show only that. --matched uses "
        "values at equal size, if the results have them"
    ]


def short_name(name: str) -> str:
    """`semantic.semantic` says no more than `semantic`."""
    measure, _, value = name.partition(".")
    return measure if value.replace("_", "-") == measure else name


def _column_names(column: SourceColumn) -> tuple[str, ...]:
    measure, _, value = column.name.partition(".")
    return (column.name, measure, value)


_NO_SETTING = "texts groups reference items rote seed sample correction equivalent".split()
"""What a signature says of the data, or of the version."""
_SAME = 1e-9


def read_source_table(call: Call) -> SourceTable:
    """The values that are asked for side by side, and a remark on what is left out."""
    options: TableOptions = call.options
    full_table = join_results(call.inputs, matched=options.matched)
    table = select_columns(full_table, options.values)
    if not options.values and len(table.columns) < len(full_table.columns):
        call.reporter.say(
            f"{len(table.columns)} of {len(full_table.columns)} values represent their measures; "
            "--values all uses all of them"
        )
    return table.at_level(options.interval)


def join_results(read: Sequence[tuple[str, Result]], *, matched: bool = False) -> SourceTable:
    """Results, each with the name of its file, as one table.

    `matched`: values at equal size where a result has them, which come without intervals.
    """
    by = read[0][1].by
    reference_files = {r.reference: file for file, r in read if r.reference is not None}
    if len(reference_files) > 1:
        references = ", ".join(f"'{name}' in {file}" for name, file in reference_files.items())
        raise OptionError(f"the results have different references: {references}")
    level = next((r.interval.level for _, r in read if r.interval and r.interval.level), 0.95)
    columns: dict[str, SourceColumn] = {}
    sizes: dict[str, tuple[int, int]] = {}
    whence: dict[tuple[str, str], str] = {}
    first_results: dict[str, tuple[str, Result]] = {}
    notes: dict[str, None] = {}
    for file, result in read:
        for column in _result_columns(result, by, level, matched, notes):
            merged = columns.get(column.name, column.take(()))
            for source, value in column.values.items():
                before = merged.values.get(source, math.nan)
                if math.isnan(before):
                    merged = merged.and_of(column, source)
                    whence[column.name, source] = file
                elif not math.isnan(value) and not math.isclose(
                    before, value, rel_tol=_SAME, abs_tol=_SAME
                ):
                    raise OptionError(
                        f"{column.name} of '{source}' is {format_number(before, '.6g')} in "
                        f"{whence[column.name, source]} and {format_number(value, '.6g')} in "
                        f"{file}: leave one of them out"
                    )
            columns[column.name] = merged
            first_file = first_results.setdefault(column.name, (file, result))
            notes.update(_note_settings(column.name, first_file, (file, result)))
        for source, source_result in result.by_source.items():
            name = reorder_source(source, result.by, by)
            size = source_result.texts, source_result.words
            if sizes.setdefault(name, size)[0] != size[0]:
                count = several(sizes[name][0], "text")
                notes[f"'{name}' has {count} in one result and {size[0]:,} in another"] = None
    return SourceTable(
        by=by,
        reference=next(iter(reference_files), None),
        level=level,
        sizes=sizes,
        columns=tuple(columns.values()),
        files=tuple(dict.fromkeys(file for file, _ in read)),
        notes=tuple(notes),
    )


def _result_columns(
    result: Result, by: tuple[str, ...], level: float, matched: bool, notes: dict[str, None]
) -> Iterator[SourceColumn]:
    described = {row["value"]: row for row in result.tables.get("values", ())}
    more = (value for source in result.by_source.values() for value in source.values)
    names = list(dict.fromkeys([*described, *more]))
    own_level = result.interval.level if result.interval else 0.0
    equal = _matched_values(result, notes) if matched else {}
    for value in names:
        row = described.get(value, {})
        values: dict[str, float] = {}
        errors: dict[str, float] = {}
        intervals: dict[str, tuple[float, float]] = {}
        units: dict[str, int] = {}
        for source, source_result in result.by_source.items():
            name = reorder_source(source, result.by, by)
            estimate = source_result.values.get(value, math.nan)
            values[name], errors[name] = equal.get((source, value), estimate), math.nan
            if (source, value) in equal or value not in source_result.intervals or not own_level:
                continue
            intervals[name], units[name] = source_result.intervals[value], source_result.units
            errors[name] = interval_error(estimate, intervals[name], own_level, source_result.units)
        column = SourceColumn(
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


def _matched_values(result: Result, notes: dict[str, None]) -> dict[tuple[str, str], float]:
    rows = result.tables.get("matched", ())
    units = ("words", "sentences", "texts")
    sizes = {next(row[unit] for unit in units if unit in row) for row in rows}
    if len(sizes) > 1:
        notes[
            f"{result.measure}: values at equal size are those of {min(sizes):,} to {max(sizes):,} "
            "units, equal only within each facet of the result"
        ] = None
    return {(row["source"], row["value"]): row["mean"] for row in rows if row["mean"] is not None}


def reorder_source(source: str, fields: tuple[str, ...], by: tuple[str, ...]) -> str:
    """The name of a source of `--by b,a` where others were made with `--by a,b`."""
    parts = source.split(JOINT)
    if fields == by or sorted(fields) != sorted(by) or len(parts) != len(fields):
        return source
    values = dict(zip(fields, parts))
    return JOINT.join(values[name] for name in by)


def _note_settings(
    name: str, first: tuple[str, Result], second: tuple[str, Result]
) -> dict[str, None]:
    """A remark where a column comes from two results that were not made alike."""
    if first[1] is second[1]:
        return {}
    left, right = (dict(result.signature.settings) for _, result in (first, second))
    differ = ", ".join(
        f"{key} {left.get(key, 'none')} / {right.get(key, 'none')}"
        for key in dict.fromkeys((*left, *right))
        if key not in _NO_SETTING and left.get(key) != right.get(key)
    )
    remark = f"{name} was made with different settings in {first[0]} and {second[0]}: {differ}"
    return {remark: None} if differ else {}


SOURCE = "source"
_NO_QUALITY = ("id", "doc_id")
_DELIMITERS = {".csv": ",", ".tsv": "\t"}


def add_quality(table: SourceTable, quality: Any, wanted: Sequence[str] = ()) -> SourceTable:
    """The table with the columns of these files, or of records; `wanted` names columns of any of
    them."""
    missing, quality = set(wanted), to_rows(quality)
    quality = [quality] if isinstance(quality, (Path, Result)) else quality
    if not isinstance(quality, Sequence) or not all(
        isinstance(entry, (Path, Result, Mapping)) for entry in quality
    ):
        kind = type(quality[0] if isinstance(quality, Sequence) else quality).__name__
        raise InputError(
            f"quality cannot be of type {kind}",
            remedy="Give files, results, records with a field 'source', or a frame of them",
        )
    rows = [entry for entry in quality if isinstance(entry, Mapping)]
    tables = [entry for entry in quality if not isinstance(entry, Mapping)]
    tables += [rows] if rows else []
    for quality_table in tables:
        columns, notes = read_quality(quality_table, table, [] if len(tables) > 1 else wanted)
        if wanted:
            columns = [column for column in columns if column.name in wanted]
            missing -= {column.name for column in columns}
        for name in (column.name for column in columns):
            if name in {column.name for column in table.columns}:
                raise InputError(f"'{name}' is there already", file=_table_name(quality_table))
        table = replace(table, columns=(*table.columns, *columns), notes=(*table.notes, *notes))
    if missing:
        known = [column.name for column in table.columns if column.quality]
        raise UnknownName("quality column", sorted(missing)[0], known)
    return table


def read_quality(
    quality_table: Path | Result | Sequence[Mapping[str, Any]],
    table: SourceTable,
    wanted: Sequence[str] = (),
) -> tuple[list[SourceColumn], list[str]]:
    """The numeric columns of a file over the sources of a table, and what should be said of them.

    A row's source is named by the fields that the results were made by, where it has them all,
    or by its field `source`.
    """
    file = _table_name(quality_table)
    keys: tuple[str, ...] = ()
    rows = []
    if isinstance(quality_table, Result):
        quality_table = _result_rows([quality_table])
    for line, row in _read_rows(quality_table):
        keys = keys or _source_keys(row, table.by, file)
        for name in keys:
            if row.get(name) in (None, ""):
                raise InputError("is empty", file=file, line=line, field=name)
        rows.append((line, JOINT.join(str(row[name]) for name in keys), row))
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
    names = _numeric_columns([row for _, _, row in known], keys, wanted, file)
    columns = []
    for name in names:
        by_source: dict[str, list[float]] = {}
        for line, source, row in known:
            number = _parse_number(row.get(name))
            if number is None:
                raise InputError(f"{row[name]!r} is not a number", file=file, line=line, field=name)
            by_source.setdefault(source, []).extend([] if math.isnan(number) else [number])
        values = {s: sum(some) / len(some) if some else math.nan for s, some in by_source.items()}
        columns.append(SourceColumn(name=name, title=name, quality=True, values=values))
    return columns, list(_quality_remarks(file, rows, known, table))


def _quality_remarks(file: str, rows: Any, known: Any, table: SourceTable) -> Iterator[str]:
    counts = Counter(source for _, source, _ in known).values()
    few, many = min(counts), max(counts)
    if many > 1:
        rest = f"{few:,}" if few == many else f"{few:,} to {many:,}"
        yield f"{file}: the mean over the {rest} rows of each source is taken"
    unknown = list(dict.fromkeys(s for _, s, _ in rows if s not in table.sizes))
    if unknown:
        yield f"{file}: not among the results, and left out: {', '.join(unknown)}"


def _table_name(quality_table: Any) -> str:
    return str(quality_table) if isinstance(quality_table, Path) else "quality"


def _read_rows(path: Path | Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if not isinstance(path, Path):
        yield from enumerate(path, 1)
        return
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
                    if not line.strip():
                        continue
                    row = parse_json(line, file, line=number)
                    if not isinstance(row, Mapping):
                        raise InputError("is not an object", file=file, line=number)
                    yield number, row
        elif path.suffix == ".json":
            yield from enumerate(_result_rows(_read_saved(path, file)), 1)
        else:
            raise InputError(
                "is not a readable table", file=file, remedy="Give .csv, .tsv, .jsonl or .json"
            )
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise InputError(f"cannot be read ({why})", file=file) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"cannot be read ({error})", file=file) from None


def _read_saved(path: Path, file: str) -> list[Result]:
    try:
        content = read_json(path, regular=False)
        return list(map(Result.from_dict, content if isinstance(content, list) else [content]))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError("is not a saved result of rote", file=file) from None


def _result_rows(results: Sequence[Result]) -> list[Mapping[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    for result in results:
        for source, source_result in result.by_source.items():
            row = rows.setdefault(source, {SOURCE: source})
            row |= {f"{result.measure}.{n}": value for n, value in source_result.values.items()}
    return list(rows.values())


def _source_keys(row: Mapping[str, Any], by: tuple[str, ...], file: str) -> tuple[str, ...]:
    if by and all(name in row for name in by):
        return by
    if SOURCE in row:
        return (SOURCE,)
    raise InputError(
        f"has no column '{SOURCE}'", file=file, remedy=f"It has: {', '.join(row) or 'none'}"
    )


def _numeric_columns(
    rows: Sequence[Mapping[str, Any]], keys: Sequence[str], wanted: Sequence[str], file: str
) -> list[str]:
    """The columns to take: those asked for, or all that hold nothing but numbers."""
    names = list(dict.fromkeys(name for row in rows for name in row if name not in keys))
    for name in wanted:
        if name not in names:
            raise UnknownName(f"column of {file}:", name, names)
    if wanted:
        return list(wanted)
    numeric = []
    for name in names:
        numbers = [_parse_number(row.get(name)) for row in rows]
        some = any(number is not None and not math.isnan(number) for number in numbers)
        if name not in _NO_QUALITY and None not in numbers and some:
            numeric.append(name)
    if not numeric:
        raise InputError(
            "has no column of numbers", file=file, remedy=f"It has: {', '.join(names) or 'none'}"
        )
    return numeric


def _parse_number(value: Any) -> float | None:
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
