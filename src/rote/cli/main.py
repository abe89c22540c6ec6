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
from rote.core.registry import FAMILIES, GROUPS, OTHERS, names, room_of, words_of

COMMANDS = "cli.commands"
MOVED = {
    "annotators": "`rote annotate --list`",
    "completion": "the shell's: _ROTE_COMPLETE=bash_source rote (or zsh_source, fish_source)",
    **{name: f"`rote train {name}`" for name in ("finetune", "calibrate", "reina", "intervene")},
    "pseudo-summaries": "`rote train pseudo-summaries`",
    "repetition-study": "`rote train study`",
    "agreement": "`rote judge agreement`",
    "rouge": "`rote score --scores rouge`",
    "similarity": "`rote score --scores cosine`",
    "fragments": "`rote score --scores fragments`",
    "entity-scores": "`rote score --scores entities`",
    "favoured": "`rote keyness --of patterns`",
    "style-memorization": "`rote memorization --layer pos`",
}
"""What earlier names became, for whoever types one."""
_FORMS = ("--json", "--csv", "--latex", "--md")


class Rote(Rooms):
    """Records of `measure/` and `studies/`, and `cli/commands/`; none is imported here."""

    moved = MOVED

    def rooms(self) -> dict[str, dict[str, str]]:
        known = {words_of(name)[0]: room_of(name) for name in names()}
        known |= dict.fromkeys(plugins.members(COMMANDS), COMMANDS)
        rooms = {
            heading: {name: known.pop(name) for name in words if name in known}
            for heading, words in GROUPS.items()
        }
        return {**rooms, **({OTHERS: known} if known else {})}

    def summary(self, name: str, room: str) -> str:
        return FAMILIES.get(name) or super().summary(name, room)

    def load(self, name: str, room: str) -> click.Command:
        if name in plugins.members(COMMANDS):
            return super().load(name, COMMANDS)
        if name in FAMILIES:
            return Family(name, help=FAMILIES[name])
        from rote.cli._record import record_command

        return record_command(name)


class Family(Rooms):
    """The records whose names begin with a word that they share."""

    def rooms(self) -> dict[str, dict[str, str]]:
        members = [name for name in names() if words_of(name)[0] == self.name]
        return {"Commands": {words_of(name)[1]: room_of(name) for name in members}}

    def summary(self, name: str, room: str) -> str:
        return super().summary(f"{self.name}-{name}", room)

    def load(self, name: str, room: str) -> click.Command:
        from rote.cli._record import record_command

        return record_command(f"{self.name}-{name}")


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


def _meant_to_write(error: RoteError, arguments: Sequence[str]) -> str:
    """A hint where a missing file follows a flag that says in which form to print."""
    file = getattr(error, "file", None)
    flags = [flag for flag, name in pairwise(arguments) if flag in _FORMS and name == file]
    if not flags or not file or os.path.exists(file):
        return ""
    stop = "" if str(error).endswith("?") else "."
    return (
        f"{stop} {flags[0]} takes no file: to write the result to a file, use -o {file} or > {file}"
    )


def main() -> None:
    """Run the command; errors meant for the user come without a traceback, exit code 2."""
    # --jobs says how many cores to use. Threads that numpy's BLAS would start for every small
    # product on top of that wait for each other. Read when numpy is imported, so set here.
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
        os.environ.setdefault(name, "1")
    try:
        # Of a command that ends early click gives the exit status back.
        sys.exit(rote.main(prog_name="rote", standalone_mode=False))
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
        click.echo("error: out of memory. Sample the texts, or choose fewer measures", err=True)
        sys.exit(2)
    except BrokenPipeError:
        raise  # whoever read the output has had enough: that is no error of ours
    except OSError as error:
        # A folder without permission, a full disk: the system's own words say it best.
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
