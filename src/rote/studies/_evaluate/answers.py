"""The answers of a model, and whether they are right.

several options:  chosen = argmax of log p(option | context), the first of equal ones
                  acc: chosen is the answer; acc_norm: the same, each divided by the option's
                  characters; acc_bytes: by its bytes (UTF-8)
one option:       acc: every token of it is the likeliest one where it stands (greedy decoding
                  would write it)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rote.core.errors import InputError
from rote.core.model import Continuation, Model, Scored
from rote.core.progress import Reporter
from rote.corpus.items import Item, Record
from rote.corpus.items.lm_eval import requests as logged
from rote.models.answers import score_all

VERSION = "lm-evaluation-harness-0.4.13/1"
_BETWEEN = " "
"""What the harness puts between a context and an option."""
_JOINED_BY = {"cause": "because", "effect": "therefore"}
_ASKS = ("question", "asks_for")
"""The field of COPA that says what is asked for: in SuperGLUE, and in Balanced COPA."""
Fields = Mapping[str, Any]
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Asked:
    """One request for each option.

    `lengths` and `sizes` are the characters and bytes of the options, by which log-likelihoods
    are divided for `acc_norm` and `acc_bytes`.
    """

    requests: tuple[Continuation, ...]
    lengths: tuple[int, ...]
    sizes: tuple[int, ...]

    @property
    def last_word(self) -> bool:
        """Whether there is nothing to choose from: the text has to be the likeliest one."""
        return len(self.requests) == 1


def asked(record: Record) -> Asked:
    """What is asked about the item of a record."""
    pairs, options = _FORMS.get(record.form, _choices)(record.fields, record.item)
    return Asked(
        tuple(_apart(context, text) for context, text in pairs),
        tuple(len(option) for option in options),
        tuple(len(option.encode("utf-8", "surrogatepass")) for option in options),
    )


def _apart(context: str, text: str) -> Continuation:
    """Spaces at the end of a context belong to what follows: tokens begin with a space."""
    bare = context.rstrip()
    return Continuation(bare, context[len(bare) :] + text)


def _after(context: str, options: Sequence[str]) -> tuple[list[Pair], list[str]]:
    return [(context, _BETWEEN + option) for option in options], list(options)


def _copa(fields: Fields, item: Item) -> tuple[list[Pair], list[str]]:
    asks = next((fields[name] for name in _ASKS if name in fields), None)
    if asks not in _JOINED_BY:
        raise InputError(
            f"the item '{item.id}' of copa does not say what it asks for ({asks!r})",
            field=_ASKS[0],
            remedy="It is cause or effect",
        )
    # The full stop goes, the choice begins in lower case, and its space is one of its own.
    options = [_BETWEEN + option[:1].lower() + option[1:] for option in item.options]
    return _after(f"{str(fields['premise']).strip()[:-1]} {_JOINED_BY[asks]}", options)


def _filled(context: str, options: Sequence[str], rest: str) -> tuple[list[Pair], list[str]]:
    return [(context + option, rest) for option in options], [rest] * len(options)


def _choices(fields: Fields, item: Item) -> tuple[list[Pair], list[str]]:
    """Items of any other test, as they stand."""
    if item.ending.strip():
        return _filled(item.context, item.options, item.ending)
    return [(item.context, option) for option in item.options], list(item.options)


def _logs(fields: Fields, item: Item) -> tuple[list[Pair], list[str]]:
    """The requests of a log once more."""
    pairs = logged(fields["arguments"])
    if len(pairs) == 1 and not pairs[0][1]:  # generated then: now the target is scored
        pairs = [(item.context, item.options[0])]
    return pairs, [text.removeprefix(_BETWEEN) for _, text in pairs]


_FORMS: dict[str, Callable[[Fields, Item], tuple[list[Pair], list[str]]]] = {
    "blimp": lambda fields, item: _after("", item.options),
    "copa": _copa,
    "lambada": lambda fields, item: _after(str(fields["context"]), item.options),
    "lm-eval": _logs,
    "piqa": lambda fields, item: _after(f"Question: {fields['goal']}\nAnswer:", item.options),
    # Partial evaluation: the option occurs in the context, and the rest of the sentence, the same
    # for all options, is scored.
    "winogrande": lambda fields, item: _filled(
        item.context, item.options, _BETWEEN + item.ending.strip()
    ),
}


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
    told = {name: getattr(answer, name) for name in ("chosen", "chosen_norm", "acc")}
    told |= {name: getattr(answer, name) for name in ("acc_norm", "acc_bytes")}
    given = {name: list(getattr(answer, name)) for name in ("loglikelihoods", "tokens", "greedy")}
    return {
        "id": item.id,
        "task": item.task,
        SOURCE: source,
        "model": signature,
        "context": item.context,
        "options": list(item.options),
        "ending": item.ending,
        "answer": item.answer,
        **{k: v for k, v in item.meta.items() if k not in (*ANSWERED, *_ITEM)},
        "asked": [[one.context, one.text] for one in answer.asked.requests],
        **(given if answer.why is None else {"unanswered": answer.why}),
        **(told if answer.chosen is not None else {"acc": answer.acc}),
    }


_ITEM = ("id", "task", "context", "options", "ending", "answer")


def _why_not(question: Asked, model: Model) -> str | None:
    """Why an item cannot be answered, before anybody is asked."""
    if any(not one.text.strip() for one in question.requests) or not all(question.lengths):
        return _BLANK
    longest = getattr(model, "limit", None)
    # In tokens, with the one that a text begins with.
    lengths = (model.length(one.context + one.text) + 1 for one in question.requests)
    return _LONG if longest is not None and max(lengths) > longest else None
