"""The sense that a language model chooses among the definitions of a lexicon.

Multiple choice, as in Basile et al. (2025), whom Ruzzetti et al. follow: the sentence and the
numbered definitions are shown, and the number with the highest probability is the sense. The
bracket behind a number is scored too, so that 1 is not the beginning of 10.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rote.core.errors import OptionError
from rote.core.model import Continuation, Model
from rote.core.progress import Reporter
from rote.curate.synonyms.lexicons import SynonymLexicon
from rote.curate.synonyms.senses import SenseAnswer, SenseQuestion
from rote.models.answers import score_all
from rote.models.options import ModelOptions
from rote.search.model.open_models import open_model

VERSION = "1"


def chooser(rest: str, options: ModelOptions, reporter: Reporter) -> ModelChooser:
    if not rest:
        raise OptionError("which model chooses the senses? Name it, such as model:numpy:FOLDER")
    return ModelChooser(open_model(rest, options, reporter))


@dataclass(frozen=True, slots=True)
class ModelChooser:
    """Asks a model."""

    model: Model

    @property
    def signature(self) -> str:
        return f"model/{VERSION}/{self.model.signature}"

    def check(self, lexicon: SynonymLexicon) -> None:
        """Refuse a lexicon that does not say what senses mean, before the work."""
        if not lexicon.defines:
            raise OptionError(
                f"a model chooses among definitions, and the lexicon '{lexicon.signature}' has "
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
    """What the model reads before the number."""
    word = question.text[question.start : question.end]
    listed = [
        f"{number}) {lexicon.gloss(sense)}" for number, sense in enumerate(question.senses, 1)
    ]
    return "\n".join(
        [
            f'Sentence: "{question.text.strip()}"',
            f'Which of these is the meaning of the {question.pos} "{word}" in the sentence?',
            *listed,
            "Answer with the number of the meaning:",
        ]
    )


def _best_answer(scores: np.ndarray) -> SenseAnswer:
    best = int(np.argmax(scores))
    return SenseAnswer(best, float(1 / np.exp(scores - scores[best]).sum()))
