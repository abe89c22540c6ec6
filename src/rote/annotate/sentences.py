"""Sentences: where they end among the words of a layer.

Rules over words and the gaps between them, for any tokenizer that keeps marks as
words of their own (`ud`, `treebank`, `wordpunct`); they know the stops of other
scripts. The end of a text always ends a sentence, and so does a blank line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rote.core.layer import Layer

VERSION = "1"


def split(texts: Sequence[str], words: Layer) -> Layer:
    """The layer with its sentence ends; `texts` are those it was made from."""
    from rote.annotate._boundaries import boundaries, features

    table = np.fromiter(map(features, words.vocabulary), np.int32, len(words.vocabulary))
    lines: list[int] = []
    line_ends = np.empty(len(texts), np.int64)
    for number, text in enumerate(texts):
        place = text.find("\n")
        while place >= 0:
            lines.append(place)
            place = text.find("\n", place + 1)
        line_ends[number] = len(lines)
    ends = boundaries(
        table[words.ids],
        words.starts,
        words.ends,
        words.text_ends,
        np.array(lines, np.int64),
        line_ends,
    )
    return replace(words, sentence_ends=ends)
