"""Overlap with the corpus: n-grams and spans that it has, and how much of the texts is new.

The novelty curve (Merrill et al. 2024): for every n the share of n-grams, of words and of tags,
that do not occur in the corpus. Coverage and the creativity index (Lu et al. 2025): the share of
words inside a span of at least L words that the corpus holds, L = 5 to 12, and the sum of what is
left. With --meaning the creativity index also counts runs that the corpus holds nearly word for
word (their soft matches, `search/meaning/near_verbatim.py`). Novel is not creative: noise is novel
too.

Direction: higher novelty and creativity are newer, higher coverage is more copied. Length: shares
do not move with the amount of text, the longest copied run grows with the length of a text; all
of them depend on the size of the corpus, so only values against the same corpus compare.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rote.compare import clusters
from rote.compare.intervals import interval_from_error, mean, mean_error, shares
from rote.core.arrays import Floats, Integers
from rote.core.chart import Chart
from rote.core.errors import OptionError
from rote.core.evidence import (
    Evidence,
    EvidenceTexts,
    Mark,
    corpus_place,
    cut_evidence,
    group_by_source,
)
from rote.core.layer import Layer, layer_words, starts_of
from rote.core.metric import Comparison, Metric, Value, Values, Work, check_options, option
from rote.core.progress import several
from rote.core.record import Chapter, Headline
from rote.core.result import Result
from rote.core.sample import Need, Sample, Take
from rote.core.table import Column, Table, defined, distinct, estimate, make_columns
from rote.core.table import Rows as TableRows
from rote.corpus import read_option
from rote.measure._keyness import list_function_words
from rote.measure._text_means import count_note
from rote.search.reference_corpus import (
    NO_CORPUS,
    check_meanings,
    check_reference_corpus,
    corpus_option,
    describe_span,
    longest_matches,
    open_reference_index,
)

if TYPE_CHECKING:
    from rote.index.index import Index
    from rote.search.meaning.near_verbatim import NearSpans


_NEARLY_ALL = 0.995
_FLAT = 2
"""How far a curve goes on after it has reached the top."""


def _curve_rows(rows: TableRows, result: Result) -> TableRows:
    """Without the long n-grams that are new in every source: there the curves are flat."""
    tags = dict(result.signature.settings).get("tags")
    drawn = []
    for layer in distinct(rows, "layer"):
        title = f"new n-grams of {'tags' if layer == tags else 'words'}"
        of_layer = [row for row in rows if row["layer"] == layer]
        known = (row for row in of_layer if defined(row["novel"]) and row["novel"] < _NEARLY_ALL)
        last = max((row["n"] for row in known), default=0) + _FLAT
        drawn += [{**row, "title": title} for row in of_layer if row["n"] <= last]
    return drawn


CHARTS = (
    Chart(
        "novelty",
        "New n-grams",
        table="novelty",
        shape="lines",
        x="n",
        y="novel",
        colour="source",
        panel=("title",),
        ends=("low", "high"),
        titles={"n": "items in an n-gram"},
        share=True,
        rows=_curve_rows,
        says="The share of n-grams that do not occur in the corpus, by length.",
    ),
    Chart(
        "coverage",
        "Copied runs",
        table="coverage",
        shape="lines",
        x="length",
        y="coverage",
        colour="source",
        panel=("title",),
        ends=("low", "high"),
        titles={"length": "minimum span length, in words"},
        share=True,
        rows=lambda rows, result: [{**row, "title": "words in copied runs"} for row in rows],
        says="The share of words in spans that occur in the corpus, by span length.",
    ),
)


MOST = 30
"""The longest n-grams of the curve."""
COVERING = tuple(range(5, 13))
"""The lengths of the runs that coverage and the creativity index look at."""
_SHOWN_COVERAGE = (5, 8, 12)
_COPIED = 10
_ITEMS = {"novel": "words", "tags": "tags"}
"""What the n-grams are made of whose values begin so."""


LOWER, MEANING = "lower", "meaning"
CREATIVITY_NEAR, NEAR = "creativity_near", "near_verbatim"
SIMILARITY = 0.95
"""The threshold of Lu et al."""


def _sign_meaning(is_asked: bool) -> str | None:
    """What near-verbatim spans depend on beside the index."""
    if not is_asked:
        return None
    from rote.annotate.embeddings import static
    from rote.search.meaning import near_verbatim

    return f"{near_verbatim.VERSION} by {static.table().signature}"


@dataclass(frozen=True, slots=True)
class Options:
    corpus: str | None = corpus_option()
    corpus_read: tuple[str, ...] = read_option("the corpus")
    layer: str = option("lower", "layer of words")
    tags: str = option("pos", "layer of tags for syntactic novelty; '' leaves it out")
    n: tuple[int, ...] = option(
        (4, 8, 12),
        "n-gram lengths reported as values; the curve has all up to 30",
        short="-n",
        least=1,
        most=MOST,
    )
    meaning: bool = option(
        False,
        "also give the creativity index with near-verbatim spans (needs an index with the layer "
        "meaning)",
        sign=_sign_meaning,
    )
    near: float = option(
        SIMILARITY,
        "minimum word similarity of a near-verbatim span",
        sign=lambda near: None if near == SIMILARITY else near,
        above=0.0,
        most=1.0,
    )

    def __post_init__(self) -> None:
        check_options(self)
        if self.near != SIMILARITY and not self.meaning:
            raise OptionError("--near is for near-verbatim spans: add --meaning")

    @property
    def layers(self) -> dict[str, str]:
        """The layers with a curve, and how the values of each begin."""
        return {self.layer: "novel", **({self.tags: "tags"} if self.tags else {})}


@dataclass(frozen=True, slots=True)
class Rows:
    """Counts per text: n-grams that the corpus holds, words in copied runs, the longest run.

    `counts[layer][t, n - 1]` and `covered[t, L - 5]`. The index is None where none was named.
    """

    lengths: Integers
    counts: Mapping[str, Integers]
    covered: Integers
    longest: Integers
    runs: Integers
    layer: Layer
    index: Index | None
    near: NearSpans | None = None
    """Runs that the corpus holds nearly word for word."""


def values(options: Options) -> tuple[Value, ...]:
    index = f"creativity index (runs of {COVERING[0]} to {COVERING[-1]})"
    near = "creativity index, near-verbatim spans too"
    return (
        Value("creativity", index, "diverse", "neither"),
        *((Value(CREATIVITY_NEAR, near, "diverse", "neither"),) if options.meaning else ()),
        *(
            Value(f"coverage_{n}", f"words in a copied run of {n}", "repetitive", "neither", True)
            for n in _SHOWN_COVERAGE
        ),
        *(
            Value(f"{name}_{n}", f"new {n}-grams of {_ITEMS[name]}", "diverse", "neither", True)
            for name in options.layers.values()
            for n in options.n
        ),
        Value("longest", "longest copied run in words", "repetitive", "length"),
    )


def needs(options: Options) -> tuple[Need, ...]:
    base = Need(options.layer, spans=True)
    if not options.corpus:
        return (base,)  # nothing is looked up, so nothing has to be tagged
    more = (*((options.tags,) if options.tags else ()), *(("text",) if options.meaning else ()))
    return (base, *map(Need, more))


def check(options: Options, signature: str) -> None:
    if options.corpus:
        check_reference_corpus(options.corpus, tuple(options.layers), signature)
        if options.meaning:
            check_meanings(options.corpus)


def rows(sample: Sample, options: Options, work: Work) -> Rows:
    layer = sample.layer(Need(options.layer, spans=True))
    texts, lengths = len(layer), np.diff(layer.text_ends, prepend=0)
    if not options.corpus:
        none = np.zeros((texts, MOST), np.int64)
        counts = dict.fromkeys(options.layers, none)
        return Rows(lengths, counts, none, lengths, np.zeros(len(layer.ids), np.int64), layer, None)
    layers = dict.fromkeys((*options.layers, *((LOWER, MEANING) if options.meaning else ())))
    index = open_reference_index(options.corpus, tuple(layers), work.reporter)
    work.progress(0.1)
    runs = longest_matches(index, layer, work)
    counts = {options.layer: held_ngrams(runs, layer.text_ends)}
    work.progress(0.6)
    if options.tags:
        tags = sample.layer(Need(options.tags))
        counts[options.tags] = held_ngrams(longest_matches(index, tags, work), tags.text_ends)
    near = None
    if options.meaning:
        from rote.search.meaning.index_matches import IndexSentences
        from rote.search.meaning.near_verbatim import find_near_spans

        source = IndexSentences(index.on(work.jobs))
        words = list_function_words()
        near = find_near_spans(source, sample.text(), layer, words, options.near)
    work.progress(1.0)
    return Rows(
        lengths=lengths,
        counts=counts,
        covered=covered_words(runs, layer.text_ends),
        longest=_per_text(np.maximum, runs, layer.text_ends),
        runs=runs,
        layer=layer,
        index=index,
        near=near,
    )


def held_ngrams(runs: Integers, text_ends: Integers) -> Integers:
    """For each text and n = 1 to 30 how many of its n-grams the corpus holds.

    The n-gram at a word is held exactly if the longest run from there on has n words or more.
    """
    texts = np.repeat(np.arange(len(text_ends)), np.diff(text_ends, prepend=0))
    cells = texts * (MOST + 1) + np.minimum(runs, MOST)
    by_length = np.bincount(cells, minlength=len(text_ends) * (MOST + 1))
    table = by_length.reshape(len(text_ends), MOST + 1)
    return table[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:].astype(np.int64)


def covered_words(runs: Integers, text_ends: Integers) -> Integers:
    """For each text and L = 5 to 12 how many words lie in a held run of L words or more."""
    covered = np.zeros((len(text_ends), len(COVERING)), np.int64)
    for column, least in enumerate(COVERING):
        first = np.flatnonzero(runs >= least)
        change = np.zeros(len(runs) + 1, np.int64)
        np.add.at(change, first, 1)
        np.add.at(change, first + runs[first], -1)
        inside = np.cumsum(change[:-1]) > 0
        covered[:, column] = _per_text(np.add, inside.astype(np.int64), text_ends)
    return covered


def reduce(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    return {name: value for name, (value, _) in _values_and_errors(rows, take, options).items()}


def standard_errors(rows: Rows, take: Take, options: Options) -> Values:
    return {name: error for name, (_, error) in _values_and_errors(rows, take, options).items()}


def _values_and_errors(rows: Rows, take: Take, options: Options) -> dict[str, tuple[float, float]]:
    """Means over texts, and shares of all n-grams: errors leave out one text at a time."""
    columns = {name: column[take] for name, column in per_text(rows, options).items()}
    known = {
        value.name: (mean(columns[value.name]), mean_error(columns[value.name]))
        for value in values(options)
    }
    return known | {
        f"{name}_{n}": _share(rows, take, layer, n)
        for layer, name in options.layers.items()
        for n in options.n
    }


def per_text(rows: Rows, options: Options) -> Mapping[str, Floats]:
    coverage = _coverage(rows)
    undefined = np.full(len(rows.lengths), np.nan)
    columns = {
        "creativity": (1 - coverage).sum(axis=1),
        **{f"coverage_{n}": coverage[:, COVERING.index(n)] for n in _SHOWN_COVERAGE},
        "longest": np.where(rows.lengths > 0, rows.longest, np.nan),
    }
    if rows.near is not None:
        runs = np.maximum(rows.runs, rows.near.lengths)
        near = _coverage(rows, covered_words(runs, rows.layer.text_ends))
        columns[CREATIVITY_NEAR] = (1 - near).sum(axis=1)
    for layer, name in options.layers.items():
        for n in options.n:
            every = np.maximum(rows.lengths - n + 1, 0)
            counts = rows.counts[layer][:, n - 1]
            columns[f"{name}_{n}"] = 1 - shares(counts, every)
    if rows.index is None:
        return dict.fromkeys((value.name for value in values(options)), undefined)
    return columns


def notes(rows: Rows, take: Take, options: Options) -> list[str]:
    if rows.index is None:
        return [NO_CORPUS]
    lengths = rows.lengths[take]
    lines: list[str] = []
    for least in dict.fromkeys((*sorted(options.n), COVERING[-1])):
        lost = ", and no creativity index" * (least == COVERING[-1])
        problem = f"texts have fewer than {several(least, 'word')}: no {least}-gram in them{lost}"
        lines += count_note(lengths < least, problem)
    problem = "texts occur in the corpus as a whole: nothing in them can be new"
    return lines + count_note((rows.longest[take] == lengths) & (lengths >= COVERING[-1]), problem)


def tables(rows: Rows, comparison: Comparison, options: Options) -> Mapping[str, Sequence[Any]]:
    """The whole curves, coverage at every length, and the longest copied runs."""
    if rows.index is None:
        return {}
    coverage = _coverage(rows)
    curve, covering, copied = [], [], []
    for source, take in comparison.groups.items():
        together = comparison.together(source)
        for layer in options.layers:
            for n in range(1, MOST + 1):
                share, error = _share(rows, take, layer, n, together)
                every = np.maximum(rows.lengths[take] - n + 1, 0)
                units, level = len(np.unique(together[every > 0])), comparison.level
                interval = interval_from_error(share, error, level, units, share=True)
                row = {"source": source, "layer": layer, "n": n, "n_grams": int(every.sum())}
                curve.append(row | estimate("novel", share, interval, ("low", "high")))
        for column, least in enumerate(COVERING):
            mean_share = clusters.clustered_mean(coverage[take, column], together)
            interval = mean_share.interval(comparison.level, share=True)
            ends = estimate("coverage", mean_share.value, interval, ("low", "high"))
            covering.append({"source": source, "length": least, **ends})
        copied += _copied_spans(rows, rows.index, source, take, comparison)
    by_name = {"novelty": curve, "coverage": covering, "copied": copied}
    if rows.near is not None:
        by_name[NEAR] = _near_copies(rows, rows.near, rows.index, comparison)
    return by_name


def _near_copies(
    rows: Rows, near: NearSpans, index: Index, comparison: Comparison
) -> list[dict[str, Any]]:
    """The longest near-verbatim spans that are no copied ones, and the sentences that hold them."""
    from rote.search.meaning.index_matches import IndexSentences

    source_sentences = IndexSentences(index)
    lengths = np.where(near.lengths > rows.runs, near.lengths, 0)
    table = []
    for source, take in comparison.groups.items():
        longest = _per_text(np.maximum, lengths, rows.layer.text_ends)[take]
        for text in take[np.argsort(-longest, kind="stable")][:_COPIED].tolist():
            place = rows.layer.slice(text)
            first = place.start + int(np.argmax(lengths[place])) if place.start < place.stop else 0
            last = first + int(lengths[first])
            if last - first < COVERING[0]:
                continue
            where = source_sentences.occurrence(int(near.places[first]))
            words = [rows.layer.vocabulary[item] for item in rows.layer.ids[first:last].tolist()]
            table.append(
                {
                    "source": source,
                    **comparison.named(text),
                    "words": last - first,
                    "similarity": int(near.similar[first]) / 1000,
                    "text_start": int(rows.layer.starts[first]),
                    "text_end": int(rows.layer.ends[last - 1]),
                    "text": " ".join(words),
                    "document": where.document,
                    "match": index.context(where, 0).match,
                }
            )
    return table


def _copied_spans(
    rows: Rows, index: Index, source: str, take: Take, comparison: Comparison
) -> list[dict[str, Any]]:
    """The texts with the longest copied runs, and where the runs stand."""
    by_length = take[np.argsort(-rows.longest[take], kind="stable")][:_COPIED]
    table = []
    for text in by_length[rows.longest[by_length] >= COVERING[0]].tolist():
        place = rows.layer.slice(text)
        first = place.start + int(np.argmax(rows.runs[place]))
        last = first + int(rows.runs[first])
        table.append(
            {
                "source": source,
                **comparison.named(text),
                "words": last - first,
                "text_start": int(rows.layer.starts[first]),
                "text_end": int(rows.layer.ends[last - 1]),
                **describe_span(index, rows.layer, first, last),
            }
        )
    return table


def _coverage(rows: Rows, covered: Integers | None = None) -> Floats:
    """Of words in copied runs, or `covered` ones, per text and L; undefined for a text with fewer
    words than that."""
    enough = rows.lengths[:, None] >= np.array(COVERING)
    covered = rows.covered[:, : len(COVERING)] if covered is None else covered
    return shares(covered, np.where(enough, rows.lengths[:, None], 0))


def _share(
    rows: Rows, take: Take, layer: str, n: int, together: Integers | None = None
) -> tuple[float, float]:
    """The share of all n-grams of a group that are new, and its jackknife standard error."""
    every = np.maximum(rows.lengths[take] - n + 1, 0)
    counts = rows.counts[layer][take, n - 1]
    total, known = int(every.sum()), int(counts.sum())
    if rows.index is None or not total:
        return math.nan, math.nan
    ids = np.arange(len(take)) if together is None else together
    return 1 - known / total, clusters.share_error(counts, every, ids)


def _per_text(function: Any, column: Integers, text_ends: Integers) -> Integers:
    """Sums or largest values of the texts; 0 for a text without words."""
    starts = starts_of(text_ends)
    counts = np.zeros(len(text_ends), np.int64)
    filled = starts < text_ends
    if filled.any():
        counts[filled] = function.reduceat(column, starts[filled])
    return counts


_LAYOUT = (
    Table(
        "copied",
        "The longest copied runs",
        (
            *make_columns("source id=text words:count"),
            Column("count", "times", "count", note="in the corpus"),
            *make_columns("document author? match:text"),
        ),
        rows=lambda rows, result: sorted(rows, key=lambda row: -row["words"]),
        by="source",
    ),
    Table(
        NEAR,
        "The longest near-verbatim spans",
        (
            *make_columns("source id=text words:count"),
            Column("similarity", kind="number", decimals=2),
            *make_columns("document text=the_span:text match:text"),
        ),
        rows=lambda rows, result: sorted(rows, key=lambda row: -row["words"]),
        by="source",
    ),
)


def method(s: Mapping[str, str]) -> str:
    of = layer_words(s["layer"])
    tags = f" and of {layer_words(s['tags'])}" if s.get("tags") else ""
    return (
        f"Novelty is the share of n-grams of {of}{tags} that the corpus does not hold (n up "
        "to 30); coverage is the share of words inside a span of at least L words that it holds, "
        "and the creativity index the sum of 1 - coverage over L = 5 to 12"
        + (
            "; near-verbatim spans count as well: those whose content words are on average as near "
            f"as {float(s.get('near') or SIMILARITY):g} to those of a span of the corpus, "
            "and the other way round (static vectors)"
            if s.get("meaning", "None") != "None"
            else ""
        )
    )


def evidence(result: Result, texts: EvidenceTexts) -> Iterator[Evidence]:
    """The texts with the longest runs of words that the corpus holds."""
    for source, rows in group_by_source(result.tables.get("copied", ())).items():
        if source not in texts.groups:
            continue
        for row in rows[: texts.count]:
            if (text := texts.of(row)) is None:
                continue
            place = {**corpus_place(row), "count": row["count"]}
            ends, label = (row["text_start"], row["text_end"]), several(row["words"], "word")
            mark = Mark(*ends, label, "copied", (place,))
            yield cut_evidence(Evidence("novelty", source, row["id"], text, (mark,)))


METRIC = Metric(
    name="novelty",
    title="Overlap with the corpus",
    values=values,
    needs=needs,
    options=Options,
    rows=rows,
    reduce=reduce,
    citation=(
        "Merrill, Smith and Elazar (2024), Evaluating n-Gram Novelty of Language Models Using "
        "Rusty-DAWG; Lu, Sclar, Hallinan, Mireshghallah, Liu, Han, Ettinger, Jiang, Chandu, "
        "Dziri and Choi (2025), AI as Humanity's Salieri: Quantifying Linguistic Creativity of "
        "Language Models via Systematic Attribution of Machine Text against Web Text"
    ),
    match=None,
    uncut_reason="a window would cut copied spans",
    standard_errors=standard_errors,
    per_text=per_text,
    notes=notes,
    tables=tables,
    charts=CHARTS,
    check=check,
    layout=_LAYOUT,
    says="How much of the texts occurs in a corpus, and how much is new.",
    section="corpus",
    chapter=Chapter(
        "Novelty",
        30,
        texts="The longest copied runs, in their texts",
        legend="Underlined: words that occur in the corpus in the same order; sources are below "
        "the text.",
    ),
    evidence=evidence,
    circular=("corpus", "coverage_8", 1.0),
    place=10,
    headlines=(
        Headline(
            "coverage_8",
            "shares more 8-word spans with the corpus",
            "shares fewer 8-word spans with the corpus",
            unit="of its words",
            percent=True,
        ),
    ),
    method=method,
    effort="light",
    report=lambda context: context.lacks("corpus") or {"corpus": context.corpus},
    lesser=lambda options: replace(options, tags="") if options.tags else None,
)
