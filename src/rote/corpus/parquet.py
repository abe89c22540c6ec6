"""Parquet files; each shard is a slice of rows, read where it is used."""

from __future__ import annotations

import os
import sys
import threading
from bisect import bisect
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from rote.core.errors import InputError, MissingExtra
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
            raise Unreadable("its parts do not fit each other") from None
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
        kept = os.dup(2)
    except OSError:  # a process without standard error prints nothing anyway
        yield
        return
    os.dup2(file, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


SUFFIXES = (".parquet", ".pq")
NEEDS_SEEKING = True  # a compressed one is unpacked to a temporary file first
_SAMPLE = 100
# Parquet is compressed, by about this factor for text; rows of all lengths come in one file.
_FACTOR = 4
_MAX_ROWS = 10_000


def inspect(part: Part, options: ReadOptions) -> Fields:
    return sampled(_rows(part.where, 0, _SAMPLE, part.origin), options, part.origin)


def shards(part: Part, fields: Fields, options: ReadOptions) -> Iterator[Shard]:
    origin, told = part.origin, 0
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
        yield Shard(origin, fields, options, used - told, records, refers=True, together=group)
        told = used


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
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise MissingExtra("pyarrow", "spark", f"reading {address}") from None
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
        yield (
            start + 1,
            _unusable(origin, error, f" between rows {start + 1:,} and {start + length:,}"),
        )
        return
    yield from enumerate(frame.iter_rows(named=True), start + 1)


def _unusable(origin: Origin, error: Exception, where: str = "") -> InputError:
    return origin.error(
        f"this is not a whole Parquet file{where} ({error})",
        remedy="Copy or download it again, or say what it is with --format",
    )
