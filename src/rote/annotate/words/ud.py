"""Words as in Universal Dependencies for English: do|n't, it|'s, well|-|known.

The default. Follows the conventions of UD English EWT; handles any script, and
keeps URLs, addresses, numbers, dates, emoticons and emoji whole.

It reads left to right and asks one question at each place that is not white
space: where does the word that begins here end? The answer looks at the bytes
around that place only, never at earlier answers, so the time is linear and a
text is cut the same way alone and in a batch. Every text has a NUL before and
after it, which no word contains, so no look-ahead needs a bound.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rote.annotate.words._shapes import (
    ABBREVIATION,
    AMPERSAND,
    APOSTROPHE,
    AT,
    BACKTICK,
    CAPITAL_I,
    CLIPPED,
    CLITIC,
    CLOSE,
    CLOSE_SQUARE,
    COMMA,
    CUT,
    DIGIT,
    DIGITS,
    DOLLAR,
    DOT,
    EXTEND,
    FILE,
    FLAG,
    HASH,
    HIRAGANA,
    HYPHEN,
    KATAKANA,
    LETTER,
    LETTERS,
    LINKS,
    MARK,
    PERCENT,
    PLUS,
    PREFIX,
    SINGLE,
    SLASH,
    SMALL_A,
    SMALL_N,
    SMALL_O,
    SMALL_S,
    SMALL_T,
    SMALL_W,
    SPACE,
    SPACE_BAR,
    STAR,
    STOPS,
    UNDERSCORE,
    UPPER,
    WEAK,
    Bits,
    Data,
    Keys,
    Kinds,
    address_end,
    alnum_at,
    apostrophe_at,
    bits_of,
    decode,
    decoration_end,
    digits_end,
    emoticon_end,
    ends_text,
    follows_word,
    kernel,
    kind_at,
    next_visible,
    number_end,
    run_end,
    same_end,
    seldom,
)
from rote.core.kernels import lean
from rote.core.layer import Layer, Offsets

VERSION = "1"


def tokenize(texts: Sequence[str]) -> Layer:
    """The word layer of a batch of texts."""
    from rote.annotate.words._batch import encode_texts, layer_of_bytes
    from rote.annotate.words._shapes import kinds, table

    of = encode_texts(texts)
    starts, ends = np.empty(len(of.data), np.int64), np.empty(len(of.data), np.int64)
    text_ends = np.empty(len(texts), np.int64)
    out = (starts, ends, text_ends)
    words = scan(of.data, of.begins, of.stops, kinds(), *table(), out)
    return layer_of_bytes(of, starts[:words].copy(), ends[:words].copy(), text_ends)


@seldom
def dotted_end(data: Data, p: int, q: int, stop: int, kinds: Kinds, flags: int) -> int:
    """The end of the word p:q that a full stop follows: with it or without."""
    after = data[q + 1]
    if q - p == 1 and LETTERS[data[p]] and LETTERS[after]:  # U.S., e.g.
        s = q + 1
        while LETTERS[data[s]] and data[s + 1] == DOT:
            s += 2
        if LETTERS[data[s]]:
            r = run_end(data, s, kinds)
            if r == s + 1:
                return r
        if s == q + 1:
            return q
        if data[s] == DOT:
            return s - 1 if data[s + 1] == DOT else s
        return s - 1 if ends_text(data, s, stop) else s
    if after == DOT and (flags & ABBREVIATION == 0 or data[q + 2] == DOT):
        return q
    if after != DOT and ends_text(data, q + 1, stop):
        return q
    if flags & ABBREVIATION:
        return q + 1
    following = next_visible(data, q + 1, stop)
    if flags & WEAK:
        small = LETTERS[following] and not UPPER[following]
        inside = UPPER[data[p]] and (small or DIGITS[following])
        return q + 1 if inside or following == COMMA else q
    if q - p == 1 and DIGITS[following] and not UPPER[data[p]]:  # p. 15
        return q + 1
    if q - p == 1 and UPPER[data[p]] and data[p] != CAPITAL_I:  # an initial
        closed = following in (COMMA, CLOSE, CLOSE_SQUARE)
        return q + 1 if closed or UPPER[following] else q
    return q


@kernel
def word_end(data: Data, p: int, stop: int, kinds: Kinds, keys: Keys, bits: Bits) -> int:
    """The end of the word that begins with a letter or a digit at p."""
    q = run_end(data, p, kinds)
    c = data[q]
    if c <= SPACE_BAR and data[q - 1] != UNDERSCORE:
        flags = bits_of(data, p, q, keys, bits)
        if flags < CUT:
            return number_end(data, p, kinds, keys, bits) if DIGITS[data[p]] else q
    elif LINKS[c] and data[q + 1] > SPACE_BAR:
        s = address_end(data, p, q, kinds, keys, bits)
        if s > p:
            return s
    if DIGITS[data[p]]:
        q = number_end(data, p, kinds, keys, bits)
        if not LETTERS[data[q - 1]]:
            return q
    flags = bits_of(data, p, q, keys, bits)
    if flags >= CUT and not apostrophe_at(data, q) and (q - p > 3 or not UPPER[data[p + 1]]):
        return p + flags // CUT
    while data[q - 1] == UNDERSCORE:  # _emphasis_
        q -= 1
    while True:
        c = data[q]
        if apostrophe_at(data, q):
            r = run_end(data, q + 1, kinds)
            if r == q + 1:
                return q
            if r == q + 2 and data[r - 1] | 32 == SMALL_T and data[q - 1] | 32 == SMALL_N:
                return q - 1 if q - p > 1 else r
            if bits_of(data, q + 1, r, keys, bits) & CLITIC:
                return q
            q = r
        elif (c == HYPHEN and flags & PREFIX and alnum_at(data, q + 1, kinds)) or (
            c == DOT and DIGITS[data[q - 1]] and DIGITS[data[q + 1]]  # v2.0
        ):
            q = run_end(data, q + 1, kinds)
        elif c == PLUS and q - p == 1 and data[q + 1] == PLUS:  # C++
            return q + 2
        elif c == HASH and q - p == 1 and UPPER[data[p]] and not alnum_at(data, q + 1, kinds):  # C#
            return q + 1
        elif c == DOT:
            return dotted_end(data, p, q, stop, kinds, flags)
        elif c == AMPERSAND and q - p <= 3 and LETTERS[data[q + 1]]:  # R&D
            r = run_end(data, q + 1, kinds)
            if r - q > 3 or UPPER[data[q + 1]] != UPPER[data[p]]:
                return q
            q = r
        elif c == SLASH and q - p == 1:  # w/ w/o l/c
            r = run_end(data, q + 1, kinds)
            if data[p] | 32 == SMALL_W:
                return r if r - q == 2 or data[q + 1] | 32 == SMALL_O else q + 1
            return r if r - q == 2 and LETTERS[data[q + 1]] and data[p] | 32 != SMALL_A else q
        elif c == DOLLAR and q - p <= 2 and UPPER[data[p]]:  # US$
            return q + 1
        elif c in (STAR, DOLLAR):  # f**k
            s = same_end(data, q)
            if not LETTERS[data[s]]:
                return q
            q = run_end(data, s, kinds)
        else:
            return q
        flags = 0


@seldom
def apostrophe_end(data: Data, p: int, kinds: Kinds, keys: Keys, bits: Bits) -> int:
    """The end of the word that begins with an apostrophe at p: 's, 'em, '90s, ' or ''."""
    q = p + 1
    r = run_end(data, q, kinds)
    if r > q:
        flags = bits_of(data, q, r, keys, bits)
        if follows_word(data, p, kinds):
            return r if flags & CLITIC else q
        if flags & CLIPPED:
            return r
        s = digits_end(data, q)
        if s == q + 2 and (r == s or (r == s + 1 and data[s] == SMALL_S)):
            return r
        return q
    return q + 1 if apostrophe_at(data, q) else q


@seldom
def ascii_mark_end(data: Data, p: int, kinds: Kinds, keys: Keys, bits: Bits) -> int:
    """The end of the word that begins with an ASCII mark at p."""
    c = data[p]
    q = emoticon_end(data, p, kinds)
    if q > p:
        return q
    if STOPS[c]:
        if c == DOT and DIGITS[data[p + 1]] and (data[p - 1] <= SPACE_BAR or data[p - 1] == DOLLAR):
            return number_end(data, p + 1, kinds, keys, bits)
        if c == DOT and LETTERS[data[p + 1]]:
            r = run_end(data, p + 1, kinds)
            if bits_of(data, p + 1, r, keys, bits) & FILE and data[p - 1] <= SPACE_BAR:
                return r
        q = p + 1
        while STOPS[data[q]]:
            q += 1
        return q
    if c in (APOSTROPHE, BACKTICK):
        return apostrophe_end(data, p, kinds, keys, bits)
    if c == PLUS and DIGITS[data[p + 1]] and data[p - 1] <= SPACE_BAR:
        return number_end(data, p + 1, kinds, keys, bits)
    if c in (DOLLAR, PERCENT, COMMA):
        return same_end(data, p)
    if c in (AT, HASH) and data[p - 1] <= SPACE_BAR and LETTERS[data[p + 1]]:  # @name #tag
        return run_end(data, p + 1, kinds)
    return max(decoration_end(data, p), p + 1)


@seldom
def other_end(data: Data, p: int, kind: int, size: int, kinds: Kinds) -> int:
    """The end of the word that begins with a character outside ASCII, not a letter."""
    q = p + size
    if kind == FLAG:
        following, more = kind_at(data, q, kinds)
        return q + more if following == FLAG else q
    while True:
        following, more = kind_at(data, q, kinds)
        if following == EXTEND:
            code, _ = decode(data, q)
            q += more
            if code == 0x200D and kind == SINGLE:  # joined emoji
                following, more = kind_at(data, q, kinds)
                if following == SINGLE:
                    q += more
        elif (following == kind and (kind in (HIRAGANA, KATAKANA))) or (
            kind == MARK and following == MARK and decode(data, q) == decode(data, p)
        ):
            q += more
        else:
            return q


@lean
def scan(
    data: Data,
    begins: Offsets,
    stops: Offsets,
    kinds: Kinds,
    keys: Keys,
    bits: Bits,
    out: tuple[Offsets, Offsets, Offsets],
) -> int:
    """The words of all texts: where they start and end in `data`, and each text's last.

    They go to `out`, which has room for a word in each byte; returns how many there are.
    """
    starts, ends, text_ends = out
    words = 0
    for text in range(len(begins)):
        p, stop = begins[text], stops[text]
        while p < stop:
            kind, size = kind_at(data, p, kinds)
            if kind == SPACE:
                p += size
                continue
            if data[p] == UNDERSCORE:
                q = decoration_end(data, p)
            elif kind in (LETTER, DIGIT, EXTEND):
                q = word_end(data, p, stop, kinds, keys, bits)
            elif size == 1:
                q = ascii_mark_end(data, p, kinds, keys, bits)
            else:
                q = other_end(data, p, kind, size, kinds)
            starts[words] = p
            ends[words] = q
            words += 1
            p = q
        text_ends[text] = words
    return words
