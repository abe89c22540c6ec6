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
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
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
from rote.core.arrays import Array, Flags, Floats, Integers
from rote.core.kernels import njit
from rote.core.metric import Metric, OptionSet, Value, Values, Work, members, option, owners
from rote.core.progress import Reporter, Silent
from rote.core.record import Headline
from rote.core.sample import Cut, Need, Sample, Take
from rote.measure import _sentences as meaning
from rote.measure._sentences import Choice, Drop, Embedded, Sentences, Unit, limited, sums_by_text

PAPER_SENTENCES = 2_000
RESAMPLED = 5_000
"""Sentences of a source up to which the Vendi score is computed for every drawn group."""


@dataclass(frozen=True, slots=True)
class Options(OptionSet):
    variant: Literal["exact", "paper", "package"] = option(
        "exact",
        "definition: all sentences, 2,000 per source as in the paper, or as in the diversity "
        "package",
    )
    embedder: str = option(
        embeddings.DEFAULT,
        "embedding model: minilm (English), sentence-transformers:NAME; de=NAME: for German texts",
        sign=meaning.signed,
    )
    unit: Unit = option("sentence", "unit to embed (variant package: a text)")
    sentences: int | None = option(
        None, "maximum number of sentences per source, drawn at random", least=2, most=1_000_000
    )
    drop_incomplete: Drop = option(
        "none", "sentences to drop from a truncated text: its last, or first and last"
    )

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
    neighbours: NearestIndex
    few: bool
    """Whether all sources are small enough for the Vendi score of every drawn group."""
    untested: tuple[str, ...]
    """Values that move with the number of sentences, where these are drawn: there are as many of
    every source, but not of permuted groups of texts."""
    near: bool = True
    """Whether the nearest others are looked for: not in the windows of large sources."""
    products: Floats | None = None
    """Of every two texts the product of their sums, where there are fewer texts than dimensions."""


def values(options: Options) -> tuple[Value, ...]:
    nearest = Value("nearest", "distance to the nearest", "diverse", "both")
    if options.variant == "package":
        return (Value("mean_distance", "mean cosine distance", "diverse", "texts"), nearest)
    return (
        Value("semantic", "mean distance of sentence embeddings", "diverse", "texts", share=True),
        nearest,
        # At equal length its test was wrong in 11 % of studies where lengths differ 4 times.
        Value("vendi", "Vendi score", "diverse", "both", tested=False, extensive=True),
    )


def needs(options: Options) -> tuple[Need, ...]:
    return meaning.NEEDS


def check(options: Options, signature: str) -> None:
    """An embedder that is not installed is missed before the texts are read."""
    meaning.check(options.embedder)


def rows(sample: Sample, options: Options, work: Work) -> Rows:
    measured = arranged(meaning.embedded(sample, options.choice, work), work)
    work.progress(1.0)
    return measured


def arranged(embedding: Embedded, work: Work) -> Rows:
    """What any group of texts is measured from, out of the vectors of all of them."""
    counts = embedding.counts
    groups = work.sources(len(counts))
    texts, sources = embedding.sentences.texts, owners(groups, len(counts))
    sums = sums_by_text(embedding.vectors, texts, len(counts))
    return Rows(
        embedded=embedding,
        sentences=embedding.sentences,
        vectors=embedding.vectors,
        sums=sums,
        products=_products(sums),
        counts=counts,
        neighbours=NearestIndex(embedding.vectors, sources[texts], work.reporter),
        few=max(int(counts[take].sum()) for take in groups) <= RESAMPLED,
        untested=("nearest",) if embedding.not_drawn.any() else (),
    )


def sizes(rows: Rows, options: Options) -> Integers:
    return rows.counts


def cut(rows: Rows, windows: Cut, options: Options) -> Rows:
    """Of as many sentences in a row from each text."""
    starts = np.searchsorted(rows.sentences.texts, windows.texts) + windows.firsts
    numbers = (starts[:, None] + np.arange(windows.size)).ravel()
    texts = np.repeat(np.arange(len(starts), dtype=np.int64), windows.size)
    sentences, vectors = rows.sentences, rows.vectors[numbers]
    sums = sums_by_text(vectors, texts, len(starts))
    return replace(
        rows,
        sentences=Sentences(sentences.starts[numbers], sentences.ends[numbers], texts),
        vectors=vectors,
        sums=sums,
        products=_products(sums),
        counts=np.full(len(starts), windows.size, np.int64),
        neighbours=NearestIndex(vectors, rows.neighbours.sources[numbers]),
        near=rows.few,
    )


