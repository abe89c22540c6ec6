"""The sense that fits the words around: how usual a sense is, and what its synset is about.

    score(sense) = log(share of the sense) + strength * cos(words around, words of the synset)
                   - penalty, where a verb takes no object in this sense but has one, or the like

The share comes from how often annotators tagged the word with the sense, later senses of words
that nobody tagged less and less. Words of a synset are its other lemmas (twice), those of the
synsets right above and below, and of its gloss where the lexicon has one; a word counts the more
the rarer it is. Vectors are those of `training/topics.py`. A weak judge: docs/perturb.md says how
often it is right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.arrays import ENDING, unpack
from rote.core.errors import OptionError
from rote.core.progress import Reporter
from rote.curate.synonyms.lexicons import Sense, SynonymLexicon
from rote.curate.synonyms.senses import SenseAnswer, SenseQuestion, sense_shares

VERSION = "1"
STRENGTH = {"noun": 5.0, "verb": 4.0}
"""Set on example sentences of WordNet; docs/perturb.md says how well they do on others."""
UNFIT = -1.5
"""What is added for a verb that does not take what it has: *fire* somebody is not *open fire*."""
_RELATED = 30
_COMMON = 4.0
"""Rarity (log of 1 / share) at which a word begins to count."""
_WORD = re.compile("[a-z]+")
Vector = NDArray[np.float64]


def chooser(rest: str) -> ContextChooser:
    if rest:
        raise OptionError(f"'context' has no variants, so 'context:{rest}' is none")
    return ContextChooser()


@dataclass(frozen=True, slots=True)
class ContextChooser:
    """Looks at the words around."""

    @property
    def signature(self) -> str:
        return f"context/{VERSION}"

    def __call__(
        self, questions: Sequence[SenseQuestion], lexicon: SynonymLexicon, reporter: Reporter
    ) -> list[SenseAnswer]:
        judge = _ContextJudge(lexicon)
        with reporter.stage("choosing senses", len(questions)) as advance:
            answers = []
            for question in questions:
                answers.append(judge.answer(question))
                advance(1)
        return answers


@dataclass(slots=True)
class _ContextJudge:
    """Keeps the vectors of synsets, which are asked for again and again."""

    lexicon: SynonymLexicon
    known: dict[tuple[str, str], Vector] = field(default_factory=dict)

    def answer(self, question: SenseQuestion) -> SenseAnswer:
        if len(question.senses) == 1:
            return SenseAnswer(0, 1.0)
        around = _mean_direction(question.around)
        strength = STRENGTH[question.pos]
        near = np.array([self._synset(sense, question.lemma) @ around for sense in question.senses])
        fits = np.array([_fits_frame(question, sense) for sense in question.senses])
        scores = np.log(sense_shares(question.senses)) + strength * near + UNFIT * ~fits
        best = int(np.argmax(scores))
        return SenseAnswer(best, float(1 / np.exp(scores - scores[best]).sum()))

    def _synset(self, sense: Sense, lemma: str) -> Vector:
        key = sense.synset, lemma
        if key not in self.known:
            synset_words = _lemma_words(sense.others(lemma))
            related = _lemma_words(self.lexicon.related(sense)[:_RELATED])
            gloss = [word for word in _lemma_words([self.lexicon.gloss(sense)]) if word != lemma]
            self.known[key] = _mean_direction(
                [*synset_words, *synset_words, *related, *gloss, *gloss]
            )
        return self.known[key]


def _fits_frame(question: SenseQuestion, sense: Sense) -> bool:
    """Whether a verb of this sense can stand as the word does; unknown is taken for yes."""
    return question.frame is None or not sense.frames or question.frame in sense.frames


def _lemma_words(lemmas: Iterable[str]) -> list[str]:
    return [word for lemma in lemmas for word in _WORD.findall(lemma.lower())]


@cache
def rarities() -> dict[str, float]:
    """How rare words are in what the vectors were counted over: log of 1 / share. The 120 most
    frequent and those met less than 15 times are not held."""
    arrays, _ = _read_topics()
    return dict(zip(_topic_words(arrays), arrays["rarity"].astype(np.float64).tolist()))


def nearness(first: str, second: str) -> float | None:
    """The cosine of two words, None where one has no vector."""
    numbers, vectors = _topics()
    if first not in numbers or second not in numbers:
        return None
    vector, second_vector = vectors[numbers[first]], vectors[numbers[second]]
    return float(vector @ second_vector / (np.linalg.norm(vector) * np.linalg.norm(second_vector)))


@cache
def _topics() -> tuple[dict[str, int], NDArray[np.float32]]:
    """A vector for each word, as long as the word counts."""
    arrays, _ = _read_topics()
    vectors = arrays["vectors"].astype(np.float32)
    weight = np.maximum(arrays["rarity"].astype(np.float32) - _COMMON, 0)
    vectors *= (weight / np.linalg.norm(vectors, axis=1))[:, None]
    return {name: number for number, name in enumerate(_topic_words(arrays))}, vectors


@cache
def _read_topics() -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    file = resources.files("rote.curate") / "wordnet" / f"topics{ENDING}"
    return unpack(file.read_bytes(), str(file))


def _topic_words(arrays: Mapping[str, NDArray[Any]]) -> list[str]:
    return arrays["words"].tobytes().decode("utf-8").split("\n")


def _mean_direction(words: Iterable[str]) -> Vector:
    """The direction in which words point together; 0 where none of them is known."""
    numbers, vectors = _topics()
    known = [number for word in words if (number := numbers.get(word)) is not None]
    total: Vector = vectors[known].astype(np.float64).sum(axis=0)
    length = float(np.linalg.norm(total))
    return total / length if length else total
