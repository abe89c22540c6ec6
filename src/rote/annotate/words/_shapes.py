"""Words of the `ud` machine that have a shape: addresses, numbers, faces, rules.

Each function is asked at the place where such a word would begin, and answers
where it ends; the place itself means that there is none.
"""

from __future__ import annotations

import numpy as np

from rote.annotate.words._bytes import (
    AT,
    CARET,
    CLOSE,
    COLON,
    COMMA,
    CROOKED_MOUTHS,
    DIGITS,
    DOT,
    DRAWN,
    EQUALS,
    EYES,
    GREATER,
    HYPHEN,
    LESS,
    LETTER_MOUTHS,
    LETTERS,
    MOUTHS,
    NAME,
    NOSES,
    OPEN,
    QUOTE,
    SEMICOLON,
    SLASH,
    SMALL_S,
    SPACE_BAR,
    TAIL,
    THREE,
    UNDERSCORE,
    UPPER,
    Bits,
    Data,
    Keys,
    Kinds,
    alnum_at,
    apostrophe_at,
    bits_of,
    digits_end,
    follows_word,
    kernel,
    kind_at,
    run_end,
    seldom,
)
from rote.annotate.words._characters import SINGLE, SPACE
from rote.annotate.words._lists import DOMAIN, FILE, LISTING, SCHEME, SITE, UNIT


@seldom
def url_end(data: Data, i: int, kinds: Kinds) -> int:
    """The end of a URL that is known to have begun: white space, less closing marks."""
    begin = i
    opened = 0
    while True:
        kind, size = kind_at(data, i, kinds)
        c = data[i]
        if kind == SPACE or c in (QUOTE, LESS, GREATER):
            break
        if c >= 0x80 and kind == SINGLE:  # a bracket or a quotation mark
            break
        if c == OPEN:
            opened += 1
        i += size
    while i > begin and TAIL[data[i - 1]] and not (opened > 0 and data[i - 1] == CLOSE):
        i -= 1
    return i


@seldom
def address_end(data: Data, p: int, q: int, kinds: Kinds, keys: Keys, bits: Bits) -> int:
    """The end of the URL, e-mail address, host or file name that begins at p, or p.

    p:q are letters and digits. Only the first byte of a name is a beginning, so a
    name is read once, whatever it turns out to be.
    """
    if NAME[data[p - 1]] or data[p - 1] == AT:
        return p
    if data[q] == COLON:  # scheme://
        if data[q + 1] == SLASH and data[q + 2] == SLASH and data[q + 3] > SPACE_BAR:
            return url_end(data, q + 3, kinds)
        if bits_of(data, p, q, keys, bits) & SCHEME:
            return url_end(data, q + 1, kinds)
        return p
    s = q
    dot = -1
    while NAME[data[s]]:
        if data[s] == DOT and data[s - 1] != DOT and LETTERS[data[s + 1]]:
            dot = s
        s += 1
    if data[s] == AT and LETTERS[data[s + 1]]:
        h = s + 1
        while NAME[data[h]] or data[h] == AT:
            h += 1
        while data[h - 1] == DOT or data[h - 1] == HYPHEN:
            h -= 1
        return h
    while data[s - 1] == DOT or data[s - 1] == HYPHEN:
        s -= 1
    if dot < 0:
        return p
    found = bits_of(data, p, q, keys, bits) if data[q] == DOT else 0
    if found & SITE:
        return url_end(data, s, kinds)
    if found & LISTING and not UPPER[data[q + 1]]:
        return s
    ending = dot + 1
    while LETTERS[data[ending]] or DIGITS[data[ending]]:
        ending += 1
    if ending != s:
        return p
    found = bits_of(data, dot + 1, ending, keys, bits)
    # `end.The` is a missing space, `notes.DOC` is not.
    lower = not UPPER[data[dot + 1]] or UPPER[data[dot + 2]]
    if found & FILE and lower:
        return s
    if found & DOMAIN and lower:
        return url_end(data, s, kinds) if data[s] == SLASH or data[s] == COLON else s
    return p


