"""Files that fsspec opens are read as those of this machine are, whole and shard by shard."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rote.core.errors import InputError, OptionError
from rote.corpus import Corpus, ReadOptions, _open, open_corpus
from rote.run.serial import Serial

from .files import FORMATS, ROWS

fsspec = pytest.importorskip("fsspec")
NAMES = ("a.jsonl", "b.jsonl.gz", "c.parquet", "d.csv", "e.arrow", "f.txt")


def data(name: str) -> bytes:
    rows = [{**row, "id": f"{name}-{row['id']}"} for row in ROWS]
    if name == "f.txt":
        return b"A text of its own."
    if name.endswith(".gz"):
        return gzip.compress(FORMATS[".jsonl"](rows))
    return FORMATS[Path(name).suffix](rows)


@pytest.fixture
def memory() -> Iterator[str]:
    system = fsspec.filesystem("memory")
    for name in NAMES:
        system.pipe(f"/corpus/{name}", data(name))
    yield "memory://corpus"
    system.rm("/corpus", recursive=True)


def held(corpus: Corpus) -> list[tuple[str, str, dict[str, Any], int]]:
    return [
        (document.id, document.text, dict(document.meta), line)
        for shard in corpus.shards()
        for batch in [shard.read()]
        for document, line in zip(batch.documents, batch.lines, strict=True)
    ]


def test_every_form_is_read_as_here(memory: str, tmp_path: Path) -> None:
    for name in NAMES:
        (tmp_path / name).write_bytes(data(name))
    there, here = open_corpus([memory]), open_corpus(tmp_path)
    assert held(there) == held(here)
    assert there.size == here.size
    assert there.fingerprint == here.fingerprint
    assert there.parts[0].origin.file == "memory:///corpus/a.jsonl"


def test_globs_and_single_files_are_found(memory: str) -> None:
    assert len(open_corpus([f"{memory}/*.jsonl*"]).parts) == 2
    (part,) = open_corpus(f"{memory}/a.jsonl").parts
    assert part.size == len(data("a.jsonl"))


def test_what_is_not_there_is_said(memory: str) -> None:
    with pytest.raises(InputError, match=r"memory://corpus/z\.jsonl"):
        list(open_corpus([f"{memory}/z.jsonl"]))
    with pytest.raises(OptionError, match="nowhere://x cannot be opened"):
        open_corpus(["nowhere://x"])
    with pytest.raises(InputError, match="nothing here can be read"):
        open_corpus([f"{memory}/*.exe"])


def test_each_row_group_is_read_once(memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    def write(rows: list[dict[str, str]], size: int) -> None:
        with fsspec.open(f"{memory}/large.parquet", "wb") as file:
            parquet.write_table(pa.Table.from_pylist(rows), file, row_group_size=size)

    read: list[int] = []
    whole = parquet.ParquetFile.read_row_group
    monkeypatch.setattr(
        parquet.ParquetFile,
        "read_row_group",
        lambda file, number: read.append(number) or whole(file, number),
    )
    rows = [{"id": str(i), "text": f"text {i}"} for i in range(30_000)]
    for size, groups in ((7_000, 5), (30_000, 1)):
        write(rows, size)
        corpus = open_corpus(f"{memory}/large.parquet")
        list(corpus.parts)
        read.clear()
        assert len(list(corpus.shards())) == 3
        assert [d.text for d in corpus] == [row["text"] for row in rows]
        assert sorted(set(read)) == sorted(read) == list(range(groups))
    write(rows[::-1], 30_000)  # as large as before
    assert next(iter(open_corpus(f"{memory}/large.parquet"))).text == "text 29999"


def test_a_row_group_is_one_task_elsewhere(memory: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    rows = [{"id": str(i), "text": f"text {i}"} for i in range(45_000)]
    with fsspec.open(f"{memory}/large.parquet", "wb") as file:
        parquet.write_table(pa.Table.from_pylist(rows), file, row_group_size=25_000)
    corpus, engine = open_corpus([f"{memory}/*.parquet"]), Serial()
    engine.remote = True
    tasks = list(_open._tasks(corpus, engine))
    assert [task.count for task in tasks] == [1, 3, 2]
    assert [n for task in tasks for n in task.numbers] == list(range(6))
    lines = [len(shard.read().lines) for task in tasks for shard in task.shards()]
    assert lines == [len(ROWS), 10_000, 10_000, 10_000, 10_000, 5_000]


def test_an_object_store_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("s3fs")
    server = pytest.importorskip("moto.server")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    running = server.ThreadedMotoServer(port=0, verbose=False)
    running.start()
    try:
        host, port = running.get_host_and_port()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        system = fsspec.filesystem("s3", skip_instance_cache=True)
        system.mkdir("texts")
        for name in ("a.jsonl", "b.jsonl.gz", "c.parquet"):
            system.pipe(f"texts/in/{name}", data(name))
        corpus = open_corpus(["s3://texts/in/"], ReadOptions())
        assert [part.origin.file for part in corpus.parts] == [
            f"s3://texts/in/{name}" for name in ("a.jsonl", "b.jsonl.gz", "c.parquet")
        ]
        assert len(list(corpus)) == 3 * len(ROWS)
    finally:
        running.stop()
