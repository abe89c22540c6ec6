"""Unit vectors of what is said: one for every sentence, or every text; how spread out they are, and
how far each is from the nearest other one of its group.

What is not measured (unfinished sentences, those not drawn) is not embedded. Vectors are kept on
disk by the embedder's cache, so that a second measure, or a second run, finds them there.

Half-samples and permuted groups ask again and again for the same vectors, so each vector keeps a
short list of the nearest ones in every source that its own has been mixed with. In a part of
those sources its nearest vector is the first of the lists that is in the part; where that cannot
be told, because a list ended before, the distances of that vector are computed anew. So all
distances are those between the vectors themselves, and no matrix of all pairs is ever held.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rote.annotate import embeddings, sentences, words
from rote.annotate.embeddings import Embedder
from rote.annotate.script import GLANCE, look, remarks
from rote.core.array_types import Flags, Floats, Integers
from rote.core.layer import Layer
from rote.core.metric import Work
from rote.core.progress import Reporter, Silent
from rote.core.sample import Need, Sample, Take
from rote.measure._sentences import Drop, Sentences, counted, drawn, sentences_of, whole

Unit = Literal["sentence", "text"]
WORD, RAW = Need("word", spans=True), Need("text")
NEEDS = (WORD, RAW)
"""What a measure that embeds must ask for."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What is embedded, and by whom; `count` is the largest number of sentences of a source."""

    embedder: str = embeddings.DEFAULT
    unit: Unit = "sentence"
    count: int | None = None
    drop: Drop = "none"


@dataclass(frozen=True, slots=True)
class Embedded:
    """Vector v, of length one, is that of sentence v; no vector is all zeros.

    With unit `text` every text that holds a word is one sentence. By text: `found` sentences in
    all, of which `unfinished` were left out, and then perhaps others that were not drawn;
    `without` are those for which the embedder had only zeros.
    """

    vectors: NDArray[np.float32]
    sentences: Sentences
    cut: Flags
    """By vector: whether it stands only for the beginning of what is embedded."""
    found: Integers
    unfinished: Integers
    without: Integers
    looks: Mapping[int, str]
    """Some texts, by number, and what they look like to a model that knows only English."""

    @property
    def counts(self) -> Integers:
        """Vectors by text."""
        return np.bincount(self.sentences.texts, minlength=len(self.found))


def check(name: str) -> None:
    """Refuses an embedder that is not known, or whose packages are not installed."""
    embeddings.get(name).check()


def signed(name: str) -> str:
    """What a signature says of an embedder: which model, and which version of it."""
    return embeddings.get(name).signature


def embedded(sample: Sample, choice: Choice, work: Work) -> Embedded:
    """The vectors of all sources together, sentences in the order of the texts."""
    embedder = embeddings.get(choice.embedder)
    raw = sample.text()
    texts = raw.strings()
    word = _with_sentences(texts, sample.layer(WORD), choice.unit)
    every = sentences_of(word)
    complete = whole(word, every, choice.drop)
    kept = every.chosen(complete)
    kept = kept.chosen(drawn(kept, work, choice.count))
    strings = _strings(texts, word, kept)
    vectors = embedder(strings, work.reporter)
    real: Flags = np.any(vectors, axis=1)
    return Embedded(
        vectors=vectors if real.all() else vectors[real],
        sentences=kept.chosen(real),
        cut=embedder.cut(strings)[real],
        found=_by_text(every.texts, len(texts)),
        unfinished=_by_text(every.texts[~complete], len(texts)),
        without=_by_text(kept.texts[~real], len(texts)),
        looks=_looks(texts, embedder, work),
    )


def said(found: Embedded, take: Take, unit: Unit) -> list[str]:
    """What a reader of any number made from these vectors must know."""
    own = found.sentences.of(take)
    without = int(found.without[take].sum())
    not_drawn = int((found.found - found.unfinished)[take].sum()) - len(own) - without
    notes = []
    if not_drawn:
        known = len(own) + without + not_drawn
        notes.append(f"{counted(len(own), unit)} drawn at random from {known:,}")
    if unfinished := int(found.unfinished[take].sum()):
        notes.append(f"left out: {counted(unfinished, 'sentence')} of texts that are cut off")
    if without:
        notes.append(f"left out: {counted(without, unit)} for which the embedder has no vector")
    if cut := int(found.cut[own].sum()):
        notes.append(
            f"longer than the model reads, so that the vector stands for the beginning: {cut:,}"
        )
    looks = Counter(found.looks[text] for text in take.tolist() if text in found.looks)
    return [*notes, *remarks(looks)]


