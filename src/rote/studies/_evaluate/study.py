"""How well models do on test items: accuracy with intervals, perplexity, baselines, tests.

The rules are those of lm-evaluation-harness (Gao et al.), whose numbers come out on the same model
and items; docs/evaluate.md says how that was checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rote.core.errors import InputError, OptionError
from rote.core.metric import check_options, option
from rote.core.model import Model
from rote.core.progress import Reporter, Silent
from rote.core.result import Interval, Result
from rote.core.signature import Signature
from rote.corpus.items import Record, fingerprint
from rote.studies._evaluate import tables
from rote.studies._evaluate.answers import ANSWERED, answer_all, row
from rote.studies._evaluate.prompts import VERSION

METHOD = "Wilson (accuracy), normal on the mean log-likelihood (perplexity); twins belong together"
SOURCE = "source"


@dataclass(frozen=True, slots=True)
class EvaluateOptions:
    """How answers are grouped."""

    by: tuple[str, ...] = option(
        ("task",),
        "Fields that make a group: task, kind (formal, functional), source (the model), paradigm, "
        "any other; several models are groups of their own",
    )
    interval: float = option(0.95, "Level of the intervals; 0 leaves them out")

    def __post_init__(self) -> None:
        check_options(self)
        if not self.by:
            raise OptionError("items are grouped by at least one field, such as task")


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The result, and a record for each model and item."""

    result: Result
    rows: list[dict[str, Any]]


def evaluate(
    records: Sequence[Record],
    models: Mapping[str, Model],
    options: EvaluateOptions | None = None,
    *,
    reporter: Reporter | None = None,
) -> Evaluation:
    """Put every item to every model; models are told apart by the names that they are given."""
    options, reporter = options or EvaluateOptions(), reporter or Silent()
    if not records:
        raise InputError("there are no items", remedy="Give files that hold some")
    if not models:
        raise OptionError("who is asked? Name at least one model")
    check_fields(records, options.by)
    rows = [
        row(answer, name, model.signature)
        for name, model in models.items()
        for answer in answer_all(records, model, reporter, title=f"answering ({name})")
    ]
    by = options.by
    if len(models) > 1 and SOURCE not in by:
        by = (SOURCE, *by)
    groups = tables.grouped(rows, by)
    sources = {name: tables.source(own, options.interval) for name, own in groups.items()}
    return Evaluation(
        Result(
            measure="evaluate",
            signature=_signature(records, models, by),
            by=by,
            reference=None,
            interval=Interval(options.interval, METHOD) if options.interval else None,
            sources=sources,
            tables={
                "values": tables.described(sources),
                "models": [
                    {SOURCE: name, "model": model.signature} for name, model in models.items()
                ],
                "groups": [
                    {"group": name, **{field: own[0][field] for field in by}}
                    for name, own in groups.items()
                ],
                "tests": tables.tests(rows, by),
                "unanswered": tables.unanswered(rows),
            },
            notes=tuple(tables.notes(rows)),
        ),
        rows,
    )


def check_fields(records: Sequence[Record], by: Sequence[str]) -> None:
    """Refuse a group that not all items belong to, before anybody is asked."""
    for field in by:
        if field in ("task", SOURCE):
            continue
        if field in ANSWERED:
            raise OptionError(f"--by {field}: items are grouped by what they are, not by answers")
        for record in records:
            if field not in record.item.meta:
                raise InputError(
                    f"the item '{record.item.id}' of {record.item.task} has no such field, only "
                    f"{', '.join(('task', SOURCE, *record.item.meta))}",
                    field=field,
                    remedy="--by names a field that all items have",
                )


def _signature(
    records: Sequence[Record], models: Mapping[str, Model], by: Sequence[str]
) -> Signature:
    return Signature.of(
        {
            "measure": "evaluate",
            "prompts": VERSION,
            "shots": 0,
            "models": tuple(model.signature for model in models.values()),
            "forms": tuple(dict.fromkeys(record.form for record in records)),
            "by": by,
            "items": fingerprint(record.item for record in records),
        }
    )
