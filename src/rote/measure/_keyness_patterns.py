"""`rote keyness --of patterns` (table 2 of Guo, Shang and Clavel 2025): n-grams of tags in those of
the reference's sentences that lie outside every ball of the source, dependency tree by dependency
tree, and n-grams that the source uses often and the reference rarely.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rote.compare.log_odds import PermutedExcess, contrast, permuted_excess
from rote.compare.permutation import balance_groups_by_id, make_exchange, tested_texts_note
from rote.compare.resampling import generator, generators
from rote.core.arrays import Flags, Floats, Integers
from rote.core.errors import OptionError
from rote.core.layer import Layer, items_of, layer_words
from rote.core.metric import Comparison, Value, Values, Work
from rote.core.numbers import format_number
from rote.core.progress import Reporter, several
from rote.core.result import Result, Row
from rote.core.sample import Need, RawText, Sample, Take
from rote.core.table import Column, Table
from rote.measure._neighbour_balls import Rule, Runs, outside
from rote.measure._sentences import Sentences, complete_sentences, sentences_of
from rote.measure._template_output import patterns, strongest_chart
from rote.measure._template_windows import Chosen, MatchReader, Windows, windows_by_length
from rote.measure._tree_histograms import histograms

# A pattern one item further along is the same habit, unless it stands clearly more often alone.
_SAME = 0.75


@dataclass(frozen=True, slots=True)
class Rows:
    """The layers, their sentences, and for each source the reference's sentences it misses.

    `every` are all sentences, `is_kept` which of them count; `measured` are the numbers of the
    reference's that were held against balls, `outside` of those in none, run by run. The first
    of the `runs` are the groups as they are, the second what of them is tested (as many texts of
    each doc_id), the others have permuted labels.
    """

    layer: Layer
    word: Layer
    raw: RawText
    every: Sentences
    is_kept: Flags
    measured: Integers
    outside: Mapping[str, Sequence[Integers]]
    runs: Runs
    groups: Mapping[str, Take]
    reference: str | None
    jobs: int


def list_patterns(rows: Rows, options: Any, reporter: Reporter) -> list[Row]:
    by_source: dict[str, list[_Listed]] = {source: [] for source in rows.outside}
    # Patterns lie within sentences, so a sentence is to the count what a text is elsewhere.
    ends = rows.every.ends
    by_sentence = replace(rows.layer, text_ends=ends, sentence_ends=ends)
    total = len(options.lengths) * len(by_source)
    with reporter.stage("keyness: patterns", total) as advance:
        for windows in windows_by_length(by_sentence, options.lengths, singles=False):
            for source in by_source:
                counting = _Counting(rows, windows, by_sentence, options, source)
                by_source[source].append(counting.strongest())
                advance(1)
    patterns: list[Row] = []
    for lengths in by_source.values():
        largest = np.max([listed.standing.largest for listed in lengths], axis=0)
        for side in (0, 1):
            for listed in lengths:
                # One list for each source: as many chances to be wrong.
                p = np.minimum(1.0, len(by_source) * listed.standing.p(largest))
                for place, row in listed.sides[side]:
                    patterns.append({**row, "p_corrected": float(p[place])})
    return patterns


@dataclass(frozen=True, slots=True)
class _Listed:
    """How all patterns of one length stand, and rows for the strongest of the two sides.

    With each row stands its place in `standing`.
    """

    standing: PermutedExcess
    sides: tuple[list[tuple[int, Row]], list[tuple[int, Row]]]


class _Counting:
    def __init__(
        self, rows: Rows, windows: Windows, by_sentence: Layer, options: Any, source: str
    ) -> None:
        self.rows, self.windows, self.options = rows, windows, options
        self.by_sentence, self.source = by_sentence, source
        self.runs, self.outside = rows.runs[source], rows.outside[source]
        self.permutations = len(self.runs) - 2
        self.kept_sentences = np.flatnonzero(rows.is_kept)
        texts_of_kept = rows.every.texts[self.kept_sentences]
        self.firsts = np.searchsorted(texts_of_kept, np.arange(len(rows.word) + 1))
        self.lengths = rows.every.lengths
        both = self.sentences(np.sort(np.concatenate(self.runs[1])))
        counts, texts = windows.tally(by_sentence, both, rows.every.texts)
        # Whatever the labels: the same patterns in every run.
        often = (counts >= options.min_count) & (texts >= options.min_texts)
        self.tested = np.flatnonzero(often)
        self.both, self.both_places = counts[self.tested], self.places_in(both)
        self.listing = windows.listing(by_sentence, self.tested)

    def strongest(self) -> _Listed:
        """What the reference has beyond the source's balls, then what the source favours."""
        stands = permuted_excess(self.z, self.permutations, jobs=self.rows.jobs)
        ours, theirs = map(self.sentences, self.runs[0])
        outside, reference = self.outside[0], str(self.rows.reference)
        counted = {"source": ours, "reference": theirs, "outside": outside}
        tallies = {name: self.count_patterns(numbers) for name, numbers in counted.items()}
        count = len(self.tested)
        return _Listed(
            stands,
            (
                [*self.side(reference, outside, ("outside", "source"), tallies, stands, 0)],
                [*self.side(self.source, ours, ("source", "reference"), tallies, stands, count)],
            ),
        )

    def sentences(self, take: Take) -> Integers:
        numbers, _ = items_of(self.firsts[take], self.firsts[take + 1])
        return self.kept_sentences[numbers]

    def places_in(self, sentences: Integers) -> int:
        return int(np.maximum(self.lengths[sentences] - self.windows.n + 1, 0).sum())

    def z(self, run: int) -> Floats:
        """Of every tested pattern: the reference's side, then the source's. 0: as it is."""
        ours, outside = self.sentences(self.runs[1 + run][0]), self.outside[1 + run]
        counted = [(self.listing.counts(part), self.places_in(part)) for part in (ours, outside)]
        inside, beyond = counted
        rest = self.both - inside[0], self.both_places - inside[1]
        return np.concatenate(
            [
                contrast(a, b, (total_a, total_b)).z
                for (a, total_a), (b, total_b) in ((beyond, inside), (inside, rest))
            ]
        )

    def count_patterns(self, sentences: Integers) -> _Tally:
        """How often each pattern stands, in how many sentences and in how many texts."""
        counts, places = self.windows.tally(self.by_sentence, sentences)
        _, texts = self.windows.tally(self.by_sentence, sentences, self.rows.every.texts)
        return _Tally(counts, places, texts, self.places_in(sentences))

    def side(
        self,
        favoured_by: str,
        sentences: Integers,
        sides: tuple[str, str],
        tallies: Mapping[str, _Tally],
        stands: PermutedExcess,
        first: int,
    ) -> Iterator[tuple[int, Row]]:
        """`first` is where this side's patterns begin in `stands`."""
        ours, theirs = (tallies[name] for name in sides)
        log_odds = contrast(ours.counts, theirs.counts, (ours.places, theirs.places))
        place = np.full(len(log_odds.z), -1, np.int64)
        place[self.tested] = first + np.arange(len(self.tested))
        options = self.options
        strength = log_odds.z
        if self.permutations:
            strength = np.full(len(log_odds.z), -np.inf)
            strength[self.tested] = stands.excess[first : first + len(self.tested)]
        allowed = (ours.counts >= options.min_count) & (ours.texts >= options.min_texts)
        allowed &= (place >= 0) & (log_odds.z > 0) & (strength > 0)
        chosen = self.different(np.flatnonzero(allowed), strength, ours.counts)
        read = self.read(sentences, chosen)
        for number, name, texts in zip(chosen.tolist(), self.names(chosen), read):
            at = int(place[number])
            row = {
                "source": self.source,
                "favoured_by": favoured_by,
                "n": self.windows.n,
                "pattern": name,
                **{f"{s}_count": int(t.counts[number]) for s, t in tallies.items()},
                **{f"{s}_sentences": int(t.sentences[number]) for s, t in tallies.items()},
                **{f"{s}_texts": int(t.texts[number]) for s, t in tallies.items()},
                **{f"{s}_ngrams": t.places for s, t in tallies.items()},
                "log_odds": float(log_odds.delta[number]),
                "z": float(log_odds.z[number]),
                "expected_z": float(stands.expected[at]),
                "excess": float(stands.excess[at]),
                "permutations": self.permutations,
                "examples": texts,
            }
            yield at, row

    def different(self, numbers: Integers, strength: Floats, counts: Integers) -> Chosen:
        """The strongest patterns, without those that are another one, one item further along."""
        order = numbers[np.lexsort((numbers, -strength[numbers]))]
        chosen: list[int] = []
        grams: list[tuple[str, ...]] = []
        for number, gram in zip(order.tolist(), self.windows.grams(self.by_sentence, order)):
            if len(chosen) == self.options.top:
                break
            again = any(
                (gram[1:] == window_grams[:-1] or gram[:-1] == window_grams[1:])
                and counts[number] <= counts[listed] / _SAME
                for listed, window_grams in zip(chosen, grams)
            )
            if not again:
                chosen.append(number)
                grams.append(gram)
        return np.array(chosen, np.int64)

    def names(self, chosen: Chosen) -> list[str]:
        return [" ".join(items) for items in self.windows.grams(self.by_sentence, chosen)]

    def read(self, sentences: Integers, chosen: Chosen) -> list[list[str]]:
        """What the patterns read like in these sentences, the most frequent first."""
        places, which = self.windows.places(self.by_sentence, sentences, chosen)
        reader = MatchReader(self.rows.layer, self.rows.word, self.rows.raw, self.windows.n)
        groups = [places[which == rank] for rank in range(len(chosen))]
        return [[text for text, _ in matches[:_EXAMPLES]] for matches in reader.matches(groups)]


