"""`rote report`: what is written where, and what is refused before the work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from rote.cli.main import rote
from rote.core.errors import InputError, OptionError
from rote.report.report import Report
from tests.kit import write_jsonl

_QUICK = ("--measures", "lexical", "--permutations", "39", "--no-matched", "-q")
_TEXTS = ("example:answers", "--by", "source", "--reference", "plain")


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(rote, ["report", *map(str, arguments)], catch_exceptions=False)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "study.json"
    run(*_TEXTS, *_QUICK, "-o", path)
    return path


def test_a_study_is_saved_and_shown_again_in_every_form(saved: Path, tmp_path: Path) -> None:
    study = Report.from_json(saved.read_text(encoding="utf-8"))
    assert [result.measure for result in study.results] == ["lexical"]
    for name in ("again.html", "again.md", "again.json"):
        run(saved, "-q", "-o", tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1_000
    assert json.loads((tmp_path / "again.json").read_text()) == json.loads(saved.read_text())
    run(saved, "-q", "-o", tmp_path / "paper")
    names = [path.name for path in (tmp_path / "paper").rglob("*")]
    assert "report.md" in names
    assert any(name.endswith(".csv") for name in names)
    assert any(name.endswith(".tex") for name in names)


def test_a_saved_study_is_known_by_its_content_and_that_is_said(
    saved: Path, tmp_path: Path
) -> None:
    other = tmp_path / "kept.txt"
    other.write_bytes(saved.read_bytes())
    printed = run(other, "-o", tmp_path / "x.md").output
    assert "saved study" in printed
    assert "not measured" in printed


def test_the_default_is_one_page_here(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run(saved, "-q")
    assert (tmp_path / "report.html").is_file()


@pytest.mark.parametrize(
    ("output", "said"),
    [("report.pdf", "unknown ending .pdf"), ("no/such/report.html", "does not exist")],
)
def test_a_target_that_cannot_be_written_is_refused_before_the_work(
    output: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(OptionError, match=said):
        run(*_TEXTS, "-o", tmp_path / output)


def test_a_folder_and_a_file_are_not_taken_for_each_other(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "folder.html").mkdir()
    run(saved, "-q", "-o", tmp_path / "folder.html")
    assert (tmp_path / "folder.html" / "report.md").exists()
    (tmp_path / "taken").write_text("")
    with pytest.raises(OptionError, match="is a file"):
        run(saved, "-o", tmp_path / "taken")


def test_what_was_measured_is_kept_when_it_cannot_be_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(study: Report) -> str:
        raise ZeroDivisionError("a mistake of ours")

    monkeypatch.setattr("rote.report.output.html_page", broken)
    with pytest.raises(ZeroDivisionError):
        run(*_TEXTS, *_QUICK, "-o", tmp_path / "x.html")
    kept = tmp_path / "x.html.json"
    assert Report.from_json(kept.read_text(encoding="utf-8")).results


def test_a_study_of_another_schema_or_a_broken_one_is_refused(saved: Path, tmp_path: Path) -> None:
    data: dict[str, Any] = json.loads(saved.read_text(encoding="utf-8"))
    newer = tmp_path / "newer.json"
    newer.write_text(json.dumps({**data, "schema": 9}), encoding="utf-8")
    with pytest.raises(InputError, match="schema 9"):
        run(newer, "-o", tmp_path / "x.html")
    broken = tmp_path / "broken.json"
    del data["tools"]
    broken.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(InputError, match="is not a complete study"):
        run(broken, "-o", tmp_path / "x.html")


def test_an_escape_sequence_in_the_name_of_a_source_does_not_reach_the_terminal(
    tmp_path: Path,
) -> None:
    records = [
        {"id": f"{s}{n}", "source": f"\x1b[31m{s}", "text": f"text {n} of {s} here."}
        for s in "ab"
        for n in range(12)
    ]
    file = write_jsonl(tmp_path / "odd.jsonl", records)
    printed = run(file, "--by", "source", *_QUICK, "-o", tmp_path / "x.html").output
    assert "\x1b" not in printed
