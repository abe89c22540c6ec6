"""Parquet files; each shard is a slice of rows, read where it is used."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile

from rote.core.errors import InputError
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
        count = _count(part)
    except InputError as error:
        yield Shard(origin, fields, options, part.size, partial(failed, error))
        return
    step = max(1, min(_MAX_ROWS, count * SHARD_BYTES // (_FACTOR * part.size)))
    for start in range(0, count, step):
        length = min(step, count - start)
        used = part.size * (start + length) // count
        records = partial(_rows, part.where, start, length, origin)
        yield Shard(origin, fields, options, used - told, records)
        told = used


def _count(part: Part) -> int:
    import polars as pl

    if not part.size:
        raise empty(part.origin)
    try:
        with reading():
            count = int(pl.scan_parquet(part.where, glob=False).select(pl.len()).collect().item())
    except Unreadable as error:
        raise _unusable(part.origin, error) from None
    if not count:
        raise empty(part.origin)
    return count


def _rows(path: Path, start: int, length: int, origin: Origin) -> Iterator[Numbered]:
    import polars as pl

    try:
        with reading():
            frame = pl.scan_parquet(path, glob=False).slice(start, length).collect()
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
