"""Glyphs: typographic characters and the plain ones that stand for the same mark.

`don’t` and `don't` are one text in two spellings, so they must have the same words, tags and
trees. Whatever cuts a text into words or tags it reads the folded text; the spans of its layers
are then put back to the characters of the text as it came. A language model's own tokenizer
reads the text as it is, and annotation that came with the input stays as given.

Each class has the form that the tokenizer and the tagger know best (docs/tokenizers.md has the
figures). Guillemets stay: they tell where a quotation opens and where it closes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from rote.core.document import Annotation
from rote.core.kernels import njit
from rote.core.layer import Ids, Layer, Offsets

VERSION = "1"

_CLASSES = {
    "'": "‘’‚‛′´ʻʼ＇",
    '"': "“”„‟″＂",
    "-": "\u2010\u2011\u2012–\u2212",  # hyphens, the figure dash, the en dash, the minus sign
    "--": "—\u2015",
    ".": "\u2024",
    "..": "\u2025",
    "...": "…",
    "": "\u00ad",  # a soft hyphen says where a line may break
}
_LIGATURES = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
_LIGATURES |= {"Ĳ": "IJ", "ĳ": "ij"}
FOLDS: dict[str, str] = {
    **{glyph: plain for plain, glyphs in _CLASSES.items() for glyph in glyphs},
    **_LIGATURES,
}
"""What is written in place of each glyph."""


def fold(text: str) -> str:
    """The text in plain glyphs.

    >>> fold("“It’s ﬁne…”")
    '"It\\'s fine..."'
    """
    # Looking for each glyph is far faster than looking at each character, as str.translate does.
    if not text.isascii():
        for glyph, plain in FOLDS.items():
            if glyph in text:
                text = text.replace(glyph, plain)
    return text


@dataclass(frozen=True, slots=True)
class Folded:
    """Texts in plain glyphs, and what it takes to find their characters in the originals.

    `places` are characters of a folded text that stand for one of the original, `widths` of them
    (3 for an ellipsis, 0 for a soft hyphen); those of text t end at `place_ends[t]`. Glyphs that
    became one character are not among them.
    """

    texts: Sequence[str]
    places: Ids
    widths: Ids
    place_ends: Offsets

    def restore(self, layer: Layer) -> Layer:
        """A layer over the folded texts, with spans in the texts as they came.

        An item that begins or ends inside of what was one character covers all of it.
        """
        if not len(self.places):
            return layer
        starts, ends = np.empty_like(layer.starts), np.empty_like(layer.ends)
        spans = (layer.starts, layer.ends, layer.text_ends)
        restore_spans(*spans, self.places, self.widths, self.place_ends, starts, ends)
        return replace(layer, starts=starts, ends=ends)

    def restore_all(self, annotation: Annotation) -> Annotation:
        """The same for everything that an annotator made."""
        if not len(self.places):
            return annotation
        word = self.restore(annotation.word)
        return Annotation(
            {
                name: replace(layer, starts=word.starts, ends=word.ends)
                for name, layer in annotation.layers.items()
            },
            annotation.heads,
            {name: self.restore(layer) for name, layer in annotation.trees.items()},
        )


def fold_texts(texts: Sequence[str]) -> Folded:
    """Fold a batch of texts, for a maker of layers; texts in ASCII cost nothing.

    >>> folded = fold_texts(["Wait… what?"])
    >>> folded.texts
    ['Wait... what?']
    """
    chosen = [number for number, text in enumerate(texts) if not text.isascii()]
    counts = np.zeros(len(texts), np.int64)
    if not chosen:
        return Folded(texts, _NONE, _NONE, counts)
    chosen_texts = [texts[number] for number in chosen]
    lengths = np.fromiter(map(len, chosen_texts), np.int64, len(chosen_texts))
    encoded = "".join(chosen_texts).encode("utf-8", "surrogatepass")
    data = np.frombuffer(encoded, np.uint8)
    out, places = np.empty(len(data), np.uint8), np.empty((len(data) // 2, 2), np.int32)
    ends, place_ends = np.empty(len(chosen_texts), np.int64), np.empty(len(chosen_texts), np.int64)
    size, glyphs = fold_bytes(data, lengths, *_table(), out, places, ends, place_ends)
    if not glyphs:
        return Folded(texts, _NONE, _NONE, counts)
    counts[chosen] = np.diff(place_ends, prepend=0)
    folded = out[:size].tobytes().decode("utf-8", "surrogatepass")
    new = list(texts)
    begin = 0
    for number, end in zip(chosen, ends.tolist()):
        new[number] = folded[begin:end]
        begin = end
    shifts = places[: place_ends[-1]].T.copy()
    return Folded(new, shifts[0], shifts[1], np.cumsum(counts))


_NONE = np.zeros(0, np.int32)
_PLANE = 0x10000


@cache
def _table() -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """For each code point the row of what stands for it, and those rows: length and bytes."""
    numbers = np.zeros(_PLANE, np.uint8)
    rows = np.zeros((len(FOLDS) + 1, 4), np.uint8)
    for number, (glyph, plain) in enumerate(FOLDS.items(), 1):
        numbers[ord(glyph)] = number
        rows[number, : len(plain) + 1] = [len(plain), *plain.encode()]
    return numbers, rows


@njit(cache=True, nogil=True)
def fold_bytes(data, lengths, numbers, rows, out, places, ends, place_ends):  # type: ignore[no-untyped-def]
    """Write the texts in plain glyphs to `out`, which they fit; returns bytes and glyphs folded.

    `lengths` and `ends` count the characters of the texts before and after. Characters that
    became several, or none, go to `places`, with how many they are now.
    """
    i, size, changed, end, glyphs = 0, 0, 0, 0, 0
    for text in range(len(lengths)):
        first = end
        for _ in range(lengths[text]):
            byte = data[i]
            out[size] = byte
            if byte < 0x80:
                i += 1
                size += 1
                end += 1
                continue
            width = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            number = 0
            if width == 2:
                number = numbers[(byte & 0x1F) << 6 | data[i + 1] & 0x3F]
            elif width == 3:
                code = (byte & 0x0F) << 12 | (data[i + 1] & 0x3F) << 6 | data[i + 2] & 0x3F
                number = numbers[code]
            if number == 0:
                for k in range(1, width):
                    out[size + k] = data[i + k]
                size += width
                end += 1
            else:
                glyphs += 1
                count = rows[number, 0]
                for k in range(count):
                    out[size + k] = rows[number, 1 + k]
                if count != 1:
                    places[changed, 0] = end - first
                    places[changed, 1] = count
                    changed += 1
                size += count
                end += count
            i += width
        ends[text] = end
        place_ends[text] = changed
    return size, glyphs


@njit(cache=True, nogil=True)
def restore_spans(starts, ends, text_ends, places, widths, place_ends, new_starts, new_ends):  # type: ignore[no-untyped-def]
    """Spans of folded texts as spans of the originals; the items of a text may be in any order."""
    item, first = 0, 0
    for text in range(len(text_ends)):
        stop = place_ends[text]
        k, grown, last = first, 0, 0
        while item < text_ends[text]:
            start, end = starts[item], ends[item]
            if start < last:  # trees go back
                k, grown = first, 0
            last = start
            while k < stop and places[k] + widths[k] <= start:
                grown += widths[k] - 1
                k += 1
            inside = k < stop and places[k] < start
            new_starts[item] = (places[k] if inside else start) - grown
            j, more = k, grown
            # What became nothing behind an item is no part of it.
            while j < stop and places[j] < end and places[j] + widths[j] <= end:
                more += widths[j] - 1
                j += 1
            inside = j < stop and places[j] < end
            new_ends[item] = (places[j] + 1 if inside else end) - more
            item += 1
        first = stop