@seldom
def number_end(data: Data, p: int, kinds: Kinds, keys: Keys, bits: Bits) -> int:
    """The end of the number that begins at p: 1,000.50, 7:30, 9/11/2001, 555-0199."""
    q = digits_end(data, p)
    while (data[q] == DOT or data[q] == COMMA or data[q] == COLON) and DIGITS[data[q + 1]]:
        q = digits_end(data, q + 1)
    mark = data[q]
    joined = data[p - 1] == HYPHEN or data[p - 1] == SLASH
    if mark in (HYPHEN, SLASH) and DIGITS[data[q + 1]] and not joined:
        groups, s, first, last = 1, q, q - p, 0
        while (data[s] == HYPHEN or data[s] == SLASH) and DIGITS[data[s + 1]]:
            r = digits_end(data, s + 1)
            last = r - s - 1
            s = r
            groups += 1
        if not LETTERS[data[s]] and data[s] != UNDERSCORE:
            if groups > 2:
                return s
            if mark == HYPHEN:  # a phone number or a postal code, not a range
                if last == 4 and (first == 1 or first == 3 or first == 5):
                    return s
            elif first <= 2 and last <= 2 and is_date(data, p, q, s):
                return s
        return q
    if apostrophe_at(data, q):  # the 80's
        if data[q + 1] | 32 == SMALL_S and not alnum_at(data, q + 2, kinds):
            return q + 2
        return q
    r = run_end(data, q, kinds)
    if bits_of(data, q, r, keys, bits) & UNIT:
        return q
    if r == q + 1 and q - p <= 2 and data[r] == DOT and LETTERS[data[r + 1]]:  # 5p.m.
        return q
    return r


@kernel
def is_date(data: Data, p: int, q: int, s: int) -> bool:
    """Whether p:q / q+1:s are a month and a day rather than a fraction."""
    first, last = 0, 0
    for k in range(p, q):
        first = 10 * first + int(np.int64(data[k])) - 48
    for k in range(q + 1, s):
        last = 10 * last + int(np.int64(data[k])) - 48
    if first == 0 or last == 0 or first > 12 or last > 31:
        return False
    return not (first < last <= 5 or (last == 8 and first % 2 == 1 and s - q == 2 and first < 8))


@seldom
def emoticon_end(data: Data, p: int, kinds: Kinds) -> int:
    """The end of the emoticon that begins at p, or p: :-) ;P =( <3 ^_^ (:"""
    c, d = data[p], data[p + 1]
    if c == LESS and d == THREE:
        return p if alnum_at(data, p + 2, kinds) else p + 2
    if c in (CARET, HYPHEN) and d == UNDERSCORE and data[p + 2] == c:
        return p + 3
    if c == OPEN and d in (COLON, SEMICOLON) and data[p + 2] <= SPACE_BAR:
        return p + 2
    if c == GREATER and d == COLON and data[p + 2] == OPEN:
        return p + 3
    if not EYES[c]:
        return p
    q = p + 2 if NOSES[d] else p + 1
    mouth = data[q]
    if MOUTHS[mouth]:
        if mouth == OPEN and data[q + 1] > SPACE_BAR and data[q + 1] != OPEN:
            return p
        while data[q] == mouth:
            q += 1
        return q
    q += 1
    if CROOKED_MOUTHS[mouth]:
        return q if c != EQUALS and data[q] <= SPACE_BAR and data[p - 1] <= SPACE_BAR else p
    if LETTER_MOUTHS[mouth]:
        after = alnum_at(data, q, kinds) or data[q] == mouth
        return p if after or follows_word(data, p, kinds) else q
    return p


@seldom
def decoration_end(data: Data, p: int) -> int:
    """The end of the rule or arrow drawn at p: ---- ==> *~*~*"""
    q = p
    mixed = False
    while DRAWN[data[q]]:
        mixed = mixed or data[q] != data[p]
        q += 1
    if not mixed or q - p > 3:
        return q
    if q - p == 2 and (data[p + 1] == GREATER or data[p + 1] == EQUALS or data[p] == LESS):
        return q
    return same_end(data, p)


@kernel
def same_end(data: Data, p: int) -> int:
    """The end of the run of the byte at p."""
    q = p + 1
    while data[q] == data[p]:
        q += 1
    return q
