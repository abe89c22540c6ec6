"""Where results go, over all commands: forms, endings, names, standard output, signatures."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from rote.cli import _progress
from rote.cli._output import LINES
from rote.core import plugins
from rote.core.errors import OptionError
from rote.core.progress import Asking, Silent, Step, Steps
from rote.report.terminal import strip_controls
from tests.cli.calls import NAMES, World, commands, make_once, measure_once, writing
from tests.kit import invoke
from tests.measure.test_contract import StandIn

RESULTS = writing("result")
LISTS = {"count": "counts", "search": "places", "top": "ngrams", "trace": "spans"}
LISTS |= {"index originals": "lengths"}
ODD = (".xlsx", ".parquet", ".pdf", ".html", ".jsonl", ".docx", ".v2")
HONOURED = {
    "trace": (".html",),
    **dict.fromkeys(
        ("evaluate", "perturb", "originality", "templates", "judge model"), (".jsonl",)
    ),
    "diversity": (".parquet",),
}
NAMING = [name for name in RESULTS if name not in LISTS]
KEPT: dict[str, Any] = {}
OF_ITEMS = ("evaluate", "memorization", "perturb", "popularity")


@pytest.fixture(autouse=True)
def no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor as many half-samples as are usual: how many there are is not what is tested."""
    monkeypatch.setattr("rote.annotate.embeddings.get", lambda name, **_: StandIn())
    monkeypatch.setattr("rote.compare.intervals.HALF_SAMPLES", 40)


@pytest.fixture(autouse=True)
def measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forms are made from the same results: every measure and study runs once."""
    make_once(monkeypatch)
    measure_once(monkeypatch, KEPT)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No command writes where nobody asked it to."""
    monkeypatch.chdir(tmp_path)
    yield
    assert not (tmp_path / "-").exists()


def run(arguments: list[str]) -> Result:
    return invoke(*arguments)


def done(arguments: list[str]) -> str:
    found = run(arguments)
    assert found.exit_code == 0, (found.output, found.exception)
    return found.stdout


@cache
def printed(*arguments: str) -> str:
    """What a command prints; to ask it once is enough."""
    return done(list(arguments))


def refused(arguments: list[str]) -> str:
    found = run(arguments)
    assert isinstance(found.exception, OptionError), (found.output, found.exception)
    return str(found.exception)


def test_every_command_that_writes_is_known() -> None:
    kinds = {
        *RESULTS,
        *writing("report"),
        *writing("folder"),
        *writing("names"),
        *writing(LINES),
        *writing((".html",)),
    }
    assert kinds == {
        name
        for name, command in commands().items()
        if any(parameter.name == "output" for parameter in command.params)
    }


@pytest.mark.parametrize("name", RESULTS)
def test_an_ending_that_is_not_honoured_is_refused_before_anything_is_read(
    name: str, world: World
) -> None:
    """Some for each command, and each for some: all commands look at them in one place."""
    odd = [ending for ending in ODD if ending not in HONOURED.get(name, ())]
    asked = [word.replace("jsonl", "gone") for word in world.call(name)]
    for ending in some(odd, name, 1):
        said = refused([*asked, "-o", f"t{ending}"])
        assert f"not written as {ending}" in said
        assert ".json, .csv, .tex, .md, .txt" in said


def some(every: Sequence[str], name: str, count: int) -> list[str]:
    """Others for the next command, until all have had their turn."""
    first = count * RESULTS.index(name)
    return [every[(first + step) % len(every)] for step in range(count)]


@pytest.mark.parametrize("name", [*writing(LINES), *writing("folder"), *writing("report")])
def test_data_sets_and_folders_are_not_written_under_other_endings(name: str) -> None:
    for ending in (".xlsx", ".parquet")[: 1 if name == "report" else 2]:
        said = refused([*name.split(), "gone.jsonl", "-o", f"t{ending}"])
        assert any(word in said for word in (".jsonl", "folder", ".html")), said


@pytest.mark.parametrize("name", RESULTS[::6])  # all commands look at them in one place
def test_a_flag_and_an_ending_that_disagree_are_refused(name: str, world: World) -> None:
    assert "contradict" in refused([*world.call(name), "--csv", "-o", "t.json"])
    assert "choose one of" in refused([*world.call(name), "--csv", "--latex"])


