"""The first sense of a word, which is the most usual one: no look at the context.

A strong baseline where usual senses are usual, which docs/perturb.md measures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rote.core.errors import OptionError
from rote.core.progress import Reporter
from rote.curate._perturb.lexicons import Lexicon
from rote.curate._perturb.senses import Answer, Question, shares


@dataclass(frozen=True, slots=True)
class Order:
    """Always the first."""

    @property
    def signature(self) -> str:
        return "order/1"

    def __call__(
        self, questions: Sequence[Question], lexicon: Lexicon, reporter: Reporter
    ) -> list[Answer]:
        return [Answer(0, float(shares(question.senses)[0])) for question in questions]


def chooser(rest: str) -> Order:
    if rest:
        raise OptionError(f"'order' has no variants, so 'order:{rest}' is none")
    return Order()