@dataclass(frozen=True, slots=True)
class _Tally:
    """Of every pattern: how often it stands, in how many sentences, in how many texts."""

    counts: Integers
    sentences: Integers
    texts: Integers
    places: int


_EXAMPLES, _EACH_LENGTH = 3, 2
"""Texts beside a pattern; patterns of a length on a terminal."""
NO_REFERENCE = (
    "patterns are those that set a source apart from a reference: name one of the sources "
    "(--by) with --reference"
)
_WORD, _HEAD, _UPOS = Need("word", spans=True), Need("head"), Need("upos")


def values(options: Any) -> tuple[Value, ...]:
    title = "reference's sentences outside the source's balls"
    return (Value("outside", title, "neither", "neither", share=True),)


def needs(options: Any) -> tuple[Need, ...]:
    return (_WORD, _UPOS, _HEAD, Need(options.layer, spans=True), Need("text"))


def rows(sample: Sample, options: Any, work: Work) -> Rows:
    if work.reference is None:
        raise OptionError(NO_REFERENCE)
    word = sample.layer(_WORD)
    every = sentences_of(word)
    is_kept = complete_sentences(word, every, options.drop_incomplete)
    chosen_sentences = np.flatnonzero(is_kept).astype(np.int64)
    measured, missed, runs = chosen_sentences[:0], {}, _runs(work, work.reference)
    if runs:
        chosen = every.chosen(is_kept)
        trees = histograms(sample.layer(_UPOS), sample.layer(_HEAD), chosen)
        rule = Rule(options.k, strict=False)
        samples = outside(trees, chosen, work, runs, rule=rule, count=options.sentences)
        measured = chosen_sentences[samples.measured]
        missed = {
            source: [chosen_sentences[run] for run in sentence_runs]
            for source, sentence_runs in samples.by_source.items()
        }
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
        jobs=work.jobs,
    )


