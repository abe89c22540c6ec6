"""The verdicts of a facet: in each aspect every source against the reference, or all pairs.

An aspect rests on the headline value of its measure, at equal length where that was compared. Its
effect, the difference in standard deviations of single texts, is turned so that right means more
repetitive; an aspect that is neither diverse nor repetitive has words of its own for right.

Where no source is the reference, sources are ranked, with a compact letter display: sources that
share a letter cannot be told apart.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rote.compare.intervals import ValueEstimate, difference_interval, ratio_interval
from rote.core.facets import EACH, is_input
from rote.core.numbers import format_number, format_percent, format_points, join_names
from rote.core.progress import several
from rote.core.record import Headline, Study
from rote.core.registry import of_result
from rote.core.result import Result
from rote.report.grid import (
    CellValue,
    GridCell,
    GridRow,
    make_grid,
    make_pair_grid,
    result_key,
    split_facets,
)
from rote.report.wording import (
    count_decimals,
    describe_family,
    format_p,
    format_value,
    list_families,
)

State = Literal[
    "differs", "borderline", "equivalent", "not found", "no power", "not tested", "circular"
]
STATES: Mapping[State, str] = {
    "differs": "differs",
    "borderline": "borderline",
    "equivalent": "within the margin",
    "not found": "no difference found",
    "no power": "the test has no power",
    "not tested": "not tested",
    "circular": "circular",
}
MEANING: Mapping[State, str] = {
    "differs": "holds after correction",
    "borderline": "borderline: more permutations could change the verdict",
    "equivalent": "shown to be within the margin",
    "not found": "no difference found",
    "no power": "too few independent texts for a verdict",
    "not tested": "not tested",
    "circular": "circular: the source occurs in what it is compared with",
}
TOO_FEW, FEW = 5, 10
"""Texts, or clusters of them, below which nothing is compared, and below which a test that finds
nothing has no power."""
_STEADY = 1.5
"""Sides of its interval that a value has to be away from 0 before something is divided by it."""
_TOLERANCE = 0.01
_STEPS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
_LINES = 8
NO_LENGTH = "no usable equal length"


@dataclass(frozen=True, slots=True)
class VerdictComparison:
    """A source beside another in one aspect; numbers are nan where they are not known."""

    headline: Headline
    row: GridRow
    source: str
    reference: str
    cell: GridCell
    reference_cell: GridCell
    """The values of both; `test` is what is known of their difference."""
    test: GridCell
    level: float
    units: tuple[int, int]
    """On how many independent texts the two values rest."""
    equal: bool
    """Whether the verdict is that at equal length."""
    state: State
    why: str = ""
    """Why there is no verdict."""

    @property
    def value(self) -> float:
        return self.cell.at(self.equal).estimate

    @property
    def other_value(self) -> float:
        return self.reference_cell.at(self.equal).estimate

    @property
    def tested(self) -> CellValue:
        """What is known of the difference that the verdict is about."""
        return self.test.at(self.equal)

    @property
    def difference(self) -> float:
        return self.tested.difference

    @property
    def interval(self) -> tuple[float, float]:
        """Of the difference, in units of the value."""
        ends = self.tested.difference_low, self.tested.difference_high
        return self._independent(difference_interval) if math.isnan(ends[0]) else ends

    def _independent(self, interval: Callable[..., tuple[float, float]]) -> tuple[float, float]:
        """Where no test gave one: that of two values that have nothing to do with each other."""
        cells = self.cell, self.reference_cell
        if self.equal or not self.level or any(math.isnan(cell.low) for cell in cells):
            return math.nan, math.nan
        first, second = (
            ValueEstimate(c.estimate, (c.low, c.high), n) for c, n in zip(cells, self.units)
        )
        return interval(first, second, self.level, paired=False)

    @property
    def turn(self) -> int:
        return -1 if self.row.higher == "diverse" else 1

    @property
    def by_length(self) -> bool:
        """Whether lengths alone could make the difference."""
        return self.why == NO_LENGTH

    @property
    def is_defined(self) -> bool:
        is_zero = self.difference == 0 and self.value == 0
        return not math.isnan(self.difference) and not (self.state == "not tested" and is_zero)

    @property
    def is_drawn(self) -> bool:
        """Not where lengths, or texts that occur in the corpus itself, make the difference."""
        return not self.by_length and self.state != "circular"

    @property
    def effect(self) -> float:
        """In standard deviations of single texts, right is more repetitive."""
        return self.turn * self.tested.effect if self.is_drawn else math.nan

    @property
    def effect_interval(self) -> tuple[float, float]:
        if not self.is_drawn:
            return math.nan, math.nan
        ends = self.tested.effect_low, self.tested.effect_high
        low, high = sorted(self.turn * end for end in ends)
        return low, high

    @property
    def p(self) -> float:
        return self.tested.p_corrected

    @property
    def direction(self) -> str:
        """`more repetitive`; nothing where the two are the same."""
        turned = self.turn * self.difference
        if math.isnan(turned) or turned == 0:
            return ""
        return direction_words(self.headline, self.row)[turned > 0]

    @property
    def relative(self) -> float:
        """The difference as a share of the other value; nan where that is about 0."""
        reference = self.reference_cell.at(self.equal)
        if not self.headline.ratio or not reference.estimate > 0 or self.value < 0:
            return math.nan
        if reference.estimate < _STEADY * max(
            reference.high - reference.estimate, reference.estimate - reference.low
        ):
            return math.nan
        return self.value / reference.estimate - 1

    @property
    def relative_interval(self) -> tuple[float, float]:
        low, high = self.tested.relative_low, self.tested.relative_high
        if math.isnan(self.relative) or self.value == 0:
            return math.nan, math.nan
        if math.isnan(low):
            low, high = self._independent(ratio_interval)
        return (low, high) if math.isfinite(low + high) else (math.nan, math.nan)

    @property
    def size(self) -> str:
        """The difference in its own unit: `−22 %`, or in units where no share means anything."""
        if math.isnan(self.difference) or self.by_length:
            return "–"
        if not math.isnan(self.relative):
            return format_percent(self.relative, signed=True)
        return self.amount(self.difference)

    @property
    def size_interval(self) -> str:
        """`−26 to −18 %`; nothing where there is none."""
        if self.by_length:
            return ""
        low, high = self.relative_interval
        if not math.isnan(low):
            places = 0 if max(abs(low), abs(high)) >= 0.1 else 1
            ends = (format_number(100 * end, f"+.{places}f", typeset=True) for end in (low, high))
            return f"{' to '.join(ends)} %"
        low, high = self.interval if math.isnan(self.relative) else (math.nan, math.nan)
        return "" if math.isnan(low) else f"{self.amount(low)} to {self.amount(high)}"

    @property
    def detected(self) -> str:
        """The smallest difference that would have been detected, without a sign."""
        detectable = self.tested.detectable
        if math.isnan(detectable):
            return ""
        if math.isnan(self.relative):
            return self.amount(detectable).lstrip("+")
        return format_percent(detectable / abs(self.other_value))

    @property
    def verdict(self) -> str:
        """In words: `more repetitive, holds after correction`."""
        if self.state == "differs":
            return self.direction or STATES["differs"]
        if self.state == "no power":
            few = min(self.units)
            return f"no power: {several(few, 'independent text')}"
        return STATES[self.state] + (f": {self.why}" if self.why else "")

    @property
    def how_much(self) -> str:
        """`−17 %, 95 % interval −22 to −13 %, p = 0.005`."""
        parts = [self.size]
        if self.size_interval:
            parts.append(f"{format_percent(self.level)} interval {self.size_interval}")
        if self.state not in ("not tested", "circular"):
            parts.append(format_p(self.p))
        return ", ".join(parts)

    @property
    def values(self) -> str:
        if self.by_length:
            return "–"
        return self._pair(self.value, self.other_value)

    def _pair(self, value: float, other: float) -> str:
        mine, theirs = (format_value(number, self.headline) for number in (value, other))
        return f"{mine} against {theirs}"

    @property
    def effect_words(self) -> str:
        return "–" if math.isnan(self.effect) else format_number(self.effect, "+.2f", typeset=True)

    @property
    def effect_ends(self) -> str:
        low, high = self.effect_interval
        if math.isnan(low):
            return ""
        ends = (format_number(end, "+.2f", typeset=True) for end in (low, high))
        return " to ".join(ends)

    @property
    def p_words(self) -> str:
        return format_p(self.p).removeprefix("p = ").removeprefix("p ")

    @property
    def whole_text_values(self) -> str:
        """Both values over whole texts, where the verdict is that at equal length."""
        if not (self.equal or self.by_length):
            return ""
        return self._pair(self.cell.estimate, self.reference_cell.estimate)

    def amount(self, difference: float) -> str:
        """A difference with its sign: in points, or with the digits of the two values."""
        if self.headline.percent:
            return format_points(difference)
        places = count_decimals(max(map(abs, (self.value, self.other_value, difference))))
        return format_number(difference, f"+.{places}f", typeset=True)


@dataclass(frozen=True, slots=True)
class Aspect:
    name: str
    measure: str
    row: GridRow
    headline: Headline
    section: str
    """Where its values are on the page."""
    comparisons: Sequence[VerdictComparison]

    @property
    def ways(self) -> tuple[str, str]:
        """What left and right mean."""
        return direction_words(self.headline, self.row)

    @property
    def equal(self) -> bool:
        return any(comparison.equal for comparison in self.comparisons)

    @property
    def drawn(self) -> list[VerdictComparison]:
        return [comparison for comparison in self.comparisons if comparison.is_drawn]


@dataclass(frozen=True, slots=True)
class Verdicts:
    """All aspects of one facet; without a reference every two sources are compared."""

    id: str
    facet: str
    reference: str | None
    sources: Sequence[str]
    """Without the reference, and without what the texts were made from."""
    texts: Mapping[str, int]
    words: Mapping[str, int]
    aspects: Sequence[Aspect]
    left_out: Mapping[str, str]
    """Aspects that these texts cannot show, and why."""
    circular: Mapping[str, Sequence[str]]
    """What texts are compared with, and the sources that occur in it."""
    results: Sequence[Result]
    """Of the facet, with the short names of its sources."""
    correction: str = ""
    """Over which tests the p-values of verdicts are corrected."""

    @property
    def title(self) -> str:
        against = f"Differences from {self.reference}" if self.reference else "Sources compared"
        return against + (f": {self.facet}" if self.facet else "")

    @property
    def comparisons(self) -> list[VerdictComparison]:
        return [comparison for aspect in self.aspects for comparison in aspect.comparisons]

    @property
    def drawn(self) -> list[Aspect]:
        return [aspect for aspect in self.aspects if aspect.drawn]

    @property
    def unequal(self) -> dict[str, int]:
        """Sources, or pairs, without a usable equal length, and in how many aspects."""
        return Counter(self.name_pair(c) for c in self.comparisons if c.by_length)

    def name_pair(self, comparison: VerdictComparison) -> str:
        """The source; where all pairs are compared, both."""
        source, reference = comparison.source, comparison.reference
        return source if self.reference else f"{source} − {reference}"

    @property
    def power_note(self) -> str:
        """How many comparisons found nothing because they could not."""
        powerless = [item for item in self.comparisons if item.state == "no power"]
        if not powerless:
            return ""
        few = {
            source: units
            for item in powerless
            for source, units in zip((item.source, item.reference), item.units)
            if units < FEW
        }
        names = join_names([f"{source} has {units}" for source, units in few.items()])
        return (
            f"{len(powerless)} of {several(len(self.comparisons), 'comparison')} found nothing but "
            f"lacked power: fewer than {FEW} independent texts ({names})."
        )

    @property
    def key(self) -> list[State]:
        """The states that are drawn."""
        there = {comparison.state for comparison in self.comparisons if comparison.is_drawn}
        return [state for state in STATES if state in there]

    @property
    def bounds(self) -> tuple[float, float]:
        """The effects that are drawn: every dot, and intervals up to twice the largest effect."""
        effects = [c.effect for c in self.comparisons if math.isfinite(c.effect)]
        ends = [end for comparison in self.comparisons for end in comparison.effect_interval]
        most = 2 * max(map(abs, effects), default=1.0) or 1.0
        finite = [end for end in ends if math.isfinite(end)]
        low, high = min(finite, default=0.0), max(finite, default=0.0)
        return max(-most, min(low, -most / 8)), min(most, max(high, most / 8))

    @property
    def step(self) -> float:
        """Between lines of the grid, in standard deviations."""
        low, high = self.bounds
        return next((size for size in _STEPS if (high - low) / size <= _LINES), _STEPS[-1])

    @property
    def grid(self) -> list[float]:
        low, high = self.bounds
        first, last = math.ceil(low / self.step), math.floor(high / self.step)
        return [place * self.step for place in range(first, last + 1)]

    def at(self, effect: float) -> str:
        """Where an effect lies on the strip, as a share of its width, 100 % at most."""
        low, high = self.bounds
        share = (min(max(effect, low), high) - low) / (high - low)
        return f"{format_number(100 * share, '.1f')}%"

    @property
    def unequal_note(self) -> str:
        """Who is not compared for want of an equal length, in words."""
        groups: dict[int, list[str]] = {}
        for name, count in self.unequal.items():
            groups.setdefault(count, []).append(name)
        beside = f" with {self.reference}" if self.reference else ""
        return " ".join(
            f"{join_names(names)}: no usable equal length{beside}, so not compared in "
            f"{several(count, 'aspect')} that {'moves' if count == 1 else 'move'} with length."
            for count, names in groups.items()
        )

    @property
    def reading_note(self) -> str:
        effect = "Effect: the difference in standard deviations of single texts, with its interval."
        return " ".join(filter(None, (effect, self.values_note)))

    @property
    def values_note(self) -> str:
        equal = any(aspect.equal for aspect in self.aspects)
        notes = ["Values at equal length where they depend on length."] if equal else []
        return " ".join([*notes, *([f"Corrected: {self.correction}."] if self.correction else [])])


def direction_words(headline: Headline, row: GridRow) -> tuple[str, str]:
    if row.higher != "neither":
        return "more diverse", "more repetitive"
    return headline.ways or (headline.less, headline.more)


def judge_facets(results: Sequence[Result]) -> list[Verdicts]:
    """The verdicts of every facet; those of measures of texts alone."""
    parts: dict[str, list[Result]] = {}
    for result in results:
        if not isinstance(of_result(result.measure), Study):
            for facet, part in split_facets(result):
                parts.setdefault(facet.title, []).append(part)
    families = [f for f in list_families(results) if f.get("of", "verdicts") == "verdicts"]
    facets = []
    for place, (title, facet_parts) in enumerate(parts.items()):
        correction = "; ".join(describe_family(f) for f in families if f["facet"] == title)
        id = f"verdicts-{place}" if place else "verdicts"
        facets.append(_judge_facet(id, title, facet_parts, correction))
    return facets


def _judge_facet(id: str, title: str, parts: Sequence[Result], correction: str) -> Verdicts:
    reference = parts[0].reference if parts[0].reference != EACH else None
    names = dict.fromkeys(name for part in parts for name in part.by_source)
    inside = find_circular(parts)
    aspects: list[Aspect] = []
    left_out: dict[str, str] = {}
    for part in parts:
        record = of_result(part.measure)
        if record is None:
            continue
        for headline in record.headlines:
            if headline.detail:
                continue
            name = record.aspect(headline)
            aspect_names = {item.name for item in aspects}
            # A study may hold a measure twice.
            names_of = (name, *(f"{name} ({time})" for time in range(2, len(parts) + 2)))
            name = next(item for item in names_of if item not in aspect_names)
            comparisons = list(_compare_sources(part, headline, inside))
            if any(comparison.is_defined for comparison in comparisons):
                section = f"values-{result_key(part)}"
                row = comparisons[0].row
                aspects.append(Aspect(name, part.measure, row, headline, section, comparisons))
            elif comparisons:
                notes = [*part.notes, *(note for s in part.by_source.values() for note in s.notes)]
                left_out[name] = notes[0] if notes else "undefined for these texts"
    sizes = {}
    for name in names:
        sizes_of_name = [part.by_source[name] for part in parts if name in part.by_source]
        sizes[name] = max(sizes_of_name, key=lambda size: size.texts)
    order = _order_sources(aspects, [n for n in names if n != reference and not is_input(n)])
    aspects = [
        replace(aspect, comparisons=sorted(aspect.comparisons, key=lambda o: order.index(o.source)))
        for aspect in aspects
    ]
    texts = {name: size.texts for name, size in sizes.items()}
    words = {name: size.words for name, size in sizes.items()}
    return Verdicts(
        id, title, reference, order, texts, words, aspects, left_out, inside, parts, correction
    )


def _order_sources(aspects: Sequence[Aspect], names: Sequence[str]) -> list[str]:
    effects: dict[str, list[float]] = {name: [] for name in names}
    for aspect in aspects:
        for comparison in aspect.comparisons:
            if aspect.row.higher != "neither" and not math.isnan(comparison.effect):
                effects[comparison.source].append(comparison.effect)
    mean = {name: sum(each) / len(each) if each else -math.inf for name, each in effects.items()}
    return sorted(names, key=lambda name: -mean[name])


def find_circular(results: Sequence[Result]) -> dict[str, list[str]]:
    names_by_corpus: dict[str, dict[str, None]] = {}
    for result in results:
        what, value, value_inside = _circular_value(result)
        for name, source in result.by_source.items():
            if what and abs(source.values.get(value, math.nan) - value_inside) <= _TOLERANCE:
                names_by_corpus.setdefault(what, {})[name] = None
    return {what: list(names) for what, names in names_by_corpus.items()}


def _circular_value(result: Result) -> tuple[str, str, float]:
    record = of_result(result.measure)
    return record.circular if record and record.circular else ("", "", 0.0)


def _compare_sources(
    result: Result, headline: Headline, inside: Mapping[str, Sequence[str]]
) -> Iterator[VerdictComparison]:
    """The comparisons of a headline's value: of each source with the reference, or of all pairs."""
    rows = {row.value: row for row in make_grid(result)}
    row = rows.get(headline.equal) or rows.get(headline.value)
    if row is None:
        return
    circular_sources = inside.get(_circular_value(result)[0], ())
    tests = _test_cells(result, row)
    compared = any(not math.isnan(test.matched.difference) for test in tests.values())
    compared = compared or any(NO_LENGTH in note for note in result.notes)
    level = result.interval.level if result.interval else 0.0
    for (source, reference), test in tests.items():
        cells = row.cells[source], row.cells[reference]
        units = result.by_source[source].units, result.by_source[reference].units
        equal = not math.isnan(test.matched.difference)
        comparison = VerdictComparison(
            headline, row, source, reference, *cells, test, level, units, equal, "not tested"
        )
        circles = {source, reference} & {*circular_sources}
        state, why = _judge_comparison(comparison, circles, compared)
        yield replace(comparison, state=state, why=why)


