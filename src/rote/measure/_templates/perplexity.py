"""How surprising templates are to language models, against other stretches of the same texts.

Figure 3 of Shaib et al. (2024): for every occurrence of a template H is the mean number of bits of
its tokens; 2 ** H is averaged over the occurrences in a text, then over texts (their equation 4).
The same for as many random stretches of equal length that are no template. Several checkpoints of
one model show when templates are learned.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rote.compare.clusters import mean_of
from rote.compare.exact_tests import signed_ranks
from rote.compare.intervals import mean
from rote.core.array_types import Floats, Integers
from rote.core.layer import Layer
from rote.core.metric import Comparison
from rote.core.model import Continuation, Model, Scored
from rote.measure._ngram_kernels import ONCE
from rote.measure._templates.core import Options, Rows, templates_of
from rote.measure._templates.matches import spans

TEMPLATE, OTHER = "template", "other"


@dataclass(frozen=True, slots=True)
class Stretches:
    """Stretches of one text: character offsets, those of templates and others."""

    text: str
    cluster: int
    """Texts with the same number belong together."""
    template: list[tuple[int, int]]
    other: list[tuple[int, int]]


def perplexity_table(rows: Rows, comparison: Comparison, options: Options) -> list[dict[str, Any]]:
    """`perplexity`: one row for each source, model and kind of stretch."""
    from rote.measure._speaking import open_models
    from rote.models.options import how_to_run

    models = open_models(options.model, how_to_run(options), comparison.reporter)
    held = {
        source: list(_stretches(rows, source, comparison, options)) for source in comparison.groups
    }
    return [
        row
        for name, model in models.items()
        for source, found in held.items()
        for row in _rows(source, name, model, found, comparison, options)
    ]


def _stretches(
    rows: Rows, source: str, comparison: Comparison, options: Options
) -> Iterator[Stretches]:
    """The texts that hold a template, and where; for each template another stretch, if there is."""
    take, random = comparison.groups[source], np.random.default_rng(comparison.seed)
    chosen = templates_of(rows, take, options)
    windows, layer = rows.windows, rows.layer
    for number, cluster in zip(take.tolist(), comparison.together(source).tolist()):
        places, _ = windows.places(layer, np.array([number]), chosen)
        if not len(places):
            continue
        text = layer.slice(number)
        free = np.arange(text.start, max(text.start, text.stop - windows.n + 1))
        if options.by_sentence:
            free = free[windows.numbers[free] != ONCE]
        free = free[~np.isin(windows.numbers[free], chosen)]  # windows that are no template
        drawn = np.sort(random.choice(free, min(len(free), len(places)), replace=False))
        yield Stretches(
            rows.raw.string(number),
            cluster,
            _spans(layer, places, windows.n),
            _spans(layer, drawn, windows.n),
        )


def _spans(layer: Layer, places: Integers, n: int) -> list[tuple[int, int]]:
    starts, ends = spans(layer, places, n)
    return list(zip(starts.tolist(), ends.tolist()))


def _rows(
    source: str,
    name: str,
    model: Model,
    found: Sequence[Stretches],
    comparison: Comparison,
    options: Options,
) -> Iterator[dict[str, Any]]:
    bits = _bits(name, model, found, comparison, options)
    # Per text: the mean of 2 ** H over its stretches.
    means = {kind: np.array([_mean(2**own) for own in bits[kind]]) for kind in bits}
    # Logarithms are compared, since a few rare words would decide about means.
    logs = {kind: np.array([_mean(own) for own in bits[kind]]) for kind in bits}
    together = np.array([one.cluster for one in found], np.int64)
    test = signed_ranks(logs[OTHER], logs[TEMPLATE], together)
    for kind, values in means.items():
        overall = mean_of(values, together)
        low, high = overall.interval(comparison.level)
        yield {
            "source": source,
            "model": name,
            "kind": kind,
            "perplexity": overall.value,
            "low": low,
            "high": high,
            "bits": mean(logs[kind]),
            "texts": int((~np.isnan(values)).sum()),
            "spans": sum(map(len, bits[kind])),
            "p": test.p,
            "signature": model.signature,
        }


def _bits(
    name: str, model: Model, found: Sequence[Stretches], comparison: Comparison, options: Options
) -> dict[str, list[Floats]]:
    """For each kind and text the bits per token of every stretch."""
    from rote.models.answers import score_all

    kinds, in_text = (TEMPLATE, OTHER), options.context == "text"
    spans = [(one, span) for kind in kinds for one in found for span in getattr(one, kind)]
    asked = [one.text for one in found] if in_text else [one.text[a:b] for one, (a, b) in spans]
    questions = [Continuation("", text) for text in asked]
    scored = score_all(model, questions, comparison.reporter, title=f"templates: {name}")
    if in_text:
        whole = {id(one): answer for one, answer in zip(found, scored)}
        bits = iter([within(whole[id(one)], *span) for one, span in spans])
    else:
        bits = iter([-_mean(answer.logprobs) / math.log(2) for answer in scored])
    return {
        kind: [np.array([next(bits) for _ in getattr(one, kind)]) for one in found]
        for kind in kinds
    }


def within(whole: Scored, start: int, end: int) -> float:
    """The mean bits of the tokens that occur in these characters; a token that only reaches into
    them counts too."""
    there = (whole.ends > start) & (whole.starts < end)
    return -_mean(whole.logprobs[there]) / math.log(2)


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else math.nan