def _runs(work: Work, reference: str) -> Runs:
    """The texts of every source and of the reference, those that are tested, and these again with
    permuted labels."""
    theirs, runs = work.groups[reference], {}
    for source, ours in work.groups.items():
        if source != reference:
            pair = f"{source} {reference}"
            rng = generator(work.seed, f"choose {pair}")
            tested = ours, theirs
            if work.permutations:
                tested = balance_groups_by_id(*tested, work.strata, work.ids, rng)
            exchange = make_exchange(*tested, work.strata)
            draws = range(work.permutations)
            permuted = list(map(exchange, generators(work.seed, f"test {pair}", draws)))
            first, second = map(np.sort, tested)
            runs[source] = [(ours, theirs), (first, second), *permuted]
    return runs


def reduce(rows: Rows, take: Take, options: Any, rng: np.random.Generator) -> Values:
    source = source_of(rows.groups, take)
    if source not in rows.outside or not len(rows.measured):
        return {"outside": np.nan}
    return {"outside": len(rows.outside[source][0]) / len(rows.measured)}


def notes(rows: Rows, take: Take, options: Any) -> list[str]:
    source = source_of(rows.groups, take)
    if source == rows.reference:
        return ["this is the reference: none of its own sentences is outside"]
    if source not in rows.outside:
        return [f"too few sentences for balls of k = {options.k}"]
    lines = [
        f"{len(rows.outside[source][0]):,} of {len(rows.measured):,} sentences of {rows.reference} "
        f"are in no ball of {source}; rote precision-recall gives the interval"
    ]
    every, tested, *permuted = rows.runs[source]
    if permuted:
        lines += tested_texts_note(sum(map(len, tested)), sum(map(len, every)))
    permutations, sources = len(permuted), len(rows.outside)
    least = sources / (1 + permutations)
    if permutations and least >= 0.05:
        lines.append(
            f"with {several(permutations, 'permutation')} and {several(sources, 'source')} no "
            f"corrected p can fall below {format_number(least, '.2g')}: use --permutations "
            f"{20 * sources} or more"
        )
    return lines