def _test_cells(result: Result, row: GridRow) -> dict[tuple[str, str], GridCell]:
    """What is known of each difference, by the two sources."""
    if result.reference == EACH:
        pairs = next((pair for pair in make_pair_grid(result) if pair.value == row.value), None)
        both = [(test["source"], test["reference"]) for test in result.comparisons]
        ends = {" − ".join(names): names for names in both}
        return {ends[name]: cell for name, cell in pairs.cells.items()} if pairs else {}
    reference = row.cells.get(str(result.reference))
    if reference is None:
        return {}
    tests = {}
    for source, cell in row.cells.items():
        if math.isnan(cell.difference):  # a value that was not tested differs all the same
            cell = replace(cell, difference=cell.estimate - reference.estimate)
        if source != result.reference and not is_input(source):
            tests[source, str(result.reference)] = cell
    return tests


def _judge_comparison(
    comparison: VerdictComparison, circles: set[str], compared: bool
) -> tuple[State, str]:
    """`compared`: whether some were compared at equal length, so that whole texts are no ground."""
    test = comparison.test
    if circles:
        return "circular", ""
    if math.isnan(comparison.difference):
        return "not tested", "undefined"
    if min(comparison.units) < TOO_FEW:
        return "not tested", several(min(comparison.units), "independent text")
    if not comparison.equal and comparison.row.length_sensitive and compared:
        return "not tested", NO_LENGTH
    verdict = comparison.tested.verdict
    if verdict == "differs" and not comparison.equal and test.beyond * comparison.difference < 0:
        verdict = "not found"
    if verdict == "not found" and test.equivalent:
        return "equivalent", ""
    if verdict == "not found" and min(comparison.units) < FEW:
        return "no power", ""
    return verdict, ""


