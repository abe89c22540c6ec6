"""Arrow files (.arrow), and data sets saved by Hugging Face datasets; batch by batch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from io import BytesIO
from itertools import islice
from pathlib import Path

from rote.core.errors import InputError
from rote.corpus._arrow_stream import Piece, pieces
from rote.corpus._fields import Fields, Origin, find_fields
from rote.corpus._linewise import empty
from rote.corpus._options import ReadOptions
from rote.corpus._polars import Unreadable, reading
from rote.corpus._shard import SHARD_BYTES, Numbered, Part, Shard, failed

SUFFIXES = (".arrow",)
NEEDS_SEEKING = True  # a compressed one is unpacked to a temporary file first
_SAMPLE = 100


def inspect(part: Part, options: ReadOptions) -> Fields:
    sample = []
    try:
        for file, _ in _files(part)[:1]:
            for piece in islice(pieces(file, 1, part.origin.file), 1):
                found = islice(_rows(file, piece, None, 1, part.origin), _SAMPLE)
                sample = [record for _, record in found if isinstance(record, dict)]
    except InputError:
        pass  # reported when it is read
    return find_fields(sample, options, part.origin.file)


def shards(part: Part, fields: Fields, options: ReadOptions) -> Iterator[Shard]:
    """A shard for each run of record batches; rows are numbered through all files of a set."""
    origin, first = part.origin, 1
    try:
        for file, split in _files(part):
            for piece in pieces(file, SHARD_BYTES, origin.file):
                records = partial(_rows, file, piece, split, first, origin)
                yield Shard(origin, fields, options, piece.size, records)
                first += piece.rows
        if first == 1:
            raise empty(origin)
    except InputError as error:
        yield Shard(origin, fields, options, 0, partial(failed, error))


def _files(part: Part) -> Sequence[tuple[Path, str | None]]:
    """The files of a data set in order, each with its split where there are splits."""
    folder: Path = part.where
    if not folder.is_dir():
        return [(folder, None)]
    splits = _splits(folder, part.origin.file)
    if splits is None:
        found: list[tuple[Path, str | None]] = [(f, None) for f in sorted(folder.glob("*.arrow"))]
    else:
        found = [(f, name) for name in splits for f in sorted((folder / name).glob("*.arrow"))]
    if not found:
        raise InputError(
            "the saved data set holds no .arrow files",
            file=part.origin.file,
            remedy="Save it again with save_to_disk",
        )
    return found


def _splits(folder: Path, file: str) -> list[str] | None:
    try:
        return [
            str(name) for name in json.loads((folder / "dataset_dict.json").read_bytes())["splits"]
        ]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"dataset_dict.json cannot be read ({error})",
            file=file,
            remedy="Save the data set again with save_to_disk",
        ) from None


def _rows(
    path: Path, piece: Piece, split: str | None, first: int, origin: Origin
) -> Iterator[Numbered]:
    import polars as pl

    try:
        with open(path, "rb") as raw:
            data = piece.read(raw)
        with reading():
            frame = pl.read_ipc_stream(BytesIO(data))
    except (Unreadable, OSError) as error:
        remedy = "Copy or download it again"
        problem = f"a batch of {path.name} cannot be read ({error})"
        yield first, InputError(problem, file=origin.file, line=first, remedy=remedy)
        return
    for number, record in enumerate(frame.iter_rows(named=True), first):
        if split is not None:
            record.setdefault("split", split)
        yield number, record
