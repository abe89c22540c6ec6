"""Change one fact in a document: does the summary follow, or does the model say what it learned?

Entities that training summaries often mention and a test reference mentions too are replaced in the
test document by another of the same type, or, where the document does not hold them, a fact with
another is added at its end, in the words of the reference. A summary of the edited document is
correct (the new fact, not the old), skipped (neither) or incorrect (it keeps the old one):

\b
  rote train intervene pairs.jsonl --model all=all/seed-0,2=theta-2/seed-0 -o edited.jsonl

NAME=MODEL gives a model a name; models with the same name are taken together (several seeds).
Choubey et al. (2023), appendix C, where people made the edits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rote.compare.clusters import numbered, share_interval
from rote.core.chart import Chart
from rote.core.errors import InputError, OptionError
from rote.core.json_reader import read_json_lines
from rote.core.metric import check_options, option, unsigned
from rote.core.progress import several
from rote.core.record import LINES, Call, Findings, Study
from rote.core.result import Result
from rote.core.table import Column, Table, ends
from rote.corpus import ReadOptions
from rote.curate.interventions import OUTCOMES, Edit, edits, frequent, outcome
from rote.curate.pairs import VALIDATION, PairOptions, fingerprint, of_split, read_pairs
from rote.models.options import ModelOptions
from rote.studies._training import NOT_OF_TRAINING, longest_option, max_tokens_option

_ENTITIES, _EDITS = 2000, 2
"""The most frequent entities of the training summaries; edits of each document."""


@dataclass(frozen=True, slots=True)
class Options:
    """Which facts are changed, and who summarizes."""

    SECTION: ClassVar[str] = "Edits and models"
    model: tuple[str, ...] = option(
        (),
        "Models, each NAME=FOLDER or a folder; none: the edits alone are written",
        metavar="MODEL,...",
    )
    output: Path = option(
        Path("edited.jsonl"),
        "The edited documents, with the summaries",
        short="-o",
        metavar="FILE",
        writes=LINES,
        sign=unsigned,
    )
    test: str = option("", "Split to edit; default: test, else validation", metavar="NAME")
    sample: int = option(50, "Documents that are edited, drawn at random", least=1)
    seed: int = option(0, "The seed of the draws", least=0)
    beams: int = option(4, "Beams of the search for summaries", least=1, most=1_000)
    longest: int = longest_option()
    max_tokens: int = max_tokens_option()
    interval: float = option(0.95, "Level of the intervals; 0: none")

    def __post_init__(self) -> None:
        check_options(self)
        if any(not one.partition("=")[2] for one in self.model if "=" in one):
            raise OptionError("--model takes NAME=FOLDER, or a folder")


def run(call: Call) -> Findings:
    from rote.curate.reading import write_lines

    options: Options = call.options
    pairs = call.of(PairOptions)
    every = read_pairs(call.inputs, pairs, call.reporter)
    names = {one.fields.get("split") for one in every}
    wanted = [options.test] if options.test else ["test", *VALIDATION]
    split = next((one for one in wanted if one in names), None)
    training = of_split(every, pairs.split)
    if split is None or not training:
        raise InputError(
            f"no pairs of the split {' or '.join(wanted)} beside those of '{pairs.split}'",
            field="split",
        )
    with call.reporter.stage("finding entities", None):
        known = frequent([one.reference for one in training], _ENTITIES)
        made = edits(of_split(every, split), known, options.sample, _EDITS, options.seed)
    if not made:
        raise InputError("no test reference holds a frequent entity of the training references")
    summaries = _summaries(made, options, call)
    records = [
        {**one.record, "summaries": {name: own[place] for name, own in summaries.items()}}
        for place, one in enumerate(made)
    ]
    write_lines(options.output, records)
    rows = outcomes(made, summaries, options.interval)
    return Findings(
        signed={"pairs": fingerprint(every), "models": sorted(summaries)},
        tables={"outcomes": rows},
        about={"file": str(options.output), "edits": len(made), "outcomes": rows},
    )


def _summaries(made: Sequence[Edit], options: Options, call: Call) -> dict[str, list[list[str]]]:
    """By name of a model the summaries of each edit, one for each model of that name."""
    from rote.curate.generate import record_in
    from rote.models.training.writing import Searching
    from rote.studies._calibration import write_resumed
    from rote.studies._training import opened

    how = Searching(options.beams, options.max_tokens, options.longest)
    found: dict[str, list[list[str]]] = {}
    for number, named in enumerate(options.model):
        name, is_named, place = named.rpartition("=")
        loaded = opened(place, call.of(ModelOptions), call.reporter)
        said = f"{loaded.signature} {how}"
        path = options.output.with_suffix(f".{number}.summaries.jsonl")
        write_resumed(
            loaded,
            [one.document for one in made],
            how,
            path,
            call.of(ModelOptions).batch * 4,
            lambda i, own, said=said: {
                "id": made[i].record["id"],
                "by": said,
                "new": made[i].new,
                "text": own[0],
            },
            lambda i, line, said=said: (
                None
                if record_in(line).get("by") == said and record_in(line).get("new") == made[i].new
                else "another model or edit"
            ),
            call.reporter,
        )
        texts = [row.text("text") for _, row in read_json_lines(path)]
        own = found.setdefault(name if is_named else place, [[] for _ in made])
        for place_of, text in enumerate(texts):
            own[place_of].append(text)
    return found


def outcomes(
    made: Sequence[Edit], summaries: Mapping[str, Sequence[Sequence[str]]], level: float
) -> list[dict[str, Any]]:
    """Shares of the outcomes for each model and kind of edit; documents are clusters."""
    rows = []
    for name, texts in summaries.items():
        for how in ("all", "substituted", "added"):
            said = [
                (one.pair.id, outcome(text, one.old, one.new))
                for one, own in zip(made, texts)
                for text in own
                if how in ("all", one.how)
            ]
            if not said:
                continue
            documents = numbered([document for document, _ in said])
            for what in OUTCOMES:
                right = np.array([float(own == what) for _, own in said])
                low, high = share_interval(right, documents, level)
                rows.append(
                    {
                        "source": name,
                        "edit": how,
                        "outcome": what,
                        "cases": len(said),
                        "share": float(right.mean()),
                        "share_low": low,
                        "share_high": high,
                    }
                )
    return rows


def _account(made: Result, place: str) -> str:
    return f"{place}: {several(made.about['edits'], 'edited document')}"


STUDY = Study(
    name="train-intervene",
    title="Interventions",
    says="Whether summaries follow a document whose facts are changed.",
    takes="texts",
    metavar="DATA...",
    options=Options,
    more=(PairOptions, ModelOptions, ReadOptions),
    without=NOT_OF_TRAINING,
    run=run,
    output="data",
    account=_account,
    citation="Choubey et al. (2023), Lexical Repetitions Lead to Rote Learning, appendix C",
    layout=(
        Table(
            "outcomes",
            "Outcomes",
            (
                Column("source"),
                Column("edit"),
                Column("outcome"),
                Column("cases", kind="count"),
                Column("share", kind="share", ends=ends("share")),
            ),
            limit=1000,
        ),
    ),
    charts=(
        Chart(
            "outcomes",
            "What becomes of a changed fact",
            table="outcomes",
            shape="bars",
            x="source",
            y="share",
            colour="outcome",
            ends=("share_low", "share_high"),
            share=True,
            rows=lambda rows, result: [row for row in rows if row["edit"] == "all"],
        ),
    ),
)
