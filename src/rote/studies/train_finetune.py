"""Train a summarizer on pairs, or on a subset of them that repeats less.

DATA are records with a `document` and its `reference`. --model names an encoder-decoder or a
decoder-only model of transformers, a folder or a name of the hub; --from-config starts from random
weights and a tokenizer learned from the data. Each seed gives a model of its own:

\b
  rote train finetune pairs.jsonl --model facebook/bart-base --seeds 0,1,2 -o models
  rote limit pairs.jsonl --max 2,10 --random -o limited
  rote train finetune pairs.jsonl --model facebook/bart-base --subset limited --theta 2 -o models-2
  rote train finetune pairs.jsonl --from-config tiny --subset ids.txt --steps 500 -o tiny
  rote train finetune pairs.jsonl --model facebook/bart-base --lora 8 -o adapted

The folder holds a model for each seed (seed-0, ...), which `rote generate --model
transformers:models/seed-0` takes. The same command goes on after a kill, and ends in the same
weights.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from rote.core.errors import OptionError
from rote.core.metric import option
from rote.core.progress import several
from rote.core.record import Call, Findings, Study
from rote.core.result import Result
from rote.core.table import FullTable, make_columns
from rote.corpus import ReadOptions
from rote.curate import pairs
from rote.curate.pairs import PairOptions, SubsetOptions
from rote.models.options import ModelOptions
from rote.models.training.loop import TrainOptions
from rote.studies import _training

_DRAWN = "no validation split: a tenth of the pairs, drawn at random, is held out to validate on"


@dataclass(frozen=True, slots=True)
class Options(_training.StartOptions):
    """What is trained, and where it goes."""

    SECTION: ClassVar[str] = "Model and output"
    output: Path = _training.folder_option("rote-models")
    seeds: tuple[int, ...] = option(
        (0,),
        "Seeds, one model each; from a folder of `rote limit`, each uses the subset with its seed",
        least=0,
    )
    longest: int = _training.longest_option()
    max_tokens: int = _training.max_tokens_option()
    lora: int = option(
        0,
        "Rank of LoRA adapters, merged into the weights at the end; 0: train all weights",
        metavar="RANK",
        least=0,
        most=4096,
    )

    def __post_init__(self) -> None:
        _training.StartOptions.__post_init__(self)
        _training.check_seeds(self.seeds)
        if self.lora and self.from_config:
            raise OptionError("--lora adapts a trained model: give --model")


def run(call: Call) -> Findings:
    options: Options = call.options
    how = call.of(TrainOptions).settled(options.from_config, lora=bool(options.lora))
    room = _training.batch_tokens(options.tokens, options.from_config)
    chosen, subset = call.of(PairOptions), call.of(SubsetOptions)
    every = pairs.read_pairs(call.inputs, chosen, call.reporter)
    training = pairs.select_split(every, chosen.split)
    validates = chosen.split not in pairs.VALIDATION
    held_out = pairs.select_split(every, *pairs.VALIDATION) if validates else []
    if not training:
        raise OptionError(f"no record is of the split '{chosen.split}': --split names another")
    drawn = not held_out and how.validates
    remaining, held_out = pairs.hold_out(training) if drawn else (training, held_out)
    trained_on = {pair.id for pair in remaining}
    options.output.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    for seed in options.seeds:
        path = pairs.subset_file(subset, seed)
        some = [pair for pair in pairs.select_subset(training, path) if pair.id in trained_on]
        if not some:
            raise OptionError(
                "all pairs of the subset are held out to validate on: leave out --patience and "
                f"--evaluate-every, or give records with the split '{pairs.VALIDATION[0]}'"
            )
        prints = {"data": pairs.pairs_fingerprint(every), "pairs": pairs.pairs_fingerprint(some)}
        settings = prints | {"subset": pairs.subset_name(path)}
        running = call.of(ModelOptions)
        wanted = _training.from_options(
            _training.FitSettings, options, tokens=room, training=how, running=running
        )
        folder = options.output / f"seed-{seed}"
        result = _training.fit(
            wanted, remaining, some, held_out, seed, folder, settings, call.reporter
        )
        row = {"seed": seed, "subset": settings["subset"], "pairs": len(some)}
        row |= {"updates": result["updates"], "loss": _training.last_loss(result["loss"])}
        row["validation"] = min((loss for _, loss in result["validation"]), default=None)
        rows.append(row | {"held_out": len(held_out), "model": str(folder)})
    data = pairs.pairs_fingerprint(every)
    return Findings(
        signed={**asdict(subset), **asdict(how), "tokens": room, "data": data},
        tables={"models": rows},
        about={"folder": str(options.output), "models": rows, "notes": [_DRAWN] if drawn else []},
    )


def _account(result: Result, place: str) -> str:
    models = several(len(result.about["models"]), "model")
    return "\n".join([f"{place}: {models}", *result.about["notes"]])


STUDY = Study(
    name="train-finetune",
    title="Fine-tuning",
    says="Summarizers trained on pairs, or on a subset of them.",
    takes="texts",
    metavar="DATA...",
    options=Options,
    more=(TrainOptions, SubsetOptions, PairOptions, ModelOptions, ReadOptions),
    without=(*_training.NOT_OF_TRAINING, "batch"),
    run=run,
    output="data",
    account=_account,
    layout=(
        FullTable(
            "models",
            "Models",
            make_columns(
                "seed:count subset pairs:count updates:count loss:number validation?:number "
                "held_out:count model"
            ),
        ),
    ),
)
