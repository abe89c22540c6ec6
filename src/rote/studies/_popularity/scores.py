"""The instance popularity score (IPS) of texts: n-grams, their counts, deciles, means.

IPS(x) = mean of popularity(g) over the different n-grams g of x;  nan where x has none

The counts of the different n-grams of a task, sorted, are cut into ten parts of equal size. Equal
counts belong to the lowest part that holds one of them, so

    popularity(c) = 1 + floor(10 * share of the n-grams with a count below c).

Nine edges say the same: edge d is the last count of part d, and the popularity of a count is one
more than the number of edges below it. That also holds for counts that the task itself lacks.
Deciles are made from the n-grams of one task, stored, and applied to others unchanged.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import InputError, OptionError
from rote.core.files import write_atomically
from rote.core.json_reader import read_json
from rote.core.layer import Layer
from rote.core.progress import Reporter, Silent, several
from rote.index.grams import Grams, window_starts
from rote.search.backends import Backend

PARTS = 10
_SCHEMA = 1
_KIND = "popularity deciles"
_REMEDY = "Make it with `rote popularity ... --save-deciles FILE`"
_NAMED = 4

Numbers = NDArray[np.int64]
Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scored:
    """Per text its score, its tokens and its different n-grams; the deciles that were used.

    `grams` and `counts` are the different n-grams of all texts, with their counts.
    """

    ips: Scores
    tokens: Numbers
    different: Numbers
    scale: Scale
    grams: Grams
    counts: Numbers


def score(
    texts: Sequence[str],
    tasks: Sequence[str],
    backend: Backend,
    n: int,
    *,
    scale: Scale | None = None,
    max_undefined: float = 1.0,
    reporter: Reporter | None = None,
) -> Scored:
    """The score of each text; `tasks` says for each which task it belongs to.

    Without `scale` the deciles come from these texts, task by task. Where more than
    `max_undefined` of a task's texts are shorter than n, nothing is counted at all.
    """
    reporter = reporter or Silent()
    if n < 1:
        raise OptionError(f"an n-gram has at least one token, not {n}")
    if scale is not None:
        scale.check(backend, n)
        for task in dict.fromkeys(tasks):
            scale.of(task)
    layer = backend.tokenize(texts, reporter)
    tokens = np.diff(layer.text_ends, prepend=0)
    names = list(dict.fromkeys(tasks))
    place = {task: number for number, task in enumerate(names)}
    of_text = np.array([place[task] for task in tasks], np.int64)
    _check_lengths(tokens, of_text, names, n, max_undefined)
    text, gram, grams = windows(layer, n)
    counts = backend.counts(grams, reporter) if len(grams) else np.empty(0, np.int64)
    own = of_text[text]
    if scale is None:
        made = {task: _deciles(gram[own == t], counts) for t, task in enumerate(names)}
        scale = Scale.by(backend, n, {task: d for task, d in made.items() if d is not None})
    popularity = np.zeros(len(gram), np.int64)
    for number, task in enumerate(names):
        if (mine := own == number).any():
            popularity[mine] = scale.of(task)(counts[gram[mine]])
    different = np.bincount(text, minlength=len(texts))
    total = np.bincount(text, popularity, minlength=len(texts))
    ips = np.full(len(texts), np.nan)
    np.divide(total, different, out=ips, where=different > 0)
    return Scored(ips, tokens, different, scale, grams, counts)


def _deciles(grams: Numbers, counts: Numbers) -> Deciles | None:
    """Of the different n-grams of a task; None where all of its texts are too short."""
    different = np.unique(grams)
    return Deciles.of(counts[different]) if len(different) else None


def _check_lengths(
    tokens: Numbers,
    of_text: Numbers,
    names: Sequence[str],
    n: int,
    allowed: float,
) -> None:
    """Refuse an n that leaves too many texts without a score, and say which one does not."""
    lengths = [tokens[of_text == number] for number in range(len(names))]
    short = {
        name: share
        for name, own in zip(names, lengths)
        if (share := float((own < n).mean())) > allowed
    }
    if not short:
        return
    worst = sorted(short, key=lambda name: -short[name])
    said = ", ".join(f"{name} {short[name]:.0%}" for name in worst[:_NAMED])
    if len(worst) > _NAMED:
        said += f" and {several(len(worst) - _NAMED, 'more task')}"
    fits = min(_longest(own, allowed) for own in lengths)
    smaller = f"-n {fits} fits all of them" if fits else "some texts hold no token at all"
    raise OptionError(
        f"too many instances are shorter than {several(n, 'token')} ({said}; at most "
        f"{allowed:.0%} may be): "
        f"take a smaller n ({smaller}), or an index of subwords, which cut texts into more tokens"
    )


def _longest(tokens: Numbers, allowed: float) -> int:
    """The largest n that leaves at most the allowed share of these texts too short."""
    ordered = np.sort(tokens)
    return int(ordered[min(len(ordered) - 1, int(allowed * len(ordered)))])


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

    def __call__(self, values: NDArray[Any]) -> Numbers:
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
            held = read_json(path, regular=False)
        except (OSError, InputError) as error:
            why = getattr(error, "strerror", None) or getattr(error, "problem", None)
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
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            problem = "this is no file of deciles"
            raise InputError(problem, file=str(path), remedy=_REMEDY) from None


def _edges(given: Any) -> tuple[float, ...]:
    edges = tuple(float(edge) if not isinstance(edge, int) else edge for edge in given)
    if len(edges) != PARTS - 1 or list(edges) != sorted(edges) or any(map(math.isnan, edges)):
        raise ValueError
    return edges


def windows(layer: Layer, n: int) -> tuple[Numbers, Numbers, Grams]:
    """The different n-grams of each text, numbered exactly: pairs of a text and an n-gram, each
    once, by text; and the different n-grams themselves.

    An n-gram's number comes from those of two shorter ones that overlap or touch in it, so that
    three sortings of one integer a place are enough for seven items.
    """
    starts = window_starts(layer, n)
    numbers, first = _numbered(layer, starts, n)
    texts = np.searchsorted(layer.text_ends, starts, side="right")
    kinds = max(1, len(first))
    pairs = np.unique(texts * kinds + numbers)
    ids = layer.ids[first[:, None] + np.arange(n)].reshape(-1)
    grams = Grams(ids, np.arange(1, len(first) + 1, dtype=np.int64) * n, layer.vocabulary)
    return pairs // kinds, pairs % kinds, grams


def _numbered(layer: Layer, starts: Numbers, n: int) -> tuple[Numbers, Numbers]:
    """The number of the n-gram at each start, and of each number the first item it begins at."""
    # By place; what stands behind the last start of a text is never looked at.
    at_place = layer.ids.astype(np.int64)
    length, places = 1, np.arange(len(at_place))
    while length < n:
        longer = min(2 * length, n)
        places = window_starts(layer, longer)
        kinds = int(at_place.max(initial=0)) + 1
        keys = at_place[places] * kinds + at_place[places + longer - length]
        _, at_place[places] = np.unique(keys, return_inverse=True)
        length = longer
    _, first, numbers = np.unique(at_place[starts], return_index=True, return_inverse=True)
    return numbers.astype(np.int64), starts[first]
