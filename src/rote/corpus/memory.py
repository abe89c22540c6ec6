"""What is already in memory: texts, Documents, records, data frames, columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from typing import Any, Protocol

from rote.core.document import Document
from rote.core.errors import InputError
from rote.corpus._linewise import runs
from rote.corpus._shard import Fields, Numbered, Part, ReadOptions, Shard, find_fields, kind_of

SUFFIXES = ()
_SAMPLE = 100


class DataFrameLike(Protocol):
    """Rows under names of columns, or a column of texts: of pandas, polars, pyarrow or Hugging
    Face."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...


def to_rows(value: Any) -> Any:
    """The rows of a frame or data set as records, the cells of a column as a list; what holds
    neither stays as it is.

    Libraries are known by what their objects can do, so that none has to be imported.

    >>> to_rows(["one text", "another"])
    ['one text', 'another']
    """
    if isinstance(value, (list, tuple, str, bytes, Mapping)):
        return value
    if hasattr(value, "collect_schema") and hasattr(value, "collect"):  # a lazy frame of polars
        value = value.collect()
    if hasattr(value, "to_dicts"):  # a frame of polars
        return value.to_dicts()
    if hasattr(value, "to_pylist"):  # a table or a column of pyarrow
        return value.to_pylist()
    if hasattr(value, "iloc") and hasattr(value, "columns"):  # a frame of pandas
        records = value.to_dict("records")
        return [{name: _cell(cell) for name, cell in row.items()} for row in records]
    if hasattr(value, "tolist") and getattr(value, "ndim", 1) == 1:  # a column of pandas, numpy
        return [_cell(cell) for cell in value.tolist()]
    if hasattr(value, "to_list"):  # a column of polars
        return value.to_list()
    # An open file is none: its lines may be anything. A set has no order.
    if isinstance(value, Iterable) and not isinstance(value, Set) and not hasattr(value, "read"):
        return [dict(row) if isinstance(row, Mapping) else row for row in value]
    return value


def hold(value: Any) -> Any:
    """What can be read only once as a list, for those who read it more often; all else as it is."""
    return to_rows(value) if isinstance(value, Iterator) else value


def _cell(cell: Any) -> Any:
    """What pandas calls missing (nan, NaT, NA) is nothing."""
    nothing = isinstance(cell, float) and cell != cell
    return None if nothing or type(cell).__name__ in ("NaTType", "NAType") else cell


def inspect(part: Part, options: ReadOptions) -> Fields:
    records = [record for record in part.where[:_SAMPLE] if isinstance(record, Mapping)]
    return find_fields(records, options, part.origin.file) if records else Fields()


def shards(part: Part, fields: Fields, options: ReadOptions) -> Iterator[Shard]:
    """Runs of texts of about the size of a shard, so that workers get pieces, not the whole."""
    items: Sequence[Any] = part.where
    for start, end, size in runs(map(length, items)):
        records = partial(_records, items[start:end], start + 1, part.origin.file)
        yield Shard(part.origin, fields, options, size, records)


def length(item: object) -> int:
    """Characters of a text; what is no text is reported when it is read."""
    if isinstance(item, Mapping):
        return sum(len(value) for value in item.values() if isinstance(value, str))
    text = item.text if isinstance(item, Document) else item
    return len(text) if isinstance(text, str) else 0


def _records(items: Sequence[object], first: int, file: str) -> Iterator[Numbered]:
    for number, item in enumerate(items, first):
        if isinstance(item, Document):
            yield number, item
        elif isinstance(item, str):
            yield number, {"text": item}
        elif isinstance(item, Mapping):
            yield number, dict(item)
        else:
            remedy = "A list must contain strings, records or Documents"
            problem = f"the text is {kind_of(item)}"
            yield number, InputError(problem, file=file, line=number, remedy=remedy)
