"""No command writes over what it reads: every input of every command against every output."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click
import pytest

from rote.cli import _output
from rote.cli._output import FOLDER, LINES, NAMES, REPORT, RESULT
from rote.cli._output import check_places as check
from rote.cli.main import rote
from rote.core.errors import OptionError
from tests.cli.calls import commands, make_once
from tests.kit import invoke

READ = {
    "authors",
    *("files", "ids", "idx", "inputs", "join", "prompts", "result", "results"),
    *("about", "corpus", "bertscore", "comet", "corpus", "deciles", "judge", "key", "model"),
    *("passages", "perturbed", "phrases_from", "placebo", "quality", "subset", "tokenizer"),
    "train",
}
"""Parameters that name a file or a folder; --inputs is a field."""
ELSEWHERE = {"store", "what"}
"""Of `rote serve`, which writes to a store of its own."""
ENDINGS = {RESULT: ".json", REPORT: ".html", FOLDER: "", NAMES: "", LINES: ".jsonl"}


CONTEXT = click.Context(rote)


@pytest.fixture(autouse=True)
def made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    make_once(monkeypatch)


def inputs(command: click.Command) -> list[click.Parameter]:
    return [p for p in command.params if p.name in READ and p.metavar != "FIELD"]


def outputs(command: click.Command) -> list[click.Parameter]:
    return [p for p in command.params if getattr(p, "writes", None) is not None]


PAIRS = [
    pytest.param(name, read, written, id=f"{name}: {read.name} and {written.name}")
    for name, command in commands().items()
    for place, read in enumerate(inputs(command))
    for number, written in enumerate(outputs(command))
    # Every input with the first output and every output with the first input: all are compared in
    # one place. --tokenizer of a measure is a name or a file, never a folder.
    if place == 0 or number == 0
    if read.metavar or isinstance(read, click.Argument) or ENDINGS.get(written.writes) != ""  # type: ignore[attr-defined]
]


def test_every_parameter_that_holds_a_path_is_known() -> None:
    for name, command in commands().items():
        for parameter in command.params:
            kind = parameter.type
            holds = isinstance(kind, click.Path) or Path in (
                getattr(kind, "func", None),
                getattr(kind, "item", None),
            )
            says = (getattr(parameter, "help", None) or "").startswith("Write ")
            if parameter.name in ELSEWHERE or not (holds or says):
                continue
            assert parameter.name in READ or parameter in outputs(command), (name, parameter.name)


def asked(
    name: str, read: click.Parameter, place: str, written: click.Parameter, target: str
) -> list[str]:
    """A call in which one parameter reads a place and another writes to one."""
    words = name.split()
    for parameter in commands()[name].params:
        if isinstance(parameter, click.Argument):
            words.append(place if parameter.name == read.name else "gone")
    if isinstance(read, click.Option):
        words += [read.opts[-1], place]
    return [*words, written.opts[-1], target]


class Call:
    """A call that is refused at the shell; the same with other places is asked of what refused it,
    since to parse all words of a command again takes long."""

    def __init__(self, words: list[str], patch: pytest.MonkeyPatch) -> None:
        kept: list[Any] = []
        patch.setattr(_output, "check_places", lambda *given: kept.append(given) or check(*given))
        found = invoke(*words)
        assert isinstance(found.exception, OptionError), (words, found.output, found.exception)
        assert "overwrite the input" in str(found.exception), found.exception
        ((self.params, self.given),) = kept

    def refused(self, **places: str) -> None:
        given = {**self.given}
        for parameter in self.params:
            if place := places.get(parameter.name or ""):
                several = parameter.nargs == -1 or parameter.multiple
                value = parameter.process_value(CONTEXT, (place,) if several else place)
                assert type(value) is type(given[parameter.name])
                given[parameter.name] = value
        with pytest.raises(OptionError, match="overwrite the input"):
            check(self.params, given)


@pytest.mark.parametrize(("name", "read", "written"), PAIRS)
def test_an_input_is_not_written_over(
    name: str,
    read: click.Parameter,
    written: click.Parameter,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    kind: Any = written.writes  # type: ignore[attr-defined]
    ending = ENDINGS.get(kind) if not isinstance(kind, tuple) else kind[-1]
    data = tmp_path / "kept" / f"data{ending}"
    data.parent.mkdir()
    if ending:
        data.write_text("kept")
        link, hard = tmp_path / f"link{ending}", tmp_path / f"hard{ending}"
        link.symlink_to(data)
        os.link(data, hard)
        targets = [str(data), f"kept/../kept/data{ending}", str(link), str(hard)]
    else:
        data.mkdir()
        (data / "texts.jsonl").write_text("kept")
        (tmp_path / "link").symlink_to(data)
        targets = [str(data), "kept/../kept/data", str(tmp_path / "link")]
    places = [str(data), f"kept/../kept/data{ending}"]
    if read.metavar and ("M" in read.metavar or "=" in read.metavar):
        places += [f"name=numpy:{data}", f"numpy:{data}"]
    call = Call(asked(name, read, places[0], written, targets[0]), monkeypatch)

    def refused(place: str, target: str) -> None:
        call.refused(**{read.name or "": place, written.name or "": target})

    # Each way to name the one, and each way to name the other.
    for place in places[1:]:
        refused(place, targets[0])
    for target in targets[1:]:
        refused(places[0], target)
    named = read.metavar is not None or isinstance(read, click.Argument)
    if ending and named:
        # One of the files of a folder, or of those that a pattern finds.
        refused(str(data.parent), str(data))
        refused(f"kept/*{ending}", str(data))
    elif kind == FOLDER:
        refused(str(data / "texts.jsonl"), str(data))
    held = data if ending else data / "texts.jsonl"
    assert held.read_text() == "kept"


def test_what_is_no_input_is_written_over_and_new_files_may_stand_beside_inputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("texts").mkdir()
    Path("human").mkdir()
    Path("human/old.json").write_text("old")
    record = '{"id": "%d", "text": "A plain text.", "source": "human"}\n'
    Path("texts/one.jsonl").write_text("".join(record % number for number in range(3)))
    asked = ("--by", "source", "--reference", "human", "--permutations", "0", "-q", "-o")
    for target in ("human/old.json", "texts/new.json"):
        found = invoke("lexical", "texts/one.jsonl", *asked, target)
        assert found.exit_code == 0, found.exception
        assert Path(target).read_text().startswith("{")


def test_two_outputs_do_not_share_a_file(tmp_path: Path) -> None:
    path = str(tmp_path / "t.json")
    found = invoke("lexical", "gone", "-o", path, "--figure", path)
    assert "t.json is the target of both -o and --figure: choose different files" in str(
        found.exception
    )


@pytest.mark.parametrize("name", commands())
def test_what_is_written_beside_a_result_does_not_go_to_standard_output(name: str) -> None:
    command = commands()[name]
    gone = ["gone" for p in command.params if isinstance(p, click.Argument)]
    for written in outputs(command):
        folder = written.writes in (FOLDER, NAMES)  # type: ignore[attr-defined]
        if folder or written.name != "output":
            found = invoke(*name.split(), *gone, written.opts[-1], "-")
            assert "would be standard output" in str(found.exception), written.name


def test_the_name_of_a_shape_is_no_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = {"output": Path("tiny"), "from_config": "tiny", "files": ("pairs.jsonl",)}
    for _ in range(2):  # also when the models are there, and the command goes on
        check(commands()["train finetune"].params, given)
        (tmp_path / "tiny").mkdir(exist_ok=True)
    with pytest.raises(OptionError, match="overwrite"):
        check(commands()["train finetune"].params, given | {"model": "tiny"})
