"""The sentences of a sample: where they stand, whose they are, and which of them are measured.

A text that was cut off in the middle ends in a piece of a sentence, which is no sentence; and
where there are more sentences than are needed, some are drawn, from every source alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rote.annotate import embeddings, sentences, words
from rote.annotate.embeddings import Embedder
from rote.annotate.language_check import GLANCE, by_language, look, remarks
from rote.core.arrays import Flags, Floats, Integers
from rote.core.layer import Layer, Offsets, items_of, starts_of
from rote.core.metric import Work
from rote.core.progress import several
from rote.core.sample import Need, Sample, Take

Drop = Literal["none", "last", "both"]
# What a whole sentence ends with, perhaps behind closing quotes and brackets.
_FINAL = frozenset(".!?…‽。！？｡։؟۔।॥")
_CLOSING = frozenset("\"'”’»›)]}」』*_`")


@dataclass(frozen=True, slots=True)
class Sentences:
    """Sentence s holds the items `starts[s]:ends[s]` and occurs in text `texts[s]`.

    Sentences of one text follow each other; none is empty.
    """

    starts: Offsets
    ends: Offsets
    texts: Integers

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def lengths(self) -> Integers:
        return self.ends - self.starts

    def chosen(self, flags: Flags) -> Sentences:
        return Sentences(self.starts[flags], self.ends[flags], self.texts[flags])

    def of(self, take: Take) -> Integers:
        """Numbers of the sentences of the chosen texts, text after text."""
        bounds = (np.searchsorted(self.texts, take, side=side) for side in ("left", "right"))
        return items_of(*bounds)[0]


def sentences_of(word: Layer) -> Sentences:
    """All sentences; without sentence ends every text that holds something is one."""
    ends = word.text_ends if word.sentence_ends is None else word.sentence_ends
    starts = starts_of(ends)
    filled = ends > starts
    texts = np.searchsorted(word.text_ends, starts[filled], side="right")
    return Sentences(starts[filled], ends[filled], texts.astype(np.int64))


def complete_sentences(word: Layer, sentences: Sentences, drop: Drop) -> Flags:
    """Which sentences are kept when cut-off texts lose theirs.

    A text is cut off if it does not end as a sentence does. `last` drops its last sentence,
    `both` also its first, for texts that go on where another text stopped.
    """
    is_whole = np.ones(len(sentences), np.bool_)
    if drop == "none" or not len(sentences):
        return is_whole
    last = np.append(np.diff(sentences.texts) > 0, True)
    first = np.append(True, last[:-1])
    cut = {
        int(sentences.texts[number])
        for number in np.flatnonzero(last)
        if not _ends_well(word, int(sentences.starts[number]), int(sentences.ends[number]))
    }
    of_cut = np.isin(sentences.texts, list(cut))
    is_whole[last & of_cut] = False
    if drop == "both":
        is_whole[first & of_cut] = False
    return is_whole


def _ends_well(word: Layer, start: int, end: int) -> bool:
    items = (word.vocabulary[item] for item in word.ids[start:end][::-1])
    bare = (item.rstrip("".join(_CLOSING)) for item in items)
    return next((item[-1] in _FINAL for item in bare if item), False)


def drawn(sentences: Sentences, work: Work, count: int | None) -> Flags:
    """At most `count` sentences of every source, by a hash of text and place.

    So the draw depends on which texts there are, not on their order, nor on the seed: what rests on
    it is no matter of chance.
    """
    is_drawn = np.ones(len(sentences), np.bool_)
    if count is None:
        return is_drawn
    everything = np.unique(sentences.texts)
    for take in work.groups.values() if work.groups else (everything,):
        of_source = sentences.of(take)
        if len(of_source) > count:
            order = np.argsort(ranks(sentences, of_source, work), kind="stable")
            is_drawn[of_source[order[count:]]] = False
    return is_drawn


def ranks(sentences: Sentences, numbers: Integers, work: Work) -> Integers:
    """The order in which these sentences are drawn: smaller ones first."""
    texts = sentences.texts[numbers]
    places = numbers - np.searchsorted(sentences.texts, texts)
    digests = bytearray()
    for text, place in zip(texts.tolist(), places.tolist()):
        key = f"{work.ids[text] if work.ids else text}\n{place}".encode("utf-8", "surrogatepass")
        digests += blake2b(key, digest_size=7).digest() + b"\0"
    return np.frombuffer(digests, "<i8").astype(np.int64)


def limited(settings: Mapping[str, str]) -> str:
    """How many sentences were drawn, from the settings of a signature, for a method section."""
    if settings.get("sentences", "None") == "None":
        return ""
    return f", at most {several(int(settings['sentences']), 'sentence')} of each source"


# Unit vectors of what is said: one for every sentence, or every text.
#
# What is not measured (unfinished sentences, those not drawn) is not embedded. Vectors are kept on
# disk by the embedder's cache, so that a second measure, or a second run, finds them there.

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

    With unit `text` every text that holds a word is one sentence. By text: `sentence_counts` in
    all, of which `unfinished` were left out, and perhaps others that were not drawn; `without` are
    those for which the embedder had only zeros.
    """

    vectors: NDArray[np.float32]
    sentences: Sentences
    cut: Flags
    """By vector: whether it stands only for the beginning of what is embedded."""
    sentence_counts: Integers
    unfinished: Integers
    without: Integers
    looks: Mapping[int, str]
    """Some texts, by number, and what they look like to a model that knows only English."""

    @property
    def counts(self) -> Integers:
        return np.bincount(self.sentences.texts, minlength=len(self.sentence_counts))

    @property
    def not_drawn(self) -> Integers:
        """Sentences by text that would have been measured."""
        return self.sentence_counts - self.unfinished - self.without - self.counts


