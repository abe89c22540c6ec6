"""Words beside the matches of a query, how strongly they go together, how evenly they spread.

Log-likelihood G2 (Dunning 1993), log ratio (Hardie 2014), pointwise mutual information, t-score and
logDice (Rychlý 2008) of collocations; Juilland's D (Juilland and Chang-Rodríguez 1964) and the
deviation of proportions DP (Gries 2008) of dispersion. All are plain formulas over arrays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rote.core.errors import OptionError
from rote.index.grams import END, Grams
from rote.index.index import DEFAULT
from rote.search.rows.counts import Groups
from rote.search.rows.matches import ITEMS, MatchArrays, items_beside, unique_rows

COLLOCATES = ("word", "near", "expected", "count", "g2", "pmi", "t", "log_dice")
_AT_ONCE = 1 << 16


def find_collocates(
    matches: MatchArrays, window: int, layer: str = DEFAULT, least: int = 3
) -> list[dict[str, Any]]:
    """Each word that occurs so often within `window` words of a match, the largest G2 first.

    Windows end with the document; where two matches are near each other, both count. Marks are no
    words, but take a place.
    """
    if not 1 <= window <= ITEMS:
        raise OptionError(f"collocates must be between 1 and {ITEMS}, not {window}")
    near: Counter[str] = Counter()
    positions = 0
    for number, segment in enumerate(matches.index.segments):
        span, column = matches.of_segment(number), segment.columns[layer]
        counts = np.zeros(len(column.vocabulary), np.int64)
        for first in range(span.start, span.stop, _AT_ONCE):
            block = slice(first, min(first + _AT_ONCE, span.stop))
            for side in ("left", "right"):
                ids = items_beside(column, matches.start[block], matches.end[block], side)[
                    :, :window
                ]
                counts += np.bincount(ids[ids != END], minlength=len(counts))
        positions += int(counts.sum())
        for item in np.flatnonzero(counts).tolist():
            near[column.vocabulary[item]] += int(counts[item])
    words = [w for w, c in near.items() if c >= least and any(map(str.isalnum, w))]
    together = np.array([near[word] for word in words], np.int64)
    grams = Grams.of([(word,) for word in words])
    every = matches.index.counts(grams, layer) if words else together
    association = collocation(together, positions, every, matches.index.items_held(layer))
    order: Sequence[int] = np.lexsort((words, -association["g2"])).tolist() if words else []
    return [
        {
            "word": words[n],
            "near": int(together[n]),
            "count": int(every[n]),
            **{name: float(column[n]) for name, column in association.items()},
        }
        for n in order
    ]


def count_neighbours(matches: MatchArrays, side: str, words: int = 1) -> list[dict[str, Any]]:
    """What comes right after the matches (`right`) or right before them, the most frequent first.

    Marks count as words. Where a document ends sooner, what is left of it counts, and `ends`.
    """
    if not 1 <= words <= ITEMS:
        raise OptionError(f"words must be between 1 and {ITEMS}, not {words}")
    neighbours: Counter[tuple[str, ...]] = Counter()
    for number, segment in enumerate(matches.index.segments):
        span, column = matches.of_segment(number), segment.columns[matches.read_layer()]
        for first in range(span.start, span.stop, _AT_ONCE):
            block = slice(first, min(first + _AT_ONCE, span.stop))
            ids = items_beside(column, matches.start[block], matches.end[block], side)[:, :words]
            distinct, which = unique_rows(ids, column.ids.bits)
            for row, count in zip(ids[distinct].tolist(), np.bincount(which).tolist()):
                items = tuple(column.vocabulary[item] for item in row if item != END)
                neighbours[items] += count
    return [
        {
            "words": " ".join(items if side == "right" else items[::-1]),
            "ends": len(items) < words,
            "count": count,
            "share": count / len(matches),
        }
        for items, count in sorted(neighbours.items(), key=lambda pair: (-pair[1], pair[0]))
    ]


def dispersion(rows: Sequence[Mapping[str, Any]], groups: Groups) -> dict[str, float]:
    """Of a tally: Juilland's D and Gries' DP over all groups, those without a match too."""
    matches_of = {row["group"]: row["matches"] for row in rows}
    counts = [matches_of.get(name, 0) for name in groups.words]
    sizes = list(groups.words.values())
    return {
        "groups": len(counts),
        "juilland_d": juilland(counts, sizes),
        "dp": deviation(counts, sizes),
    }


Floats = NDArray[np.float64]


def log_likelihood(a: ArrayLike, b: ArrayLike, total_a: ArrayLike, total_b: ArrayLike) -> Floats:
    """G2 of a thing that occurs a times among `total_a` and b times among `total_b`.

    Over all four cells of the table; negative where the first has it less often.
    """
    first, second, first_total, second_total = (
        np.asarray(x, np.float64) for x in (a, b, total_a, total_b)
    )
    share = (first + second) / (first_total + second_total)
    total_information = np.zeros(np.broadcast_shapes(first.shape, second.shape, first_total.shape))
    for total, count in ((first_total, first), (second_total, second)):
        for cell, expected in ((count, total * share), (total - count, total * (1 - share))):
            with np.errstate(divide="ignore", invalid="ignore"):
                total_information += np.where(cell > 0, cell * np.log(cell / expected), 0.0)
    return np.where(first * second_total < second * first_total, -2.0, 2.0) * np.maximum(
        total_information, 0.0
    )


def likelihood_p(g2: ArrayLike) -> Floats:
    """How often chance gives a G2 as far from 0, if occurrences were independent."""
    from scipy.special import chdtrc

    return np.asarray(chdtrc(1, np.abs(np.asarray(g2, np.float64))), np.float64)


def log_ratio(a: ArrayLike, b: ArrayLike, total_a: ArrayLike, total_b: ArrayLike) -> Floats:
    """Binary logarithm of how many times as frequent it is in the first; 0 counts as a half. nan
    where one of them holds nothing that is this long."""
    first, second, first_total, second_total = (
        np.asarray(x, np.float64) for x in (a, b, total_a, total_b)
    )
    first_total, second_total = (
        np.where(total > 0, total, np.nan) for total in (first_total, second_total)
    )
    first, second = np.where(first > 0, first, 0.5), np.where(second > 0, second, 0.5)
    return np.asarray(np.log2(first / first_total) - np.log2(second / second_total), np.float64)


def juilland(counts: ArrayLike, sizes: ArrayLike) -> float:
    """Juilland's D of a thing over parts of these sizes: 1 where all have it at one rate, 0 where
    one part (of equal parts) has it alone. nan with one part, or where it does not occur."""
    occurrences, size = np.asarray(counts, np.float64), np.asarray(sizes, np.float64)
    occurrences, size = occurrences[size > 0], size[size > 0]
    if len(occurrences) < 2 or not occurrences.any():
        return float("nan")
    rates = occurrences / size
    variation = float(rates.std() / rates.mean())
    return 1 - variation / float(np.sqrt(len(rates) - 1))


def deviation(counts: ArrayLike, sizes: ArrayLike) -> float:
    """Gries' DP: half the sum of differences between each part's share of the thing and of all
    words. 0 where it is spread as the words are, near 1 where it is in one small part alone."""
    occurrences, size = np.asarray(counts, np.float64), np.asarray(sizes, np.float64)
    if not occurrences.any() or not size.any():
        return float("nan")
    return float(np.abs(occurrences / occurrences.sum() - size / size.sum()).sum() / 2)


def collocation(
    together: ArrayLike, node: ArrayLike, word: ArrayLike, total: ArrayLike
) -> dict[str, Any]:
    """Of a word that occurs `together` times among the `node` positions near another, and `word`
    times among all `total`: expected count, G2, PMI (bits), t-score, logDice."""
    o, n, w, t = (np.asarray(x, np.float64) for x in (together, node, word, total))
    expected = n * w / t
    with np.errstate(divide="ignore", invalid="ignore"):
        return {
            "expected": expected,
            "g2": log_likelihood(o, w - o, n, t - n),
            "pmi": np.log2(o / expected),
            "t": (o - expected) / np.sqrt(o),
            "log_dice": 14 + np.log2(2 * o / (n + w)),
        }
