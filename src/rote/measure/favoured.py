"""Which patterns of grammar a source favours, and which only the reference has.

Table 2 of Guo, Shang and Clavel (2025). The reference's patterns are the n-grams of tags in those
of its sentences that lie outside every ball of the source, dependency tree by dependency tree:
grammar that the source does not reach. The source's patterns are n-grams that it uses often and
the reference rarely, over all sentences of both. Each comes with its counts, the log-odds ratio
with an informative prior and its z, and what it reads like.

Direction: none; `outside` is the share of the reference's sentences that the source does not
reach, 1 - recall of `rote precision-recall` on trees. Length: both samples are cut to equal size
for the balls. Needs --reference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import OptionError
from rote.core.layer import Layer
from rote.core.metric import Comparison, Metric, Value, Values, Work, option
from rote.core.result import Row
from rote.core.sample import Need, RawText, Sample, Take
from rote.measure._sentences import Drop, Sentences, sentences_of, whole

if TYPE_CHECKING:
    from rote.measure._templates.windows import Chosen, Windows

_WORD, _HEAD, _UPOS = Need("word", spans=True), Need("head"), Need("upos")
_EXAMPLES = 3
# A pattern one item further along is the same habit, unless it stands clearly more often alone.
_SAME = 0.75
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of `favoured`."""

    layer: str = option("upos", "layer whose n-grams are patterns: upos, pos, dep")
    lengths: tuple[int, ...] = option((3, 4, 5, 6), "how many items a pattern has")
    top: int = option(10, "how many patterns of each length and side are listed")
    min_count: int = option(5, "how often a pattern has to stand on its own side")
    k: int = option(4, "radius of a ball: the distance to this neighbour", short="-k")
    sentences: int = option(5_000, "at most this many sentences of each source have a ball")
    drop_incomplete: Drop = option(
        "none", "drop the last, or first and last, sentence of a text that is cut off"
    )

    def __post_init__(self) -> None:
        if not self.lengths or min(self.lengths) < 1:
            raise OptionError("lengths must be whole numbers from 1 on, such as 3,4,5,6")
        for name in ("top", "min_count", "k", "sentences"):
            if getattr(self, name) < 1:
                raise OptionError(f"{name} must be at least 1")


@dataclass(frozen=True, slots=True)
class Rows:
    """The layers, their sentences, and for each source the reference's sentences it misses.

    `every` are all sentences; `kept` the numbers of those that count, `measured` of the
    reference's that were held against balls, `outside` of those in none: all into `every`.
    """

    layer: Layer
    word: Layer
    raw: RawText
    every: Sentences
    kept: Numbers
    measured: Numbers
    outside: Mapping[str, Numbers]
    groups: Mapping[str, Take]
    reference: str | None


def values(options: Options) -> tuple[Value, ...]:
    title = "reference's sentences outside the source's balls"
    return (Value("outside", title, "neither", False, share=True),)


def needs(options: Options) -> tuple[Need, ...]:
    return (_WORD, _UPOS, _HEAD, Need(options.layer, spans=True), Need("text"))


def rows(sample: Sample, options: Options, work: Work) -> Rows:
    from rote.measure._neighbours.outside import outside
    from rote.measure._trees.histograms import histograms

    word = sample.layer(_WORD)
    every = sentences_of(word)
    is_whole = whole(word, every, options.drop_incomplete)
    kept = np.flatnonzero(is_whole).astype(np.int64)
    measured, missed = kept[:0], {}
    if work.reference is not None:
        chosen = every.chosen(is_whole)
        trees = histograms(sample.layer(_UPOS), sample.layer(_HEAD), chosen)
        found = outside(trees, chosen, work, k=options.k, count=options.sentences)
        measured = kept[found.measured]
        missed = {source: kept[numbers] for source, numbers in found.by_source.items()}
    return Rows(
        layer=sample.layer(Need(options.layer, spans=True)),
        word=word,
        raw=sample.text(),
        every=every,
        kept=kept,
        measured=measured,
        outside=missed,
        groups=work.groups,
        reference=work.reference,
    )


