"""The texts of one call as measures see them: aligned columns, all sources together.

Sources are not kept apart here. A measure computes its rows once over all texts;
a source, a half-sample or a permuted group is then just an array of text numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from rote.core.layer import Layer, Offsets

Take = NDArray[np.int64]
"""Numbers of the chosen texts, ascending: input order is kept."""


SEVERAL = "\x1e"
"""Stands between the texts of a field that holds several, such as more than one reference."""


@dataclass(frozen=True, slots=True)
class Need:
    """A layer that a measure counts over, and the tokenizer it wants it from.

    `layer` may be `text`: the raw text as UTF-8 bytes. `tokenizer` None means the
    one that the user chose. `spans`: keep where each item stands in its text, and where
    sentences end; most counts need neither. `field`: the layer is not that of the text itself but
    of what a field of its record holds (`reference`, `document`), text by text; `several`: that
    may be a list of texts, which come joined by SEVERAL; `empty`: it may also be null, which is
    read as an empty text, as numbers may be missing.
    """

    layer: str
    tokenizer: str | None = None
    spans: bool = False
    field: str | None = None
    several: bool = False
    empty: bool = False


@dataclass(frozen=True, slots=True)
class RawText:
    """UTF-8 bytes of all texts in one array; text t is `data[ends[t-1]:ends[t]]`."""

    data: NDArray[np.uint8]
    ends: Offsets

    def __len__(self) -> int:
        return len(self.ends)

    def text(self, number: int) -> bytes:
        start = int(self.ends[number - 1]) if number else 0
        return self.data[start : int(self.ends[number])].tobytes()


@dataclass(frozen=True, slots=True)
class Sample:
    """Everything a measure may count: layers by need, raw text where asked for.

    `words` holds each text's length in words of the user's tokenizer; it is the
    measure of size everywhere, whatever a measure itself counts.
    """

    words: NDArray[np.int64]
    layers: Mapping[Need, Layer]
    raws: Mapping[str | None, RawText] = field(default_factory=dict)
    """Raw text by the field that it stands in; None is the text itself."""

    def __len__(self) -> int:
        return len(self.words)

    def layer(self, need: Need) -> Layer:
        return self.layers[need]

    def text(self, field: str | None = None) -> RawText:
        return self.raws[field]

    def matched(self, order: Take, words: int) -> Sample:
        """A sample of exactly `words` words: the first texts of a random order, the last one cut.

        Columns that are not in the user's own words are cut at the same share of
        the last text, to the nearest item.
        """
        total = np.cumsum(self.words[order])
        count = int(np.searchsorted(total, words)) + 1
        # Input order, as everywhere, but the text that is cut stands last.
        chosen = np.append(np.sort(order[: count - 1]), order[count - 1])
        last = int(self.words[chosen[-1]])
        kept = last - int(total[count - 1] - words)
        share = kept / last if last else 1.0
        return self.take(chosen, last_share=share)

    def take(self, chosen: Take, last_share: float = 1.0) -> Sample:
        """The chosen texts, in the given order, as a sample of their own."""
        words = self.words[chosen].copy()
        if len(words):
            words[-1] = round(int(words[-1]) * last_share)
        return Sample(
            words=words,
            layers={need: _take(layer, chosen, last_share) for need, layer in self.layers.items()},
            raws={field: _take_raw(raw, chosen, last_share) for field, raw in self.raws.items()},
        )


def _pieces(ends: Offsets, chosen: Take, last_share: float) -> tuple[NDArray[np.int64], Offsets]:
    """Item numbers of the chosen texts one after another, and where each text ends there."""
    starts = np.concatenate((np.zeros(1, np.int64), ends[:-1]))[chosen]
    lengths = ends[chosen] - starts
    if len(lengths):
        lengths[-1] = round(int(lengths[-1]) * last_share)
    new_ends = np.cumsum(lengths)
    offset = np.repeat(starts - (new_ends - lengths), lengths)
    return np.arange(len(offset), dtype=np.int64) + offset, new_ends


def _take(layer: Layer, chosen: Take, last_share: float) -> Layer:
    items, text_ends = _pieces(layer.text_ends, chosen, last_share)
    kept = len(layer.starts) > 0
    return replace(
        layer,
        ids=layer.ids[items],
        starts=layer.starts[items] if kept else layer.starts,
        ends=layer.ends[items] if kept else layer.ends,
        text_ends=text_ends,
        sentence_ends=_take_sentences(layer, items),
    )


def _take_sentences(layer: Layer, items: NDArray[np.int64]) -> Offsets | None:
    """Where sentences end among the chosen items; a sentence that is cut ends where it is cut."""
    if layer.sentence_ends is None:
        return None
    last = np.zeros(len(layer.ids), bool)
    last[layer.sentence_ends - 1] = True
    ends = last[items]
    ends[-1:] = True
    return np.flatnonzero(ends) + 1


def _take_raw(raw: RawText, chosen: Take, last_share: float) -> RawText:
    items, ends = _pieces(raw.ends, chosen, last_share)
    return RawText(raw.data[items], ends)