@pytest.mark.parametrize("name", RESULTS)
def test_every_ending_holds_every_table(name: str, world: World, tmp_path: Path) -> None:
    held = {}
    table = some([".txt", ""], name, 1)[0]
    for ending in (".json", ".csv", ".tex", ".md", table):
        path = tmp_path / f"t{ending}"
        assert done([*world.call(name), "-o", str(path)]) == ""
        held[ending] = path.read_text()
    rows = list(csv.DictReader(io.StringIO(held[".csv"]), strict=True, restkey="more"))
    assert not any("more" in row or None in row.values() for row in rows)
    tables = _tables(json.loads(held[".json"]), name)
    assert Counter(row["table"] for row in rows) == +Counter(
        {table: len(own) for table, own in tables.items()}
    )
    # Over which tests p-values are corrected is said in words where it is no table.
    for family in tables.pop("family", []):
        if family["tests"] > 1:
            assert all(f"over {family['tests']:,} tests" in held[e] for e in (".tex", ".md"))
    tex = held[".tex"]
    assert tex.count(r"\begin{tabular}") == tex.count(r"\end{tabular}") > 0
    headed = {line.rpartition(": ")[2] for line in tex.splitlines() if line.startswith("% ")}
    assert headed >= {table for table, own in tables.items() if own} - {"values", *LISTS.values()}
    assert held[".md"].count("| --") >= len([own for own in tables.values() if own])
    assert held[table] == printed(*world.call(name))


def _tables(data: Any, name: str) -> dict[str, list[Any]]:
    """Every table of what JSON holds; `values` in long form."""
    if name in LISTS:
        return {LISTS[name]: data[LISTS[name]]}
    found: dict[str, list[Any]] = {"values": []}
    for result in data.get("panel", [data]):
        titles = [row["value"] for row in result["tables"]["values"]]
        found["values"] += [(s, v) for s in result["sources"] for v in titles]
        for table, rows in result["tables"].items():
            if table not in ("values", "matched"):
                found.setdefault(table, []).extend(rows)
    return found


@pytest.mark.parametrize("name", RESULTS)
def test_a_dash_is_standard_output(name: str, world: World) -> None:
    """In one form, another for the next command; "" is the table."""
    flags = [flag for flag in some(["", "--json", "--csv", "--latex", "--md"], name, 1) if flag]
    asked = [*world.call(name), *flags]
    assert done([*asked, "-o", "-"]) == printed(*asked) != ""


@pytest.mark.parametrize("name", NAMING)
def test_names_come_out_as_they_went_in(name: str, world: World) -> None:
    names = _names(name)
    text, table = printed(*world.call(name)), printed(*world.call(name), "--csv")
    squeezed = re.sub(r"\s", "", text)
    for one in names:
        assert re.sub(r"\s", "", strip_controls(one)) in squeezed
    assert "\x1b" not in text
    cells = {cell for row in csv.reader(io.StringIO(table)) for cell in row}
    for cell in cells:
        if cell.startswith(("=", "+", "-", "@", "\t", "\r")):
            float(cell)
    for one in names:
        assert any(one in cell for cell in cells), one
    for line in printed(*world.call(name), "--latex").splitlines():
        if not line.startswith(("%", "\\")) and line:
            shown = re.sub(r"\$[^$]*\$|\\[%#$_&{}]", "", line)
            assert not re.search("[%#$_]", shown), line
            assert line.endswith(r"\\"), line


def _names(name: str) -> list[str]:
    if name == "evaluate":
        return ["piqa", "lambada"]
    if name in OF_ITEMS:
        return ["piqa"]
    if name in ("factors", "table"):
        return list(NAMES[:3])
    if name == "correlate":
        return ["lexical.mtld"]
    if name == "distinct":
        return list(NAMES[:2])
    return list(NAMES)


