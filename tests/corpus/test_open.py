from __future__ import annotations

import gzip
import io
import os
import sys
from pathlib import Path

import pytest

from rote.core.document import Document
from rote.core.errors import InputError
from rote.corpus import ReadOptions, open_corpus

from .files import complaint, jsonl_bytes, parquet_bytes

ONE = '{"text": "one"}\n'


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def labels(inputs, **options):
    return [shard.read().label for shard in open_corpus(inputs, ReadOptions(**options)).shards()]


def refused(inputs, **options):
    with pytest.raises(InputError) as caught:
        open_corpus(inputs, ReadOptions(**options))
    assert caught.value.remedy
    return caught.value


@pytest.mark.usefixtures("here")
def test_a_list_of_strings_that_all_name_files_is_a_list_of_paths(write):
    write("a.jsonl", ONE)
    write("d/b.jsonl", ONE)
    assert labels(["a.jsonl", "d"]) == ["a", "b"]
    assert labels(["a.jsonl", "d/*.jsonl"]) == ["a", "b"]
    error = refused(["a.jsonl", "some text"])
    assert "1 of 2 strings are names of files ('a.jsonl')" in str(error)
    assert "Path objects" in str(error)


def test_a_dict_names_sources(write):
    path = write("a.jsonl", '{"text": "three", "source": "other"}\n')
    corpus = open_corpus({"human": ["one", "two"], "gpt": path, "bot": [Document("x", "four")]})
    assert [(d.id, d.meta) for d in corpus] == [
        ("human:1", {"source": "human"}),
        ("human:2", {"source": "human"}),
        ("a:1", {"source": "gpt"}),
        ("x", {"source": "bot"}),
    ]
    assert [shard.read().label for shard in corpus.shards()] == ["human", "gpt", "bot"]


def test_documents_and_corpora_are_passed_on():
    documents = [Document("x", "one", {"n": 1}), Document("y", "two")]
    corpus = open_corpus(documents)
    assert list(corpus) == documents
    assert open_corpus(corpus) is corpus


@pytest.mark.parametrize("inputs", [[], {}, {"a": []}, 12, b"x", {"a": 1}])
def test_nothing_usable_is_an_error(inputs):
    refused(inputs)


def test_what_is_no_text_in_a_list():
    error = complaint([Document("x", "one"), 12])
    assert error.line == 2
    assert "the text is a number" in str(error)


def test_large_lists_are_cut(monkeypatch):
    monkeypatch.setattr("rote.corpus._linewise.SHARD_BYTES", 10)
    corpus = open_corpus(["12345", "67890", "1", "2"])
    batches = [shard.read() for shard in corpus.shards()]
    assert [batch.lines for batch in batches] == [[1, 2], [3, 4]]
    assert [shard.size for shard in corpus.shards()] == [10, 2]
    assert corpus.size == 12


def test_a_folder_is_read_in_order_and_says_what_it_left_out(write, tmp_path):
    for name in ("b.jsonl", "a/z.jsonl.gz", ".hidden.jsonl", "notes.xyz", ".git/c.jsonl"):
        data = ONE.encode()
        write(f"f/{name}", gzip.compress(data) if name.endswith("gz") else data)
    corpus = open_corpus(tmp_path / "f")
    assert [d.id for d in corpus] == ["z:1", "b:1"]
    assert "2 files were left out: hidden, or with an unknown suffix" in corpus.guesses[0]
    assert len(corpus.guesses) == 2
    assert "z.jsonl.gz and " in corpus.guesses[1]


def test_guesses_for_many_files_are_one_line(write, tmp_path):
    for i in range(5):
        write(f"f/{i}.jsonl", ONE)
    (guess,) = open_corpus(tmp_path / "f").guesses
    assert guess.startswith(f"{tmp_path / 'f' / '0.jsonl'} and 4 other files: texts are in 'text'")


def test_files_of_the_same_name_are_told_apart(write, tmp_path):
    for name in ("x/set.jsonl", "y/set.jsonl", "y/other.jsonl", "other.csv"):
        write(f"f/{name}", ONE if name.endswith("l") else "text\none\n")
    assert labels(tmp_path / "f") == ["f/other", "x/set", "y/other", "y/set"]
    write("g/a.csv", "text\none\n")
    write("g/a.jsonl", ONE)
    assert labels(tmp_path / "g") == ["a.csv", "a.jsonl"]


def test_text_files_in_folders_are_named_after_the_folder(write, tmp_path):
    for name in ("human/1.txt", "human/2.txt", "bot/1.txt"):
        write(f"f/{name}", f"text of {name}\r\nend\r\n")
    corpus = open_corpus(tmp_path / "f")
    batches = [shard.read() for shard in corpus.shards()]
    assert [(b.label, len(b.documents)) for b in batches] == [("bot", 1), ("human", 2)]
    assert [d.id for d in corpus] == ["bot/1", "human/1", "2"]
    assert batches[1].documents[0].text == "text of human/1.txt\nend\n"
    assert batches[1].file == str(tmp_path / "f" / "human")
    assert labels(tmp_path / "f" / "human" / "1.txt") == ["1"]
    assert labels(tmp_path / "f" / "*" / "2.txt") == ["human"]


def test_a_file_named_twice_is_read_once(write, tmp_path):
    path = write("f/a.jsonl", ONE)
    corpus = open_corpus([path, tmp_path / "f"])
    assert len(list(corpus)) == 1
    assert "named before, read once" in corpus.guesses[0]


