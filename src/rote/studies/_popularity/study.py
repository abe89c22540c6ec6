"""Do models answer better what is popular in a corpus? Ruzzetti et al. (2026), section 4.

    two options and more:  score = IPS(right) - mean IPS(wrong)
    a single option:       score = IPS(right)
    variant paper:         score = (IPS(right) - mean IPS(wrong)) / IPS(right)

Ruzzetti, Zanzotto and Caselli, "Lexical Popularity: Quantifying the Impact of Pre-training for LLM
Performance". Items are put into a low and a high half by the median of the score within their task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rote.compare.clusters import numbered
from rote.core.errors import InputError, OptionError
from rote.core.facets import JOINT
from rote.core.metric import check_options, option
from rote.core.progress import Reporter, Silent
from rote.core.result import Interval, Result
from rote.core.signature import Signature
from rote.corpus.items import Item, fingerprint
from rote.search.backends import Backend
from rote.studies._popularity import tables
from rote.studies._popularity.accuracy import halves, tenths
from rote.studies._popularity.deciles import Scale
from rote.studies._popularity.scores import Scored, score

METHOD = "Wilson (shares), Newcombe (their difference), jackknife (means); twins belong together"
CORRECTNESS = ("acc", "exact_match", "acc_norm")
"""Fields that say whether an item was answered rightly, as lm-evaluation-harness names them."""


@dataclass(frozen=True, slots=True)
class PopularityOptions:
    """What is scored, and how items are grouped."""

    n: int = option(7, "Tokens in an n-gram", short="-n")
    correct: str | None = option(
        None,
        "Field that says whether an item was answered rightly (true or 1, false or 0); logs of "
        "lm-evaluation-harness have it as acc",
        metavar="FIELD",
    )
    by: tuple[str, ...] = option(
        ("task",), "Fields that make a group: task, kind (formal, functional), source, any other"
    )
    deciles: Path | None = option(
        None, "Deciles of the original items, to be applied unchanged", metavar="FILE"
    )
    save_deciles: Path | None = option(
        None,
        "Write the deciles there, for items made from these (.json)",
        metavar="FILE",
        writes=(".json",),
    )
    variant: Literal["exact", "paper"] = option(
        "exact",
        "score of an item with several options: how much more popular the right one is (exact), or "
        "that divided by its popularity (paper), whose mean is biased below 0",
    )
    max_undefined: float = option(0.1, "Largest share of instances that may be shorter than n")
    interval: float = option(0.95, "Level of the intervals; 0 leaves them out")

    def __post_init__(self) -> None:
        check_options(self)
        if not 0 <= self.max_undefined <= 1:
            raise OptionError(f"max_undefined is a share, 0 to 1, not {self.max_undefined}")
        if not self.by:
            raise OptionError("items are grouped by at least one field, such as task")


@dataclass(frozen=True, slots=True)
class Study:
    """All that the tables are made from: per item its scores, its half, whether it was right."""

    items: Sequence[Item]
    scored: Scored
    first: NDArray[np.int64]
    """Which instance is the first of each item."""
    right: NDArray[np.float64]
    wrong: NDArray[np.float64]
    bases: NDArray[np.int64]
    """Items with the same number are made from one another."""
    scores: NDArray[np.float64]
    half: NDArray[np.int64]
    tenth: NDArray[np.int64]
    correct: NDArray[np.float64]
    groups: dict[str, NDArray[np.int64]]
    options: PopularityOptions


def popularity(
    items: Sequence[Item],
    backend: Backend,
    options: PopularityOptions | None = None,
    *,
    reporter: Reporter | None = None,
) -> Result:
    """How popular items are in a corpus, and how well the popular ones are answered."""
    options = options or PopularityOptions()
    if not items:
        raise InputError("there are no items", remedy="Give files that hold some")
    groups = groups_of(items, options.by)
    correct = np.array([correctness(item, options.correct) for item in items])
    given = Scale.read(options.deciles) if options.deciles else None
    scored = score(
        [instance for item in items for instance in item.instances()],
        [item.task for item in items for _ in item.options],
        backend,
        options.n,
        scale=given,
        max_undefined=options.max_undefined,
        reporter=reporter or Silent(),
    )
    if options.save_deciles:
        scored.scale.write(options.save_deciles)
    study = _study(items, scored, correct, groups, options)
    return Result(
        measure="popularity",
        signature=_signature(items, backend, options, given),
        by=options.by,
        reference=None,
        interval=Interval(options.interval, METHOD) if options.interval else None,
        sources=tables.sources(study),
        tables=tables.all_tables(study),
        notes=tuple(tables.notes(study)),
    )


def _study(
    items: Sequence[Item],
    scored: Scored,
    correct: NDArray[np.float64],
    groups: dict[str, NDArray[np.int64]],
    options: PopularityOptions,
) -> Study:
    sizes = np.array([len(item.options) for item in items])
    first = np.concatenate(([0], np.cumsum(sizes)))[:-1]
    right = np.full(len(items), np.nan)
    wrong = np.full(len(items), np.nan)
    for number, item in enumerate(items):
        if item.answer is not None:
            own = scored.ips[first[number] : first[number] + sizes[number]]
            right[number] = own[item.answer]
            if len(own) > 1:
                wrong[number] = np.delete(own, item.answer).mean()
    gap = (right - wrong) / right if options.variant == "paper" else right - wrong
    scores = np.where(sizes > 1, gap, right)
    tasks = np.unique([item.task for item in items], return_inverse=True)[1]
    return Study(
        items=items,
        scored=scored,
        first=first,
        right=right,
        wrong=wrong,
        bases=numbered([item.base for item in items]),
        scores=scores,
        half=halves(scores, tasks),
        tenth=tenths(scores, tasks),
        correct=correct,
        groups=groups,
        options=options,
    )


def groups_of(items: Sequence[Item], by: Sequence[str]) -> dict[str, NDArray[np.int64]]:
    """Which items have the same fields, under the fields' values."""
    found: dict[str, list[int]] = {}
    for number, item in enumerate(items):
        name = JOINT.join(str(field_of(item, field, "--by")) for field in by)
        found.setdefault(name, []).append(number)
    return {name: np.array(own) for name, own in found.items()}


