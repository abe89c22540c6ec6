"""The definitions of originality, slowly: all windows, a dictionary of sets of sources."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from rote.core.document import Annotation, Document
from rote.core.layer import Layer, number
from rote.corpus import Batch
from rote.index.index import Index
from rote.index.segments.writers import build_memory_segment
from rote.search.originality.authors import normalize, split_names
from tests.examples import lists, some

TAGS = {"the": "DT", "of": "IN", "to": "TO", "was": "VBD", ",": ",", "B": "IN", "b": "VB"}
Words = tuple[str, ...]
Sentence = list[str]


@dataclass(frozen=True)
class Text:
    """A document: who wrote it, and its sentences."""

    author: object
    sentences: list[Sentence]


Truth = list[list[Text]]
"""The documents of each segment."""

# In lower case "b" and "B" are the same; what they may stand for follows their own tags.
sentences = some(some(["a", "b", "B", "c", "the", "was", "of", ","], 7, 1), 4)
AUTHORS = [None, "", "Ann Lee", "LEE, Ann", "Ann B. Lee", "Bo", ["Bo", "Cy"], "Cy", "anon"]


def document(chance: Random) -> Text:
    return Text(chance.choice(AUTHORS), sentences(chance))


truths = lists(some(document, 4), 3, 1)
texts = lists(sentences, 3)


def is_special(word: str) -> bool:
    return word == "was" or word == "," or TAGS.get(word) in ("DT", "IN", "TO")


def windows(sentence: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where the fragments of a sentence begin and end."""
    for start in range(len(sentence)):
        for end in range(start + 2, len(sentence) + 1):
            if not is_special(sentence[start]) and not is_special(sentence[end - 1]):
                yield start, end


def names_of(author: object) -> set[Words]:
    held = "; ".join(author) if isinstance(author, list) else str(author or "")
    found = {normalize(name) for name in split_names(held)} - {()}
    # The one fuller name among the authors here.
    return {("ann", "lee") if name == ("ann", "b", "lee") else name for name in found}


def sources(truth: Truth) -> list[int]:
    """The source of each document, in order: numbers spread until nothing changes."""
    known = [names_of(text.author) for segment in truth for text in segment]
    found = list(range(len(known)))
    changed = True
    while changed:
        changed = False
        for i in range(len(known)):
            for j in range(len(known)):
                if known[i] & known[j] and found[i] < found[j]:
                    found[j], changed = found[i], True
    dense = {value: place for place, value in enumerate(sorted(set(found)))}
    return [dense[value] for value in found]


def lower(words: Sequence[str]) -> Words:
    return tuple(word.lower() for word in words)


@dataclass(frozen=True)
class Held:
    """Of every run of words in one sentence its sources, and how often it occurs.

    `fragments`: how often with edges that a fragment may have.
    """

    sources: dict[Words, set[int]]
    occurrences: Counter[Words]
    fragments: Counter[Words]


def held_by(truth: Truth) -> Held:
    held = Held(defaultdict(set), Counter(), Counter())
    texts = [text for segment in truth for text in segment]
    for text, source in zip(texts, sources(truth)):
        for sentence in text.sentences:
            words = lower(sentence)
            for start in range(len(words)):
                for end in range(start + 2, len(words) + 1):
                    held.sources[words[start:end]].add(source)
                    held.occurrences[words[start:end]] += 1
            held.fragments.update(words[a:b] for a, b in windows(sentence))
    return held


def layers(texts: Sequence[Sequence[Sentence]]) -> dict[str, Layer]:
    """The layers of some texts; words are parted by one space."""
    flat = [word for text in texts for sentence in text for word in sentence]
    vocabulary, ids = number(flat)
    starts: list[int] = []
    for text in texts:
        at = 0
        for word in (word for sentence in text for word in sentence):
            starts.append(at)
            at += len(word) + 1
    first = np.array(starts, np.int32)
    ends = first + np.array([len(word) for word in flat], np.int32)
    text_ends = np.cumsum([sum(map(len, text)) for text in texts], dtype=np.int64)
    sentence_ends = np.cumsum([len(s) for text in texts for s in text], dtype=np.int64)
    word = Layer("word", ids, vocabulary, first, ends, text_ends, sentence_ends)
    return {
        "word": word,
        "lower": word.map("lower", str.lower),
        "pos": word.map("pos", lambda w: TAGS.get(w, "NN")),
    }


def index_of(truth: Truth) -> Index:
    """An index in memory, as many segments as the ground truth has, asked on one thread."""
    segments, count = [], 0
    for texts in truth:
        held = [
            Document(
                str(count + i),
                " ".join(word for sentence in text.sentences for word in sentence),
                {} if text.author is None else {"author": text.author},
            )
            for i, text in enumerate(texts)
        ]
        count += len(held)
        batch = Batch(held, "file", "label", list(range(len(held))), [])
        made = Annotation(layers([text.sentences for text in texts]))
        segments.append(
            build_memory_segment(
                [(batch, made)] if held else [], layers=("lower", "pos"), sorted_layers=("lower",)
            )
        )
    return Index(segments).on(1)


def expected(truth: Truth, run: Sequence[str], own: Sequence[str]) -> float:
    """How often chance puts a run into the ground truth: words after words, the occurrences of
    `own`, with which it begins, left out. The formula is that of `BackOff`."""
    documents = [
        [word for sentence in text.sentences for word in lower(sentence)]
        for segment in truth
        for text in segment
    ]
    words = {word for document in documents for word in document}
    events = sum(map(len, documents)) + len(documents)

    def other(gram: Sequence[str]) -> int:
        return max(0, count(gram) - count(own))

    def count(gram: Sequence[str]) -> int:
        return sum(
            tuple(document[i : i + len(gram)]) == tuple(gram)
            for document in documents
            for i in range(len(document))
        )

    def mixed(seen: int, context: int, shorter: float) -> float:
        doubt = 12 * context**0.6
        return (seen + doubt * shorter) / (context + doubt)

    times = float(events)
    for place, word in enumerate(run):
        # The words, the document's end, the unknown.
        probability = mixed(other([word]), events - count(own), 1 / (len(words) + 2))
        context = other([run[place - 1]]) if place else 0
        if context:
            probability = mixed(other(run[place - 1 : place + 1]), context, probability)
        times *= probability
    return times
