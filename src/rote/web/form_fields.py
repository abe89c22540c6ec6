"""Forms made from options dataclasses, and read back: the fields are those of the shell's flags.

Whatever a request sends, it names no file, model or corpus but those that the app was started with
or that were uploaded, by their keys; what writes a file is refused.
"""

from __future__ import annotations

import dataclasses
import os
import re
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from starlette.datastructures import FormData

from rote.core import plugins
from rote.core.errors import OptionError, check_options_known
from rote.core.metric import bare, hints_of, parse_option
from rote.studies.dispatch.driver import field_default
from rote.web.files import name_form_fields

_TEXT_FIELDS = frozenset(
    "by reference within cluster inputs layer tags to on codecs scores control normalize_to "
    "document_field reference_field".split()
)
"""Strings that name something inside the texts, on every form; any other of an option that says
`form=True`."""
_SINGLE_COMMAND = frozenset(
    "corpus against train answers model correct member benchmark over order pair facet without "
    "values device dtype text_field id_field prompt_field".split()
)
"""Those that only the form of a single command has."""
_NOT_FILES = _TEXT_FIELDS | frozenset(
    "correct member benchmark over order pair facet without values device dtype text_field "
    "id_field prompt_field keep pos quality_columns encoding".split()
)
"""Strings that are no names of files, whatever they hold."""
_METAVARS = {
    **dict.fromkeys(("FIELD", "FIELD,...", "FIELD=VALUE", "ID", "MARGIN", "SIZE"), "text"),
    **dict.fromkeys(("IDX", "TRAIN", "NAME=IDX,..."), "place"),
    **dict.fromkeys(("FILE", "FILE,...", "ITEMS,...", "N|FILE"), "file"),
    **dict.fromkeys(("M", "M,...", "M1,M2,..."), "models"),
}
"""What an option names, by the word that the shell's help has for its value."""
_ROOMS = {
    "tokenizer": "annotate.words",
    "annotator": "annotate.annotators",
    "embedder": "annotate.embeddings",
    "input_format": "corpus",
}
_REFUSED = {
    "jobs": "`rote serve --jobs` sets it",
    "engine": "the app works on this machine",
    "per_text": "the app stores the values of each text by itself",
    "key_variable": "it names a variable of the machine that the app runs on",
    "api": "it names another machine",
}
"""Options that no request sets, and why."""
_WRITES = "it writes a file, and the app writes into its own folder alone"
_BEYOND = re.compile(r"[;:] | +[(\[](?=[^)\]]*[)\]](?:$|;))")
_CLOSED = re.compile(r"[)\]]")
FormType = TypeVar("FormType")
_JSON_NAMES = {"own": "measure_options"}
"""Keys of forms in JSON that differ from the names of fields."""
FILE = "file:"
_FROM_PATHS = {Path: str, Path | None: str | None, tuple[Path, ...]: tuple[str, ...]}


@dataclass(frozen=True, slots=True)
class FormField:
    """One input of a form; values are strings, as the browser has them."""

    name: str
    label: str
    """How the help begins: what is asked for, in a few words."""
    help: str
    """As the shell has it."""
    rest: str
    """What the help says beyond the label."""
    kind: str
    """number, text or choice; place: what texts are held against; file: one that is open; models;
    name: anything that rote knows by a name."""
    default: str
    option: dataclasses.Field[Any]
    type: Any
    """That of its values: what names a file is text."""
    usual: Any
    """What it is where nothing is given."""
    choices: tuple[str, ...] = ()
    step: str = ""
    several: bool = False
    repeated: bool = False
    """Whether each value is given by itself: a comma is part of one."""
    further: bool = False
    """Whether it is asked for only where somebody looks for it."""


def options_fields(
    options: type, only: Iterable[str] | None = None, *, open: bool = False
) -> list[FormField]:
    """The fields of a form; `open` adds rare ones, and indexes, files and models."""
    hints = hints_of(options)
    chosen = None if only is None else set(only)
    every = [
        _make_field(field, hints[field.name])
        for field in dataclasses.fields(options)
        if (chosen is None or field.name in chosen)
        and "help" in field.metadata
        and field.name not in refused_options(options)
    ]
    return [f for f in every if open or (not f.further and f.name not in _SINGLE_COMMAND)]


def refused_options(*options: type) -> dict[str, str]:
    every = [field for kind in options for field in dataclasses.fields(kind)]
    writing = ["output", *(field.name for field in every if field.metadata.get("writes"))]
    return {**_REFUSED, **dict.fromkeys(writing, _WRITES)}


def check_names(
    names: Iterable[str], fields: Iterable[FormField], refused: Mapping[str, str]
) -> None:
    """Refuse what no request may set, by its reason, and what there is not."""
    for name in names:
        if name in refused:
            raise OptionError(f"option `{name}` cannot be set here: {refused[name]}")
    check_options_known(names, (field.name for field in fields))


def read_values(
    fields: Iterable[FormField], values: Mapping[str, Any], prefix: str = ""
) -> dict[str, Any]:
    """The values that differ from the defaults, from a form or from JSON; a wrong one is named."""
    changed = {}
    for field in fields:
        if prefix + field.name in values:
            value = _parse_value(values[prefix + field.name], field)
            if value != field.usual:
                changed[field.name] = value
    return changed


