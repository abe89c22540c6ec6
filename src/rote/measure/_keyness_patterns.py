"""`rote keyness --of patterns`: grammar that a source favours, and that only the reference has.

Table 2 of Guo, Shang and Clavel (2025). The reference's patterns are the n-grams of tags in those
of its sentences that lie outside every ball of the source, dependency tree by dependency tree:
grammar that the source does not reach. The source's patterns are n-grams that it uses often and
the reference rarely, over all sentences of both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rote.compare._resample import generator, generators
from rote.compare.permutation import as_many_in_order, exchanges, rests_on
from rote.core.errors import OptionError
from rote.core.layer import layer_words
from rote.core.metric import Comparison, Value, Values, Work
from rote.core.numbers import format_number
from rote.core.progress import several
from rote.core.result import Result, Row
from rote.core.sample import Need, Sample, Take
from rote.core.table import Column, Table
from rote.measure._patterns import Rows, listed
from rote.measure._sentences import sentences_of, whole
from rote.measure._templates.charts import patterns, strongest_chart

if TYPE_CHECKING:
    from rote.measure._neighbours.samples import Runs

_EXAMPLES, _EACH_LENGTH = 3, 2
"""Texts beside a pattern; patterns of a length on a terminal."""
_WORD, _HEAD, _UPOS = Need("word", spans=True), Need("head"), Need("upos")


def values(options: Any) -> tuple[Value, ...]:
    title = "reference's sentences outside the source's balls"
    return (Value("outside", title, "neither", "neither", share=True),)


def needs(options: Any) -> tuple[Need, ...]:
    return (_WORD, _UPOS, _HEAD, Need(options.layer, spans=True), Need("text"))


def rows(sample: Sample, options: Any, work: Work) -> Rows:
    if work.reference is None:
        raise OptionError(
            "patterns are those that set a source apart from a reference: --reference names one of "
            "the sources that --by tells apart"
        )
    from rote.measure._neighbours.balls import Rule
    from rote.measure._neighbours.samples import outside
    from rote.measure._trees.histograms import histograms

    word = sample.layer(_WORD)
    every = sentences_of(word)
    is_kept = whole(word, every, options.drop_incomplete)
    kept = np.flatnonzero(is_kept).astype(np.int64)
    measured, missed, runs = kept[:0], {}, _runs(work, work.reference)
    if runs:
        chosen = every.chosen(is_kept)
        trees = histograms(sample.layer(_UPOS), sample.layer(_HEAD), chosen)
        rule = Rule(options.k, strict=False)
        found = outside(trees, chosen, work, runs, rule=rule, count=options.sentences)
        measured = kept[found.measured]
        missed = {source: [kept[run] for run in own] for source, own in found.by_source.items()}
    return Rows(
        layer=sample.layer(Need(options.layer, spans=True)),
        word=word,
        raw=sample.text(),
        every=every,
        is_kept=is_kept,
        measured=measured,
        outside=missed,
        runs=runs,
        groups=work.groups,
        reference=work.reference,
    )


def _runs(work: Work, reference: str) -> Runs:
    """The texts of every source and of the reference, those that are tested, and these again with
    permuted labels."""
    theirs, found = work.groups[reference], {}
    for source, ours in work.groups.items():
        if source != reference:
            pair = f"{source} {reference}"
            rng = generator(work.seed, f"choose {pair}")
            tested = ours, theirs
            if work.permutations:
                tested = as_many_in_order(*tested, work.strata, work.ids, rng)
            exchange = exchanges(*tested, work.strata)
            draws = range(work.permutations)
            permuted = list(map(exchange, generators(work.seed, f"test {pair}", draws)))
            one, other = map(np.sort, tested)
            found[source] = [(ours, theirs), (one, other), *permuted]
    return found


def reduce(rows: Rows, take: Take, options: Any, rng: np.random.Generator) -> Values:
    source = _source(rows, take)
    if source not in rows.outside or not len(rows.measured):
        return {"outside": np.nan}
    return {"outside": len(rows.outside[source][0]) / len(rows.measured)}


def notes(rows: Rows, take: Take, options: Any) -> list[str]:
    source = _source(rows, take)
    if source == rows.reference:
        return ["this is the reference: no sentence of its own lies outside"]
    if source not in rows.outside:
        return [f"too few sentences for balls of k = {options.k}"]
    found = [
        f"{len(rows.outside[source][0]):,} of {len(rows.measured):,} sentences of {rows.reference} "
        f"lie in no ball of {source}; rote precision-recall gives the interval"
    ]
    every, tested, *permuted = rows.runs[source]
    if permuted:
        found += rests_on(sum(map(len, tested)), sum(map(len, every)))
    permutations, sources = len(permuted), len(rows.outside)
    least = sources / (1 + permutations)
    if permutations and least >= 0.05:
        found.append(
            f"with {several(permutations, 'permutation')} and {several(sources, 'source')} no "
            f"corrected p falls below {format_number(least, '.2g')}: ask for at least "
            f"{20 * sources} with --permutations"
        )
    return found


def tables(rows: Rows, comparison: Comparison, options: Any) -> Mapping[str, Sequence[Row]]:
    """The patterns of both sides, for every source."""
    found = listed(rows, options, comparison.reporter) if rows.outside else []
    return {"grammar": found} if rows.outside else {}


def _source(rows: Rows, take: Take) -> str:
    """The source that these texts belong to."""
    return next((name for name, own in rows.groups.items() if len(np.intersect1d(take, own))), "")


def _shown(shown: Sequence[Row], result: Result) -> list[Row]:
    """What only the reference has, then what the source favours; how often in 1,000 n-grams."""
    reference = result.reference or "the reference"
    found: list[Row] = []
    for row in shown:
        source, theirs = row["source"], row["favoured_by"] == row["source"]
        own, other = ("source", "reference") if theirs else ("outside", "source")
        found.append(
            {
                "n": row["n"],
                "pattern": row["pattern"],
                "z": row["z"],
                "whose": f"{source} more than {reference}"
                if theirs
                else f"{reference}, in sentences unlike any of {source}",
                "count": row[f"{own}_count"],
                "other_count": row[f"{other}_count"],
                "rate": _rate(row, own),
                "other_rate": _rate(row, other),
                "p_corrected": row["p_corrected"],
                "examples": row["examples"][:_EXAMPLES],
            }
        )
    return found


def _rate(row: Row, side: str) -> float | None:
    """In 1,000 n-grams; results of earlier versions do not say how many there are."""
    total = row.get(f"{side}_ngrams")
    return 1000 * row[f"{side}_count"] / total if total else None


def _of_each_length(shown: Sequence[Row], count: int) -> list[Row]:
    return [
        row
        for n in sorted({row["n"] for row in shown})
        for row in [row for row in shown if row["n"] == n][:_EACH_LENGTH]
    ]


LAYOUT = (
    Table(
        "grammar",
        "Favoured patterns, with examples",
        (
            Column("whose", "favoured by"),
            Column("pattern", kind="code"),
            Column("rate", "per 1,000", "number", 2, also=Column("count", kind="count")),
            Column(
                "other_rate", "of the other", "number", 2, also=Column("other_count", kind="count")
            ),
            Column("z", kind="number", decimals=1),
            Column("p_corrected", "p", "p", said="corrected"),
            Column("examples", "for example", "text"),
        ),
        said="in 1,000 n-grams of its length (count); of a reference's pattern, in the sentences "
        "that lie in no ball of the source; p by permuting texts, over all patterns",
        rows=_shown,
        by="whose",
        first=_of_each_length,
    ),
)


def method(s: Mapping[str, str]) -> str:
    of = layer_words(s["layer"])
    return (
        f"Patterns that a source favours are n-grams of {of} (n = "
        f"{s['lengths'].replace(',', ', ')}), ranked by their log-odds ratio with an informative "
        "prior; those of the reference come from its sentences that lie outside every ball of the "
        "source; their p-values are family-wise, from texts permuted between source and reference "
        "through the whole selection"
    )


CHARTS = (
    strongest_chart(
        "grammar",
        "What each source favours",
        "Right: patterns that the source favours; left: patterns that only the reference has.",
        patterns,
    ),
)
