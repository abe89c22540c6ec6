"""Build, change, check and describe an index: exact counts and places over any layer.

An index is a folder. `rote count`, `rote search` and `rote top` ask it:

\b
  rote index build novels.jsonl -o IDX
  rote count IDX "at the end of the day"
  rote search IDX '[pos="JJ"] "dog"'
  rote top IDX --layer pos -n 6

`remove` and `replace` change single documents, `rote show` prints one:

\b
  rote show IDX --id novel-17
  rote index remove IDX novel-17
  rote index replace IDX mended.jsonl

Run an interrupted command again to resume it; until it ends, the index stays as it
was.
"""

from __future__ import annotations

from types import MappingProxyType

from rote.cli._flags import Rooms
from rote.core import plugins

ROOM = "cli.index"


class Subcommands(Rooms):
    """The commands in `cli/index.py`, which the help does not import."""

    what = "command of `rote index`"
    moved = MappingProxyType({"document": "`rote show IDX --id ID`"})

    def rooms(self) -> dict[str, dict[str, str]]:
        return {"Commands": dict.fromkeys(plugins.members(ROOM), ROOM)}


command = Subcommands("index", help=__doc__)