CHANGES = {
    **{name: ("sources", "texts") for name in RESULTS if name not in (*LISTS, *OF_ITEMS)},
    **dict.fromkeys(("novelty", "contamination", "originality", "overlap"), ("texts", "corpus")),
    **dict.fromkeys(("count", "search", "top", "index originals"), ("corpus",)),
    "perplexity": ("sources", "texts", "model"),
    "trace": ("texts", "corpus"),
    "judge agreement": ("answers",),
    "judge model": ("summaries", "judge"),
    "correlate": ("results", "quality"),
    "factors": ("results",),
    "popularity": ("answers", "corpus"),
    "evaluate": ("answers", "model"),
    "memorization": ("answers", "model", "corpus"),
    "perturb": ("answers", "after"),
}


UNTESTED = ("--permutations", "0", "--interval", "0")


@pytest.fixture(scope="module")
def worlds(world: World, tmp_path_factory: pytest.TempPathFactory) -> dict[str, World]:
    """The usual one, and others; those with the same corpus share its index."""
    every = {change for changes in CHANGES.values() for change in changes}
    found = {change: World(tmp_path_factory.mktemp("world"), change) for change in sorted(every)}
    for change in every - {"corpus"}:
        found[change].index = world.index
    return {"": world, **found}


@pytest.mark.parametrize("name", [name for name in RESULTS if name != "table"])  # shows one again
def test_other_data_have_another_signature(
    name: str, worlds: dict[str, World], monkeypatch: pytest.MonkeyPatch
) -> None:
    tests = any(one.name == "permutations" for one in commands()[name].params)
    more = [*(UNTESTED if tests else ()), "--json"]
    told = [_signed(done([*worlds[one].call(name), *more])) for one in ("", *CHANGES[name])]
    assert len(set(told)) == len(told)
    if name in plugins.members("studies"):
        measure_once(monkeypatch, {})
    again = _signed(done([*worlds[""].call(name), *more]))
    assert again == told[0]


def _signed(text: str) -> str:
    data = json.loads(text)
    if "panel" in data:
        return str([part["signature"] for part in data["panel"]])
    return data["signature"] + data.get("fingerprint", "")


def test_a_log_hears_now_and_then_how_far_work_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([0.0, *(15.0 * step for step in range(1, 12))])
    monkeypatch.setattr(_progress, "monotonic", lambda: next(clock))
    with _progress.TerminalReporter().stage("scoring", 11, "texts") as advance:
        for _ in range(11):
            advance(1)
    assert capsys.readouterr().err.splitlines() == [
        "scoring: 18% (2 texts), 30 s, about 2 min 15 s left",
        "scoring: 55% (6 texts), 1 min 30 s, about 1 min 15 s left",
        "scoring: 91% (10 texts), 2 min 30 s, about 15 s left",
    ]
    clock = iter([0.0, 30.0])
    with _progress.TerminalReporter().stage("a share", 1) as advance:
        advance(0.5)
    assert capsys.readouterr().err == "a share: 50%, 30 s, about 30 s left\n"
    clock = iter([0.0, 1.0, 2.0])
    with _progress.TerminalReporter().stage("short", 2) as advance:
        advance(1)
        advance(1)
    clock = iter([0.0, 30.0])
    with _progress.TerminalReporter(quiet=True).stage("quiet", 2) as advance:
        advance(1)
    assert not capsys.readouterr().err


def test_progress_names_the_step_and_how_many() -> None:
    titles: list[str] = []

    class Listening(Silent):
        def stage(self, title: str, total: float | None, unit: str = "") -> Any:
            titles.append(title)
            return super().stage(title, total, unit)

    with Step(Listening(), 3, Steps(13, first=3)).stage("semantic", 1.0):
        pass
    with Step(Listening(), 1, Steps(1)).stage("lexical", 1.0):
        pass
    assert titles == ["3 of 13, semantic", "lexical"]
    at_once = Steps(2)
    with Step(Listening(), 2, at_once).stage("not the first", 1.0) as advance:
        advance(0.5)
        assert "2 of 2, not the first" not in titles
        at_once.first = 2
        advance(0.1)
        at_once.stopped = True
        with pytest.raises(CancelledError):
            advance(0.5)
    assert titles == ["3 of 13, semantic", "lexical", "2 of 2, not the first"]
    step = Step(Listening(), 1, Steps(1))
    assert not isinstance(step, Asking), "a measure asks nobody"
    with pytest.raises(AttributeError, match="'Step' object has no attribute 'sai'"):
        step.sai("misspelt")  # type: ignore[attr-defined]
