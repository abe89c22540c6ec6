"""Meaning, how varied: distances between embeddings of sentences.

Semantic diversity of Guo et al. (2025): the mean over all pairs of sentences of (1 - cos) / 2,
where cos is that of their embeddings; exact, by the sum of all vectors, in time that grows with
the number of sentences and not of pairs. Beside it the Vendi score (Friedman and Dieng, 2023), the
number of different things said, and the mean distance of a sentence to the nearest other one.

Direction: higher is more diverse. Length: all move with the number of texts, the mean over pairs a
little (sentences of one text are more alike), the other two with the sentences of a text as well.

Variants. `exact`: all sentences. `paper`: 2,000 sentences of each source, drawn at random.
`package`: what `diversity` 0.3.1 computes, over whole texts: `remote_clique`, the mean cosine
distance over pairs in which every text is also paired with itself, and `chamfer_dist`; left
unrounded here, and with the embedder chosen here (the package's own is Qwen3-Embedding-0.6B).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rote.annotate import embeddings
from rote.compare.intervals import (
    clustered_error,
    left_out_error,
    mean_similarity,
    similarity_without,
)
from rote.core.array_types import Flags, Floats, Integers
from rote.core.metric import Metric, Value, Values, Work, check_options, members, option, owners
from rote.core.record import Headline
from rote.core.sample import Cut, Need, Sample, Take
from rote.measure import _meaning as meaning
from rote.measure._meaning import Choice, Embedded, Unit, sums_by_text
from rote.measure._nearest import Neighbours
from rote.measure._sentences import Drop, Sentences, limited
from rote.measure._vendi import vendi, vendi_without

PAPER_SENTENCES = 2_000
RESAMPLED = 5_000
"""Sentences of a source up to which the Vendi score is computed for every drawn group."""


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of `semantic`."""

    variant: Literal["exact", "paper", "package"] = option(
        "exact",
        "what is computed: all sentences, 2,000 of each source as in the paper, or what the "
        "package diversity gives",
    )
    embedder: str = option(
        embeddings.DEFAULT,
        "who makes the vectors: minilm (English), sentence-transformers:NAME; de=NAME: of German "
        "texts",
        sign=meaning.signed,
    )
    unit: Unit = option("sentence", "what gets a vector (variant package: a text)")
    sentences: int | None = option(
        None, "at most this many sentences of each source, drawn at random", least=2, most=1_000_000
    )
    drop_incomplete: Drop = option(
        "none", "sentences to drop of a text that is cut off: its last, or first and last"
    )

    def __post_init__(self) -> None:
        check_options(self)

    def signed(self) -> dict[str, Any]:
        """The package embeds texts; the paper draws 2,000 sentences."""
        return {"unit": self.embeds, "sentences": self.choice.count}

    @property
    def embeds(self) -> Unit:
        return "text" if self.variant == "package" else self.unit

    @property
    def choice(self) -> Choice:
        count = self.sentences
        if count is None and self.variant == "paper":
            count = PAPER_SENTENCES
        return Choice(self.embedder, self.embeds, count, self.drop_incomplete)


@dataclass(frozen=True, slots=True)
class Rows:
    """The vectors of all texts, their sum for each text, and who is near whom."""

    embedded: Embedded
    sentences: Sentences
    """Those that are measured: all that were embedded, or a window of each text."""
    vectors: NDArray[np.float32]
    sums: Floats
    counts: Integers
    neighbours: Neighbours
    few: bool
    """Whether all sources are small enough for the Vendi score of every drawn group."""
    untested: tuple[str, ...]
    """Values that move with the number of sentences, where these are drawn: there are as many of
    every source, but not of permuted groups of texts."""
    near: bool = True
    """Whether the nearest others are looked for: not in the windows of large sources."""


def values(options: Options) -> tuple[Value, ...]:
    nearest = Value("nearest", "distance to the nearest", "diverse", "both")
    if options.variant == "package":
        return (Value("mean_distance", "mean cosine distance", "diverse", "texts"), nearest)
    return (
        Value("semantic", "mean distance of sentence embeddings", "diverse", "texts", share=True),
        nearest,
        # At equal length its test was wrong in 11 % of studies where lengths differ 4 times.
        Value("vendi", "Vendi score", "diverse", "both", tested=False),
    )


def needs(options: Options) -> tuple[Need, ...]:
    return meaning.NEEDS


