"""How much of its reference a text shares, in words: ROUGE-1, 2, L and Lsum (Lin 2004).

Values are those of the package rouge-score 0.1.2, digit by digit: its words (lower case, a-z and
0-9), its clipped counts of n-grams, and for Lsum its union of longest common subsequences over
lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.array_types import Floats, Integers
from rote.core.errors import MissingExtra
from rote.core.layer import Ids, Layer, Offsets
from rote.core.metric import Progress, Value, Work
from rote.core.sample import SEVERAL, Need, RawText, Sample, Take
from rote.measure._means import said_of
from rote.measure._score.options import Options
from rote.run import side_by_side

TITLES = {
    "rouge_1": "ROUGE-1",
    "rouge_2": "ROUGE-2",
    "rouge_l": "ROUGE-L",
    "rouge_lsum": "ROUGE-Lsum",
}
_STEMMED = 4
"""The fewest letters of a word that is stemmed."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The scores of every text, and how many words it and its field have."""

    scores: Mapping[str, Floats]
    lengths: Integers
    other_lengths: Integers


def values(options: Options) -> tuple[Value, ...]:
    kind = {"f": "F"}.get(options.rouge, options.rouge)
    return tuple(
        Value(name, f"{title} {kind}", "neither", "length", share=True)
        for name, title in TITLES.items()
    )


def needs(options: Options) -> tuple[Need, ...]:
    return (
        Need("word", "rouge", spans=True),
        Need("word", "rouge", spans=True, field=options.reference_field, several=True),
        Need("text"),
        Need("text", field=options.reference_field, several=True),
    )


def check(options: Options) -> None:
    if options.stemming:
        _stem()


def rows(sample: Sample, options: Options, work: Work) -> Rows:
    own, other, *_ = needs(options)
    text, field = sample.layer(own), sample.layer(other)
    if options.stemming:
        text, field = _stemmed(text), _stemmed(field)
    found = rouge(
        Side(text, sample.text()),
        Side(field, sample.text(options.reference_field)),
        threads=work.jobs,
        progress=work.progress,
    )
    return Rows(
        scores={name: getattr(found[name], options.rouge) for name in TITLES},
        lengths=text.text_ends - text.text_starts,
        other_lengths=field.text_ends - field.text_starts,
    )


def notes(rows: Rows, take: Take, options: Options) -> list[str]:
    found: list[str] = []
    for what, lengths in (
        ("texts", rows.lengths),
        (f"fields '{options.reference_field}'", rows.other_lengths),
    ):
        found += said_of(lengths[take] == 0, f"{what} without words (a-z, 0-9)", "scored 0: ")
    return found


def _stemmed(layer: Layer) -> Layer:
    """Every word of the vocabulary is stemmed once, however often it occurs in the texts."""
    stem = _stem()
    return layer.map("stem", lambda word: stem(word) if len(word) >= _STEMMED else word)


def _stem() -> Any:
    try:
        from nltk.stem.porter import PorterStemmer
    except ImportError:
        raise MissingExtra("nltk", "stemming", "ROUGE with stemming") from None
    return PorterStemmer().stem


PAIRS_AT_A_TIME = 2_000


@dataclass(frozen=True, slots=True)
class Score:
    """One number per text for each of the three; 0 where one of the two has no words."""

    precision: Floats
    recall: Floats
    f: Floats


@dataclass(frozen=True, slots=True)
class Side:
    """The words of one side of the comparison (with their places), and what they occur in."""

    words: Layer
    raw: RawText


def side_of(texts: Sequence[str]) -> Side:
    """One side, from texts that are in memory."""
    from rote.annotate import words

    return Side(words.get("rouge")(texts), RawText.of(texts))


@dataclass(frozen=True, slots=True)
class Pairs:
    """Every text with each of its references, their words in one column of ids.

    Texts are the runs `starts[t]:ends[t]`. Pair p is text `owner[p]` and the reference at
    `other_starts[p]:other_ends[p]`. `begins` marks the words that begin a line.
    """

    ids: Ids
    kinds: int
    begins: NDArray[np.uint8]
    starts: Offsets
    ends: Offsets
    owner: Integers
    other_starts: Offsets
    other_ends: Offsets

    def __len__(self) -> int:
        return len(self.owner)

    def places(self, part: slice) -> tuple[Offsets, Offsets, Offsets, Offsets]:
        """Of some pairs: starts and ends of the text, starts and ends of the reference."""
        owner = self.owner[part]
        return self.starts[owner], self.ends[owner], self.other_starts[part], self.other_ends[part]


