"""Words after the Penn Treebank, for one sentence or a text taken as one.

The conventions of the treebank's own tokenizer script (R. MacIntyre, 1995), with
which NLTK's TreebankWordTokenizer agrees: marks are cut off, `do|n't`, `can|not`,
numbers and hyphenated words whole. A full stop is cut off at the end of the text
only. Quotation marks stay as they are in the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rote.annotate.words._batch import matches
from rote.core.layer import Layer

VERSION = "1"

# A mark that is a word wherever it stands; `1,000` and `7:30` keep theirs.
_MARK = r"""(?:\.\.\.|--|``|''|["?!;@#$%&()\[\]{}<>]|[:,](?!\d))"""
# The full stop that ends the text, whatever closes behind it.
_LAST = r"""(?<!\.)\.(?=[\])}>"']*\s*\Z)"""
_END = rf"(?=\s|\Z|{_MARK}|{_LAST})"
# The second halves of words. Each begins with what it is found by and looks back
# after it, for these are tried at every letter.
_CLITIC = (
    rf"'(?<=[^'\s]')(?:[sSmMdD]|ll|LL|re|RE|ve|VE|){_END}"
    rf"|(?:n't|N'T)(?<=[^'\s]...){_END}"
)
_HALF = (
    r"(?i:n(?:ot\b(?<=\bcannot)|a\b(?<=\bgonna)|a(?=\s)(?<=\bwanna))"
    r"|me\b(?:(?<=\bgimme)|(?<=\blemme))|ta\b(?<=\bgotta)"
    r"|'(?:ye\b(?<=\bd'ye)|n\b(?<=\bmore'n))"
    r"|is\b(?:(?<=\s'tis)|(?<=\A'tis))|was\b(?:(?<=\s'twas)|(?<=\A'twas)))"
)
_CUT = f"{_MARK}|{_LAST}|{_CLITIC}|{_HALF}"
_WORD = re.compile(rf"{_CUT}|\S(?:(?!{_CUT})\S)*")


def tokenize(texts: Sequence[str]) -> Layer:
    """The word layer of a batch of texts."""
    return matches(_WORD, texts)
