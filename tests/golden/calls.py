"""What is asked of every command, and what it shows: sections by form, ready to be kept.

All paths are relative to the folder that the tests run in, so that no output holds or wraps at
another folder's name.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from click.testing import CliRunner

from rote.cli.main import rote
from tests.cli.calls import World, writing
from tests.golden import app, plain

Sections = dict[str, str]
Case = Callable[[World], Sections]

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
ANSWERS = ("example:answers", "--by", "source", "--reference", "plain")
NOT_HERE = {
    "annotators": "lists what is installed",
    "demo": "takes minutes and texts that are no part of the base install; its parts are here",
    "serve": "waits for a browser; its pages are here",
}


def done(words: Sequence[str]) -> str:
    found = CliRunner().invoke(rote, list(words))
    assert found.exit_code == 0, (words, found.output, found.exception)
    return found.stdout


def forms(*words: str, only: Sequence[str] = tuple(FORMS)) -> Sections:
    """One question in several forms."""
    return {
        f"{form} rote {shlex.join(words)}": FORMS[form][1](done([*words, *FORMS[form][0]]))
        for form in only
    }


def written(*words: str, to: str = "-o", path: str) -> Sections:
    """What a command prints when it writes a file or a folder, and what it writes."""
    said = done([*words, to, path])
    title = f"rote {shlex.join([*words, to, path])}"
    return {f"text {title}": plain.of_text(said), **held(path)}


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


def _result(name: str) -> Case:
    return lambda world: forms(*world.call(name))


def _limit(world: World) -> Sections:
    asked = ("limit", world.texts, "--max", "4,5", "--seeds", "2", "--field", "text", "-q")
    more = ("--random", "--most-repeated", "--sizes", "2")
    return written(*asked, *more, path="limited") | forms(*asked, "-o", "other", only=["json"])


def _pseudo_summaries(world: World) -> Sections:
    asked = ("pseudo-summaries", "example:answers", "-q")
    return written(*asked, path="pairs.jsonl") | forms(*asked, "-o", "p2.jsonl", only=["json"])


def _generate(world: World) -> Sections:
    asked = ("generate", "start:2", "--model", world.model, "--temperature", "0,1", "-q")
    asked += ("--samples", "2", "--max-tokens", "6")
    return written(*asked, path="made.jsonl") | forms(*asked, "-o", "made2.jsonl", only=["json"])


def _annotate(world: World) -> Sections:
    return {
        **written("annotate", world.texts, "-q", path="store"),
        **forms("show", "store", "--texts", "2", only=["text"]),
    }


def _show(world: World) -> Sections:
    return forms("show", "example:answers", "--layers", "lemma,upos,pos,dep,entity", only=["text"])


def _index(world: World) -> Sections:
    both = ("text", "json")
    found: Sections = {}
    for form in both:
        path = f"idx-{form}"
        found |= forms("index", "build", world.corpus, "-o", path, "-q", only=[form])
        found |= forms("index", "info", path, only=[form])
        found |= forms("index", "add", path, world.texts, "-q", only=[form])
        found |= forms("index", "add-layer", path, "lemma", "-q", only=[form])
        found |= forms("index", "merge", path, "-q", only=[form])
        found |= forms("index", "verify", path, "-q", only=[form])
        found |= forms("index", "info", path, "-q", only=[form])
    return found


def _report(world: World) -> Sections:
    asked = ("report", *ANSWERS, "--permutations", "39", "-q", "--title", "Short answers")
    found = written(*asked, path="study.json")
    for path in ("report.html", "report.md"):
        found |= written("report", "study.json", "-q", path=path)
    folder = written("report", "study.json", "-q", "--format", "folder", path="paper")
    for title, text in folder.items():
        alike = found.get(title.replace("paper/", ""))
        found[title] = plain.beside(text, alike) if alike else text
    return found


def _pages(world: World) -> Sections:
    """Pages that commands write beside their tables."""
    return written(*world.call("trace"), path="trace.html")


CASES: dict[str, Case] = {
    **{name.replace(" ", "-"): _result(name) for name in writing("result")},
    "limit": _limit,
    "pseudo-summaries": _pseudo_summaries,
    "generate": _generate,
    "annotate": _annotate,
    "show": _show,
    "index": _index,
    "report": _report,
    "pages": _pages,
    "app": app.pages,
}
