"""Answers from files of their own, brought together with the items that they answer.

Records of `rote evaluate` and logs of lm-evaluation-harness number items each in their own way, and
a log has its prompt around the question. So an answer belongs to the item whose question it holds,
word for word without case and marks; where several items ask the same, options and ids decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rote.annotate.folded_words import fold_text
from rote.corpus.items import Item
from rote.studies._items import correctness

ITEMS = "items"
"""The source of answers that the items hold themselves."""
_TAIL = 8


def right_answers(
    items: Sequence[Item], answers: Sequence[Item]
) -> tuple[dict[str, NDArray[np.float64]], int]:
    """Of each source 1, 0 or nan for every item; and how many answers belong to no item."""
    found: dict[str, NDArray[np.float64]] = {}
    own = np.array([correctness(item, None) for item in items])
    if not np.isnan(own).all():
        found[ITEMS] = own
    asked = _Asked(items)
    lost = 0
    for answer in answers:
        value, number = correctness(answer, None), asked.item(answer)
        if number is None:
            lost += 1
            continue
        source = str(answer.meta.get("source", answer.task))
        found.setdefault(source, np.full(len(items), np.nan))[number] = value
    return found, lost


class _Asked:
    """Which item a text asks for."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = items
        self._questions: list[tuple[str, ...]] = [()] * len(items)
        self._tails: dict[tuple[str, ...], list[int]] = {}
        for number, item in enumerate(items):
            # A sentence with a gap is asked with its gap filled.
            words = tuple(fold_text(item.question or next(iter(item.instances()), "")))
            self._questions[number] = words
            self._tails.setdefault(words[-_TAIL:], []).append(number)
        self._lengths = sorted({len(tail) for tail in self._tails if tail}, reverse=True)

    def item(self, answer: Item) -> int | None:
        """The item that is asked last; none where it cannot be told."""
        words = tuple(fold_text((answer.instances() or [answer.context])[0]))
        best: dict[int, int] = {}
        for number, end in self._ends(words):
            size = len(self._questions[number])
            if words[max(0, end - size) : end] == self._questions[number]:
                best[number] = max(best.get(number, 0), end)
        last = max(best.values(), default=0)
        # A question may end with another one: the longer one was asked.
        several = [number for number, end in best.items() if end == last]
        longest = max((len(self._questions[number]) for number in several), default=0)
        several = [n for n in several if len(self._questions[n]) == longest]
        for tell in (_same_options, _same_id):
            if len(several) > 1:
                several = [n for n in several if tell(self._items[n], answer)] or several
        return several[0] if len(several) == 1 else None

    def _ends(self, words: tuple[str, ...]) -> Iterator[tuple[int, int]]:
        for length in self._lengths:
            for start in range(len(words) - length + 1):
                for number in self._tails.get(words[start : start + length], ()):
                    yield number, start + length


def _same_options(item: Item, answer: Item) -> bool:
    def options(one: Item) -> set[tuple[str, ...]]:
        return {tuple(fold_text(option)) for option in one.options}

    return options(item) == options(answer)


def _same_id(item: Item, answer: Item) -> bool:
    return (item.task, item.id) == (answer.task, answer.id)


def unanswered(found: Mapping[str, NDArray[np.float64]]) -> int:
    """Items to which no source has an answer."""
    return int(np.all([np.isnan(own) for own in found.values()], axis=0).sum()) if found else 0
