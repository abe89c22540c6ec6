"""Columns whose items have codes of very unequal lengths, and numbers as text to search in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from rote.index.columns.layer_column import LayerColumn, Suffixes
from rote.index.columns.packed_array import pack
from tests.examples import lists, some
from tests.index import twins

documents = lists(some("abc", 9), 9)
plain = st.builds(
    lambda texts, table_bits, uneven: column(texts, table_bits, uneven=uneven),
    documents,
    st.sampled_from([1, 2, 4, 7]),
    st.booleans(),
)
columns = st.one_of(plain, plain.map(twins.as_chain))
# Of most columns 0 to 3 are the numbers; 4 is beyond all of them.
numbers = range(-1, 5)


def column(texts: twins.Texts, table_bits: int, *, uneven: bool) -> LayerColumn:
    """Number t is coded as t ones and a zero if uneven."""
    made = twins.column(texts, table_bits)
    if not uneven:
        return made
    assert made.suffixes is not None
    words = ["1" * t + "0" for t in range(len(made.vocabulary))]
    ids, heads = made.ids.all().tolist(), []
    for place in made.suffixes.order.all().tolist():
        bits = "".join(words[t] for t in ids[place : ids.index(0, place) + 1])
        heads.append(int(bits.ljust(table_bits, "0")[:table_bits], 2))
    table = np.searchsorted(np.array(heads, np.int64), np.arange(2**table_bits + 1))
    suffixes = Suffixes(
        order=made.suffixes.order,
        lengths=twins.read_only(np.array([len(word) for word in words], np.uint8)),
        table=pack(table, made.suffixes.order.bits),
    )
    assert suffixes.codes().tolist() == [int(word.ljust(64, "0"), 2) for word in words]
    return replace(made, suffixes=suffixes)


def letters(ids: list[int]) -> str:
    """One character for each number, so that plain `str.find` can search; -1 is possible."""
    return "".join(chr(ord("A") + number) for number in ids)


def occurrences(corpus: str, run: str) -> int:
    """Overlapping ones counted too."""
    found, start = 0, corpus.find(run)
    while start >= 0:
        found += 1
        start = corpus.find(run, start + 1)
    return found
