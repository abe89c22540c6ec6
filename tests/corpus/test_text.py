from __future__ import annotations

from rote.corpus import ReadOptions, open_corpus

from .files import complaint, skipped


def read(path, **options):
    batches = [shard.read() for shard in open_corpus(path, ReadOptions(**options)).shards()]
    return [(n, d.id, d.text) for b in batches for n, d in zip(b.lines, b.documents)]


def test_one_document_per_file_line_or_paragraph(write):
    path = write("a.txt", b"\xef\xbb\xbfone\r\ntwo\r\n \r\n\r\n  three\n")
    assert read(path) == [(1, "a", "one\ntwo\n \n\n  three\n")]
    assert read(path, plain="line") == [(1, "a:1", "one"), (2, "a:2", "two"), (5, "a:5", "  three")]
    assert read(path, plain="paragraph") == [(1, "a:1", "one\ntwo"), (5, "a:5", "  three")]
    assert "one document per file" in open_corpus(path).guesses[0]
    assert open_corpus(path, ReadOptions(plain="line")).guesses == []


def test_a_bad_byte_is_named_in_every_mode(write):
    path = write("a.txt", b"one\n\nna\xefve\nmore\n\nthree")
    rest = {"file": [], "line": ["one", "more", "three"], "paragraph": ["one", "three"]}
    for plain, texts in rest.items():
        error = complaint(path, plain=plain)
        assert (error.file, error.line) == (str(path), 3)
        assert "byte 0xef at offset 2" in str(error)
        assert "--encoding" in str(error)
        assert skipped(path, plain=plain)[0] == texts


def test_one_empty_file_among_others_is_skipped(write, tmp_path):
    write("f/1.txt", "one")
    empty = write("f/2.txt", "\n")
    write("f/3.txt", "three")
    error = complaint(tmp_path / "f")
    assert error.file == str(empty)
    assert "the file is empty" in str(error)
    assert skipped(tmp_path / "f")[0] == ["one", "three"]


def test_many_small_files_make_few_shards(write, tmp_path, monkeypatch):
    monkeypatch.setattr("rote.corpus._linewise.SHARD_BYTES", 10)
    for i in range(6):
        write(f"f/{i}.txt", f"text{i}")
    corpus = open_corpus(tmp_path / "f")
    assert [shard.size for shard in corpus.shards()] == [10, 10, 10]
    assert [d.id for d in corpus] == list("012345")