def _products(sums: Floats) -> Floats | None:
    return sums @ sums.T if len(sums) < sums.shape[1] else None


def reduce(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    values = _linear(rows, take, options)
    if options.variant != "package":
        values["vendi"] = vendi(rows.vectors[rows.sentences.of(take)])
    return values


def resample(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    """Without the Vendi score where a source is large: it is the one that takes long."""
    if rows.few:
        return reduce(rows, take, options, rng)
    return _linear(rows, take, options)


def many(
    rows: Rows, takes: Sequence[Take], names: Collection[str], options: Options
) -> dict[str, Floats]:
    """`resample` of many groups: those means that follow from sums of vectors in one product."""
    every, membership = members(takes)
    counts = (rows.counts[every] @ membership).astype(np.int64)
    if rows.products is None:
        sums = membership.T @ rows.sums[every]
        squares = np.einsum("gd,gd->g", sums, sums)
    else:
        products = rows.products[np.ix_(every, every)] @ membership
        squares = np.einsum("tg,tg->g", membership, products)
    apart = np.array([_distance(*of) for of in zip(squares.tolist(), counts.tolist())])
    columns: dict[str, Callable[[], Floats]] = {
        # Each text is paired with itself too, at distance 0.
        "mean_distance": lambda: apart * (counts - 1) / np.maximum(counts, 1),
        "semantic": lambda: apart / 2,
        "nearest": lambda: np.array([_nearest(rows, rows.sentences.of(take)) for take in takes]),
        "vendi": lambda: np.array([vendi(rows.vectors[rows.sentences.of(take)]) for take in takes]),
    }
    return {
        value.name: columns[value.name]()
        for value in values(options)
        if value.name in names
        and (value.name != "vendi" or rows.few)
        and (value.name != "nearest" or rows.near)
    }


def standard_errors(rows: Rows, take: Take, options: Options) -> Values:
    """Of the mean over pairs and of the Vendi score, leaving out one text at a time."""
    if options.variant == "package":
        return {}
    sums = rows.sums[take]
    total = sums.sum(axis=0)
    error = clustered_error(
        square=float(total @ total),
        products=sums @ total,
        squares=np.einsum("td,td->t", sums, sums),
        counts=rows.counts[take].astype(np.float64),
    )
    chosen = rows.sentences.of(take)
    vectors, texts = rows.vectors[chosen], rows.sentences.texts[chosen]
    return {"semantic": error / 2, "vendi": left_out_error(vendi_without(vectors, texts))}


def contributions(rows: Rows, take: Take, options: Options) -> dict[str, Floats]:
    """The similarity that is left without each text, and how near others its sentences are."""
    sums, counts = rows.sums[take], rows.counts[take].astype(np.float64)
    total = sums.sum(axis=0)
    squares = np.einsum("td,td->t", sums, sums)
    without = similarity_without(float(total @ total), sums @ total, squares, counts)
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
    lines = meaning.embedding_notes(rows.embedded, take, options.embeds)
    count = int(rows.counts[take].sum())
    if count < 2:
        lines.append(f"fewer than two {options.embeds}s: no pairs to compare")
    elif rows.untested and options.variant != "package":
        lines.append("nearest is not tested where sentences are drawn")
    if not rows.few and options.variant != "package":
        lines.append(
            "the Vendi score and the distance to the nearest have no value at equal size: a source "
            f"has more than {RESAMPLED:,} {options.embeds}s (--sentences {RESAMPLED} gives them)"
        )
    return lines


def _linear(rows: Rows, take: Take, options: Options) -> Values:
    """All values but the Vendi score."""
    chosen = rows.sentences.of(take)
    count = len(chosen)
    total = rows.sums[take].sum(axis=0)
    apart = _distance(float(total @ total), count)
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
        f"embeddings{limited(s)}; the Vendi score and the distance to the nearest other are given "
        "as well"
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
    headlines=(Headline("semantic", "says more varied things", "says less varied things"),),
    method=method,
    report=lambda context: {"sentences": context.sentences, "embedder": context.embedder},
)


# How far each vector of a group is from the nearest other one of the group: half the squared
# distance of unit vectors, computed apart from the search, so that it does not depend on how blocks
# were cut, and equal vectors are at exactly 0.
#
# Half-samples and permuted groups ask again and again for the same vectors, so each vector keeps a
# short list of the nearest ones in the sources that its own has been mixed with. Where none of the
# list is in a group, the distances of that vector are computed anew.

LISTED = 32
"""Nearest vectors of a source that are listed; sentences of one text, near each other, are left out
together."""
FEW = 500
"""Up to this many vectors comparing all of them is quicker than looking through lists, unless they
are a good part of those that the lists are of."""
_PART = 4
_ALL = 4096
"""Up to this many vectors, where they are all of their sources, no list is made for them."""
_AT_ONCE = 4_000_000  # similarities in memory


Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class NearestLists:
    """The nearest vectors of one source for every vector of another (or the same), nearest first.

    `complete`: nothing of that source is missing from the lists.
    """

    numbers: NDArray[np.int32]
    distances: Floats
    complete: bool


@dataclass(frozen=True, slots=True)
class MergedLists:
    """The nearest vectors of several sources for every vector of them, as far as they are known:
    no other one is nearer than the last. Behind it stands a number that no vector has."""

    rows: Integers
    """Row of each vector."""
    numbers: NDArray[np.int32]
    distances: Floats


@dataclass(frozen=True, slots=True)
class NearestIndex:
    """Unit vectors, the source of each, and the lists that were made so far."""

    vectors: Vectors
    sources: Integers
    reporter: Reporter = field(default_factory=Silent)
    lists: dict[tuple[int, int], NearestLists] = field(default_factory=dict)
    merged: dict[tuple[int, ...], MergedLists] = field(default_factory=dict)
    lock: Any = field(default_factory=Lock)

    @property
    def counts(self) -> Integers:
        """Vectors of no source, and of each."""
        return np.bincount(self.sources + 1)

    def distances(self, chosen: Integers) -> Floats:
        """Cosine distance of each chosen vector to the nearest other chosen one; two at least."""
        present = tuple((np.flatnonzero(np.bincount(self.sources[chosen] + 1)) - 1).tolist())
        every = int(self.counts[np.array(present) + 1].sum())
        if (len(chosen) <= FEW and _PART * len(chosen) < every) or len(chosen) == every <= _ALL:
            return nearest_among(self.vectors, chosen, chosen)
        with self.lock:
            if present not in self.merged:
                self.merged[present] = self._joined(present)
        lists = self.merged[present]
        inside = np.zeros(len(self.vectors) + 1, np.bool_)
        inside[chosen] = True
        nearest = first_inside(lists.rows[chosen], lists.numbers, lists.distances, inside)
        if len(unresolved := np.flatnonzero(np.isinf(nearest))):
            nearest[unresolved] = nearest_among(self.vectors, chosen[unresolved], chosen)
        return np.asarray(nearest)

    def _joined(self, present: tuple[int, ...]) -> MergedLists:
        """The lists of several sources as one."""
        members = [np.flatnonzero(self.sources == source) for source in present]
        rows = np.empty(len(self.vectors), np.int64)
        rows[np.concatenate(members)] = np.arange(sum(map(len, members)))
        numbers, distances = [], []
        for ours in present:
            of_source = [self._make_lists(ours, source) for source in present]
            near = np.concatenate([lists.numbers for lists in of_source], axis=1)
            far = np.concatenate([lists.distances for lists in of_source], axis=1)
            reach = np.full(len(near), np.inf)
            for lists in of_source:
                if not lists.complete:
                    reach = np.minimum(reach, lists.distances[:, -1])
            near[far > reach[:, None]] = len(self.vectors)
            order = np.argsort(far, axis=1, kind="stable")
            numbers.append(np.take_along_axis(near, order, axis=1))
            distances.append(np.take_along_axis(far, order, axis=1))
        width = max(near.shape[1] for near in numbers)

        def stacked(tables: list[Any], filler: float) -> Any:
            """With as many columns as the widest."""
            gaps = [((0, 0), (0, width - table.shape[1])) for table in tables]
            padded = [np.pad(t, gap, constant_values=filler) for t, gap in zip(tables, gaps)]
            return np.concatenate(padded)

        return MergedLists(rows, stacked(numbers, len(self.vectors)), stacked(distances, np.inf))

    def _make_lists(self, first: int, other: int) -> NearestLists:
        if (first, other) in self.lists:
            return self.lists[first, other]
        of, among = (np.flatnonzero(self.sources == source) for source in (first, other))
        length = min(LISTED, len(among) - (first == other))
        numbers = np.empty((len(of), length), np.int32)
        with self.reporter.stage("nearest sentences", len(of)) as advance:
            for rows, likeness in _likeness(self.vectors, of, among):
                if length:
                    largest(likeness, among, numbers[rows])
                advance(len(likeness))
        distances = apart(self.vectors, of, numbers)
        order = np.argsort(distances, axis=1, kind="stable")
        numbers = np.take_along_axis(numbers, order, axis=1)
        distances = np.take_along_axis(distances, order, axis=1)
        complete = length == len(among) - (first == other)
        self.lists[first, other] = NearestLists(numbers, distances, complete)
        return self.lists[first, other]


def nearest_among(vectors: Vectors, of: Integers, among: Integers) -> Floats:
    """The distance of some vectors to the nearest of others (ascending), themselves left out."""
    best = np.empty((len(of), 1), np.int32)
    for rows, likeness in _likeness(vectors, of, among):
        best[rows, 0] = among[likeness.argmax(axis=1)]
    return np.asarray(apart(vectors, of, best)[:, 0])


def _likeness(
    vectors: Vectors, of: Integers, among: Integers
) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    """Cosines in blocks of rows; that of a vector with itself is set to minus infinity."""
    others = vectors[among].T
    step = max(1, _AT_ONCE // max(1, len(among)))
    for start in range(0, len(of), step):
        some = of[start : start + step]
        likeness = vectors[some] @ others
        places = np.searchsorted(among, some).clip(max=len(among) - 1)
        same = np.flatnonzero(among[places] == some)
        likeness[same, places[same]] = -np.inf
        yield slice(start, start + len(some)), likeness


_LANES = 8


@njit(cache=True, nogil=True)
def largest(likeness: Array, among: Array, numbers: Array) -> None:
    """By row: which of `among` have the largest numbers; of equal ones the first."""
    length = numbers.shape[1]
    best = np.empty(length, np.float32)
    for row in range(len(likeness)):
        count = 0
        for place in range(likeness.shape[1]):
            number = likeness[row, place]
            if count == length and number <= best[count - 1]:
                continue
            slot = count if count < length else length - 1
            count = min(count + 1, length)
            while slot > 0 and best[slot - 1] < number:
                best[slot] = best[slot - 1]
                numbers[row, slot] = numbers[row, slot - 1]
                slot -= 1
            best[slot] = number
            numbers[row, slot] = among[place]


@njit(cache=True, nogil=True)
def apart(vectors: Array, of: Array, to: Array) -> Array:
    """Half the squared distance of vectors `of[r]` and `to[r, c]`: exactly 0 for equal ones."""
    distances = np.empty(to.shape)
    lanes = np.empty(_LANES)
    dimensions = vectors.shape[1]
    in_lanes = dimensions - dimensions % _LANES
    for row in range(len(of)):
        vector = vectors[of[row]]
        for column in range(to.shape[1]):
            neighbour = vectors[to[row, column]]
            lanes[:] = 0
            for begin in range(0, in_lanes, _LANES):
                for lane in range(_LANES):
                    gap = np.float64(vector[begin + lane]) - np.float64(neighbour[begin + lane])
                    lanes[lane] += gap * gap
            for place in range(in_lanes, dimensions):
                gap = np.float64(vector[place]) - np.float64(neighbour[place])
                lanes[place - in_lanes] += gap * gap
            total = 0.0
            for lane in range(_LANES):
                total += lanes[lane]
            distances[row, column] = total / 2
    return distances


@njit(cache=True, nogil=True)
def first_inside(rows: Array, numbers: Array, distances: Array, inside: Array) -> Array:
    """The distance of the first of each list that is inside; infinite where none is."""
    nearest = np.full(len(rows), np.inf)
    for place in range(len(rows)):
        row = rows[place]
        for column in range(numbers.shape[1]):
            if inside[numbers[row, column]]:
                nearest[place] = distances[row, column]
                break
    return nearest


# The Vendi score (Friedman and Dieng, 2023), and what it is without each text in turn.
#
# exp of the entropy of the eigenvalues of K / n, where K holds the cosines of all pairs of n unit
# vectors. Their products by dimension, M, have the same eigenvalues; for many vectors K is not
# made.
#
# Without a text whose vectors are the rows of W, M becomes M - W'W. What that does to the sum of
# x log x over the eigenvalues x needs no eigenvalues: log x is the integral over s > 0 of
# 1 / (1 + s) - 1 / (x + s), and the sums over 1 / (x + s) change by the derivative of the log of
# det(I - A(s)), where A(s) = W (M + s)^-1 W' has as many rows as the text has vectors. So
#
#     f(M - W'W) = f(M) - |W|^2 - integral of |W|^2 / (1 + s) + log det(I - A(s)),
#
# f being that sum, which the trapezoidal rule over log s gives to nine digits with some forty s.

_BLOCK = 4096
"""Vectors that are held with full precision at once."""
_SHIFTS = np.exp(np.arange(-21.0, 25.0))
"""The s of the integral; finer steps, or smaller and larger s, change nothing in nine digits."""


def vendi(vectors: Vectors) -> float:
    if not len(vectors):
        return math.nan
    products = _vector_products(vectors)
    trace = float(np.trace(products))
    return trace * math.exp(-_entropy(_eigenvalues(products)) / trace)


@njit(cache=True, nogil=True)
def _eigenvalues(matrix):  # type: ignore[no-untyped-def]
    """Other threads run meanwhile, as they do not when numpy is called for a single matrix."""
    return np.linalg.eigvalsh(matrix)


def vendi_without(vectors: Vectors, texts: Integers) -> Floats:
    """The score without the vectors of each text in turn; `texts` says whose they are, those of one
    text in a row. nan where nothing is left.
    """
    if not len(vectors):
        return np.empty(0)
    values, directions = np.linalg.eigh(_vector_products(vectors))
    values = np.maximum(values, 0)
    # K's have a number for each vector; M's are directions that vectors are seen from.
    scaled = directions * np.sqrt(values) if len(vectors) <= vectors.shape[1] else None
    total, entropy = float(values.sum()), _entropy(values)
    firsts = np.flatnonzero(np.append(True, np.diff(texts) != 0))
    counts = np.diff(np.append(firsts, len(texts)))
    scores = np.empty(len(firsts))
    for some, rows in _groups_of_equal_counts(firsts, counts):
        turned = vectors[rows].astype(np.float64) @ directions if scaled is None else scaled[rows]
        lengths = np.einsum("tvd,tvd->t", turned, turned)
        change = np.zeros(len(some))
        for shift in _SHIFTS:
            reduced = np.eye(rows.shape[1]) - (turned / (values + shift)) @ turned.swapaxes(1, 2)
            change += shift * (lengths / (1 + shift) + np.linalg.slogdet(reduced)[1])
        rest = total - lengths if rows.shape[1] < len(texts) else np.full(len(some), np.nan)
        scores[some] = rest * np.exp((lengths + change - entropy) / rest)
    return scores


def _vector_products(vectors: Vectors) -> Floats:
    """Of vectors or of dimensions, whichever are fewer."""
    count, dimensions = vectors.shape
    if count <= dimensions:
        vectors64 = vectors.astype(np.float64)
        return np.asarray(vectors64 @ vectors64.T)
    products = np.zeros((dimensions, dimensions))
    for start in range(0, count, _BLOCK):
        some = vectors[start : start + _BLOCK].astype(np.float64)
        products += some.T @ some
    return products


def _entropy(values: NDArray[np.floating[Any]]) -> float:
    """The sum of x log x."""
    some = values[values > 0]
    return float((some * np.log(some)).sum())


def _groups_of_equal_counts(
    firsts: Integers, counts: Integers
) -> Iterator[tuple[Integers, Integers]]:
    """Texts with as many vectors, some at a time: their numbers, and those of their vectors."""
    for count in np.unique(counts).tolist():
        alike = np.flatnonzero(counts == count)
        step = max(1, _BLOCK // count)
        for start in range(0, len(alike), step):
            some = alike[start : start + step]
            yield some, firsts[some, None] + np.arange(count)
