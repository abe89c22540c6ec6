"""Templates by their word strings: how the paper's tables, and the package, look for them.

A template is no longer a row of tags here but the strings of words that stand at its
occurrences, joined by single spaces; a text holds it if one of these strings is a substring of
the raw text. So a span beside punctuation or inside a contraction is never found again, not even
where it comes from, and "he is a" is found in "she is a".

The paper leaves three things open. Of what was tried on the runs of its table 12, these come
nearest: n-grams cross sentence ends, of equally frequent n-grams those seen first are taken, and
a text's length is that of its sentences in the tokens of NLTK's `word_tokenize` (a full stop is a
token at the end of every sentence; the mean lengths that the table prints are these within 0.2).
Strings and texts are compared in plain glyphs.

The package, `diversity` 0.3.1, on the tags and sentences of the layer at hand. `extract_patterns`:
the most frequent n-grams within sentences, equal ones as first seen, without a minimum count, and
their word strings. `template_rate`: share of texts that hold one of the strings.
`templates_per_token`: at each place of a text, how many shards of 500 strings have one that begins
there, so two strings of one shard at one place count once; by the text's white-space words; here
its mean over texts. The package shards a Python set, whose order changes from run to run; here
strings are sharded as they are first seen. Sentences end with their text, while the package joins
all texts and may let one run on into the next.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rote.annotate import words
from rote.annotate.glyphs import fold
from rote.core.array_types import Integers
from rote.core.errors import OptionError
from rote.core.layer import Layer, items_of, starts_of
from rote.core.metric import Values
from rote.core.sample import RawText, Take
from rote.measure._templates.windows import Chosen, Windows, sentence_ends, windows

# What `word_tokenize` cuts off beyond the treebank's own conventions.
_LAST_STOP = re.compile(r"""(?<=[^.])\.(?=[\])}>"'»\s]*\Z)""")
_STOPS = re.compile(r"\.{2,}")
_MARKS = re.compile(r"[«»*]|`+|(?<!\w)'(?!(?:re|ve|ll|m|t|s|d|n)\b)(?=\w)", re.IGNORECASE)
_STEP = 0xD6E8FEB86659FD93
"""Odd, without structure, for hashes that wrap at 64 bits; and what undoes it."""
_STEPS = (_STEP, pow(_STEP, -1, 2**64))
_BYTES_AT_ONCE, _BITS = 1 << 20, 22
_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")
SHARD = 500


@dataclass(frozen=True, slots=True)
class TemplateStrings:
    """The strings of some templates, numbered as they are first seen.

    `pairs[i]` = (string, template): that string stands at an occurrence of that template, which
    is a number below `templates`. Sorted by string.
    """

    strings: Sequence[bytes]
    pairs: Integers
    templates: int

    def held(self, matches: Matches) -> int:
        """How many (text, template) pairs there are: any of its strings is a template's."""
        texts, strings = _different(matches.texts, matches.strings, len(self.strings))
        first = np.searchsorted(self.pairs[:, 0], np.arange(len(self.strings) + 1))
        rows, _ = items_of(first[strings], first[strings + 1])
        texts = np.repeat(texts, first[strings + 1] - first[strings])
        return len(_different(texts, self.pairs[rows, 1], self.templates)[0])


@dataclass(frozen=True, slots=True)
class Matches:
    """String `strings[i]` stands at byte `starts[i]` of text `texts[i]`."""

    texts: Integers
    starts: Integers
    strings: Integers


def paper_values(
    windows: Windows,
    word: Layer,
    raw: RawText,
    take: Take,
    chosen: Chosen,
    lengths: Integers,
    *,
    origin: Take | None = None,
) -> Values:
    """Share of texts with a template, (template, string) pairs per token, templates in a text.

    `lengths`: those of all texts in Treebank tokens, as `treebank_lengths` gives them. `origin`:
    the texts that the strings come from, if not these.
    """
    given = strings_of(windows, word, take if origin is None else origin, chosen)
    matches = find(given.strings, raw, take)
    held = _different(matches.texts, matches.strings, len(given.strings))
    weights = np.bincount(given.pairs[:, 0], minlength=len(given.strings))
    tokens, texts = int(lengths[take].sum()), len(take)
    return {
        "rate": len(np.unique(held[0])) / texts if texts else np.nan,
        "per_token": int(weights[held[1]].sum()) / tokens if tokens else np.nan,
        "distinct": given.held(matches) / texts if texts else np.nan,
    }


def package_windows(layer: Layer, n: int) -> Windows:
    """The layer's n-grams within sentences; their listings go by sentence, not by text."""
    return windows(replace(layer, text_ends=sentence_ends(layer)), n, singles=True)