_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Rank:
    """A source in one aspect; 1 is the most diverse, and equal values have the same."""

    rank: int
    letters: str
    value: float
    low: float
    high: float


def assign_letters(names: Sequence[str], apart: Collection[frozenset[str]]) -> dict[str, str]:
    """The letters of each name: two share one unless they are apart.

    Insert and absorb (Piepho 2004): a group that holds two that are apart is split into one without
    each, and a group inside another is dropped.

    >>> assign_letters("abc", [frozenset("ac")])
    {'a': 'a', 'b': 'ab', 'c': 'b'}
    """
    groups = [frozenset(names)]
    for pair in apart:
        first, second = pair
        split = [p for g in groups for p in ((g - {first}, g - {second}) if pair <= g else (g,))]
        unique = list(dict.fromkeys(split))
        groups = [group for group in unique if not any(group < larger for larger in unique)]
    place = {name: number for number, name in enumerate(names)}
    groups.sort(key=lambda group: sorted(place[name] for name in group))
    return {
        name: "".join(_letter_name(n) for n, group in enumerate(groups) if name in group)
        for name in names
    }


def _letter_name(number: int) -> str:
    """a to z, then a2 to z2."""
    turn, place = divmod(number, len(_LETTERS))
    return _LETTERS[place] + (str(turn + 1) if turn else "")


