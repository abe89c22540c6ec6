"""Reading UTF-8 bytes in a kernel: characters, their kinds, and words of the lists.

The ground under the `ud` machine.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rote.annotate.words._characters import DIGIT, EXTEND, IDEOGRAPH, LETTER, SINGLE, SIZE
from rote.core.kernels import aside, part

Data = NDArray[np.uint8]
Kinds = NDArray[np.uint8]
Keys = NDArray[np.uint64]
Bits = NDArray[np.uint16]

QUOTE = ord('"')
HASH = ord("#")
DOLLAR = ord("$")
PERCENT = ord("%")
AMPERSAND = ord("&")
APOSTROPHE = ord("'")
OPEN = ord("(")
CLOSE = ord(")")
STAR = ord("*")
PLUS = ord("+")
COMMA = ord(",")
HYPHEN = ord("-")
DOT = ord(".")
SLASH = ord("/")
COLON = ord(":")
SEMICOLON = ord(";")
LESS = ord("<")
EQUALS = ord("=")
GREATER = ord(">")
AT = ord("@")
CLOSE_SQUARE = ord("]")
CARET = ord("^")
UNDERSCORE = ord("_")
BACKTICK = ord("`")
SPACE_BAR = ord(" ")  # and every control character below it
THREE = ord("3")
CAPITAL_I = ord("I")
SMALL_A = ord("a")
SMALL_N = ord("n")
SMALL_O = ord("o")
SMALL_S = ord("s")
SMALL_T = ord("t")
SMALL_W = ord("w")


def _set(marks: str) -> NDArray[np.bool_]:
    table = np.zeros(256, np.bool_)
    table[[ord(mark) for mark in marks]] = True
    return table


DIGITS = _set(string.digits)
UPPER = _set(string.ascii_uppercase)
LETTERS = _set(string.ascii_letters)
PLAIN = _set(string.ascii_letters + string.digits + "_")
STOPS = _set(".!?")
# What file names, hosts and the local parts of addresses are made of.
NAME = _set(string.ascii_letters + string.digits + "#%&+-._~")
# What is not part of a URL that it follows.
TAIL = _set("!'),*.:;?]}")
# After a run of letters and digits: there may be more of an address or a file name.
LINKS = _set(".:@-#~+&%")
# What rules and arrows are drawn with.
DRAWN = _set("-=*+|<>~_#^")
# What faces are made of.
EYES = _set(":;=")
NOSES = _set("-'^")
MOUTHS = _set(")(]")
CROOKED_MOUTHS = _set("/\\|")
LETTER_MOUTHS = _set("DPpO*")

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def kernel(function: Kernel) -> Kernel:
    """A part of the machine; its types stay known."""
    made: Kernel = part(function)
    return made


def seldom(function: Kernel) -> Kernel:
    """A part of the machine that few words need, or that is asked at many places."""
    made: Kernel = aside(function)
    return made


@kernel
def decode(data: Data, i: int) -> tuple[int, int]:
    """The code point at i and its number of bytes."""
    c = int(np.int64(data[i]))
    if c < 0x80:
        return c, 1
    second = int(np.int64(data[i + 1])) & 0x3F
    if c < 0xE0:
        return (c & 0x1F) << 6 | second, 2
    third = int(np.int64(data[i + 2])) & 0x3F
    if c < 0xF0:
        return (c & 0x0F) << 12 | second << 6 | third, 3
    fourth = int(np.int64(data[i + 3])) & 0x3F
    return (c & 0x07) << 18 | second << 12 | third << 6 | fourth, 4


@kernel
def kind_at(data: Data, i: int, kinds: Kinds) -> tuple[int, int]:
    """The kind of the character at i and its number of bytes."""
    if data[i] < 0x80:
        return int(np.int64(kinds[data[i]])), 1
    code, size = decode(data, i)
    if code < SIZE:
        return int(np.int64(kinds[code])), size
    if code < 0x40000:
        return IDEOGRAPH, size
    return EXTEND if 0xE0000 <= code < 0xE0200 else SINGLE, size


@kernel
def alnum_at(data: Data, i: int, kinds: Kinds) -> bool:
    kind, _ = kind_at(data, i, kinds)
    return kind in (LETTER, DIGIT)


@kernel
def follows_word(data: Data, i: int, kinds: Kinds) -> bool:
    """Whether a letter or a digit, or an accent on one, stands right before i."""
    i -= 1
    while data[i] & 0xC0 == 0x80:
        i -= 1
    kind, _ = kind_at(data, i, kinds)
    return kind in (LETTER, DIGIT, EXTEND)


@kernel
def run_end(data: Data, i: int, kinds: Kinds) -> int:
    """The end of the letters, digits and their marks that begin at i."""
    while True:
        while PLAIN[data[i]]:
            i += 1
        if data[i] < 0x80:
            return i
        kind, size = kind_at(data, i, kinds)
        if kind not in (LETTER, DIGIT, EXTEND):
            return i
        i += size


@kernel
def digits_end(data: Data, i: int) -> int:
    while DIGITS[data[i]]:
        i += 1
    return i


@kernel
def bits_of(data: Data, a: int, b: int, keys: Keys, bits: Bits) -> int:
    """What the word lists say of the ASCII word at a:b, in any case."""
    if b - a > 8 or b == a:
        return 0
    key = np.uint64(0)
    for k in range(a, b):
        c = data[k]
        if UPPER[c]:
            c |= 32
        key = key << np.uint64(8) | np.uint64(c)
    mask = np.uint64(len(keys) - 1)
    slot = (key * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(32)) & mask
    while keys[slot] != np.uint64(0):
        if keys[slot] == key:
            return int(np.int64(bits[slot]))
        slot = (slot + np.uint64(1)) & mask
    return 0


@kernel
def apostrophe_at(data: Data, i: int) -> bool:
    """Whether an apostrophe stands at i: ' or `."""
    return bool(data[i] == APOSTROPHE or data[i] == BACKTICK)


@kernel
def ends_text(data: Data, i: int, stop: int) -> bool:
    """Whether only closing marks and white space follow, or a blank line."""
    lines = 0
    while i < stop:
        c = data[i]
        if c == 10:
            lines += 1
            if lines == 2:
                return True
        elif c > SPACE_BAR and c != QUOTE and c != APOSTROPHE:
            return False
        i += 1
    return True


@kernel
def next_visible(data: Data, i: int, stop: int) -> int:
    """The first byte from i on that is not ASCII white space; NUL at the end."""
    while i < stop and data[i] <= SPACE_BAR:
        i += 1
    return int(np.int64(data[i]))
