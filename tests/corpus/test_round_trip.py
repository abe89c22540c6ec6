"""Every format and compression gives the same Documents."""

from __future__ import annotations

import json
import pickle

import pyarrow as pa
import pytest

from rote.corpus import open_corpus

from .files import COMPRESSIONS, FORMATS, ROWS, arrow_bytes

EXPECTED = [(row["id"], row["text"], {"source": row["source"]}) for row in ROWS]


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("suffix", FORMATS)
def test_formats_and_compressions_agree(write, suffix, compression):
    data = COMPRESSIONS[compression](FORMATS[suffix](ROWS))
    corpus = open_corpus(write(f"set{suffix}{compression}", data))
    assert [(d.id, d.text, dict(d.meta)) for d in corpus] == EXPECTED
    assert [(d.id, d.text, dict(d.meta)) for d in corpus] == EXPECTED  # a second time
    shards = [pickle.loads(pickle.dumps(shard)) for shard in corpus.shards()]
    assert sum(shard.size for shard in shards) == corpus.size
    batches = [shard.read() for shard in shards]
    assert [d.id for batch in batches for d in batch.documents] == [row["id"] for row in ROWS]
    assert {batch.label for batch in batches} == {"set"}
    reference = write("set2.jsonl", FORMATS[".jsonl"](ROWS))
    assert corpus.fingerprint == open_corpus(reference).fingerprint
    assert len(corpus.guesses) == 1


def test_the_fingerprint_tells_order_ids_and_texts_apart():
    prints = {
        open_corpus({"a": texts}).fingerprint
        for texts in (["x", "y"], ["y", "x"], ["xy"], ["x", "y", "z"])
    }
    assert len(prints) == 4


def test_a_saved_data_set_is_read(write, tmp_path):
    for number in range(3):
        write(f"saved/data-0000{number}-of-00003.arrow", arrow_bytes(ROWS))
    write("saved/state.json", "{}")
    write("saved/dataset_info.json", "{}")
    corpus = open_corpus(tmp_path / "saved")
    batches = [shard.read() for shard in corpus.shards()]
    assert [line for batch in batches for line in batch.lines] == list(range(1, 13))
    assert [d.text for d in batches[2].documents] == [row["text"] for row in ROWS]
    assert {batch.label for batch in batches} == {"saved"}


def test_the_splits_of_a_saved_data_set_are_kept(write, tmp_path):
    for split in ("train", "test"):
        write(f"saved/{split}/data-00000-of-00001.arrow", arrow_bytes(ROWS[:2]))
        write(f"saved/{split}/state.json", "{}")
    write("saved/dataset_dict.json", json.dumps({"splits": ["train", "test"]}))
    documents = [
        d for shard in open_corpus(tmp_path / "saved").shards() for d in shard.read().documents
    ]
    assert [d.meta["split"] for d in documents] == ["train", "train", "test", "test"]


def test_arrow_files_with_footer_and_dictionaries_are_read(tmp_path):
    table = pa.table(
        {"text": ["one", "two", "three"], "kind": pa.array(["u", "u", "v"]).dictionary_encode()}
    )
    path = tmp_path / "set.arrow"
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=1)
    corpus = open_corpus(path)
    assert [(d.text, d.meta["kind"]) for d in corpus] == [
        ("one", "u"),
        ("two", "u"),
        ("three", "v"),
    ]
    assert sum(shard.size for shard in corpus.shards()) == corpus.size
