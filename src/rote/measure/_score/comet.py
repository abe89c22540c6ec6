"""COMET through its own package: a checkpoint that lies on this machine, or a name on its hub."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from rote.core.array_types import Floats
from rote.core.errors import MissingExtra, OptionError

PACKAGE = "unbabel-comet"
_AT_A_TIME = 16


def signed(model: str | None) -> str | None:
    """What a signature says of the model; nothing where there is none."""
    return None if model is None else f"{model}/{PACKAGE}-{version(PACKAGE)}"


def check(model: str) -> None:
    """Loads the model: what is wrong with it is said before any text is read."""
    _scorer(model)


def scores(
    sources: Sequence[str], texts: Sequence[str], references: Sequence[Sequence[str]], model: str
) -> Floats:
    """The score of each translation; of several references the best counts."""
    triples = [
        {"src": source, "mt": text, "ref": reference}
        for source, text, own in zip(sources, texts, references)
        for reference in own
    ]
    found = _scorer(model).predict(triples, batch_size=_AT_A_TIME, gpus=0, progress_bar=False)
    firsts = np.cumsum([0, *(len(own) for own in references[:-1])])
    return np.asarray(np.maximum.reduceat(np.asarray(found.scores, np.float64), firsts))


@cache
def _scorer(model: str) -> Any:
    try:
        from comet import download_model, load_from_checkpoint
    except ImportError as error:
        package = PACKAGE if error.name in (None, "comet") else error.name
        raise MissingExtra(str(package), "comet", "COMET") from None
    try:
        return load_from_checkpoint(model if Path(model).exists() else download_model(model))
    except (OSError, KeyError, ValueError) as error:
        raise OptionError(
            f"COMET cannot load '{model}': give a checkpoint's path, or a model's name and "
            f"download it once where there is a network ({str(error).splitlines()[0]})"
        ) from None
