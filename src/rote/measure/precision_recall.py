"""How far sentences of source and reference cover each other: precision and recall.

Every sentence is a point: its dependency tree (Guo, Shang and Clavel 2025) or its embedding (Le
Bronnec et al. 2024). Around every point lies a ball that reaches to its k-th neighbour in its own
sample. Precision is the share of the source's points within some ball of the reference: is what it
writes like what the reference writes? Recall is the share of the reference's points within some
ball of the source: does it write everything that the reference writes? Density counts the balls
that hold a point, and coverage the reference's balls that hold one (Naeem et al. 2020); both are
less moved by outliers.

Direction: higher recall and coverage are more diverse; precision and density say how alike.
Length: all scores move with the number of sentences, so that all samples are cut to one size.
Needs --reference.

Variants. `exact`: a ball holds what lies at its radius. `paper`: only what lies strictly inside, so
that a tree with more than k copies, whose radius is 0, holds nothing, not even its own copies.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from rote.annotate import embeddings
from rote.compare.resampling import draw_values
from rote.core.arrays import Flags, Integers
from rote.core.errors import MissingExtra, OptionError, UnknownName
from rote.core.facets import EACH
from rote.core.metric import Comparison, Metric, Value, Values, Work, check_options, option
from rote.core.numbers import format_interval, format_percent, join_names
from rote.core.progress import several
from rote.core.record import Finding
from rote.core.result import Result
from rote.core.sample import Need, Sample, Take
from rote.core.table import Column, Pivot, Table, add_titles
from rote.measure import _sentences as meaning
from rote.measure._neighbour_balls import (
    Pair,
    Rule,
    Space,
    among_trees,
    among_vectors,
    equal_size,
    matching_half,
    of_equal_size,
    scores_of_texts,
    strange_halves,
)
from rote.measure._sentences import (
    Choice,
    Drop,
    Embedded,
    Sentences,
    complete_sentences,
    limited,
    sentences_of,
)
from rote.measure._tree_histograms import histograms

WORD, UPOS, HEAD = Need("word", spans=True), Need("upos"), Need("head")
SPACES = {"trees": "tree", "meaning": "meaning"}
"""What the option `on` names, and how the values' names begin."""
PCA = 0.9
"""Share of the variance of the vectors that is kept."""
DRAWS = 50
"""Of halves, for the table `baseline`."""


@dataclass(frozen=True, slots=True)
class Options:
    variant: Literal["exact", "paper"] = option(
        "exact", "whether a ball includes its boundary, or only what is strictly inside"
    )
    on: tuple[str, ...] = option(
        tuple(SPACES), "how to compare sentences: trees (of dependencies), meaning (vectors)"
    )
    k: int = option(
        4, "radius of a ball: the distance to this neighbour", short="-k", least=1, most=10_000
    )
    sentences: int = option(
        5_000,
        "maximum number of sentences per source, drawn at random, the same for all",
        most=1_000_000,
    )
    drop_incomplete: Drop = option(
        "none", "sentences to drop from a truncated text: its last, or first and last"
    )
    embedder: str = option(
        embeddings.DEFAULT,
        "embedding model: minilm (English), sentence-transformers:NAME; de=NAME: for German texts",
        sign=meaning.signed,
    )

    def __post_init__(self) -> None:
        check_options(self)
        for name in self.on:
            if name not in SPACES:
                raise UnknownName("space", name, SPACES)
        if not self.on:
            raise OptionError("on must name trees, meaning or both")
        if self.sentences <= self.k:
            raise OptionError(f"sentences must be more than k = {self.k}, not {self.sentences}")

    @property
    def rule(self) -> Rule:
        return Rule(self.k, strict=self.variant == "paper")


