from __future__ import annotations

import pytest

from rote.corpus import open_corpus

from .files import arrow_bytes, complaint, skipped

ROWS = [{"text": f"text {i}"} for i in range(10)]


@pytest.mark.parametrize("end", [-1, -5, -12, -60, -150, -400])
def test_a_file_that_is_cut_gives_the_batches_before_the_cut(write, end):
    path = write("a.arrow", arrow_bytes(ROWS)[: end - 1])
    error = complaint(path)
    assert error.file == str(path)
    assert "it is cut short" in str(error)
    assert "--on-error skip" in str(error)
    texts, _ = skipped(path)
    assert 0 < len(texts) <= 10
    assert texts == [row["text"] for row in ROWS[: len(texts)]]


def test_what_is_no_arrow_file(write):
    assert "not a complete Arrow file" in str(complaint(write("a.arrow", "only text, no Arrow")))
    assert "the file is empty" in str(complaint(write("b.arrow", b"")))


def test_pieces_are_cut_at_batches(write, monkeypatch):
    monkeypatch.setattr("rote.corpus.arrow.SHARD_BYTES", 1)
    corpus = open_corpus(write("a.arrow", arrow_bytes(ROWS, batch=3)))
    batches = [shard.read() for shard in corpus.shards()]
    assert [len(batch.documents) for batch in batches if batch.documents] == [3, 3, 3, 1]
    assert sum(shard.size for shard in corpus.shards()) == corpus.size


def test_a_data_set_without_files_and_with_a_broken_list(write, tmp_path):
    write("saved/state.json", "{}")
    assert "no .arrow files" in str(complaint(tmp_path / "saved"))
    write("saved/dataset_dict.json", "{}")
    assert "dataset_dict.json, field 'splits': is missing" in str(complaint(tmp_path / "saved"))
    write("saved/dataset_dict.json", '{"splits": ["train", "../other"]}')
    assert "field 'splits[1]': is '../other'" in str(complaint(tmp_path / "saved"))
    write("saved/dataset_dict.json", '{"splits": ["train", "train"]}')
    assert "'splits[1]': is 'train', as splits[0] is" in str(complaint(tmp_path / "saved"))