def rouge(texts: Side, references: Side, *, threads: int, progress: Progress) -> dict[str, Score]:
    """ROUGE-1, 2, L and Lsum of every text, each against the reference with the highest F."""
    pairs = paired(texts, references)
    starts, ends, other_starts, other_ends = pairs.places(slice(None))
    size, other_size = ends - starts, other_ends - other_starts
    found = {}
    for n, shared in _shared_ngrams(pairs, threads):
        found[f"rouge_{n}"] = _best(shared, size - n + 1, other_size - n + 1, pairs)
        progress(0.1 * n)
    common = _common(pairs, threads, lambda share: progress(0.2 + 0.8 * share))
    found["rouge_l"] = _best(common[:, 0], size, other_size, pairs)
    found["rouge_lsum"] = _best(common[:, 1], size, other_size, pairs)
    progress(1.0)
    return found


def paired(texts: Side, references: Side) -> Pairs:
    """A reference without words is left out: it could not score more than 0."""
    from rote.measure._rouge_kernels import NEW_TEXT

    own, other = texts.words, references.words
    numbers: dict[str, int] = {}
    ids = []
    for side in (own, other):
        table = [numbers.setdefault(word, len(numbers)) for word in side.vocabulary]
        ids.append(np.array(table, np.int32)[side.ids])
    begins = _begins(texts), _begins(references)
    starts = np.flatnonzero(begins[1] == NEW_TEXT)
    base = len(own.ids)
    return Pairs(
        ids=np.concatenate(ids),
        kinds=len(numbers),
        begins=np.concatenate(begins),
        starts=own.text_starts,
        ends=own.text_ends,
        owner=np.searchsorted(other.text_ends, starts, side="right"),
        other_starts=base + starts,
        other_ends=base + np.append(starts[1:], len(other.ids))[: len(starts)],
    )


def _begins(side: Side) -> NDArray[np.uint8]:
    from rote.measure._rouge_kernels import breaks

    words, raw = side.words, side.raw
    return np.asarray(
        breaks(raw.data, raw.ends, words.starts, words.text_ends, ord("\n"), ord(SEVERAL))
    )


def _shared_ngrams(pairs: Pairs, threads: int) -> Iterator[tuple[int, Integers]]:
    """For n = 1 and 2: how many n-grams the two texts of each pair share."""
    from rote.measure._ngram_kernels import number_ngrams
    from rote.measure._rouge_kernels import shared_ngrams

    starts = np.concatenate((pairs.starts, pairs.other_starts))
    ends = np.concatenate((pairs.ends, pairs.other_ends))
    for n, numbers, kinds, _ in number_ngrams(pairs.ids, starts, ends, pairs.kinds, 2):

        def count(part: slice, n: int = n, numbers: Ids = numbers, kinds: int = kinds) -> Integers:
            return np.asarray(shared_ngrams(numbers, kinds, *pairs.places(part), n))

        shared = np.empty(len(pairs), np.int64)
        for part, some in _blocks(count, len(pairs), threads):
            shared[part] = some
        yield n, shared


def _common(pairs: Pairs, threads: int, progress: Progress) -> Integers:
    """Of each pair the longest common subsequence, and the union over lines: their lengths."""
    from rote.measure._rouge_kernels import common_subsequences

    def count(part: slice) -> Integers:
        places = pairs.places(part)
        return np.asarray(common_subsequences(pairs.ids, pairs.kinds, pairs.begins, *places))

    found = np.empty((len(pairs), 2), np.int64)
    for part, some in _blocks(count, len(pairs), threads):
        found[part] = some
        progress(part.stop / len(pairs))
    return found


def _blocks(
    count: Callable[[slice], Integers], pairs: int, threads: int
) -> Iterator[tuple[slice, Integers]]:
    """The pairs in blocks, in order, whatever the number of threads."""
    parts = [
        slice(first, min(first + PAIRS_AT_A_TIME, pairs))
        for first in range(0, pairs, PAIRS_AT_A_TIME)
    ]
    yield from zip(parts, side_by_side(count, parts, threads))


def _best(shared: Integers, size: Integers, other_size: Integers, pairs: Pairs) -> Score:
    """Of each text the scores with the reference that gives the highest F; the first of equals.

    `size` is how many items the text has of what is shared, `other_size` the reference.
    """
    precision = shared / np.maximum(size, 1)
    recall = shared / np.maximum(other_size, 1)
    both = precision + recall
    f = 2 * precision * recall / np.where(both > 0, both, 1)
    texts = len(pairs.starts)
    chosen = np.lexsort((-f, pairs.owner))
    owners, first = np.unique(pairs.owner[chosen], return_index=True)
    best = chosen[first]
    found = Score(np.zeros(texts), np.zeros(texts), np.zeros(texts))
    found.precision[owners] = precision[best]
    found.recall[owners] = recall[best]
    found.f[owners] = f[best]
    return found


def method(s: Mapping[str, str]) -> str:
    stems = "" if s["stemming"] == "False" else " on Porter stems"
    kind = {"f": "F"}.get(s["rouge"], s["rouge"])
    return (
        f"ROUGE-1, -2, -L and -Lsum ({kind}){stems} are those of each text against the field "
        f"{s['reference_field']}"
    )


CITATION = "Lin (2004), ROUGE: A Package for Automatic Evaluation of Summaries"
