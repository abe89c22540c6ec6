"""Every study is a function that takes what people have at hand, and says what the shell says."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import rote
from rote.cli.main import rote as command
from tests.cli.calls import World
from tests.kit import read_jsonl
from tests.test_inputs import DataSet


def _polars(rows: Sequence[dict[str, Any]]) -> Any:
    import polars

    return polars.DataFrame(rows)


def _pandas(rows: Sequence[dict[str, Any]]) -> Any:
    if find_spec("pandas") is None:
        pytest.skip("pandas is not installed")
    import pandas

    return pandas.DataFrame(rows)


KINDS: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "list": list,
    "polars": _polars,
    "pandas": _pandas,
    "dataset": DataSet,
}
STUDIES = ("evaluate", "popularity", "memorization", "lexical")


def asked(name: str, world: World) -> tuple[str, dict[str, Any], list[str]]:
    """A file, the keywords of a call, and the same as flags."""
    model, index = ("--model", world.model), ("--corpus", world.index)
    calls: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
        "evaluate": (world.items, {"model": world.model}, model),
        "popularity": (world.items, {"corpus": world.index, "n": 2}, (*index, "-n", "2")),
        "memorization": (
            world.items,
            {"model": world.model, "corpus": world.index, "n": 2, "member": "member"},
            (*model, *index, "-n", "2", "--member", "member"),
        ),
        "lexical": (world.texts, {"by": "source"}, ("--by", "source")),
    }
    path, keywords, flags = calls[name]
    return path, keywords, [name, path, *flags, "--json", "-q"]


@pytest.mark.parametrize("name", STUDIES)
def test_paths_records_and_frames_give_what_the_shell_gives(name: str, world: World) -> None:
    path, keywords, words = asked(name, world)
    function = getattr(rote, name.replace("-", "_"))
    told = CliRunner().invoke(command, words)
    assert told.exit_code == 0, (told.output, told.exception)
    assert json.loads(function(path, **keywords).to_json()) == json.loads(told.stdout)
    rows = read_jsonl(Path(path))
    found = {kind: function(made(rows), **keywords) for kind, made in KINDS.items() if _has(kind)}
    first = found.pop("list")
    assert [source.values for source in first.by_source.values()]
    for kind, other in found.items():
        assert other.by_source.keys() == first.by_source.keys(), kind
        assert json.loads(other.to_json())["sources"] == json.loads(first.to_json())["sources"]


def _has(kind: str) -> bool:
    return kind != "pandas" or find_spec("pandas") is not None


def test_an_opened_index_is_as_good_as_its_name(world: World) -> None:
    for name in ("popularity", "memorization"):
        path, keywords, _ = asked(name, world)
        opened = {**keywords, "corpus": rote.open_index(world.index)}
        assert getattr(rote, name)(path, **opened) == getattr(rote, name)(path, **keywords)


def test_an_index_in_memory_counts_and_is_signed_by_what_it_holds(world: World) -> None:
    path, keywords, _ = asked("popularity", world)
    one, same, other = (
        rote.popularity(path, **{**keywords, "corpus": rote.index(texts)})
        for texts in (["with a key"], ["with a key"], ["with a hen"])
    )
    assert one == same
    assert one.signature != other.signature


@pytest.mark.parametrize("name", ["correlate", "factors"])
def test_results_are_files_or_what_measures_gave(name: str, world: World) -> None:
    path = world.results if name == "correlate" else world.swept
    keywords: dict[str, Any] = {"values": "all"}
    keywords |= {"over": "temperature"} if name == "factors" else {}
    function, read = getattr(rote, name), rote.Result.from_json(Path(path).read_text())
    from_file = function(path, **keywords)
    assert from_file == function([Path(path)], **keywords)
    assert from_file.by_source == function(read, **keywords).by_source
    assert from_file.tables == function({"mine": read}, **keywords).tables
    with pytest.raises(rote.InputError, match="no results"):
        function([], **keywords)


def test_records_are_written_where_they_are_asked_for(world: World, tmp_path: Path) -> None:
    path, keywords, words = asked("evaluate", world)
    result = rote.evaluate(path, **keywords, write=tmp_path / "a.jsonl")
    told = CliRunner().invoke(command, [*words, "-o", str(tmp_path / "b.jsonl")])
    assert told.exit_code == 0, told.output
    assert len(result.records) == 4
    assert (tmp_path / "a.jsonl").read_text() == (tmp_path / "b.jsonl").read_text()
