"""A batch of n-grams in the numbers of one segment."""

from __future__ import annotations

from rote.index.answers import Counts
from rote.index.counting.lookup import Lookup
from rote.index.grams import Grams


def ranges_of(lookup: Lookup, grams: Grams) -> tuple[Counts, Counts]:
    """From where to where in the sorted places each n-gram stands."""
    if grams.vocabulary is lookup.column.vocabulary:
        return lookup.ranges(grams.ids, grams.ends)
    table = lookup.column.vocabulary.numbers(grams.vocabulary)
    return lookup.ranges(table[grams.ids] if len(table) else grams.ids, grams.ends)
