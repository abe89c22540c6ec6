"""The word features of every model, which their weight files keep, and those that name a word.

A word feature is a role (which word around the token), a column of the attribute table and a
second column or -1. The joined features stand in `rote.annotate`, as the kernels compute them too:
the `*_NAMES` are the places in their rows of those that name the word itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rote.annotate._hashing import (
    CAPITAL,
    CLUSTER_64,
    CLUSTER_256,
    CLUSTER_1024,
    CODES,
    FLAGS,
    KEY,
    LOWER,
    PREFIX_1,
    PREFIX_2,
    PREFIX_3,
    PREFIX_4,
    SHAPE,
    SUFFIX_1,
    SUFFIX_2,
    SUFFIX_3,
    SUFFIX_4,
    SUFFIX_5,
    WORD,
)
from rote.annotate._network import word_row

Templates = NDArray[np.int32]
Group = Sequence[int | tuple[int, int]]
"""The columns of a role, and pairs of columns."""

CODE_COLUMNS = tuple(range(CODES, CODES + 8))
CLUSTERS = (CLUSTER_64, CLUSTER_256, CLUSTER_1024)
SUFFIXES = (SUFFIX_1, SUFFIX_2, SUFFIX_3, SUFFIX_4, SUFFIX_5)
PREFIXES = (PREFIX_1, PREFIX_2, PREFIX_3, PREFIX_4)

TAGGER_NAMES = (2, 5, 6, 11)
TAGGER_SELF = (WORD, LOWER, KEY, *SUFFIXES, *PREFIXES, SHAPE, FLAGS, CAPITAL, *CLUSTERS)
TAGGER_PAIRS = ((SHAPE, CAPITAL), (SUFFIX_2, FLAGS), (SUFFIX_3, CLUSTER_64))
TAGGER_NEAR = (LOWER, SUFFIX_2, SUFFIX_3, SHAPE, FLAGS, CAPITAL, *CLUSTERS, *CODE_COLUMNS)
TAGGER_FAR = (LOWER, SUFFIX_3, FLAGS, *CLUSTERS)

UPOS_SELF = (LOWER, KEY, SUFFIX_3, SHAPE, CLUSTER_256, CLUSTER_1024, CAPITAL)
UPOS_NEAR = (LOWER, CLUSTER_256, CLUSTER_1024)

ENTITY_NAMES = (6, 10, 11)
ENTITY_SELF = (WORD, LOWER, KEY, *SUFFIXES[1:4], SHAPE, FLAGS, CAPITAL, *PREFIXES[1:], *CLUSTERS)
ENTITY_PAIRS = ((SHAPE, CAPITAL), (FLAGS, CLUSTER_256), (SUFFIX_3, FLAGS))
ENTITY_NEAR = (WORD, LOWER, SUFFIX_3, SHAPE, FLAGS, CAPITAL, *CLUSTERS, (SHAPE, CAPITAL))
ENTITY_FAR = (LOWER, SHAPE, CAPITAL, *CLUSTERS)

PARSER_NAMES = (
    *range(8, 16),
    *(18, 19, 23, 24, 25, 32, 33, 34, 42, 43, 44, 46, 48, 49),
)
PARSER_MAIN = (LOWER, KEY, SUFFIX_2, SUFFIX_3, PREFIX_2, FLAGS, CAPITAL, *CLUSTERS, *CODE_COLUMNS)
PARSER_NEAR = (LOWER, SUFFIX_3, FLAGS, *CLUSTERS, *CODE_COLUMNS)
PARSER_CHILD = (LOWER, CLUSTER_256, CLUSTER_1024)


def tagger() -> Templates:
    word = (*TAGGER_SELF, *TAGGER_PAIRS, *CODE_COLUMNS)
    return _templates(word, TAGGER_NEAR, TAGGER_NEAR, TAGGER_FAR, TAGGER_FAR)


def upos() -> Templates:
    return _templates(UPOS_SELF, UPOS_NEAR, UPOS_NEAR, UPOS_NEAR)


def entities() -> Templates:
    word = (*ENTITY_SELF, *ENTITY_PAIRS, *CODE_COLUMNS)
    near = (*ENTITY_NEAR, *CODE_COLUMNS)
    return _templates(word, near, near, ENTITY_FAR, ENTITY_FAR)


def parser() -> Templates:
    main, near = PARSER_MAIN, PARSER_NEAR
    return _templates(main, main, near, main, main, near, *[PARSER_CHILD] * 5)


def _templates(*by_role: Group) -> Templates:
    """Role, column and second column of each word feature."""
    rows = []
    for role, group in enumerate(by_role):
        for column in group:
            rows.append((role, *(column if isinstance(column, tuple) else (column, -1))))
    return np.array(rows, np.int32)


@njit(cache=True, nogil=True)
def word_rows(table, templates, bits):  # type: ignore[no-untyped-def]
    """Where each template of each vocabulary entry stands in the table: (entries, templates)."""
    out = np.empty((len(table), len(templates)), np.int32)
    for entry in range(len(table)):
        for number in range(len(templates)):
            out[entry, number] = word_row(table, entry, templates, number, bits)
    return out
