"""How alike the texts of given pairs are, in four ways, and which pairs there are.

rouge_l: ROUGE-L F, order of words. runs: the share of the words of both texts that lie in a run of
so many words which the other text holds too. templates: the same for tags. cosine: of embeddings of
whole texts. Pairs are texts of one set (the answers to one prompt) or, for comparison, of two sets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rote.annotate import embeddings
from rote.compare._resample import generator
from rote.core.array_types import Array, Floats, Integers
from rote.core.errors import OptionError, UnknownName
from rote.core.layer import Layer
from rote.core.metric import Work
from rote.core.sample import Need, Sample
from rote.measure import _meaning as meaning
from rote.run import side_by_side

SCORES = {
    "rouge_l": "ROUGE-L",
    "runs": "words in shared runs",
    "templates": "words in shared templates",
    "cosine": "cosine of embeddings",
}
ABOVE = {"rouge_l": 0.5, "runs": 0.2, "templates": 0.5, "cosine": 0.8}
"""From where on two texts are called alike."""
_PAIRS_AT_ONCE = 20_000


@dataclass(frozen=True, slots=True)
class Likeness:
    """Which scores, and how they are counted."""

    scores: tuple[str, ...]
    layer: str = "lower"
    run: int = 5
    tags: str = "pos"
    pattern: int = 6
    words: int | None = None
    embedder: str = embeddings.DEFAULT

    @property
    def needs(self) -> tuple[Need, ...]:
        found = []
        if {"rouge_l", "runs"} & set(self.scores):
            found.append(Need(self.layer))
        if "templates" in self.scores:
            found.append(Need(self.tags))
        if "cosine" in self.scores:
            found += meaning.NEEDS
        return tuple(found)


def check_scores(scores: Sequence[str]) -> None:
    """Refuses a score that is not known, or none."""
    for score in scores:
        if score not in SCORES:
            raise UnknownName("score", score, SCORES)
    if not scores:
        raise OptionError(f"scores must name one of {', '.join(SCORES)}")


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of texts; all pairs of a first text follow each other. `sets` is the set that both are
    in, ascending, or -1 for two texts of different sets."""

    first: Integers
    second: Integers
    sets: Integers

    def __len__(self) -> int:
        return len(self.first)


def scored(sample: Sample, how: Likeness, pairs: Pairs, work: Work) -> dict[str, Floats]:
    """Each score of each pair; nan where it is undefined. Threads change the time alone."""
    found: dict[str, Floats] = {}
    for done, name in enumerate(how.scores):
        if name == "cosine":
            found[name] = _cosines(sample, how, pairs, work)
        elif name == "rouge_l":
            found[name] = _rouge(sample.layer(Need(how.layer)), how, pairs, work)
        elif name == "runs":
            found[name] = _runs(sample.layer(Need(how.layer)), how.run, how, pairs, work)
        else:
            found[name] = _runs(sample.layer(Need(how.tags)), how.pattern, how, pairs, work)
        work.progress((done + 1) / len(how.scores))
    return found


def within_sets(sets: Integers, texts: Integers) -> Pairs:
    """All pairs of these texts that are in the same set; `sets` is by text, -1 for none."""
    firsts, seconds = [], []
    for own in _members(sets, texts):
        one, two = np.triu_indices(len(own), 1)
        firsts.append(own[one])
        seconds.append(own[two])
    first = _joined(firsts)
    return Pairs(first, _joined(seconds), sets[first])


def between_sets(sets: Integers, texts: Integers, work: Work, most: int, times: int) -> Pairs:
    """Pairs of texts of different sets: `most` sets, drawn, each with the `times` next ones."""
    own = _members(sets, texts)
    names = [min(work.ids[text] for text in one) if len(work.ids) else str(one[0]) for one in own]
    rng = generator(work.seed, "texts of different sets")
    by_name = sorted(range(len(own)), key=names.__getitem__)
    drawn = [by_name[place] for place in rng.permutation(len(own))[:most]]
    firsts, seconds = [], []
    for shift in range(1, min(times, (len(drawn) - 1) // 2) + 1):
        for place, number in enumerate(drawn):
            other = own[drawn[(place + shift) % len(drawn)]]
            one, two = np.meshgrid(own[number], other, indexing="ij")
            firsts.append(one.ravel())
            seconds.append(two.ravel())
    first = _joined(firsts)
    return Pairs(first, _joined(seconds), np.full(len(first), -1, np.int64))


def both(one: Pairs, other: Pairs) -> Pairs:
    """One after the other."""
    columns = ((one.first, other.first), (one.second, other.second), (one.sets, other.sets))
    return Pairs(*map(np.concatenate, columns))


def _members(sets: Integers, texts: Integers) -> list[Integers]:
    """The texts of each set."""
    texts = texts[sets[texts] >= 0]
    order = np.argsort(sets[texts], kind="stable")
    ordered = texts[order]
    return np.split(ordered, np.flatnonzero(np.diff(sets[ordered])) + 1) if len(texts) else []


def _joined(parts: Sequence[Integers]) -> Integers:
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _cut(layer: Layer, words: int | None) -> Integers:
    """Where texts end, if only so many words of each are looked at."""
    if words is None:
        return layer.text_ends
    return np.minimum(layer.text_ends, layer.text_starts + words)


def _in_parts(score: Callable[[Array, Array], Floats], pairs: Pairs, threads: int) -> Floats:
    """Part by part, on threads; no first text is divided between two parts."""
    changes = np.flatnonzero(np.diff(pairs.first)) + 1
    wanted = np.searchsorted(changes, np.arange(_PAIRS_AT_ONCE, len(pairs), _PAIRS_AT_ONCE))
    ends = np.unique(changes[wanted[wanted < len(changes)]])
    parts = zip(np.split(pairs.first, ends), np.split(pairs.second, ends))
    return np.concatenate(list(side_by_side(lambda part: score(*part), parts, threads)))


def _rouge(layer: Layer, how: Likeness, pairs: Pairs, work: Work) -> Floats:
    from rote.measure._likeness_kernels import rouge_pairs

    starts, ends, kinds = layer.text_starts, _cut(layer, how.words), len(layer.vocabulary)
    return _in_parts(
        lambda one, two: rouge_pairs(layer.ids, starts, ends, kinds, one, two), pairs, work.jobs
    )


def _runs(layer: Layer, n: int, how: Likeness, pairs: Pairs, work: Work) -> Floats:
    from rote.measure._likeness_kernels import run_pairs
    from rote.measure._ngram_kernels import number_ngrams

    starts, ends = layer.text_starts, _cut(layer, how.words)
    *_, (_, numbers, kinds, _) = number_ngrams(layer.ids, starts, ends, len(layer.vocabulary), n)
    return _in_parts(
        lambda one, two: run_pairs(numbers, starts, ends, n, kinds, one, two), pairs, work.jobs
    )


def _cosines(sample: Sample, how: Likeness, pairs: Pairs, work: Work) -> Floats:
    made = meaning.embedded(sample, meaning.Choice(how.embedder, "text"), work)
    vectors = made.vectors.astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    place = np.full(len(sample), -1, np.int64)
    place[made.sentences.texts] = np.arange(len(vectors))
    found = np.full(len(pairs), np.nan)
    both = np.flatnonzero((place[pairs.first] >= 0) & (place[pairs.second] >= 0))
    for begin in range(0, len(both), _PAIRS_AT_ONCE):
        some = both[begin : begin + _PAIRS_AT_ONCE]
        one, two = vectors[place[pairs.first[some]]], vectors[place[pairs.second[some]]]
        found[some] = np.einsum("ij,ij->i", one, two)
    return found
