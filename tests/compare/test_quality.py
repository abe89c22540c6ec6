"""Quality columns that users bring: per source or per text, in CSV or JSONL."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from rote.core.errors import InputError, UnknownName
from rote.studies._source_table import add_quality, read_quality
from tests.studies.saved import made, table

TABLE = table(made({name: {"unique": 0.5} for name in "abc"}))
BY_TASK = table(made({f"wp|{name}": {"unique": 0.5} for name in "abc"}, by=("task", "model")))


def written(path: Path, content: str) -> Path:
    path.write_text(content)
    return path


def test_one_row_per_source(tmp_path: Path) -> None:
    path = written(tmp_path / "q.csv", "source,comet,who\na,0.8,x\nb,0.7,y\nc,,z\n")
    columns, notes = read_quality(path, TABLE)
    assert [(column.name, column.quality) for column in columns] == [("comet", True)]
    assert columns[0].values["a"] == 0.8
    assert math.isnan(columns[0].values["c"])
    assert notes == []


def test_the_values_of_any_measure_are_quality(tmp_path: Path) -> None:
    found = made({"a": {"rouge_l": 0.5}, "b": {"rouge_l": 0.25}}, measure="rouge")
    path = written(tmp_path / "rouge.json", found.to_json())
    columns, notes = read_quality(path, TABLE)
    assert [(column.name, column.quality) for column in columns] == [("rouge.rouge_l", True)]
    assert columns[0].values == {"a": 0.5, "b": 0.25}
    assert notes == []
    both = written(
        tmp_path / "panel.json", f"[{found.to_json()}, {made({'a': {'x': 1}}).to_json()}]"
    )
    assert [c.name for c in read_quality(both, TABLE)[0]] == ["rouge.rouge_l", "lexical.x"]
    with pytest.raises(InputError, match="is not a saved result of rote"):
        read_quality(written(tmp_path / "other.json", '{"a": 1}'), TABLE)


def test_several_rows_of_a_source_are_averaged_and_that_is_said(tmp_path: Path) -> None:
    rows = [{"source": "a", "id": n, "rating": n, "ok": True} for n in (1, 2, 6)]
    rows += [{"source": "b", "id": 9, "rating": 4}, {"source": "z", "id": 9, "rating": 4}]
    path = written(tmp_path / "q.jsonl", "\n".join(map(json.dumps, rows)))
    columns, notes = read_quality(path, TABLE)
    assert [column.name for column in columns] == ["rating"]
    assert columns[0].values == {"a": 3.0, "b": 4.0}
    assert "the mean over the 1 to 3 rows of each source is taken" in notes[0]
    assert notes[1].endswith("not among the results, and left out: z")


def test_sources_over_several_fields_are_named_by_columns_or_whole(tmp_path: Path) -> None:
    path = written(tmp_path / "q.tsv", "task\tmodel\tx\nwp\ta\t1\nwp\tb\t2\n")
    assert read_quality(path, BY_TASK)[0][0].values == {"wp|a": 1, "wp|b": 2}
    path = written(tmp_path / "q.csv", "source,x\nwp|a,1\n")
    assert read_quality(path, BY_TASK)[0][0].values == {"wp|a": 1}
    path = written(tmp_path / "q.csv", "source,x\na,1\n")
    with pytest.raises(InputError, match=r"names none of the sources.*columns task, model"):
        read_quality(path, BY_TASK)


def test_columns_may_be_named(tmp_path: Path) -> None:
    one = written(tmp_path / "q.csv", "source,x,y,id\na,1,2,7\n")
    two = written(tmp_path / "r.csv", "source,z\na,5\n")
    names = [c.name for c in add_quality(TABLE, [one, two]).columns]
    assert names == ["lexical.unique", "x", "y", "z"]
    names = [c.name for c in add_quality(TABLE, [one, two], ["z", "x"]).columns]
    assert names == ["lexical.unique", "x", "z"]
    assert [c.name for c in add_quality(TABLE, [one], ["id"]).columns][1:] == ["id"]
    with pytest.raises(UnknownName, match="'zz'"):
        add_quality(TABLE, [one, two], ["zz"])
    with pytest.raises(UnknownName, match="did you mean"):
        add_quality(TABLE, [one], ["idd"])
    with pytest.raises(InputError, match="'x' is there already"):
        add_quality(TABLE, [one, one])


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("q.csv", "model,x\na,1\n", "has no column 'source'. It has: model, x"),
        ("q.csv", "source,x\n", "holds no rows"),
        ("q.csv", "", "holds no rows"),
        ("q.csv", "source,x\n,1\n", "line 2, field 'source': is empty"),
        ("q.csv", "source,x\na,good\n", "has no column of numbers. It has: x"),
        ("q.jsonl", "oops\n", r"line 1: is not JSON"),
        ("q.jsonl", "[1]\n", "line 1: is not an object"),
        ("q.xlsx", "", r"Give .csv, .tsv, .jsonl or .json"),
    ],
)
def test_what_is_wrong_is_said_with_the_name_of_the_file(
    tmp_path: Path, name: str, content: str, said: str
) -> None:
    with pytest.raises(InputError, match=f"{name}.*{said}"):
        read_quality(written(tmp_path / name, content), TABLE)


def test_a_word_in_a_column_that_was_asked_for_is_an_error(tmp_path: Path) -> None:
    path = written(tmp_path / "q.csv", "source,x\na,1\nb,good\n")
    with pytest.raises(InputError, match="line 3, field 'x': 'good' is not a number"):
        read_quality(path, TABLE, ["x"])
    with pytest.raises(InputError, match="cannot be read"):
        read_quality(tmp_path / "nowhere.csv", TABLE)
