"""The whole panel at once: words, trees, meanings, compression, self-repetition, homogenization.

`--figure` draws one picture of it: all sources on all aspects, against the reference. With several
tasks, `--by task,source --reference human` compares the sources of each task with its human texts.
Semantic diversity needs the extra `semantic` and is left out without it.

\b
  rote diversity stories.jsonl --by source --reference human
  rote diversity tasks.jsonl --by task,source --reference human --figure panel.png
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from rote.annotate import embeddings
from rote.cli._record import panel_command
from rote.core.metric import hints_of, option
from rote.core.progress import Reporter
from rote.core.registry import find
from rote.core.result import PanelResults
from rote.corpus import Input, ReadOptions
from rote.measure import Settings, panel


@dataclass(frozen=True, slots=True)
class PanelOptions:
    """What all measures of the panel share; their other settings stay at their defaults."""

    variant: Literal["exact", "paper", "package"] = option(
        "exact", "As defined, as in the paper, or as in the `diversity` package"
    )
    sentences: int | None = option(
        None,
        "Maximum number of sentences per source, drawn at random, for trees (all) and meanings "
        "(500); variant paper: 3,000 and 2,000",
    )
    embedder: str = option(
        embeddings.DEFAULT,
        "Embedding model: minilm (English), sentence-transformers:NAME; de=NAME: for German texts",
    )


def diversity(
    texts: Input, options: PanelOptions, settings: Settings, read: ReadOptions, reporter: Reporter
) -> PanelResults:
    from rote.measure.driver.compute import compute

    kinds = (read, settings, options)
    values = {field.name: getattr(kind, field.name) for kind in kinds for field in fields(kind)}
    chosen = [(name, _options(name, values, fixed, reporter)) for name, fixed in panel()]
    return PanelResults(
        compute(chosen, texts, settings=settings, read=read, reporter=reporter, panel=True)
    )


def _options(
    measure: str, values: Mapping[str, Any], fixed: Mapping[str, Any], reporter: Reporter
) -> Any:
    """The options of one measure, whose default variant is used where it lacks the panel's."""
    kind, as_defined = find(measure).options, values["variant"] == "exact"
    allowed = get_args(hints_of(kind).get("variant"))
    options = dict(values)
    if options["variant"] not in allowed:
        options["variant"] = allowed[0] if allowed else "exact"
        reporter.say(
            f"{measure} has no variant '{values['variant']}': '{options['variant']}' is used"
        )
    for key, value in fixed.items():
        if values.get(key) is None and (key not in values or as_defined):
            options[key] = value
    return kind(
        **{field.name: options[field.name] for field in fields(kind) if field.name in options}
    )


command = panel_command("diversity", __doc__ or "", diversity, PanelOptions)
