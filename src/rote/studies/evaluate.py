"""Put test items to language models, and say how well they do.

ITEMS are benchmarks (BLiMP, LAMBADA, COPA, PIQA, WinoGrande), sample logs of
lm-evaluation-harness, or records with context, options and answer. Options are compared by
log-likelihood, without examples before the question:

\b
  rote evaluate piqa.jsonl --model numpy:FOLDER -o answers.jsonl
  rote evaluate blimp.jsonl copa.jsonl --model small=transformers:gpt2,large=transformers:gpt2-xl
  rote popularity answers.jsonl --corpus IDX -n 4

Answers are kept: a run that was interrupted goes on where it stopped.

The rules are those of lm-evaluation-harness (Gao et al.), whose numbers come out on the same model
and items.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rote.core.errors import OptionError
from rote.core.metric import check_options, handle, option, unsigned
from rote.core.record import LINES, Call, Findings, Study
from rote.corpus.items import ItemOptions, Record, fingerprint
from rote.models.options import ModelOptions
from rote.studies._evaluate import tables
from rote.studies._evaluate.answers import ANSWERED, SOURCE, VERSION, answer_all, row
from rote.studies._evaluate.tables import CHARTS, LAYOUT
from rote.studies._items import check_by, described, groups_of

METHOD = "Wilson (accuracy), normal on the mean log-likelihood (perplexity); twins belong together"


@dataclass(frozen=True, slots=True)
class Options:
    """Who is asked, how answers are grouped, and where they go."""

    model: tuple[str, ...] = handle(
        (),
        "Models that answer: numpy:FOLDER, transformers:NAME, openai:URL#NAME, index:FOLDER; "
        "NAME=MODEL gives one a name of its own",
        "M1,M2,...",
    )
    by: tuple[str, ...] = option(
        ("task",),
        "Fields that make a group: task, kind (formal, functional), source (the model), paradigm, "
        "any other; several models are groups of their own",
    )
    limit: int = option(
        0, "Take the first items of each task, at most this many; 0: all", least=0, sign=unsigned
    )
    write: Path | None = option(
        None,
        "Write the answers there, a record for each model and item (JSON Lines); -o with the "
        "ending .jsonl does the same",
        metavar="FILE",
        writes=LINES,
        sign=unsigned,
    )
    interval: float = option(0.95, "Level of the intervals; 0 leaves them out", sign=unsigned)

    def __post_init__(self) -> None:
        check_options(self)
        check_by(self.by)
        if not self.model:
            raise OptionError("who is asked? --model names at least one model")


def run(call: Call) -> Findings:
    """Put every item to every model; models are told apart by the names that they are given."""
    from rote.measure._speaking import open_models

    options, by = call.options, call.options.by
    records = list(_first(call.inputs, options.limit))
    items = [record.item for record in records]
    # What is wrong with the groups is said before anybody is asked.
    own = [field for field in by if field != SOURCE]
    if told := [field for field in own if field in ANSWERED]:
        raise OptionError(f"--by {told[0]}: items are grouped by what they are, not by answers")
    groups_of(items, own)
    models = open_models(options.model, call.of(ModelOptions), call.reporter)
    rows = [
        row(answer, name, model.signature)
        for name, model in models.items()
        for answer in answer_all(records, model, call.reporter, title=f"answering ({name})")
    ]
    if len(models) > 1 and SOURCE not in by:
        by = (SOURCE, *by)
    groups = tables.grouped_rows(rows, by)
    sources = {name: tables.source(group, options.interval) for name, group in groups.items()}
    signatures = [model.signature for model in models.values()]
    return Findings(
        sources=sources,
        values=described(
            {
                n: t
                for n, t in tables.TITLES.items()
                if any(n in s.values for s in sources.values())
            },
            higher=tables.HIGHER,
            shares=("accuracy",),
        ),
        by=by,
        signed={
            "by": by,
            "prompts": VERSION,
            "shots": 0,
            "models": signatures,
            "forms": tuple(dict.fromkeys(record.form for record in records)),
            "items": fingerprint(items),
        },
        tables={
            "models": [
                {SOURCE: name, "model": signature} for name, signature in zip(models, signatures)
            ],
            "groups": [
                {"group": name, **{field: group[0][field] for field in by}}
                for name, group in groups.items()
            ],
            "tests": tables.tests(rows, by),
            "unanswered": tables.unanswered(rows),
        },
        method=METHOD,
        notes=tuple(tables.notes(rows)),
        records=rows,
    )


def _first(records: Sequence[Record], limit: int) -> Iterator[Record]:
    """So many of each task; all where there is no limit."""
    taken: Counter[str] = Counter()
    for record in records:
        taken[record.item.task] += 1
        if not limit or taken[record.item.task] <= limit:
            yield record


STUDY = Study(
    name="evaluate",
    title="Evaluation",
    says="How well models do on test items.",
    takes="items",
    metavar="ITEMS...",
    options=Options,
    more=(ItemOptions, ModelOptions),
    run=run,
    citation="Gao et al. (2023), A Framework for Few-Shot Language Model Evaluation",
    section="items",
    layout=LAYOUT,
    charts=CHARTS,
    method=lambda settings: (
        "Each model answers by the option with the highest log-likelihood, without examples before "
        f"the question (prompts: {settings['prompts']})"
    ),
    report=lambda asked: asked.lacks("model") or {"model": asked.model},
)
