from __future__ import annotations

import json

import pytest

from rote.corpus import ReadOptions, open_corpus

from .files import complaint, jsonl_bytes, skipped

GOOD = '{"id": "x", "text": "one"}\n'


def test_other_fields_go_to_meta_untouched(write):
    path = write("a.jsonl", '{"id": 7, "text": "one", "n": 1.5, "tags": ["a"], "id2": null}\n')
    (document,) = open_corpus(path)
    assert (document.id, document.text) == ("7", "one")
    assert document.meta == {"n": 1.5, "tags": ["a"], "id2": None}


def test_ids_are_file_and_line_where_no_field_holds_them(write):
    path = write("wp.v2.jsonl", '{"text": "one"}\n\n{"text": "two"}\n')
    assert [document.id for document in open_corpus(path)] == ["wp.v2:1", "wp.v2:3"]


def test_mark_and_windows_line_ends_are_accepted(write):
    path = write("a.jsonl", b'\xef\xbb\xbf{"text": "one"}\r\n{"text": "two"}\r\n')
    assert [document.text for document in open_corpus(path)] == ["one", "two"]


@pytest.mark.parametrize(
    ("line", "problem", "remedy"),
    [
        ('{"text": "two" "n": 1}', "malformed JSON at column 16", "--on-error skip"),
        ('{"text": "two"} {}', "malformed JSON at column 17", "--on-error skip"),
        ('{"text": "tw', "malformed JSON at column 10", "--on-error skip"),
        ("[1, 2]", "the line is a list, not a JSON object", "--on-error skip"),
        ('"two"', "the line is a string, not a JSON object", "--on-error skip"),
        ("null", "the line is null", "--on-error skip"),
        ("[" * 100_000, "JSON", "--on-error skip"),
        ("1" * 5000, "JSON", "--on-error skip"),
    ],
)
def test_a_broken_line_in_the_middle_is_named(write, line, problem, remedy):
    path = write("a.jsonl", GOOD + line + "\n" + GOOD.replace('"x"', '"y"'))
    error = complaint(path)
    assert (error.file, error.line) == (str(path), 2)
    assert problem in str(error)
    assert remedy in str(error)
    texts, problems = skipped(path)
    assert texts == ["one", "one"]
    assert [str(problem) for problem in problems] == [str(error)]


def test_bad_utf8_names_the_byte(write):
    path = write("a.jsonl", GOOD.encode() + b'{"text": "caf\xe9"}\n')
    error = complaint(path)
    assert (error.file, error.line) == (str(path), 2)
    assert "not valid utf-8: byte 0xe9 at offset 13" in str(error)
    assert "--encoding" in str(error)
    assert [d.text for d in open_corpus(path, ReadOptions(encoding="latin-1"))] == ["one", "café"]


def test_wide_encodings_are_read_when_named(write):
    rows = [{"text": f"Zeile {i} – 船"} for i in range(50)]
    path = write("a.jsonl", jsonl_bytes(rows).decode().encode("utf-16"))
    assert "--encoding, e.g. utf-16" in str(complaint(path))
    documents = open_corpus(path, ReadOptions(encoding="utf-16"))
    assert [d.text for d in documents] == [row["text"] for row in rows]


def test_a_json_array_under_the_wrong_name_gets_a_hint(write):
    path = write("a.jsonl", json.dumps([{"text": "one"}], indent=1))
    assert "--input-format json" in str(complaint(path))
    assert [d.text for d in open_corpus(path, ReadOptions(input_format="json"))] == ["one"]


@pytest.mark.parametrize("data", ["", "\n\n \n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_an_error(write, data):
    path = write("a.jsonl", data)
    error = complaint(path)
    assert error.file == str(path)
    assert "the file is empty" in str(error)
    assert skipped(path)[0] == []
