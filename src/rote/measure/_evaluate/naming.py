"""Models as a command line names them: `M1,M2`, each perhaps with a short name of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rote.core.errors import OptionError
from rote.core.model import Model
from rote.core.progress import Reporter
from rote.measure._speaking import open_model
from rote.models.options import ModelOptions

# An endpoint's address may hold = too, but only behind its colon.
_NAMED = re.compile(r"(?P<name>[^:=/]+)=(?P<model>.+)")


def open_models(
    named: Sequence[str], options: ModelOptions, reporter: Reporter
) -> dict[str, Model]:
    """Each model under its name: that before `=`, or what it is opened by."""
    found: dict[str, str] = {}
    for given in named:
        match = _NAMED.fullmatch(given)
        name, model = (match["name"].strip(), match["model"]) if match else (given, given)
        if name in found:
            raise OptionError(f"two models are called '{name}': give them names, {name}2={model}")
        found[name] = model
    return {name: open_model(model, options, reporter) for name, model in found.items()}
