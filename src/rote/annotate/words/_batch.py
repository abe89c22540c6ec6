"""A batch of texts as bytes, and spans of it as a Layer: what every tokenizer shares.

A tokenizer finds where the words of a text begin and end; this file turns those
places into a `word` layer: characters to bytes and back, and one number per
distinct word. Words are told apart by their bytes, never by a hash alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit
from rote.core.layer import Ids, Layer, Offsets

_SPREAD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class EncodedTexts:
    """Texts as one run of UTF-8 bytes, with a NUL before and after each.

    `begins` and `stops` are the places of the texts in `data`; `first` are their
    first characters, where the whole is taken as one string. Lone surrogates are
    kept as three bytes each.
    """

    encoded: bytes
    data: NDArray[np.uint8]
    ascii: bool
    first: Offsets
    begins: Offsets
    stops: Offsets


def encode_texts(texts: Sequence[str]) -> EncodedTexts:
    string = "\0" + "\0".join(texts) + "\0"
    encoded = string.encode("utf-8", "surrogatepass")
    data = np.frombuffer(encoded, np.uint8)
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    last = np.cumsum(lengths + 1)
    first = last - lengths
    if string.isascii():
        return EncodedTexts(encoded, data, True, first, first, last)
    return EncodedTexts(encoded, data, False, first, bytes_of(data, first), bytes_of(data, last))


@njit(cache=True, nogil=True)
def bytes_of(data: NDArray[np.uint8], characters: Offsets) -> Offsets:
    """The byte at which each character stands; characters in rising order."""
    places = np.empty(len(characters), np.int64)
    byte = 0
    character = 0
    for k in range(len(characters)):
        while character < characters[k]:
            byte += 1
            while data[byte] & 0xC0 == 0x80:
                byte += 1
            character += 1
        places[k] = byte
    return places


@njit(cache=True, nogil=True)
def characters_of(
    data: NDArray[np.uint8], begins: Offsets, starts: Offsets, ends: Offsets, text_ends: Offsets
) -> tuple[Ids, Ids]:
    """The characters, counted in each text, at which its items start and end.

    `starts` and `ends` are bytes of the batch, in rising order and not overlapping.
    """
    first = np.empty(len(starts), np.int32)
    last = np.empty(len(starts), np.int32)
    item = 0
    for text in range(len(begins)):
        byte = begins[text]
        character = 0
        while item < text_ends[text]:
            while byte < starts[item]:
                character += data[byte] & 0xC0 != 0x80
                byte += 1
            first[item] = character
            while byte < ends[item]:
                character += data[byte] & 0xC0 != 0x80
                byte += 1
            last[item] = character
            item += 1
    return first, last


@njit(cache=True, nogil=True)
def intern(data: NDArray[np.uint8], starts: Offsets, ends: Offsets) -> tuple[Ids, Offsets]:
    """Number the byte strings `data[start:end]` by first appearance.

    Returns each item's number, and for each number the item that first had it. An
    open table, doubled when half full. Up to eight bytes are compared as one number, which
    lies in the table; of longer strings the rest is compared byte by byte.
    """
    ids = np.empty(len(starts), np.int32)
    room = 1024
    first = np.empty(room, np.int64)
    keys = np.empty((room, 3), np.uint64)  # the first eight bytes, the length, a hash of all
    slots = np.full(2 * room, -1, np.int32)
    mask = np.uint64(len(slots) - 1)
    known = 0
    for item in range(len(starts)):
        a, b = starts[item], ends[item]
        head, size = np.uint64(0), np.uint64(b - a)
        for k in range(a, min(b, a + 8)):
            head = head << np.uint64(8) | np.uint64(data[k])
        value = (head ^ size) * _SPREAD
        for k in range(a + 8, b):
            value = (value ^ np.uint64(data[k])) * _SPREAD
        value ^= value >> np.uint64(32)
        slot = value & mask
        while True:
            word = slots[slot]
            if word < 0:
                break
            if keys[word, 0] == head and keys[word, 1] == size and keys[word, 2] == value:
                if b - a <= 8:
                    break
                k, c = a + 8, starts[first[word]] + 8
                while k < b and data[k] == data[c]:
                    k += 1
                    c += 1
                if k == b:
                    break
            slot = (slot + np.uint64(1)) & mask
        if word < 0:
            word = known
            slots[slot] = word
            first[word] = item
            keys[word, 0], keys[word, 1], keys[word, 2] = head, size, value
            known += 1
            if known == room:
                room *= 2
                first = np.concatenate((first, np.empty(known, np.int64)))
                keys = np.concatenate((keys, np.empty((known, 3), np.uint64)))
                slots = np.full(2 * room, -1, np.int32)
                mask = np.uint64(len(slots) - 1)
                for old in range(known):
                    slot = keys[old, 2] & mask
                    while slots[slot] >= 0:
                        slot = (slot + np.uint64(1)) & mask
                    slots[slot] = old
        ids[item] = word
    return ids, first[:known].copy()


def layer_of_bytes(of: EncodedTexts, starts: Offsets, ends: Offsets, text_ends: Offsets) -> Layer:
    """The `word` layer of byte spans: `starts` and `ends` count from the start of `data`."""
    first, last = characters_of(of.data, of.begins, starts, ends, text_ends)
    return _layer(of, starts, ends, first, last, text_ends)


def layer_of_spans(texts: Sequence[str], spans: Iterable[Sequence[tuple[int, int]]]) -> Layer:
    """The `word` layer of character spans, one list of `(start, end)` for each text."""
    of = encode_texts(texts)
    lists = list(spans)
    counts = np.fromiter(map(len, lists), np.int64, len(lists))
    text_ends = np.cumsum(counts)
    flat = chain.from_iterable(chain.from_iterable(lists))
    pairs = np.fromiter(flat, np.int32, 2 * int(counts.sum())).reshape(-1, 2)
    first, last = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
    base = np.repeat(of.first, counts)
    starts, ends = base + first, base + last
    if not of.ascii:
        starts, ends = bytes_of(of.data, starts), bytes_of(of.data, ends)
    return _layer(of, starts, ends, first, last, text_ends)


def _layer(
    of: EncodedTexts, starts: Offsets, ends: Offsets, first: Ids, last: Ids, text_ends: Offsets
) -> Layer:
    """Spans in both measures, bytes of the batch and characters of a text, to a layer."""
    ids, examples = intern(of.data, starts, ends)
    places = zip(starts[examples].tolist(), ends[examples].tolist())
    encoded = of.encoded
    vocabulary = tuple([encoded[a:b].decode("utf-8", "surrogatepass") for a, b in places])
    return Layer(
        name="word", ids=ids, vocabulary=vocabulary, starts=first, ends=last, text_ends=text_ends
    )


def matches(pattern: re.Pattern[str], texts: Sequence[str]) -> Layer:
    """The `word` layer of everything the pattern matches, left to right."""
    return layer_of_spans(texts, ([m.span() for m in pattern.finditer(t)] for t in texts))
