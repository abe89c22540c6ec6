"""Forms made from options dataclasses, and read back: the fields are those of the shell's flags.

Only kinds of values that cannot name a file are taken from a request: numbers, choices, and the
few strings that name a field, a layer or a source.
"""

from __future__ import annotations

import dataclasses
import re
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from starlette.datastructures import FormData

from rote.core.errors import OptionError
from rote.core.metric import bare, hints_of
from rote.web.files import in_words

_NAMES = frozenset(
    "by reference within cluster inputs layer tags to on codecs scores control normalize_to "
    "document_field reference_field".split()
)
"""Strings that name something inside the texts. Others (a file, a package) are left out, unless
their option says `form=True`."""
_OPEN = {
    **dict.fromkeys(("corpus", "against", "train", "answers"), "place"),
    "model": "models",
    **dict.fromkeys("correct member items over order pair facet without values".split(), "text"),
    **dict.fromkeys("device dtype text_field id_field prompt_field".split(), "text"),
}
"""The same for what is run by itself, and strings that name an index, a file or a model."""
_BEYOND = re.compile(r"[;:] | +[(\[](?=[^)\]]*[)\]](?:$|;))")
_CLOSED = re.compile(r"[)\]]")
Form = TypeVar("Form")
_YES = {"yes": True, "no": False}


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
    """number, text or choice; place: what texts are held against; models."""
    default: str
    choices: tuple[str, ...] = ()
    step: str = ""


def fields_of(
    options: type, only: Iterable[str] | None = None, *, open: bool = False
) -> list[Field]:
    """The fields that a form can have, in their order; with `open` also those that name an index,
    a file or a model, to be chosen among what the app was started with."""
    hints = hints_of(options)
    chosen = None if only is None else set(only)
    found = (
        _field(one, hints[one.name])
        for one in dataclasses.fields(options)
        if chosen is None or one.name in chosen
    )
    return [one for one in found if one is not None and (open or one.name not in _OPEN)]


def read(
    options: type,
    given: Mapping[str, str],
    only: Iterable[str] | None = None,
    prefix: str = "",
    *,
    open: bool = False,
) -> dict[str, Any]:
    """The values that differ from the defaults; a wrong one is named."""
    hints = hints_of(options)
    found = {}
    for field in fields_of(options, only, open=open):
        text = given.get(prefix + field.name)
        if text is not None and text.strip() != field.default:
            found[field.name] = _value(hints[field.name], text.strip(), field)
    return found


def filled(fields: Iterable[Field], given: Mapping[str, Any]) -> list[tuple[Field, str]]:
    """Fields with what is in them: what was given, or the default."""
    return [(f, written(given[f.name]) if f.name in given else f.default) for f in fields]


def from_json(form: type[Form], data: Mapping[str, Any]) -> Form:
    """What was asked, from the JSON of a job or of a kept result, where tuples are lists."""
    return form(**_tupled(data))


def pairs_of(form: FormData) -> list[tuple[str, str]]:
    """A posted form without its files."""
    return [(name, value) for name, value in form.multi_items() if isinstance(value, str)]


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


def _field(one: dataclasses.Field[Any], hint: Any) -> Field | None:
    if not one.metadata.get("form", True):
        return None
    kind, _ = bare(hint)
    help = one.metadata["help"]
    begins, rest = _cut(in_words(help))
    base: dict[str, Any] = {
        "name": one.name,
        "label": _capital(begins),
        "help": _capital(help),
        "rest": rest,
        "default": written(one.default),
    }
    if kind is bool:
        return Field(**base, kind="choice", choices=("yes", "no"))
    if typing.get_origin(kind) is typing.Literal:
        return Field(**base, kind="choice", choices=tuple(map(str, typing.get_args(kind))))
    if kind in (int, float):
        return Field(**base, kind="number", step="1" if kind is int else "any")
    item = typing.get_args(kind)[0] if typing.get_origin(kind) is tuple else kind
    if item is str and one.name in _OPEN:
        return Field(**base, kind=_OPEN[one.name])
    if item is str and one.name not in _NAMES and not one.metadata.get("form", False):
        return None
    return Field(**base, kind="text") if item in (int, str) else None


def _cut(help: str) -> tuple[str, str]:
    """What is asked for, and what else is said: behind a sign, or in brackets at the end."""
    found = _BEYOND.search(help)
    if found is None:
        return help, ""
    rest = help[found.end() :]
    return help[: found.start()], _CLOSED.sub("", rest, 1) if found[0][-1] in "([" else rest


def _capital(text: str) -> str:
    return text if text.startswith("n-") else text[:1].upper() + text[1:]


def _value(hint: Any, text: str, field: Field) -> Any:
    kind, optional = bare(hint)
    if not text and optional:
        return None
    if field.choices and text not in field.choices:
        raise OptionError(f"{field.name} is one of {', '.join(field.choices)}, not '{text}'")
    if kind is bool:
        return _YES[text]
    try:
        if typing.get_origin(kind) is tuple:
            item = typing.get_args(kind)[0]
            return tuple(item(part.strip()) for part in text.split(",") if part.strip())
        return kind(text) if kind in (int, float) else text
    except ValueError:
        wanted = "whole numbers with commas" if field.kind == "text" else "a number"
        raise OptionError(f"{field.name} wants {wanted}, not '{text}'") from None