def package_values(
    windows: Windows,
    word: Layer,
    raw: RawText,
    take: Take,
    chosen: Chosen,
    lengths: Integers,
    *,
    shard: int = SHARD,
) -> Values:
    """Share of texts with a template, mean hits per white-space word, templates in a text.

    `windows` and `chosen`: as `package_windows` and `first_seen` give them. `lengths`: those of
    all texts in white-space words. A text without words has 0 hits.
    """
    texts = len(take)
    if not texts:
        return {"rate": np.nan, "per_token": np.nan, "distinct": np.nan}
    given = strings_of(windows, word, take, chosen)
    matches = find(given.strings, raw, take)
    hits = np.stack((matches.texts, matches.starts, matches.strings // shard), axis=1)
    counts = np.bincount(np.unique(hits, axis=0)[:, 0], minlength=texts)
    return {
        "rate": len(np.unique(matches.texts)) / texts,
        "per_token": float(np.mean(counts / np.maximum(lengths[take], 1))),
        "distinct": given.held(matches) / texts,
    }


def strings_of(windows: Windows, word: Layer, take: Take, chosen: Chosen) -> TemplateStrings:
    """The words at every occurrence of the templates in these texts.

    `windows` may be those of texts or of sentences, with all n-grams numbered.
    """
    if len(windows.numbers) != len(word.ids):
        raise OptionError(
            "the variants paper and package look for the words of a template, and this layer's "
            "items are not words: take a layer such as pos, or --variant exact"
        )
    places, templates = windows.places(word, take, chosen)
    encoded = [fold(entry).encode("utf-8", "surrogatepass") for entry in word.vocabulary]
    rows = word.ids[places[:, None] + np.arange(windows.n)].tolist()
    known: dict[bytes, int] = {}
    spelled = (b" ".join([encoded[i] for i in row]) for row in rows)
    numbers = np.array([known.setdefault(s, len(known)) for s in spelled], np.int64)
    pairs = np.stack(_different(numbers, templates, len(chosen)), axis=1)
    return TemplateStrings(list(known), pairs, len(chosen))


def find(strings: Sequence[bytes], raw: RawText, take: Take) -> Matches:
    """Every place at which one of the strings stands; texts by their rank in `take`.

    Each string is held by its core, from its first space to its last, so that only the spaces of
    the texts have to be looked at: a core that is known says how far before and behind it strings
    reach, and each such stretch is looked up whole. Bytes are compared before a match counts. A
    string without a space has an empty core, which stands everywhere. No string is empty.
    """
    starts, ends = starts_of(raw.ends)[take], raw.ends[take]
    parts = np.flatnonzero(np.diff(np.cumsum(ends - starts) // _BYTES_AT_ONCE, prepend=-1))
    found = [np.empty((0, 3), np.int64)]
    if len(strings):
        looking = _Cores(strings)
        for first, last in pairwise([*parts.tolist(), len(take)]):
            bounds = zip(starts[first:last].tolist(), ends[first:last].tolist())
            data = np.concatenate([raw.data[a:b] for a, b in bounds])
            rows = looking.standing(data, np.cumsum((ends - starts)[first:last]))
            rows[:, 0] += first
            found.append(rows)
    columns = np.concatenate(found).T
    return Matches(*(np.ascontiguousarray(column) for column in columns))


class _Cores:
    """Strings by their hashes, and what stands around each core."""

    def __init__(self, strings: Sequence[bytes]) -> None:
        self.strings = strings
        sizes = np.array([len(string) for string in strings])
        low = np.array([max(string.find(b" "), 0) for string in strings])
        high = np.array([string.rfind(b" ") + 1 for string in strings])
        self.spaces = np.array([string.count(b" ") for string in strings])
        ends = np.cumsum(sizes)
        hashes = _Hashes(np.frombuffer(b"".join(strings), np.uint8))
        whole = hashes.of(ends - sizes, ends)
        self.order = np.argsort(whole, kind="stable")
        self.whole = whole[self.order]
        cores = hashes.of(ends - sizes + low, ends - sizes + high)
        # Two cores of one hash would share their shapes: more is looked up, nothing is missed.
        around = (column.astype(np.uint64) for column in (low, sizes - high))
        shapes = np.unique(np.stack((cores, *around), axis=1), axis=0)
        self.cores, self.before, self.behind = shapes[:, 0], *shapes[:, 1:].astype(np.int64).T
        self.may_be = np.zeros((2, 1 << _BITS), np.bool_)
        for kind, known in enumerate((cores, whole)):
            self.may_be[kind, known >> np.uint64(64 - _BITS)] = True

    def standing(self, data: NDArray[np.uint8], ends: Integers) -> Integers:
        """Text, start in it and string of each match in a block of texts."""
        hashes, gaps, starts = _Hashes(data), np.flatnonzero(data == ord(" ")), starts_of(ends)
        found = [np.empty((0, 3), np.int64)]
        for spaces in np.unique(self.spaces).tolist():
            low = gaps[: max(0, len(gaps) - spaces + 1)] if spaces else np.arange(len(data) + 1)
            high = gaps[spaces - 1 :] + 1 if spaces else low
            core = hashes.of(low, high)
            # Most are not known: that is seen in one look.
            maybe = self.may_be[0, core >> np.uint64(64 - _BITS)]
            low, high, core = low[maybe], high[maybe], core[maybe]
            first, last = (np.searchsorted(self.cores, core, side=side) for side in _SIDES)
            shapes, _ = items_of(first, last)
            begin = np.repeat(low, last - first) - self.before[shapes]
            end = np.repeat(high, last - first) + self.behind[shapes]
            inside = (begin >= 0) & (end <= len(data)) & (begin < end)
            begin, end = begin[inside], end[inside]
            hashed = hashes.of(begin, end)
            maybe = self.may_be[1, hashed >> np.uint64(64 - _BITS)]
            begin, end, hashed = begin[maybe], end[maybe], hashed[maybe]
            text = np.searchsorted(ends, begin, side="right")
            place = np.minimum(np.searchsorted(self.whole, hashed), len(self.whole) - 1)
            string = self.order[place]
            known = (self.whole[place] == hashed) & (end <= ends[text])
            # What has more spaces than its core stands around another one too.
            known &= self.spaces[string] == spaces
            rows = np.stack((text, begin, string), axis=1)[known]
            same = [
                data[a : a + len(self.strings[s])].tobytes() == self.strings[s]
                for a, s in rows[:, 1:].tolist()
            ]
            rows[:, 1] -= starts[rows[:, 0]]
            found.append(rows[np.array(same, np.bool_)])
        return np.concatenate(found)


@lru_cache(maxsize=4)
def _powers(base: int, most: int) -> NDArray[np.uint64]:
    found = np.full(most + 1, base, np.uint64)
    found[0] = 1
    return np.cumprod(found, out=found)


class _Hashes:
    """Hashes of any stretches of some bytes, from running sums."""

    def __init__(self, data: NDArray[np.uint8]) -> None:
        powers, self.back = (_powers(step, 1 << len(data).bit_length()) for step in _STEPS)
        self.sums = np.zeros(len(data) + 1, np.uint64)
        np.cumsum((data + np.uint64(1)) * powers[: len(data)], out=self.sums[1:])

    def of(self, starts: Integers, ends: Integers) -> NDArray[np.uint64]:
        return np.asarray((self.sums[ends] - self.sums[starts]) * self.back[starts], np.uint64)


def first_seen(windows: Windows, layer: Layer, take: Take, top: int) -> Chosen:
    """The `top` most frequent n-grams of these texts; of equal ones, those that are seen first."""
    counts, _ = windows.tally(layer, take)
    there = np.flatnonzero(counts)
    if len(there) > top:
        last = np.partition(counts[there], len(there) - top)[len(there) - top]
        there = there[counts[there] >= last]
    places, which = windows.places(layer, take, there)
    first = places[np.unique(which, return_index=True)[1]]
    return there[np.lexsort((first, -counts[there]))][:top]


def treebank_lengths(word: Layer, raw: RawText) -> Integers:
    """Tokens of each text as NLTK counts them, sentence by sentence (without ends: as one)."""
    ends = np.unique(word.text_ends) if word.sentence_ends is None else word.sentence_ends
    cuts = np.searchsorted(ends, word.text_ends, side="right")
    sentences, owners, first = [], [], 0
    for text, last in enumerate(cuts.tolist()):
        letters = raw.string(text)
        # A sentence reaches to the end of its last word, the last one of a text to the text's.
        inner = word.ends[ends[first : last - 1] - 1].tolist() if last - first > 1 else []
        bounds = [0, *inner, len(letters)]
        sentences += [letters[a:b] for a, b in pairwise(bounds)]
        owners += [text] * (len(bounds) - 1)
        first = last
    tokens = words.get("treebank")([_marks_apart(fold(sentence)) for sentence in sentences])
    counts = tokens.text_ends - tokens.text_starts
    lengths = np.zeros(len(word), np.int64)
    np.add.at(lengths, owners, counts)
    return lengths


def _marks_apart(sentence: str) -> str:
    spaced = _STOPS.sub(" ... ", _LAST_STOP.sub(" . ", sentence))
    return _MARKS.sub(r" \g<0> ", spaced)


def _different(first: Integers, second: Integers, kinds: int) -> tuple[Integers, Integers]:
    """The different pairs of two columns, sorted; the second's numbers lie below `kinds`."""
    keys = np.unique(first * max(kinds, 1) + second)
    return keys // max(kinds, 1), keys % max(kinds, 1)
