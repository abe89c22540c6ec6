"""How likely a model is to write what follows a passage when its texts are drawn.

A window is a prefix and the suffix behind it; p_z is the probability that drawing after the prefix
writes the suffix, n(p) how many draws write it at least once with probability p. Windows slide
along a text, so that one sees where it is known by heart. Hayes et al. (2025), Measuring
memorization in language models via probabilistic extraction; Cooper et al. (2025), Extracting
memorized pieces of (copyrighted) books from open-weight language models.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from rote.compare.clusters import share_interval
from rote.core.chart import Chart
from rote.core.errors import InputError, OptionError
from rote.core.model import Continuation, Decoding, Model, Searching
from rote.core.progress import Reporter
from rote.core.result import Result
from rote.core.table import Column, Pivot, Row, Rows, Table, defined, distinct, estimate
from rote.corpus.items import Item
from rote.models.answers import drawn_all
from rote.studies._items import Floats, Labels

_WORD = re.compile(r"\S+")
TRIES = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
_LEAST = -6.0
"""The logarithm (to 10) of the smallest chance that the map tells from none."""
_TOGETHER = 16
_CELLS, _TEXTS = 150, 30
"""Of a text, and texts, on the map."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A window of an item's text: characters, and the number of the suffix's first word."""

    item: int
    word: int
    first: int
    cut: int
    end: int


@dataclass(frozen=True, slots=True)
class Windows:
    """All windows, and by model the logarithm of each one's p_z."""

    cuts: Sequence[Cut]
    logs: Mapping[str, Floats]
    greedy: Mapping[str, Floats]
    """1 where greedy decoding writes the suffix."""
    p: float
    near: Mapping[str, Floats]
    """A lower bound of the chance of nearly the suffix, where it was asked for."""


def cuts(items: Sequence[Item], prefix: int, suffix: int, stride: int) -> list[Cut]:
    """Windows of words, a new one every `stride` words; the space between the two parts belongs
    to the suffix."""
    found = []
    for number, item in enumerate(items):
        if item.answer is None:
            continue
        words = list(_WORD.finditer(item.instances()[item.answer]))
        for at in range(0, len(words) - prefix - suffix + 1, stride):
            middle = at + prefix
            ends = words[at].start(), words[middle - 1].end(), words[middle + suffix - 1].end()
            found.append(Cut(number, middle, *ends))
    if not found:
        raise InputError(
            f"no text has {prefix + suffix} words, so that there is no window to extract",
            remedy="Take a smaller --prefix and --suffix",
        )
    return found


def continuations(items: Sequence[Item], wanted: Sequence[Cut]) -> list[Continuation]:
    """Prefix and suffix of every window."""
    found = []
    for one in wanted:
        text = items[one.item].instances()[items[one.item].answer or 0]
        found.append(Continuation(text[one.first : one.cut], text[one.cut : one.end]))
    return found


def extract(
    items: Sequence[Item],
    models: Mapping[str, Model],
    wanted: Sequence[Cut],
    decoding: Decoding,
    p: float,
    bound: tuple[int, int],
    reporter: Reporter,
) -> Windows:
    """Ask every model how likely it is to write each suffix, and within so many edits of it, by
    so many beams (`bound`)."""
    edits, beams = bound
    asked = continuations(items, wanted)
    logs, greedy = {}, {}
    for name, model in models.items():
        found = drawn_all(model, asked, decoding, reporter, title="windows")
        logs[name] = np.array([min(one.total, 0.0) for one in found])
        greedy[name] = np.array([float(one.greedy.all()) for one in found])
    near = {}
    for name, model in models.items() if edits else ():
        if not isinstance(model, Searching):
            raise OptionError(
                f"--near goes on token by token, which {model.signature} cannot be asked for: run "
                "it with numpy:, gguf: or transformers:"
            )
        bounds = []
        with reporter.stage("nearly", len(asked), "windows") as advance:
            for first in range(0, len(asked), _TOGETHER):
                some = asked[first : first + _TOGETHER]
                bounds += model.near(some, decoding, edits, beams)
                advance(len(some))
        near[name] = np.minimum(np.array(bounds), 0.0)
    return Windows(wanted, logs, greedy, p, near)


def tries(logs: Floats, p: float) -> Floats:
    """n(p): the fewest draws that write the suffix at least once with probability p; infinitely
    many where it cannot be written."""
    with np.errstate(divide="ignore", over="ignore"):
        exact = math.log1p(-p) / np.log1p(-np.exp(logs))
    # A chance of exactly p is one draw, whatever was rounded.
    found: Floats = np.maximum(np.ceil(exact * (1 - 1e-9)), 1)
    return found


