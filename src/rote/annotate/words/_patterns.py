"""Tokenizers that are one pattern: a regular expression, or what stands between gaps."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.annotate.words._batch import encode_texts, layer_of_bytes, matches
from rote.core.kernels import njit
from rote.core.layer import Layer, Offsets


@dataclass(frozen=True, slots=True)
class Pattern:
    """What the file of a tokenizer has: the word layer of a batch of texts, and a version."""

    tokenize: Callable[[Sequence[str]], Layer]
    VERSION: str = "1"


def _split(kernel: Callable[..., tuple[Offsets, Offsets, Offsets]], texts: Sequence[str]) -> Layer:
    """The words that a kernel finds between gaps."""
    of = encode_texts(texts)
    return layer_of_bytes(of, *kernel(of.data, of.begins, of.stops))


_SPACE = 0x20


@njit(cache=True, nogil=True)
def _is_white_space(data, place):  # type: ignore[no-untyped-def]
    """How many bytes of white space begin here: Python's str.isspace, 0 if none."""
    byte = data[place]
    if byte < 0x80:
        return 1 if byte == _SPACE or 0x09 <= byte <= 0x0D or 0x1C <= byte <= 0x1F else 0
    if byte == 0xC2:
        return 2 if data[place + 1] == 0x85 or data[place + 1] == 0xA0 else 0
    if byte < 0xE1 or byte > 0xE3:
        return 0
    second, third = data[place + 1], data[place + 2]
    if byte == 0xE1:
        is_white = second == 0x9A and third == 0x80
    elif byte == 0xE3:
        is_white = second == 0x80 and third == 0x80
    elif second == 0x80:
        is_white = third <= 0x8A or 0xA8 <= third <= 0xA9 or third == 0xAF
    else:
        is_white = second == 0x81 and third == 0x9F
    return 3 if is_white else 0


@njit(cache=True, nogil=True)
def between_white_space(
    data: NDArray[np.uint8], begins: Offsets, stops: Offsets
) -> tuple[Offsets, Offsets, Offsets]:
    """Start and end bytes of runs without white space, and where each text ends."""
    room = len(data) // 2 + 1
    starts, ends = np.empty(room, np.int64), np.empty(room, np.int64)
    text_ends = np.empty(len(begins), np.int64)
    count = 0
    for text in range(len(begins)):
        place, start = begins[text], np.int64(-1)
        while place < stops[text]:
            # Nearly every byte is a plain letter or mark: decided before anything else.
            gap = 0 if _SPACE < data[place] < 0x80 else _is_white_space(data, place)
            if gap == 0:
                if start < 0:
                    start = place
                place += 1
                continue
            if start >= 0:
                starts[count], ends[count], start = start, place, np.int64(-1)
                count += 1
            place += gap
        if start >= 0:
            starts[count], ends[count] = start, stops[text]
            count += 1
        text_ends[text] = count
    return starts[:count].copy(), ends[:count].copy(), text_ends


@njit(cache=True, nogil=True)
def between_other_than_ascii_alnum(
    data: NDArray[np.uint8], begins: Offsets, stops: Offsets
) -> tuple[Offsets, Offsets, Offsets]:
    """The same for runs of a-z, A-Z and 0-9, and of what becomes one of these in lower case.

    That is the Kelvin sign, a `k`, and the dotted capital I, an `i` and a combining dot, which
    ends the word.
    """
    room = len(data) // 2 + 1
    starts, ends = np.empty(room, np.int64), np.empty(room, np.int64)
    text_ends = np.empty(len(begins), np.int64)
    count = 0
    for text in range(len(begins)):
        place, start = begins[text], np.int64(-1)
        while place < stops[text]:
            byte = data[place]
            letter = byte | 0x20
            size, last = 0, False
            if 0x61 <= letter <= 0x7A or 0x30 <= byte <= 0x39:
                size = 1
            elif byte == 0xC4 and data[place + 1] == 0xB0:
                size, last = 2, True
            elif byte == 0xE2 and data[place + 1] == 0x84 and data[place + 2] == 0xAA:
                size = 3
            if size and start < 0:
                start = place
            if start >= 0 and (last or not size):
                starts[count], ends[count], start = start, place + size, np.int64(-1)
                count += 1
            place += max(size, 1)
        if start >= 0:
            starts[count], ends[count] = start, stops[text]
            count += 1
        text_ends[text] = count
    return starts[:count].copy(), ends[:count].copy(), text_ends


whitespace = Pattern(lambda texts: _split(between_white_space, texts))
"""Words between white space, as Python's str.split() sees them."""

_SPACES = re.compile(r"(?<![^ ])[^ ]*")
spaces = Pattern(lambda texts: matches(_SPACES, texts))
"""Everything between single spaces, empty strings too, as str.split(' '); an empty text holds one
empty item. Some published packages count words this way; their variants of a measure use it."""

rouge = Pattern(
    lambda texts: _split(between_other_than_ascii_alnum, texts).map(
        "word", lambda word: word.lower().rstrip("\u0307")
    )
)
"""The default tokens of the rouge-score package: lower case, a-z and 0-9 only. Papers compute
ROUGE-L with it. It works on the lower-cased text; here the original is searched, so that spans
point at it."""

_WORDPUNCT = re.compile(r"\w+|[^\w\s]+")
wordpunct = Pattern(lambda texts: matches(_WORDPUNCT, texts))
"""Runs of word characters and runs of punctuation, case kept (NLTK's WordPunct)."""

# The underscore is a mark in ASCII and a word character here: alone it is dropped too.
_ASCII_MARK = f"[{re.escape(string.punctuation)}]"
_GUO = re.compile(rf"(?!_(?!\w))\w+|[^\w\s]{{2,}}|(?!{_ASCII_MARK})[^\w\s]")
guo_2025 = Pattern(lambda texts: matches(_GUO, texts).map("word", str.lower))
"""The tokens of Guo, Shang and Clavel (2025): wordpunct in lower case. Single punctuation marks are
dropped. Runs of two or more marks stay (`!?`, `...`), as does any mark outside ASCII."""

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
_TREEBANK = re.compile(rf"{_CUT}|\S(?:(?!{_CUT})\S)*")
treebank = Pattern(lambda texts: matches(_TREEBANK, texts))
"""Words after the Penn Treebank, for one sentence or a text taken as one.

The conventions of the treebank's own tokenizer script (R. MacIntyre, 1995), with which NLTK's
TreebankWordTokenizer agrees: marks are cut off, `do|n't`, `can|not`, numbers and hyphenated words
whole. A full stop is cut off at the end of the text only. Quotation marks stay as they are in the
text."""
