"""BERTScore and COMET through their own packages, with models that lie on this machine.

The package chooses the layer for models that it knows by name; for a folder it must be given.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from rote.core.arrays import Floats
from rote.core.errors import MissingExtra, OptionError
from rote.core.metric import Progress

BERTSCORE = "bert-score"
PAIRS_AT_A_TIME = 512
# A tokenizer that does not know how much its model reads says 10^30; no model reads this much.
_ENDLESS = 1_000_000


def sign_bertscore(model: str | None) -> str | None:
    """What a signature says of the model; nothing where there is none."""
    if model is None:
        return None
    return f"{model}/{BERTSCORE}-{version(BERTSCORE)}/transformers-{version('transformers')}"


def check_bertscore(model: str, layer: int | None) -> None:
    """Loads the model: what is wrong with it is said before any text is read."""
    _load_bertscore(model, layer)


def score_bertscore(
    texts: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    model: str,
    layer: int | None,
    progress: Progress,
) -> Floats:
    """Precision, recall and F of each text; of several references the best of each, as there."""
    scorer = _load_bertscore(model, layer)
    table = np.empty((len(texts), 3))
    # Texts of like length together: little is spent on padding.
    order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
    for first in range(0, len(order), PAIRS_AT_A_TIME):
        part = order[first : first + PAIRS_AT_A_TIME]
        columns = scorer.score([texts[n] for n in part], [list(references[n]) for n in part])
        table[part] = np.stack([np.asarray(column, np.float64) for column in columns], axis=1)
        progress((first + len(part)) / len(order))
    return table


@cache
def _load_bertscore(model: str, layer: int | None) -> Any:
    try:
        from bert_score import BERTScorer
        from bert_score.utils import model2layers
    except ImportError as error:
        package = BERTSCORE if error.name in (None, "bert_score") else error.name
        raise MissingExtra(str(package), "bertscore", "BERTScore") from None
    if layer is None and model not in model2layers:
        raise OptionError(
            f"bert-score knows no layer of '{model}': give its number with --bertscore-layer "
            "(the package uses 17 of 24 in roberta-large, 9 of 12 in bert-base-uncased)"
        )
    try:
        scorer = BERTScorer(model_type=model, num_layers=layer)
    except (OSError, ValueError, AssertionError) as error:
        raise OptionError(
            f"bert-score cannot load '{model}': give a model's path, or its name and download it "
            f"once where there is a network ({str(error).splitlines()[0]})"
        ) from None
    # Cut texts where the model ends, if its tokenizer does not know where that is.
    longest = getattr(scorer._model.config, "max_position_embeddings", None)
    if scorer._tokenizer.model_max_length > _ENDLESS and longest:
        # Models like RoBERTa count positions from 2.
        scorer._tokenizer.model_max_length = longest - 2
    return scorer


# COMET through its own package: a checkpoint that lies on this machine, or a name on its hub.

COMET = "unbabel-comet"
_TRIPLES_AT_A_TIME = 16


def sign_comet(model: str | None) -> str | None:
    return None if model is None else f"{model}/{COMET}-{version(COMET)}"


def check_comet(model: str) -> None:
    _load_comet(model)


def score_comet(
    sources: Sequence[str], texts: Sequence[str], references: Sequence[Sequence[str]], model: str
) -> Floats:
    """The score of each translation; of several references the best counts."""
    triples = [
        {"src": source, "mt": text, "ref": reference}
        for source, text, target in zip(sources, texts, references)
        for reference in target
    ]
    predicted = _load_comet(model).predict(
        triples, batch_size=_TRIPLES_AT_A_TIME, gpus=0, progress_bar=False
    )
    firsts = np.cumsum([0, *(len(target) for target in references[:-1])])
    return np.asarray(np.maximum.reduceat(np.asarray(predicted.scores, np.float64), firsts))


@cache
def _load_comet(model: str) -> Any:
    try:
        from comet import download_model, load_from_checkpoint
    except ImportError as error:
        package = COMET if error.name in (None, "comet") else error.name
        raise MissingExtra(str(package), "comet", "COMET") from None
    try:
        return load_from_checkpoint(model if Path(model).exists() else download_model(model))
    except (OSError, KeyError, ValueError) as error:
        raise OptionError(
            f"COMET cannot load '{model}': give a checkpoint's path, or a model's name and "
            f"download it once where there is a network ({str(error).splitlines()[0]})"
        ) from None
