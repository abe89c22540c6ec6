"""A local web app over indexes and files: compare, trace, search, and what came before."""

from __future__ import annotations

from typing import Any

import click

from rote.cli._flags import SectionedCommand, build, flags
from rote.cli._progress import TerminalReporter
from rote.web.serving import ServeOptions

_HELP = """A local web app over indexes and files: compare, trace, search, and what came before.

WHAT are indexes, files or folders of texts, annotated stores, and results that were written
with --json; rote sees which is which. Without any, the bundled texts are opened:

\b
  rote serve
  rote serve IDX stories.jsonl --jobs 4
  rote serve bible:kjv bible:asv results.json

Only this machine can reach the app, unless --host says otherwise; then a token is asked for.
Nothing is read but what is named here and what is uploaded. Needs the extra `web`.
"""


def run(what: tuple[str, ...], **given: Any) -> None:
    from rote.web.serving import serve

    serve(what, build(ServeOptions, given), TerminalReporter())


command = SectionedCommand(
    "serve",
    callback=run,
    help=_HELP,
    params=[
        click.Argument(["what"], metavar="[WHAT]...", nargs=-1),
        *flags(ServeOptions, "The app", sizes=("upload_limit",)),
    ],
)
