"""What is printed on a terminal, and what keeps it in order there.

Texts come from anywhere, and what they hold must not move the cursor, colour the screen or turn
a line around: everything that is shown goes through `strip_controls` first.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

# Joiners belong to the writing of many languages, and do nothing else.
_JOINERS = "\u200c\u200d"
_RIGHT_TO_LEFT = ("R", "AL", "AN")
_ISOLATE, _END_ISOLATE = "\u2068", "\u2069"
_UNKNOWN = "\ufffd"


def make_console(**settings: Any) -> Console:
    """Where everything is printed: `[bold]`, `:tada:` and numbers in a text are what they are."""
    from rich.console import Console

    return Console(markup=False, emoji=False, highlight=False, **settings)


def strip_controls(text: str) -> str:
    """The text in one line, without anything that acts on a terminal.

    White space of any kind is one space, control characters are shown by their pictures,
    characters that only steer the layout (direction, soft hyphens) are left out.
    """
    visible = text if text.isprintable() else "".join(map(_visible, text))
    return " ".join(visible.split())


def mask_controls(text: str) -> str:
    """As `strip_controls`, but every character in its place: white space and line breaks stay."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c == "\n" else " " if c.isspace() else strip_controls(c)
        for c in text
    )


def facts_table(facts: Mapping[str, str]) -> Table:
    """Names and what is known of them, without a heading."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        # As text, so that no markup in it can change a cell.
        table.add_row(*(Text(isolate_direction(strip_controls(part))) for part in (name, value)))
    return table


def isolate_direction(text: str) -> str:
    """Right-to-left writing keeps to its own cell."""
    if not text.isascii() and any(unicodedata.bidirectional(c) in _RIGHT_TO_LEFT for c in text):
        return _ISOLATE + text + _END_ISOLATE
    return text


def _visible(c: str) -> str:
    if c.isspace():
        return " "
    if c.isprintable() or c in _JOINERS:
        return c
    kind = unicodedata.category(c)
    if kind == "Cf":
        return ""
    if kind == "Cc" and ord(c) < 0x20:
        return chr(0x2400 + ord(c))
    return "␡" if c == "\x7f" else _UNKNOWN
