"""Every measure as one function: `rote.lexical(texts, by="source", window=100)`.

The keywords are the fields of the measure's options, of `Settings` and of
`ReadOptions`; the shell's flags are the same fields under the same names.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from rote.core import plugins
from rote.core.errors import InputError, OptionError
from rote.core.metric import check_types
from rote.core.result import Result
from rote.corpus import Input, ReadOptions
from rote.measure import PANEL, Settings
from rote.measure._compute import Measures, compute


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


def syntactic(texts: Input, **keywords: Any) -> Result:
    """How varied the dependency trees are; see `rote.measure.syntactic`."""
    return _one("syntactic", texts, keywords)


def semantic(texts: Input, **keywords: Any) -> Result:
    """How varied the meanings are; see `rote.measure.semantic`."""
    return _one("semantic", texts, keywords)


def precision_recall(texts: Input, **keywords: Any) -> Result:
    """How much of a source the reference covers, and the reverse; see `rote.measure`."""
    return _one("precision-recall", texts, keywords)


def favoured(texts: Input, **keywords: Any) -> Result:
    """Which patterns of grammar a source and the reference favour; see `rote.measure.favoured`."""
    return _one("favoured", texts, keywords)


def perplexity(texts: Input, **keywords: Any) -> Result:
    """How surprising the texts are to a model (`model`); see `rote.measure.perplexity`."""
    return _one("perplexity", texts, keywords)


def rouge(texts: Input, **keywords: Any) -> Result:
    """ROUGE of each text against a field of its record; see `rote.measure.rouge`."""
    return _one("rouge", texts, keywords)


def similarity(texts: Input, **keywords: Any) -> Result:
    """How near each text is in meaning to a field of its record; see `rote.measure.similarity`."""
    return _one("similarity", texts, keywords)


def novelty(texts: Input, **keywords: Any) -> Result:
    """How much is new to a corpus (`against`); see `rote.measure.novelty`."""
    return _one("novelty", texts, keywords)


def contamination(texts: Input, **keywords: Any) -> Result:
    """Which items a corpus (`against`) holds already; see `rote.measure.contamination`."""
    return _one("contamination", texts, keywords)


def originality(texts: Input, **keywords: Any) -> Result:
    """Which sentences are original against a ground truth; see `rote.measure.originality`."""
    return _one("originality", texts, keywords)


def overlap(texts: Input, **keywords: Any) -> Result:
    """How close test items are to a training set (`train`), and whether scores rise with that."""
    return _one("overlap", texts, keywords)


def entity_scores(texts: Input, **keywords: Any) -> Result:
    """Which entities of a text are in its document; see `rote.measure.entity_scores`."""
    return _one("entity-scores", texts, keywords)


def diversity(texts: Input, **keywords: Any) -> list[Result]:
    """The whole panel at once, one result per measure; measures keep their own defaults."""
    measures = [(name, _options_type(name)(**chosen)) for name, chosen in PANEL]
    return _several(measures, texts, keywords, panel=True)


def _one(name: str, texts: Input, keywords: dict[str, Any]) -> Result:
    options = _options_type(name)
    own = {field.name for field in fields(options)}
    mine = {key: value for key, value in keywords.items() if key in own}
    check_types(options, mine)
    chosen = options(**mine)
    rest = {key: value for key, value in keywords.items() if key not in own}
    return _several({name: chosen}, texts, rest, own)[0]


def _several(
    measures: Measures,
    texts: Input,
    keywords: dict[str, Any],
    own: Sequence[str] | set[str] = (),
    *,
    panel: bool = False,
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
        _not_a_text(texts),
        settings=Settings(**given[Settings]),
        read=ReadOptions(**given[ReadOptions]),
        panel=panel,
    )


def _not_a_text(texts: Input) -> Input:
    """A text in the place of a path is an error that says what to do."""
    if isinstance(texts, str) and len(texts.split()) > 1 and not Path(texts[:4096]).exists():
        shown = texts if len(texts) <= 60 else f"{texts[:60]}…"
        raise InputError(
            "no such file",
            file=shown,
            remedy="Check the path; one text alone is given as a list, [text]",
        )
    return texts


def _options_type(name: str) -> Any:
    return plugins.load("measure", name).METRIC.options


def _listed(value: str | Sequence[str]) -> tuple[str, ...]:
    """`by="a,b"` is as good as `by=("a", "b")`."""
    if not isinstance(value, (str, Sequence)) or not all(isinstance(one, str) for one in value):
        raise OptionError(f"by names fields, such as 'source' or ('task', 'source'), not {value!r}")
    return tuple(value.split(",")) if isinstance(value, str) else tuple(value)
