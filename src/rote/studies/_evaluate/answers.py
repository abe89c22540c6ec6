"""The answers of a model, and whether they are right.

several options:  chosen = argmax of log p(option | context), the first of equal ones
                  acc: chosen is the answer; acc_norm: the same, each divided by the option's
                  characters; acc_bytes: by its bytes (UTF-8)
one option:       acc: every token of it is the likeliest one where it stands (greedy decoding
                  would write it)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rote.core.model import Continuation, Model, Scored
from rote.core.progress import Reporter
from rote.corpus.items import Item, Record
from rote.models.answers import score_all
from rote.studies._evaluate.prompts import Asked, asked

SOURCE = "source"
ANSWERED = (
    *(SOURCE, "model", "asked", "loglikelihoods", "tokens", "greedy", "chosen", "chosen_norm"),
    *("acc", "acc_norm", "acc_bytes", "unanswered"),
)
"""Fields of a record that say how its item was answered."""
_BLANK = "nothing to score"
_LONG = "longer than the model reads"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model made of an item, option by option; nothing where there is a `why`.

    `acc` and the others are None where nobody says what is right, or nobody answered.
    """

    item: Item
    asked: Asked
    loglikelihoods: tuple[float, ...] = ()
    tokens: tuple[int, ...] = ()
    greedy: tuple[bool, ...] = ()
    chosen: int | None = None
    chosen_norm: int | None = None
    acc: int | None = None
    acc_norm: int | None = None
    acc_bytes: int | None = None
    why: str | None = None

    @property
    def right(self) -> float | None:
        """The log-likelihood of the right option."""
        if self.why or self.item.answer is None:
            return None
        return self.loglikelihoods[self.item.answer]


def answer_all(
    records: Sequence[Record], model: Model, reporter: Reporter, *, title: str = "answering"
) -> list[Answer]:
    """An answer to each item, in their order."""
    questions = [asked(record) for record in records]
    reasons = [_why_not(question, model) for question in questions]
    wanted = [
        request
        for question, why in zip(questions, reasons)
        if why is None
        for request in question.requests
    ]
    scores = iter(score_all(model, wanted, reporter, title=title))
    return [
        Answer(record.item, question, why=why)
        if why is not None
        else judged(record.item, question, [next(scores) for _ in question.requests])
        for record, question, why in zip(records, questions, reasons)
    ]


def judged(item: Item, question: Asked, scored: Sequence[Scored]) -> Answer:
    """The answer that these scores make."""
    totals = np.array([one.total for one in scored])
    tokens = tuple(len(one.logprobs) for one in scored)
    greedy = tuple(bool(one.greedy.all()) for one in scored)
    told: dict[str, Any] = {
        "loglikelihoods": tuple(totals.tolist()),
        "tokens": tokens,
        "greedy": greedy,
    }
    if not all(tokens):
        return Answer(item, question, why=_BLANK)
    if question.last_word:
        known = item.answer is not None
        return Answer(item, question, **told, acc=int(greedy[0]) if known else None)
    best = {
        "acc": int(np.argmax(totals)),
        "acc_norm": int(np.argmax(totals / np.array(question.lengths))),
        "acc_bytes": int(np.argmax(totals / np.array(question.sizes))),
    }
    told |= {"chosen": best["acc"], "chosen_norm": best["acc_norm"]}
    if item.answer is not None:
        told |= {name: int(place == item.answer) for name, place in best.items()}
    return Answer(item, question, **told)


def row(answer: Answer, source: str, signature: str) -> dict[str, Any]:
    """An answer as a record: what the item was, what was asked, what came back.

    The reader `choices` takes it for an item, so that whatever reads items reads answers.
    """
    item = answer.item
    own = {name: value for name, value in item.meta.items() if name not in ANSWERED}
    given = {
        "loglikelihoods": list(answer.loglikelihoods),
        "tokens": list(answer.tokens),
        "greedy": list(answer.greedy),
    }
    choice = {"chosen": answer.chosen, "chosen_norm": answer.chosen_norm}
    normal = {"acc_norm": answer.acc_norm, "acc_bytes": answer.acc_bytes}
    return {
        "id": item.id,
        "task": item.task,
        SOURCE: source,
        "model": signature,
        "context": item.context,
        "options": list(item.options),
        "ending": item.ending,
        "answer": item.answer,
        **{name: value for name, value in own.items() if name not in _ITEM},
        "asked": [[one.context, one.text] for one in answer.asked.requests],
        **(given if answer.why is None else {"unanswered": answer.why}),
        **(choice if answer.chosen is not None else {}),
        "acc": answer.acc,
        **(normal if answer.chosen is not None else {}),
    }


_ITEM = ("id", "task", "context", "options", "ending", "answer")


def _why_not(question: Asked, model: Model) -> str | None:
    """Why an item cannot be answered, before anybody is asked."""
    if any(not one.text.strip() for one in question.requests) or not all(question.lengths):
        return _BLANK
    longest = getattr(model, "limit", None)
    if longest is not None and any(_length(one, model) > longest for one in question.requests):
        return _LONG
    return None


def _length(one: Continuation, model: Model) -> int:
    """In tokens, with the one that a text begins with."""
    return model.length(one.context + one.text) + 1
