"""A command's outputs, as sections that can be kept."""

from __future__ import annotations

import functools
import json
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

import click.testing
import pytest

from rote.cli.main import rote
from tests.golden import plain

Sections = dict[str, str]

FORMS = {
    "text": ((), plain.of_text),
    "json": (("--json",), plain.of_json),
    "csv": (("--csv",), plain.of_csv),
    "latex": (("--latex",), plain.of_latex),
}
FILES = {
    ".html": ("html", plain.of_html),
    ".md": ("markdown", plain.of_text),
    ".json": ("json", plain.of_json),
    ".jsonl": ("json", plain.of_json_lines),
    ".csv": ("csv", plain.of_csv),
    ".tex": ("latex", plain.of_latex),
    ".txt": ("text", plain.of_text),
}


@functools.cache
def _ran(words: tuple[str, ...]) -> click.testing.Result:
    found = click.testing.CliRunner().invoke(rote, list(words))
    assert found.exit_code == 0, (words, found.output, found.exception)
    return found


def done(*words: str) -> str:
    return _ran(words).stdout


def forms(*words: str, only: Sequence[str] = tuple(FORMS)) -> Sections:
    """One question in several forms."""
    return {
        f"{form} rote {shlex.join(words)}": FORMS[form][1](done(*words, *FORMS[form][0]))
        for form in only
    }


def remarks(*words: str) -> Sections:
    """What is said beside the result."""
    return {f"remarks rote {shlex.join(words)}": plain.of_text(_ran(words).stderr)}


def written(*words: str, to: str = "-o", path: str) -> Sections:
    """What a command prints when it writes a file or a folder, and what it writes."""
    title = f"text rote {shlex.join([*words, to, path])}"
    return {title: plain.of_text(done(*words, to, path)), **held(path)}


def held(path: str) -> Sections:
    """A file, or all files of a folder: those of a form that people read, the names of others."""
    whole = Path(path)
    found: Sections = {}
    others = []
    for file in [whole] if whole.is_file() else sorted(whole.rglob("*")):
        if file.suffix in FILES:
            form, normal = FILES[file.suffix]
            found[f"{form} of {file.as_posix()}"] = normal(file.read_text("utf-8"))
        elif file.is_file():
            others.append(file.as_posix())
    if others:
        found[f"names in {path}"] = "\n".join(others) + "\n"
    return found


def drawn(*words: str, one: bool = False) -> Sections:
    """The table on the terminal, and the figures that are drawn beside it, or the first one: what
    they are made from, since drawing takes long and the same library draws everywhere."""
    to = ("--figure", "figures/one.svg") if one else ("--figures", "figures")
    shutil.rmtree("figures", ignore_errors=True)
    Path("figures").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "rote.report.charts.render_svg", lambda spec: plain.of_figure(json.loads(spec))
        )
        printed = plain.of_text(done(*words, *to))
    found = {f"text rote {shlex.join(words)}": printed}
    for file in sorted(Path("figures").glob("*.svg")):
        assert one or file.with_suffix(".png").is_file()
        found[f"figure {file.stem} of rote {shlex.join(words)}"] = file.read_text("utf-8")
    return found
