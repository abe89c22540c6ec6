"""Templates by their word strings: how the paper's tables, and the package, look for them.

A template is no longer a row of tags here but the strings of words that stand at its
occurrences, joined by single spaces; a text holds it if one of these strings is a substring of
the raw text. So a span beside punctuation or inside a contraction is never found again, not even
where it comes from, and "he is a" is found in "she is a".

The paper leaves three things open. Of what was tried on the runs of its table 12, these come
nearest: n-grams cross sentence ends, of equally frequent n-grams those seen first are taken, and
a text's length is that of its sentences in the tokens of NLTK's `word_tokenize` (a full stop is a
token at the end of every sentence, curly quotes and dashes are tokens wherever they stand; the mean
lengths that the table prints are these within 0.2).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rote.annotate import words
from rote.core.errors import OptionError
from rote.core.kernels import njit
from rote.core.layer import Layer, items_of, starts_of
from rote.core.metric import Values
from rote.core.sample import RawText, Take
from rote.measure._ngram_kernels import ONCE
from rote.measure._spelling import spelled_lengths, spelled_texts
from rote.measure._templates.substrings import Matches, Strings, distinct, find
from rote.measure._templates.windows import Array, Chosen, Windows

# What `word_tokenize` cuts off beyond the treebank's own conventions.
_LAST_STOP = re.compile(r"""(?<=[^.])\.(?=[\])}>"'»”’\s]*\Z)""")
_STOPS = re.compile(r"\.{2,}")
_MARKS = re.compile(
    r"[«“‘„»”’*\u2012-\u2015]|`+|(?<!\w)'(?!(?:re|ve|ll|m|t|s|d|n)\b)(?=\w)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class TemplateStrings:
    """The strings of some templates, numbered as they are first seen.

    `pairs[i]` = (string, template): that string stands at an occurrence of that template, which
    is a number below `templates`. Sorted by string.
    """

    strings: Strings
    pairs: NDArray[np.int64]
    templates: int

    def __len__(self) -> int:
        return len(self.strings.starts)


def paper_values(
    windows: Windows,
    word: Layer,
    raw: RawText,
    take: Take,
    chosen: Chosen,
    lengths: NDArray[np.int64],
    *,
    origin: Take | None = None,
) -> Values:
    """Share of texts with a template, (template, string) pairs per token, templates in a text.

    `lengths`: those of all texts in Treebank tokens, as `treebank_lengths` gives them. `origin`:
    the texts that the strings come from, if not these.
    """
    given = strings_of(windows, word, take if origin is None else origin, chosen)
    matches = matches_of(given, raw, take)
    held = _different(matches.texts, matches.strings, len(given))
    weights = np.bincount(given.pairs[:, 0], minlength=len(given))
    tokens, texts = int(lengths[take].sum()), len(take)
    return {
        "rate": len(np.unique(held[0])) / texts if texts else np.nan,
        "per_token": int(weights[held[1]].sum()) / tokens if tokens else np.nan,
        "distinct": templates_held(given, matches) / texts if texts else np.nan,
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
    ranks = np.full(len(windows.counts), ONCE, np.int64)
    ranks[chosen] = np.arange(len(chosen))
    places, templates = _places(windows.numbers, word.text_starts, word.text_ends, take, ranks)
    data, starts, ends = _spelled(word, places, windows.n)
    strings, numbers = distinct(data, starts, ends)
    pairs = np.stack(_different(numbers, templates, len(chosen)), axis=1)
    return TemplateStrings(strings, pairs, len(chosen))


def matches_of(given: TemplateStrings, raw: RawText, take: Take) -> Matches:
    """Every place at which one of the strings stands; texts by their rank in `take`."""
    return find(given.strings, raw.data, starts_of(raw.ends)[take], raw.ends[take])


def templates_held(given: TemplateStrings, matches: Matches) -> int:
    """How many (text, template) pairs there are: a text holds a template by any of its strings."""
    texts, strings = _different(matches.texts, matches.strings, len(given))
    first = np.searchsorted(given.pairs[:, 0], np.arange(len(given) + 1))
    rows, _ = items_of(first[strings], first[strings + 1])
    texts = np.repeat(texts, first[strings + 1] - first[strings])
    held = _different(texts, given.pairs[rows, 1], given.templates)
    return len(held[0])


def first_seen(windows: Windows, layer: Layer, take: Take, top: int) -> Chosen:
    """The `top` most frequent n-grams of these texts; of equal ones, those that are seen first."""
    starts, ends = layer.text_starts, layer.text_ends
    counts, first = _counted(windows.numbers, starts, ends, take, len(windows.counts))
    there = np.flatnonzero(counts)
    if len(there) > top:
        last = np.partition(counts[there], len(there) - top)[len(there) - top]
        there = there[counts[there] >= last]
    return there[np.lexsort((first[there], -counts[there]))][:top]


def treebank_lengths(word: Layer, raw: RawText) -> NDArray[np.int64]:
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
    tokens = words.get("treebank")([_marks_apart(sentence) for sentence in sentences])
    counts = tokens.text_ends - tokens.text_starts
    lengths = np.zeros(len(word), np.int64)
    np.add.at(lengths, owners, counts)
    return lengths


def _marks_apart(sentence: str) -> str:
    spaced = _STOPS.sub(" ... ", _LAST_STOP.sub(" . ", sentence))
    return _MARKS.sub(r" \g<0> ", spaced)


def _spelled(word: Layer, places: Array, n: int) -> tuple[Array, Array, Array]:
    """The words of the windows that begin at `places`, joined by spaces, as bytes."""
    encoded = [entry.encode("utf-8", "surrogatepass") for entry in word.vocabulary]
    letters = np.frombuffer(bytearray(b"".join(encoded)), np.uint8)
    word_ends = np.cumsum([len(entry) for entry in encoded], dtype=np.int64)
    lengths = spelled_lengths(word.ids, places, places + n, word_ends)
    ends = np.cumsum(lengths + 1)
    everything = np.arange(len(places))
    size = int(ends[-1]) if len(ends) else 0
    data = spelled_texts(
        word.ids, places, places + n, letters, word_ends, everything, size, ord("\n")
    )
    return data, ends - 1 - lengths, ends - 1


def _different(first: Array, second: Array, kinds: int) -> tuple[Array, Array]:
    """The different pairs of two columns, sorted; the second's numbers lie below `kinds`."""
    keys = np.unique(first * max(kinds, 1) + second)
    return keys // max(kinds, 1), keys % max(kinds, 1)


@njit(cache=True, nogil=True)
def _places(
    numbers: Array, starts: Array, ends: Array, take: Array, ranks: Array
) -> tuple[Array, Array]:
    """Where windows of the chosen n-grams begin in these texts, and which one each is."""
    total = 0
    for text in take:
        for place in range(starts[text], ends[text]):
            total += numbers[place] != ONCE and ranks[numbers[place]] != ONCE
    places = np.empty(total, np.int64)
    found = np.empty(total, np.int64)
    filled = 0
    for text in take:
        for place in range(starts[text], ends[text]):
            if numbers[place] != ONCE and ranks[numbers[place]] != ONCE:
                places[filled] = place
                found[filled] = ranks[numbers[place]]
                filled += 1
    return places, found


@njit(cache=True, nogil=True)
def _counted(
    numbers: Array, starts: Array, ends: Array, take: Array, kinds: int
) -> tuple[Array, Array]:
    """How often each n-gram stands in these texts, and where first."""
    counts = np.zeros(kinds, np.int64)
    first = np.full(kinds, -1, np.int64)
    for text in take:
        for place in range(starts[text], ends[text]):
            number = numbers[place]
            if number != ONCE:
                if counts[number] == 0:
                    first[number] = place
                counts[number] += 1
    return counts, first