def rows(
    windows: Windows, groups: Mapping[str, Labels], bases: Labels, level: float
) -> Iterator[tuple[str, str, Row]]:
    """For each model and group: the share of windows that so many draws extract. Windows of one
    passage belong together."""
    item = np.array([one.item for one in windows.cuts])
    for model, logs in windows.logs.items():
        needed = tries(logs, windows.p)
        for group, own in groups.items():
            here = np.isin(item, own)
            if not here.any():
                continue
            passages = bases[item[here]]
            greedy = windows.greedy[model][here]
            about: dict[str, Any] = {
                "windows": int(here.sum()),
                "passages": len(np.unique(passages)),
            }
            about |= estimate(
                "greedy", float(greedy.mean()), _sure(greedy, passages, level), _ends("greedy")
            )
            for count in TRIES:
                taken = (needed[here] <= count).astype(np.float64)
                share = estimate("share", float(taken.mean()), _sure(taken, passages, level), ENDS)
                row = {**about, "tries": count, **share}
                if model in windows.near:
                    taken = (tries(windows.near[model][here], windows.p) <= count).astype(float)
                    ends = _sure(taken, passages, level)
                    row |= estimate("near", float(taken.mean()), ends, _ends("near"))
                yield model, group, row


def window_rows(windows: Windows, items: Sequence[Item]) -> Iterator[tuple[str, int, Row]]:
    """Every window of every model: where it is, its chance and how many draws it takes."""
    for model, logs in windows.logs.items():
        needed = tries(logs, windows.p)
        for place, one in enumerate(windows.cuts):
            yield (
                model,
                one.item,
                {
                    "id": items[one.item].id,
                    "word": one.word,
                    "first": one.first,
                    "cut": one.cut,
                    "end": one.end,
                    "p": float(np.exp(logs[place])),
                    "log10_p": _finite(logs[place] / math.log(10)),
                    "tries": _finite(needed[place]),
                    "greedy": bool(windows.greedy[model][place]),
                    **_nearly(windows, model, place),
                },
            )


ENDS = ("low", "high")


def _nearly(windows: Windows, model: str, place: int) -> dict[str, float]:
    found = windows.near.get(model)
    return {} if found is None else {"near_p": float(np.exp(found[place]))}


def _finite(number: float) -> float | None:
    """Nothing for a suffix that cannot be written."""
    return float(number) if math.isfinite(number) else None


def _ends(name: str) -> tuple[str, str]:
    return f"{name}_low", f"{name}_high"


def _sure(taken: Floats, passages: Labels, level: float) -> tuple[float, float]:
    """One passage says nothing of others."""
    if len(np.unique(passages)) < 2:
        return math.nan, math.nan
    return share_interval(taken, passages, level)


def _many(row: Row) -> str:
    return "1 draw" if row["tries"] == 1 else f"{row['tries']:,} draws"


LAYOUT = (
    Table(
        "extraction",
        "Windows that so many draws extract",
        (
            *(Column("model"), Column("group")),
            *(Column("windows", kind="count"), Column("passages", kind="count")),
            Column("greedy", kind="share", ends=_ends("greedy")),
        ),
        limit=40,
        pivot=Pivot("tries", Column("share", kind="share", ends=ENDS), _many),
    ),
    Table(
        "extraction",
        "Windows that so many draws write nearly, at least",
        (Column("model"), Column("group")),
        said="lower bounds by a beam search: within --near edits of what follows",
        rows=lambda rows, result: [row for row in rows if "near" in row],
        limit=40,
        pivot=Pivot("tries", Column("near", kind="share", ends=_ends("near")), _many),
    ),
    Table("windows", "Chance of each window", limit=0, page=False),
)


def _map(found: Rows, result: Result) -> Rows:
    """The most likely window of each stretch, text by text; of many texts those best known."""
    drawn: list[dict[str, Any]] = []
    for model in distinct(found, "model"):
        own = [row for row in found if row["model"] == model]
        texts = {name: list(some) for name, some in groupby(own, key=lambda row: row["id"])}
        best = sorted(texts, key=lambda name: -max(_shown(row) for row in texts[name]))[:_TEXTS]
        for name, some in texts.items():
            if name not in best:
                continue
            size = -(-len(some) // _CELLS)
            step = (some[1]["word"] - some[0]["word"]) * size if len(some) > 1 else 1
            for first in range(0, len(some), size):
                at = some[first]["word"]
                chance = max(_shown(row) for row in some[first : first + size])
                drawn.append(
                    {
                        "model": model,
                        "id": name,
                        "at": at,
                        "from": at,
                        "to": at + step,
                        "chance": chance,
                    }
                )
    return drawn


def _shown(row: Row) -> float:
    return max(float(row["log10_p"]), _LEAST) if defined(row["log10_p"]) else _LEAST


CHARTS = (
    Chart(
        "extraction",
        "Windows extracted by so many draws",
        table="extraction",
        shape="lines",
        x="tries",
        y="share",
        colour="group",
        panel=("model",),
        ends=ENDS,
        titles={"tries": "draws", "share": "windows written"},
        scales={"tries": "log"},
        share=True,
        says="The share of windows that are written at least once, over the number of draws.",
    ),
    Chart(
        "map",
        "Where a text is known",
        table="windows",
        shape="heat",
        x="at",
        y="id",
        colour="chance",
        panel=("model",),
        ends=("from", "to"),
        domain=(_LEAST, 0.0),
        titles={"at": "word", "chance": "log10 of the chance"},
        rows=_map,
        says="Along each text, from its first word to its last: the darker, the likelier it is "
        "that the model writes what follows.",
    ),
)
