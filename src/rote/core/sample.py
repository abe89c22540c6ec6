"""The texts of one call as measures see them: aligned columns, all sources together.

Sources are not kept apart here. A measure computes its rows once over all texts;
a source, a half-sample or a permuted group is then just an array of text numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.core.layer import Layer, Offsets, items_of, starts_of

Take = NDArray[np.int64]
"""Numbers of the chosen texts, ascending: input order is kept."""

Pieces: TypeAlias = tuple[Offsets, Offsets]
"""Where pieces of a column begin and end."""

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

    @classmethod
    def of(cls, texts: Sequence[str]) -> RawText:
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
        return cls(np.frombuffer(b"".join(encoded), np.uint8), ends)

    def __len__(self) -> int:
        return len(self.ends)

    def text(self, number: int) -> bytes:
        start = int(self.ends[number - 1]) if number else 0
        return self.data[start : int(self.ends[number])].tobytes()

    def string(self, number: int) -> str:
        return self.text(number).decode("utf-8", "surrogatepass")

    def strings(self) -> list[str]:
        return [self.string(number) for number in range(len(self))]


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
    windowed: bool = False
    """Whether these are windows of texts."""
    shared: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    """What one measure made of these texts and another one needs too."""

    def __len__(self) -> int:
        return len(self.words)

    def layer(self, need: Need) -> Layer:
        return self.layers[need]

    def text(self, field: str | None = None) -> RawText:
        return self.raws[field]

    def take(self, chosen: Take) -> Sample:
        """The chosen texts, in the given order, as a sample of their own."""
        return Sample(
            words=self.words[chosen],
            layers={need: some_texts(layer, chosen) for need, layer in self.layers.items()},
            raws={n: _take_raw(raw, _whole(raw.ends, chosen)) for n, raw in self.raws.items()},
        )

    def windows(self, cut: Cut) -> Sample:
        """A window of each chosen text, as a sample of their own.

        Columns in other units than the words of the cut are cut at the same share of the text, to
        the nearest item, bytes at whole characters. Spans stay those in the whole text, so they do
        not fit the raw text of the window; fields of the record are not cut.
        """
        return Sample(
            words=np.full(len(cut.texts), cut.size, np.int64),
            layers={
                need: _take(
                    layer,
                    _whole(layer.text_ends, cut.texts) if need.field else cut.of(layer.text_ends),
                )
                for need, layer in self.layers.items()
            },
            raws={
                field: _take_raw(raw, _whole(raw.ends, cut.texts) if field else cut.of_bytes(raw))
                for field, raw in self.raws.items()
            },
            windowed=True,
        )


@dataclass(frozen=True, slots=True)
class Cut:
    """One window of each text: `size` words after the first `firsts[i]` of its `lengths[i]`."""

    texts: Take
    firsts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    size: int

    def of(self, text_ends: Offsets) -> Pieces:
        """Where the windows stand in a column whose texts end there."""
        starts, ends = _whole(text_ends, self.texts)
        items, words = ends - starts, np.maximum(self.lengths, 1)
        first, last = (
            (2 * place * items + words) // (2 * words)
            for place in (self.firsts, self.firsts + self.size)
        )
        return starts + first, starts + last

    def of_bytes(self, raw: RawText) -> Pieces:
        """The same in raw text; a character is not cut in two."""
        starts, ends = (places.copy() for places in self.of(raw.ends))
        for places in (starts, ends):
            for _ in range(3):
                inside = np.flatnonzero(places < len(raw.data))
                going_on = raw.data[places[inside]] & 0xC0 == 0x80
                places[inside[going_on]] -= 1
        return starts, ends


def _whole(text_ends: Offsets, chosen: Take) -> Pieces:
    return starts_of(text_ends)[chosen], text_ends[chosen]


def some_texts(layer: Layer, chosen: Take) -> Layer:
    """Some texts of a layer as a layer of their own."""
    return _take(layer, _whole(layer.text_ends, chosen))


def _take(layer: Layer, pieces: Pieces) -> Layer:
    items, text_ends = items_of(*pieces)
    has_spans = len(layer.starts) > 0
    return replace(
        layer,
        ids=layer.ids[items],
        starts=layer.starts[items] if has_spans else layer.starts,
        ends=layer.ends[items] if has_spans else layer.ends,
        text_ends=text_ends,
        sentence_ends=_take_sentences(layer, items, text_ends),
    )


def _take_sentences(layer: Layer, items: NDArray[np.int64], text_ends: Offsets) -> Offsets | None:
    """Where sentences end among the chosen items; a sentence that is cut ends where it is cut."""
    if layer.sentence_ends is None:
        return None
    last = np.zeros(len(layer.ids), bool)
    last[layer.sentence_ends - 1] = True
    ends = last[items]
    ends[text_ends[text_ends > 0] - 1] = True
    return np.flatnonzero(ends) + 1


def _take_raw(raw: RawText, pieces: Pieces) -> RawText:
    items, ends = items_of(*pieces)
    return RawText(raw.data[items], ends)
