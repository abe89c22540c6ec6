"""Opening whatever speaks: a language model, or the back-off model of an index."""

from __future__ import annotations

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
