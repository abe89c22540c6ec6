"""From `backend:name` to a model."""

from __future__ import annotations

from pathlib import Path

from rote.core import plugins
from rote.core.errors import OptionError
from rote.core.model import Model
from rote.core.progress import Reporter
from rote.models.options import ModelOptions


def open_model(named: str, options: ModelOptions, reporter: Reporter) -> Model:
    """The model of a name such as `transformers:gpt2`; a bare folder is run by numpy."""
    backend, colon, name = named.partition(":")
    if (Path(named) / "config.json").is_file():
        backend, colon, name = "numpy", ":", named
    if not colon:
        raise OptionError(
            f"'{named}' is not the folder of a model. Name the backend that runs it: "
            f"numpy:FOLDER, transformers:{named}, openai:URL#{named}, openai-chat:URL#{named}, "
            "index:FOLDER"
        )
    if not name and not backend.startswith("openai"):
        raise OptionError(f"'{named}' names no model: {backend}:NAME")
    model: Model = plugins.load("models.backends", backend).open_model(name, options, reporter)
    return model
