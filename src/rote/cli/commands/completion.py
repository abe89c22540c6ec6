"""Print what makes a shell complete commands, flags and files: bash, zsh or fish.

\b
  eval "$(rote completion bash)"                                        # in ~/.bashrc
  eval "$(rote completion zsh)"                                         # in ~/.zshrc
  rote completion fish > ~/.config/fish/completions/rote.fish
"""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from rote.cli._flags import command_of


@command_of(__doc__, click.Argument(["shell"], type=click.Choice(["bash", "zsh", "fish"])))
def command(shell: str) -> None:
    from rote.cli.main import rote

    kind = get_completion_class(shell)
    assert kind is not None, "click knows the three shells"
    click.echo(kind(rote, {}, "rote", "_ROTE_COMPLETE").source())
