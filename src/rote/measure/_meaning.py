"""Unit vectors of what is said: one for every sentence, or every text.

What is not measured (unfinished sentences, those not drawn) is not embedded. Vectors are kept on
disk by the embedder's cache, so that a second measure, or a second run, finds them there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rote.annotate import embeddings, sentences, words
from rote.annotate.embeddings import Embedder
from rote.annotate.script import GLANCE, by_language, look, remarks
from rote.core.array_types import Flags, Floats, Integers
from rote.core.layer import Layer
from rote.core.metric import Work
from rote.core.progress import several
from rote.core.sample import Need, Sample, Take
from rote.measure._sentences import Drop, Sentences, drawn, sentences_of, whole

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

    @property
    def not_drawn(self) -> Integers:
        """Sentences by text that would have been measured."""
        return self.found - self.unfinished - self.without - self.counts


def check(name: str) -> None:
    """Refuses an embedder that is not known, or whose packages are not installed."""
    for own in by_language(name, embeddings.DEFAULT).values():
        embeddings.get(own).check()


def signed(name: str) -> str:
    """What a signature says of an embedder: which model, and which version of it."""
    names = by_language(name, embeddings.DEFAULT).items()
    return " ".join(f"{code}=" * bool(code) + embeddings.get(own).signature for code, own in names)


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
    not_drawn = int(found.not_drawn[take].sum())
    notes = []
    if not_drawn:
        known = len(own) + without + not_drawn
        notes.append(f"{several(len(own), unit)} drawn at random from {known:,}")
    if unfinished := int(found.unfinished[take].sum()):
        notes.append(f"left out: {several(unfinished, 'sentence')} of texts that are cut off")
    if without:
        notes.append(f"left out: {several(without, unit)} for which the embedder has no vector")
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