def field_of(item: Item, field: str, flag: str) -> Any:
    """A field of an item, named by a flag."""
    if field == "task":
        return item.task
    if field not in item.meta:
        raise InputError(
            f"the item '{item.id}' of {item.task} has no such field, only "
            f"{', '.join(('task', *item.meta))}",
            field=field,
            remedy=f"{flag} names a field that all items have",
        )
    return item.meta[field]


def correctness(item: Item, column: str | None) -> float:
    """1 where an item was answered rightly, 0 where not; nan where no field says it, or it is
    empty."""
    if column is None:
        known = (item.meta[name] for name in CORRECTNESS if name in item.meta)
        value = next(known, None)
    else:
        value = field_of(item, column, "--correct")
    if value is None or value == "":
        return np.nan
    said = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0, "1.0": 1.0, "0.0": 0.0}
    if str(value).strip().lower() not in said:
        raise InputError(
            f"the item '{item.id}' of {item.task} holds {value!r}: right is true or 1, wrong is "
            "false or 0",
            field=column or "acc",
        )
    return said[str(value).strip().lower()]


def _signature(
    items: Sequence[Item], backend: Backend, options: PopularityOptions, given: Scale | None
) -> Signature:
    return Signature.of(
        {
            "measure": "popularity",
            "n": options.n,
            "backend": backend.name,
            "tokenizer": backend.tokenizer,
            "index": backend.index,
            "count": backend.count,
            "deciles": "own" if given is None else given.fingerprint,
            "correct": options.correct or "acc",
            "variant": options.variant,
            "by": options.by,
            "items": fingerprint(items),
        }
    )
