"""The tokens of Guo, Shang and Clavel (2025): wordpunct in lower case.

Single punctuation marks are dropped. Runs of two or more marks stay (`!?`, `...`), as does any mark
outside ASCII.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

from rote.annotate.words._batch import matches
from rote.core.layer import Layer

VERSION = "1"

# The underscore is a mark in ASCII and a word character here: alone it is dropped too.
_MARK = f"[{re.escape(string.punctuation)}]"
_WORD = re.compile(rf"(?!_(?!\w))\w+|[^\w\s]{{2,}}|(?!{_MARK})[^\w\s]")


def tokenize(texts: Sequence[str]) -> Layer:
    """The word layer of a batch of texts."""
    return matches(_WORD, texts).map("word", str.lower)
