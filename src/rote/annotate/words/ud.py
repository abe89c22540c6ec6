"""Words as in Universal Dependencies for English: do|n't, it|'s, well|-|known.

The default. Follows the conventions of UD English EWT; handles any script, and
keeps URLs, addresses, numbers, dates, emoticons and emoji whole.

It reads left to right and asks one question at each place that is not white
space: where does the word that begins here end? The answer looks at the bytes
around that place only, never at earlier answers, so the time is linear and a
text is cut the same way alone and in a batch. Every text has a NUL before and
after it, which no word contains, so no look-ahead needs a bound.

Kinds of characters come from Python's own Unicode data on first use (some milliseconds), so that
nothing has to be kept in step with it. A listed word of up to eight bytes is its lower-case bytes
read as one number, so that a look-up compares the whole word exactly. A function for a word that
has a shape (an address, a number, a face, a rule) is asked at the place where such a word would
begin, and answers where it ends; the place itself means that there is none.
"""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rote.annotate.words._batch import encode_texts, layer_of_bytes
from rote.core.kernels import aside, lean, part
from rote.core.layer import Layer, Offsets

VERSION = "1"


def tokenize(texts: Sequence[str]) -> Layer:
    of = encode_texts(texts)
    starts, ends = np.empty(len(of.data), np.int64), np.empty(len(of.data), np.int64)
    text_ends = np.empty(len(texts), np.int64)
    out = (starts, ends, text_ends)
    words = scan(of.data, of.begins, of.stops, kinds(), *table(), out)
    return layer_of_bytes(of, starts[:words].copy(), ends[:words].copy(), text_ends)


SPACE = 0  # white space, control characters, marks of direction: never part of a word
LETTER = 1
DIGIT = 2
MARK = 3  # punctuation; the same mark again belongs to the same word
SINGLE = 4  # brackets, symbols, emoji: each a word
IDEOGRAPH = 5  # Han: no spaces between words, each a word
HIRAGANA = 6
KATAKANA = 7
EXTEND = 8  # accents, joiners, skin tones: belongs to what stands before it
FLAG = 9  # regional indicators: two make one

SIZE = 0x20000  # what lies above is ideographs, then tags, then private use

_BY_CATEGORY = {"L": LETTER, "M": EXTEND, "N": LETTER, "P": MARK, "S": SINGLE, "Z": SPACE}
_BY_FULL_CATEGORY = {
    "Nd": DIGIT,
    "Pc": LETTER,
    "Ps": SINGLE,
    "Pe": SINGLE,
    "Pi": SINGLE,
    "Pf": SINGLE,
    "Cc": SPACE,
    "Cf": SPACE,
    "Cs": SINGLE,
    "Co": SINGLE,
    "Cn": SINGLE,
}
_RANGES = (
    (0x3040, 0x309F, HIRAGANA),
    (0x30A1, 0x30FF, KATAKANA),
    (0x3400, 0x4DBF, IDEOGRAPH),
    (0x4E00, 0x9FFF, IDEOGRAPH),
    (0xF900, 0xFAFF, IDEOGRAPH),
    (0xFF66, 0xFF9F, KATAKANA),
    (0x1F1E6, 0x1F1FF, FLAG),
    (0x1F3FB, 0x1F3FF, EXTEND),
)
# Invisible, but inside words: soft hyphen, joiners; the Arabic number signs are not.
_INSIDE_WORDS = (0x00AD, 0x200C, 0x200D, 0x2060, 0x180E)


@lru_cache(maxsize=1)
def kinds() -> NDArray[np.uint8]:
    """The kind of every code point below SIZE."""
    table = np.empty(SIZE, np.uint8)
    for code in range(SIZE):
        category = unicodedata.category(chr(code))
        kind = _BY_FULL_CATEGORY.get(category)
        table[code] = _BY_CATEGORY[category[0]] if kind is None else kind
    for first, last, kind in _RANGES:
        table[first : last + 1] = kind
    for code in _INSIDE_WORDS:
        table[code] = EXTEND
    return table


ABBREVIATION = 1  # keeps its full stop
PREFIX = 2  # stays with what follows its hyphen
UNIT = 4  # is cut off a number
DOMAIN = 8  # ends the name of a site
FILE = 16  # ends the name of a file
CLITIC = 32  # is cut off with the apostrophe before it
CLIPPED = 64  # begins with an apostrophe: 'em
LISTING = 128  # begins the name of a news group: comp.lang.c
WEAK = 256  # keeps its full stop only where no sentence can end
SITE = 512  # begins the name of a site
SCHEME = 1024  # begins a URL without slashes
CUT = 2048  # times the place at which a word is cut: cannot, dont

