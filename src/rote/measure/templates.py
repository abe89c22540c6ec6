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

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.array_types import Floats
from rote.core.evidence import Evidence, EvidenceTexts, Mark, cut_evidence, group_by_source
from rote.core.layer import Layer, layer_words
from rote.core.metric import Comparison, Metric, Value, Values, is_given
from rote.core.progress import several
from rote.core.record import Chapter, Headline, ReportContext
from rote.core.result import Result
from rote.core.sample import Need, Take
from rote.measure import compression
from rote.measure._template_output import CHARTS, LAYOUT
from rote.measure._template_rows import (
    Options,
    Rows,
    compression_options,
    contributions,
    counted_in_texts,
    counted_of_many,
    needs,
    rows,
    template_values,
    templates_of,
    windows_in_texts,
)
from rote.measure._text_means import count_note
from rote.search.reference_corpus import annotator_signature


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
        from rote.measure._template_corpus import check_corpora

        check_corpora(options, signature=annotator_signature(signature))
    if options.write is not None:
        from rote.measure._template_tables import check_target

        check_target(options.write)
    if options.model:
        from rote.search.model.open_models import check_models

        check_models(options.model)


def reduce(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    (ratio,) = compression.reduce(
        rows.compression, take, compression_options(options), rng
    ).values()
    return {"cr": ratio, **template_values(rows, take, options)}


def resample(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    """Without what is too costly: the string search of the other variants."""
    by_name = many(rows, [take], [value.name for value in values(options)], options)
    return {name: float(column[0]) for name, column in by_name.items()}


def many(
    rows: Rows, takes: Sequence[Take], names: Collection[str], options: Options
) -> dict[str, Floats]:
    """`resample` of many groups; CR by what stands in for it in `compression`."""
    if options.variant != "exact":
        return {}
    by_name = {}
    if set(names) != {"cr"}:
        by_name = counted_of_many(rows, takes, options)
    if "cr" in names:
        by_name |= compression.many(rows.compression, takes, ["cr"], compression_options(options))
    return {name: column for name, column in by_name.items() if name in names}


def text_errors(rows: Rows, take: Take, options: Options) -> Mapping[str, Floats]:
    """That of CR, of large groups."""
    if options.variant != "exact":
        return {}
    errors = compression.text_errors(rows.compression, take, compression_options(options))
    return dict(zip(["cr"], errors.values()))


def tables(rows: Rows, comparison: Comparison, options: Options) -> Mapping[str, Sequence[Any]]:
    """The templates themselves, the curve over n, the corpora; or one text with its templates."""
    from rote.measure._template_tables import length_table, template_tables

    if options.write is not None:
        from rote.measure._template_tables import write_matches

        write_matches(rows, comparison, options, options.write)
    if options.highlight is not None:
        from rote.measure._template_tables import highlighted

        return {"highlight": highlighted(rows, comparison, options)}
    by_name: dict[str, Sequence[Any]] = {"lengths": length_table(rows, comparison, options)}
    by_name |= template_tables(rows, comparison, options)
    if is_given(options.corpus):
        from rote.measure._template_corpus import open_corpora, tables_of

        signature = annotator_signature(comparison.signature)
        corpora = open_corpora(options, signature=signature, reporter=comparison.reporter)
        by_name |= tables_of(corpora, rows, comparison, options)
    if options.model:
        from rote.measure._template_corpus import perplexity_table

        by_name["perplexity"] = perplexity_table(rows, comparison, options)
    return by_name


def notes(rows: Rows, take: Take, options: Options) -> list[str]:
    windows = windows_in_texts(rows, options)[take]
    short = "have no sentence of" if options.windows == "sentence" else "are shorter than"
    lines = count_note(windows == 0, f"texts {short} n = {options.n}")
    if not len(templates_of(rows, take, options)):
        lines.append(
            f"no {options.n}-gram stands {several(options.min_count, 'time')}: no template"
        )
    if options.variant == "paper" and rows.word.sentence_ends is None:
        lines.append("no sentence ends: each text's Treebank tokens are those of one sentence")
    if options.variant != "exact":
        lines.append(f"variant {options.variant}: no intervals and no tests")
    return lines


def method(s: Mapping[str, str]) -> str:
    of = layer_words(s["layer"])
    where = "in its texts" if s.get("windows") is None else "within the sentences of its texts"
    least = "" if s["min_count"] == "1" else f" that stand at least {s['min_count']} times"
    return (
        f"Templates of a source are the {s['top']} most frequent n-grams (n = {s['n']}) of "
        f"{of} {where}{least}; we give the share of texts that hold one, and "
        "occurrences per word"
    )


def looked_up(context: ReportContext) -> dict[str, Any]:
    """A report looks templates up in its corpus; a file of texts cannot be asked for tags."""
    from rote.index.folders.manifest import is_index
    from rote.index.index import Index

    if isinstance(context.corpus, Index):
        return {"corpus": (context.corpus,)}
    if not isinstance(context.corpus, str) or not is_index(Path(context.corpus)):
        return {}
    return {"corpus": (f"{Path(context.corpus).resolve().name}={context.corpus}",)}


_MIN_WORDS = 30
"""Words from which on a text shows a habit, and not just itself."""
_TAGS = Need("pos", spans=True)
_FACTOR = 0xD6E8FEB86659FD93
"""Odd, without structure: its powers make hashes of n-grams."""
TemplatePlace = tuple[int, int]
"""An item of a text, and which of the templates begins there."""


def evidence(result: Result, texts: EvidenceTexts) -> Iterator[Evidence]:
    """The texts that templates fill most, and one at random."""
    if _TAGS not in texts.sample.layers:
        return
    layer = texts.sample.layer(_TAGS)
    numbers = {item: number for number, item in enumerate(layer.vocabulary)}
    listed = group_by_source(result.tables.get("templates", ()))
    for source, numbers_of_source in texts.groups.items():
        templates = [row["template"].split(" ") for row in listed.get(source, ())]
        if not templates:
            continue
        known = np.array([[numbers[item] for item in template] for template in templates])
        places = {
            text: _find_templates(layer.ids[layer.slice(text)], known) for text in numbers_of_source
        }
        for text in _select_texts(places, layer, known.shape[1], texts):
            marks = _template_marks(layer, text, places[text], templates)
            yield cut_evidence(
                Evidence("templates", source, texts.ids[text], texts.read(text), marks)
            )


def _find_templates(ids: NDArray[np.int32], known: NDArray[np.int64]) -> list[TemplatePlace]:
    n = known.shape[1]
    if len(ids) < n:
        return []
    windows = np.lib.stride_tricks.sliding_window_view(ids, n)
    factors = np.cumprod(np.full(n, _FACTOR, np.uint64))
    hashes, sought = (rows.astype(np.uint64) @ factors for rows in (known, windows))
    order = np.argsort(hashes)
    which = order[np.searchsorted(hashes, sought, sorter=order).clip(max=len(order) - 1)]
    places = np.flatnonzero((known[which] == windows).all(axis=1))
    return list(zip(places.tolist(), which[places].tolist()))


def _select_texts(
    places: Mapping[int, Sequence[TemplatePlace]], layer: Layer, n: int, texts: EvidenceTexts
) -> list[int]:
    """Those of which templates fill the largest share, then one of the others at random."""
    from rote.measure.driver.preparation import hash_id

    def share(text: int) -> float:
        words = int(layer.slice(text).stop - layer.slice(text).start)
        inside: set[int] = {place + step for place, _ in places[text] for step in range(n)}
        # Of a short text a single template fills much.
        return len(inside) / max(words, _MIN_WORDS)

    def by_chance(text: int) -> bytes:
        return hash_id(texts.ids[text], texts.seed)

    ranked = sorted(places, key=lambda text: (-share(text), by_chance(text)))
    first = ranked[: max(1, texts.count - 1)]
    rest = ranked[len(first) :]
    return [*first, min(rest, key=by_chance)] if rest and texts.count > 1 else first


def _template_marks(
    layer: Layer, text: int, places: Sequence[TemplatePlace], templates: Sequence[Sequence[str]]
) -> list[Mark]:
    begin = layer.slice(text).start
    return [
        Mark(
            int(layer.starts[begin + place]),
            int(layer.ends[begin + place + len(templates[which]) - 1]),
            " ".join(templates[which]),
            "template",
        )
        for place, which in places
    ]


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
    text_errors=text_errors,
    interval_method=compression.METRIC.interval_method,
    stand_in=compression.METRIC.stand_in,
    per_text=counted_in_texts,
    contributions=contributions,
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
    chapter=Chapter(
        "Templates",
        10,
        texts="Templates in their texts",
        legend="Each line under the words is a template; its number leads to the list below.",
        lead="A template is a sequence of parts of speech that recurs in the texts of a source; "
        "the words in it differ.",
        first=("", "lengths", "templates"),
        folded="Templates that set a source apart",
    ),
    evidence=evidence,
    usual=True,
    place=10,
    main=("rate",),
    headlines=(
        Headline(
            "per_token",
            "repeats templates more",
            "repeats templates less",
            unit="templates per word",
        ),
    ),
    method=method,
    report=looked_up,
    lesser=lambda options: replace(options, corpus=()) if is_given(options.corpus) else None,
)