def rank_aspect(aspect: Aspect) -> dict[str, Rank]:
    """The sources from the most diverse on, without those that have no usable equal length."""
    values: dict[str, tuple[CellValue, int]] = {}
    for comparison in aspect.comparisons:
        if not comparison.by_length:
            equal, turn = comparison.equal, comparison.turn
            values[comparison.source] = comparison.cell.at(equal), turn
            values[comparison.reference] = comparison.reference_cell.at(equal), turn
    known = {name: pair for name, pair in values.items() if not math.isnan(pair[0].estimate)}
    order = sorted(known, key=lambda name: known[name][1] * known[name][0].estimate)
    apart = {frozenset((c.source, c.reference)) for c in aspect.comparisons if c.state == "differs"}
    letters = assign_letters(order, [pair for pair in apart if pair <= set(order)])
    ordered = [known[name][0] for name in order]
    estimates = [value.estimate for value in ordered]
    return {
        name: Rank(1 + estimates.index(v.estimate), letters[name], v.estimate, v.low, v.high)
        for name, v in zip(order, ordered)
    }


def rank_sources(verdicts: Verdicts) -> tuple[list[str], Mapping[str, Mapping[str, Rank]]]:
    """The sources by mean rank over aspects of diversity, and the ranks of each aspect."""
    by_aspect = {aspect.name: rank_aspect(aspect) for aspect in verdicts.aspects}
    counted = [a.name for a in verdicts.aspects if a.row.higher != "neither"] or list(by_aspect)

    def place(source: str) -> tuple[int, float]:
        ranks = [by_aspect[name][source].rank for name in counted if source in by_aspect[name]]
        return len(counted) - len(ranks), sum(ranks) / max(len(ranks), 1)

    return sorted(verdicts.sources, key=place), by_aspect