_LISTS = {
    ABBREVIATION: """
        dr drs mr mrs ms st mt ft jr sr prof rev gen gov sen rep reps lt col capt cmdr sgt maj hon
        pres supt messrs mme mlle inc ltd pvt co corp bros dept univ assn assoc etc vs eg ie cf et
        jan feb apr jun jul aug sep sept oct nov dec tue tues thu thur thurs fri blvd ave rd
        vol vols nos pp figs eds ext tel attn approx esp que hrs yr yrs lb lbs oz viz incl
        arr arrv adm resp""",
    WEAK: """
        no sat sun mon wed mar may al la va wa ca ed est fig min mins sec secs hr apt ste det
        conf para ph sc mob lv rec spec info ps misc dep""",
    PREFIX: """
        e non mid pre anti re post over co pro multi ex sub semi cross neo psycho socio counter
        intra inter micro un arch ultra super mini macro mega bi tri quasi pseudo trans proto
        under electro geo bio eco tele hyper auto infra meta""",
    UNIT: """
        am pm m k b bn mm cm ft kg lb lbs hz khz mhz ghz kb mb gb tb hh f x mins min minutes hrs
        hours days km kw kwh mw mwh mph oz ml mg sqft sq watt watts volt volts p percent yr yrs
        years inch inches ppm bps kbps mbps px dpi rpm w v""",
    DOMAIN: """
        com org net edu gov mil int info biz uk ca de fr jp au ru ch nl es se eu cn br io tv
        nz za pl""",
    FILE: """
        doc docx xls xlsx ppt pptx pdf txt rtf csv tsv json xml html htm php asp aspx jsp css js
        jpg jpeg gif png bmp tif tiff svg mp3 mp4 avi mov wav wmv zip gz tar rar exe dll url py
        java cpp md tex log dat ini cfg bat sh""",
    SITE: "www",
    SCHEME: "mailto tel",
    CLITIC: "s m d re ve ll",
    CLIPPED: "em n til till cause tis twas bout cuz round",
    LISTING: "alt comp misc rec soc sci talk news ba",
}
_CUTS = """
    can|not gon|na wan|na got|ta out|ta do|nt did|nt does|nt wo|nt ca|nt is|nt was|nt are|nt
    have|nt has|nt had|nt would|nt could|nt should|nt were|nt ai|nt i|m i|ve that|s there|s
    you|re they|re what|s he|s let|s here|s ar|nt gim|me lem|me du|nno n|no"""


def pack(word: str) -> int:
    return int.from_bytes(word.encode(), "big")


@lru_cache(maxsize=1)
def table() -> tuple[NDArray[np.uint64], NDArray[np.uint16]]:
    """Packed words and their bits, as an open hash table of a power of two."""
    bits: dict[int, int] = {}
    for bit, words in _LISTS.items():
        for word in words.split():
            bits[pack(word)] = bits.get(pack(word), 0) | bit
    for cut in _CUTS.split():
        key = pack(cut.replace("|", ""))
        bits[key] = bits.get(key, 0) | CUT * cut.index("|")
    size = 2048
    keys, values = np.zeros(size, np.uint64), np.zeros(size, np.uint16)
    for key, value in bits.items():
        slot = (key * 0x9E3779B97F4A7C15 % 2**64 >> 32) % size  # the kernel computes the same
        while keys[slot]:
            slot = (slot + 1) % size
        keys[slot], values[slot] = key, value
    return keys, values


Data = NDArray[np.uint8]
Kinds = NDArray[np.uint8]
Keys = NDArray[np.uint64]
Bits = NDArray[np.uint16]

# Bytes by the names of their characters.
QUOTE, HASH, DOLLAR, PERCENT, AMPERSAND, APOSTROPHE, OPEN, CLOSE = b"\"#$%&'()"
STAR, PLUS, COMMA, HYPHEN, DOT, SLASH, COLON, SEMICOLON = b"*+,-./:;"
LESS, EQUALS, GREATER, AT, CLOSE_SQUARE, CARET, UNDERSCORE, BACKTICK = b"<=>@]^_`"
SPACE_BAR, THREE, CAPITAL_I = b" 3I"  # the first and every control character below it: no word
SMALL_A, SMALL_N, SMALL_O, SMALL_S, SMALL_T, SMALL_W = b"anostw"


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
    compiled: Kernel = part(function)
    return compiled


def seldom(function: Kernel) -> Kernel:
    """A part of the machine that few words need, or that is asked at many places."""
    compiled: Kernel = aside(function)
    return compiled


@kernel
def decode(data: Data, i: int) -> tuple[int, int]:
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
    flags = bits_of(data, p, q, keys, bits) if data[q] == DOT else 0
    if flags & SITE:
        return url_end(data, s, kinds)
    if flags & LISTING and not UPPER[data[q + 1]]:
        return s
    ending = dot + 1
    while LETTERS[data[ending]] or DIGITS[data[ending]]:
        ending += 1
    if ending != s:
        return p
    flags = bits_of(data, dot + 1, ending, keys, bits)
    # `end.The` is a missing space, `notes.DOC` is not.
    lower = not UPPER[data[dot + 1]] or UPPER[data[dot + 2]]
    if flags & FILE and lower:
        return s
    if flags & DOMAIN and lower:
        return url_end(data, s, kinds) if data[s] == SLASH or data[s] == COLON else s
    return p


@seldom
def number_end(data: Data, p: int, kinds: Kinds, keys: Keys, bits: Bits) -> int:
    """The end of the number that begins at p: 1,000.50, 7:30, 9/11/2001, 555-0199."""
    q = digits_end(data, p)
    while (data[q] == DOT or data[q] == COMMA or data[q] == COLON) and DIGITS[data[q + 1]]:
        q = digits_end(data, q + 1)
    mark = data[q]
    after_joiner = data[p - 1] == HYPHEN or data[p - 1] == SLASH
    if mark in (HYPHEN, SLASH) and DIGITS[data[q + 1]] and not after_joiner:
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
    q = p + 1
    while data[q] == data[p]:
        q += 1
    return q


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
