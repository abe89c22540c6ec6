"""The items of other layers under a match: tags, lemmas, subwords."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rote.index.answers import Place
    from rote.index.index import Index


class ItemsUnder:
    """For a place the items whose characters it holds, in each of some layers.

    A match may stand in one frame (words) and the layer in another (subwords): what they share
    is the text.
    """

    def __init__(self, index: Index, layers: Sequence[str]) -> None:
        self._index = index
        # The words come first: the others stand below them.
        self.columns = tuple(dict.fromkeys(("word", *layers))) if layers else ()

    def __call__(self, place: Place) -> dict[str, list[str]]:
        return {layer: self._items(place, layer) for layer in self.columns}

    def _items(self, place: Place, layer: str) -> list[str]:
        import numpy as np

        segment = self._index.segments[place.segment]
        column, frame = segment.columns[layer], segment.frame_of(layer)
        first = int(frame.start_of(place.number))
        assert frame.spans is not None
        starts, ends = frame.spans.spans(
            np.arange(first, int(frame.document_ends[place.number]), dtype=np.int64)
        )
        held = np.flatnonzero((starts < place.end) & (ends > place.start)) + first
        return [column.vocabulary[column.ids[i]] for i in held.tolist()]
