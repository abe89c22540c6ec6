"""JSON of whoever it comes from is a value or an error that names file, line and field."""

from __future__ import annotations

import ast
import gc
import json
import os
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import rote
from rote.core.errors import InputError
from rote.core.files import open_regular
from rote.core.json_reader import (
    DEEPEST,
    JsonObject,
    as_json,
    is_too_deep,
    parse_json,
    read_json,
    read_json_lines,
)
from rote.core.model import Message
from rote.corpus import open_corpus
from rote.curate.corpus_reader import json_line
from rote.models import chat
from rote.search.patterns import read_patterns

ROOT = Path(rote.__file__).parent


def test_json_is_read_in_one_place() -> None:
    found = set()
    for path in ROOT.rglob("*.py"):
        name = path.relative_to(ROOT).as_posix()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "json":
                found.add((name, "from json import"))
            elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "json":
                found.add((name, node.attr))
    kept = ("dumps", "dump", "JSONDecodeError", "encoder")
    left = {(name, attribute) for name, attribute in found if attribute not in kept}
    assert left == {("core/json_reader.py", "JSONDecoder")}


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


def depth(value: Any) -> int:
    """The slow twin."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return isinstance(value, (dict, list)) + max(map(depth, inner), default=0)


@pytest.mark.parametrize(
    ("text", "problem", "line"),
    [
        ("", "it is empty", None),
        (" \n", "it is empty", None),
        ('{"a": 1,\n"b" 2}', "expecting ':' delimiter", 2),
        ('{"a" 2}', "expecting ':' delimiter", None),
        (nested(DEEPEST + 1), "nested more than 200 levels", None),
        (nested(100_000), "nested more than 200 levels", None),
        ('{"a": ' * 100_000, "nested more than 200 levels", None),
        ("9" * 5_000, "a number has too many digits", None),
        (b'{"a": "\xff"}', "not valid UTF-8 text: byte 7", None),
    ],
)
def test_what_is_no_json_is_an_error_of_the_input(
    text: str | bytes, problem: str, line: int | None
) -> None:
    for strict in (False, True):
        with pytest.raises(InputError) as caught:
            parse_json(text, "a.json", remedy="Mend it", strict=strict)
        assert problem in caught.value.problem
        assert (caught.value.file, caught.value.line) == ("a.json", line)
        assert caught.value.remedy == "Mend it"


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', "[NaN]", "[-Infinity]", "[Infinity]"])
def test_what_reads_in_two_ways_is_refused_where_that_matters(text: str) -> None:
    parse_json(text)
    with pytest.raises(InputError, match=r"occurs twice in one object|is not a JSON number"):
        parse_json(text, strict=True)


@pytest.mark.parametrize("text", ['{"a": [1, null, "[[[["]}', nested(DEEPEST), '"é"', "1e400"])
def test_json_is_what_the_library_reads(text: str) -> None:
    for strict in (False, True):
        assert parse_json(text, strict=strict) == json.loads(text)
        assert parse_json(b"\xef\xbb\xbf" + text.encode(), strict=strict) == json.loads(text)


@pytest.mark.parametrize("levels", range(DEEPEST - 2, DEEPEST + 3))
def test_depth_is_that_of_the_deepest_branch(levels: int) -> None:
    objects = '{"a":' * levels + "1" + "}" * levels
    for text in (nested(levels), f"[1, {nested(levels - 1)}, [[]]]", objects):
        value = json.loads(text)
        assert is_too_deep(text, value) == (depth(value) > DEEPEST)


class Ring:
    """Nothing but the collector lets go of it."""

    def __init__(self) -> None:
        self.ring = self


@pytest.fixture
def thresholds() -> Iterator[Iterator[int]]:
    """Of the collector, so that it begins at any depth of a recursion."""
    before = gc.get_threshold()
    gc.freeze()  # what is there already would be looked through every time

    def settings() -> Iterator[int]:
        for threshold in range(50, 4_000, 50):
            gc.collect()
            gc.set_threshold(threshold)
            yield threshold
            gc.set_threshold(*before)

    yield settings()
    gc.set_threshold(*before)
    gc.unfreeze()


def end(ended: list[int], threshold: int, calls: int) -> None:
    """What needs a number of calls within each other."""
    if calls:
        end(ended, threshold, calls - 1)
    else:
        ended.append(threshold)


def nest(record: dict[str, Any], levels: int) -> dict[str, Any]:
    return nest({"inner": record}, levels - 1) if levels else record


DEEP_RECORD = nest(nest(nest({}, 500), 500), 500)
DEEP: dict[str, Callable[[Path], object]] = {
    "a.json": read_json,
    "a.jsonl": lambda path: list(open_corpus(path)),
    "texts.json": lambda path: list(open_corpus(path)),
    "patterns.json": lambda path: read_patterns(str(path)),
    "patterns.toml": lambda path: read_patterns(str(path)),
    "written": lambda path: json_line(DEEP_RECORD),
    "template": lambda path: chat.ChatTemplate(
        "{% macro again() %}{{ again() }}{% endmacro %}{{ again() }}"
    ).render([Message("user", "text")]),
}


@pytest.mark.parametrize("name", DEEP)
def test_what_ends_while_a_text_without_end_is_read_has_room_for_it(
    name: str, tmp_path: Path, thresholds: Iterator[int]
) -> None:
    path = tmp_path / name
    path.write_text(("patterns = " if path.suffix == ".toml" else "") + "[" * 100_000)
    for threshold in thresholds:
        ended: list[int] = []
        weakref.finalize(Ring(), end, ended, threshold, 60)
        with pytest.raises(InputError):
            DEEP[name](path)
        gc.collect()
        assert ended == [threshold]


def test_who_expects_a_recursion_without_end_leaves_that_room() -> None:
    expecting = [path for path in ROOT.rglob("*.py") if "RecursionError" in path.read_text("utf-8")]
    assert expecting
    for path in expecting:
        text = path.read_text("utf-8")
        assert "CollectorPaused" in text or "JsonDecoder" in text, path


def test_many_brackets_are_not_many_levels() -> None:
    text = json.dumps([["[[[{{{"]] * 1_000)
    assert parse_json(text) == [["[[[{{{"]] * 1_000


def test_a_file_is_read_up_to_a_size(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("[1, 2, 3]")
    assert read_json(path, largest=9) == [1, 2, 3]
    with pytest.raises(InputError, match=r"a\.json: exceeds the limit for JSON \(8 bytes"):
        read_json(path, largest=8)


def test_a_pipe_under_the_name_of_a_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.json")
    for read in (read_json, open_regular, lambda path: list(read_json_lines(path))):
        with pytest.raises(OSError, match="Not a regular file"):
            read(tmp_path / "a.json")
    with pytest.raises(IsADirectoryError):
        read_json(tmp_path)
    with pytest.raises(OSError, match="Not a regular file"):
        read_json(Path("/dev/zero"))


def test_a_pipe_that_the_user_names_is_read(tmp_path: Path) -> None:
    ends, begins = os.pipe()
    os.write(begins, b'{"a": 1}\n{"a": 2}\n')
    os.close(begins)
    rows = read_json_lines(Path(f"/dev/fd/{ends}"), regular=False)
    assert [(line, row.count("a")) for line, row in rows] == [(1, 1), (2, 2)]
    os.close(ends)


def test_lines_are_objects_with_their_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n\n{"a": "x"}\n[]\n')
    rows = read_json_lines(path)
    assert next(rows)[1].count("a") == 1
    number, row = next(rows)
    with pytest.raises(InputError, match=r"a\.jsonl, line 3, field 'a': is a string"):
        row.count("a")
    with pytest.raises(InputError, match=r"a\.jsonl, line 4: is a list, not an object"):
        next(rows)
    assert number == 3


HELD = JsonObject.of(
    {
        "text": "t",
        "count": 3,
        "number": 0.5,
        "flag": True,
        "list": [1],
        "texts": ["a", "b"],
        "inner": {"size": 1},
        "rows": [{"n": 1}, {"n": "x"}],
        "minus": -1,
        "huge": 10**400,
        "nan": float("nan"),
        "null": None,
        "twice": ["a", "b", "a"],
        "half": 1.5,
    },
    "a.json",
)


def test_fields_have_the_type_that_is_asked_for() -> None:
    assert (HELD.text("text"), HELD.count("count"), HELD.flag("flag")) == ("t", 3, True)
    assert (HELD.number("number"), HELD.number("count"), HELD.array("list")) == (0.5, 3, [1])
    assert HELD.texts("texts") == ("a", "b")
    assert HELD.object("inner").count("size") == 1
    assert [row.values["n"] for row in HELD.objects("rows")] == [1, "x"]
    HELD.check({"text": str, "count": int, "inner": {"size": int}, "gone?": str, "null?": str})


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"gone": int}, "field 'gone': is missing"),
        ({"text": int}, "field 'text': is a string, not a whole number of at least 0"),
        ({"flag": int}, "field 'flag': is true, not a whole number"),
        ({"minus": int}, "field 'minus': is -1, not a whole number of at least 0"),
        ({"huge": int}, "field 'huge': is a number, not a whole number of at least 0"),
        ({"half": int}, "field 'half': is a number, not a whole number of at least 0"),
        ({"nan": float}, "field 'nan': is nan, not a finite number"),
        ({"flag": float}, "field 'flag': is true, not a number"),
        ({"null": str}, "field 'null': is null, not a string"),
        ({"count": bool}, "field 'count': is a number, not true or false"),
        ({"inner": list}, "field 'inner': is an object, not a list"),
        ({"list": dict}, "field 'list': is a list, not an object"),
        ({"text?": int}, "field 'text': is a string"),
        ({"inner": {"size": str}}, "field 'inner.size': is a number, not a string"),
        ({"rows": [{"n": int}]}, r"field 'rows\[1\]\.n': is a string"),
        ({"texts": [{"n": int}]}, r"field 'texts\[0\]': is a string, not an object"),
    ],
)
def test_an_error_names_file_and_field(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=rf"a\.json, {said}"):
        HELD.check(fields)


def test_names_stand_once_and_within_the_folder() -> None:
    with pytest.raises(InputError, match=r"field 'twice\[2\]': is 'a', as twice\[0\] is"):
        HELD.texts("twice")
    for name in ("", ".", "..", "../b", "a/b", "/b", "a\\b", "a\0b"):
        with pytest.raises(InputError, match=r"field 'files\[1\]\.file': is .* is not in"):
            HELD.check_names(["a", name], "files", ".file")
    HELD.check_names(["a", "...", "b.jsonl", "A"], "files")


def test_a_message_does_not_fill_the_screen() -> None:
    with pytest.raises(InputError) as caught:
        HELD.check_once(["x" * 10**6] * 2, "names")
    assert len(str(caught.value)) < 200


def test_values_as_json_holds_them() -> None:
    assert as_json({1: (2, 3)}) == {"1": [2, 3]}