def join_values(pairs: Iterable[tuple[str, str]], fields: Sequence[FormField]) -> dict[str, Any]:
    """Several values of one name as one text with commas, those of a repeated field as a list."""
    apart = {field.name for field in fields if field.repeated}
    values_by_name: dict[str, list[str]] = {}
    for name, value in pairs:
        values_by_name.setdefault(name, []).append(value)
    filled = {name: list(filter(None, values)) for name, values in values_by_name.items()}
    return {n: v if n in apart else ",".join(dict.fromkeys(v)) for n, v in filled.items()}


def describe_fields(fields: Iterable[FormField]) -> list[dict[str, Any]]:
    properties = ("name", "help", "kind", "default", "choices", "several")
    return [{name: getattr(field, name) for name in properties} for field in fields]


def fill_fields(
    fields: Iterable[FormField], values: Mapping[str, Any]
) -> list[tuple[FormField, Any]]:
    """Fields with what is in them, what was given or the default: of a repeated one a list."""

    def shown(field: FormField, value: Any) -> Any:
        return list(map(format_value, value)) if field.repeated else format_value(value)

    return [(f, shown(f, values[f.name]) if f.name in values else f.default) for f in fields]


def form_from_json(form: type[FormType], data: Mapping[str, Any]) -> FormType:
    """What was asked, from the JSON of a job or of a kept result, where tuples are lists."""
    values = {_JSON_NAMES.get(name, name): value for name, value in data.items()}
    return form(**_lists_to_tuples(values))


def form_to_json(form: Any) -> dict[str, Any]:
    """The reverse: what a job and a stored result hold, and what identifies the same work."""
    keys = {field: key for key, field in _JSON_NAMES.items()}
    return {keys.get(name, name): value for name, value in dataclasses.asdict(form).items()}


def form_pairs(form: FormData) -> list[tuple[str, str]]:
    return [(name, value) for name, value in form.multi_items() if isinstance(value, str)]


def query_pairs(
    fields: Iterable[FormField], values: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    repeated = {field.name for field in fields if field.repeated}
    for name, value in values.items():
        for part in value if name in repeated else (value,):
            yield name, format_value(part)


def format_value(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ",".join(map(format_value, value))
    return str(value)


def _lists_to_tuples(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _lists_to_tuples(item) for name, item in value.items()}
    return tuple(map(_lists_to_tuples, value)) if isinstance(value, list) else value


def _make_field(option: dataclasses.Field[Any], hint: Any) -> FormField:
    kind, _ = bare(hint)
    several = typing.get_origin(kind) is tuple
    item = typing.get_args(kind)[0] if several else kind
    help = option.metadata["help"]
    begins, rest = _split_help(name_form_fields(help))
    choices: tuple[str, ...] = ()
    if kind is bool:
        choices = ("yes", "no")
    elif typing.get_origin(item) is typing.Literal:
        choices = tuple(map(str, typing.get_args(item)))
    # What is asked for on every form: plain values, and strings that name something in the texts.
    is_usual = option.metadata.get(
        "form", item is not str or option.name in _TEXT_FIELDS | _SINGLE_COMMAND
    )
    return FormField(
        name=option.name,
        label=_capitalize(begins),
        help=_capitalize(help),
        rest=rest,
        default=format_value(field_default(option)),
        option=option,
        type=_FROM_PATHS.get(hint, hint),
        usual=field_default(option),
        kind=_field_kind(option, item, several, choices),
        choices=choices,
        step="" if several else {int: "1", float: "any"}.get(item, ""),
        several=several,
        repeated=bool(option.metadata.get("repeated")),
        further=not is_usual or item is Path,
    )


def _field_kind(
    option: dataclasses.Field[Any], item: Any, several: bool, choices: Sequence[str]
) -> str:
    if choices and not several:
        return "choice"
    if item in (int, float):
        return "text" if several else "number"
    if option.name in _NOT_FILES or typing.get_origin(item) is typing.Literal:
        return "text"
    kind = _METAVARS.get(option.metadata.get("metavar", ""), "")
    # An index is named in `corpus` whatever its package calls it.
    usual = {"model": "models", **dict.fromkeys(("corpus", "train"), "place")}
    return "file" if item is Path else kind or usual.get(option.name, "name")


def _split_help(help: str) -> tuple[str, str]:
    """What is asked for, and what else is said: behind a sign, or in brackets at the end."""
    boundary = _BEYOND.search(help)
    if boundary is None:
        return help, ""
    rest = help[boundary.end() :]
    return help[: boundary.start()], _CLOSED.sub("", rest, 1) if boundary[0][-1] in "([" else rest


def _capitalize(text: str) -> str:
    return text if text.startswith("n-") else text[:1].upper() + text[1:]


def _parse_value(value: Any, field: FormField) -> Any:
    parsed = parse_option(field.option, field.type, value, text=True)
    texts = parsed if field.several else (parsed,)
    for text in texts if field.kind in ("name", "file") else ():
        if text is not None and text != field.default and is_path(text, field.name):
            raise OptionError(
                f"{field.name} names '{text}', a place on the machine that the app runs on: the "
                f"app reads what it was started with, and uploads; name one of those as {FILE}KEY"
            )
    return parsed


def is_path(text: str, option: str) -> bool:
    """Whether a text names a place of this machine, and no plug-in or key of a file."""
    first, _, rest = text.partition(":")
    if text.startswith(FILE):
        return False
    if option in _ROOMS and first in plugins.members(_ROOMS[option]):
        text = rest
    for part in (text, *text.split(":")):
        outside = part.startswith(("/", "\\", "~", ".")) or ".." in re.split(r"[/\\]", part)
        if outside or (part and os.path.lexists(part)):
            return True
    return False
