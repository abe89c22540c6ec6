"""Small files in every format, and what reading them complains of."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pytest
import zstandard

from rote.core.errors import InputError
from rote.corpus import ReadOptions, open_corpus

Rows = Sequence[dict[str, Any]]

ROWS: Rows = [
    {"id": "a1", "text": "The ferry left at noon.", "source": "human"},
    {"id": "a2", "text": 'She said "wait", and\nthen waited; twice, or thrice.', "source": "human"},
    {"id": "a3", "text": "Zwölf Boote, ein Kapitän — 船は出た。", "source": "model"},
    {"id": "a4", "text": "  spaces\tand tabs stay  ", "source": "model"},
]


def jsonl_bytes(rows: Rows) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def json_bytes(rows: Rows) -> bytes:
    return json.dumps(list(rows), indent=1).encode()


def csv_bytes(rows: Rows, delimiter: str = ",") -> bytes:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def parquet_bytes(rows: Rows) -> bytes:
    import polars as pl

    out = io.BytesIO()
    pl.DataFrame(list(rows)).write_parquet(out)
    return out.getvalue()


def arrow_bytes(rows: Rows, batch: int = 2) -> bytes:
    table = pa.Table.from_pylist(list(rows))
    out = io.BytesIO()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table, max_chunksize=batch)
    return out.getvalue()


FORMATS: dict[str, Callable[[Rows], bytes]] = {
    ".jsonl": jsonl_bytes,
    ".ndjson": jsonl_bytes,
    ".json": json_bytes,
    ".csv": csv_bytes,
    ".tsv": lambda rows: csv_bytes(rows, "\t"),
    ".parquet": parquet_bytes,
    ".arrow": arrow_bytes,
}


def two_members(data: bytes) -> bytes:
    middle = len(data) // 2
    return gzip.compress(data[:middle]) + gzip.compress(data[middle:])


def two_frames(data: bytes) -> bytes:
    machine, middle = zstandard.ZstdCompressor(), len(data) // 2
    skippable = b"\x50\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"notes"
    return machine.compress(data[:middle]) + skippable + machine.compress(data[middle:])


COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": two_members,
    ".zst": two_frames,
    ".bz2": lambda data: bz2.compress(data[:90]) + bz2.compress(data[90:]),
    ".xz": lambda data: lzma.compress(data[:90]) + bytes(4) + lzma.compress(data[90:]),
}


def complaint(inputs: Any, **options: Any) -> InputError:
    """The error that stops reading."""
    with pytest.raises(InputError) as caught:
        list(open_corpus(inputs, ReadOptions(**options)))
    assert caught.value.remedy
    return caught.value


def skipped(inputs: Any, **options: Any) -> tuple[list[str], list[InputError]]:
    """The texts that remain when problems are skipped, and the problems."""
    corpus = open_corpus(inputs, ReadOptions(on_error="skip", **options))
    texts = [document.text for document in corpus]
    return texts, corpus.problems.kept
