"""Words as in Universal Dependencies for English: do|n't, it|'s, well|-|known.

The default. Follows the conventions of UD English EWT; handles any script, and
keeps URLs, addresses, numbers, dates, emoticons and emoji whole.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rote.core.layer import Layer

VERSION = "1"


def tokenize(texts: Sequence[str]) -> Layer:
    """The word layer of a batch of texts."""
    from rote.annotate.words._batch import batch, layer_of_bytes
    from rote.annotate.words._characters import kinds
    from rote.annotate.words._lists import table
    from rote.annotate.words._machine import scan

    of = batch(texts)
    starts, ends = np.empty(len(of.data), np.int64), np.empty(len(of.data), np.int64)
    text_ends = np.empty(len(texts), np.int64)
    out = (starts, ends, text_ends)
    words = scan(of.data, of.begins, of.stops, kinds(), *table(), out)
    return layer_of_bytes(of, starts[:words].copy(), ends[:words].copy(), text_ends)
