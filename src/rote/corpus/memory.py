"""What is already in memory: texts, Documents, records, data frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from rote.core.document import Document
from rote.core.errors import InputError
from rote.corpus._linewise import runs
from rote.corpus._shard import Fields, Numbered, Part, ReadOptions, Shard, find_fields

SUFFIXES = ()
_SAMPLE = 100


class Frame(Protocol):
    """Rows under names of columns: a frame of pandas or polars, a `Dataset` of Hugging Face."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...


def rows_of(value: Any) -> Any:
    """The rows of a data frame or data set as records; anything else as it is."""
    if hasattr(value, "collect") and hasattr(value, "collect_schema"):  # a lazy frame of polars
        value = value.collect()
    if hasattr(value, "to_dicts"):
        return value.to_dicts()
    if hasattr(value, "to_dict") and hasattr(value, "iloc"):
        # pandas writes what is missing as nan.
        return [
            {name: None if cell != cell else cell for name, cell in row.items()}
            for row in value.to_dict("records")
        ]
    if hasattr(value, "features") and isinstance(value, Iterable):
        return [dict(row) for row in value]
    return value


def inspect(part: Part, options: ReadOptions) -> Fields:
    records = [one for one in part.where[:_SAMPLE] if isinstance(one, Mapping)]
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
            remedy = "A list holds strings, records or Documents"
            problem = f"the text is of type {type(item).__name__}"
            yield number, InputError(problem, file=file, line=number, remedy=remedy)
