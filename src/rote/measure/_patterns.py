"""The patterns that a source or the reference favours, and how far each stands out.

Everything here is done once for the sources as they are, and again for groups with permuted labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rote.compare.log_odds import Standing, contrast, standing
from rote.core.array_types import Flags, Floats, Integers
from rote.core.layer import Layer
from rote.core.progress import Reporter
from rote.core.result import Row
from rote.core.sample import RawText, Take
from rote.measure._sentences import Sentences

if TYPE_CHECKING:
    from rote.measure._neighbours.samples import Runs
    from rote.measure._templates.windows import Chosen, Windows

_EXAMPLES = 3
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


def listed(rows: Rows, options: Any, reporter: Reporter) -> list[Row]:
    """The patterns of both sides, for every source."""
    from rote.measure._templates.windows import windows_by_length

    found: dict[str, list[_Listed]] = {source: [] for source in rows.outside}
    # Patterns lie within sentences, so a sentence is to the count what a text is elsewhere.
    ends = rows.every.ends
    by_sentence = replace(rows.layer, text_ends=ends, sentence_ends=ends)
    total = len(options.lengths) * len(found)
    with reporter.stage("keyness: patterns", total) as advance:
        for windows in windows_by_length(by_sentence, options.lengths, singles=False):
            for source in found:
                counting = _Counting(rows, windows, by_sentence, options, source)
                found[source].append(counting.listed())
                advance(1)
    patterns: list[Row] = []
    for own in found.values():
        largest = np.max([one.standing.largest for one in own], axis=0)
        for side in (0, 1):
            for one in own:
                # One list for each source: as many chances to be wrong.
                p = np.minimum(1.0, len(found) * one.standing.p(largest))
                for place, row in one.sides[side]:
                    patterns.append({**row, "p_corrected": float(p[place])})
    return patterns


@dataclass(frozen=True, slots=True)
class _Listed:
    """How all patterns of one length stand, and rows for the strongest of the two sides.

    With each row stands its place in `standing`.
    """

    standing: Standing
    sides: tuple[list[tuple[int, Row]], list[tuple[int, Row]]]


class _Counting:
    """The patterns of one length and of one source beside the reference."""

    def __init__(
        self, rows: Rows, windows: Windows, by_sentence: Layer, options: Any, source: str
    ) -> None:
        self.rows, self.windows, self.options = rows, windows, options
        self.by_sentence, self.source = by_sentence, source
        self.runs, self.outside = rows.runs[source], rows.outside[source]
        self.permutations = len(self.runs) - 2
        both = self.sentences(np.sort(np.concatenate(self.runs[1])))
        counts, texts = windows.tally(by_sentence, both, rows.every.texts)
        # Whatever the labels: the same patterns in every run.
        often = (counts >= options.min_count) & (texts >= options.min_texts)
        self.tested = np.flatnonzero(often)
        self.both, self.both_places = counts[self.tested], self.places_in(both)
        self.listing = windows.listing(by_sentence, self.tested)

    def listed(self) -> _Listed:
        """What the reference has beyond the source's balls, then what the source favours."""
        stands = standing(self.z, self.permutations)
        ours, theirs = map(self.sentences, self.runs[0])
        outside, reference = self.outside[0], str(self.rows.reference)
        counted = {"source": ours, "reference": theirs, "outside": outside}
        tallies = {name: self.counted(numbers) for name, numbers in counted.items()}
        count = len(self.tested)
        return _Listed(
            stands,
            (
                [*self.side(reference, outside, ("outside", "source"), tallies, stands, 0)],
                [*self.side(self.source, ours, ("source", "reference"), tallies, stands, count)],
            ),
        )

    def sentences(self, take: Take) -> Integers:
        """Those of some texts that count."""
        numbers = self.rows.every.of(take)
        return numbers[self.rows.is_kept[numbers]]

    def places_in(self, sentences: Integers) -> int:
        """How many windows there are."""
        lengths = self.rows.every.lengths[sentences]
        return int(np.maximum(lengths - self.windows.n + 1, 0).sum())

    def z(self, run: int) -> Floats:
        """Of every tested pattern: the reference's side, then the source's. 0: as it is."""
        ours, outside = self.sentences(self.runs[1 + run][0]), self.outside[1 + run]
        own, beyond = (
            (self.listing.counts(part), self.places_in(part)) for part in (ours, outside)
        )
        other = self.both - own[0], self.both_places - own[1]
        return np.concatenate(
            [
                contrast(a, b, (total_a, total_b)).z
                for (a, total_a), (b, total_b) in ((beyond, own), (own, other))
            ]
        )

    def counted(self, sentences: Integers) -> _Tally:
        """How often each pattern stands, in how many sentences and in how many texts."""
        counts, held = self.windows.tally(self.by_sentence, sentences)
        _, texts = self.windows.tally(self.by_sentence, sentences, self.rows.every.texts)
        return _Tally(counts, held, texts, self.places_in(sentences))

    def side(
        self,
        favoured_by: str,
        sentences: Integers,
        sides: tuple[str, str],
        tallies: Mapping[str, _Tally],
        stands: Standing,
        first: int,
    ) -> Iterator[tuple[int, Row]]:
        """`first` is where this side's patterns begin in `stands`."""
        ours, theirs = (tallies[name] for name in sides)
        found = contrast(ours.counts, theirs.counts, (ours.places, theirs.places))
        place = np.full(len(found.z), -1, np.int64)
        place[self.tested] = first + np.arange(len(self.tested))
        options = self.options
        strength = found.z
        if self.permutations:
            strength = np.full(len(found.z), -np.inf)
            strength[self.tested] = stands.excess[first : first + len(self.tested)]
        allowed = (ours.counts >= options.min_count) & (ours.texts >= options.min_texts)
        allowed &= (place >= 0) & (found.z > 0) & (strength > 0)
        chosen = self.different(np.flatnonzero(allowed), strength, ours.counts)
        read = self.read(sentences, chosen)
        for number, name, texts in zip(chosen.tolist(), self.names(chosen), read):
            at = int(place[number])
            yield (
                at,
                {
                    "source": self.source,
                    "favoured_by": favoured_by,
                    "n": self.windows.n,
                    "pattern": name,
                    **{f"{side}_count": int(t.counts[number]) for side, t in tallies.items()},
                    **{f"{side}_sentences": int(t.held[number]) for side, t in tallies.items()},
                    **{f"{side}_texts": int(t.texts[number]) for side, t in tallies.items()},
                    **{f"{side}_ngrams": t.places for side, t in tallies.items()},
                    "log_odds": float(found.delta[number]),
                    "z": float(found.z[number]),
                    "expected_z": float(stands.expected[at]),
                    "excess": float(stands.excess[at]),
                    "permutations": self.permutations,
                    "examples": texts,
                },
            )

    def different(self, numbers: Integers, strength: Floats, counts: Integers) -> Chosen:
        """The strongest patterns, without those that are another one, one item further along."""
        order = numbers[np.lexsort((numbers, -strength[numbers]))]
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

    def read(self, sentences: Integers, chosen: Chosen) -> list[list[str]]:
        """What the patterns read like in these sentences, the most frequent first."""
        from rote.measure._templates.matches import Reader

        places, which = self.windows.places(self.by_sentence, sentences, chosen)
        reader = Reader(self.rows.layer, self.rows.word, self.rows.raw, self.windows.n)
        groups = [places[which == rank] for rank in range(len(chosen))]
        return [[text for text, _ in found[:_EXAMPLES]] for found in reader.matches(groups)]


@dataclass(frozen=True, slots=True)
class _Tally:
    """Of every pattern: how often it stands, in how many sentences, in how many texts."""

    counts: Integers
    held: Integers
    texts: Integers
    places: int