def check(options: Options, signature: str) -> None:
    """An embedder that is not installed is missed before the texts are read."""
    meaning.check(options.embedder)


def rows(sample: Sample, options: Options, work: Work) -> Rows:
    found = arranged(meaning.embedded(sample, options.choice, work), work)
    work.progress(1.0)
    return found


def arranged(found: Embedded, work: Work) -> Rows:
    """What any group of texts is measured from, out of the vectors of all of them."""
    counts = found.counts
    groups = work.sources(len(counts))
    texts = found.sentences.texts
    return Rows(
        embedded=found,
        sentences=found.sentences,
        vectors=found.vectors,
        sums=sums_by_text(found.vectors, texts, len(counts)),
        counts=counts,
        neighbours=Neighbours(found.vectors, owners(groups, len(counts))[texts], work.reporter),
        few=max(int(counts[take].sum()) for take in groups) <= RESAMPLED,
        untested=("nearest",) if found.not_drawn.any() else (),
    )


def sizes(rows: Rows, options: Options) -> Integers:
    return rows.counts


def cut(rows: Rows, windows: Cut, options: Options) -> Rows:
    """Of as many sentences in a row from each text."""
    starts = np.searchsorted(rows.sentences.texts, windows.texts) + windows.firsts
    numbers = (starts[:, None] + np.arange(windows.size)).ravel()
    texts = np.repeat(np.arange(len(starts), dtype=np.int64), windows.size)
    own, vectors = rows.sentences, rows.vectors[numbers]
    return replace(
        rows,
        sentences=Sentences(own.starts[numbers], own.ends[numbers], texts),
        vectors=vectors,
        sums=sums_by_text(vectors, texts, len(starts)),
        counts=np.full(len(starts), windows.size, np.int64),
        neighbours=Neighbours(vectors, rows.neighbours.sources[numbers]),
        near=rows.few,
    )