@dataclass(frozen=True, slots=True)
class Rows:
    """The sources beside the reference, in every space that was asked for.

    By text: its input (-1: none), the sentences that could have been compared, and those left out
    before.
    """

    groups: Mapping[str, Take]
    reference: str | None
    strata: Integers
    comparable: Integers
    cut_off: Integers
    spaces: Mapping[str, Space]
    embedded: Embedded | None = None

    def source_of(self, take: Take) -> str | None:
        """Whose texts these are; None of no texts."""
        return next((s for s, texts in self.groups.items() if np.isin(take[:1], texts).any()), None)

    def pairs(self, source: str | None) -> dict[str, Pair]:
        """The source beside the reference, by space; nothing where it could not be compared."""
        return {
            name: space.pairs[source]
            for name, space in self.spaces.items()
            if source is not None and source in space.pairs
        }


def values(options: Options) -> tuple[Value, ...]:
    values: list[Value] = []
    for space in _chosen_spaces(options):
        name = SPACES[space]
        values += (
            Value(f"{name}_precision", f"precision ({space})", "neither", "both", share=True),
            Value(f"{name}_recall", f"recall ({space})", "diverse", "both", share=True),
            Value(f"{name}_density", f"density ({space})", "neither", "both"),
            Value(f"{name}_coverage", f"coverage ({space})", "diverse", "both", share=True),
        )
    return tuple(values)


def needs(options: Options) -> tuple[Need, ...]:
    trees = (WORD, UPOS, HEAD) if "trees" in options.on else ()
    return tuple(dict.fromkeys((*trees, *(meaning.NEEDS if "meaning" in options.on else ()))))


def check(options: Options, signature: str) -> None:
    """An embedder that is not installed is missed before the texts are read."""
    if "meaning" not in options.on:
        return
    try:
        meaning.check(options.embedder)
    except MissingExtra as missing:
        purpose = f"{missing.purpose} (precision-recall does without it on trees: --on trees)"
        raise MissingExtra(missing.package, missing.extra, purpose) from None


def rows(sample: Sample, options: Options, work: Work) -> Rows:
    word, texts = sample.layer(WORD), len(sample)
    every = sentences_of(word)
    complete = every.chosen(complete_sentences(word, every, options.drop_incomplete))
    counts = np.bincount(complete.texts, minlength=texts)
    strata = work.strata if len(work.strata) else np.full(texts, -1, np.int64)
    cut_off = np.bincount(every.texts, minlength=texts) - counts
    result = Rows(work.groups, work.reference, strata, counts, cut_off, {})
    if work.reference is None:
        return result
    most, until = options.sentences, 0.0
    if "trees" in options.on:
        until = 0.3 if "meaning" in options.on else 1.0
        trees = _trees(sample, complete, options, _part(work, 0.0, until))
        if trees is None:
            return result
        result, most = replace(result, spaces={"trees": trees}), trees.size
    if "meaning" in options.on:
        choice = Choice(options.embedder, "sentence", most, options.drop_incomplete)
        embedded = meaning.embedded(sample, choice, work)
        meanings = _meanings(embedded, options, _part(work, until, 1.0))
        too = {} if meanings is None else {"meaning": meanings}
        result = replace(result, spaces={**result.spaces, **too}, embedded=embedded)
        if "trees" not in options.on:  # the sentences may be others, those of no annotator
            result = replace(result, comparable=embedded.sentence_counts - embedded.unfinished)
    return result


def _chosen_of(sentences: Sentences, options: Options, work: Work) -> Flags | None:
    """As many sentences of every source; None where nothing can be compared."""
    size = equal_size(sentences, work, options.k, options.sentences)
    return of_equal_size(sentences, work, size) if size else None


def _trees(sample: Sample, complete: Sentences, options: Options, work: Work) -> Space | None:
    if (chosen_sentences := _chosen_of(complete, options, work)) is None:
        return None
    chosen = complete.chosen(chosen_sentences)
    trees = histograms(sample.layer(UPOS), sample.layer(HEAD), chosen)
    return among_trees(trees, chosen, work, options.rule)


