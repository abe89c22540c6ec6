"""One item of a test, whatever benchmark it is from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Item:
    """A context, the options that may follow it, the number of the right one.

    An instance is `context + option + ending`, put together as they are: spaces between them
    belong to the context and the ending. `answer` is None where nobody says which is right; an
    item with a single option asks for exactly that. `meta` holds the other fields of the record.
    """

    id: str
    task: str
    context: str
    options: tuple[str, ...]
    answer: int | None
    ending: str = ""
    meta: Mapping[str, Any] = field(default_factory=dict)

    def instances(self) -> list[str]:
        """The context with each of the options."""
        return [f"{self.context}{option}{self.ending}" for option in self.options]

    @property
    def base(self) -> str:
        """The name that items made from one another share: they are not independent.

        Balanced COPA's mirrored twins have a `base_id` (so may any record), the two sentences of a
        WinoGrande pair a `qID` that ends in -1 and -2.
        """
        base = self.meta.get("base_id")
        if base is None and isinstance(twin := self.meta.get("qID"), str):
            base = twin[: -len("-1")] if twin.endswith(("-1", "-2")) else None
        return f"{self.task}\x1f{self.id if base is None else base}"


def fingerprint(items: Iterable[Item]) -> str:
    """What these items are known by: all that they hold, other fields and answers included."""
    held = blake2b(digest_size=6)
    for item in items:
        written = json.dumps(asdict(item), sort_keys=True, default=str)
        held.update(written.encode() + b"\n")
    return held.hexdigest()


@dataclass(frozen=True, slots=True)
class Source:
    """The file that a record stands in, as messages and ids name it."""

    file: str
    name: str


class ItemReader(Protocol):
    """What a file in this folder has to offer."""

    FIELDS: frozenset[str]
    """Fields that every record has; a benchmark is known by them."""

    def item(self, record: Mapping[str, Any], number: int, source: Source) -> Item:
        """The item of one record; a ValueError or KeyError says what is wrong with it."""
