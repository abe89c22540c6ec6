"""Items put to models before and after they were perturbed, asked alike both times."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rote.core.model import Model
from rote.core.progress import Reporter
from rote.corpus.items import Item, Record
from rote.curate._perturb.records import written
from rote.studies._evaluate.answers import ANSWERED, Answer, answer_all, row
from rote.studies._perturb.checks import Floats

ORIGINAL = "original"
_LOGS, _CHOICES = "lm-eval", "choices"


@dataclass(frozen=True, slots=True)
class Told:
    """What a model answered before and after, item by item.

    `pos` says what was replaced (`noun,verb`); `before` and `after` are 1, 0 or nan; `words` are
    the log-likelihoods of last words, nan for items with something to choose from.
    """

    source: str
    pos: str
    before: Floats
    after: Floats
    words_before: Floats
    words_after: Floats


@dataclass(frozen=True, slots=True)
class Answers:
    """What all models answered, and every answer as a record."""

    told: tuple[Told, ...]
    rows: list[dict[str, Any]]
    signatures: Mapping[str, str]


def ask(
    models: Mapping[str, Model],
    records: Sequence[Record],
    perturbed: Mapping[str, Sequence[Record]],
    reporter: Reporter,
) -> Answers:
    """Every model on the originals, and on the items of each kind of perturbation."""
    told: list[Told] = []
    rows: list[dict[str, Any]] = []
    for name, model in models.items():
        first = answer_all(records, model, reporter, title=f"originals ({name})")
        rows += _rows(first, name, model, ORIGINAL)
        for pos, others in perturbed.items():
            second = answer_all(others, model, reporter, title=f"{pos} perturbed ({name})")
            rows += _rows(second, name, model, pos)
            told.append(Told(name, pos, _acc(first), _acc(second), _words(first), _words(second)))
    signatures = {name: model.signature for name, model in models.items()}
    return Answers(tuple(told), rows, signatures)


def in_place(records: Sequence[Record], items: Sequence[Item]) -> list[Record]:
    """The records with the texts of other items, to be asked as the originals are."""
    return [
        Record(
            _CHOICES if record.form == _LOGS else record.form,
            written(record, item, ANSWERED),
            item,
        )
        for record, item in zip(records, items)
    ]


def _rows(answers: Sequence[Answer], name: str, model: Model, pos: str) -> Iterator[dict[str, Any]]:
    for answer in answers:
        yield {**row(answer, name, model.signature), "perturbed": pos}


def _acc(answers: Sequence[Answer]) -> Floats:
    return np.array([math.nan if one.acc is None else float(one.acc) for one in answers])


def _words(answers: Sequence[Answer]) -> Floats:
    return np.array(
        [
            one.loglikelihoods[0] if one.asked.last_word and one.why is None else math.nan
            for one in answers
        ]
    )
