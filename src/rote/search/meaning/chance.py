"""How often chance does as much: the probability of a score, estimated on held-out text.

Sentences of the corpus itself are matched against its other documents, so the text is of its kind.
Single sentences and passages (several in a row) are kept apart, each by its number of words. Scores
that one text in fifty reaches are counted; above them the tail is exponential, as that of local
alignments is, with the scale between the 90th and the 98th percentile: held-out text may after all
repeat something, and the highest scores would be that. So small probabilities are estimates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.arrays import Integers
from rote.core.numbers import format_number
from rote.search.meaning.chains import (
    Chain,
    SentenceSource,
    TextSentences,
    find_candidates,
    link_candidates,
)

VERSION = "chance/2"
BLOCK = 8
"""Held-out sentences in a row."""
BLOCKS = 200
"""Blocks of held-out sentences."""
_PASSAGES = (2, 3, 4, 6, 8)
_SHARES = np.array([0.2, 0.1, 0.05, 0.02])
"""Shares of held-out texts whose scores are counted; smaller ones are extrapolated."""
_BINS = 6
_COLUMNS = ("sizes", "levels", "scales")
_ENOUGH = 100
"""With fewer held-out texts than this of a size, what novels show (benchmarks/meaning.py) stands
beside them: start and scale for single sentences and for passages."""
_SENTENCE_PRIOR, _PASSAGE_PRIOR = (225.0, 55.0), (340.0, 100.0)
_SMALLEST = 1e-12


@dataclass(frozen=True, slots=True)
class ScoreTail:
    """The upper tail of scores, by the logarithm of a text's words."""

    sizes: NDArray[np.float64]
    levels: NDArray[np.float64]
    """For each size the scores that the shares `_SHARES` of texts reach."""
    scales: NDArray[np.float64]
    """How far behind the last level the share falls to 1 / e of it."""
    texts: int

    @classmethod
    def fit(
        cls, words: Integers, scores: Integers, prior: tuple[float, float], least: float = 0.0
    ) -> ScoreTail:
        """From texts of so many words and the best score of each; scales are at least so large,
        and at least half as large as usual."""
        least = max(least, prior[1] / 2)
        usual = prior[0] + prior[1] * np.log(_SHARES[0] / _SHARES)
        sizes, levels, scales = [], [], []
        for part in _bins(words):
            weight = min(1.0, len(part) / _ENOUGH)
            some = np.sort(scores[part])
            places = ((1 - _SHARES) * (len(some) - 1)).astype(np.int64)
            reached = some[places] if len(some) else usual
            level = np.round(weight * reached + (1 - weight) * usual, 1)
            scale = (level[-1] - level[1]) / float(np.log(_SHARES[1] / _SHARES[-1]))
            sizes.append(float(np.log(np.median(words[part]))) if len(some) else 0.0)
            levels.append(level)
            scales.append(max(least, round(float(scale), 1)))
        return cls(np.array(sizes), np.array(levels), np.array(scales), len(scores))

    def probability(self, score: float, words: int) -> float:
        """That a text of so many words reaches the score; never above one in five."""
        size = float(np.log(max(1, words)))
        level = np.array([np.interp(size, self.sizes, column) for column in self.levels.T])
        scale = float(np.interp(size, self.sizes, self.scales))
        log = np.interp(score, level + 1e-6 * np.arange(len(level)), np.log(_SHARES))
        share = float(np.exp(log - max(0.0, score - level[-1]) / scale))
        # A text longer than any that was held out is as many of them.
        pieces = max(1.0, words / float(np.exp(self.sizes[-1]))) if self.sizes[-1] else 1.0
        return float(format_number(max(_SMALLEST, 1 - (1 - share) ** pieces), ".2g"))


