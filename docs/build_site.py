"""Gather the pages of the site in one folder: python docs/build_site.py FOLDER

A page is Markdown of docs/, a notebook, a file of the project from elsewhere (the README is the
home page), or made here: the API reference, the gallery. `make docs` turns the folder into a site;
see mkdocs.yml.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path

import api_reference
import notebook_page
from gallery import make as gallery

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
OUTSIDE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "NOTICE": "notice.md",
    "training/README.md": "training-models.md",
    "training/open-model/README.md": "open-model.md",
    "training/open-model/LICENSE.md": "open-model-licence.md",
    "training/open-summarizer/README.md": "open-summarizer.md",
}
"""Files of the project that the site has, and what they are called there."""
COPIED = {".css", ".ipynb", ".png", ".svg"}
RUN_FROM = (
    "src/rote",
    "docs/gallery",
    "docs/notebook_page.py",
    "docs/notebooks",
    "docs/papers/ruzzetti-2026.md",
    "training/open-model/bible",
)
"""What the gallery and the notebooks depend on; they run again when it changes."""
LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)")
COMMENT = re.compile(r"^<!--.*?-->\n|<!--.*?-->", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.DOTALL | re.MULTILINE)
MATH = re.compile(r"\$\$(.+?)\$\$|\$(?=\S)([^$\n]+?)(?<=\S)\$(?!\w)", re.DOTALL)


def pages() -> Iterator[tuple[str, str]]:
    """Every page of the site: where it goes, and its Markdown."""
    for path in sorted(DOCS.rglob("*.md")):
        uri = path.relative_to(DOCS).as_posix()
        yield uri, page(path.read_text(encoding="utf-8"), f"docs/{uri}", uri)
    for place, uri in OUTSIDE.items():
        text = (ROOT / place).read_text(encoding="utf-8")
        if not place.endswith(".md"):
            text = f"# Licences\n\n```text\n{text}```\n"
        yield uri, page(text, place, uri)
    yield from api_reference.pages()


def page(text: str, place: str, uri: str) -> str:
    """A file of the project as a page: its links as they are on the site, formulas as MathML,
    without comments, which are for programs."""
    parts = CODE.split(_indented(COMMENT.sub("", text)))
    parts[::2] = [MATH.sub(_formula, part) for part in parts[::2]]
    # GitHub wants a bar escaped in the code of a table, mkdocs shows the escape.
    parts[1::2] = [part.replace("\\|", "|") for part in parts[1::2]]
    return LINK.sub(lambda found: _link(found, place, uri), "".join(parts))


def _indented(text: str) -> str:
    """What belongs to an item of a list starts four characters in: mkdocs asks for that."""
    lines, width, fenced, loose = text.split("\n"), 0, False, False
    for place, line in enumerate(lines):
        fenced ^= line.startswith("```")
        if fenced:
            continue
        if item := re.match(r"(?:[-*]|\d+\.) +", line):
            width = len(item[0])
            lines[place] = "\n" + line if loose else line
            loose = False
        elif not line:
            loose = width > 0
        elif line and not line.startswith(" "):
            width = 0
        elif width and line.startswith(" " * width):
            lines[place] = " " * 4 + line[width:]
    return "\n".join(lines)


def _formula(found: re.Match[str]) -> str:
    from latex2mathml.converter import convert

    block = found[1] is not None
    made = convert(found[1] if block else found[2], display="block" if block else "inline")
    return f"<div>{made}</div>" if block else made


def _link(found: re.Match[str], place: str, uri: str) -> str:
    """A link within the site; one to code is a mere name."""
    said, target, anchor = found[1], found[2], found[3] or ""
    meant = os.path.normpath(os.path.join(os.path.dirname(place), target))
    known = OUTSIDE.get(meant)
    if meant.startswith("docs/") and not meant.endswith(".py"):
        known = meant.removeprefix("docs/").replace(".ipynb", ".md")
    if known is None:
        return said
    return f"[{said}]({os.path.relpath(known, os.path.dirname(uri) or '.')}{anchor})"


def gather(folder: Path) -> None:
    """Write all pages, and what they show, into a folder that is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    for path in DOCS.rglob("*"):
        if path.suffix in COPIED:
            copy = folder / path.relative_to(DOCS)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
    write(folder, pages())
    shutil.copytree(run_examples(folder.parent / "examples"), folder, dirs_exist_ok=True)


def run_examples(folder: Path) -> Path:
    """The gallery and the notebooks, which take most of the time: run only if an earlier build did
    not run the same."""
    pages, marker = folder / "pages", folder / "digest"
    digest = digest_of_examples()
    if not marker.is_file() or marker.read_text() != digest:
        shutil.rmtree(folder, ignore_errors=True)
        work = folder / "work"
        write(pages, gallery.pages(work))
        shutil.copytree(work / "figures", pages / "gallery" / "figures")
        write(pages, notebooks(pages))
        marker.write_text(digest)
    return pages


def digest_of_examples() -> str:
    """Of all files that the gallery and the notebooks depend on."""
    digest = blake2b(digest_size=16)
    for place in RUN_FROM:
        path = ROOT / place
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file() and not {"compiled", "__pycache__"} & set(file.parts):
                digest.update(str(file.relative_to(ROOT)).encode() + file.read_bytes())
    return digest.hexdigest()


def notebooks(folder: Path) -> Iterator[tuple[str, str]]:
    """The notebooks, run in a folder that is thrown away."""
    for path in sorted((DOCS / "notebooks").glob("*.ipynb")):
        with tempfile.TemporaryDirectory() as work:
            os.chdir(work)
            text = notebook_page.page(path, folder / "notebooks" / "figures")
            os.chdir(ROOT)
        yield f"notebooks/{path.stem}.md", text


def write(folder: Path, made: Iterable[tuple[str, str]]) -> None:
    for uri, text in made:
        path = folder / uri
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def link_package(folder: Path) -> None:
    """The package without its stub, for the reader of its sources: there `rote.index` is a function
    and not the package that holds the class Index."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for part in (ROOT / "src" / "rote").iterdir():
        if part.name not in ("__init__.pyi", "__pycache__"):
            (folder / part.name).symlink_to(part)


if __name__ == "__main__":
    gather(Path(sys.argv[1]).resolve())
    link_package(ROOT / "build" / "package" / "rote")
