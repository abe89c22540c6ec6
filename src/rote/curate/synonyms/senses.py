"""Which sense a word has where it stands.

`context` (default) weighs how usual a sense is against what stands around the word, `order` takes
the first, `model:M` asks a language model. Packages outside add modules with a function `chooser`
through entry points of the group named by ROOM.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from rote.core import plugins
from rote.core.arrays import ENDING, unpack
from rote.core.errors import OptionError
from rote.core.model import Continuation, Model
from rote.core.progress import Reporter, Silent
from rote.curate.synonyms.lexicons import Frame, Pos, Sense, SynonymLexicon
from rote.models.answers import score_all
from rote.models.options import ModelOptions
from rote.search.open_models import open_model

ROOM = "curate.synonyms.senses"
DEFAULT = "context"
_MODEL = "model"


@dataclass(frozen=True, slots=True)
class SenseQuestion:
    """A word of an item whose sense is asked for.

    `around` are lemmas of the words that stand with it, itself not among them; `text` is one
    instance in which it stands, at `start:end`, with `tag`; `frame` is what a verb takes there.
    """

    lemma: str
    pos: Pos
    tag: str
    senses: tuple[Sense, ...]
    around: tuple[str, ...]
    text: str
    start: int
    end: int
    frame: Frame | None = None


@dataclass(frozen=True, slots=True)
class SenseAnswer:
    """The number of a sense, and how sure it is: its share of all senses, 0 to 1."""

    number: int
    share: float


class SenseChooser(Protocol):
    @property
    def signature(self) -> str:
        """Name and version."""

    def __call__(
        self, questions: Sequence[SenseQuestion], lexicon: SynonymLexicon, reporter: Reporter
    ) -> list[SenseAnswer]:
        """For each question a sense."""


_UNTAGGED, _DECAY = 0.5, 0.7
"""What a sense that nobody tagged counts, and what each later one counts of the one before."""


def sense_shares(senses: Sequence[Sense]) -> NDArray[np.float64]:
    """How usual each sense of a word is, by how often it was tagged and by the order of senses."""
    usual = np.array([sense.count + _UNTAGGED * _DECAY**n for n, sense in enumerate(senses)])
    return np.asarray(usual / usual.sum())


def get(
    name: str = DEFAULT, models: ModelOptions | None = None, reporter: Reporter | None = None
) -> SenseChooser:
    """The way to choose of this name; `models` says how a model is run, where one is asked."""
    kind, _, rest = name.partition(":")
    if kind == _MODEL:
        return model(rest, models or ModelOptions(), reporter or Silent())
    member = plugins.load(ROOM, kind)
    return cast(SenseChooser, getattr(member, "chooser", member)(rest))


_CONTEXT_VERSION = "1"
STRENGTH = {"noun": 5.0, "verb": 4.0}
"""Set on example sentences of WordNet; docs/perturb.md says how well they do on others."""
UNFIT = -1.5
"""What is added for a verb that does not take what it has: *fire* somebody is not *open fire*."""
_RELATED = 30
_COMMON = 4.0
"""Rarity (log of 1 / share) at which a word begins to count."""
_WORD = re.compile("[a-z]+")
Vector = NDArray[np.float64]


def context(rest: str) -> ContextChooser:
    """The sense that fits the words around: how usual a sense is, and what its synset is about.

        score(sense) = log(share of the sense) + strength * cos(words around, words of the synset)
                       - penalty, where a verb takes no object in this sense but has one

    The share comes from how often annotators tagged the word with the sense, later senses of words
    that nobody tagged less and less. Words of a synset are its other lemmas (twice), those of the
    synsets right above and below, and of its gloss where the lexicon has one; a word counts the
    more the rarer it is. Vectors are those of `training/topics.py`. A weak judge: docs/perturb.md
    says how often it is right.
    """
    if rest:
        raise OptionError(f"'context' has no variants, so 'context:{rest}' does not exist")
    return ContextChooser()


@dataclass(frozen=True, slots=True)
class ContextChooser:
    known: dict[tuple[str, str], Vector] = field(default_factory=dict)
    """The vectors of synsets, which are asked for again and again."""

    @property
    def signature(self) -> str:
        return f"context/{_CONTEXT_VERSION}"

    def __call__(
        self, questions: Sequence[SenseQuestion], lexicon: SynonymLexicon, reporter: Reporter
    ) -> list[SenseAnswer]:
        self.known.clear()
        with reporter.stage("choosing senses", len(questions)) as advance:
            answers = []
            for question in questions:
                answers.append(self._answer(question, lexicon))
                advance(1)
        return answers

    def _answer(self, question: SenseQuestion, lexicon: SynonymLexicon) -> SenseAnswer:
        senses, lemma = question.senses, question.lemma
        if len(senses) == 1:
            return SenseAnswer(0, 1.0)
        around = _mean_direction(question.around)
        near = np.array([self._synset(sense, lemma, lexicon) @ around for sense in senses])
        frame = question.frame  # where it is not known, any sense may stand there
        fits = np.array([not frame or not s.frames or frame in s.frames for s in senses])
        strength = STRENGTH[question.pos]
        return _best_answer(np.log(sense_shares(senses)) + strength * near + UNFIT * ~fits)

    def _synset(self, sense: Sense, lemma: str, lexicon: SynonymLexicon) -> Vector:
        key = sense.synset, lemma
        if key not in self.known:
            synset_words = _lemma_words(sense.others(lemma))
            related = _lemma_words(lexicon.related(sense)[:_RELATED])
            gloss = [word for word in _lemma_words([lexicon.gloss(sense)]) if word != lemma]
            self.known[key] = _mean_direction([*synset_words * 2, *related, *gloss * 2])
        return self.known[key]


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


@dataclass(frozen=True, slots=True)
class OrderChooser:
    @property
    def signature(self) -> str:
        return "order/1"

    def __call__(
        self, questions: Sequence[SenseQuestion], lexicon: SynonymLexicon, reporter: Reporter
    ) -> list[SenseAnswer]:
        return [SenseAnswer(0, float(sense_shares(question.senses)[0])) for question in questions]


def order(rest: str) -> OrderChooser:
    """The first sense of a word, which is the most usual one: no look at the context. A strong
    baseline where usual senses are usual, which docs/perturb.md measures."""
    if rest:
        raise OptionError(f"'order' has no variants, so 'order:{rest}' does not exist")
    return OrderChooser()


_MODEL_VERSION = "1"


def model(rest: str, options: ModelOptions, reporter: Reporter) -> ModelChooser:
    """The sense that a language model chooses among the definitions of a lexicon.

    Multiple choice, as in Basile et al. (2025), whom Ruzzetti et al. follow: the sentence and the
    numbered definitions are shown, and the number with the highest probability is the sense. The
    bracket behind a number is scored too, so that 1 is not the beginning of 10.
    """
    if not rest:
        raise OptionError("no model to choose senses: name one, such as model:numpy:FOLDER")
    return ModelChooser(open_model(rest, options, reporter))


@dataclass(frozen=True, slots=True)
class ModelChooser:
    model: Model

    @property
    def signature(self) -> str:
        return f"model/{_MODEL_VERSION}/{self.model.signature}"

    def check(self, lexicon: SynonymLexicon) -> None:
        """Refuse a lexicon that does not say what senses mean, before the work."""
        if not lexicon.defines:
            raise OptionError(
                f"a model chooses among definitions, but the lexicon '{lexicon.signature}' has "
                "none: give --lexicon wn:oewn:2024 (extra wordnet), or --lexicon wordnet:FOLDER "
                "with the files data.noun and data.verb of WordNet 3.0 (Debian: wordnet-base)"
            )

    def __call__(
        self, questions: Sequence[SenseQuestion], lexicon: SynonymLexicon, reporter: Reporter
    ) -> list[SenseAnswer]:
        self.check(lexicon)
        wanted = [
            Continuation(context, f" {number})")
            for question in questions
            if len(question.senses) > 1
            for context in (sense_prompt(question, lexicon),)
            for number in range(1, len(question.senses) + 1)
        ]
        scores = iter(score_all(self.model, wanted, reporter, title="choosing senses"))
        return [
            _best_answer(np.array([next(scores).total for _ in question.senses]))
            if len(question.senses) > 1
            else SenseAnswer(0, 1.0)
            for question in questions
        ]


def sense_prompt(question: SenseQuestion, lexicon: SynonymLexicon) -> str:
    word = question.text[question.start : question.end]
    lines = [
        f'Sentence: "{question.text.strip()}"',
        f'Which of these is the meaning of the {question.pos} "{word}" in the sentence?',
        *(f"{n}) {lexicon.gloss(sense)}" for n, sense in enumerate(question.senses, 1)),
        "Answer with the number of the meaning:",
    ]
    return "\n".join(lines)


def _best_answer(scores: np.ndarray) -> SenseAnswer:
    best = int(np.argmax(scores))
    return SenseAnswer(best, float(1 / np.exp(scores - scores[best]).sum()))
