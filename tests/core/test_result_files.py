"""Saved results are read back whole, and what is wrong with a file is said."""

from __future__ import annotations

import copy
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from rote.core.errors import InputError
from rote.core.result import Interval, Result, SourceResult, panel_to_json, read_results
from rote.core.signature import Signature

RESULT = Result(
    measure="lexical",
    signature=Signature.of({"measure": "lexical"}),
    by=("source",),
    reference=None,
    interval=Interval(0.95, "by hand"),
    by_source={"a": SourceResult(3, 40, {"unique": 0.5}, {"unique": (0.4, 0.6)}, ("a note",))},
    tables={"values": ({"value": "unique", "title": "Unique"},)},
)


def written(folder: Path, content: object) -> Path:
    path = folder / "result.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def broken(*place: str, value: Any = None) -> dict[str, Any]:
    """The result with one thing in it replaced, or left out without a value."""
    data = copy.deepcopy(RESULT.to_dict())
    inside = data
    for name in place[:-1]:
        inside = inside[name]
    if value is None:
        del inside[place[-1]]
    else:
        inside[place[-1]] = value
    return data


def test_a_result_and_a_panel_come_back_as_they_were(tmp_path: Path) -> None:
    assert read_results(written(tmp_path, RESULT.to_json())) == [RESULT]
    assert read_results(written(tmp_path, panel_to_json([RESULT, RESULT]))) == [RESULT, RESULT]


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(RESULT.to_json()))
    assert read_results(Path("-")) == [RESULT]


def test_a_pipe_is_read_where_the_user_names_it() -> None:
    ends, begins = os.pipe()
    os.write(begins, RESULT.to_json().encode())
    os.close(begins)
    assert read_results(Path(f"/dev/fd/{ends}")) == [RESULT]
    os.close(ends)


def test_notes_interval_and_reference_may_be_missing(tmp_path: Path) -> None:
    data = RESULT.to_dict()
    for name in ("notes", "interval", "reference"):
        del data[name]
    found = read_results(written(tmp_path, data))[0]
    assert found.interval is None
    assert found.by_source == RESULT.by_source


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty"),
        ("  \n", "is empty"),
        ('{"schema": 1,\n oops}', "line 2: is not JSON"),
        ("[]", "is not a result: it contains a list, not an object"),
        ("3", "is not a result: it contains a number, not an object"),
        ({}, "has no 'schema'"),
        ({"schema": 2}, "has schema 2, but this version of rote reads schema 1"),
        ({"schema": 1}, "field 'measure': is missing"),
        ({"schema": 1, "panel": []}, "is a panel with no results"),
        ({"schema": 1, "panel": [3]}, r"field 'panel\[0\]': is a number"),
        ({"schema": 1, "panel": [{}]}, r"field 'panel\[0\].measure': is missing"),
        (broken("sources"), "field 'sources': is missing"),
        (broken("sources", value={"a": 3}), "field 'sources.a': is a number"),
        (broken("sources", value=[]), "field 'sources': is a list, not an object"),
        (broken("sources", "a", "words"), r"field 'sources\.a\.words': is missing"),
        (broken("sources", "a", "values", "unique", value="x"), "a.values.unique': is a string"),
        (broken("sources", "a", "values", "unique", value=True), "is true, not a number"),
        (
            broken("sources", "a", "intervals", "unique", value=[1]),
            "not an interval of two numbers",
        ),
        (broken("interval", value={"method": "x"}), "field 'interval.level': is missing"),
    ],
)
def test_what_is_wrong_is_said_with_the_name_of_the_file(
    tmp_path: Path, content: object, said: str
) -> None:
    with pytest.raises(InputError, match=rf"result\.json.*{said}"):
        read_results(written(tmp_path, content))


def test_a_result_without_sources_is_refused(tmp_path: Path) -> None:
    data = {**RESULT.to_dict(), "sources": {}}
    with pytest.raises(InputError, match="has no sources"):
        read_results(written(tmp_path, data))
    assert read_results(written(tmp_path, data), tables=True)[0].by_source == {}
    with pytest.raises(InputError, match="has no sources"):
        read_results(written(tmp_path, {**data, "tables": {}}), tables=True)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.json: cannot be read \(no such file"):
        read_results(tmp_path / "nowhere.json")
    path = tmp_path / "result.json"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not valid UTF-8 text"):
        read_results(path)
