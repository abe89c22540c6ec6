"""Quality columns that the user brings: COMET, human ratings, perplexity, anything in numbers.

A table (CSV, TSV or JSONL) with one row per source, or one per text; several rows of a source
are averaged, which is said. From Python, the rows of one table may be given themselves.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rote.core.errors import InputError, UnknownName
from rote.core.facets import JOINT
from rote.corpus.memory import rows_of
from rote.studies._source_table import Column, SourceTable

SOURCE = "source"
_NO_QUALITY = ("id", "doc_id")
_DELIMITERS = {".csv": ",", ".tsv": "\t"}


def with_quality(table: SourceTable, given: Any, wanted: Sequence[str] = ()) -> SourceTable:
    """The table with the columns of these files, or of records; `wanted` names columns of any of
    them."""
    left, given = set(wanted), rows_of(given)
    tables = given if all(isinstance(one, Path) for one in given) else [given]
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
    given: Path | Sequence[Mapping[str, Any]], table: SourceTable, wanted: Sequence[str] = ()
) -> tuple[list[Column], list[str]]:
    """The numeric columns of a file over the sources of a table, and what should be said of them.

    A row's source is named by the fields that the results were made by, where it has them all,
    or by its field `source`.
    """
    file = _name(given)
    keys: tuple[str, ...] = ()
    rows = []
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
        else:
            raise InputError(
                "is no table that can be read", file=file, remedy="Give .csv, .tsv or .jsonl"
            )
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise InputError(f"cannot be read ({why})", file=file) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"cannot be read ({error})", file=file) from None


def _parsed(line: str, file: str, number: int) -> Mapping[str, Any]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        problem = f"is not JSON ({error.msg.lower()})"
        raise InputError(problem, file=file, line=number) from None
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
