"""Slow, obvious twins of the index, and columns made without any of its kernels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from rote.core.layer import Layer
from rote.index.columns.compressed_suffix_array import CompressedOrder, CompressedStream
from rote.index.columns.layer_column import LayerColumn, Suffixes, Vocabulary
from rote.index.columns.packed_array import ItemStream, bits_for, pack
from rote.index.index import Index
from rote.index.segments.part import LAYER, MemoryTarget
from rote.index.segments.segment import open_compressed, write_compressed
from rote.index.segments.writers import build_layer_segment

Texts = Sequence[Sequence[str]]


def stream(texts: Texts, vocabulary: Vocabulary) -> np.ndarray:
    ids: list[int] = []
    for text in texts:
        ids += [vocabulary.find(item) for item in text] + [0]
    return np.array(ids, np.int32)


def read_only(values: np.ndarray) -> np.ndarray:
    values.flags.writeable = False
    return values


def sorted_places(ids: np.ndarray) -> list[int]:
    """All places of items, sorted by the numbers up to the document's end, then by place."""
    numbers = ids.tolist()

    def key(place: int) -> tuple[list[int], int]:
        return numbers[place : numbers.index(0, place)], place

    return sorted((i for i, number in enumerate(numbers) if number), key=key)


def suffixes(ids: np.ndarray, entries: int, table_bits: int = 4) -> Suffixes:
    """By plain sorting; the code has one length for all."""
    length = bits_for(entries - 1)
    order = sorted_places(ids)
    numbers, heads = ids.tolist(), []
    for place in order:
        bits = "".join(f"{n:0{length}b}" for n in numbers[place : numbers.index(0, place) + 1])
        heads.append(int(bits.ljust(table_bits, "0")[:table_bits], 2))
    table = np.searchsorted(np.array(heads, np.int64), np.arange(2**table_bits + 1))
    bits = bits_for(len(ids))
    return Suffixes(
        order=pack(np.array(order, np.int64), bits),
        lengths=read_only(np.full(entries, length, np.uint8)),
        table=pack(table, bits),
    )


def column(texts: Texts, table_bits: int = 4) -> LayerColumn:
    vocabulary = Vocabulary.of(sorted({item for text in texts for item in text}))
    ids = stream(texts, vocabulary)
    return LayerColumn(
        name="lower",
        ids=ItemStream(pack(ids, bits_for(len(vocabulary) - 1))),
        vocabulary=vocabulary,
        suffixes=suffixes(ids, len(vocabulary), table_bits),
        document_ends=read_only(np.flatnonzero(ids == 0).astype(np.int64)),
    )


def chain_of(
    ids: np.ndarray, order: list[int], entries: int
) -> tuple[CompressedStream, CompressedOrder]:
    """A stream and its sorted places in the compact form."""
    target = MemoryTarget()
    part = target.part("lower", "lower", LAYER)
    write_compressed(part, ids, np.array(order, np.int32), entries)
    part.seal()
    ends = read_only(np.flatnonzero(ids == 0).astype(np.int64))
    return open_compressed(target.sealed("lower"), ends)


def as_chain(column: LayerColumn) -> LayerColumn:
    """The same column in the compact form."""
    assert column.suffixes is not None
    ids, order = column.ids.all().astype(np.int32), column.suffixes.order.all().tolist()
    stream, places = chain_of(ids, order, len(column.vocabulary))
    table = pack(column.suffixes.table.all(), places.bits)
    suffixes = replace(column.suffixes, order=places, table=table)
    return replace(column, ids=stream, suffixes=suffixes)


def windows(text: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(text[i : i + n]) for i in range(len(text) - n + 1)]


def count(texts: Texts, gram: Sequence[str]) -> int:
    return sum(window == tuple(gram) for text in texts for window in windows(text, len(gram)))


def tallies(texts: Texts, n: int) -> Counter[tuple[str, ...]]:
    return Counter(window for text in texts for window in windows(text, n))


def longest(texts: Texts, tokens: Sequence[str]) -> list[tuple[int, int]]:
    """For every place the longest match that begins there, and its count; (0, 0) for none."""
    found = []
    for i in range(len(tokens)):
        best = (0, 0)
        for n in range(1, len(tokens) - i + 1):
            occurrences = count(texts, tokens[i : i + n])
            if not occurrences:
                break
            best = (n, occurrences)
        found.append(best)
    return found


def index_layers(layers: Mapping[str, Layer]) -> Index:
    """An index in memory over layers that are there already and align; it holds no texts."""
    return Index([build_layer_segment(layers, sorted_layers=tuple(layers))])
