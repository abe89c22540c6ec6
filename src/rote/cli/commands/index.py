"""Build, extend, check and describe an index: exact counts and places over any layer."""

from __future__ import annotations

import click

from rote.core import plugins
from rote.core.errors import UnknownName

ROOM = "cli.index"
_HELP = """Build, extend, check and describe an index: exact counts and places over any layer.

An index is a folder. `rote count`, `rote search` and `rote top` ask it:

\b
  rote index build novels.jsonl -o IDX
  rote count IDX "at the end of the day"
  rote search IDX '[pos="JJ"] "dog"'
  rote top IDX --layer pos -n 6

A command that was interrupted goes on where it stopped when it is run again; until it has ended,
the index is the one that was there before.
"""


class Subcommands(click.Group):
    """Every file in `cli/index/` is a command; only the one that runs is imported."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(plugins.members(ROOM))

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in plugins.members(ROOM):
            problem = UnknownName("command of `rote index`", name, self.list_commands(ctx))
            raise click.UsageError(str(problem), ctx)
        command: click.Command = plugins.load(ROOM, name).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            names = self.list_commands(ctx)
            formatter.write_dl([(name, plugins.summary(ROOM, name)) for name in names])


command = Subcommands("index", help=_HELP)
