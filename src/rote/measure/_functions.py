"""Every measure as one function: `rote.lexical(texts, by="source", window=100)`.

The keywords are the fields of the measure's options, of `Settings` and of
`ReadOptions`; the shell's flags are the same fields under the same names.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from rote.core import plugins
from rote.core.errors import OptionError
from rote.core.result import Result
from rote.corpus import Input, ReadOptions
from rote.measure import PANEL, Settings
from rote.measure._compute import compute


def lexical(texts: Input, **keywords: Any) -> Result:
    """How varied the words are; see `rote.measure.lexical`."""
    return _one("lexical", texts, keywords)


def compression(texts: Input, **keywords: Any) -> Result:
    """How well the texts compress together; see `rote.measure.compression`."""
    return _one("compression", texts, keywords)


def self_repetition(texts: Input, **keywords: Any) -> Result:
    """How much texts share n-grams; see `rote.measure.self_repetition`."""
    return _one("self-repetition", texts, keywords)


def homogenization(texts: Input, **keywords: Any) -> Result:
    """How alike pairs of texts are; see `rote.measure.homogenization`."""
    return _one("homogenization", texts, keywords)


def templates(texts: Input, **keywords: Any) -> Result:
    """Which patterns of grammar stand again and again; see `rote.measure.templates`."""
    return _one("templates", texts, keywords)


def diversity(texts: Input, **keywords: Any) -> list[Result]:
    """The whole panel at once, one result per measure; measures keep their own defaults."""
    return _several({name: _options_type(name)() for name in PANEL}, texts, keywords)


def _one(name: str, texts: Input, keywords: dict[str, Any]) -> Result:
    options = _options_type(name)
    own = {field.name for field in fields(options)}
    chosen = options(**{key: value for key, value in keywords.items() if key in own})
    rest = {key: value for key, value in keywords.items() if key not in own}
    return _several({name: chosen}, texts, rest, own)[0]


def _several(
    measures: dict[str, Any],
    texts: Input,
    keywords: dict[str, Any],
    own: Sequence[str] | set[str] = (),
) -> list[Result]:
    given: dict[type, dict[str, Any]] = {Settings: {}, ReadOptions: {}}
    homes = {field.name: kind for kind in given for field in fields(kind)}
    for key, value in keywords.items():
        if key not in homes:
            near = difflib.get_close_matches(key, [*homes, *own], n=1)
            hint = f": did you mean '{near[0]}'?" if near else ""
            raise OptionError(f"unknown option '{key}'{hint}")
        given[homes[key]][key] = _listed(value) if key == "by" else value
    return compute(
        measures,
        texts,
        settings=Settings(**given[Settings]),
        read=ReadOptions(**given[ReadOptions]),
    )


def _options_type(name: str) -> Any:
    return plugins.load("measure", name).METRIC.options


def _listed(value: str | Sequence[str]) -> tuple[str, ...]:
    """`by="a,b"` is as good as `by=("a", "b")`."""
    return tuple(value.split(",")) if isinstance(value, str) else tuple(value)
