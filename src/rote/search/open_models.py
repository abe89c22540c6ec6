"""Open a language model: one that is named, or the back-off model of an index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from rote.core.errors import MissingExtra, OptionError
from rote.core.model import Model
from rote.core.progress import Reporter, Silent
from rote.models import options as opening
from rote.models.options import ModelOptions

_INDEX = "index:"
_COSTLY = "transformers:"


@dataclass(frozen=True, slots=True)
class NamedModel:
    """A model as it was asked for, and as tables and records call it."""

    spec: str
    name: str


def open_model(spec: str, options: ModelOptions, reporter: Reporter) -> Model:
    """`index:FOLDER`, or a model of one of the backends."""
    if spec.startswith(_INDEX):
        from rote.search.index_language_model import open_index_model

        folder = spec.removeprefix(_INDEX)
        if not folder.partition("#")[0]:
            raise OptionError(f"'{spec}' names no model: index:FOLDER")
        return open_index_model(folder)
    return opening.open_model(spec, options, reporter)


def open_models(
    specs: Sequence[str] | Mapping[str, Model], options: ModelOptions, reporter: Reporter
) -> dict[str, Model]:
    """Several models under their names (`named`); none where none is asked for. From Python, models
    may be given as they are, under their names."""
    if not specs:
        return {}
    if isinstance(specs, Mapping):
        return dict(specs)
    return {model.name: open_model(model.spec, options, reporter) for model in name_models(specs)}


def name_models(specs: Sequence[str]) -> list[NamedModel]:
    """Models with the names of their records: `NAME=MODEL` gives one, else it is the last part
    of a path or address, as long as no two are the same. Every command names a model alike, so
    that texts and answers of one model can be joined by it."""
    entries: list[tuple[str, str | None]] = []
    for spec in specs:
        name, equals, rest = spec.partition("=")
        has_name = (
            bool(equals) and not set(":/#\\") & set(name) and bool(name.strip()) and bool(rest)
        )
        entries.append((rest, name.strip()) if has_name else (spec, None))
    if not entries:
        raise OptionError("no model: name one or more with --model, such as index:FOLDER")
    short = [name if name is not None else _short_name(spec) for spec, name in entries]
    clear = len(set(short)) == len(short)
    models = [
        NamedModel(spec, nick if clear or name is not None else spec)
        for (spec, name), nick in zip(entries, short)
    ]
    if len({model.name for model in models}) < len(models):
        raise OptionError("--model names a model twice: give them unique names, NAME=MODEL")
    return models


def model_signatures(specs: Sequence[str]) -> tuple[str, ...]:
    """What the signature of a result says of models: which weights, not where they lie. A model
    that takes long to open is said by its name and revision alone."""
    return tuple(
        model.spec
        if model.spec.startswith(_COSTLY)
        else open_model(model.spec, ModelOptions(), Silent()).signature
        for model in name_models(specs)
    )


def check_models(specs: Sequence[str]) -> None:
    """Refuses, before texts are read, what can be seen to be no model without loading it."""
    if not specs:
        return
    costly = any(model.spec.startswith(_COSTLY) for model in name_models(specs))
    for package in ("torch", "transformers") if costly else ():
        if find_spec(package) is None:
            raise MissingExtra(package, "lm", "A model of transformers")
    model_signatures(specs)


def _short_name(spec: str) -> str:
    backend, _, name = spec.partition(":")
    if "#" in spec and "://" in spec:
        return spec.rpartition("#")[2]
    if backend == "index":
        folder, _, layer = name.partition("#")
        return "-".join(filter(None, (Path(folder).resolve().name, layer)))
    return Path(name or spec).name
