from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rote.core.document import Document
from rote.core.errors import InputError
from rote.corpus import Batch, DuplicateIds, Problems, SeenIds, _checks, open_corpus

from .files import complaint, jsonl_bytes, skipped


def test_the_same_id_twice_in_a_file_names_both_lines(write):
    rows = [{"id": i, "text": f"text {n}"} for n, i in enumerate("abcab")]
    path = write("a.jsonl", jsonl_bytes(rows))
    error = complaint(path)
    assert (error.file, error.line) == (str(path), 4)
    assert "the id 'a' is in line 1 already" in str(error)
    assert "--id-field" in str(error)
    texts, problems = skipped(path)
    assert texts == ["text 0", "text 1", "text 2"]
    assert [problem.line for problem in problems] == [4, 5]


def test_the_same_id_in_two_files_is_no_duplicate(write):
    paths = [write(name, '{"id": "x", "text": "one"}\n') for name in ("a.jsonl", "b.jsonl")]
    assert len(list(open_corpus(paths))) == 2


@given(st.lists(st.lists(st.integers(0, 60), max_size=20), max_size=12))
def test_duplicates_are_found_across_batches(batches):
    check, line = DuplicateIds("skip"), 0
    first: dict[int, int] = {}
    for ids in batches:
        lines = list(range(line + 1, line + len(ids) + 1))
        line += len(ids)
        expected = []
        for i, number in zip(ids, lines):
            if first.setdefault(i, number) != number:
                expected.append((number, f"the id '{i}' is in line {first[i]} already"))
        batch = Batch([Document(str(i), "x") for i in ids], "f", "f", lines, [])
        checked = check.check(batch)
        assert [(p.line, p.problem) for p in checked.problems] == expected
        assert checked.lines == [n for n in lines if n not in {p[0] for p in expected}]
        assert len(checked.documents) == len(checked.lines)


def test_ids_that_share_a_hash_are_no_duplicates(monkeypatch):
    monkeypatch.setattr(_checks, "hash_of", lambda identity: len(identity) % 2)
    check = DuplicateIds("skip")
    for line, ids in ((1, ["a", "bb", "c"]), (4, ["d", "bb", "e"]), (7, ["f", "a", "f"])):
        lines = list(range(line, line + 3))
        checked = check.check(Batch([Document(i, "x") for i in ids], "f", "f", lines, []))
        found = [(p.line, p.problem) for p in checked.problems]
        expected = {4: [(5, "bb", 2)], 7: [(8, "a", 1), (9, "f", 7)]}.get(line, [])
        assert found == [(n, f"the id '{i}' is in line {m} already") for n, i, m in expected]


def test_what_is_a_duplicate_does_not_depend_on_the_run():
    """Python's own hashes differ from run to run, and with them which ids would collide."""
    code = (
        "from rote.corpus import hash_id, SeenIds; print(hash_id(b'one'), "
        "SeenIds().take(['a', 'b', 'a'], [1, 2, 3]))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in "12"
    }
    assert len(said) == 1
    assert b"{2: 1}" in said.pop()


@settings(max_examples=25)
@given(st.lists(st.lists(st.text(max_size=3), max_size=8), max_size=8), st.sampled_from([0, 20]))
def test_seen_ids_are_those_of_a_dictionary(calls, in_memory):
    seen, plain, mark = SeenIds(in_memory or 1), {}, 0
    for ids in calls:
        marks = list(range(mark, mark + len(ids)))
        mark += len(ids)
        expected = {}
        for number, (identity, own) in enumerate(zip(ids, marks)):
            if plain.setdefault(identity, own) != own:
                expected[number] = plain[identity]
        assert seen.take(ids, marks) == expected


def test_a_duplicate_stops_unless_it_is_skipped():
    batch = Batch([Document("x", "a"), Document("x", "b")], "f", "f", [3, 8], [])
    with pytest.raises(InputError, match="f, line 8: the id 'x' is in line 3 already"):
        DuplicateIds().check(batch)


def test_problems_are_all_counted_and_some_kept():
    problems = Problems()
    problems.add(InputError(f"problem {i}") for i in range(2500))
    assert len(problems) == problems.count == 2500
    assert [problem.problem for problem in problems][-1] == "problem 999"
