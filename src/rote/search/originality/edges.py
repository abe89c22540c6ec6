"""Which words may stand at the edge of a fragment.

The first and the last word of a fragment are no determiner, no form of be or have, no
punctuation mark, no preposition or subordinating conjunction. Tags tell (DT, IN, TO) where there
are any; word lists where there are none. Inside a fragment every word may stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import OptionError
from rote.core.kernels import njit
from rote.core.layer import Layer
from rote.index.columns.intrinsics import load64
from rote.index.columns.packed_array import read
from rote.index.index import Index
from rote.index.segments.segment import Segment

Rule = Literal["tags", "words"]
Edges = NDArray[np.bool_]
Bits = NDArray[np.uint8]
LOADED_BITS = 57
"""Bits that one load gives, wherever it begins."""
_ONE = np.uint64(1)
TAGS = "pos"
SPECIAL_TAGS = frozenset({"DT", "IN", "TO"})
FORMS = frozenset("is are am was were has had have".split())
# Where there are no tags: the words that are tagged so as a rule.
DETERMINERS = frozenset(
    "a an the this that these those each every either neither another some any no all both".split()
)
PREPOSITIONS = frozenset(
    """aboard about above across after against along alongside although amid among amongst around as
    at because before behind below beneath beside besides between beyond by despite down during
    except for from if in inside into like near notwithstanding of off on onto opposite out outside
    over past per since than though through throughout till to toward towards under underneath
    unless unlike until up upon via whereas whether while whilst with within without""".split()
)


def rule_for(index: Index) -> Rule:
    return "tags" if TAGS in index.layers or not index.segments else "words"


def special_words(vocabulary: Sequence[str], rule: Rule) -> Edges:
    """Of each entry whether the word alone says that it cannot be an edge."""
    lists = FORMS if rule == "tags" else FORMS | DETERMINERS | PREPOSITIONS
    listed = np.array([word.lower() in lists for word in vocabulary], np.bool_)
    return listed | is_mark(vocabulary)


def is_mark(vocabulary: Sequence[str]) -> Edges:
    """Of each entry whether it is punctuation."""
    # Most words begin with a letter, and need no second look.
    return np.array(
        [not (word[:1].isalnum() or any(map(str.isalnum, word))) for word in vocabulary], np.bool_
    )


def special_tags(vocabulary: Sequence[str]) -> Edges:
    return np.array([tag in SPECIAL_TAGS for tag in vocabulary], np.bool_)


def edges_of_text(word: Layer, tags: Layer | None, rule: Rule) -> Edges:
    """For each word of a text whether a fragment may begin or end with it."""
    special = special_words(word.vocabulary, rule)[word.ids]
    if rule == "tags":
        if tags is None:
            raise OptionError("the edges of fragments follow tags, and this text has none")
        special |= special_tags(tags.vocabulary)[tags.ids]
    return ~special


def edges_of_segment(segment: Segment, rule: Rule) -> Bits:
    """The same for each position of a segment, a bit each; 0 at documents' ends."""
    columns = {"word": segment.columns["word"]}
    tables = {"word": special_words(columns["word"].vocabulary.strings(), rule)}
    if rule == "tags":
        if TAGS not in segment.columns:
            raise OptionError(
                f"the edges of fragments follow tags, and the index has no layer '{TAGS}'"
            )
        columns[TAGS] = segment.columns[TAGS]
        tables[TAGS] = special_tags(columns[TAGS].vocabulary.strings())
    edges = np.full(-(-segment.places // 8), 255, np.uint8)
    for name, column in columns.items():
        ids = column.stream()
        clear_special(ids.data, ids.bits, segment.places, tables[name], edges)
    return edges


@njit(inline="always")
def edge_bits(edges, position):  # type: ignore[no-untyped-def]
    """Which positions from one on are edges; the first is the lowest bit."""
    return load64(edges, position >> 3) >> np.uint64(position & 7)


@njit(inline="always")
def lowest(bits):  # type: ignore[no-untyped-def]
    """So many bits from the lowest one on, as far as a load goes."""
    return (_ONE << np.uint64(min(bits, LOADED_BITS))) - _ONE


@njit(inline="always")
def is_edge(edges, position):  # type: ignore[no-untyped-def]
    return (edges[position >> 3] >> np.uint8(position & 7)) & np.uint8(1)


@njit(cache=True, nogil=True)
def clear_special(data, bits, items, special, out):  # type: ignore[no-untyped-def]
    for at in range((items + 7) >> 3):
        bits_set = np.uint8(0)
        for k in range(min(8, items - 8 * at)):
            if not special[read(data, bits, 8 * at + k)]:
                bits_set |= np.uint8(1 << k)
        out[at] &= bits_set