def reduce(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    found = _linear(rows, take, options)
    if options.variant != "package":
        found["vendi"] = vendi(rows.vectors[rows.sentences.of(take)])
    return found


def resample(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    """Without the Vendi score where a source is large: it is the one that takes long."""
    if rows.few:
        return reduce(rows, take, options, rng)
    return _linear(rows, take, options)


def many(
    rows: Rows, takes: Sequence[Take], names: Collection[str], options: Options
) -> dict[str, Floats]:
    """`resample` of many groups: those means that follow from sums of vectors in one product."""
    every, held = members(takes)
    counts = (rows.counts[every] @ held).astype(np.int64)
    whole = held.T @ rows.sums[every]
    squares = np.einsum("gd,gd->g", whole, whole)
    apart = np.array([_distance(*of) for of in zip(squares.tolist(), counts.tolist())])
    found: dict[str, Callable[[], Floats]] = {
        # Each text is paired with itself too, at distance 0.
        "mean_distance": lambda: apart * (counts - 1) / np.maximum(counts, 1),
        "semantic": lambda: apart / 2,
        "nearest": lambda: np.array([_nearest(rows, rows.sentences.of(take)) for take in takes]),
        "vendi": lambda: np.array([vendi(rows.vectors[rows.sentences.of(take)]) for take in takes]),
    }
    return {
        value.name: found[value.name]()
        for value in values(options)
        if value.name in names
        and (value.name != "vendi" or rows.few)
        and (value.name != "nearest" or rows.near)
    }


def standard_errors(rows: Rows, take: Take, options: Options) -> Values:
    """Of the mean over pairs and of the Vendi score, leaving out one text at a time."""
    if options.variant == "package":
        return {}
    own = rows.sums[take]
    whole = own.sum(axis=0)
    error = clustered_error(
        square=float(whole @ whole),
        products=own @ whole,
        squares=np.einsum("td,td->t", own, own),
        counts=rows.counts[take].astype(np.float64),
    )
    chosen = rows.sentences.of(take)
    vectors, texts = rows.vectors[chosen], rows.sentences.texts[chosen]
    return {"semantic": error / 2, "vendi": left_out_error(vendi_without(vectors, texts))}


def contributions(rows: Rows, take: Take, options: Options) -> dict[str, Floats]:
    """The similarity that is left without each text, and how near others its sentences are."""
    own, counts = rows.sums[take], rows.counts[take].astype(np.float64)
    whole = own.sum(axis=0)
    squares = np.einsum("td,td->t", own, own)
    without = similarity_without(float(whole @ whole), own @ whole, squares, counts)
    chosen = rows.sentences.of(take)
    nearest = np.zeros(len(rows.counts))
    if len(chosen) > 1 and rows.near:
        distances = rows.neighbours.distances(chosen)
        nearest += np.bincount(rows.sentences.texts[chosen], distances, len(nearest))
    near = np.where(counts > 0, nearest[take] / np.maximum(counts, 1), math.nan)
    return {"semantic": without, "mean_distance": without, "nearest": near}


def per_text(rows: Rows, options: Options) -> dict[str, Floats]:
    """A text's diversity is that among its own sentences."""
    if options.embeds == "text":
        return {}
    squares = np.einsum("td,td->t", rows.sums, rows.sums)
    pairs = zip(squares.tolist(), rows.counts.tolist())
    return {"semantic": np.array([_distance(square, count) / 2 for square, count in pairs])}


def undefined(rows: Rows, options: Options) -> Mapping[str, Flags]:
    """Sentences are compared: a text of one has a part in every value but its own diversity."""
    none = rows.counts + rows.embedded.not_drawn == 0
    return {value.name: none for value in values(options)}


def notes(rows: Rows, take: Take, options: Options) -> list[str]:
    said = meaning.said(rows.embedded, take, options.embeds)
    count = int(rows.counts[take].sum())
    if count < 2:
        said.append(f"fewer than two {options.embeds}s: there is no pair to compare")
    elif rows.untested and options.variant != "package":
        said.append("nearest is not tested where sentences are drawn")
    if not rows.few and options.variant != "package":
        said.append(
            "the Vendi score and the distance to the nearest have no value at equal size: a source "
            f"has more than {RESAMPLED:,} {options.embeds}s (--sentences {RESAMPLED} gives them)"
        )
    return said


def _linear(rows: Rows, take: Take, options: Options) -> Values:
    """All values but the Vendi score."""
    chosen = rows.sentences.of(take)
    count = len(chosen)
    whole = rows.sums[take].sum(axis=0)
    apart = _distance(float(whole @ whole), count)
    nearest = {"nearest": _nearest(rows, chosen)} if rows.near else {}
    if options.variant == "package":
        # Each text is paired with itself too, at distance 0.
        return {"mean_distance": apart * (count - 1) / max(count, 1), **nearest}
    return {"semantic": apart / 2, **nearest}


def _nearest(rows: Rows, chosen: Integers) -> float:
    return float(rows.neighbours.distances(chosen).mean()) if len(chosen) > 1 else math.nan


def _distance(square: float, count: int) -> float:
    """Mean cosine distance over pairs; rounding must not put equal sentences below 0."""
    similarity = mean_similarity(square, count)
    return similarity if math.isnan(similarity) else max(0.0, 1 - similarity)


def method(s: Mapping[str, str]) -> str:
    return (
        f"Semantic diversity is the mean over pairs of {s['unit']}s of (1 - cos) / 2 of their "
        f"embeddings{limited(s)}; the Vendi score and the distance to the nearest other stand "
        "beside it"
    )


METRIC = Metric(
    name="semantic",
    title="Meaning",
    values=values,
    needs=needs,
    options=Options,
    rows=rows,
    reduce=reduce,
    citation=(
        "Guo, Shang and Clavel (2025), Benchmarking Linguistic Diversity of Large Language Models; "
        "Friedman and Dieng (2023), The Vendi Score; Reimers and Gurevych (2019), Sentence-BERT"
    ),
    match="sentences",
    embeds=lambda options: True,
    standard_errors=standard_errors,
    per_text=per_text,
    contributions=contributions,
    undefined=undefined,
    notes=notes,
    resample=resample,
    many=many,
    check=check,
    sizes=sizes,
    cut=cut,
    says="How far apart sentences are in meaning, by their embeddings.",
    section="diversity",
    place=30,
    # Vectors cost more than all else in the panel; so many tell sources apart.
    panel=({"sentences": 500},),
    main=("semantic",),
    headlines=(
        Headline(
            *("semantic", "says more varied things", "says less varied things"),
        ),
    ),
    method=method,
    report=lambda asked: {"sentences": asked.sentences, "embedder": asked.embedder},
)
