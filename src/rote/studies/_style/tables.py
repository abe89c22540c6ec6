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
from rote.core.result import Row, SourceResult
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
                low, high = wilson(count, int(here.sum()), recall.options.interval)
                row |= {name: count / int(here.sum()), f"{name}_low": low, f"{name}_high": high}
            yield row


def _substitutions(recall: Recall) -> Iterator[Row]:
    """Figure 8: which words stand for which where only the style was memorized."""
    for group, found in recall.groups.items():
        counted = Counter(
            pair for one in found if one.style and not one.exact for pair in one.substitutions()
        )
        for (tag, word, other), count in sorted(counted.items(), key=lambda e: (-e[1], e[0])):
            yield {
                **_named(recall, group),
                "tag": tag,
                "word": word,
                "written": other,
                "count": count,
            }


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
                "exact": one.exact,
                "style": one.style,
                "words_agree": one.words_agree,
                "tags_agree": one.tags_agree,
                "written": one.written,
            }
