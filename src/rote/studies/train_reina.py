"""Put the summary of the most similar training document before each document (REINA).

A baseline that learns by rote on purpose: of every pair the training document most like its own is
looked up (BM25; never itself), and its summary goes before the document, which `rote train
finetune` and `rote generate` then read like any other:

\b
  rote train reina pairs.jsonl -o retrieved.jsonl
  rote train finetune retrieved.jsonl --model facebook/bart-base -o reina

Words are counted by scikit-learn, scores computed by scipy. Wang et al. (2022), Training Data is
More Valuable than You Think.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rote.core.errors import OptionError
from rote.core.metric import check_options, option, unsigned
from rote.core.progress import several
from rote.core.record import LINES, Call, Findings, Study
from rote.core.result import Result
from rote.corpus import ReadOptions
from rote.curate.pairs import PairOptions, of_split, read_pairs
from rote.curate.reading import write_lines

_SEPARATOR = " | "
"""Between the summary and the document."""


@dataclass(frozen=True, slots=True)
class Options:
    """Where the pairs go."""

    SECTION: ClassVar[str] = "Output"
    output: Path = option(
        Path("retrieved.jsonl"),
        "The pairs, all splits",
        short="-o",
        metavar="FILE",
        writes=LINES,
        sign=unsigned,
    )

    def __post_init__(self) -> None:
        check_options(self)


def run(call: Call) -> Findings:
    from rote.curate.retrieval import Bm25

    options: Options = call.options
    pairs = call.of(PairOptions)
    every = read_pairs(call.inputs, pairs, call.reporter)
    training = of_split(every, pairs.split)
    if len(training) < 2:
        raise OptionError(f"there are fewer than two pairs of the split '{pairs.split}'")
    place = {one.id: number for number, one in enumerate(training)}
    with call.reporter.stage("counting words", None):
        index = Bm25([one.document for one in training])
    with call.reporter.stage("retrieving", len(every), "documents") as advance:
        best = index.nearest(
            [one.document for one in every],
            own=[place.get(one.id) for one in every],
            advance=advance,
        )
    write_lines(
        options.output,
        (
            {
                **one.record,
                "document": training[near].reference + _SEPARATOR + one.document,
                "retrieved": training[near].id,
                "plain_document": one.document,
            }
            for one, near in zip(every, best.tolist())
        ),
    )
    return Findings(
        signed={"texts": call.inputs.fingerprint[:12]},
        about={"file": str(options.output), "pairs": len(every), "training": len(training)},
    )


def _account(made: Result, place: str) -> str:
    about = made.about
    return f"{place}: {several(about['pairs'], 'pair')} with a summary of {about['training']:,}"


STUDY = Study(
    name="train-reina",
    title="Retrieved summaries",
    says="Pairs with the summary of the most similar training document before the document.",
    takes="texts",
    metavar="DATA...",
    options=Options,
    more=(PairOptions, ReadOptions),
    without=("text_field", "strip_prompt", "prompt_field", "plain"),
    run=run,
    output="data",
    account=_account,
    citation="Wang et al. (2022), Training Data is More Valuable than You Think: A Simple and "
    "Effective Method by Retrieving from Training Data",
)
