"""Sentences: where they end among the words of a layer.

Rules over words and the gaps between them, for any tokenizer that keeps marks as
words of their own (`ud`, `treebank`, `wordpunct`); they know the stops of other
scripts. The end of a text always ends a sentence, and so does a blank line.

What a word can do at the end or the beginning of a sentence depends on its
string alone, so it is worked out once per distinct word; the pass over the text
sees small numbers only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import lean, part
from rote.core.layer import Ids, Layer, Offsets

VERSION = "2"


def split(texts: Sequence[str], words: Layer) -> Layer:
    """The layer with its sentence ends; `texts` are those it was made from."""
    table = np.fromiter(map(features, words.vocabulary), np.int32, len(words.vocabulary))
    # Where the line feeds of each text stand.
    feeds = [np.cumsum([len(line) + 1 for line in text.split("\n")])[:-1] - 1 for text in texts]
    line_ends = np.cumsum([len(places) for places in feeds], dtype=np.int64)
    lines = (np.concatenate([np.empty(0, np.int64), *feeds]), line_ends)
    ends = np.empty(len(words.ids), np.int64)
    spans = (words.starts, words.ends, words.text_ends)
    count = boundaries(table[words.ids], *spans, lines, ends)
    return replace(words, sentence_ends=ends[:count].copy())


# What stands at an end.
FULL_STOP = 1  # .
STRONG = 2  # ! ? and their like in other scripts, in any number
ELLIPSIS = 4  # .. ...
DOTTED = 8  # a word that kept its full stop: U.S., etc.
TITLE = 16  # one that a name or a number follows: Mr., No.
CLOSER = 32  # ) ] »
NEUTRAL = 64  # quotation marks that open as well as close
FACE = 128  # emoticons and emoji: they stay with the sentence before them
ADDRESS = 256  # URLs and e-mail addresses
RULE = 512  # ----- and other lines drawn with marks: sentences of their own
# What stands at a beginning.
OPENER = 1024  # ( [ «
CAPITAL = 2048  # also letters of scripts that have no case
SMALL = 4096
NUMBER = 8192
BULLET = 16384
STARTER = 32768  # a capitalized word that seldom follows an abbreviation inside a sentence
# What else matters.
COMMA = 65536  # , ; and other marks that continue
FAREWELL = 131072  # Regards, Sincerely

_TITLES = """
    mr. mrs. ms. dr. drs. prof. st. mt. ft. gen. gov. sen. rep. reps. rev. lt. col. capt. sgt.
    maj. cmdr. hon. pres. messrs. mme. mlle. vs. e.g. i.e. eg. ie. cf. no. nos. vol. fig. figs.
    pp. approx. esp. viz. attn. sept. oct. nov. dec. jan. feb. mar. apr. jun. jul. aug. a.k.a.
    ext. tel. dept. ed. eds. et. incl. arr. arrv."""
_STARTERS = """
    The A An This That These Those There Here It Its He She We They I You His Her My Our Your
    Their And But So Or If When While As At In On For From After Before Because Since Although
    Then Now However What Who Why How Where Which Not No Yes Also Even Just Some Many Most All
    One Please Thanks Thank Let Do Does Did Is Are Was Were Can Could Will Would Have Has"""
_FAREWELLS = "sincerely regards respectfully cheers thanks thanx yours best love"
_OF_WORD = dict.fromkeys(_STARTERS.split(), STARTER)
_OF_LOWER = dict.fromkeys(_TITLES.split(), TITLE)
_OF_LOWER |= dict.fromkeys(_FAREWELLS.split(), FAREWELL)
_FACE = re.compile(
    r"[:;=]['^-]?[)(\]DPpO/\\|*]+|\(:|\(;|<3|\^_\^|-_-|>:\(|[\u2600-\u27BF\U0001F300-\U0001FAFF].*"
)
_STRONG = re.compile(r"[.!?]*[!?‼⁇⁈⁉‽][.!?‼⁇⁈⁉‽]*|[。．！？｡؟۔।॥။።፧។៕᙮]+")
_ELLIPSIS = re.compile(r"\.\.+")
_DOTTED = re.compile(r"\w[\w.&'-]*\.")
_RULE = re.compile(r"[-=*_+|<>~#^]{4,}")
_OF_MARK = {
    FULL_STOP: ".",
    NEUTRAL: "\" ' ''",
    CLOSER: ") ] } » 」 』 ） 】 》",
    OPENER: "( [ { « `` 「 『 （ 【 《",
    COMMA: ", ; : 、 ， ； ： ، ؛",
    BULLET: "- -- * + • · ◦ ▪",
}
_MARKS = {mark: value for value, marks in _OF_MARK.items() for mark in marks.split()}
_PATTERNS = ((_STRONG, STRONG), (_ELLIPSIS, ELLIPSIS), (_FACE, FACE), (_RULE, RULE))


@lru_cache(maxsize=1 << 18)  # the pieces of a corpus share most of their words
def features(word: str) -> int:
    """What a word can do where a sentence ends or begins."""
    first = word[:1]
    if first.isalnum():
        value = NUMBER if first.isdigit() else SMALL if first.islower() else CAPITAL
        value |= _OF_WORD.get(word, 0) | _OF_LOWER.get(word.lower(), 0)
        if word.isalnum():
            return value
        if "://" in word or "@" in word or word.startswith("www."):
            return ADDRESS
        if _DOTTED.fullmatch(word):
            value |= DOTTED
            if len(word) == 2 and first.isupper():  # an initial
                value |= TITLE
        return value
    if word in _MARKS:
        return _MARKS[word]
    return next((value for pattern, value in _PATTERNS if pattern.fullmatch(word)), 0)


@lean
def boundaries(
    kinds: NDArray[np.int32],
    starts: Ids,
    ends: Ids,
    text_ends: Offsets,
    lines: tuple[Offsets, Offsets],
    sentence_ends: Offsets,
) -> int:
    """The item numbers at which sentences end; `kinds` are the features of each item.

    `lines` are the places of the line feeds, text by text, and where each text's stop in that
    list. The ends go to `sentence_ends`, which has room for one at each item; returns how many.
    """
    places, line_ends = lines
    count, first, line = 0, 0, 0
    for text in range(len(text_ends)):
        last = text_ends[text]
        begun = first  # where the open sentence began
        line_start = 0
        i = first
        while i < last:
            # A stop and whatever closes behind it are one end.
            j = closed(kinds, starts, ends, i, last)
            if j == last:
                break
            breaks = 0
            length = 0
            while line < line_ends[text] and places[line] < starts[j]:
                if places[line] >= ends[j - 1]:
                    breaks += 1
                if breaks <= 1:
                    length = places[line] - line_start
                line_start = places[line] + 1
                line += 1
            if breaks > 1 or (breaks == 1 and line_breaks(kinds, begun, j, length)):
                ended = True
            else:
                ended = ends_at(kinds, starts, ends, begun, i, j, last)
            if ended:
                sentence_ends[count] = j
                count += 1
                begun = j
            i = j
        if last > first:
            sentence_ends[count] = last
            count += 1
        line = line_ends[text]
        first = last
    return count


@part
def closed(kinds: NDArray[np.int32], starts: Ids, ends: Ids, i: int, last: int) -> int:
    """The item after i or, where i is a stop, after all that closes behind it."""
    j = i + 1
    if not kinds[i] & (FULL_STOP | STRONG | ELLIPSIS | DOTTED):
        return j
    stops = kinds[i] & (FULL_STOP | STRONG | ELLIPSIS)
    while j < last:
        kind = kinds[j]
        near = starts[j] == ends[j - 1]
        if not (
            kind & (CLOSER | FACE)
            or (near and kind & NEUTRAL)
            or (stops and kind & (FULL_STOP | STRONG | ELLIPSIS))  # . . . and ? ! ?
        ):
            break
        j += 1
    return j


@part
def line_breaks(kinds: NDArray[np.int32], begun: int, j: int, length: int) -> bool:
    """Whether a single line feed before item j ends a sentence.

    Lines of middling length are taken for wrapped text, in which a line feed is
    a space; short lines are headings, verses and items of lists, and longer ones
    paragraphs.
    """
    before, after = kinds[j - 1], kinds[j]
    if after & (BULLET | RULE):
        return True
    if after & SMALL or (before & COMMA and j - begun > 5):
        return False
    return length < 45 or length > 100


@part
def ends_at(
    kinds: NDArray[np.int32], starts: Ids, ends: Ids, begun: int, i: int, j: int, last: int
) -> bool:
    """Whether a sentence ends between item i, closed up to j, and item j."""
    stop, after = kinds[i], kinds[j]
    near = starts[j] == ends[j - 1]
    if (stop | after) & RULE:
        return bool(not near)  # near: **** drawn around a word
    if after & (COMMA | CLOSER):
        return False
    if stop & COMMA:  # Kind regards, Ann Lee
        if i == begun or i > begun + 2 or not kinds[i - 1] & FAREWELL or not after & CAPITAL:
            return False
        return bool(j + 1 == last or kinds[j + 1] & CAPITAL)
    if not stop & (FULL_STOP | STRONG | ELLIPSIS | DOTTED | FACE | ADDRESS):
        return False
    k = j
    while k < last - 1 and kinds[k] & (OPENER | NEUTRAL):
        k += 1
    begins = kinds[k]
    if stop & (FULL_STOP | STRONG):
        if j > i + 1 and stop & kinds[i + 1] & FULL_STOP:  # . . .
            return bool(begins & CAPITAL)
        if stop & FULL_STOP and i > begun and (i == begun + 1 or kinds[i - 2] & COMMA):
            width = ends[i - 1] - starts[i - 1]
            if (kinds[i - 1] & NUMBER and width < 3) or (kinds[i - 1] & CAPITAL and width == 1):
                return False  # the number of an item in a list
        return bool(not begins & SMALL or not (near or kinds[j - 1] & (CLOSER | NEUTRAL)))
    if stop & DOTTED:
        return bool(not stop & TITLE and begins & STARTER)
    return bool(begins & CAPITAL and (stop & ELLIPSIS or not near))