def _meanings(embedded: Embedded, options: Options, work: Work) -> Space | None:
    """Where a sentence has no vector, all samples lose one: they stay of equal size."""
    if (chosen_sentences := _chosen_of(embedded.sentences, options, work)) is None:
        return None
    chosen = embedded.sentences.chosen(chosen_sentences)
    return among_vectors(embedded.vectors[chosen_sentences], chosen, work, options.rule, PCA)


def reduce(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    """Of a whole source; the reference's own scores would be those of a copy."""
    by_name = dict.fromkeys((value.name for value in values(options)), math.nan)
    source = rows.source_of(take)
    if source == rows.reference:
        return by_name
    for space, pair in rows.pairs(source).items():
        by_name |= _name_scores(space, pair.scores())
    return by_name


def resample(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    """Of some of a source's texts beside one half of the reference's."""
    source = rows.source_of(take)
    if rows.reference is None or source == rows.reference:
        return {}
    theirs = matching_half(rows.groups[rows.reference], take, rows.strata, rng)
    return _of_texts(rows, source, take, theirs, rng)


def _of_texts(
    rows: Rows, source: str | None, ours: Take, theirs: Take, rng: np.random.Generator
) -> Values:
    values: Values = {}
    for space, pair in rows.pairs(source).items():
        values |= _name_scores(space, scores_of_texts(pair, ours, theirs, rng))
    return values


def _name_scores(space: str, scores: Values) -> Values:
    return {f"{SPACES[space]}_{name}": score for name, score in scores.items()}


def tables(rows: Rows, comparison: Comparison, options: Options) -> Mapping[str, Sequence[Any]]:
    """What the reference itself would score: halves beside halves, of all sources alike."""
    reference, table = str(rows.reference), []
    for source in rows.groups:
        if not rows.pairs(source):
            continue

        def one(rng: np.random.Generator, source: str = source) -> Values:
            ours, theirs = rows.groups[source], rows.groups[reference]
            return _of_texts(rows, source, *strange_halves(ours, theirs, rows.strata, rng), rng)

        seed, purpose = comparison.seed, f"halves {source}"
        drawn = draw_values(one, numbers=range(DRAWS), seed=seed, purpose=purpose)
        for name, column in drawn.items():
            spread = {"mean": float(column.mean()), "sd": float(column.std(ddof=1))}
            table.append({"source": source, "value": name, **spread, "draws": DRAWS})
    return {"baseline": table} if table else {}


def notes(rows: Rows, take: Take, options: Options) -> list[str]:
    if rows.reference is None:
        return ["no reference: name the source to compare with, with --reference"]
    source = rows.source_of(take)
    pairs = rows.pairs(source)
    missing = [name for name in _chosen_spaces(options) if name not in pairs]
    lines = [f"{name}: {_undefined_reason(rows, take, options)}" for name in missing]
    if source == rows.reference and pairs:
        lines.append(
            "the reference against itself would score 1; the table `baseline` compares halves of "
            "its texts with each other and with halves of the sources"
        )
    for size in dict.fromkeys(len(pair.source) for pair in pairs.values()):
        of = [name for name, pair in pairs.items() if len(pair.source) == size]
        lines.append(f"{', '.join(of)}: compares {several(size, 'sentence')} of every source")
    if "meaning" in pairs and source != rows.reference:
        dimensions = several(rows.spaces["meaning"].dimensions[str(source)], "dimension")
        lines.append(f"meaning: {PCA:.0%} of the variance is in {dimensions}")
    if rows.embedded is not None:
        return lines + meaning.embedding_notes(rows.embedded, take, "sentence")
    size, count = rows.spaces["trees"].size if pairs else 0, int(rows.comparable[take].sum())
    if 0 < size < count:
        lines.append(f"{several(size, 'sentence')} drawn at random from {count:,}")
    if cut_off := int(rows.cut_off[take].sum()):
        lines.append(f"left out: {several(cut_off, 'sentence')} of truncated texts")
    return lines


def _undefined_reason(rows: Rows, take: Take, options: Options) -> str:
    if len(rows.groups) == 1:
        return "not compared: the reference is the only source"
    if int(rows.comparable[take].sum()) <= options.k:
        return f"not compared: too few sentences, not more than k = {options.k}"
    return f"nothing to compare with: not more than k = {options.k} sentences on the other side"


def _chosen_spaces(options: Options) -> tuple[str, ...]:
    return tuple(space for space in SPACES if space in options.on)


def _part(work: Work, start: float, stop: float) -> Work:
    """The work that stands for one part of the way."""
    return replace(work, progress=lambda done: work.progress(start + (stop - start) * done))


_LAYOUT = (
    Table(
        "baseline",
        "Halves of the texts against halves of the reference's",
        (Column("source"),),
        note=lambda rows, result: (
            f"Mean ± standard deviation of {rows[0]['draws']} draws: the value of the reference is "
            "the most that a perfect imitation could reach."
        ),
        rows=add_titles,
        by="source",
        pivot=Pivot(
            "value", Column("mean", kind="number", spread="sd"), lambda row: str(row["title"])
        ),
    ),
)


def method(s: Mapping[str, str]) -> str:
    return (
        "Precision is the share of a source's sentences that lie within the ball of a sentence of "
        "the reference, recall the share of the reference's sentences within a ball of the source, "
        f"where balls reach to the neighbour number {s['k']} (on {s['on'].replace(',', ' and ')}"
        f"{limited(s)})"
    )


_REACHED = {"tree_recall": "sentence structures", "meaning_recall": "meanings"}


def findings(result: Result, sources: Sequence[str]) -> Iterator[Finding]:
    """How much of the reference a source reaches, beside what the reference reaches of itself."""
    reference = result.reference
    if reference is None or reference == EACH:
        return
    level = result.interval.level if result.interval else None
    halves = {(row["source"], row["value"]): row for row in result.tables.get("baseline", ())}
    for source in sources:
        at_source = result.by_source[source]
        values = [v for v in _REACHED if not math.isnan(at_source.values.get(v, math.nan))]
        if not values:
            continue
        parts = [
            f"{format_percent(at_source.values[value])} of {reference}'s {_REACHED[value]}"
            f"{format_interval(level, at_source.ends(value), format_percent)}"
            for value in values
        ]
        text = f"{source} reaches {join_names(parts)}."
        if all((name, value) in halves for name in (source, reference) for value in values):
            rates = {
                name: join_names([format_percent(halves[name, v]["mean"]) for v in values])
                for name in (source, reference)
            }
            text += (
                f" Halves of the texts that share no doc_id: {source} {rates[source]}, {reference} "
                f"itself {rates[reference]}."
            )
        yield Finding(text, values[0], source)


METRIC = Metric(
    name="precision-recall",
    title="Precision and recall",
    values=values,
    needs=needs,
    options=Options,
    rows=rows,
    reduce=reduce,
    resample=resample,
    citation=(
        "Le Bronnec, Verine, Negrevergne, Chevaleyre and Allauzen (2024), Exploring Precision and "
        "Recall to assess the quality and diversity of LLMs; Guo, Shang and Clavel (2025), "
        "Benchmarking Linguistic Diversity of Large Language Models, for trees; Kynkäänniemi, "
        "Karras, Laine, Lehtinen and Aila (2019); Naeem, Oh, Uh, Choi and Yoo (2020) for density "
        "and coverage"
    ),
    match=None,
    embeds=lambda options: "meaning" in options.on,
    uncut_reason="sentences are compared, and all samples are cut to as many of them already",
    notes=notes,
    tables=tables,
    check=check,
    tested=False,
    inputs=False,
    layout=_LAYOUT,
    says="How far the sentences of a source and of the reference overlap.",
    section="patterns",
    findings=findings,
    place=20,
    main=("precision", "recall"),
    method=method,
    report=lambda context: (
        context.lacks("reference") or {"sentences": context.sentences, "embedder": context.embedder}
    ),
    lesser=lambda options: replace(options, on=("trees",)) if "meaning" in options.on else None,
)
