from __future__ import annotations

import json

import pytest

from rote.corpus import json as json_reader
from rote.corpus import open_corpus

from .files import complaint, skipped


@pytest.fixture
def _small_steps(monkeypatch):
    monkeypatch.setattr(json_reader, "_STEP", 3)


ROWS = [{"id": str(i), "text": f'line "{i}" \\ é', "n": [i, {"a": -1.5e3}]} for i in range(30)]


@pytest.mark.usefixtures("_small_steps")
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_an_array_is_read_bit_by_bit(write, indent, ascii_only):
    data = json.dumps(ROWS, indent=indent, ensure_ascii=ascii_only)
    documents = list(open_corpus(write("a.json", data)))
    assert [d.text for d in documents] == [row["text"] for row in ROWS]
    assert [d.meta["n"] for d in documents] == [row["n"] for row in ROWS]


@pytest.mark.usefixtures("_small_steps")
def test_an_object_that_holds_one_list_of_records(write):
    data = {"version": 1, "tags": ["a", "b"], "none": [], "data": ROWS, "end": {"a": [1]}}
    assert len(list(open_corpus(write("a.json", json.dumps(data))))) == 30


def test_an_object_without_a_list_is_one_record(write):
    (document,) = open_corpus(write("a.json", '{"text": "one", "tags": ["a"]}'))
    assert (document.text, document.meta) == ("one", {"tags": ["a"]})


def test_one_object_per_line_is_noticed(write):
    corpus = open_corpus(write("a.json", '{"text": "one"}\n{"text": "two"}\n'))
    assert [d.text for d in corpus] == ["one", "two"]
    assert "read as jsonl" in corpus.guesses[0]


@pytest.mark.parametrize(
    ("data", "line", "problem", "before"),
    [
        ('[\n{"text": "one"},\n{"text": "two" "n": 1}]', 3, "malformed JSON at column 16", ["one"]),
        ('[\n{"text": "one"}\n{"text": "two"}]', 3, "column 1 (',' expected)", ["one"]),
        ('[\n{"text": "one"},\n{"text": "tw', 3, "the file is cut short", ["one"]),
        ('[\n{"text": "one"},\n', 3, "the file is cut short", ["one"]),
        ('[\n{"text": "one"}]\nmore', 3, "text follows the end", ["one"]),
        ('{"a": [{"text": "one"}],\n"b": [{"text": "two"}]}', 2, "two lists of records", ["one"]),
        ("12", 1, "neither a list nor an object", []),
    ],
)
@pytest.mark.parametrize("step", [3, 1000])
def test_broken_json_names_line_and_column(write, monkeypatch, data, line, problem, before, step):
    monkeypatch.setattr(json_reader, "_STEP", step)
    path = write("a.json", data)
    error = complaint(path)
    assert (error.file, error.line) == (str(path), line)
    assert problem in str(error)
    texts, problems = skipped(path)
    assert texts == before
    assert len(problems) == 1


@pytest.mark.parametrize("data", ["", " \n", "[]", "{}"])
def test_nothing_in_it_is_an_error(write, data):
    assert "the file is empty" in str(complaint(write("a.json", data)))


def test_a_record_that_is_no_object(write):
    path = write("a.json", '[{"text": "one"}, 12, null]')
    error = complaint(path)
    assert error.line == 2
    assert "the record is a number, not an object" in str(error)
    assert skipped(path)[0] == ["one"]


def test_bad_utf8_in_an_array(write):
    path = write("a.json", b'[{"text": "one"},\n{"text": "caf\xe9"}]')
    error = complaint(path)
    assert (error.file, error.line) == (str(path), 2)
    assert "byte 0xe9" in str(error)
    assert "--encoding" in str(error)
    assert skipped(path)[0] == ["one"]
