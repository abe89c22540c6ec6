"""From a sample to unit vectors: one for every sentence, or every text, that is measured.

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
from rote.annotate.script import GLANCE, look, remarks
from rote.core.layer import Layer
from rote.core.metric import Work
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
    cut: NDArray[np.bool_]
    """By vector: whether it stands only for the beginning of what is embedded."""
    found: NDArray[np.int64]
    unfinished: NDArray[np.int64]
    without: NDArray[np.int64]
    looks: Mapping[int, str]
    """Some texts, by number, and what they look like to a model that knows only English."""

    @property
    def counts(self) -> NDArray[np.int64]:
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
    texts = [raw.text(n).decode("utf-8", "surrogatepass") for n in range(len(raw))]
    word = _with_sentences(texts, sample.layer(WORD), choice.unit)
    every = sentences_of(word)
    complete = whole(word, every, choice.drop)
    kept = every.chosen(complete)
    kept = kept.chosen(drawn(kept, work, choice.count))
    strings = _strings(texts, word, kept)
    vectors = embedder(strings, work.reporter)
    real: NDArray[np.bool_] = np.any(vectors, axis=1)
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
        notes.append(f"{_counted(len(own), unit)} drawn at random from {known:,}")
    if unfinished := int(found.unfinished[take].sum()):
        notes.append(f"left out: {_counted(unfinished, 'sentence')} of texts that are cut off")
    if without:
        notes.append(f"left out: {_counted(without, unit)} for which the embedder has no vector")
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


def _counted(count: int, unit: str) -> str:
    return f"{count:,} {unit}{'s' * (count != 1)}"


def _by_text(of: NDArray[np.int64], texts: int) -> NDArray[np.int64]:
    return np.bincount(of, minlength=texts).astype(np.int64)


def _looks(texts: Sequence[str], embedder: Embedder, work: Work) -> dict[int, str]:
    """A few texts of every source, spread evenly; none where the model may know the language."""
    if not embedder.english:
        return {}
    groups = list(work.groups.values()) or [np.arange(len(texts))]
    some = (int(n) for take in groups for n in take[:: max(1, len(take) // GLANCE)])
    return {number: look(texts[number]) or "" for number in some}
