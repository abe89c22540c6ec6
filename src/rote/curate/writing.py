"""Records back to JSONL, and output that is whole or not there.

A record is written as it was read: the same fields under the same names. What was no record to
begin with (a text file, a chapter) becomes `{"id": ..., "text": ..., ...}`.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.annotation import Annotation
from rote.core.document import Document
from rote.core.errors import InputError
from rote.core.files import beside, check_parent, new_file
from rote.corpus import Shard


def json_line(record: Mapping[str, Any]) -> bytes:
    """One record as a line of UTF-8."""
    try:
        return (json.dumps(record, ensure_ascii=False, default=_plain) + "\n").encode()
    except UnicodeEncodeError:  # half a surrogate pair, for which JSON has an escape
        return (json.dumps(record, default=_plain) + "\n").encode()


def write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """A file of records, whole or not there."""
    with new_file(path) as file:
        for record in records:
            file.write(json_line(record))


def record_of(document: Document) -> dict[str, Any]:
    """A document that came from no record."""
    return {"id": document.id, "text": document.text, **fields_of(document)}


def fields_of(document: Document) -> dict[str, Any]:
    """The other fields; annotation that came with the input is none that JSON could hold."""
    return {k: v for k, v in document.meta.items() if not isinstance(v, Annotation)}


def _plain(value: Any) -> Any:
    """What JSON has no word for: numbers as numbers, dates and the like as people read them."""
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, bytes) or str(value) == object.__repr__(value):
        raise InputError(
            f"a record holds a {type(value).__name__}, which JSON cannot hold",
            remedy="Give numbers, texts, dates, or lists and dicts of them",
        )
    return str(value)


def lines_at(wanted: tuple[Shard, NDArray[np.int64]]) -> list[bytes]:
    """The records at some lines of a shard, each as a line of JSON; work for other processes."""
    shard, numbers = wanted
    left = set(numbers.tolist())
    found = [
        json_line(record_of(record) if isinstance(record, Document) else record)
        for number, record in shard.records()
        if number in left and not isinstance(record, InputError)
    ]
    if len(found) != len(numbers):
        raise InputError(
            "the file has changed since it was read first",
            file=shard.origin.file,
            remedy="Run the command again while nothing writes to it",
        )
    return found


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder to write into, beside its place; it gets its name once everything is in it."""
    check_parent(path)
    partial = beside(path)
    partial.mkdir()
    try:
        yield partial
        os.rename(partial, path)  # an empty folder there is replaced, a full one refused
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
