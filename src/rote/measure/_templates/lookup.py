"""N-grams in a corpus: where they stand among all of it, what they are compared with, and which
measured texts occur in the corpus themselves, so that their templates are found there for sure.

A text is taken to occur there if a document with its id has the same text, or if long runs of
its words, from its beginning, its middle and its end, all occur there: in one document, or in
several, since corpora are often cut at other places than the texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.annotate.layers import derive
from rote.core.array_types import Flags, Integers
from rote.core.layer import Layer, items_of
from rote.core.sample import RawText, Take
from rote.index.grams import Grams
from rote.index.index import Index
from rote.measure._ngram_kernels import ONCE
from rote.measure._templates.windows import Chosen, Windows

Gram = tuple[str, ...]
# N-grams of one segment that are looked up in the others at a time.
_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class Standing:
    """The n-grams of a corpus by their counts.

    `counts` ascend; `above[i]` n-grams have a larger count than `counts[i]`; `kinds` is how many
    different n-grams there are. `last` is the count and the items of the last n-gram that is
    among the most frequent; None where all are.
    """

    index: Index
    layer: str
    counts: Integers
    above: Integers
    kinds: int
    last: tuple[int, Gram] | None

    def of(self, grams: Sequence[Gram]) -> Integers:
        """How often each n-gram occurs in the corpus."""
        return self.index.counts(Grams.of(grams), self.layer)

    def ranks(self, counts: Integers) -> Integers:
        """1 + how many n-grams are more frequent; one that is absent comes after all present."""
        at = np.searchsorted(self.counts, counts)
        return 1 + np.where(counts > 0, np.append(self.above, 0)[at], self.kinds)

    def among(self, grams: Sequence[Gram], counts: Integers) -> Flags:
        """Whether each is among the most frequent; ties at the cut go by the order of items."""
        least, last = self.last or (0, ())
        tied = np.array([gram <= last for gram in grams], np.bool_)
        found: Flags = (counts > least) | ((counts == least) & tied)
        return found


def standing(index: Index, layer: str, n: int, most_frequent: int) -> Standing:
    """Count the n-grams of a corpus."""
    tallied = count_of_counts(index, layer, n)
    counts = np.array(sorted(tallied), np.int64)
    kinds = np.array([tallied[count] for count in counts.tolist()], np.int64)
    total = int(kinds.sum())
    last = None
    if total > most_frequent:
        foremost = index.top(n, most_frequent, layer)
        last = int(foremost.counts[-1]), foremost.grams[len(foremost) - 1]
    return Standing(index, layer, counts, total - np.cumsum(kinds), total, last)


def count_of_counts(index: Index, layer: str, n: int) -> Counter[int]:
    """How many different n-grams have which count.

    An n-gram that several segments hold is counted in the first of them, with what the later
    ones add, so that no list of all n-grams of all segments is ever needed.
    """
    found: Counter[int] = Counter()
    segments = [Index([segment]) for segment in index.segments]
    for number, segment in enumerate(segments):
        own = segment.top(n, None, layer)
        rows = own.grams.ids.reshape(-1, n)
        for start in range(0, len(own), _AT_ONCE):
            totals = own.counts[start : start + _AT_ONCE].copy()
            grams = _grams(rows[start : start + _AT_ONCE], own.grams.vocabulary)
            for earlier in segments[:number]:
                new = earlier.counts(grams, layer) == 0
                totals = totals[new]
                grams = _grams(grams.ids.reshape(-1, n)[new], grams.vocabulary)
            for later in segments[number + 1 :]:
                totals += later.counts(grams, layer)
            values, kinds = np.unique(totals, return_counts=True)
            found.update(dict(zip(values.tolist(), kinds.tolist())))
    return found


def _grams(rows: NDArray[np.int32], vocabulary: Sequence[str]) -> Grams:
    """N-grams of equal length, one a row."""
    ends = np.arange(1, len(rows) + 1, dtype=np.int64) * rows.shape[1]
    return Grams(rows.reshape(-1), ends, vocabulary)


# So many places are drawn for each n-gram that is wanted before all places are gone through.
_TRIES = 50


def draw_others(
    windows: Windows,
    layer: Layer,
    take: Take,
    templates: Chosen,
    rng: np.random.Generator,
    *,
    numbered: bool = False,
) -> Integers:
    """As many n-grams as there are templates, each by a place at which it stands.

    Places are drawn at random, so a frequent n-gram comes more easily; one that is a template
    or was drawn before does not count. There are fewer where the texts hold no more. `numbered`:
    every n-gram has a number, so that a place without one begins none.
    """
    lengths = np.maximum(layer.text_ends[take] - layer.text_starts[take] - windows.n + 1, 0)
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    used = set(templates.tolist())
    found: list[int] = []
    if not total or not len(templates):
        return np.empty(0, np.int64)
    for drawn in _rounds(total, _TRIES * len(templates), rng):
        rank = np.searchsorted(ends, drawn, side="right")
        places = layer.text_starts[take][rank] + drawn - (ends - lengths)[rank]
        if numbered:
            places = places[windows.numbers[places] != ONCE]
        numbers = windows.numbers[places]
        # What stands once has no number; its place names it as well.
        names = np.where(numbers == ONCE, -2 - places, numbers)
        for place, name in zip(places.tolist(), names.tolist()):
            if len(found) == len(templates):
                return np.array(found, np.int64)
            if name not in used:
                used.add(name)
                found.append(place)
    return np.array(found, np.int64)


def _rounds(total: int, tries: int, rng: np.random.Generator) -> Iterator[Integers]:
    """Windows in random order: first some, drawn with replacement, then every one once.

    What was drawn before counts no more, so the chances of what comes next are the same in
    both; and the second, which takes longer, is seldom needed.
    """
    yield rng.integers(0, total, tries)
    yield rng.permutation(total)


WORDS = "lower"
RUN = 13
"""Words of a run: so many hardly ever agree by chance."""
SHORTEST = 8
"""A text of fewer than RUN words is one run; with fewer than this, agreement says little."""
_RUNS = 3


def can_look_up(index: Index) -> bool:
    """Whether runs of words can be looked up, or ids alone."""
    return WORDS in index.sorted_layers


def texts_in_corpus(index: Index, word: Layer, raw: RawText, ids: Sequence[str]) -> dict[int, str]:
    """The numbers of the texts that occur in the corpus, and how that was seen."""
    found = _by_words(index, derive(word, WORDS)) if can_look_up(index) else {}
    for text, identity in enumerate(ids):
        if _same_document(index, identity, raw.text(text)):
            found[text] = "a document of the same id has the same text"
    return dict(sorted(found.items()))


def _same_document(index: Index, identity: str, text: bytes) -> bool:
    if not text:
        return False
    for segment in index.segments:
        number = segment.documents.find(identity)
        if number is not None:
            held = segment.documents.text(number)
            if held.encode("utf-8", "surrogatepass") == text:
                return True
    return False


def _by_words(index: Index, lower: Layer) -> dict[int, str]:
    """All runs of all texts are counted at once; documents are asked for where all are there."""
    runs, texts = _runs(lower)
    counts = index.counts(runs, WORDS)
    missing = np.unique(texts[counts == 0])
    found = {}
    for text in np.setdiff1d(texts, missing).tolist():
        mine = np.arange(*np.searchsorted(texts, [text, text + 1]))
        # The rarest run first: it leaves the fewest documents.
        documents: set[str] | None = None
        for run in mine[np.argsort(counts[mine], kind="stable")].tolist():
            holders = index.documents(runs[run], WORDS)
            documents = set(holders) if documents is None else documents & set(holders)
            if not documents:
                break
        found[text] = _why(len(mine), documents or set())
    return found


def _why(runs: int, documents: set[str]) -> str:
    if not documents:
        where = "the corpus, though in no one document"
    else:
        where = f"the document '{min(documents)}'"
        if len(documents) > 1:
            where += f" (and in {len(documents) - 1:,} more)"
    if runs == 1:
        return f"all its words stand together in {where}"
    return f"runs of {RUN} words from its beginning, middle and end all occur in {where}"


def _runs(lower: Layer) -> tuple[Grams, Integers]:
    """The runs of each text, and whose they are; texts of too few words have none."""
    starts, lengths = lower.text_starts, lower.text_ends - lower.text_starts
    texts = np.flatnonzero(lengths >= SHORTEST)
    sizes = np.minimum(lengths[texts], RUN)
    room = lengths[texts] - sizes
    begins = starts[texts][:, None] + room[:, None] * np.arange(_RUNS) // (_RUNS - 1)
    # In a text of one run, or of little more, some are the same.
    new = np.ones(begins.shape, np.bool_)
    new[:, 1:] = begins[:, 1:] > begins[:, :-1]
    each = np.broadcast_to(sizes[:, None], begins.shape)[new]
    items, ends = items_of(begins[new], begins[new] + each)
    owners = np.broadcast_to(texts[:, None], begins.shape)[new]
    return Grams(lower.ids[items], ends, lower.vocabulary), owners
