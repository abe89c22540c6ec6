"""Kernels for tokenizers whose words are whatever stands between gaps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit
from rote.core.layer import Offsets

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
def between_single_spaces(
    data: NDArray[np.uint8], begins: Offsets, stops: Offsets
) -> tuple[Offsets, Offsets, Offsets]:
    """The same for single spaces: two in a row have an empty item between them."""
    starts, ends = np.empty(len(data), np.int64), np.empty(len(data), np.int64)
    text_ends = np.empty(len(begins), np.int64)
    count = 0
    for text in range(len(begins)):
        start = begins[text]
        for place in range(begins[text], stops[text] + 1):
            if place == stops[text] or data[place] == _SPACE:
                starts[count], ends[count] = start, place
                count += 1
                start = place + 1
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
