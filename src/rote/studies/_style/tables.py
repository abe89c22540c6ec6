"""What a study of style memorization gives: shares by group and by frequency, substitutions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.compare.intervals import around, mean_error, wilson
from rote.core.chart import Chart
from rote.core.result import Result, SourceResult
from rote.core.table import Column, Row, Rows, Table, ends, estimate
from rote.studies._items import named
from rote.studies._popularity.scores import PARTS, Deciles
from rote.studies._style.completions import Completion

VALUES = {
    "exact": "memorized word for word",
    "style": "memorized in style (the same tags)",
    "style_only": "in style, not word for word",
    "words_agree": "words that agree",
    "tags_agree": "tags that agree",
}
_SHARES = ("exact", "style", "style_only")
_KINDS = {"exact": "word for word", "style": "in style (tags)"}
_TOLD = ("exact", "style", "words_agree", "tags_agree", "written")


@dataclass(frozen=True, slots=True)
class Recall:
    """What the tables are made from: completions by group, and how often each text was seen."""

    groups: Mapping[str, Sequence[Completion]]
    frequency: Mapping[tuple[str, str], float]
    """By the key of the text; empty where nobody says it."""
    options: Any


def sources(recall: Recall) -> dict[str, SourceResult]:
    return {name: _source(recall, found) for name, found in recall.groups.items()}


def all_tables(recall: Recall) -> dict[str, Sequence[Row]]:
    return {
        "resamples": list(_resamples(recall)),
        "frequency": list(_by_frequency(recall)),
        "substitutions": list(_substitutions(recall)),
        "examples": list(_examples(recall)),
        "texts": list(_texts(recall)),
    }


def _columns(found: Sequence[Completion]) -> dict[str, NDArray[np.float64]]:
    columns = {
        "exact": [float(one.exact) for one in found],
        "style": [float(one.style) for one in found],
        "style_only": [float(one.style and not one.exact) for one in found],
        "words_agree": [one.words_agree for one in found],
        "tags_agree": [one.tags_agree for one in found],
    }
    return {name: np.array(column) for name, column in columns.items()}


def _source(recall: Recall, found: Sequence[Completion]) -> SourceResult:
    columns, level = _columns(found), recall.options.interval
    intervals = {
        name: wilson(int(column.sum()), len(column), level)
        if name in _SHARES
        else around(float(column.mean()), mean_error(column), level, texts=len(column))
        for name, column in columns.items()
    }
    return SourceResult(
        texts=len(found),
        words=len(found) * recall.options.words,
        values={name: float(column.mean()) for name, column in columns.items()},
        intervals={
            name: ends for name, ends in intervals.items() if level and not math.isnan(ends[0])
        },
    )


def _named(recall: Recall, group: str) -> dict[str, Any]:
    return named(("model", *recall.options.by), group)


def _resamples(recall: Recall) -> Iterator[Row]:
    """The paper's way to say how sure a share is: its spread over draws of half of the texts."""
    for group, found in recall.groups.items():
        size = len(found) // 2
        if not size:
            continue
        # The same draws for every value, and for every group of the same size.
        random = np.random.default_rng(recall.options.seed)
        draws = [
            random.choice(len(found), size, replace=False) for _ in range(recall.options.resamples)
        ]
        for name, column in _columns(found).items():
            means = np.array([column[own].mean() for own in draws])
            yield {
                **_named(recall, group),
                "value": name,
                "mean": float(means.mean()),
                "sd": float(means.std(ddof=1)),
                "draws": len(draws),
                "size": size,
            }


def _by_frequency(recall: Recall) -> Iterator[Row]:
    """Figure 7. Where there are at most ten different frequencies each is a bin of its own."""
    if not recall.frequency:
        return
    seen = np.array(sorted(recall.frequency.values()))
    levels = np.unique(seen)
    deciles = None if len(levels) <= PARTS else Deciles.of(seen)
    for group, found in recall.groups.items():
        own = np.array([recall.frequency[one.cut.key] for one in found])
        parts = np.searchsorted(levels, own) + 1 if deciles is None else deciles(own)
        columns = _columns(found)
        for part in np.unique(parts).tolist():
            here = parts == part
            row = {
                **_named(recall, group),
                "bin": part,
                "least": float(own[here].min()),
                "most": float(own[here].max()),
                "texts": int(here.sum()),
            }
            for name in _SHARES:
                count = int(columns[name][here].sum())
                reach = wilson(count, row["texts"], recall.options.interval)
                row |= estimate(name, count / row["texts"], reach)
            yield row


