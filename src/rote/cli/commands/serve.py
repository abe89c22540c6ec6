"""A local web app over indexes and files: compare, trace, search, and what came before.

WHAT are indexes, files or folders of texts, annotated stores, and results that were written
as JSON; rote sees which is which. Without any, the bundled texts are opened:

\b
  rote serve
  rote serve IDX stories.jsonl --jobs 4
  rote serve bible:kjv bible:asv results.json

Only this machine can reach the app, unless --host says otherwise; then a token is asked for.
Nothing is read but what is named here and what is uploaded. Needs the extra `web`.
"""

from __future__ import annotations

from pathlib import Path

import click

from rote.cli._flags import command_of
from rote.cli._progress import TerminalReporter
from rote.web.server import ServeOptions


def serve(*what: str | Path, options: ServeOptions) -> None:
    from rote.web import server

    server.serve([str(name) for name in what], options, TerminalReporter())


@command_of(__doc__, click.Argument(["what"], metavar="[WHAT]...", nargs=-1))
def command(what: tuple[str, ...], options: ServeOptions) -> None:
    serve(*what, options=options)