def test_a_missing_file_suggests_its_neighbours(write, tmp_path):
    write("stories.jsonl", ONE)
    error = refused(tmp_path / "storys.jsonl")
    assert error.file == str(tmp_path / "storys.jsonl")
    assert f"Did you mean {tmp_path / 'stories.jsonl'}?" in str(error)
    assert "missing folder" in str(refused(tmp_path / "no" / "x.jsonl"))
    # From Python, where a text may be meant, `rote.lexical` and the others say more.
    assert "no such file" in str(refused("Only one text, and a long one at that. " * 50))


def test_what_is_there_and_cannot_be_read_is_not_suggested(write, tmp_path, monkeypatch):
    write("store.jsonl", ONE)
    dangling, circle = tmp_path / "stories.jsonl", tmp_path / "stores.jsonl"
    dangling.symlink_to("gone.jsonl")
    circle.symlink_to(circle)
    assert "is a link to gone.jsonl, which does not exist. Correct" in str(refused(dangling))
    assert "too many levels of symbolic links" in str(refused(circle))
    assert str(refused(tmp_path / "storie.jsonl")).endswith(f"mean {tmp_path / 'store.jsonl'}?")

    locked, stat = tmp_path / "storie.jsonl", os.stat

    def refuse(path, **given):
        if Path(path) == locked:
            raise PermissionError(13, "Permission denied", str(path))
        return stat(path, **given)

    monkeypatch.setattr(os, "stat", refuse)
    assert "cannot be read (permission denied)" in str(refused(locked))


def test_an_unknown_suffix_asks_for_the_format(write):
    path = write("a.dat", ONE)
    error = refused(path)
    assert error.file == str(path)
    assert "unknown suffix '.dat'" in str(error)
    assert "--input-format" in str(error)
    assert len(list(open_corpus(path, ReadOptions(input_format="jsonl")))) == 1
    assert len(list(open_corpus(f"jsonl:{path}"))) == 1
    assert "gzip, zstd, bzip2 or xz" in str(refused(write("a.jsonl.zip", ONE)))
    assert "no suffix" in str(refused(write("plain", ONE)))


def test_folders_and_globs_that_hold_nothing(write, tmp_path):
    write("f/a.xyz", "x")
    assert "it holds a.xyz" in str(refused(tmp_path / "f"))
    (tmp_path / "g").mkdir()
    assert "it is empty" in str(refused(tmp_path / "g"))
    error = refused(tmp_path / "*.jsonl")
    assert "matches no readable file" in str(error)
    assert "quote it" in str(error)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(write):
    path = write("a.jsonl", ONE)
    path.chmod(0)
    error = complaint(path)
    assert error.file == str(path)
    assert "permission" in str(error)


def test_a_file_that_vanishes_is_an_error_when_it_is_read(write):
    path = write("a.jsonl", ONE)
    corpus = open_corpus(path)
    path.unlink()
    with pytest.raises(InputError, match="cannot be read"):
        list(corpus)


@pytest.mark.parametrize(
    ("data", "kind", "texts"),
    [
        (jsonl_bytes([{"text": "one"}, {"text": "two"}]), "jsonl", ["one", "two"]),
        (b' [{"text": "one"}]', "json", ["one"]),
        (b"one\n\ntwo", "text, one document per line", ["one", "two"]),
        (gzip.compress(b"one\ntwo\n", mtime=0), "text, one document per line", ["one", "two"]),
        ("parquet", "parquet", ["one"]),
        ("parquet.gz", "parquet", ["one"]),
    ],
)
def test_standard_input_is_sniffed_and_can_be_read_twice(monkeypatch, data, kind, texts):
    if isinstance(data, str):
        packed = gzip.compress if data.endswith("gz") else bytes
        data = packed(parquet_bytes([{"text": "one"}]))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    corpus = open_corpus("-")
    assert [d.text for d in corpus] == texts
    assert [d.text for d in corpus] == texts
    assert f"standard input: read as {kind} (guessed" in corpus.guesses[0]
    assert next(corpus.shards()).read().label == "stdin"
    assert sum(shard.size for shard in corpus.shards()) == corpus.size


def test_standard_input_in_a_named_format(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one\ntwo\n")))
    (document,) = open_corpus("-", ReadOptions(input_format="text"))
    assert document == Document("stdin", "one\ntwo\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"text\tn\none\t2\n")))
    (document,) = open_corpus(Path("-"), ReadOptions(input_format="csv"))
    assert document == Document("stdin:2", "one", {"n": "2"})


def test_the_copy_of_standard_input_goes_with_the_corpus(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one\n")))
    corpus = open_corpus("-")
    assert len(list(tmp_path.iterdir())) == 1
    del corpus
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError):
        open_corpus([Path("-"), tmp_path / "missing.jsonl"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("given", ["", [""], {"a": ""}])
def test_an_empty_name_is_not_the_folder_that_one_is_in(given, tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("Not meant to be read.")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError):
        list(open_corpus(given))


def test_a_pipe_in_a_folder_is_left_out_and_not_waited_for(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "a b"}\n')
    os.mkfifo(tmp_path / "b.jsonl")
    assert [document.text for document in open_corpus(tmp_path)] == ["a b"]
