"""Equal sizes: from how many texts of every source, and how much of each, values are compared.

Sources differ in how many texts they have and in how long these are, and a score that moves with
either says more about size than about language. So every source gives the same number of windows,
one from a text, each of the same number of words, and values are means over `DRAWS` draws of them.
The draws are a plan, not chance: over all of them every text shows every part of itself, and texts
that are drawn from a larger number come equally often. They depend on the texts alone, so that no
verdict turns with the seed, and are the same whatever the labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.compare.resampling import rank_in_groups, scramble
from rote.core.arrays import Array, Flags, Integers
from rote.core.kernels import njit
from rote.core.metric import number_texts
from rote.core.sample import Cut, Take

DRAWS = 20
"""How many windows of a text values at equal size are means over."""
MIN_SHARE = 0.9
"""The share of its texts that every source keeps: shorter ones hold no window."""
MAX_WORDS = 1_000_000
"""Beyond this many words a larger sample changes nothing that a reader would see."""
MIN_WINDOW: Mapping[str, int] = {"words": 40, "sentences": 1}
"""Windows that are shorter tell nothing."""
MAX_WINDOW: Mapping[str, int] = {"words": 250, "sentences": 8}
"""Longer windows show no more of a text, of which the draws take one part after another, and take
longer to measure."""
MIN_WINDOWS = 2
MANY_TEXTS, TEXTS_PER_WINDOW = 60, 4
"""Windows of a draw: all texts of the smallest source, or this many if it has more, or one of so
many. The fewer, the more often each text comes, and the quicker a draw is measured."""
_MIN_ON_CURVE = 5
_CURVE_POINTS = 8

Unit: TypeAlias = Literal["words", "sentences", "texts"]


@dataclass(frozen=True, slots=True)
class SizePlan:
    """`windows` texts of every source; of each text `size` words or sentences, or all (None)."""

    unit: Unit
    size: int | None
    windows: int
    draws: int
    """How often they are drawn."""
    groups: Mapping[str, Take]
    """The texts that windows are taken from."""
    texts: Take
    """All of them, ascending: window w is that of the w-th."""
    left_out: Mapping[str, int]
    """How many texts of a source are too short."""
    too_short: Sequence[str] = ()
    """Sources that are not compared: too many of their texts are shorter than any usable window."""

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
        return sorted(size for size in points if _MIN_ON_CURVE <= size <= largest)


def plan_sizes(
    groups: Mapping[str, Take], sizes: Integers, unit: Unit, largest: int = MAX_WORDS
) -> SizePlan | None:
    """The longest window that nine of ten texts of every source hold, up to `MAX_WINDOW`; None if
    there is none.

    A source whose texts hold no usable window is left out, so that it does not prevent comparing
    the others. A draw holds at most `largest` words, unless some texts would not be drawn at all.
    """
    tenths = {} if unit == "texts" else {s: _tenth(sizes[take]) for s, take in groups.items()}
    too_short = sources_too_short(groups, sizes, unit)
    size = min((tenth for s, tenth in tenths.items() if s not in too_short), default=None)
    size = min(size, MAX_WINDOW[unit]) if size is not None else None
    long_enough = {
        s: take if size is None else take[sizes[take] >= size]
        for s, take in groups.items()
        if s not in too_short
    }
    least = min(map(len, long_enough.values()), default=0)
    if least < MIN_WINDOWS or len(long_enough) < min(2, len(groups)):
        return None
    per_window = size if size is not None else max(1, int(np.mean(sizes)))
    wanted = least if least <= MANY_TEXTS else max(MANY_TEXTS, -(-least // TEXTS_PER_WINDOW))
    windows = max(MIN_WINDOWS, -(-least // DRAWS), min(wanted, largest // per_window))
    texts = np.sort(np.concatenate(list(long_enough.values())))
    varied = windows < max(map(len, long_enough.values()))
    longer = size is not None and bool((sizes[texts] > size).any())
    return SizePlan(
        unit=unit,
        size=size,
        windows=windows,
        draws=DRAWS if varied or longer else 1,
        groups=long_enough,
        texts=texts,
        left_out={source: len(groups[source]) - len(long_enough[source]) for source in long_enough},
        too_short=too_short,
    )


def sources_too_short(groups: Mapping[str, Take], sizes: Integers, unit: Unit) -> list[str]:
    """The sources of which more than a tenth of the texts hold no usable window."""
    if unit == "texts":
        return []
    return [s for s, take in groups.items() if _tenth(sizes[take]) < MIN_WINDOW[unit]]


def _tenth(lengths: Integers) -> int:
    """The largest size that nine texts of ten have."""
    place = int(round(len(lengths) * (1 - MIN_SHARE), 9))
    return int(np.sort(lengths)[place]) if len(lengths) else 0


def has_unequal_sizes(groups: Mapping[str, Take], sizes: Integers, unit: Unit) -> bool:
    """Whether sources differ in number or length of texts by more than a reader would see."""
    counts = [len(take) for take in groups.values()]
    lengths = [float(sizes[take].mean()) if len(take) else 0.0 for take in groups.values()]
    matched = (counts,) if unit == "texts" else (counts, lengths)
    return any(max(of) > 1.01 * min(of) for of in matched)


@dataclass(frozen=True, slots=True)
class DrawOrder:
    """Texts in mixed orders that depend on them alone, not on the order of the input.

    Texts that answer what every source answers come first, and of these one of each doc_id, then
    a second one and so on, doc_ids in the same order for all sources: what is compared stays
    parallel. Labels do not matter once the orders are made, so that they can be permuted.
    """

    places: Integers
    """By text: its place in an order that is not that of the input."""
    keys: NDArray[np.uint64]
    ranks: Integers
    """By order and text: its rank. There are as many orders as draws."""

    @classmethod
    def of(cls, places: Integers, strata: Integers, groups: Mapping[str, Take]) -> DrawOrder:
        keys = places.astype(np.uint64)
        everywhere = np.unique(strata)
        for take in groups.values():
            everywhere = np.intersect1d(everywhere, strata[take])
        common = np.isin(strata, everywhere[everywhere >= 0])
        # A text without a doc_id is the only one that answers what it answers.
        alone = -1 - np.arange(len(strata), dtype=np.int64)
        _, kinds = np.unique(np.where(strata >= 0, strata, alone), return_inverse=True)
        source = np.zeros(len(strata), np.int64)
        for number, take in enumerate(groups.values()):
            source[take] = number
        ranks = np.empty((DRAWS, len(strata)), np.int64)
        for draw in range(DRAWS):
            mixed = scramble(keys, _salt(draw))
            order = _in_order(mixed, kinds, source, common)
            ranks[draw, order] = np.arange(len(order))
        return cls(places, keys, ranks)

    def canonical(self, take: Take) -> Take:
        """The same texts as draws see them: not in the order of the input."""
        return take[np.argsort(self.places[take], kind="stable")]

    def blocks(self, take: Take, count: int, draws: int) -> list[Take]:
        """So many of these texts for each draw, ascending: block by block of one order, then of the
        next, so that every text comes about equally often."""
        return list(self.blocks_of_groups([take], count, draws)[0])

    def blocks_of_groups(self, takes: Sequence[Take], count: int, draws: int) -> list[Integers]:
        """`blocks` of many groups: by group and draw, those of equally many texts at once."""
        every, places = number_texts(takes)
        orders = np.argsort(self.ranks[:, every], axis=1)
        blocks = every[draw_blocks(places, np.cumsum(list(map(len, takes))), orders, count, draws)]
        return [
            of_group if len(take) > count else np.broadcast_to(take, (draws, len(take)))
            for take, of_group in zip(takes, blocks)
        ]

    def cut(self, texts: Take, sizes: Integers, size: int, draw: int) -> Cut:
        """One window of each text. The places are spread evenly over a text, each draw takes
        another of them, and every text begins with a place of its own."""
        lengths = sizes[texts]
        # Numbers of their own: where a window stands has nothing to do with who is drawn.
        slot = (scramble(self.keys[texts], _salt(DRAWS)) + np.uint64(draw)) % np.uint64(DRAWS)
        room = lengths - size
        firsts = (2 * slot.astype(np.int64) * room + DRAWS - 1) // (2 * (DRAWS - 1))
        return Cut(texts, firsts, lengths, size)


def _in_order(
    mixed: NDArray[np.uint64], kinds: Integers, source: Integers, common: Flags
) -> Integers:
    """All texts in the order of one draw, in which they have these random numbers."""
    turn = rank_in_groups(np.lexsort((mixed, source, kinds)), kinds, source)
    of_kind = np.full(kinds.max(initial=0) + 1, np.iinfo(np.uint64).max, np.uint64)
    np.minimum.at(of_kind, kinds, mixed)
    return np.lexsort((mixed, of_kind[kinds], turn, ~common))


def _salt(draw: int) -> np.uint64:
    return np.uint64((draw + 1) * 0x9E3779B97F4A7C15 % 2**64)


@njit(cache=True, nogil=True)
def draw_blocks(texts: Array, ends: Array, orders: Array, count: int, draws: int) -> Array:
    """By group and draw `count` of its texts, ascending; 0 where a group has no more than that.

    `orders` has all texts in the order of one pass after another. A pass gives one block of each
    `count` texts of a group, as long as there are so many.
    """
    size = orders.shape[1]
    blocks = np.zeros((len(ends), draws, count), np.int64)
    inside = np.zeros(size, np.bool_)
    block_of = np.zeros(size, np.int64)
    filled = np.zeros(draws, np.int64)
    begin = 0
    for group in range(len(ends)):
        end = ends[group]
        in_pass = (end - begin) // count
        if end - begin > count:
            for place in range(begin, end):
                inside[texts[place]] = True
            filled[:] = 0
            for first in range(0, draws, in_pass):
                order = orders[first // in_pass]
                turn = 0
                for place in range(size):
                    text = order[place]
                    if inside[text]:
                        block_of[text] = first + turn // count if turn < in_pass * count else draws
                        turn += 1
                for text in range(size):
                    if inside[text] and block_of[text] < draws:
                        draw = block_of[text]
                        blocks[group, draw, filled[draw]] = text
                        filled[draw] += 1
            for place in range(begin, end):
                inside[texts[place]] = False
        begin = end
    return blocks
