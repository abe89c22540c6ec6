"""What commands that train share: a model opened, pairs as tokens, a training in its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rote.core.errors import InputError, OptionError
from rote.core.metric import check_options, option, unsigned
from rote.core.progress import Reporter
from rote.curate.pairs import Pair
from rote.models.options import ModelOptions
from rote.models.training.loop import TrainOptions, finished, train

if TYPE_CHECKING:
    from rote.models.hub.computing import Loaded

VERSION = "4"
SMOOTHING = 0.1
"""Of labels, in training."""
NOT_OF_TRAINING = (
    *("text_field", "strip_prompt", "prompt_field", "plain"),
    *("threads", "key_variable", "rate", "price", "yes", "dtype"),
)
"""Options of texts and of models behind an address: training reads pairs and opens weights."""


@dataclass(frozen=True, slots=True)
class StartOptions:
    """What a training starts from."""

    model: str = option("", "A folder or a name of the hub; or give --from-config", metavar="MODEL")
    from_config: str = option(
        "", "Start from random weights: tiny, small, or a config.json", metavar="SHAPE"
    )
    tokens: int = option(
        0,
        "Tokens in one batch, padding included; 0: 8192, or 1024 of a tiny model",
        least=0,
        most=2**24,
    )

    def __post_init__(self) -> None:
        check_options(self)
        if bool(self.model) == bool(self.from_config):
            raise OptionError("give a model: either --model or --from-config")


def longest_option() -> Any:
    return option(512, "Tokens of a document that are read", least=8, most=1_000_000)


def max_tokens_option() -> Any:
    return option(128, "Tokens of a summary at most", least=2, most=100_000)


def folder_option(default: str) -> Any:
    """The folder of the models that are trained."""
    return option(
        Path(default), "The folder", short="-o", metavar="DIR", writes="folder", sign=unsigned
    )


def check_seeds(seeds: Sequence[int]) -> None:
    if not seeds or len(set(seeds)) < len(seeds):
        raise OptionError("--seeds names no seed, or one twice")


@dataclass(frozen=True, slots=True)
class Fit:
    """A model and how it is fine-tuned."""

    model: str
    from_config: str
    tokens: int
    longest: int
    max_tokens: int
    training: TrainOptions
    running: ModelOptions

    def settings(self, seed: int) -> dict[str, Any]:
        """What the weights depend on."""
        names = ("model", "from_config", "tokens", "longest", "max_tokens")
        own = {name: getattr(self, name) for name in names}
        how = self.training.settled(self.from_config)
        return {"finetune": VERSION, **own, **asdict(how), "seed": seed}


def room_of(tokens: int, shape: str) -> int:
    """Tokens in one batch where none are asked for: a tiny model learns most in a given time from
    many small updates."""
    return tokens or (1024 if shape == "tiny" else 8192)


def opened(model: str, running: ModelOptions, reporter: Reporter) -> Loaded:
    """A model in full precision, to be trained or to write."""
    from rote.models.hub.computing import load

    loaded = load(model.removeprefix("transformers:"), running, reporter, VERSION)
    if loaded.tokenizer.eos_token_id is None:
        raise InputError("its tokenizer has no end token", file=model)
    return loaded


def fit(
    wanted: Fit,
    every: Sequence[Pair],
    some: Sequence[Pair],
    held_out: Sequence[Pair],
    seed: int,
    folder: Path,
    settings: Mapping[str, Any],
    reporter: Reporter,
) -> dict[str, Any]:
    """Train on some pairs; a tokenizer that is learned is learned from every pair, so that subsets
    differ in nothing else."""
    from rote.models.hub.computing import device_of
    from rote.models.training.objectives import Fitting
    from rote.models.training.pairs import tokens_of
    from rote.models.training.starting import from_config

    settings = {**settings, **wanted.settings(seed)}
    if (done := finished(folder, settings)) is not None:
        reporter.say(f"{folder} holds this model already")
        return done
    if wanted.from_config:
        texts = [text for one in every for text in (one.document, one.reference)]
        loaded = from_config(wanted.from_config, texts, seed, device_of(wanted.running.device))
    else:
        loaded = opened(wanted.model, wanted.running, reporter)

    def objective(pairs: Sequence[Pair], smoothing: float) -> Fitting:
        tokens = tokens_of(
            loaded,
            [one.document for one in pairs],
            [one.reference for one in pairs],
            wanted.longest,
            wanted.max_tokens,
        )
        return Fitting(loaded, tokens, np.arange(len(pairs)), wanted.tokens, smoothing)

    fitting = objective(some, SMOOTHING)
    look = objective(held_out, 0.0).held_out if held_out else None
    how = wanted.training.settled(wanted.from_config)
    return train(loaded, fitting, folder, how, seed, reporter, settings=settings, held_out=look)
