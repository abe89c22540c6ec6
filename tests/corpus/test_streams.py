from __future__ import annotations

import bz2
import gzip
import lzma
import random
import tracemalloc

import pytest
import zstandard

from rote.core.errors import OptionError
from rote.corpus import ReadOptions, open_corpus
from rote.corpus._shard import SHARD_BYTES

from .files import FORMATS, complaint, jsonl_bytes, skipped

WORDS = [f"w{i:04d}" for i in range(5000)]


def rows(count: int, seed: int = 1):
    draw = random.Random(seed)
    return [{"id": i, "text": " ".join(draw.choices(WORDS, k=40))} for i in range(count)]


COMPRESS = {
    ".gz": gzip.compress,
    ".zst": zstandard.compress,
    ".bz2": lambda data: bz2.compress(data, 1),
    ".xz": lzma.compress,
}
KINDS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bzip2", ".xz": "xz"}


@pytest.mark.parametrize("end", COMPRESS)
@pytest.mark.parametrize("suffix", ["jsonl", "json", "csv"])
def test_a_file_that_is_cut_gives_what_stands_before_the_cut(write, end, suffix):
    records = rows(3000)
    whole = COMPRESS[end](FORMATS[f".{suffix}"](records))
    path = write(f"a.{suffix}{end}", whole[: len(whole) // 2])
    error = complaint(path)
    assert error.file == str(path)
    assert "the file is truncated" in str(error)
    assert "--on-error skip" in str(error)
    texts, problems = skipped(path)
    assert len(problems) == 1
    assert len(texts) > 500
    assert texts == [row["text"] for row in records[: len(texts)]]
    assert problems[0].line is not None


@pytest.mark.parametrize(("end", "kind"), KINDS.items())
def test_a_name_that_lies_about_compression(write, end, kind):
    path = write(f"a.jsonl{end}", '{"text": "one"}\n' * 5)
    error = complaint(path)
    assert error.file == str(path)
    assert f"the file is not {kind}-compressed" in str(error)
    assert "Give it the right suffix" in str(error)
    assert skipped(path)[0] == []


@pytest.mark.parametrize("end", [".gz", ".bz2", ".xz"])
def test_damage_in_the_middle_is_told_from_a_wrong_name(write, end):
    data = bytearray(COMPRESS[end](jsonl_bytes(rows(2000))))
    data[len(data) // 2 : len(data) // 2 + 200] = bytes(200)
    texts, problems = skipped(write(f"a.jsonl{end}", bytes(data)))
    assert len(texts) > 500
    assert f"the {KINDS[end]} data are damaged" in str(problems[-1])


def test_zeros_behind_a_gzip_member_are_ignored(write):
    path = write("a.jsonl.gz", gzip.compress(b'{"text": "one"}\n') + bytes(1000))
    assert [document.text for document in open_corpus(path)] == ["one"]


def test_an_unknown_encoding_is_an_option_error(write):
    path = write("a.jsonl", '{"text": "one"}\n')
    with pytest.raises(OptionError, match="unknown encoding 'utf-9'"):
        open_corpus(path, ReadOptions(encoding="utf-9"))


def test_text_cut_in_the_middle_of_a_wide_character(write):
    path = write("a.txt", "hello".encode("utf-16") + b"\x00")
    error = complaint(path, encoding="utf-16", plain="line")
    assert "not valid utf-16" in str(error)


def test_shards_do_not_depend_on_compression(write, monkeypatch):
    data, size = jsonl_bytes(rows(8_000)), SHARD_BYTES // 4
    monkeypatch.setattr("rote.corpus._linewise.SHARD_BYTES", size)
    assert len(data) > size
    paths = write("a.jsonl", data), write("b.jsonl.gz", gzip.compress(data, 1))
    plain, packed = ([shard.read() for shard in open_corpus(path).shards()] for path in paths)
    assert len(plain) > 1
    assert [batch.lines for batch in plain] == [batch.lines for batch in packed]


@pytest.mark.parametrize("suffix", ["jsonl", "json", "csv"])
def test_a_large_file_streams_in_little_memory(tmp_path, suffix):
    record = b'{"text": "%s"}' % (b"a stone rolls down the hill " * 40)
    start, row, between, end = {
        "jsonl": (b"", record, b"\n", b"\n"),
        "json": (b"[", record, b",\n", b"]"),
        "csv": (b"text\n", record[10:-1], b"\n", b"\n"),
    }[suffix]
    path = tmp_path / f"a.{suffix}.gz"
    count = (30_000_000 if suffix == "jsonl" else 25_000_000) // len(record)
    with gzip.open(path, "wb", compresslevel=1) as out:
        out.write(start + row)
        for _ in range(count - 1):
            out.write(between + row)
        out.write(end)
    corpus = open_corpus(path)
    tracemalloc.start()
    try:
        seen = sum(len(shard.read().documents) for shard in corpus.shards())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert seen == count
    assert peak < 6 * SHARD_BYTES
