"""Templates: patterns of grammar that recur, and how much of the texts they fill.

Syntactic templates (Shaib et al. 2024): the most frequent n-grams of part-of-speech tags (or of
any layer) in a source's texts. Their rate is the share of texts that hold at least one of them;
templates per token says how many occurrences there are for each word; CR-POS how well the tags
compress, apart from any template.

Direction: higher is more repetitive. Length: a longer text holds a template more easily, templates
per token moves with the length of texts too, and with more texts the same number of templates
fills less of each. Compare groups of different size by the values at equal length.

Variants. `exact`: an occurrence is a place with these tags. `paper`: as in the printed
tables, a text holds a template if one of the template's word strings is a substring of the raw
text; no minimum count. `package`: as `diversity` 0.3.1, n-grams within sentences of all texts
joined. `--windows sentence` counts n-grams within sentences under the exact definition.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rote.core.array_types import Floats
from rote.core.layer import layer_words
from rote.core.metric import Comparison, Metric, Value, Values, is_given
from rote.core.progress import several
from rote.core.record import Asked, Headline
from rote.core.sample import Take
from rote.measure import compression
from rote.measure._against import annotator_signature
from rote.measure._means import said_of
from rote.measure._templates.charts import CHARTS
from rote.measure._templates.core import (
    Options,
    Rows,
    compression_options,
    counted,
    counted_in_texts,
    counted_of_many,
    needs,
    rows,
    templates_of,
    windows_in_texts,
)
from rote.measure._templates.layout import LAYOUT

# gzip at level 9 packs some 10 MB of tags a second: beyond this, resampling CR takes minutes.
_RESAMPLED_BYTES = 300_000
_NO_CHANCE = np.random.default_rng(0)


def values(options: Options) -> tuple[Value, ...]:
    n = options.n
    return (
        Value("cr", f"CR of {options.layer}", "repetitive", "both"),
        Value("length", "mean length in words", "neither", "length", size=True),
        Value(
            *("rate", f"texts with a template (n = {n})", "repetitive", "length"),
            share=True,
            of_texts=True,
        ),
        Value("per_token", f"templates per token (n = {n})", "repetitive", "both"),
        Value("distinct", f"different templates in a text (n = {n})", "repetitive", "both"),
    )


def check(options: Options, signature: str) -> None:
    """A corpus or a model that cannot be asked is refused before any text is read."""
    if is_given(options.corpus):
        from rote.measure._templates.corpus import check_corpora

        check_corpora(options, signature=annotator_signature(signature))
    if options.write is not None:
        from rote.measure._templates.tables import check_target

        check_target(options.write)
    if options.model:
        from rote.measure._speaking import check as check_models

        check_models(options.model)


def reduce(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    (ratio,) = compression.reduce(
        rows.compression, take, compression_options(options), rng
    ).values()
    return {"cr": ratio, **counted(rows, take, options)}


def resample(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    """Without what is too costly: CR of many texts, and the string search of the other variants."""
    if options.variant != "exact":
        return {}
    if _long_to_compress(rows):
        return counted(rows, take, options)
    return reduce(rows, take, options, rng)


def many(
    rows: Rows, takes: Sequence[Take], names: Collection[str], options: Options
) -> dict[str, Floats]:
    """`resample` of many groups: everything but CR in one call."""
    if options.variant != "exact":
        return {}
    found = counted_of_many(rows, takes, options)
    if "cr" in names and not _long_to_compress(rows):
        own = compression_options(options)
        ratios = [compression.reduce(rows.compression, take, own, _NO_CHANCE) for take in takes]
        found["cr"] = np.array([ratio for of_group in ratios for ratio in of_group.values()])
    return {name: column for name, column in found.items() if name in names}


def tables(rows: Rows, comparison: Comparison, options: Options) -> Mapping[str, Sequence[Any]]:
    """The templates themselves, the curve over n, the corpora; or one text with its templates."""
    from rote.measure._templates.tables import length_table, template_tables

    if options.write is not None:
        from rote.measure._templates.tables import write_matches

        write_matches(rows, comparison, options, options.write)
    if options.highlight is not None:
        from rote.measure._templates.tables import highlighted

        return {"highlight": highlighted(rows, comparison, options)}
    found: dict[str, Sequence[Any]] = {"lengths": length_table(rows, comparison, options)}
    found |= template_tables(rows, comparison, options)
    if is_given(options.corpus):
        from rote.measure._templates.corpus import open_corpora, tables_of

        signature = annotator_signature(comparison.signature)
        corpora = open_corpora(options, signature=signature, reporter=comparison.reporter)
        found |= tables_of(corpora, rows, comparison, options)
    if options.model:
        from rote.measure._templates.perplexity import perplexity_table

        found["perplexity"] = perplexity_table(rows, comparison, options)
    return found


def notes(rows: Rows, take: Take, options: Options) -> list[str]:
    held = windows_in_texts(rows, options)[take]
    short = "have no sentence of" if options.windows == "sentence" else "are shorter than"
    found = said_of(held == 0, f"texts {short} n = {options.n}")
    if not len(templates_of(rows, take, options)):
        found.append(
            f"no {options.n}-gram stands {several(options.min_count, 'time')}: no template"
        )
    if options.variant == "paper" and rows.word.sentence_ends is None:
        found.append("no sentence ends: each text's Treebank tokens are those of one sentence")
    if options.variant != "exact":
        found.append(f"variant {options.variant}: no intervals and no tests")
    elif _long_to_compress(rows):
        found.append(
            "no interval for CR, since it would have to be compressed hundreds of times; "
            f"`rote compression --layer {options.layer} --sample 50` gives one for a part"
        )
    return found


def _long_to_compress(rows: Rows) -> bool:
    return int(rows.compression.lengths.sum()) > _RESAMPLED_BYTES


def method(s: Mapping[str, str]) -> str:
    of = layer_words(s["layer"])
    where = "in its texts" if s.get("windows") is None else "within the sentences of its texts"
    least = "" if s["min_count"] == "1" else f" that stand at least {s['min_count']} times"
    return (
        f"Templates of a source are the {s['top']} most frequent n-grams (n = {s['n']}) of "
        f"{of} {where}{least}; we give the share of texts that hold one, and "
        "occurrences per word"
    )


def looked_up(asked: Asked) -> dict[str, Any]:
    """A report looks templates up in its corpus; a file of texts cannot be asked for tags."""
    from rote.index.folders.manifest import is_index
    from rote.index.index import Index

    if isinstance(asked.corpus, Index):
        return {"corpus": (asked.corpus,)}
    if not isinstance(asked.corpus, str) or not is_index(Path(asked.corpus)):
        return {}
    return {"corpus": (f"{Path(asked.corpus).resolve().name}={asked.corpus}",)}


METRIC = Metric(
    name="templates",
    title="Templates",
    values=values,
    needs=needs,
    options=Options,
    rows=rows,
    reduce=reduce,
    resample=resample,
    many=many,
    per_text=counted_in_texts,
    undefined=lambda rows, options: {"per_token": rows.words == 0},
    citation=(
        "Shaib, Elazar, Li and Wallace (2024), Detection and Measurement of Syntactic Templates in "
        "Generated Text"
    ),
    match="words",
    notes=notes,
    tables=tables,
    charts=CHARTS,
    check=check,
    order_matters=True,
    layout=LAYOUT,
    says="Patterns of grammar that recur.",
    section="patterns",
    place=10,
    main=("rate",),
    headlines=(
        Headline(
            *("per_token", "repeats templates more", "repeats templates less"),
            unit="templates per word",
        ),
    ),
    method=method,
    report=looked_up,
    lesser=lambda options: replace(options, corpus=()) if is_given(options.corpus) else None,
)
