"""Style, the way texts are written: Biber's 67 features and six dimensions.

Biber (1988) counts 67 features of grammar and vocabulary (past tense, contractions, passives, that-
clauses, hedges, ...) and finds six dimensions along which kinds of English differ, such as involved
or informational, narrative or not. Each feature is how often it occurs in 1,000 words of a text,
but for the share of different words among the first 400 and the mean length of words; a source has
the mean over its texts. A dimension adds up features, each standardized by the mean and standard
deviation of Biber's texts.

Direction: none. Length: a rate does not move with the length of texts, but in short ones it is
uneven, and a rare feature then moves a dimension far: --variant package leaves those out. Texts of
fewer than 400 words have no share of different words, and dimension 1 takes it as average, so that
dimension is also given at equal length.

Features are found by rules over tags, dependency labels and lemmas, those of the package pybiber
but for what the documentation lists. So they are as good as the annotator, and dimensions of two
annotators do not compare.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

import numpy as np

from rote.compare import clusters
from rote.compare.clusters import clustered_mean, error_inflation, number_clusters
from rote.compare.intervals import interval_from_error, mean, t_quantile
from rote.core.arrays import Floats, Integers
from rote.core.chart import Chart
from rote.core.metric import Comparison, Metric, OptionSet, Value, Work, members, option
from rote.core.record import Headline
from rote.core.result import Result, Row
from rote.core.sample import Need, Sample, Take
from rote.core.table import Column, Pivot, Rows, Table, defined, distinct, estimate, make_columns
from rote.measure._style import (
    DIMENSIONS,
    FEATURES,
    TYPES_AMONG,
    Feature,
    StyleColumns,
    dimensions,
    rates,
)
from rote.measure._text_means import count_note, per_text, reduce, standard_errors

_WORD = Need("word", spans=True)
_NEEDS = (_WORD, Need("pos"), Need("upos"), Need("dep"), Need("lemma"))
_NAMES = (*(dimension.name for dimension in DIMENSIONS), *(feature.name for feature in FEATURES))
_NO_RATES = ("type_token", "word_length")
_WORDS = 1_000
"""In so many all other features are counted."""
_DRAWN = 15


@dataclass(frozen=True, slots=True)
class Options(OptionSet):
    variant: Literal["exact", "package"] = option(
        "exact",
        "dimensions as Biber has them, or as the Multidimensional Analysis Tagger: without "
        "features that his texts have less than once in 1,000 words; steadier for short texts",
    )
    tested: Literal["all", "dimensions"] = option(
        "all",
        "what is tested against the reference: dimensions and features, or dimensions alone, so "
        "that the correction is for fewer tests (as in a report)",
    )


@dataclass(frozen=True, slots=True)
class StyleRows:
    """Of each text its words, and a column for each dimension and feature."""

    words: Integers
    columns: Floats
    scores: Mapping[str, Floats] = field(default_factory=dict)


def values(options: Options) -> tuple[Value, ...]:
    return _values(options.tested == "all")


@cache
def _values(tested: bool) -> tuple[Value, ...]:
    values = [
        Value(dimension.name, dimension.title, "neither", "length" if number == 0 else "neither")
        for number, dimension in enumerate(DIMENSIONS)
    ]
    how: dict[str, Any] = {"higher": "neither", "moves": "neither", "tested": tested}
    values += [Value(f.name, f.title, **how, per=_rate_base(f)) for f in FEATURES]
    return tuple(values)


def _rate_base(feature: Feature) -> int:
    """In so many words it is counted; 0 of what is no rate."""
    return 0 if feature.name in _NO_RATES else _WORDS


def needs(options: Options) -> tuple[Need, ...]:
    return _NEEDS


def rows(sample: Sample, options: Options, work: Work) -> StyleRows:
    word, pos, upos, dep, lemma = (sample.layer(need) for need in _NEEDS)
    features, words = rates(StyleColumns(word, pos, upos, dep, lemma))
    columns = np.concatenate((dimensions(features, options.variant == "package"), features), axis=1)
    return StyleRows(words, columns, dict(zip(_NAMES, columns.T)))


def many(
    rows: StyleRows, takes: Sequence[Take], names: Collection[str], options: Options
) -> dict[str, Floats]:
    """`reduce` of many groups: sums of columns as one product."""
    wanted = [number for number, name in enumerate(_NAMES) if name in names]
    every, membership = members(takes)
    columns = rows.columns[every][:, wanted]
    known = ~np.isnan(columns)
    count = known.T.astype(np.float64) @ membership
    total = np.where(known, columns, 0.0).T @ membership
    means = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
    return {_NAMES[number]: means[place] for place, number in enumerate(wanted)}


def notes(rows: StyleRows, take: Take, options: Options) -> list[str]:
    words = rows.words[take]
    problem = f"texts have fewer than {TYPES_AMONG} words, so their type-token ratio is undefined"
    return [
        *count_note(words == 0, "texts without words are left out"),
        *count_note((words > 0) & (words < TYPES_AMONG), problem),
    ]


def tables(
    rows: StyleRows, comparison: Comparison, options: Options
) -> Mapping[str, Sequence[Row]]:
    """All features of all sources, and how far each source is from the reference."""
    level, reference = comparison.level, comparison.reference
    features, apart = [], []
    for source, take in comparison.groups.items():
        for feature in FEATURES:
            scores = rows.scores[feature.name][take]
            together = comparison.together(source)
            mean_rate, words = clustered_mean(scores, together), int(rows.words[take].sum())
            rate, sure = mean_rate.value, mean_rate.least
            unit = _rate_base(feature) / words * len(take) / max(1, sure) if words else 0.0
            interval = interval_from_error(rate, mean_rate.error, level, sure, unit=unit)
            of_feature = {name: getattr(feature, name) for name in ("number", "title", "example")}
            row = {"source": source, "feature": feature.name, **of_feature}
            features.append(row | estimate("rate", rate, interval, ("low", "high")))
            if reference is not None and source != reference:
                theirs = rows.scores[feature.name][comparison.groups[reference]]
                their = comparison.together(reference)
                apart.append(
                    {
                        "source": source,
                        "feature": feature.name,
                        "title": feature.title,
                        "rate": rate,
                        "reference_rate": mean(theirs),
                        **_difference((scores, together), (theirs, their), level),
                    }
                )
    return {"features": features, **({"apart": apart} if apart else {})}


Clustered = tuple[Floats, Integers]
"""Values of texts, and which texts belong together."""


def _difference(our: Clustered, their: Clustered, level: float) -> dict[str, float | bool]:
    """The difference of two means in standard deviations of texts, and whether it holds when all
    features are looked at."""
    (ours, our_clusters), (theirs, their_clusters) = (
        (values[~np.isnan(values)], units[~np.isnan(values)]) for values, units in (our, their)
    )
    n, m = len(ours), len(theirs)
    unknown = {"difference": np.nan, "low": np.nan, "high": np.nan, "unsure": True}
    if min(n, m) < 2:
        return unknown
    spread = np.sqrt(((n - 1) * ours.var(ddof=1) + (m - 1) * theirs.var(ddof=1)) / (n + m - 2))
    if not spread:
        return unknown
    # What answers the same doc_id is paired.
    numbers = number_clusters(np.concatenate((our_clusters, their_clusters)))
    our_mean = clusters.mean_by_cluster(ours, numbers[:n], n + m)
    apart = our_mean - clusters.mean_by_cluster(theirs, numbers[n:], n + m)
    d = apart.value / float(spread)
    # As many independent texts as would be as sure.
    sure = n / error_inflation(ours, our_clusters) ** 2
    sure += m / error_inflation(theirs, their_clusters) ** 2
    error = math.hypot(apart.error / spread, d / math.sqrt(2 * sure))
    low, high = interval_from_error(d, error, level, apart.least)
    wide = t_quantile(1 - (1 - (level or 0.95)) / len(FEATURES), apart.least)
    return {"difference": d, "low": low, "high": high, "unsure": not abs(d) >= wide * error}


def _strongest_features(rows: Rows, result: Result) -> Rows:
    """Of each source the features that set it apart most, from more to less."""
    table: list[Row] = []
    for source in distinct(rows, "source"):
        known = [row for row in rows if row["source"] == source and defined(row["difference"])]
        most = sorted(known, key=lambda row: -abs(row["difference"]))[:_DRAWN]
        table += sorted(most, key=lambda row: -row["difference"])
    return table


_LAYOUT = (
    Table(
        "apart",
        "Features that set a source apart",
        (
            Column("source"),
            Column("title", "feature"),
            Column("rate", "per 1,000", "number", 2),
            Column("reference_rate", "of the reference", "number", 2),
            Column("difference", kind="number", decimals=2, signed=True, ends=("low", "high")),
        ),
        note="difference in standard deviations of texts",
        rows=_strongest_features,
        by="source",
        limit=6,
        first=lambda rows, count: [*rows[: count // 2], *rows[-(count // 2) :]],
    ),
    Table(
        "features",
        "Features",
        make_columns("number:count title=feature example=for_example:text"),
        note="in 1,000 words, means over texts",
        pivot=Pivot("source", Column("rate", kind="number", decimals=2, ends=("low", "high"))),
        limit=0,
    ),
)


def method(s: Mapping[str, str]) -> str:
    without = " (those of Biber's texts less than once in 1,000 words left out)"
    return (
        "Style is described by the 67 features of Biber (1988), in 1,000 words of a text, and by "
        "his six dimensions, sums of features standardized by the means and standard deviations "
        f"of his corpus{without if s['variant'] == 'package' else ''}; values are means over texts"
    )


METRIC = Metric(
    name="style",
    title="Style",
    values=values,
    needs=needs,
    options=Options,
    without=("tested",),
    rows=rows,
    reduce=reduce,
    many=many,
    citation=(
        "Biber (1988), Variation across Speech and Writing; Brown (2025), pybiber, a Python "
        "package for Biber's features; Nini (2019), The Multi-Dimensional Analysis Tagger"
    ),
    match="words",
    english=True,
    standard_errors=standard_errors,
    per_text=per_text,
    notes=notes,
    tables=tables,
    layout=_LAYOUT,
    charts=(
        Chart(
            "apart",
            "Features that set a source apart",
            table="apart",
            x="difference",
            y="title",
            panel=("source",),
            ends=("low", "high"),
            titles={"difference": "difference from the reference, in standard deviations"},
            rule=0.0,
            hollow="unsure",
            rows=_strongest_features,
            says="For each source the features whose rates differ most from the reference's, in "
            "standard deviations of texts, with intervals. Right: more in the source. Hollow "
            "points may be due to chance among so many features.",
        ),
    ),
    says="Style of the texts: features of grammar and vocabulary.",
    section="patterns",
    place=40,
    main=("dimension_1", "dimension_2"),
    headlines=(
        Headline(
            "dimension_1",
            "writes in a more involved way",
            "writes in a more informational way",
            ratio=False,
            ways=("more informational", "more involved"),
        ),
        Headline(
            "dimension_2",
            "writes more narratively",
            "writes less narratively",
            noun="narrative style",
            ratio=False,
            detail=True,
        ),
    ),
    method=method,
    report=lambda context: {"tested": "dimensions"},
)
