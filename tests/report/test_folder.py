"""The report as a folder: everything that a paper needs, whole or not at all."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from rote.core.errors import OptionError
from rote.report import output as folder
from rote.report.output import html_page, write_folder
from rote.report.report import Report
from tests.report import made_report as made


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "new" / "folder"
    files = write_folder(made.study(), path)
    assert sorted(files) == sorted(file for file in path.rglob("*") if file.is_file())
    return path


def test_it_holds_the_page_markdown_json_and_methods(written: Path) -> None:
    assert (written / "report.html").read_text("utf-8") == html_page(made.study())
    again = Report.from_dict(json.loads((written / "study.json").read_text("utf-8")))
    assert again.to_dict() == made.study().to_dict()
    assert (written / "methods.md").read_text("utf-8").startswith("# Methods\n")


def test_every_table_of_the_page_is_a_csv_and_a_latex_file(written: Path) -> None:
    page = (written / "report.html").read_text("utf-8")
    tables = set(re.findall(r'class="rote-(?:table|verdicts)[^"]*" id="([^"]+)"', page))
    assert {f"{name}.csv" for name in tables} | {"all-values.csv"} == {
        file.name for file in (written / "tables").glob("*.csv")
    }
    assert {f"{name}.tex" for name in tables} | {"panel.tex"} == {
        file.name for file in (written / "tables").glob("*.tex")
    }
    for file in (written / "tables").glob("*.csv"):
        lines = list(csv.reader(io.StringIO(file.read_text("utf-8"))))
        assert len({len(line) for line in lines}) == 1
        assert len(lines) > 1


def test_every_figure_is_a_picture_and_a_drawing_that_markdown_shows(written: Path) -> None:
    names = {file.stem for file in (written / "figures").iterdir()}
    assert names == {"verdicts", "curves", "templates-distinctive"}
    for name in names:
        assert (written / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        drawing = ElementTree.parse(written / "figures" / f"{name}.svg").getroot()
        assert drawing.tag.endswith("svg")
    text = (written / "report.md").read_text("utf-8")
    assert set(re.findall(r"!\[.*?\]\((.*?)\)", text)) == {f"figures/{n}.png" for n in names}


def test_half_characters_and_long_names_can_be_written(tmp_path: Path) -> None:
    study = made.study(lambda name: f"{name} \ud800\x00", results=[made.originality()])
    write_folder(study, tmp_path)
    again = Report.from_dict(json.loads((tmp_path / "study.json").read_text("utf-8")))
    assert again.to_dict() == study.to_dict()
    assert (tmp_path / "tables" / "tools.csv").read_text("utf-8").startswith("name,version")


def test_what_cannot_be_finished_leaves_no_half_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = made.study(results=[made.originality()])
    write_folder(study, tmp_path)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}

    def fail(*given: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(folder, "sheet_csv", fail)
    with pytest.raises(KeyboardInterrupt):
        write_folder(study, tmp_path)
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


def test_a_file_is_not_a_folder(tmp_path: Path) -> None:
    (tmp_path / "report").write_text("mine")
    with pytest.raises(OptionError, match="is a file: name a folder"):
        write_folder(made.study(), tmp_path / "report")
    assert (tmp_path / "report").read_text() == "mine"
