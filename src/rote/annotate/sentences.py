"""Sentences: where they end among the words of a layer.

Rules over words and the gaps between them, for any tokenizer that keeps marks as
words of their own (`ud`, `treebank`, `wordpunct`); they know the stops of other
scripts. The end of a text always ends a sentence, and so does a blank line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rote.core.layer import Layer, Offsets

VERSION = "2"


def split(texts: Sequence[str], words: Layer) -> Layer:
    """The layer with its sentence ends; `texts` are those it was made from."""
    from rote.annotate._boundaries import boundaries, features

    table = np.fromiter(map(features, words.vocabulary), np.int32, len(words.vocabulary))
    feeds = [_line_feeds(text) for text in texts]
    line_ends = np.cumsum([len(places) for places in feeds], dtype=np.int64)
    lines = (np.concatenate([np.empty(0, np.int64), *feeds]), line_ends)
    found = np.empty(len(words.ids), np.int64)
    spans = (words.starts, words.ends, words.text_ends)
    count = boundaries(table[words.ids], *spans, lines, found)
    return replace(words, sentence_ends=found[:count].copy())


def _line_feeds(text: str) -> Offsets:
    """Where the line feeds of a text stand."""
    lengths = np.fromiter(map(len, text.split("\n")), np.int64)
    return np.cumsum(lengths + 1)[:-1] - 1
