"""Evaluate language models on test items.

ITEMS are benchmarks (BLiMP, LAMBADA, COPA, PIQA, WinoGrande), sample logs of
lm-evaluation-harness, or records with context, options and answer. Options are compared by
log-likelihood, without examples before the question unless --shots asks for some:

\b
  rote evaluate piqa.jsonl --model numpy:FOLDER -o answers.jsonl
  rote evaluate blimp.jsonl copa.jsonl --model small=transformers:gpt2,large=transformers:gpt2-xl
  rote evaluate piqa.jsonl --model numpy:FOLDER --shots 5 --train piqa.train.jsonl
  rote popularity answers.jsonl --corpus IDX -n 4

Answers are saved: an interrupted run resumes where it stopped.

The rules are those of lm-evaluation-harness (Gao et al.), whose numbers come out on the same model
and items.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from rote.core.errors import OptionError
from rote.core.metric import check_options, handle, is_given, lines_option, option, unsigned_option
from rote.core.progress import several
from rote.core.record import Call, Findings, Study
from rote.corpus.items import ItemOptions, ItemRecord, fingerprint, take_items
from rote.models.options import ModelOptions
from rote.studies import _evaluation
from rote.studies._evaluation import CHARTS, LAYOUT, SEED, SOURCE
from rote.studies._items import check_by, describe_values, items_by_group

METHOD = (
    "Wilson (accuracy), normal on the mean log-likelihood (perplexity); twins are kept together"
)


@dataclass(frozen=True, slots=True)
class Options:
    """Who is asked, how answers are grouped, and where they go."""

    model: tuple[str, ...] = handle(
        (),
        "Models that answer: numpy:FOLDER, transformers:NAME, openai:URL#NAME, index:FOLDER; "
        "NAME=MODEL names a model",
        "M1,M2,...",
    )
    by: tuple[str, ...] = option(
        ("task",),
        "Fields to group by: task, kind (formal, functional), source (the model), paradigm, any "
        "other; several models are separate groups",
    )
    limit: int = unsigned_option(
        0, "Maximum number of items per task, from the first on; 0: all", least=0
    )
    shots: int = unsigned_option(
        0, "Few-shot examples before each item, from its task", least=0, most=100
    )
    train: tuple[Path, ...] = handle(
        (),
        "Items to draw examples from, such as the training split; default: the other items",
        "FILE,...",
        takes="items",
    )
    seed: int = unsigned_option(SEED, "The seed of that draw", least=0)
    write: Path | None = lines_option(
        None,
        "Write the answers to this file, one record per model and item (JSON Lines); -o with the "
        "ending .jsonl does the same",
    )
    interval: float = unsigned_option(0.95, "Confidence level of the intervals; 0: no intervals")

    def __post_init__(self) -> None:
        check_options(self)
        check_by(self.by)
        if not self.model:
            raise OptionError("no model: name at least one with --model")


def run(call: Call) -> Findings:
    """Put every item to every model; models are told apart by the names that they are given."""
    from rote.search.open_models import open_models

    options, by = call.options, call.options.by
    counts: Counter[str] = Counter()
    records: list[ItemRecord] = []
    for record in call.inputs:
        counts[record.item.task] += 1
        if not options.limit or counts[record.item.task] <= options.limit:
            records.append(record)
    items = [record.item for record in records]
    # What is wrong with the groups is said before anybody is asked.
    item_fields = [field for field in by if field != SOURCE]
    if answer_fields := [field for field in item_fields if field in _evaluation.ANSWER_FIELDS]:
        raise OptionError(
            f"--by {answer_fields[0]}: items are grouped by what they are, not by answers"
        )
    items_by_group(items, item_fields)
    examples: list[str] = []
    pool: list[ItemRecord] = []
    if options.shots:
        # Which items are asked says nothing about where examples come from.
        chosen = replace(call.of(ItemOptions), where=())
        if is_given(options.train):
            pool = take_items(options.train, chosen, call.reporter, called="train")
        examples = _evaluation.draw_examples(records, pool, options.shots, options.seed)
    elif is_given(options.train):
        raise OptionError("--train gives examples: set their number with --shots")
    models = open_models(options.model, call.of(ModelOptions), call.reporter)
    rows = [
        _evaluation.answer_record(answer, name, model.signature)
        for name, model in models.items()
        for answer in _evaluation.answer_all(
            records, model, call.reporter, title=f"answering ({name})", examples=examples
        )
    ]
    if len(models) > 1 and SOURCE not in by:
        by = (SOURCE, *by)
    groups = _evaluation.rows_by_group(rows, by)
    level = options.interval
    sources = {name: _evaluation.source_result(group, level) for name, group in groups.items()}
    values = {name for source in sources.values() for name in source.values}
    drawing = {"seed": options.seed, "train": fingerprint([r.item for r in pool or records])}
    return Findings(
        sources=sources,
        values=describe_values(
            {name: title for name, title in _evaluation.TITLES.items() if name in values},
            higher=_evaluation.HIGHER,
            shares=("accuracy",),
        ),
        by=by,
        signed={
            "by": by,
            "prompts": _evaluation.VERSION,
            "shots": options.shots,
            **(drawing if options.shots else {}),
            "models": [model.signature for model in models.values()],
            "forms": tuple(dict.fromkeys(record.form for record in records)),
            "items": fingerprint(items),
        },
        tables={
            "models": [{SOURCE: n, "model": model.signature} for n, model in models.items()],
            "groups": [
                {"group": name, **{field: group[0][field] for field in by}}
                for name, group in groups.items()
            ],
            "tests": _evaluation.compare_models(rows, by),
            "unanswered": [
                {**{name: row[name] for name in (SOURCE, "task", "id")}, "why": row["unanswered"]}
                for row in rows
                if "unanswered" in row
            ],
        },
        method=METHOD,
        notes=tuple(_evaluation.notes(rows)),
        records=rows,
    )


def _method(settings: Mapping[str, str]) -> str:
    shots = int(settings.get("shots", 0))
    examples = f"with {several(shots, 'example')}" if shots else "without examples"
    return (
        f"Each model answers by the option with the highest log-likelihood, {examples} before the "
        f"question (prompts: {settings['prompts']})"
    )


STUDY = Study(
    name="evaluate",
    title="Evaluation",
    says="Accuracy of models on test items.",
    takes="items",
    metavar="ITEMS...",
    options=Options,
    more=(ItemOptions, ModelOptions),
    run=run,
    citation="Gao et al. (2023), A Framework for Few-Shot Language Model Evaluation",
    section="items",
    layout=LAYOUT,
    charts=CHARTS,
    method=_method,
    report=lambda context: context.lacks("model") or {"model": context.model},
)
