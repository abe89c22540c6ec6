"""Parquet files; each shard is a slice of rows, read where it is used.

The footer says where the pages of a column begin; what a reader allocates stands before each page.
Both are written in Thrift's compact protocol. Names and numbers are those of parquet.thrift.
"""

from __future__ import annotations

import mmap
import os
import sys
import threading
from bisect import bisect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from rote.core.errors import InputError, import_extra
from rote.corpus._linewise import empty, sampled
from rote.corpus._shard import (
    SHARD_BYTES,
    Fields,
    Numbered,
    Origin,
    Part,
    ReadOptions,
    Shard,
    failed,
)
from rote.corpus._streams import open_bytes

if TYPE_CHECKING:
    import polars as pl


_ONE_AT_A_TIME = threading.Lock()


class Unreadable(Exception):
    """Why a file could not be read, in a line."""


@contextmanager
def reading() -> Iterator[None]:
    """Whatever goes wrong inside is `Unreadable`."""
    import polars as pl

    with _ONE_AT_A_TIME, TemporaryFile() as heard:
        try:
            with _standard_error_to(heard.fileno()):
                yield
        except pl.exceptions.PanicException:
            # What a panic says is about polars' own code.
            raise Unreadable("its parts do not match") from None
        except (pl.exceptions.PolarsError, OSError) as error:
            raise Unreadable(str(error).split("\n", 1)[0]) from None
        # Others may have written meanwhile: warnings, the progress of another thread.
        heard.seek(0)
        if data := heard.read():
            os.write(2, data)


@contextmanager
def _standard_error_to(file: int) -> Iterator[None]:
    sys.stderr.flush()
    try:
        saved = os.dup(2)
    except OSError:  # a process without standard error prints nothing anyway
        yield
        return
    os.dup2(file, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)


SUFFIXES = (".parquet", ".pq")
NEEDS_SEEKING = True  # a compressed one is unpacked to a temporary file first
_SAMPLE = 100
# Parquet is compressed, by about this factor for text; rows of all lengths come in one file.
_FACTOR = 4
_MAX_ROWS = 10_000


def inspect(part: Part, options: ReadOptions) -> Fields:
    return sampled(_rows(part.where, 0, _SAMPLE, part.origin), options, part.origin)


