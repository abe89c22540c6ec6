"""Every record as a function: `rote.lexical(texts, by="source")`, `rote.memorization(items, …)`.

The keywords are the fields of the record's options and of those that it shares with others; the
shell's flags are the same fields under the same names. Signature and docstring are made from the
record, and `stub` writes them down for type checkers and editors.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Sequence
from dataclasses import Field, fields
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from rote.core.errors import InputError
from rote.core.metric import Metric, at_a_glance
from rote.core.record import Study
from rote.core.registry import find, module_of, names
from rote.core.result import PanelResults, Result
from rote.studies._driver import default_of, kinds, options_of, run

_INPUTS = {
    "texts": ("texts", "Input"),
    "items": ("inputs", "Input"),
    "results": ("results", "Any"),
    "index": ("index", "Any"),
    "prompts": ("prompts", "str | Sequence[str]"),
}
"""What a function calls what it takes, and the type of that."""
PANEL = "diversity"


def function(name: str) -> Callable[..., Any]:
    """The function of one record, by the name that Python has for it."""
    if name == PANEL:
        return diversity
    record = find(name.replace("_", "-"))
    own = record.name

    def call(inputs: Any, /, **keywords: Any) -> Result:
        return run(own, inputs if given == "prompts" else not_a_text(inputs), keywords)

    given, _ = _takes(record)
    call.__name__ = call.__qualname__ = name
    call.__module__ = "rote"
    call.__doc__ = documentation(record)
    parameters = [inspect.Parameter(given, inspect.Parameter.POSITIONAL_ONLY)]
    parameters += [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=default_of(field),
            annotation=kind,
        )
        for field, kind in keywords_of(record)
    ]
    call.__signature__ = inspect.Signature(parameters, return_annotation="Result")  # type: ignore[attr-defined]
    return call


def diversity(texts: Any, /, **keywords: Any) -> PanelResults:
    """The whole panel at once, one result per measure; measures keep their own defaults."""
    from rote.corpus import ReadOptions
    from rote.measure import Settings, panel
    from rote.measure._compute import compute

    options = options_of((Settings, ReadOptions), keywords)
    results = compute(
        [(name, find(name).options(**chosen)) for name, chosen in panel()],
        not_a_text(texts),
        settings=options[Settings],
        read=options[ReadOptions],
        panel=True,
    )
    return PanelResults(results)


def function_names() -> list[str]:
    """All records, as Python names them, and the panel."""
    return sorted([PANEL, *(name.replace("-", "_") for name in names())])


def keywords_of(record: Metric | Study) -> list[tuple[Field[Any], str]]:
    """The fields of all its options, and what may be given for each."""
    return keywords(kinds(record), getattr(record, "without", ()))


def keywords(kinds: Sequence[type], without: Sequence[str] = ()) -> list[tuple[Field[Any], str]]:
    """The same of some kinds of options; a field that several have is taken once."""
    found: dict[str, tuple[Field[Any], str]] = {}
    for kind in kinds:
        hints = get_type_hints(kind)
        for field in fields(kind):
            if field.name in without:
                continue
            opened = field.metadata.get("opened")
            written = "Any" if opened else _written(hints[field.name])
            found.setdefault(field.name, (field, written))
    return list(found.values())


def _written(hint: Any) -> str:
    """A type as a stub has it: a string is as good as a tuple of one, or as a Path."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " | ".join(dict.fromkeys(map(_written, arguments)))
    if origin is tuple and arguments[-1] is ...:
        item = _written(arguments[0])
        return f"Sequence[{item}] | " + (item if "str" in item else f"{item} | str")
    if origin is not None:
        return f"{origin.__name__ if origin is tuple else 'Literal'}[{_listed(arguments)}]"
    return {types.NoneType: "None", Path: "str | Path"}.get(hint) or hint.__name__


def _listed(arguments: Sequence[Any]) -> str:
    return ", ".join(_written(a) if isinstance(a, type) else repr(a) for a in arguments)


def documented(record: Metric | Study) -> str:
    """What the record's file says of it; a measure's with a call, where it shows none."""
    text = (module_of(record.name).__doc__ or "").strip()
    if isinstance(record, Study) or re.search(rf"^  rote {record.name} ", text, re.M):
        return text
    own = [field for field in fields(record.options) if field.metadata.get("needed")]
    more = "".join(f" --{field.name} {field.metadata['metavar']}" for field in own)
    return f"{text}\n\n\b\n  rote {record.name} stories.jsonl --by source --reference human{more}"


def documentation(record: Metric | Study) -> str:
    """The help of the command, the keywords that most people set, and the others."""
    text = documented(record).replace("\b\n", "")
    glance = at_a_glance(kinds(record), getattr(record, "without", ()))
    lines: dict[bool, list[str]] = {True: [], False: []}
    for field, _ in keywords_of(record):
        lines[field.name in glance].append(f"    {field.name}: {field.metadata['help']}")
    usual, rest = ("\n".join(some) for some in lines.values())
    return f"{text}\n\nKeywords:\n{usual}\n\nFurther keywords:\n{rest}\n"


def stub(name: str) -> str:
    """One function as `__init__.pyi` has it."""
    if name == PANEL:
        return "def diversity(texts: Input, /, **keywords: Any) -> PanelResults: ...\n"
    record = find(name.replace("_", "-"))
    given = [": ".join(_takes(record)), "/", "*"]
    given += [f"{field.name}: {hint} = ..." for field, hint in keywords_of(record)]
    return f"def {name}({', '.join(given)}) -> Result: ...\n"


def _takes(record: Metric | Study) -> tuple[str, str]:
    return _INPUTS["texts" if isinstance(record, Metric) else record.takes]


def not_a_text(inputs: Any) -> Any:
    """A text in the place of a path is an error that says what to do."""
    if isinstance(inputs, str) and len(inputs.split()) > 1 and not Path(inputs[:4096]).exists():
        shown = inputs if len(inputs) <= 60 else f"{inputs[:60]}…"
        raise InputError(
            "no such file",
            file=shown,
            remedy="Check the path; one text alone is given as a list, [text]",
        )
    return inputs
