"""How alike the texts of given pairs are, by ROUGE-L F, shared runs of words, shared patterns of
tags and the cosine of embeddings; and pairs of texts of one set (the answers to one prompt) or of
two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rote.annotate import embeddings
from rote.compare.resampling import generator
from rote.core.arrays import Array, Floats, Integers
from rote.core.errors import OptionError, UnknownName
from rote.core.kernels import njit
from rote.core.layer import Layer
from rote.core.metric import Work
from rote.core.ngrams import number_ngrams
from rote.core.sample import Need, Sample
from rote.measure import _sentences as meaning
from rote.measure._pair_kernels import common, forget, held, marks
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
    scores: tuple[str, ...]
    layer: str = "lower"
    run: int = 5
    tags: str = "pos"
    pattern: int = 6
    words: int | None = None
    embedder: str = embeddings.DEFAULT

    @property
    def needs(self) -> tuple[Need, ...]:
        layers = []
        if {"rouge_l", "runs"} & set(self.scores):
            layers.append(Need(self.layer))
        if "templates" in self.scores:
            layers.append(Need(self.tags))
        if "cosine" in self.scores:
            layers += meaning.NEEDS
        return tuple(layers)


def check_scores(scores: Sequence[str]) -> None:
    """Refuses a score that is not known, or none."""
    for score in scores:
        if score not in SCORES:
            raise UnknownName("score", score, SCORES)
    if not scores:
        raise OptionError(f"scores must name one of {', '.join(SCORES)}")


@dataclass(frozen=True, slots=True)
class TextPairs:
    """Pairs of texts; all pairs of a first text follow each other. `sets` is the set that both are
    in, ascending, or -1 for two texts of different sets."""

    first: Integers
    second: Integers
    sets: Integers

    def __len__(self) -> int:
        return len(self.first)


def scored(sample: Sample, how: Likeness, pairs: TextPairs, work: Work) -> dict[str, Floats]:
    """Each score of each pair; nan where it is undefined. Threads change the time alone."""
    compute: dict[str, Callable[[], Floats]] = {
        "cosine": lambda: _cosines(sample, how, pairs, work),
        "rouge_l": lambda: _rouge(sample.layer(Need(how.layer)), how, pairs, work),
        "runs": lambda: _runs(sample.layer(Need(how.layer)), how.run, how, pairs, work),
        "templates": lambda: _runs(sample.layer(Need(how.tags)), how.pattern, how, pairs, work),
    }
    by_score = {}
    for done, name in enumerate(how.scores, 1):
        by_score[name] = compute[name]()
        work.progress(done / len(how.scores))
    return by_score


def within_sets(sets: Integers, texts: Integers) -> TextPairs:
    """All pairs of these texts that are in the same set; `sets` is by text, -1 for none."""
    firsts, seconds = [], []
    for members in _members(sets, texts):
        first, second = np.triu_indices(len(members), 1)
        firsts.append(members[first])
        seconds.append(members[second])
    first = _concatenate(firsts)
    return TextPairs(first, _concatenate(seconds), sets[first])


def between_sets(sets: Integers, texts: Integers, work: Work, most: int, times: int) -> TextPairs:
    """Pairs of texts of different sets: `most` sets, drawn, each with the `times` next ones."""
    members = _members(sets, texts)
    names = [min(work.ids[t] for t in some) if len(work.ids) else str(some[0]) for some in members]
    rng = generator(work.seed, "texts of different sets")
    by_name = sorted(range(len(members)), key=names.__getitem__)
    drawn = [by_name[place] for place in rng.permutation(len(members))[:most]]
    firsts, seconds = [], []
    for shift in range(1, min(times, (len(drawn) - 1) // 2) + 1):
        for place, number in enumerate(drawn):
            partner = members[drawn[(place + shift) % len(drawn)]]
            texts_of_set, two = np.meshgrid(members[number], partner, indexing="ij")
            firsts.append(texts_of_set.ravel())
            seconds.append(two.ravel())
    first = _concatenate(firsts)
    return TextPairs(first, _concatenate(seconds), np.full(len(first), -1, np.int64))


def both(first: TextPairs, second: TextPairs) -> TextPairs:
    """One after the other."""
    sides = ((pairs.first, pairs.second, pairs.sets) for pairs in (first, second))
    return TextPairs(*map(np.concatenate, zip(*sides)))


def _members(sets: Integers, texts: Integers) -> list[Integers]:
    texts = texts[sets[texts] >= 0]
    order = np.argsort(sets[texts], kind="stable")
    ordered = texts[order]
    return np.split(ordered, np.flatnonzero(np.diff(sets[ordered])) + 1) if len(texts) else []


def _concatenate(parts: Sequence[Integers]) -> Integers:
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _truncated_ends(layer: Layer, words: int | None) -> Integers:
    """Where texts end, if only so many words of each are looked at."""
    return np.minimum(layer.text_ends, layer.text_starts + (words or len(layer.ids)))


def _in_parts(score: Callable[[Array, Array], Floats], pairs: TextPairs, threads: int) -> Floats:
    """Part by part, on threads; no first text is divided between two parts."""
    changes = np.flatnonzero(np.diff(pairs.first)) + 1
    wanted = np.searchsorted(changes, np.arange(_PAIRS_AT_ONCE, len(pairs), _PAIRS_AT_ONCE))
    ends = np.unique(changes[wanted[wanted < len(changes)]])
    parts = zip(np.split(pairs.first, ends), np.split(pairs.second, ends))
    return np.concatenate(list(side_by_side(lambda part: score(*part), parts, threads)))


def _rouge(layer: Layer, how: Likeness, pairs: TextPairs, work: Work) -> Floats:
    words = layer.ids, layer.text_starts, _truncated_ends(layer, how.words), len(layer.vocabulary)
    return _in_parts(lambda *sides: rouge_pairs(*words, *sides), pairs, work.jobs)


def _runs(layer: Layer, n: int, how: Likeness, pairs: TextPairs, work: Work) -> Floats:
    starts, ends = layer.text_starts, _truncated_ends(layer, how.words)
    *_, (_, numbers, kinds, _) = number_ngrams(layer.ids, starts, ends, len(layer.vocabulary), n)
    runs = numbers, starts, ends, n, kinds
    return _in_parts(lambda *sides: run_pairs(*runs, *sides), pairs, work.jobs)


def _cosines(sample: Sample, how: Likeness, pairs: TextPairs, work: Work) -> Floats:
    embedding = meaning.embedded(sample, meaning.Choice(how.embedder, "text"), work)
    vectors = embedding.vectors.astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    place = np.full(len(sample), -1, np.int64)
    place[embedding.sentences.texts] = np.arange(len(vectors))
    cosines = np.full(len(pairs), np.nan)
    both = np.flatnonzero((place[pairs.first] >= 0) & (place[pairs.second] >= 0))
    for begin in range(0, len(both), _PAIRS_AT_ONCE):
        some = both[begin : begin + _PAIRS_AT_ONCE]
        first, second = vectors[place[pairs.first[some]]], vectors[place[pairs.second[some]]]
        cosines[some] = np.einsum("ij,ij->i", first, second)
    return cosines


@njit(cache=True, nogil=True)
def rouge_pairs(
    ids: Array, starts: Array, ends: Array, kinds: int, first: Array, second: Array
) -> Array:
    """ROUGE-L F of each pair: 2 * LCS / (length + length); nan where a text is empty."""
    scores = np.full(len(first), np.nan)
    longest = 0
    for text in range(len(starts)):
        longest = max(longest, ends[text] - starts[text])
    rows = np.empty(longest + 1, np.int32)
    carries = np.zeros(longest + 1, np.uint8)
    row_of = np.full(kinds, -1, np.int32)
    pair = 0
    while pair < len(first):
        this = first[pair]
        words = ids[starts[this] : ends[this]]
        masks = marks(words, row_of)
        while pair < len(first) and first[pair] == this:
            others = ids[starts[second[pair]] : ends[second[pair]]]
            if len(words) and len(others):
                length = held(others, row_of, rows)
                shared = common(masks, length, carries) if len(length) else 0
                scores[pair] = 2.0 * shared / (len(words) + len(others))
            pair += 1
        forget(words, row_of)
    return scores


@njit(cache=True, nogil=True)
def run_pairs(
    numbers: Array, starts: Array, ends: Array, n: int, kinds: int, first: Array, second: Array
) -> Array:
    """The share of the words of both texts that lie in a run of n which the other text holds too.

    `numbers[p]` is the number of the n-gram that begins at p, negative where it occurs once. nan
    where a text is shorter than n.
    """
    scores = np.full(len(first), np.nan)
    holder = np.full(kinds, -1, np.int64)
    met = np.full(kinds, -1, np.int64)
    for pair in range(len(first)):
        text, partner = first[pair], second[pair]
        if pair == 0 or first[pair - 1] != text:
            for place in range(starts[text], ends[text] - n + 1):
                if numbers[place] >= 0:
                    holder[numbers[place]] = text
        if min(ends[text] - starts[text], ends[partner] - starts[partner]) < n:
            continue
        covered, until = 0, starts[partner]
        for place in range(starts[partner], ends[partner] - n + 1):
            number = numbers[place]
            if number >= 0 and holder[number] == text:
                met[number] = pair
                covered += place + n - max(until, place)
                until = place + n
        until = starts[text]
        for place in range(starts[text], ends[text] - n + 1):
            number = numbers[place]
            if number >= 0 and met[number] == pair:
                covered += place + n - max(until, place)
                until = place + n
        scores[pair] = covered / (ends[text] - starts[text] + ends[partner] - starts[partner])
    return scores


@njit(cache=True, nogil=True)
def set_means(first: Array, second: Array, sets: Array, scores: Array, is_member: Array) -> Array:
    """For many groups: the mean over sets of the mean over pairs, of a text in the group and one
    that is not, and of two texts in it.

    `is_member[t, g]` is 1 where group g holds text t, else 0; `sets` are those of the pairs,
    ascending.
    """
    groups = is_member.shape[1]
    sums = np.zeros((2, groups))
    count = np.zeros((2, groups))
    total = np.zeros((2, groups))
    pairs = np.zeros((2, groups))
    for pair in range(len(first)):
        if not np.isnan(scores[pair]):
            ours, theirs = is_member[first[pair]], is_member[second[pair]]
            for group in range(groups):
                together, either = ours[group] & theirs[group], ours[group] ^ theirs[group]
                total[0, group] += scores[pair] * either
                pairs[0, group] += either
                total[1, group] += scores[pair] * together
                pairs[1, group] += together
        if pair == len(first) - 1 or sets[pair] != sets[pair + 1]:
            for kind in range(2):
                for group in range(groups):
                    if pairs[kind, group]:
                        sums[kind, group] += total[kind, group] / pairs[kind, group]
                        count[kind, group] += 1
                    total[kind, group] = 0.0
                    pairs[kind, group] = 0.0
    for kind in range(2):
        for group in range(groups):
            some = count[kind, group]
            sums[kind, group] = sums[kind, group] / some if some else np.nan
    return sums