def reduce(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    source = _source(rows, take)
    if source not in rows.outside or not len(rows.measured):
        return {"outside": np.nan}
    return {"outside": len(rows.outside[source]) / len(rows.measured)}


def resample(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    """Nothing: `rote precision-recall` gives recall with its interval."""
    return {}


def notes(rows: Rows, take: Take, options: Options) -> list[str]:
    source = _source(rows, take)
    if rows.reference is None:
        return ["no reference, so nothing to compare with: name one with --reference"]
    if source == rows.reference:
        return ["this is the reference: no sentence of its own lies outside"]
    if source not in rows.outside:
        return [f"too few sentences for balls of k = {options.k}"]
    return [
        f"{len(rows.outside[source]):,} of {len(rows.measured):,} sentences of {rows.reference} "
        f"lie in no ball of {source}; rote precision-recall gives the interval"
    ]


def tables(rows: Rows, comparison: Comparison, options: Options) -> Mapping[str, Sequence[Row]]:
    """The patterns of both sides, for every source."""
    from rote.measure._templates.windows import windows_by_length

    if comparison.reference is None:
        return {}
    # Patterns lie within sentences, so a sentence is to the count what a text is elsewhere.
    ends = rows.every.ends
    by_sentence = replace(rows.layer, text_ends=ends, sentence_ends=ends)
    reference = np.intersect1d(rows.every.of(comparison.groups[comparison.reference]), rows.kept)
    sides = [
        (source, np.intersect1d(rows.every.of(take), rows.kept))
        for source, take in comparison.groups.items()
        if source in rows.outside
    ]
    found: list[Row] = []
    with comparison.reporter.stage("favoured: patterns", len(options.lengths)) as advance:
        for windows in windows_by_length(by_sentence, options.lengths, options.top, singles=False):
            counting = _Counting(rows, windows, by_sentence, options)
            for source, own in sides:
                found += counting.patterns(source, comparison.reference, own, reference)
            advance(1)
    order = {source: rank for rank, (source, _) in enumerate(sides)}
    found.sort(key=lambda row: (order[row["source"]], row["favoured_by"] == row["source"]))
    return {"patterns": found}


class _Counting:
    """The patterns of one length."""

    def __init__(self, rows: Rows, windows: Windows, by_sentence: Layer, options: Options) -> None:
        self.rows, self.windows, self.options = rows, windows, options
        self.by_sentence = by_sentence

    def patterns(
        self, source: str, reference: str, own: Numbers, reference_sentences: Numbers
    ) -> Iterator[Row]:
        """What the reference has beyond the source's balls, then what the source favours."""
        outside = self.rows.outside[source]
        counted = {
            "source": self.counted(own),
            "reference": self.counted(reference_sentences),
            "outside": self.counted(outside),
        }
        for favoured_by, sentences, ours, theirs in (
            (reference, outside, "outside", "source"),
            (source, own, "source", "reference"),
        ):
            yield from self.side(
                {"source": source, "favoured_by": favoured_by}, sentences, ours, theirs, counted
            )

    def counted(self, sentences: Numbers) -> tuple[Numbers, Numbers, int]:
        """How often each pattern stands, in how many sentences, and how many places there are."""
        counts, held = self.windows.tally(self.by_sentence, sentences)
        lengths = self.rows.every.lengths[sentences]
        return counts, held, int(np.maximum(lengths - self.windows.n + 1, 0).sum())

    def side(
        self,
        base: dict[str, Any],
        sentences: Numbers,
        ours: str,
        theirs: str,
        counted: Mapping[str, tuple[Numbers, Numbers, int]],
    ) -> Iterator[Row]:
        from rote.compare.log_odds import contrast

        counts, held, total = counted[ours]
        others, _, others_total = counted[theirs]
        least = self.options.min_count
        found = contrast(counts, others, (total, others_total), least)
        allowed = (counts >= least) & (held > 1) & (found.z > 0)
        chosen = self.different(np.flatnonzero(allowed), found.z, counts)
        read = self.read(sentences, chosen)
        for number, name, texts in zip(chosen.tolist(), self.names(chosen), read):
            yield {
                **base,
                "n": self.windows.n,
                "pattern": name,
                **{f"{side}_count": int(c[number]) for side, (c, _, _) in counted.items()},
                **{f"{side}_sentences": int(h[number]) for side, (_, h, _) in counted.items()},
                "log_odds": float(found.delta[number]),
                "z": float(found.z[number]),
                "p_corrected": float(found.p[number]),
                "examples": texts,
            }

    def different(self, numbers: Numbers, z: NDArray[np.float64], counts: Numbers) -> Chosen:
        """The strongest patterns, without those that are another one, one item further along."""
        order = numbers[np.lexsort((numbers, -z[numbers]))]
        kept: list[int] = []
        grams: list[tuple[str, ...]] = []
        for number, gram in zip(order.tolist(), self.windows.grams(self.by_sentence, order)):
            if len(kept) == self.options.top:
                break
            again = any(
                (gram[1:] == other[:-1] or gram[:-1] == other[1:])
                and counts[number] <= counts[listed] / _SAME
                for listed, other in zip(kept, grams)
            )
            if not again:
                kept.append(number)
                grams.append(gram)
        return np.array(kept, np.int64)

    def names(self, chosen: Chosen) -> list[str]:
        return [" ".join(items) for items in self.windows.grams(self.by_sentence, chosen)]

    def read(self, sentences: Numbers, chosen: Chosen) -> list[list[str]]:
        """What the patterns read like in these sentences, the most frequent first."""
        from rote.measure._templates.matches import Reader

        places, which = self.windows.places(self.by_sentence, sentences, chosen)
        reader = Reader(self.rows.layer, self.rows.word, self.rows.raw, self.windows.n)
        groups = [places[which == rank] for rank in range(len(chosen))]
        return [[text for text, _ in found[:_EXAMPLES]] for found in reader.matches(groups)]


def _source(rows: Rows, take: Take) -> str:
    """The source that these texts belong to."""
    return next((name for name, own in rows.groups.items() if len(np.intersect1d(take, own))), "")


METRIC = Metric(
    name="favoured",
    title="Favoured patterns",
    values=values,
    needs=needs,
    options=Options,
    rows=rows,
    reduce=reduce,
    resample=resample,
    citation=(
        "Guo, Shang and Clavel (2025), Benchmarking Linguistic Diversity of Large Language "
        "Models, table 2; Monroe, Colaresi and Quinn (2008), Fightin' Words, for the log-odds"
    ),
    match=None,
    notes=notes,
    tables=tables,
    tested=False,
    inputs=False,
)
