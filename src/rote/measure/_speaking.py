"""Opening whatever speaks: a language model, or the back-off model of an index."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rote.core.model import Model
from rote.core.progress import Reporter
from rote.models import opening
from rote.models.options import ModelOptions

_INDEX = "index:"


def open_model(named: str, options: ModelOptions, reporter: Reporter) -> Model:
    """`index:FOLDER`, or a model of one of the backends."""
    if named.startswith(_INDEX):
        from rote.index.speaking import open_speaker

        return open_speaker(named.removeprefix(_INDEX))
    return opening.open_model(named, options, reporter)


def open_models(
    named: Sequence[str], options: ModelOptions, reporter: Reporter
) -> dict[str, Model]:
    """Several models under the shortest names that tell them apart."""
    short = [Path(name.partition("#")[2] or name.partition(":")[2] or name).name for name in named]
    names = short if len(set(short)) == len(short) else list(named)
    return {name: open_model(one, options, reporter) for name, one in zip(names, named)}