def check(name: str) -> None:
    """Refuses an embedder that is not known, or whose packages are not installed."""
    for embedder in by_language(name, embeddings.DEFAULT).values():
        embeddings.get(embedder).check()


def signed(name: str) -> str:
    """What a signature says of an embedder: which model, and which version of it."""
    names = by_language(name, embeddings.DEFAULT).items()
    return " ".join(
        f"{code}=" * bool(code) + embeddings.get(embedder).signature for code, embedder in names
    )


def embedded(sample: Sample, choice: Choice, work: Work) -> Embedded:
    """The vectors of all sources together, sentences in the order of the texts."""
    embedder = embeddings.get(choice.embedder)
    raw = sample.text()
    texts = raw.strings()
    word = _with_sentences(texts, sample.layer(WORD), choice.unit)
    every = sentences_of(word)
    complete = complete_sentences(word, every, choice.drop)
    chosen = every.chosen(complete)
    chosen = chosen.chosen(drawn(chosen, work, choice.count))
    # From the first to the last character of each sentence, as written.
    starts, ends = word.starts[chosen.starts], word.ends[chosen.ends - 1]
    places = zip(chosen.texts.tolist(), starts.tolist(), ends.tolist())
    strings = [texts[text][start:end] for text, start, end in places]
    vectors = embedder(strings, work.reporter)
    real: Flags = np.any(vectors, axis=1)
    return Embedded(
        vectors=vectors if real.all() else vectors[real],
        sentences=chosen.chosen(real),
        cut=embedder.cut(strings)[real],
        sentence_counts=_by_text(every.texts, len(texts)),
        unfinished=_by_text(every.texts[~complete], len(texts)),
        without=_by_text(chosen.texts[~real], len(texts)),
        looks=_looks(texts, embedder, work),
    )


def embedding_notes(embedding: Embedded, take: Take, unit: Unit) -> list[str]:
    """What a reader of any number made from these vectors must know."""
    sentences = embedding.sentences.of(take)
    without = int(embedding.without[take].sum())
    not_drawn = int(embedding.not_drawn[take].sum())
    notes = []
    if not_drawn:
        known = len(sentences) + without + not_drawn
        notes.append(f"{several(len(sentences), unit)} drawn at random from {known:,}")
    if unfinished := int(embedding.unfinished[take].sum()):
        notes.append(f"left out: {several(unfinished, 'sentence')} of truncated texts")
    if without:
        notes.append(f"left out: {several(without, unit)} for which the embedder has no vector")
    if cut := int(embedding.cut[sentences].sum()):
        notes.append(
            f"longer than the model reads, so the vector covers only the beginning: {cut:,}"
        )
    looks = Counter(embedding.looks[text] for text in take.tolist() if text in embedding.looks)
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


def _by_text(of: Integers, texts: int) -> Integers:
    return np.bincount(of, minlength=texts).astype(np.int64)


def _looks(texts: Sequence[str], embedder: Embedder, work: Work) -> dict[int, str]:
    """A few texts of every source, spread evenly; none where the model may know the language."""
    takes = work.sources(len(texts)) if embedder.english else []
    some = (int(n) for take in takes for n in take[:: max(1, len(take) // GLANCE)])
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
        block = texts[start : start + _BLOCK]
        firsts = np.flatnonzero(np.append(True, np.diff(block) > 0))
        sums[block[firsts]] += np.add.reduceat(some, firsts, axis=0)
    return sums
