"""Does a summarizer learn by rote? Train it with and without repetition, and see where it gains.

One command for section 5 of Choubey et al. (2023): subsets in which no 4-gram is repeated more than
theta times, a model for each and for each seed, their summaries of the test set, and scores by how
close the test items are to the training set, normalized to the lowest theta:

\b
  rote train study pairs.jsonl --model facebook/bart-base --theta 2,10,50,all -o study
  rote train study pairs.jsonl --from-config tiny --theta 1,3,all --steps 1500 \\
      --equal-size --without-neighbours --calibrate -o study
  rote train study pseudo.jsonl --test samsum.jsonl,dialogsum.jsonl --model facebook/bart-base \\
      --theta 2,all -o zero-shot

Fewer texts and fewer updates change scores too: --equal-size also trains on as many texts at random
and on those that repeat most, --steps gives all models as many updates. Items close to any text of
their kind may just be typical: a part of the training pairs is kept apart, never trained on, and
overlap with it is the placebo. --without-neighbours trains on all pairs but those that share a
4-gram with half of the test items, drawn at random: what those items lose and the other half does
not is rote learning, and nothing else. The same command goes on where it stopped.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar, Literal

from rote.core.errors import OptionError
from rote.core.metric import option
from rote.core.progress import several
from rote.core.record import Call, Findings, Study
from rote.core.result import Result
from rote.core.table import FullTable, make_columns
from rote.corpus import ReadOptions
from rote.curate.pairs import PairOptions, read_pairs
from rote.models.options import ModelOptions
from rote.models.training.loop import TrainOptions
from rote.studies import _training


@dataclass(frozen=True, slots=True)
class Options(_training.StartOptions):
    """What is trained on what, and where it goes."""

    SECTION: ClassVar[str] = "Models and subsets"
    output: Path = _training.folder_option("rote-repetition")
    theta: tuple[str, ...] = option(
        ("2", "10", "50", "all"), "Maximum frequency of an n-gram; all: no limit"
    )
    variant: Literal["exact", "paper"] = option(
        "exact", "Limit repetition among kept texts, or among all texts seen, as `rote limit` does"
    )
    seeds: tuple[int, ...] = option(
        (0, 1, 2), "Seeds of subsets and models, one after another", least=0
    )
    equal_size: bool = option(
        False, "Also equally many texts at random, and equally many of those that repeat most"
    )
    without_neighbours: bool = option(
        False, "Also all pairs but the neighbours of half of the test items"
    )
    calibrate: bool = option(False, "Also calibrate (BRIO) the model of all pairs on each subset")
    placebo: float = option(
        0.1, "Share of the training pairs held out as the placebo", least=0, below=1
    )
    test: str = option(
        "",
        "Split to test on (default: test, else validation), or files of other pairs: then all "
        "pairs of DATA are trained on (zero-shot)",
        metavar="NAME|FILE,...",
    )
    sample: int | None = option(None, "Maximum number of test items, drawn at random", least=1)
    candidates: int = option(
        16, "Candidates of each document to calibrate on", least=2, most=10_000
    )
    alpha: float = option(0.6, "Length penalty in calibration", least=0)
    beams: int = option(4, "Beams for generating summaries", least=1, most=1_000)
    longest: int = _training.longest_option()
    max_tokens: int = _training.max_tokens_option()
    interval: float = option(0.95, "Confidence level of the intervals; 0: no intervals")

    def __post_init__(self) -> None:
        _training.StartOptions.__post_init__(self)
        limits = self.limits
        if not limits and not self.has_all:
            raise OptionError("--theta names no subset")
        if any(not limit.isdigit() or int(limit) < 1 for limit in self.theta if limit != "all"):
            raise OptionError(f"--theta takes whole numbers and all, not {', '.join(self.theta)}")
        if not self.seeds or self.seeds != tuple(range(self.seeds[0], self.seeds[-1] + 1)):
            raise OptionError("--seeds are numbers that follow each other, such as 0,1,2")
        if (self.calibrate or self.without_neighbours) and not self.has_all:
            raise OptionError("--calibrate and --without-neighbours begin with --theta ...,all")
        if self.without_neighbours and "," in self.test:
            raise OptionError("--without-neighbours takes the neighbours of one test set")
        if self.equal_size and not limits:
            raise OptionError("--equal-size is the size of a subset: --theta names none")

    @property
    def limits(self) -> tuple[int, ...]:
        return tuple(sorted({int(limit) for limit in self.theta if limit.isdigit()}))

    @property
    def has_all(self) -> bool:
        return "all" in self.theta


def run(call: Call) -> Findings:
    from rote.studies._repetition import score_arms, train_arms

    options: Options = call.options
    every = read_pairs(call.inputs, call.of(PairOptions), call.reporter)
    pairs, training = call.of(PairOptions), call.of(TrainOptions)
    running = call.of(ModelOptions)
    study = train_arms(options, every, pairs, training, running, call.reporter)
    tables, sources, notes = score_arms(study, options, call.reporter)
    return Findings(
        signed={**asdict(study.training), "tokens": study.room, "pairs": study.fingerprint},
        sources=sources,
        by=("source",),
        tables=tables,
        notes=notes,
        about={
            "folder": str(options.output),
            "models": len(study.texts),
            "notes": list(notes),
            **{name: list(rows) for name, rows in tables.items()},
        },
    )


def _account(result: Result, place: str) -> str:
    lines = [f"{place}: {several(result.about['models'], 'model')}; tables and figures are in it"]
    return "\n".join([*lines, *result.about["notes"]])


STUDY = Study(
    name="train-study",
    title="Training with and without repetition",
    says="Where a summarizer benefits from repetition in its training summaries.",
    takes="texts",
    metavar="DATA...",
    options=Options,
    more=(TrainOptions, PairOptions, ModelOptions, ReadOptions),
    without=(*_training.NOT_OF_TRAINING, "split"),
    run=run,
    output="data",
    saves_result=True,
    account=_account,
    effort="heavy",
    citation=(
        "Choubey et al. (2023), Lexical Repetitions Lead to Rote Learning: Unveiling the Impact of "
        "Lexical Overlap in Train and Test Reference Summaries"
    ),
    layout=(
        FullTable(
            "sizes",
            "Training sets",
            make_columns(
                "source pairs:count words:count updates:count loss:number validation?:number"
            ),
            note="mean over seeds",
        ),
        FullTable(
            "averages",
            "Scores",
            make_columns(
                "test? source score mean?:number~ nov?:number~ sim?:number~ between_seeds?:number"
            ),
            note="all test items, the most novel (T_nov), and those closest to the training set "
            "(T_sim); between seeds: standard deviation of the mean",
        ),
        FullTable(
            "contrasts",
            "What repetition adds",
            make_columns(
                "test? source than score in_nov?:number~ in_sim?:number~ more_in_sim?:number~ "
                "between_seeds?:number more_in_placebo?:number~"
            ),
            note="the difference of two systems on the same items in T_nov and in T_sim, and how "
            "much larger it is in T_sim (between seeds: its standard deviation); the same with "
            "bins by the placebo",
        ),
        FullTable(
            "neighbours",
            "With and without an item's neighbours",
            make_columns(
                "test? items score count:count lost?:number~ lost_by_others?:number~ "
                "by_rote?:number~"
            ),
            note="what items lose when the pairs that share a 4-gram with them are left out, what "
            "the others lose, and the difference",
        ),
    ),
)
