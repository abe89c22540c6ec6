"""Does a model recall the items? Attacks, and what they say where the truth is known.

Section 6 of Ruzzetti et al. (2026): do memorization scores explain which items are answered rightly
(regression, support vector machine, halves by score)? And the question behind it, where membership
is known: do they tell what the model was trained on from what it was not?
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.compare.clusters import numbered
from rote.core.errors import InputError, OptionError
from rote.core.metric import check_options, option
from rote.core.model import Model
from rote.core.progress import Reporter, Silent
from rote.core.result import Interval, Result
from rote.core.signature import Signature
from rote.corpus.items import Item, fingerprint
from rote.measure._groups import in_order
from rote.search.backends import Backend
from rote.studies._memorization import known, tables
from rote.studies._memorization.scores import Neighbours, Scores, score
from rote.studies._popularity.study import correctness, groups_of

METHOD = "jackknife (means), DeLong (AUC), Wilson (shares); twins belong together"


@dataclass(frozen=True, slots=True)
class MemorizationOptions:
    """What is scored, and what is known of the items."""

    k: float = option(0.2, "Share of the least likely tokens, for Min-K% and Min-K%++", short="-k")
    n: int = option(7, "Tokens in an n-gram, for the frequency in --corpus", short="-n")
    correct: str | None = option(
        None,
        "Field that says whether an item was answered rightly; results of `rote evaluate` have it "
        "as acc",
        metavar="FIELD",
    )
    member: str | None = option(
        None,
        "Field that says whether the model was trained on an item (true, or how often), or not",
        metavar="FIELD",
    )
    by: tuple[str, ...] = option(("task",), "Fields that make a group: task, kind, any other")
    false_alarms: float = option(0.01, "Share of non-members that may be taken for members")
    seed: int = option(0, "Seed of the folds and of the neighbours")
    interval: float = option(0.95, "Level of the intervals; 0 leaves them out")

    def __post_init__(self) -> None:
        check_options(self)
        if not 0 < self.k <= 1:
            raise OptionError(f"k is a share, above 0 and at most 1, not {self.k}")
        if self.n < 1:
            raise OptionError(f"n must be at least 1, not {self.n}")
        if not 0 < self.false_alarms < 1:
            raise OptionError(f"false_alarms is a share, above 0, not {self.false_alarms}")
        if not self.by:
            raise OptionError("items are grouped by at least one field, such as task")


@dataclass(frozen=True, slots=True)
class Study:
    """What the tables are made from. Groups are those of the items, the same for every model."""

    items: Sequence[Item]
    groups: Mapping[str, NDArray[np.int64]]
    scores: Mapping[str, Scores]
    """By the name of the model."""
    correct: NDArray[np.float64]
    member: NDArray[np.float64]
    frequencies: known.Frequencies | None
    bases: NDArray[np.int64]
    """Items with the same number are made from one another."""
    order: NDArray[np.int64]
    """The place of each item in an order that is not that of the file."""
    options: MemorizationOptions


def memorization(
    items: Sequence[Item],
    models: Mapping[str, Model],
    options: MemorizationOptions | None = None,
    *,
    neighbours: Neighbours | None = None,
    near: str = "none",
    backend: Backend | None = None,
    reporter: Reporter | None = None,
) -> Result:
    """Score every item by every attack; `near` names whoever makes the neighbours."""
    options, reporter = options or MemorizationOptions(), reporter or Silent()
    if not items:
        raise InputError("there are no items", remedy="Give files that hold some")
    # What is wrong with the items is said before a model is asked.
    groups = in_order(groups_of(items, options.by))
    correct = np.array([correctness(item, options.correct) for item in items])
    member = np.array(
        [known.member(item, options.member) if options.member else np.nan for item in items]
    )
    scores = {
        name: score(items, model, options.k, neighbours, reporter) for name, model in models.items()
    }
    right = next(iter(scores.values())).right
    frequencies = known.frequencies(items, right, backend, options.n, reporter) if backend else None
    names = [(item.base, item.id, *item.instances()) for item in items]
    order = np.empty(len(items), np.int64)
    order[sorted(range(len(items)), key=names.__getitem__)] = np.arange(len(items))
    bases = numbered([item.base for item in items])
    study = Study(items, groups, scores, correct, member, frequencies, bases, order, options)
    return Result(
        measure="memorization",
        signature=Signature.of(
            {
                "measure": "memorization",
                "models": [model.signature for model in models.values()],
                "k": options.k,
                "neighbours": near,
                "correct": options.correct or "acc",
                "member": options.member or "unknown",
                "corpus": backend.signature if backend else "none",
                "n": options.n,
                "seed": options.seed,
                "by": options.by,
                "items": fingerprint(items),
            }
        ),
        by=("model", *options.by),
        reference=None,
        interval=Interval(options.interval, METHOD) if options.interval else None,
        sources=tables.sources(study),
        tables=tables.all_tables(study),
        notes=(*tables.notes(study), *_twice(items, groups)),
    )


def _twice(items: Sequence[Item], groups: Mapping[str, NDArray[np.int64]]) -> Iterator[str]:
    """Answers of several models in one file would be held against the scores of each."""
    count = sum(
        len(own) - len({(items[i].task, items[i].id) for i in own.tolist()})
        for own in groups.values()
    )
    if count:
        yield (
            f"{count:,} items of a group stand more than once (same task and id). Answers of "
            "several models do not go together: give those of the model that is scored"
        )
