"""What a model is asked about an item: for each option a text, and what stands before it.

The five benchmarks are asked as lm-evaluation-harness (version 0.4.13) asks them, without examples
before the question, so that the numbers can be put beside published ones. Its habits are kept, the
odd ones too: sentences of BLiMP begin with a space, COPA has two spaces before an option.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rote.core.errors import InputError
from rote.core.model import Continuation
from rote.corpus.items import Item, Record
from rote.corpus.items.lm_eval import requests as logged

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


def _blimp(fields: Fields, item: Item) -> tuple[list[Pair], list[str]]:
    return _after("", item.options)


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


def _piqa(fields: Fields, item: Item) -> tuple[list[Pair], list[str]]:
    return _after(f"Question: {fields['goal']}\nAnswer:", item.options)


def _winogrande(fields: Fields, item: Item) -> tuple[list[Pair], list[str]]:
    """Partial evaluation: the option stands in the context, and the rest of the sentence, the
    same for all options, is scored."""
    return _filled(item.context, item.options, _BETWEEN + item.ending.strip())


def _filled(context: str, options: Sequence[str], rest: str) -> tuple[list[Pair], list[str]]:
    return [(context + option, rest) for option in options], [rest] * len(options)


def _lambada(fields: Fields, item: Item) -> tuple[list[Pair], list[str]]:
    return _after(str(fields["context"]), item.options)


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
    "blimp": _blimp,
    "copa": _copa,
    "piqa": _piqa,
    "winogrande": _winogrande,
    "lambada": _lambada,
    "lm-eval": _logs,
}
