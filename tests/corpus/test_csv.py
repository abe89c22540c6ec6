from __future__ import annotations

import pytest

from rote.corpus import ReadOptions, open_corpus

from .files import complaint, skipped


def test_rows_carry_the_line_they_begin_at(write):
    path = write("a.csv", 'text,n\r\n"one\r\nmore",1\r\n\r\ntwo,2\r\n')
    (shard,) = open_corpus(path).shards()
    batch = shard.read()
    assert batch.lines == [2, 5]
    assert [d.text for d in batch.documents] == ["one\r\nmore", "two"]
    assert [d.id for d in batch.documents] == ["a:2", "a:5"]


def test_semicolons_are_found_and_said(write):
    corpus = open_corpus(write("a.csv", "text;n\none, or so;1\n"))
    assert [(d.text, d.meta) for d in corpus] == [("one, or so", {"n": "1"})]
    assert "columns are separated by semicolons" in corpus.guesses[0]


@pytest.mark.parametrize(
    ("row", "problem", "field"),
    [
        (b"two,2,3", "the row has 3 columns, the header 2", None),
        (b"two", "the row has 1 column, the header 2", None),
        (b"t\0wo,2", "a NUL byte at character 1", "text"),
        (b"caf\xe9,2", "not valid utf-8: byte 0xe9 at character 3", "text"),
        (b'"two"x,2', "malformed CSV", None),
        (b",2", "the text is empty", "text"),
    ],
)
def test_a_bad_row_is_named(write, row, problem, field):
    path = write("a.csv", b"text,n\none,1\n" + row + b"\nthree,3\n")
    error = complaint(path)
    assert (error.file, error.line, error.field) == (str(path), 3, field)
    assert problem in str(error)
    assert "--on-error skip" in str(error)
    texts, problems = skipped(path)
    assert texts == ["one", "three"]
    assert len(problems) == 1


def test_a_quote_left_open_names_the_row_where_it_begins(write):
    path = write("a.csv", 'text,n\none,1\n"two,2\nthree,3\n')
    error = complaint(path)
    assert error.line == 3
    assert "a quote is not closed" in str(error)


def test_two_columns_of_one_name_are_refused(write):
    error = complaint(write("a.csv", "text,n,n\none,1,2\n"))
    assert (error.line, error.field) == (1, "n")
    assert "Rename" in str(error)


@pytest.mark.parametrize(
    ("data", "problem"), [("", "the file is empty"), ("text,n\n", "no rows follow the header")]
)
def test_a_table_without_rows(write, data, problem):
    path = write("a.csv", data)
    assert problem in str(complaint(path))
    assert skipped(path)[0] == []


def test_the_mark_of_spreadsheets_is_no_part_of_a_name(write):
    path = write("a.csv", b"\xef\xbb\xbftext,n\r\none,1\r\n")
    assert [d.meta for d in open_corpus(path)] == [{"n": "1"}]


def test_long_fields_and_other_encodings(write):
    long = "word " * 100_000
    path = write("a.tsv", f"text\tn\n{long}\t1\ncafé\t2\n".encode("utf-16"))
    texts = [d.text for d in open_corpus(path, ReadOptions(encoding="utf-16"))]
    assert texts == [long, "café"]
