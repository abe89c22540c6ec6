"""The command `rote`: finds its subcommands by name and imports only the one that runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from itertools import pairwise

import click

from rote.cli._flags import Rooms
from rote.core import plugins
from rote.core.distribution import NAME
from rote.core.errors import RoteError
from rote.core.registry import names, room_of

COMMANDS = "cli.commands"
_FORMS = ("--json", "--csv", "--latex", "--md")


class Rote(Rooms):
    """Records come from `measure/` and `studies/`, what is no record from `cli/commands/`; none is
    imported here."""

    def rooms(self) -> dict[str, dict[str, str]]:
        # A measure may have a command of its own, with more to it; it is a measure all the same.
        commands = dict.fromkeys(plugins.members(COMMANDS), COMMANDS)
        found: dict[str, dict[str, str]] = {"Commands": commands, "Measures": {}}
        for name in names():
            measure = room_of(name) == "measure"
            found["Measures" if measure else "Commands"][name] = room_of(name)
            if measure:
                commands.pop(name, None)
        return found

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(dict.fromkeys((*plugins.members(COMMANDS), *names())))

    def load(self, name: str, room: str) -> click.Command:
        if name in plugins.members(COMMANDS):
            return super().load(name, COMMANDS)
        from rote.cli._record import record_command

        return record_command(name)


@click.command(cls=Rote, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name=NAME, prog_name="rote")
def rote() -> None:
    """What is new in the text of language models, and what they repeat.

    Every measure takes files (JSONL, JSON, Parquet, CSV, plain text, folders, globs, - for
    standard input; also .gz, .zst, .bz2, .xz) and compares the sources in them:

    \b
      rote diversity stories.jsonl --by source --reference human
      rote lexical human.jsonl model.jsonl
      rote demo
    """


def _meant_to_write(error: RoteError, given: Sequence[str]) -> str:
    """A hint where a missing file follows a flag that says in which form to print."""
    file = getattr(error, "file", None)
    flags = [flag for flag, name in pairwise(given) if flag in _FORMS and name == file]
    if not flags or not file or os.path.exists(file):
        return ""
    stop = "" if str(error).endswith("?") else "."
    return f"{stop} {flags[0]} takes no file: to write the result there, use -o {file} or > {file}"


def main() -> None:
    """Run the command; errors meant for the user come without a traceback, exit code 2."""
    # --jobs says how many cores to use. Threads that numpy's BLAS would start for every small
    # product on top of that wait for each other. Read when numpy is imported, so set here.
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
        os.environ.setdefault(name, "1")
    try:
        rote.main(standalone_mode=False)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(130)
    except RoteError as error:
        click.echo(f"error: {error}{_meant_to_write(error, sys.argv)}", err=True)
        sys.exit(2)
    except MemoryError:
        click.echo("error: memory ran out. Take a sample of the texts, or fewer measures", err=True)
        sys.exit(2)
    except BrokenPipeError:
        raise  # whoever read the output has had enough: that is no error of ours
    except OSError as error:
        # A folder without permission, a full disk: the system's own words say it best.
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
