"""Words beside the matches of a query, what is next to them, and how evenly they are spread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rote.core.errors import OptionError
from rote.index.columns.parts import END
from rote.index.grams import Grams
from rote.index.index import DEFAULT, Index
from rote.search.association import collocation, deviation, juilland
from rote.search.rows.found import ITEMS, Matches, beside, told_apart
from rote.search.rows.groups import Groups

COLLOCATES = ("word", "near", "expected", "count", "g2", "pmi", "t", "log_dice")
SORTS = COLLOCATES[4:]
NEXT = ("words", "ends", "count", "share")
_AT_ONCE = 1 << 16


def collocates(
    matches: Matches, window: int, layer: str = DEFAULT, least: int = 3
) -> list[dict[str, Any]]:
    """Each word that occurs so often within `window` words of a match, the largest G2 first.

    Windows end with the document; where two matches are near each other, both count. Marks are no
    words, but take a place.
    """
    if not 1 <= window <= ITEMS:
        raise OptionError(f"collocates must be between 1 and {ITEMS}, not {window}")
    near: Counter[str] = Counter()
    places = 0
    for number, segment in enumerate(matches.index.segments):
        own, column = matches.of_segment(number), segment.columns[layer]
        counts = np.zeros(len(column.vocabulary), np.int64)
        for first in range(own.start, own.stop, _AT_ONCE):
            block = slice(first, min(first + _AT_ONCE, own.stop))
            for side in ("left", "right"):
                ids = beside(column, matches.start[block], matches.end[block], side)[:, :window]
                counts += np.bincount(ids[ids != END], minlength=len(counts))
        places += int(counts.sum())
        for item in np.flatnonzero(counts).tolist():
            near[column.vocabulary[item]] += int(counts[item])
    words = [w for w, c in near.items() if c >= least and any(map(str.isalnum, w))]
    together = np.array([near[word] for word in words], np.int64)
    every = _counts(matches.index, words, layer)
    found = collocation(together, places, every, matches.index.items_held(layer))
    order: Sequence[int] = np.lexsort((words, -found["g2"])).tolist() if words else []
    return [
        {
            "word": words[n],
            "near": int(together[n]),
            "count": int(every[n]),
            **{name: float(column[n]) for name, column in found.items()},
        }
        for n in order
    ]


def next_to(matches: Matches, side: str, words: int = 1) -> list[dict[str, Any]]:
    """What comes right after the matches (`right`) or right before them, the most frequent first.

    Marks count as words. Where a document ends sooner, what is left of it counts, and `ends`.
    """
    if not 1 <= words <= ITEMS:
        raise OptionError(f"words must be between 1 and {ITEMS}, not {words}")
    found: Counter[tuple[str, ...]] = Counter()
    for number, segment in enumerate(matches.index.segments):
        own, column = matches.of_segment(number), segment.columns[matches.read_layer()]
        for first in range(own.start, own.stop, _AT_ONCE):
            block = slice(first, min(first + _AT_ONCE, own.stop))
            ids = beside(column, matches.start[block], matches.end[block], side)[:, :words]
            shown, which = told_apart(ids, column.ids.bits)
            for row, count in zip(ids[shown].tolist(), np.bincount(which).tolist()):
                held = tuple(column.vocabulary[item] for item in row if item != END)
                found[held] += count
    return [
        {
            "words": " ".join(held if side == "right" else held[::-1]),
            "ends": len(held) < words,
            "count": count,
            "share": count / len(matches),
        }
        for held, count in sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
    ]


def _counts(index: Index, words: Sequence[str], layer: str) -> Any:
    if not words:
        return np.empty(0, np.int64)
    return np.asarray(index.counts(Grams.of([(word,) for word in words]), layer), np.int64)


def dispersion(rows: Sequence[Mapping[str, Any]], groups: Groups) -> dict[str, float]:
    """Of a tally: Juilland's D and Gries' DP over all groups, those without a match too."""
    held = {row["group"]: row["matches"] for row in rows}
    counts = [held.get(name, 0) for name in groups.words]
    sizes = list(groups.words.values())
    return {
        "groups": len(counts),
        "juilland_d": juilland(counts, sizes),
        "dp": deviation(counts, sizes),
    }