def _bins(words: Integers) -> list[Integers]:
    """The texts by size, in a few bins of about as many; texts of one size are in one bin."""
    order = np.argsort(words, kind="stable")
    count = min(_BINS, max(1, len(order) // _ENOUGH))
    edges = np.unique(words[order[np.arange(1, count) * len(order) // count]])
    parts = np.split(order, np.searchsorted(words[order], edges))
    return [part for part in parts if len(part)] or [order]


@dataclass(frozen=True, slots=True)
class Chance:
    """Tails of single sentences and of passages."""

    sentence: ScoreTail
    passage: ScoreTail

    def probability(self, chain: Chain, words: int) -> float:
        """That a text of as many words that has nothing to do with the corpus does as well."""
        tail = self.sentence if len(chain.sentences) == 1 else self.passage
        return tail.probability(chain.score, words)

    def plain(self) -> dict[str, Any]:
        return {
            name: {
                "texts": tail.texts,
                **{each: getattr(tail, each).tolist() for each in _COLUMNS},
            }
            for name, tail in (("sentence", self.sentence), ("passage", self.passage))
        }

    @classmethod
    def parse(cls, plain: dict[str, Any]) -> Chance:
        tails = (
            ScoreTail(
                **{each: np.array(plain[name][each]) for each in _COLUMNS},
                texts=plain[name]["texts"],
            )
            for name in ("sentence", "passage")
        )
        return cls(*tails)


def draw_blocks(texts: Integers) -> tuple[Integers, Integers]:
    """Sentences of whole blocks from all over the texts that they are of, and the block of each."""
    first = np.searchsorted(texts, texts)
    length = np.searchsorted(texts, texts, side="right") - first
    place = np.arange(len(texts)) - first
    begins = np.flatnonzero((place % BLOCK == 0) & (length - place >= BLOCK))
    count = min(BLOCKS, len(begins))
    chosen = begins[np.arange(count) * len(begins) // max(1, count)]
    rows = (chosen[:, None] + np.arange(BLOCK)).ravel()
    return rows, np.repeat(np.arange(count), BLOCK)


def estimate_chance(
    held_out: TextSentences, source: SentenceSource, without: tuple[Integers, Integers] | None
) -> Chance:
    """From texts of at most `BLOCK` sentences; `without` keeps each from its own document."""
    count = len(held_out)
    if not count:
        none = np.empty(0, np.int64)
        tails = (ScoreTail.fit(none, none, prior) for prior in (_SENTENCE_PRIOR, _PASSAGE_PRIOR))
        return Chance(*tails)
    candidates = find_candidates(held_out, source, without)
    alone = link_candidates(candidates, np.arange(count))
    sentence = ScoreTail.fit(held_out.sizes, _best_scores(alone, count), _SENTENCE_PRIOR)
    first = np.searchsorted(held_out.texts, held_out.texts)
    place = np.arange(count) - first
    length = np.searchsorted(held_out.texts, held_out.texts, side="right") - first
    words, scores = [], []
    for size in _PASSAGES:
        # The first sentences of each text that has so many; the others link to nothing.
        inside = (place < size) & (length >= size)
        if not inside.any():
            continue
        texts = np.where(inside, held_out.texts, -1 - np.arange(count))
        chains = [c for c in link_candidates(candidates, texts) if len(c.sentences) > 1]
        best = _best_scores(chains, int(held_out.texts[-1]) + 1)
        total = np.bincount(held_out.texts[inside], held_out.sizes[inside], minlength=len(best))
        scores.append(best[total > 0])
        words.append(total[total > 0].astype(np.int64))
    every_size, every_score = (
        np.concatenate([np.empty(0, np.int64), *columns]) for columns in (words, scores)
    )
    # Where hardly any passage was found, the scores of its sentences still add up.
    least = float(sentence.scales.max())
    return Chance(sentence, ScoreTail.fit(every_size, every_score, _PASSAGE_PRIOR, least))


def _best_scores(chains: Sequence[Chain], count: int) -> Integers:
    scores = np.zeros(count, np.int64)
    for chain in chains:
        scores[chain.text] = max(scores[chain.text], chain.score)
    return scores