def _with_sentences(texts: Sequence[str], word: Layer, unit: Unit) -> Layer:
    """The annotator's sentences where there are some, else those of rote's own words.

    The user's words will not do: not every tokenizer keeps the marks that end a sentence.
    """
    if unit == "text":
        return replace(word, sentence_ends=None)
    if word.sentence_ends is not None:
        return word
    return sentences.split(texts, words.get(words.DEFAULT)(texts))


def _strings(texts: Sequence[str], word: Layer, chosen: Sentences) -> list[str]:
    """From the first to the last character of each sentence, as written."""
    starts, ends = word.starts[chosen.starts], word.ends[chosen.ends - 1]
    places = zip(chosen.texts.tolist(), starts.tolist(), ends.tolist())
    return [texts[text][start:end] for text, start, end in places]


def _by_text(of: Integers, texts: int) -> Integers:
    return np.bincount(of, minlength=texts).astype(np.int64)


def _looks(texts: Sequence[str], embedder: Embedder, work: Work) -> dict[int, str]:
    """A few texts of every source, spread evenly; none where the model may know the language."""
    if not embedder.english:
        return {}
    some = (
        int(n) for take in work.sources(len(texts)) for n in take[:: max(1, len(take) // GLANCE)]
    )
    return {number: look(texts[number]) or "" for number in some}


_BLOCK = 4096  # vectors that are held with full precision at once


def sums_by_text(vectors: NDArray[np.float32], texts: Integers, count: int) -> Floats:
    """The sum of the vectors of each of `count` texts; `texts` (ascending) says whose they are.

    Lengths are made one again with full precision: a pair mean subtracts exactly one for every
    vector.
    """
    sums = np.zeros((count, vectors.shape[1]))
    for start in range(0, len(vectors), _BLOCK):
        some = vectors[start : start + _BLOCK].astype(np.float64)
        some /= np.linalg.norm(some, axis=1, keepdims=True)
        own = texts[start : start + _BLOCK]
        firsts = np.flatnonzero(np.append(True, np.diff(own) > 0))
        sums[own[firsts]] += np.add.reduceat(some, firsts, axis=0)
    return sums


def vendi(vectors: NDArray[np.float32]) -> float:
    """exp of the entropy of the eigenvalues of K / n, where K holds the cosines of all pairs.

    The products of dimensions have the same eigenvalues as those of vectors, so the smaller of
    the two matrices is taken; K itself is never made for many vectors.
    """
    count, dimensions = vectors.shape
    if not count:
        return math.nan
    if count <= dimensions:
        own = vectors.astype(np.float64)
        products = own @ own.T
    else:
        products = np.zeros((dimensions, dimensions))
        for start in range(0, count, _BLOCK):
            some = vectors[start : start + _BLOCK].astype(np.float64)
            products += some.T @ some
    shares = np.linalg.eigvalsh(products)
    shares = shares[shares > 0] / np.trace(products)
    return float(np.exp(-(shares * np.log(shares)).sum()))


LISTED = 16
FEW = 500
"""Up to this many vectors comparing all of them is quicker than looking through lists."""
_AT_ONCE = 4_000_000  # similarities in memory

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Lists:
    """The nearest vectors of one source for every vector of another (or the same), nearest first.

    `whole`: nothing of that source is missing from the lists.
    """

    numbers: NDArray[np.int32]
    distances: Floats
    whole: bool


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Unit vectors, the source of each, and the lists that were made so far."""

    vectors: Vectors
    sources: Integers
    reporter: Reporter = field(default_factory=Silent)
    lists: dict[tuple[int, int], Lists] = field(default_factory=dict)
    lock: Any = field(default_factory=Lock)

    def distances(self, chosen: Integers) -> Floats:
        """Cosine distance of each chosen vector to the nearest other chosen one; two at least."""
        if len(chosen) <= FEW:
            return nearest_among(self.vectors, chosen, chosen)
        inside = np.zeros(len(self.vectors), np.bool_)
        inside[chosen] = True
        found = np.full(len(self.vectors), np.inf)
        known_to = np.full(len(self.vectors), np.inf)
        present = np.unique(self.sources[chosen]).tolist()
        for one in present:
            members, places = self._chosen_of(one, inside)
            for other in present:
                nearest, reach = _first_inside(self._listed(one, other), places, inside)
                found[members] = np.minimum(found[members], nearest)
                known_to[members] = np.minimum(known_to[members], reach)
        again = chosen[found[chosen] > known_to[chosen]]
        found[again] = nearest_among(self.vectors, again, chosen)
        return found[chosen]

    def _chosen_of(self, source: int, inside: Flags) -> tuple[Integers, Integers]:
        """Vectors of a source that are chosen, and their rows in its lists."""
        members = np.flatnonzero(self.sources == source)
        places = np.flatnonzero(inside[members])
        return members[places], places

    def _listed(self, one: int, other: int) -> Lists:
        with self.lock:
            if (one, other) not in self.lists:
                self.lists[one, other] = self._made(one, other)
            return self.lists[one, other]

    def _made(self, one: int, other: int) -> Lists:
        of, among = (np.flatnonzero(self.sources == source) for source in (one, other))
        length = min(LISTED, len(among) - (one == other))
        numbers = np.empty((len(of), length), np.int32)
        distances = np.empty((len(of), length))
        with self.reporter.stage("nearest sentences", len(of)) as advance:
            for rows, likeness in _likeness(self.vectors, of, among):
                best = np.argpartition(-likeness, length - 1, axis=1)[:, :length]
                apart = _apart(self.vectors, of[rows], among[best])
                order = np.argsort(apart, axis=1, kind="stable")
                numbers[rows] = np.take_along_axis(among[best], order, axis=1)
                distances[rows] = np.take_along_axis(apart, order, axis=1)
                advance(len(likeness))
        return Lists(numbers, distances, length == len(among) - (one == other))


def nearest_among(vectors: Vectors, of: Integers, among: Integers) -> Floats:
    """The distance of some vectors to the nearest of others (ascending), themselves left out."""
    found = np.empty(len(of))
    for rows, likeness in _likeness(vectors, of, among):
        best = among[likeness.argmax(axis=1)]
        found[rows] = _apart(vectors, of[rows], best[:, None])[:, 0]
    return found


def _first_inside(lists: Lists, places: Integers, inside: Flags) -> tuple[Floats, Floats]:
    """By vector: the distance to the first one of its list that is inside, and how far the list
    reached if none is: there may be one inside beyond that."""
    nearest, reach = np.full(len(places), np.inf), np.full(len(places), np.inf)
    if not lists.numbers.shape[1]:
        return nearest, reach
    hits = inside[lists.numbers[places]]
    first = hits.argmax(axis=1)
    some = hits[np.arange(len(places)), first]
    nearest[some] = lists.distances[places[some], first[some]]
    if not lists.whole:
        reach[~some] = lists.distances[places[~some], -1]
    return nearest, reach


def _likeness(
    vectors: Vectors, of: Integers, among: Integers
) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    """Cosines in blocks of rows; that of a vector with itself is set to minus infinity."""
    others = vectors[among].T
    step = max(1, _AT_ONCE // max(1, len(among)))
    for start in range(0, len(of), step):
        some = of[start : start + step]
        likeness = vectors[some] @ others
        places = np.searchsorted(among, some).clip(max=len(among) - 1)
        same = np.flatnonzero(among[places] == some)
        likeness[same, places[same]] = -np.inf
        yield slice(start, start + len(some)), likeness


def _apart(vectors: Vectors, of: Integers, to: Integers) -> Floats:
    """Cosine distances, row by row, as half the squared distance of unit vectors.

    Computed apart from the search, so that they do not depend on how blocks were cut, and equal
    vectors are at exactly 0.
    """
    own = vectors[of].astype(np.float64)
    columns = [((vectors[to[:, n]] - own) ** 2).sum(axis=1) / 2 for n in range(to.shape[1])]
    return np.stack(columns, axis=1) if columns else np.empty(to.shape)
