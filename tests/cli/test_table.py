"""`rote table`, `rote completion`, and records chosen at the shell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.shell_completion import BashComplete

import rote
from rote.cli.main import rote as command
from rote.core.result import panel_to_json
from rote.report.tables.written import as_latex
from tests.golden.shell import done

RECORDS = [{"text": f"A {one} sat.", "reference": "A cat sat."} for one in ("cat", "dog")]


def test_a_saved_result_is_shown_as_when_it_was_made(tmp_path: Path) -> None:
    asked = ("lexical", "example:answers", "--by", "source", "--permutations", "9", "-q")
    saved = tmp_path / "saved.json"
    saved.write_text(done(*asked, "--json"))
    for form in ((), ("--csv",), ("--latex",), ("--md",), ("--json",)):
        assert done("table", str(saved), *form) == done(*asked, *form)


def test_a_saved_panel_is_shown_as_a_panel(tmp_path: Path) -> None:
    results = [rote.lexical(["A cat sat.", "A dog sat."]), rote.rouge(RECORDS)]
    saved = tmp_path / "saved.json"
    saved.write_text(panel_to_json(results))
    assert done("table", str(saved), "--latex") == as_latex(results)
    assert "rouge:" in done("table", str(saved))
    assert json.loads(done("table", str(saved), "--json")) == json.loads(saved.read_text())


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_the_shells_own_script(shell: str) -> None:
    assert f"_ROTE_COMPLETE={shell}_complete" in done("completion", shell)


@pytest.mark.parametrize(
    ("words", "found"), [("rote lexi", "lexical"), ("rote lexical --whe", "--where")]
)
def test_commands_and_flags_complete(
    words: str, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    assert BashComplete(command, {}, "rote", "_ROTE_COMPLETE").complete() == f"plain,{found}"
