"""One layer of a segment on its way to its final form.

While texts come in, items are numbered as they appear, into a scratch column. In the end the
vocabulary is sorted, the numbers follow it, suffixes are sorted where the layer is to be
searched, and everything is packed. Only then the next layer begins, so that one layer at a
time is in memory: 4 bytes an item, 16 while suffixes are sorted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rote.core.layer import Ids, Layer
from rote.index.columns.compact import ChainedPlaces, ChainedStream, chained, encode
from rote.index.columns.packed import Packed, Stream, bits_for, pack, packed_size
from rote.index.columns.parts import END, Column, Suffixes, Vocabulary
from rote.index.segments.documents import read_vocabulary, write_vocabulary
from rote.index.segments.frame import FrameWriter, item_places
from rote.index.segments.part import LAYER, Part, PartRecord, let_go
from rote.index.segments.target import PartWriter, Target

_AT_ONCE = 1 << 20


class LayerWriter:
    """One layer as it comes in; END is 0 already, items are numbered from 1 as they appear.

    A layer with items of its own brings its frame, which goes to the same part.
    """

    def __init__(
        self, target: Target, name: str, *, own: bool = False, folder: str | None = None
    ) -> None:
        self._target, self._name, self._folder = target, name, folder or name
        self._part = self._new_part() if own else None
        self._frame = FrameWriter(target, self._part) if self._part is not None else None
        self._ids = target.scratch("int32")
        self._seen: dict[str, int] = {}
        self._table, self._vocabulary = np.zeros(1, np.int32), Vocabulary.of(())

    def add(self, layer: Layer, is_item: NDArray[np.bool_] | None = None) -> None:
        """The items of some documents; `is_item`, if known, says which places hold one."""
        if self._frame is not None:
            is_item = self._frame.add(layer)
        elif is_item is None:
            is_item = item_places(layer)
        used = np.zeros(len(layer.vocabulary), np.bool_)
        used[layer.ids] = True
        table, entries, seen = np.zeros(len(used), np.int32), layer.vocabulary, self._seen
        there = np.flatnonzero(used).tolist()
        table[there] = [seen.setdefault(entries[i], len(seen) + 1) for i in there]
        row = np.zeros(len(is_item), np.int32)
        row[is_item] = table[layer.ids]
        self._ids.append(row)

    def settle(self) -> None:
        """All is in: sort the vocabulary, and keep bytes for strings, which take far more room."""
        ordered = sorted(self._seen)
        self._table = np.zeros(len(ordered) + 1, np.int32)
        self._table[[self._seen[entry] for entry in ordered]] = np.arange(1, len(ordered) + 1)
        self._vocabulary = Vocabulary.of(ordered)
        self._seen = {}
        if self._frame is not None:
            self._frame.finish()

    def finish(
        self, *, sort: bool, threads: int, words: Packed | None = None, compact: bool = False
    ) -> PartRecord:
        """After `settle`: give the items their final numbers, and write the part."""
        ids: Ids = self._ids.take()
        for start in range(0, len(ids), _AT_ONCE):
            piece = ids[start : start + _AT_ONCE]
            piece[:] = self._table[piece]
        part = self._part if self._part is not None else self._new_part()
        words = words if self._frame is None else None
        return write_column(
            part, ids, self._vocabulary, sort=sort, threads=threads, words=words, compact=compact
        )

    def _new_part(self) -> PartWriter:
        return self._target.part(self._folder, self._name, LAYER)


def write_column(
    part: PartWriter,
    ids: Ids,
    vocabulary: Vocabulary,
    *,
    sort: bool,
    threads: int,
    words: Packed | None = None,
    compact: bool = False,
) -> PartRecord:
    """The stream of a layer, final numbers, into its part, which is sealed.

    `words` are the numbers of the segment's words, if they stand in the same places: a layer
    that follows from them keeps what each word is in it, and no stream. A layer that is sorted
    and `compact` is kept as a chain.
    """
    ids = ids.view()
    ids.flags.writeable = False  # as all arrays that kernels see; the caller's stays as it was
    if sort and compact:
        write_vocabulary(part, "vocabulary", vocabulary)
        _write_chain(part, ids, len(vocabulary), threads)
        return part.seal()
    bits = bits_for(len(vocabulary) - 1)
    table = None if words is None else _of_words(words, ids)
    follows = False
    if table is not None and table.nbytes < packed_size(len(ids), bits):
        follows = True
        part.column("of_words", "int32")(table)
    else:
        part.pack("ids", ids, bits)
    write_vocabulary(part, "vocabulary", vocabulary)
    if sort:
        from rote.index.sorting.suffixes import TableSize, sort_suffixes

        # Looking up what a word is takes time, which a larger table saves.
        table_size: TableSize = "large" if follows else "usual"
        found = sort_suffixes(ids, len(vocabulary), threads=threads, table=table_size)
        bits = bits_for(len(ids) - 1)
        part.pack("order", found.order, bits)
        part.column("code_lengths", "uint8")(found.lengths)
        part.pack("table", found.table, bits)
    return part.seal()


def _write_chain(part: PartWriter, ids: Ids, entries: int, threads: int) -> None:
    from rote.index.sorting.suffixes import sort_suffixes

    found = sort_suffixes(ids, entries, threads=threads, table="small")
    coded = encode(ids, found.order, entries, part.column("chain.blocks", "uint32"))
    part.column("chain.begins", "uint32")(coded.begins)
    part.column("chain.firsts", "uint32")(coded.firsts)
    part.pack("chain.items", coded.items, coded.item_bits)
    part.pack("chain.samples", coded.samples, coded.sample_bits)
    part.pack("chain.ranks", coded.ranks, coded.rank_bits)
    part.column("code_lengths", "uint8")(found.lengths)
    part.pack("table", found.table, coded.rank_bits)


def _of_words(words: Packed, ids: Ids) -> NDArray[np.int32] | None:
    """What each word is in a layer; None where the same word is now this, now that."""
    table = np.full(1 << words.bits, -1, np.int32)
    table[END], last = END, END
    for start in range(0, len(ids), _AT_ONCE):
        there, items = words.slice(start, start + _AT_ONCE), ids[start : start + _AT_ONCE]
        new = table[there] < 0
        table[there[new]] = items[new]
        if not np.array_equal(table[there], items):
            return None
        last = max(last, int(there.max()))
    return table[: last + 1]


def read_column(part: Part, document_ends: NDArray[np.int64], words: Part | None = None) -> Column:
    """A layer; `words` is the part that holds the words, for those that follow from them."""
    vocabulary = read_vocabulary(part, "vocabulary")
    if "chain.blocks" in part.arrays:
        stream, order = _read_chain(part, document_ends)
        suffixes = Suffixes(order, part["code_lengths"], part.numbers("table"))
        return Column(part.name, stream, vocabulary, suffixes, document_ends)
    if "of_words" in part.arrays and words is not None:
        ids = Stream(words.numbers("ids"), part["of_words"])
    else:
        ids = Stream(part.numbers("ids"))
    return Column(part.name, ids, vocabulary, _read_suffixes(part), document_ends)


def _read_chain(
    part: Part, document_ends: NDArray[np.int64]
) -> tuple[ChainedStream, ChainedPlaces]:
    return chained(
        part["chain.begins"],
        part["chain.blocks"],
        part["chain.firsts"],
        part.numbers("chain.items"),
        part.numbers("chain.samples"),
        part.numbers("chain.ranks"),
        document_ends,
    )


def _read_suffixes(part: Part) -> Suffixes | None:
    if "order" not in part.packed:
        return None
    order = part.numbers("order")
    # In format 1 it was not packed.
    plain = "table" in part.arrays
    table = pack(part["table"], order.bits) if plain else part.numbers("table")
    return Suffixes(order, part["code_lengths"], table)


def joined_ids(columns: Sequence[Column]) -> tuple[Ids, Vocabulary]:
    """The streams of one layer of several segments as one, with one vocabulary."""
    held = [column.vocabulary.strings()[1:] for column in columns]
    ordered = sorted(set().union(*held))
    numbers = {entry: number for number, entry in enumerate(ordered, 1)}
    tables = [np.array([0, *map(numbers.__getitem__, entries)], np.int32) for entries in held]
    vocabulary = Vocabulary.of(ordered)
    del held, ordered, numbers
    ids = np.empty(sum(len(column.ids) for column in columns), np.int32)
    base = 0
    for column, table in zip(columns, tables):
        for start in range(0, len(column.ids), _AT_ONCE):
            piece = column.ids.slice(start, start + _AT_ONCE)
            ids[base + start : base + start + len(piece)] = table[piece]
        for array in column.ids.arrays:
            let_go(array)
        base += len(column.ids)
    return ids, vocabulary
