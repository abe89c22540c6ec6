"""The distribution of the next item against a plain tally."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given

from rote.index.columns.layer_column import LayerColumn
from rote.index.counts.lookup import Lookup, next_items
from tests.examples import lists
from tests.index import coded, twins


def next_twin(column: LayerColumn, gram: list[int]) -> list[tuple[int, int]]:
    ids, size = column.ids.all().tolist(), len(gram)
    if 0 in gram:
        return []
    tally = Counter(ids[i + size] for i in range(len(ids) - size) if ids[i : i + size] == gram)
    return sorted(tally.items())


@given(coded.columns, lists(coded.numbers, 4))
def test_next_items(column: LayerColumn, gram: list[int]) -> None:
    items, counts = next_items(Lookup(column), gram)
    assert (items.dtype, counts.dtype) == (np.int32, np.int64)
    assert list(zip(items.tolist(), counts.tolist())) == next_twin(column, gram)


def test_large_groups_are_counted_exactly() -> None:
    for sizes in ([1, 2, 3, 4], [7, 8, 9, 1], [64, 1, 65, 30]):
        texts = [["a", item] for item, size in zip("bcde", sizes) for _ in range(size)]
        for table_bits in (1, 4, 8):
            lookup = Lookup(twins.column(texts, table_bits))
            items, counts = next_items(lookup, [1])
            assert (items.tolist(), counts.tolist()) == ([2, 3, 4, 5], sizes)
            assert lookup.count([1]) == sum(sizes)
