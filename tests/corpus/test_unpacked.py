"""How much a table holds, counted before its texts are made."""

from __future__ import annotations

import io
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rote.core.errors import InputError
from rote.corpus import arrow, open_corpus, parquet
from rote.corpus.parquet import Malformed, read_pages

ROWS = [
    {
        "text": "word " * (n % 7) + "Zwölf",
        "kind": "ab"[n % 2],
        "score": n / 3,
        "tags": [f"t{n}", None, "é"][: n % 4],
        "about": {"by": f"A{n}", "year": n} if n % 3 else None,
        "data": b"\0" * (n % 5),
    }
    for n in range(50)
]
SETTINGS: dict[str, dict[str, Any]] = {
    "dictionary": {},
    "categories": {"read_dictionary": ["kind"]},
    "plain": {"use_dictionary": False},
    "delta": {"use_dictionary": False, "column_encoding": {"text": "DELTA_BYTE_ARRAY"}},
    "second": {"data_page_version": "2.0", "compression": "zstd"},
    "groups": {"row_group_size": 7, "data_page_size": 64},
}


def table(kind: str) -> pa.Table:
    held = pa.Table.from_pylist(ROWS)
    if kind != "categories":
        return held
    return held.set_column(1, "kind", held["kind"].dictionary_encode())


def slow_bytes(value: Any) -> int:
    """The length of all strings in a record."""
    if isinstance(value, dict):
        return sum(map(slow_bytes, value.values()))
    if isinstance(value, list):
        return sum(map(slow_bytes, value))
    if isinstance(value, str):
        return len(value.encode())
    return len(value) if isinstance(value, bytes) else 0


def written(path: Path, kind: str) -> Path:
    settings = {k: v for k, v in SETTINGS[kind].items() if k != "read_dictionary"}
    pq.write_table(table(kind), path, **settings)
    return path


@pytest.mark.parametrize("kind", SETTINGS)
def test_the_texts_of_a_table_are_as_long_as_they_are(tmp_path: Path, kind: str) -> None:
    import polars as pl

    frame = pl.read_parquet(written(tmp_path / "a.parquet", kind))
    assert parquet.text_bytes(frame.lazy(), frame.schema) == slow_bytes(ROWS)
    part = open_corpus(tmp_path / "a.parquet").parts[0]
    assert parquet.unpacked(part, 10**9) >= slow_bytes(ROWS)
    # In slices, where a page may hold more than it says.
    assert parquet._texts_size(part, 10**5, 10**4) == slow_bytes(ROWS)
    assert parquet._texts_size(part, 100, 10) > 100


@pytest.mark.parametrize("kind", SETTINGS)
def test_pages_are_those_of_the_file(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path / "a.parquet", kind)
    about = pq.ParquetFile(path).metadata
    chunks = [
        about.row_group(g).column(c)
        for g in range(about.num_row_groups)
        for c in range(about.num_columns)
    ]
    pages = list(read_pages(path))
    assert sum(page.values for page in pages) == sum(chunk.num_values for chunk in chunks)
    whole = sum(chunk.total_uncompressed_size for chunk in chunks)  # with the headers
    assert 0 < sum(page.size for page in pages) < whole
    assert any(page.repeats for page in pages) == (kind == "delta")
    assert any(page.nested for page in pages)


@pytest.mark.parametrize("kind", SETTINGS)
def test_a_damaged_table_is_counted_or_refused(tmp_path: Path, kind: str) -> None:
    """Whatever its headers say, counting comes to an end, and nothing else goes wrong."""
    whole = written(tmp_path / "a.parquet", kind).read_bytes()
    chance, path = Random(kind), tmp_path / "b.parquet"
    for _ in range(150):
        data = bytearray(whole)
        for place in chance.sample(range(len(data)), 3):
            data[place] = chance.randrange(256)
        path.write_bytes(data[: chance.choice((len(data), chance.randrange(len(data))))])
        with suppress(Malformed):
            assert all(page.size >= 0 for page in read_pages(path))


def streamed(kind: str, compression: str | None) -> bytes:
    out, held = io.BytesIO(), table(kind)
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(out, held.schema, options=options) as writer:
        writer.write_table(held, max_chunksize=9)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["plain", "categories"])
@pytest.mark.parametrize("compression", ["zstd", "lz4", None])
def test_an_arrow_file_is_counted(tmp_path: Path, kind: str, compression: str | None) -> None:
    path = tmp_path / "a.arrow"
    path.write_bytes(streamed(kind, compression))
    part = open_corpus(path).parts[0]
    size = arrow.unpacked(part, 10**9)
    buffers = sum(chunk.nbytes for column in table(kind).columns for chunk in column.chunks)
    assert size >= slow_bytes(ROWS) + buffers
    assert size < 20 * slow_bytes(ROWS) + 10_000
    assert 100 < arrow.unpacked(part, 100) < size


@pytest.mark.parametrize("compression", ["zstd", None])
def test_a_damaged_arrow_file_is_counted_too(tmp_path: Path, compression: str | None) -> None:
    whole = streamed("plain", compression)
    chance, path = Random(compression), tmp_path / "a.arrow"
    for _ in range(60):
        data = bytearray(whole)
        for place in chance.sample(range(len(data)), 3):
            data[place] = chance.randrange(256)
        path.write_bytes(data)
        with suppress(InputError):
            assert arrow.unpacked(open_corpus(path).parts[0], 10**6) >= 0
