"""Write the generated pages, or with --check say whether they are up to date.

`docs/cli.md` holds the help of every command, `src/rote/__init__.pyi` the types of every function.
The check also fails for a measure without a page, a study that no guide shows, a page that the
site's menu lacks, and a link that leads nowhere.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from rote.cli.main import rote
from rote.core import plugins
from rote.core.registry import words_of

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
REFERENCE = DOCS / "cli.md"
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")
STUB = ROOT / "src" / "rote" / "__init__.pyi"


def command_line_reference() -> str:
    """The help texts of all commands as one page."""
    with click.Context(rote, info_name="rote", terminal_width=88, max_content_width=88) as top:
        parts = [
            "# Command line\n\nMade by `make docs` from the commands' own help; do not edit.\n",
            surface_table(top),
            _section("rote", rote.get_help(top)),
        ]
        parts += _commands(rote, top)
    return "\n".join(parts)


BEFORE = {"commands": 64, "listed": 55, "longest": 59, "names": 271, "slots": 1_793}
"""The same counts before commands were put together and options had one name each."""


def surface_table(top: click.Context) -> str:
    """How many commands and options there are, and how many a help shows at once."""
    every = dict(_leaves(rote, top))
    options = {
        name: [one for one in command.params if isinstance(one, click.Option)]
        for name, command in every.items()
    }
    shown = [len(command.glance) for command in every.values() if hasattr(command, "glance")]
    slots = sum(map(len, options.values()))
    names = len({one.name for some in options.values() for one in some})
    in_help = len(rote.list_commands(top))
    rows = [
        (
            "commands, with those inside `index`, `train` and `judge`",
            BEFORE["commands"],
            len(every),
        ),
        ("commands that `rote --help` lists", BEFORE["listed"], in_help),
        ("options that `--help` shows, at most", BEFORE["longest"], max(shown)),
        ("options at a glance, in all", BEFORE["slots"], sum(shown)),
        ("options in all", BEFORE["slots"], slots),
        ("names of options", BEFORE["names"], names),
    ]
    lines = [f"| {what} | {before:,} | {now:,} |" for what, before, now in rows]
    return "\n".join(["| | before | now |", "|---|---|---|", *lines, ""])


def _leaves(group: click.Group, above: click.Context) -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(above):
        found = group.get_command(above, name)
        assert found is not None
        with click.Context(found, info_name=name, parent=above) as context:
            if isinstance(found, click.Group):
                yield from _leaves(found, context)
            else:
                yield context.command_path, found


def _commands(group: click.Group, above: click.Context) -> list[str]:
    """The help of every command of a group, each followed by those inside it."""
    parts = []
    for name in group.list_commands(above):
        found = group.get_command(above, name)
        assert found is not None
        with click.Context(found, info_name=name, parent=above) as context:
            text = getattr(found, "full_help", found.get_help)(context)
            parts.append(_section(context.command_path, text))
            if isinstance(found, click.Group):
                parts += _commands(found, context)
    return parts


def _section(title: str, text: str) -> str:
    lines = (line.rstrip() for line in text.splitlines())
    return f"## {title}\n\n```text\n" + "\n".join(lines) + "\n```\n"


def stub() -> str:
    """The public names with their types; what the package holds is made when it is asked for."""
    import rote
    from rote.core.registry import functions
    from rote.studies.dispatch.functions import IMPLIED
    from rote.studies.dispatch.functions import write_stub as written

    lines = ["# Made by `make docs` from the records of the commands; do not edit.\n"]
    lines += ["from collections.abc import Sequence", "from pathlib import Path"]
    lines += ["from typing import Any, Literal\n"]
    typed_here = ("Index", "open_index")
    for room, names in rote._ROOMS.items():
        lines += [
            f"from {room} import {name} as {name}" for name in names if name not in typed_here
        ]
    lines += ["from rote.index.index import Index as _Index"]
    lines += ["from rote.core.result import PanelResults", "from rote.corpus import Input"]
    lines += ["from rote.report.report import Report\n"]
    traced = written("trace", IMPLIED).replace("(", "(self, ", 1)
    lines += ["__version__: str\n", f"class Index(_Index):\n    {traced}"]
    lines += ["def open_index(path: str | Path) -> Index: ...\n"]
    return "\n".join([*lines, *map(written, functions())])


def problems() -> list[str]:
    """What is wrong with the documentation."""
    found = []
    for path, made in generated().items():
        if not path.exists() or path.read_text(encoding="utf-8") != made:
            found.append(f"{path.relative_to(ROOT)} is out of date: run `make docs`")
    for name in plugins.members("measure"):
        if not (DOCS / "measures" / f"{name}.md").exists():
            found.append(f"the measure {name} has no page docs/measures/{name}.md")
    guides = "".join(page.read_text(encoding="utf-8") for page in DOCS.glob("*.md"))
    guides = guides.replace(REFERENCE.read_text(encoding="utf-8"), "")
    for name in plugins.members("studies"):
        python = f"rote.{name.replace('-', '_')}("
        shell = f"rote {' '.join(words_of(name))} "
        found += [f"no guide shows `{call}`" for call in (shell, python) if call not in guides]
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in DOCS.rglob("*.md"):
        if f" {page.relative_to(DOCS).as_posix()}\n" not in menu:
            found.append(f"{page.relative_to(ROOT)} is not in the menu of mkdocs.yml")
    for page in [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]:
        for target, anchor in LINK.findall(page.read_text(encoding="utf-8")):
            meant = page.parent / target if target else page
            if not meant.exists():
                found.append(f"{page.relative_to(ROOT)} links to {target}, which is not there")
            elif anchor and anchor not in anchors(meant):
                found.append(
                    f"{page.relative_to(ROOT)} links to {target}#{anchor}: no such heading"
                )
    return found


def anchors(page: Path) -> set[str]:
    """What the headings of a page are called in links."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    titles = re.findall(r"^#+ (.*)$", text, flags=re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def generated() -> dict[Path, str]:
    """Every file that is made here, and what it should hold."""
    return {REFERENCE: command_line_reference(), STUB: stub()}


def draw_first_screen(path: Path) -> None:
    """The picture of the README: the figure that a report on the bundled answers opens with."""
    import rote
    from rote.report.charts import save_figure

    report = rote.report("example:answers", by="source", reference="plain")
    save_figure(report.figure(), path)


if __name__ == "__main__":
    if "--check" not in sys.argv:
        for path, made in generated().items():
            path.write_text(made, encoding="utf-8")
        draw_first_screen(DOCS / "report.png")
    elif found := problems():
        sys.exit("\n".join(found))
