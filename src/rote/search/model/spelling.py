"""Items as text: capitals and spaces as the index has them where the same words stand.

An item of the layer `lower` has no capitals, and no item knows whether a space stands before it.
Both are looked up where the item stands behind the longest part of its context that is in the
index, by the majority of a sample of these places. So a sentence begins with a capital because
sentences in the index do, and a comma has no space before it for the same reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from rote.index.columns.parts import ABSENT, Column
from rote.index.segments.opened import WORD
from rote.search.model.back_off import BackOff

_SAMPLE = 64
"""Places that are looked at in each segment."""


class Spelling:
    """How an item is written behind a context."""

    def __init__(self, model: BackOff) -> None:
        index, layer = model.index, model.layer
        self._model = model
        self._columns = index.columns(layer)
        self._lookups = index.lookups(layer)
        # The words as they were written align with those of the layer.
        shown = WORD if WORD in index.layers else layer
        self._shown: Sequence[Column] = index.columns(shown)

    def written(self, context: Sequence[int], item: int) -> tuple[str, str]:
        """What stands between the item before and this one (a space or nothing), and the item."""
        if not context and (found := Counter(self._at_starts(item))):
            return "", found.most_common(1)[0][0][1]
        length, ranges = 0, self._ranges([item])
        while length < min(len(context), self._model.longest):
            longer = self._ranges([*context[len(context) - length - 1 :], item])
            if not longer:
                break
            length, ranges = length + 1, longer
        gap, shown = self._majority(ranges, length)
        return gap if context else "", shown

    def _ranges(self, run: Sequence[int]) -> list[tuple[int, int, int]]:
        """The segments that hold a run, and where it stands among their sorted places."""
        found = []
        for segment, lookup in enumerate(self._lookups):
            own = self._model.own(segment, run)
            low, high = (0, 0) if ABSENT in own else lookup.range(own)
            if low < high:
                found.append((segment, low, high))
        return found

    def _majority(self, ranges: Sequence[tuple[int, int, int]], length: int) -> tuple[str, str]:
        found: Counter[tuple[str, str]] = Counter()
        for segment, low, high in ranges:
            suffixes = self._columns[segment].suffixes
            assert suffixes is not None
            count = min(high - low, _SAMPLE)
            ranks = low + (high - low) * np.arange(count, dtype=np.int64) // count
            found.update(self._at(segment, suffixes.order.take(ranks) + length))
        return found.most_common(1)[0][0]

    def _at_starts(self, item: int) -> Iterator[tuple[str, str]]:
        """Where a document begins with the item."""
        for segment, column in enumerate(self._columns):
            ends = column.document_ends
            starts = np.append(np.int64(0), ends + 1)[: len(ends)]
            own = self._model.own(segment, [item])[0]
            yield from self._at(segment, starts[column.ids.take(starts) == own][:_SAMPLE])

    def _at(self, segment: int, places: np.ndarray) -> Iterator[tuple[str, str]]:
        column = self._shown[segment]
        spans = self._model.index.segments[segment].frame_of(column.name).spans
        assert spans is not None
        starts, _ = spans.spans(places)
        # The item before; that of a document's first is its end, which stands at 0.
        _, ends = spans.spans(np.maximum(places - 1, 0))
        for shown, start, end in zip(column.ids.take(places).tolist(), starts, ends):
            yield " " if start > end else "", column.vocabulary[shown]
