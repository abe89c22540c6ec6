"""`rote table`, completion, and records chosen at the shell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.shell_completion import BashComplete
from click.testing import CliRunner

import rote
from rote.cli.main import main
from rote.cli.main import rote as command
from rote.core.errors import UnknownName
from rote.core.result import panel_to_json, read_results
from rote.report.export import results_latex
from tests.golden.shell import done

RECORDS = [{"text": f"A {one} sat.", "reference": "A cat sat."} for one in ("cat", "dog")]


def test_a_saved_result_is_shown_as_when_it_was_made(tmp_path: Path) -> None:
    asked = ("lexical", "example:answers", "--by", "source", "--permutations", "9", "-q")
    saved = tmp_path / "saved.json"
    saved.write_text(done(*asked, "--json"))
    for form in ((), ("--csv",), ("--latex",), ("--md",), ("--json",)):
        assert done("table", str(saved), *form) == done(*asked, *form)


def test_one_table_is_shown_by_its_name_and_the_curve_only_so(tmp_path: Path) -> None:
    saved = tmp_path / "saved.json"
    saved.write_text(done("lexical", "example:answers", "--by", "source", "-q", "--json"))
    rows = json.loads(saved.read_text())["tables"]["curve"]
    assert rows
    for form, mark in (("--md", "### "), ("--latex", "% lexical: ")):
        assert f"{mark}curve" not in done("table", str(saved), form).lower()
    shown = [line for line in done("table", str(saved), "curve").splitlines() if "unique_1" in line]
    assert len(shown) == sum(row["value"] == "unique_1" for row in rows)
    assert json.loads(done("table", str(saved), "curve", "--json"))["curve"] == rows
    assert done("table", str(saved), "curve", "--md").startswith("### curve")
    with pytest.raises(UnknownName, match="did you mean 'curve'"):
        read_results(saved, tables=True)[0].to_polars("curv")


@pytest.mark.parametrize("flag", ["--json", "--md"])
def test_a_flag_that_takes_no_file_says_how_to_write_one(
    flag: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["rote", "lexical", "example:answers", flag, "missing.json"]
    monkeypatch.setattr("sys.argv", words)
    with pytest.raises(SystemExit):
        main()
    assert f"{flag} takes no file: to write the result to a file, use -o" in capsys.readouterr().err
    monkeypatch.setattr("sys.argv", [*words[:2], "missing.json", flag])
    with pytest.raises(SystemExit):
        main()
    assert "takes no file" not in capsys.readouterr().err


def test_a_saved_panel_is_shown_as_a_panel(tmp_path: Path) -> None:
    results = [rote.lexical(["A cat sat.", "A dog sat."]), rote.score(RECORDS, scores="rouge")]
    saved = tmp_path / "saved.json"
    saved.write_text(panel_to_json(results))
    assert done("table", str(saved), "--latex") == results_latex(results)
    assert "score:" in done("table", str(saved))
    assert json.loads(done("table", str(saved), "--json")) == json.loads(saved.read_text())


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_the_shells_own_script(shell: str) -> None:
    set_by_the_user = {"_ROTE_COMPLETE": f"{shell}_source"}
    found = CliRunner().invoke(command, [], env=set_by_the_user)
    assert f"_ROTE_COMPLETE={shell}_complete" in found.output


@pytest.mark.parametrize(
    ("words", "found"), [("rote lexi", "lexical"), ("rote lexical --whe", "--where")]
)
def test_commands_and_flags_complete(
    words: str, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    assert BashComplete(command, {}, "rote", "_ROTE_COMPLETE").complete() == f"plain,{found}"
