"""Deciles of counts: made from the n-grams of one task, stored, and applied to others unchanged.

The counts of the different n-grams of a task, sorted, are cut into ten parts of equal size. Equal
counts belong to the lowest part that holds one of them, so

    popularity(c) = 1 + floor(10 * share of the n-grams with a count below c).

Nine edges say the same: edge d is the last count of part d, and the popularity of a count is one
more than the number of edges below it. That also holds for counts that the task itself lacks.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import InputError, OptionError
from rote.core.files import write_atomically
from rote.search.backends import Backend

PARTS = 10
_SCHEMA = 1
_KIND = "popularity deciles"
_REMEDY = "Make it with `rote popularity ... --save-deciles FILE`"


@dataclass(frozen=True, slots=True)
class Deciles:
    """The edges of one task, and how many different n-grams they come from."""

    edges: tuple[float, ...]
    grams: int

    @classmethod
    def of(cls, values: NDArray[Any]) -> Deciles:
        """From the counts (or any other values) themselves."""
        ordered = np.sort(values)
        last = [-(-len(ordered) * part // PARTS) - 1 for part in range(1, PARTS)]
        return cls(tuple(ordered[max(0, place)].item() for place in last), len(ordered))

    def __call__(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """The part of each value, 1 to 10."""
        return 1 + np.searchsorted(np.array(self.edges), values, side="left")


@dataclass(frozen=True, slots=True)
class Scale:
    """The deciles of several tasks, and all that the counts in them depend on."""

    n: int
    backend: str
    tokenizer: str
    index: str
    signature: str
    tasks: Mapping[str, Deciles]

    @classmethod
    def by(cls, backend: Backend, n: int, tasks: Mapping[str, Deciles]) -> Scale:
        """Deciles of counts by this backend."""
        return cls(n, backend.name, backend.tokenizer, backend.index, backend.signature, tasks)

    @property
    def fingerprint(self) -> str:
        """What these deciles are known by."""
        held = json.dumps(asdict(self), sort_keys=True)
        return blake2b(held.encode(), digest_size=6).hexdigest()

    def of(self, task: str) -> Deciles:
        if task not in self.tasks:
            raise OptionError(
                f"no deciles for the task '{task}', only for {', '.join(self.tasks)}: they have to "
                "come from the original items of the same task"
            )
        return self.tasks[task]

    def check(self, backend: Backend, n: int) -> None:
        """Refuse counts of another kind: their deciles would mean nothing."""
        if self.n != n:
            raise OptionError(
                f"the deciles are of {self.n}-grams, not of {n}-grams: give -n {self.n}"
            )
        if self.signature != backend.signature:
            raise OptionError(
                f"the deciles come from other counts ({self.signature}) than are asked for "
                f"({backend.signature})"
            )

    def write(self, path: Path) -> None:
        content = {"schema": _SCHEMA, "kind": _KIND, **asdict(self)}
        write_atomically(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")

    @classmethod
    def read(cls, path: Path) -> Scale:
        """The reverse of `write`."""
        try:
            held = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "it is no JSON"
            problem = f"the deciles cannot be read ({why})"
            raise InputError(problem, file=str(path), remedy=_REMEDY) from None
        try:
            if held["schema"] != _SCHEMA or held["kind"] != _KIND:
                raise ValueError
            tasks = {
                str(name): Deciles(_edges(one["edges"]), int(one["grams"]))
                for name, one in held["tasks"].items()
            }
            named = {n: str(held[n]) for n in ("backend", "tokenizer", "index", "signature")}
            return cls(n=int(held["n"]), **named, tasks=tasks)
        except (KeyError, TypeError, ValueError, AttributeError):
            problem = "this is no file of deciles"
            raise InputError(problem, file=str(path), remedy=_REMEDY) from None


def _edges(given: Any) -> tuple[float, ...]:
    edges = tuple(float(edge) if not isinstance(edge, int) else edge for edge in given)
    if len(edges) != PARTS - 1 or list(edges) != sorted(edges) or any(map(math.isnan, edges)):
        raise ValueError
    return edges
