"""Equal sizes: from how many texts of every source, and how much of each, values are compared.

Sources differ in how many texts they have and in how long these are, and a score that moves with
either says more about size than about language. So every source gives the same number of windows,
one from a text, each of the same number of words. A text brings the same window to everything that
is compared: were it another each time, long texts would vary from draw to draw and short ones
would not, labels could not be exchanged between them, and the test would be none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.compare._resample import scramble
from rote.core.array_types import Flags, Integers
from rote.core.sample import Cut, Take

DRAWS = 5
"""How often texts are drawn from a source that has many more than the smallest."""
KEPT = 0.9
"""The share of its texts that every source keeps: shorter ones hold no window."""
LARGEST = 1_000_000
"""Beyond this many words a larger sample changes nothing that a reader would see."""
SHORTEST: Mapping[str, int] = {"words": 10, "sentences": 1}
"""Windows that are shorter tell nothing."""
FEWEST = 2
CHOOSING = DRAWS
"""The order by which texts are chosen that are drawn from: one of its own, so that the texts of a
large source, chosen from more, do not come first in the others, which are those of the tests."""
_FEWEST_ON_CURVE = 5
_CURVE_POINTS = 8

Unit: TypeAlias = Literal["words", "sentences", "texts"]


@dataclass(frozen=True, slots=True)
class Plan:
    """`windows` texts of every source; of each text `size` words or sentences, or all (None)."""

    unit: Unit
    size: int | None
    windows: int
    draws: int
    """How often `windows` texts are drawn, at most, from those of a source."""
    groups: Mapping[str, Take]
    """The texts that windows are taken from."""
    texts: Take
    """All of them, ascending: window w is that of the w-th."""
    left_out: Mapping[str, int]
    """How many texts of a source are too short."""

    def row(self, source: str, windows: int) -> dict[str, int]:
        """What a table says of a value of this many windows of a source."""
        if self.size is None:
            return {"texts": windows}
        return {
            self.unit: self.size * windows,
            "window": self.size,
            "windows": windows,
            "left_out": self.left_out[source],
        }

    def curve(self) -> list[int]:
        """Numbers of windows: halving from what all sources give, doubling up to the largest."""
        points = {self.windows >> halvings for halvings in range(_CURVE_POINTS)}
        points |= {self.windows << doublings for doublings in range(1, _CURVE_POINTS)}
        largest = max(map(len, self.groups.values()))
        return sorted(size for size in points if _FEWEST_ON_CURVE <= size <= largest)


def planned(groups: Mapping[str, Take], sizes: Integers, unit: Unit, order: Order) -> Plan | None:
    """The longest window that nine of ten texts of every source hold; None if there is none."""
    size = None if unit == "texts" else window_size([sizes[take] for take in groups.values()], unit)
    kept = {s: take if size is None else take[sizes[take] >= size] for s, take in groups.items()}
    least = min(map(len, kept.values()))
    if least < FEWEST:
        return None
    per_window = size if size is not None else max(1, int(np.mean(sizes)))
    windows = max(FEWEST, min(least, LARGEST // per_window))
    draws = max(1, min(DRAWS, max(map(len, kept.values())) // windows))
    chosen = {s: order.first(take, draws * windows, CHOOSING) for s, take in kept.items()}
    return Plan(
        unit=unit,
        size=size,
        windows=windows,
        draws=draws,
        groups=chosen,
        texts=np.sort(np.concatenate(list(chosen.values()))),
        left_out={source: len(groups[source]) - len(kept[source]) for source in groups},
    )


def window_size(sizes: Sequence[Integers], unit: Unit) -> int:
    """The largest size at which every source keeps nine texts of ten, or the smallest allowed."""
    tenths = [np.sort(own)[int(round(len(own) * (1 - KEPT), 9))] for own in sizes if len(own)]
    return max(SHORTEST[unit], int(min(tenths, default=0)))


def unequal(groups: Mapping[str, Take], sizes: Integers, unit: Unit) -> bool:
    """Whether sources differ in number or length of texts by more than a reader would see."""
    counts = [len(take) for take in groups.values()]
    lengths = [float(sizes[take].mean()) if len(take) else 0.0 for take in groups.values()]
    matched = (counts,) if unit == "texts" else (counts, lengths)
    return any(max(of) > 1.01 * min(of) for of in matched)


@dataclass(frozen=True, slots=True)
class Order:
    """Texts in random orders that depend on the seed and on them, not on the order of the input.

    Texts that answer what every source answers come first, and of these one of each doc_id, then
    a second one and so on, doc_ids in the same order for all sources: what is compared stays
    parallel. Of which source a text is does not matter, so that labels can be permuted.
    """

    places: Integers
    """By text: its place in an order that is not that of the input."""
    keys: NDArray[np.uint64]
    strata: Integers
    common: Flags
    """By text: whether every source has texts of its doc_id."""
    numbers: NDArray[np.uint64]
    """By draw and text; those of doc_ids follow."""
    of_strata: NDArray[np.uint64]

    @classmethod
    def of(cls, places: Integers, strata: Integers, groups: Mapping[str, Take], seed: int) -> Order:
        keys = places.astype(np.uint64) + np.uint64((seed + 1) * 0xD1342543DE82EF95 % 2**64)
        everywhere = np.unique(strata)
        for take in groups.values():
            everywhere = np.intersect1d(everywhere, strata[take])
        common = np.isin(strata, everywhere[everywhere >= 0])
        # A text without a doc_id is the only one that answers what it answers.
        alone = -1 - np.arange(len(strata), dtype=np.int64)
        kinds, number = np.unique(np.where(strata >= 0, strata, alone), return_inverse=True)
        numbers = np.stack([scramble(keys, _salt(draw)) for draw in range(CHOOSING + 1)])
        together = np.argsort(number, kind="stable")
        firsts = np.searchsorted(number[together], np.arange(len(kinds)))
        least = np.minimum.reduceat(numbers[:, together], firsts, axis=1)
        return cls(places, keys, number.astype(np.int64), common, numbers, least[:, number])

    def canonical(self, take: Take) -> Take:
        """The same texts as draws see them: not in the order of the input."""
        return take[np.argsort(self.places[take], kind="stable")]

    def first(self, take: Take, count: int, draw: int) -> Take:
        """The first of these texts in the order of a draw, ascending."""
        if len(take) <= count:
            return take
        own, strata = self.numbers[draw, take], self.strata[take]
        by_stratum = np.lexsort((own, strata))
        begins = np.append(True, np.diff(strata[by_stratum]) != 0)
        turn = np.empty(len(take), np.int64)
        turn[by_stratum] = np.arange(len(take)) - np.flatnonzero(begins)[np.cumsum(begins) - 1]
        order = np.lexsort((own, self.of_strata[draw, take], turn, ~self.common[take]))
        return np.asarray(np.sort(take[order[:count]]), np.int64)

    def cut(self, texts: Take, sizes: Integers, size: int, draw: int) -> Cut:
        """One window of each text, at a random place."""
        lengths = sizes[texts]
        # Numbers of their own: where a window stands has nothing to do with who is drawn.
        anywhere = scramble(self.keys[texts], _salt(CHOOSING + 1 + draw))
        firsts = (anywhere % (lengths - size + 1).astype(np.uint64)).astype(np.int64)
        return Cut(texts, firsts, lengths, size)


def _salt(draw: int) -> np.uint64:
    return np.uint64((draw + 1) * 0x9E3779B97F4A7C15 % 2**64)
