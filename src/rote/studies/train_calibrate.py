"""Calibrate a summarizer (BRIO): make its better candidates likelier than its worse ones.

Of each pair the model writes candidates (diverse beam search), which are kept on disk and ranked
by ROUGE against the reference. The loss for each gap between ranks is the mean over pairs of
candidates of max(0, f(worse) - f(better) + gap * margin), f the log-probability over the length to
the power of --alpha; times a weight, plus a weight times the label-smoothed cross-entropy of the
reference. Defaults are the published settings for CNN; for summaries of one sentence --alpha 0.6:

\b
  rote train calibrate pairs.jsonl --model models/seed-0 --alpha 0.6 -o calibrated
  rote train calibrate pairs.jsonl --model models/seed-0 --subset limited --theta 2 -o calibrated-2

The same command resumes after a kill. Liu et al. (2022), BRIO: Bringing Order to Abstractive
Summarization; on subsets that repeat less, Choubey et al. (2023), section 5.3.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from rote.core.errors import OptionError
from rote.core.metric import check_options, option
from rote.core.progress import several
from rote.core.record import Call, Findings, Study
from rote.core.table import FullTable, make_columns
from rote.corpus import ReadOptions
from rote.curate import pairs
from rote.curate.pairs import PairOptions, SubsetOptions
from rote.models.options import ModelOptions
from rote.models.training.loop import TrainOptions
from rote.studies import _training


@dataclass(frozen=True, slots=True)
class Options:
    """The model, its candidates, and the loss."""

    SECTION: ClassVar[str] = "Model, candidates and loss"
    model: str = option("", "A folder or a model on the hub", metavar="MODEL")
    output: Path = _training.folder_option("rote-calibrated")
    seeds: tuple[int, ...] = option((0,), "Seeds, a model for each", least=0)
    candidates: int = option(16, "Candidates of each document", least=2, most=10_000)
    margin: float = option(0.001, "Margin between ranks", least=0)
    alpha: float = option(
        2.0, "Length penalty: exponent of the length that divides log-probabilities", least=0
    )
    longest: int = _training.longest_option()
    max_tokens: int = _training.max_tokens_option()

    def __post_init__(self) -> None:
        check_options(self)
        if not self.model:
            raise OptionError("no model: name the model to calibrate with --model")
        _training.check_seeds(self.seeds)


def run(call: Call) -> Findings:
    options: Options = call.options
    chosen = call.of(PairOptions)
    every = pairs.select_split(pairs.read_pairs(call.inputs, chosen, call.reporter), chosen.split)
    options.output.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    for seed in options.seeds:
        path = pairs.subset_file(call.of(SubsetOptions), seed)
        some = pairs.select_subset(every, path)
        how = {"training": call.of(TrainOptions), "running": call.of(ModelOptions)}
        wanted = _training.from_options(_training.Calibration, options, **how)
        folder = options.output / f"seed-{seed}"
        result = _training.calibrate(wanted, options.model, some, seed, folder, call.reporter)
        subset = pairs.subset_name(path)
        rows.append({"seed": seed, "subset": subset, "pairs": len(some), **result})
    return Findings(
        signed={**asdict(call.of(TrainOptions)), "pairs": pairs.pairs_fingerprint(every)},
        tables={"models": rows},
        about={"folder": str(options.output), "models": rows},
    )


STUDY = Study(
    name="train-calibrate",
    title="Calibration",
    says="A summarizer that learned to rank its own candidates.",
    takes="texts",
    metavar="DATA...",
    options=Options,
    more=(TrainOptions, SubsetOptions, PairOptions, ModelOptions, ReadOptions),
    without=(*_training.NOT_OF_TRAINING, "evaluate_every", "patience"),
    run=run,
    output="data",
    account=lambda result, place: f"{place}: {several(len(result.about['models']), 'model')}",
    citation="Liu et al. (2022), BRIO: Bringing Order to Abstractive Summarization",
    layout=(
        FullTable(
            "models",
            "Models",
            make_columns(
                "seed:count subset pairs:count updates:count best:number worst:number "
                "first_loss:number loss:number model"
            ),
            note="best, worst: mean ROUGE of the best and the worst candidate",
        ),
    ),
)
