"""Forms made from options dataclasses, and read back: the fields are those of the shell's flags.

Whatever a request sends, it names no file, model or corpus but those that the app was started with
or that were uploaded, by their keys; what writes a file is refused.
"""

from __future__ import annotations

import dataclasses
import math
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
from rote.core.metric import bare, hints_of
from rote.studies._driver import default_of
from rote.web.files import in_words

_NAMES = frozenset(
    "by reference within cluster inputs layer tags to on codecs scores control normalize_to "
    "document_field reference_field".split()
)
"""Strings that name something inside the texts, on every form; any other of an option that says
`form=True`."""
_OPEN = frozenset(
    "corpus against train answers model correct member benchmark over order pair facet without "
    "values device dtype text_field id_field prompt_field".split()
)
"""Those that only the form of a single command has."""
_TEXTS = _NAMES | frozenset(
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
_KEPT = {
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
Form = TypeVar("Form")
_YES = {"yes": True, "no": False, True: True, False: False}
FILE = "file:"


@dataclass(frozen=True, slots=True)
class Field:
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
    type: Any
    usual: Any
    """What it is where nothing is given."""
    choices: tuple[str, ...] = ()
    step: str = ""
    several: bool = False
    repeated: bool = False
    """Whether each value is given by itself: a comma is part of one."""
    further: bool = False
    """Whether it is asked for only where somebody looks for it."""


def fields_of(
    options: type, only: Iterable[str] | None = None, *, open: bool = False
) -> list[Field]:
    """The fields that a form can have, in their order; with `open` also those that name an index,
    a file or a model, to be chosen among what the app was started with, and those that few ask
    for."""
    hints = hints_of(options)
    chosen = None if only is None else set(only)
    found = [
        _field(one, hints[one.name])
        for one in dataclasses.fields(options)
        if (chosen is None or one.name in chosen)
        and "help" in one.metadata
        and one.name not in refused(options)
    ]
    return [one for one in found if open or (not one.further and one.name not in _OPEN)]


def refused(*options: type) -> dict[str, str]:
    """The options that no request may set, and why."""
    every = [one for kind in options for one in dataclasses.fields(kind)]
    writing = ["output", *(one.name for one in every if one.metadata.get("writes"))]
    return {**_KEPT, **dict.fromkeys(writing, _WRITES)}


def check_names(given: Iterable[str], fields: Iterable[Field], kept: Mapping[str, str]) -> None:
    """Refuse what no request may set, by its reason, and what there is not."""
    for name in given:
        if name in kept:
            raise OptionError(f"option `{name}` cannot be set here: {kept[name]}")
    check_options_known(given, (one.name for one in fields))


def read(fields: Iterable[Field], given: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The values that differ from the defaults, from a form or from JSON; a wrong one is named."""
    found = {}
    for field in fields:
        if prefix + field.name in given:
            value = _value(given[prefix + field.name], field)
            if value != field.usual:
                found[field.name] = value
    return found


def joined(pairs: Iterable[tuple[str, str]], fields: Sequence[Field]) -> dict[str, Any]:
    """Several values of one name, as a form sends them, are one text with commas; those of a
    repeated field are a list."""
    apart = {one.name for one in fields if one.repeated}
    given: dict[str, list[str]] = {}
    for name, value in pairs:
        given.setdefault(name, []).append(value)
    return {
        name: list(filter(None, values))
        if name in apart
        else ",".join(dict.fromkeys(filter(None, values)))
        for name, values in given.items()
    }


def listed(fields: Iterable[Field]) -> list[dict[str, Any]]:
    """What the API says of them."""
    told = ("name", "help", "kind", "default", "choices", "several")
    return [{name: getattr(one, name) for name in told} for one in fields]


def filled(fields: Iterable[Field], given: Mapping[str, Any]) -> list[tuple[Field, Any]]:
    """Fields with what is in them, what was given or the default: of a repeated one a list."""
    return [(f, _shown(f, given[f.name]) if f.name in given else f.default) for f in fields]


def _shown(field: Field, value: Any) -> Any:
    return list(map(written, value)) if field.repeated else written(value)


def from_json(form: type[Form], data: Mapping[str, Any]) -> Form:
    """What was asked, from the JSON of a job or of a kept result, where tuples are lists."""
    return form(**_tupled(data))


def pairs_of(form: FormData) -> list[tuple[str, str]]:
    """A posted form without its files."""
    return [(name, value) for name, value in form.multi_items() if isinstance(value, str)]


def pairs_from(fields: Iterable[Field], given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Values as they are in an address."""
    repeated = {one.name for one in fields if one.repeated}
    for name, value in given.items():
        for part in value if name in repeated else (value,):
            yield name, written(part)


def written(value: Any) -> str:
    """A value as it is in a form."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ",".join(map(written, value))
    return str(value)


def _tupled(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _tupled(held) for name, held in value.items()}
    return tuple(map(_tupled, value)) if isinstance(value, list) else value


def _field(one: dataclasses.Field[Any], hint: Any) -> Field:
    kind, _ = bare(hint)
    several = typing.get_origin(kind) is tuple
    item = typing.get_args(kind)[0] if several else kind
    help = one.metadata["help"]
    begins, rest = _cut(in_words(help))
    choices: tuple[str, ...] = ()
    if kind is bool:
        choices = ("yes", "no")
    elif typing.get_origin(item) is typing.Literal:
        choices = tuple(map(str, typing.get_args(item)))
    # What is asked for on every form: plain values, and strings that name something in the texts.
    asked = one.metadata.get("form", item is not str or one.name in _NAMES | _OPEN)
    return Field(
        name=one.name,
        label=_capital(begins),
        help=_capital(help),
        rest=rest,
        default=written(default_of(one)),
        type=hint,
        usual=default_of(one),
        kind=_kind(one, item, several, choices),
        choices=choices,
        step="" if several else {int: "1", float: "any"}.get(item, ""),
        several=several,
        repeated=bool(one.metadata.get("repeated")),
        further=not asked or item is Path,
    )


def _kind(one: dataclasses.Field[Any], item: Any, several: bool, choices: Sequence[str]) -> str:
    if choices and not several:
        return "choice"
    if item in (int, float):
        return "text" if several else "number"
    if one.name in _TEXTS or typing.get_origin(item) is typing.Literal:
        return "text"
    found = _METAVARS.get(one.metadata.get("metavar", ""), "")
    # An index is named in `corpus` whatever its package calls it.
    usual = {"model": "models", **dict.fromkeys(("corpus", "train"), "place")}
    return "file" if item is Path else found or usual.get(one.name, "name")


def _cut(help: str) -> tuple[str, str]:
    """What is asked for, and what else is said: behind a sign, or in brackets at the end."""
    found = _BEYOND.search(help)
    if found is None:
        return help, ""
    rest = help[found.end() :]
    return help[: found.start()], _CLOSED.sub("", rest, 1) if found[0][-1] in "([" else rest


def _capital(text: str) -> str:
    return text if text.startswith("n-") else text[:1].upper() + text[1:]


def _value(given: Any, field: Field) -> Any:
    """From a form, where all is text, or from JSON."""
    kind, optional = bare(field.type)
    given = given.strip() if isinstance(given, str) else given
    if given is None or (given == "" and optional):
        if not optional:
            raise OptionError(f"{field.name} must not be null")
        return None
    if not field.several:
        return _single(kind, given, field)
    if isinstance(given, str):
        given = [given] if field.repeated else [part.strip() for part in given.split(",")]
    parts = given if isinstance(given, (list, tuple)) else [given]
    return tuple(_single(typing.get_args(kind)[0], one, field) for one in parts if one != "")


def _single(kind: Any, given: Any, field: Field) -> Any:
    if field.choices and kind is not bool:
        if given not in field.choices:
            raise OptionError(f"{field.name} is one of {', '.join(field.choices)}, not '{given}'")
        return given
    if kind is bool:
        if not isinstance(given, (str, bool)) or given not in _YES:
            raise OptionError(f"{field.name} is one of yes, no, not '{given}'")
        return _YES[given]
    if kind in (int, float):
        return _number(kind, given, field)
    if not isinstance(given, (str, int, float)) or isinstance(given, bool):
        raise OptionError(f"{field.name} wants a text, not {type(given).__name__}")
    text = str(given)
    if field.kind in ("name", "file") and text != field.default and is_path(text, field.name):
        raise OptionError(
            f"{field.name} names '{text}', a place on the machine that the app runs on: the app "
            f"reads what it was started with, and uploads; name one of those as {FILE}KEY"
        )
    return text


def _number(kind: type, given: Any, field: Field) -> Any:
    try:
        number = kind(given) if isinstance(given, (str, int, float)) else None
        whole = kind is float or isinstance(given, str) or number == given
    except (ValueError, OverflowError):
        number = whole = None
    if number is None or not whole or isinstance(given, bool) or math.isnan(number):
        wanted = "whole numbers with commas" if field.several else "a number"
        raise OptionError(f"{field.name} wants {wanted}, not '{given}'")
    return number


def is_path(text: str, option: str) -> bool:
    """Whether a text, or what stands in it behind a colon, names a place of this machine; a name
    that rote knows does not, nor does the key of a file."""
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