def tables(rows: Rows, comparison: Comparison, options: Any) -> Mapping[str, Sequence[Row]]:
    return {"grammar": list_patterns(rows, options, comparison.reporter)} if rows.outside else {}


def source_of(groups: Mapping[str, Take], take: Take) -> str:
    return next((name for name, texts in groups.items() if len(np.intersect1d(take, texts))), "")


def _shown(rows: Sequence[Row], result: Result) -> list[Row]:
    """What only the reference has, then what the source favours; how often in 1,000 n-grams."""
    reference = result.reference or "the reference"
    table: list[Row] = []
    for row in rows:
        source, theirs = row["source"], row["favoured_by"] == row["source"]
        ours, opposite = ("source", "reference") if theirs else ("outside", "source")
        table.append(
            {
                "n": row["n"],
                "pattern": row["pattern"],
                "z": row["z"],
                "whose": f"{source} more than {reference}"
                if theirs
                else f"{reference}, in sentences unlike any of {source}",
                "count": row[f"{ours}_count"],
                "other_count": row[f"{opposite}_count"],
                "rate": _rate(row, ours),
                "other_rate": _rate(row, opposite),
                "p_corrected": row["p_corrected"],
                "examples": row["examples"][:_EXAMPLES],
            }
        )
    return table


def _rate(row: Row, side: str) -> float | None:
    """In 1,000 n-grams; results of earlier versions do not say how many there are."""
    total = row.get(f"{side}_ngrams")
    return 1000 * row[f"{side}_count"] / total if total else None


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
            Column("p_corrected", "p", "p", note="corrected"),
            Column("examples", "for example", "text"),
        ),
        note="in 1,000 n-grams of its length (count); of a reference's pattern, in the sentences "
        "that are in no ball of the source; p by permuting texts, over all patterns",
        rows=_shown,
        by="whose",
        first=lambda rows, count: [
            row
            for n in sorted({row["n"] for row in rows})
            for row in [row for row in rows if row["n"] == n][:_EACH_LENGTH]
        ],
    ),
)


def method(s: Mapping[str, str]) -> str:
    of = layer_words(s["layer"])
    return (
        f"Patterns that a source favours are n-grams of {of} (n = "
        f"{s['lengths'].replace(',', ', ')}), ranked by their log-odds ratio with an informative "
        "prior; those of the reference come from its sentences outside all balls of the source; "
        "their p-values are family-wise, from texts permuted between source and reference through "
        "the whole selection"
    )


CHARTS = (
    strongest_chart(
        "grammar",
        "What each source favours",
        "Right: patterns that the source favours; left: patterns that only the reference has.",
        patterns,
    ),
)