def shards(part: Part, fields: Fields, options: ReadOptions) -> Iterator[Shard]:
    origin, begin = part.origin, 0
    try:
        count, ends = _count(part)
    except InputError as error:
        yield Shard(origin, fields, options, part.size, partial(failed, error), refers=True)
        return
    step = max(1, min(_MAX_ROWS, count * SHARD_BYTES // (_FACTOR * part.size)))
    for start in range(0, count, step):
        length = min(step, count - start)
        used = part.size * (start + length) // count
        records = partial(_rows, part.where, start, length, origin)
        group = bisect(ends, start) if ends else None
        yield Shard(origin, fields, options, used - begin, records, refers=True, together=group)
        begin = used


def _count(part: Part) -> tuple[int, tuple[int, ...]]:
    """How many rows there are; where the row groups end, if reading one row costs all of one."""
    import polars as pl

    if not part.size:
        raise empty(part.origin)
    ends: tuple[int, ...] = ()
    try:
        if isinstance(part.where, Path):
            with reading():
                scan = pl.scan_parquet(part.where, glob=False)
                count = int(scan.select(pl.len()).collect().item())
        else:
            ends = _group_ends(part.where, _state(part.where))
            count = ends[-1] if ends else 0
    except Unreadable as error:
        raise _unusable(part.origin, error) from None
    if not count:
        raise empty(part.origin)
    return count, ends


@contextmanager
def _elsewhere(address: str) -> Iterator[Any]:
    """A file that fsspec opens: pyarrow reads its row groups one by one, polars all of it."""
    parquet = import_extra("pyarrow.parquet", "pyarrow", "spark", f"reading {address}")
    with open_bytes(address) as raw:
        try:
            yield parquet.ParquetFile(raw)
        except (ValueError, parquet.lib.ArrowException) as error:
            raise Unreadable(str(error).split("\n", 1)[0]) from None


def _state(address: str) -> str:
    """What changes when a file that fsspec opens is written anew."""
    from fsspec.core import url_to_fs

    system, path = url_to_fs(address)
    return str(system.ukey(path))


@lru_cache(maxsize=16)
def _group_ends(address: str, state: str) -> tuple[int, ...]:
    with _elsewhere(address) as file:
        about = file.metadata
        return tuple(accumulate(about.row_group(i).num_rows for i in range(about.num_row_groups)))


@lru_cache(maxsize=2)  # rows that are read together may begin in one and end in the next
def _row_group(address: str, state: str, number: int) -> Any:
    with _elsewhere(address) as file:
        return file.read_row_group(number)


def _read_groups(address: str, start: int, length: int) -> pl.DataFrame:
    """Some rows, from those row groups alone that hold them."""
    import polars as pl
    import pyarrow as pa

    state = _state(address)
    ends = _group_ends(address, state)
    begins = [0, *ends]
    groups = [i for i, end in enumerate(ends) if end > start and begins[i] < start + length]
    table = pa.concat_tables([_row_group(address, state, group) for group in groups])
    frame = pl.from_arrow(table.slice(start - begins[groups[0]], length))
    assert isinstance(frame, pl.DataFrame)
    return frame


def _rows(path: Path | str, start: int, length: int, origin: Origin) -> Iterator[Numbered]:
    import polars as pl

    try:
        if isinstance(path, Path):
            with reading():
                frame = pl.scan_parquet(path, glob=False).slice(start, length).collect()
        else:
            frame = _read_groups(path, start, length)
    except Unreadable as error:
        where = f" between rows {start + 1:,} and {start + length:,}"
        yield start + 1, _unusable(origin, error, where)
        return
    yield from enumerate(frame.iter_rows(named=True), start + 1)


# How much comes out, for whoever reads files of strangers

CELL = 8
"""Bytes that any value takes."""
_MOST_SLICES = 1_000


def unpacked(part: Part, most: int) -> int:
    """Bytes that the values of a file take; beyond `most`, not all of them are counted, and no
    more than about that is decoded at once."""
    size, longest = 0, 0
    try:
        for page in read_pages(part.where):
            size += page.size + page.values * (CELL + page.width)
            # Of such a page each value may be as long as all that is written of them.
            if page.repeats and page.nested:
                size += page.values * page.size
            elif page.repeats:
                longest = max(longest, page.size)
            if size > most:
                return size
        return max(size, _texts_size(part, most, longest))
    except (Malformed, Unreadable) as error:
        raise _unusable(part.origin, error) from None


def _texts_size(part: Part, most: int, longest: int) -> int:
    """Bytes of the texts: a dictionary holds once what any number of rows repeat. `longest`: bytes
    that a text may have which is not one of a dictionary; so many rows are decoded at once as fit
    into `most`."""
    import polars as pl

    with reading():
        scan = pl.scan_parquet(part.where, glob=False)
        kinds = scan.collect_schema()
    count, _ = _count(part)
    step = max(1, most // longest) if longest else count
    if count > step * _MOST_SLICES:
        return most + 1
    size = 0
    for start in range(0, count, step):
        with reading():
            size += text_bytes(scan.slice(start, step), kinds)
        if size > most:
            break
    return size


def text_bytes(frame: pl.LazyFrame, kinds: Mapping[str, pl.DataType]) -> int:
    """The length of all strings of a frame together, where any of them stands in several rows."""
    import polars as pl

    sums = [total for name, kind in kinds.items() for total in _sums(pl.col(name), kind)]
    if not sums:
        return 0
    columns = [total.cast(pl.UInt64).alias(str(n)) for n, total in enumerate(sums)]
    return sum(value or 0 for value in frame.select(columns).collect().row(0))


def _sums(column: pl.Expr, kind: Any) -> Iterator[pl.Expr]:
    import polars as pl

    if kind == pl.String:
        yield column.str.len_bytes().sum()
    elif kind == pl.Binary:
        yield column.bin.size().sum()
    elif kind in (pl.Categorical, pl.Enum):
        # As strings all rows would be copies: only the different ones are turned into some.
        each = column.alias("text").value_counts(name="rows").struct
        lengths = each.field("text").cast(pl.String).str.len_bytes().cast(pl.UInt64)
        yield (lengths * each.field("rows")).sum()
    elif isinstance(kind, pl.Struct):
        for field in kind.fields:
            yield from _sums(column.struct.field(field.name), field.dtype)
    elif isinstance(kind, (pl.List, pl.Array)):
        items = column.list if isinstance(kind, pl.List) else column.arr
        yield from _sums(items.explode(), kind.inner)


def _unusable(origin: Origin, error: Exception, where: str = "") -> InputError:
    return origin.error(
        f"this is not a complete Parquet file{where} ({error})",
        remedy="Copy or download it again, or choose a format with --input-format",
    )


_MAGIC = b"PAR1"
_MOST_FIELDS = 2_000_000
"""Fields that are looked at: files with texts have thousands."""
_DEEPEST = 32
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_FIXED_ARRAY = 7
_DATA, _DATA_2 = 0, 3
_DELTA_BYTES = 7
"""An encoding in which a value begins as the one before it: a page may hold its square."""


class Malformed(Exception):
    """Headers that are cut short, contradict each other, or are too many."""


@dataclass(frozen=True, slots=True)
class Page:
    """What a page holds when it is decompressed."""

    size: int
    """Bytes, still encoded."""
    values: int
    """None in a dictionary."""
    width: int
    """Bytes of each value, where all have the same."""
    repeats: bool
    """Whether values are written by what they share with the one before."""
    nested: bool
    """Whether a row may hold many values."""


def read_pages(path: Path) -> Iterator[Page]:
    """The pages of all columns, as often as row groups refer to them."""
    with path.open("rb") as raw:
        size = path.stat().st_size
        if size < 12:
            raise Malformed("it is cut short")
        with mmap.mmap(raw.fileno(), 0, access=mmap.ACCESS_READ) as data:
            try:
                yield from _pages(data, size)
            except (IndexError, KeyError, TypeError, AttributeError, ValueError) as error:
                raise Malformed("its headers make no sense") from error


def _pages(data: mmap.mmap, size: int) -> Iterator[Page]:
    length = int.from_bytes(data[size - 8 : size - 4], "little")
    if data[size - 4 : size] != _MAGIC or length > size - 12:
        raise Malformed("it is cut short")
    thrift = _Thrift(data, size - 8 - length)
    footer = thrift.struct()
    # Leaves of the tree of fields are the columns, in their order.
    leaves = [field for field in footer[2] if not field.get(5)]
    for group in footer.get(4, ()):
        for leaf, chunk in zip(leaves, group[1], strict=True):
            about = chunk[3]
            nested = len(about[3]) > 1
            width = leaf.get(2, 0) if about[1] == _FIXED_ARRAY else 0
            start = min(filter(None, (about.get(11), about[9])))
            yield from _of_column(thrift, start, start + about[7], width, nested)


def _of_column(thrift: _Thrift, start: int, end: int, width: int, nested: bool) -> Iterator[Page]:
    while start < end:
        thrift.at = start
        header = thrift.struct()
        if header[2] < 0 or header[3] < 0:
            raise Malformed("a page has a negative size")
        kind: Mapping[int, Any] = header.get({_DATA: 5, _DATA_2: 8}.get(header[1], 0), {})
        # The encoding stands second in the first version of data pages, fourth in the second.
        encoding = kind.get(2 if header[1] == _DATA else 4)
        yield Page(header[2], kind.get(1, 0), width, encoding == _DELTA_BYTES, nested)
        start = thrift.at + header[3]


class _Thrift:
    """Structures as dicts by the numbers of their fields; strings are passed over."""

    def __init__(self, data: mmap.mmap, at: int) -> None:
        self._data, self.at = data, at
        self._left = _MOST_FIELDS

    def struct(self, depth: int = 0) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while head := self._read_byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            fields[number] = self._value(head & 15, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        self._left -= 1
        if self._left < 0 or depth > _DEEPEST:
            raise Malformed("its headers are too long")
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind == _BYTE:
            return self._read_byte()
        if kind in (_I16, _I32, _I64):
            return self._signed()
        if kind in (_DOUBLE, _BINARY):
            length = 8 if kind == _DOUBLE else self._number()
            self.at += length
            return None
        if kind in (_LIST, _SET):
            head = self._read_byte()
            count = self._number() if head >> 4 == 15 else head >> 4
            # In a list even a truth value takes a byte.
            inner = _BYTE if head & 15 in (_TRUE, _FALSE) else head & 15
            return [self._value(inner, depth + 1) for _ in range(count)]
        if kind == _STRUCT:
            return self.struct(depth + 1)
        raise Malformed("its headers make no sense")  # none of them holds a map

    def _read_byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def _number(self) -> int:
        number = shift = 0
        while True:
            byte = self._read_byte()
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number
            if shift > 63:
                raise Malformed("its headers make no sense")

    def _signed(self) -> int:
        number = self._number()
        return number >> 1 ^ -(number & 1)