def _substitutions(recall: Recall) -> Iterator[Row]:
    """Figure 8: which words stand for which where only the style was memorized."""
    for group, found in recall.groups.items():
        counted = Counter(
            pair for one in found if one.style and not one.exact for pair in one.substitutions()
        )
        for (tag, word, other), count in sorted(counted.items(), key=lambda e: (-e[1], e[0])):
            begin = _named(recall, group)
            yield {**begin, "tag": tag, "word": word, "written": other, "count": count}


def _examples(recall: Recall) -> Iterator[Row]:
    """The texts that were memorized in style alone, side by side with what was written."""
    for group, found in recall.groups.items():
        for one in found:
            if one.style and not one.exact:
                yield {
                    **_named(recall, group),
                    "id": one.cut.document.id,
                    "text": " ".join(one.words),
                    "written": " ".join(one.own_words),
                    "differ": [
                        place
                        for place, (word, other) in enumerate(zip(one.words, one.own_words))
                        if word != other
                    ],
                }


def _texts(recall: Recall) -> Iterator[Row]:
    for group, found in recall.groups.items():
        for one in found:
            yield {
                **_named(recall, group),
                "id": one.cut.document.id,
                "frequency": recall.frequency.get(one.cut.key),
                **{name: getattr(one, name) for name in _TOLD},
            }


_SHOWN, _EVERY = 12, 100


def seen(row: Row) -> str:
    """How often the texts of a bin were seen."""
    least, most = row["least"], row["most"]
    return f"{least:,g}" if least == most else f"{least:,g} - {most:,g}"


LAYOUT = (
    Table(
        "resamples",
        lambda rows, result: f"Spread over {rows[0]['draws']:,} draws of half of the texts",
        (Column("group"), Column("value"), Column("mean", "share", "share", spread="sd")),
        said="mean ± standard deviation",
        rows=lambda rows, result: [row for row in rows if row["value"] in _KINDS],
        limit=_EVERY,
    ),
    Table(
        "frequency",
        "By how often a text was seen",
        (
            *(Column("group"), Column("seen"), Column("texts", kind="count")),
            *(Column(n, kind="share", ends=ends(n)) for n in ("exact", "style", "style_only")),
        ),
        rows=lambda rows, result: [{**row, "seen": seen(row)} for row in rows],
        limit=_EVERY,
    ),
    Table(
        "substitutions",
        "Words put in the place of others",
        (
            *(Column("group"), Column("tag"), Column("word"), Column("written")),
            Column("count", kind="count"),
        ),
        limit=_SHOWN,
    ),
    Table("examples", "Examples", limit=0),
    # What was written, not values of each text.
    Table("texts", "Texts", limit=0, page=False),
)


def _frequency(rows: Rows, result: Result) -> Rows:
    return [
        {"group": row["group"], "seen": seen(row), "kind": kind, "share": row[kind]}
        | dict(zip(("low", "high"), (row[end] for end in ends(kind))))
        for row in sorted(rows, key=lambda row: row["bin"])
        for kind in _KINDS
    ]


CHARTS = (
    Chart(
        "frequency",
        "Memorized, by how often it was seen",
        table="frequency",
        shape="bars",
        x="seen",
        y="share",
        colour="kind",
        names=_KINDS,
        colours={"exact": "plain", "style": "pale"},
        panel=("group",),
        ends=("low", "high"),
        titles={"seen": "times in the training data", "share": "memorized"},
        share=True,
        rows=_frequency,
        whole=True,
        says="What is memorized word for word, and in style, by how often the model saw it.",
    ),
    Chart("values", "Values"),
)
