"""From a context to the mixture of everything that may follow it in an index."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import OptionError
from rote.index.columns.parts import ABSENT
from rote.index.columns.shared import Shared, share
from rote.index.counting.extend import next_items
from rote.index.index import Index
from rote.search.model.back_off import BackOff
from rote.search.model.mixture import Mixture, Numbers, longer, shortest

_KEPT = 4_000_000
"""How many items the mixtures behind single items may hold together: they are used all the time."""


class Following:
    """What follows, by the numbers of the vocabulary that all segments share."""

    def __init__(self, index: Index, layer: str) -> None:
        self.index, self.layer = index, layer
        self.formula = BackOff(index, layer)
        self.shared: Shared = share(index.columns(layer))
        self._numbers = {string: i for i, string in enumerate(self.shared.strings) if i}
        self._lookups = index.lookups(layer)
        self._kept: dict[int, Mixture | None] = {}
        self._held = 0
        self._any = self._without_context()
        self._start = self._at_a_start()

    def numbers(self, items: Sequence[str]) -> list[int]:
        """The numbers of items, ABSENT for those that the index has never seen."""
        return [self._numbers.get(item, ABSENT) for item in items]

    def own(self, segment: int, run: Sequence[int]) -> list[int]:
        """A run in the numbers of one segment."""
        down = self.shared.down[segment]
        return [int(down[number]) if number != ABSENT else ABSENT for number in run]

    def after(self, context: Sequence[int]) -> Mixture:
        """The distribution after a context; after none, that of a document's first item."""
        if not context:
            return self._start
        found = self._after_one(context[-1])
        if found is None:
            return self._any
        for length in range(2, min(len(context), self.formula.longest) + 1):
            following = self._next(context[len(context) - length :])
            if following is None:
                break
            found = longer(found, *following, self.formula.scale, self.formula.power)
        return found

    def _after_one(self, item: int) -> Mixture | None:
        if item not in self._kept:
            if self._held > _KEPT:
                self._kept.clear()
                self._held = 0
            following = self._next([item])
            made = None
            if following is not None:
                made = longer(self._any, *following, self.formula.scale, self.formula.power)
                self._held += len(made.items)
            self._kept[item] = made
        return self._kept[item]

    def _next(self, run: Sequence[int]) -> tuple[Numbers, Numbers] | None:
        """The items behind a run and how often each; None where the run does not occur."""
        found: list[tuple[NDArray[np.int32], Numbers]] = []
        for segment, lookup in enumerate(self._lookups):
            own = self.own(segment, run)
            if ABSENT in own:
                continue
            items, counts = next_items(lookup, own)
            if len(items):
                found.append((self.shared.up[segment][items], counts))
        if not found:
            return None
        if len(found) == 1:
            return found[0][0].astype(np.int64), found[0][1]
        items, places = np.unique(np.concatenate([one for one, _ in found]), return_inverse=True)
        counts = np.zeros(len(items), np.int64)
        np.add.at(counts, places, np.concatenate([one for _, one in found]))
        return items.astype(np.int64), counts

    def _without_context(self) -> Mixture:
        counts = np.zeros(len(self.shared.strings), np.int64)
        for segment, lookup in enumerate(self._lookups):
            items, held = next_items(lookup, [])
            counts[self.shared.up[segment][items]] += held
        if not counts.sum():
            raise OptionError("an index without documents is no language model")
        return shortest(counts, self.formula.scale, self.formula.power)

    def _at_a_start(self) -> Mixture:
        """A document's start is a context like any other: every document has one."""
        counts = np.zeros(len(self.shared.strings), np.int64)
        for segment, column in enumerate(self.index.columns(self.layer)):
            starts = np.append(np.int64(0), column.document_ends + 1)[: len(column.document_ends)]
            first = column.ids.take(starts)
            np.add.at(counts, self.shared.up[segment][first], 1)
        items = np.flatnonzero(counts)
        return longer(self._any, items, counts[items], self.formula.scale, self.formula.power)
