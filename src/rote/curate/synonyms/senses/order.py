"""The first sense of a word, which is the most usual one: no look at the context.

A strong baseline where usual senses are usual, which docs/perturb.md measures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rote.core.errors import OptionError
from rote.core.progress import Reporter
from rote.curate.synonyms.lexicons import SynonymLexicon
from rote.curate.synonyms.senses import SenseAnswer, SenseQuestion, sense_shares


@dataclass(frozen=True, slots=True)
class OrderChooser:
    """Always the first."""

    @property
    def signature(self) -> str:
        return "order/1"

    def __call__(
        self, questions: Sequence[SenseQuestion], lexicon: SynonymLexicon, reporter: Reporter
    ) -> list[SenseAnswer]:
        return [SenseAnswer(0, float(sense_shares(question.senses)[0])) for question in questions]


def chooser(rest: str) -> OrderChooser:
    if rest:
        raise OptionError(f"'order' has no variants, so 'order:{rest}' is none")
    return OrderChooser()
