"""One measure at equal sizes: its values on windows, their intervals, a curve, and the test.

What is expensive is done once for the windows of a draw; a source, a half-sample and a permuted
group are then arrays of text numbers, as in `resampling`. The means of a long text, which brings
many different windows, and of a short one do not vary alike: differences are studentized.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.compare.equal_sizes import (
    MIN_WINDOW,
    MIN_WINDOWS,
    DrawOrder,
    SizePlan,
    has_unequal_sizes,
    plan_sizes,
    sources_too_short,
)
from rote.compare.intervals import ValueEstimate, draw_half_samples
from rote.compare.permutation import (
    PermutedTest,
    SourceValues,
    balance_groups,
    least_p,
    make_exchange,
    permuted_variance,
    shared_strata,
)
from rote.compare.resampling import Keys, draw_group_values, generator
from rote.core.arrays import Floats
from rote.core.metric import Metric, Value, Values, Work, members
from rote.core.progress import Advance, Silent, several
from rote.core.sample import Sample, Take
from rote.run import side_by_side

_CURVE_DRAWS = 3
_LEAST_DIFFERING = 5
"""Of the windows of a draw, so many have to add something else than most do."""
_VARIANCE = "variance of "
NO_VALUES: Mapping[str, Floats] = {}


@dataclass(frozen=True, slots=True)
class WindowSource:
    """What windows are cut from: the texts, how long they are, and what is known of them whole."""

    metric: Metric
    options: Any
    sample: Sample
    rows: Any
    work: Work
    sizes: NDArray[np.int64]
    order: DrawOrder

    def cut(self, plan: SizePlan, draw: int) -> Any:
        """The rows of one window of each text of a plan."""
        if plan.size is None:
            return self.rows
        cut = self.order.cut(plan.texts, self.sizes, plan.size, draw)
        if self.metric.cut is not None:
            return self.metric.cut(self.rows, cut, self.options)
        return self.metric.rows(self.sample.windows(cut), self.options, self._work(plan))

    def blend(self, plan: SizePlan) -> Any:
        """Rows that are means over all draws, of a measure that can make them."""
        assert self.metric.blend is not None
        assert plan.size is not None
        cuts = (self.order.cut(plan.texts, self.sizes, plan.size, n) for n in range(plan.draws))
        windows = [self.sample.windows(cut) for cut in cuts]
        return self.metric.blend(windows, self.options, self._work(plan))

    def _work(self, plan: SizePlan) -> Work:
        texts = plan.texts
        return replace(
            self.work,
            groups={s: np.searchsorted(texts, take) for s, take in plan.groups.items()},
            ids=[self.work.ids[text] for text in texts],
            strata=self.work.strata[texts],
            reference=self.work.reference if self.work.reference in plan.groups else None,
            permutations=0,
            progress=lambda share: None,
            reporter=Silent(),
        )


@dataclass
class EqualLengths:
    source: WindowSource
    plan: SizePlan
    names: tuple[str, ...]
    """The values that are compared at equal size."""
    compared: bool
    """Whether sources differ in size at all; if not, there is only a curve."""
    requested: Any
    """The options of whole texts: those of `source` fit the windows."""
    cut: dict[int, Any] = field(default_factory=dict)
    """The rows of the draws that were needed so far."""
    by_draw: dict[str, list[Values]] = field(default_factory=dict)
    """By source the values of its draws, once they are measured."""
    number: NDArray[np.int64] = field(init=False)
    """By text: the number of its window."""

    def __post_init__(self) -> None:
        texts = self.plan.texts
        self.number = np.arange(len(self.source.sizes))
        if self.plan.size is not None:
            self.number[texts] = np.arange(len(texts))

    @property
    def blended(self) -> bool:
        """Whether one set of rows holds the means over all draws."""
        return self.source.metric.blend is not None and self.plan.size is not None

    def rows(self, draw: int) -> Any:
        """Of the windows of one draw; of all of them, where they are blended."""
        draw = 0 if self.blended or self.plan.size is None else draw
        if draw not in self.cut:
            blended = self.blended and self.plan.draws > 1
            source = self.source
            self.cut[draw] = source.blend(self.plan) if blended else source.cut(self.plan, draw)
        return self.cut[draw]

    @property
    def windows(self) -> int:
        """From how many texts a draw takes windows: where draws are blended, from all."""
        return len(self.plan.texts) if self.blended else self.plan.windows

    @property
    def draws(self) -> int:
        return 1 if self.blended else self.plan.draws

    def values(
        self, take: Take, rng: np.random.Generator, windows: int, draws: int
    ) -> list[Values]:
        """Of so many windows from these texts, by draw."""
        metric, values = self.source.metric, []
        reduce = metric.reduce if metric.stand_in else metric.resample or metric.reduce
        for draw, block in enumerate(self.source.order.blocks(take, windows, draws)):
            drawn = reduce(self.rows(draw), self.number[block], self.source.options, rng)
            values.append({name: drawn[name] for name in self.names if name in drawn})
        return values

    def many(
        self,
        takes: Sequence[Take],
        names: Collection[str],
        windows: int,
        contributions: Mapping[str, Floats] = NO_VALUES,
    ) -> dict[str, Floats]:
        """The same of many groups at once, or what stands in for it, and of these values alone; and
        the variance of each, up to a factor, where texts contribute this."""
        blocks = self.source.order.blocks_of_groups(takes, windows, self.draws)
        total: dict[str, Floats] = {}
        for draw in range(self.draws):
            drawn = [self.number[of_group[draw]] for of_group in blocks]
            for name, column in self._of_many(self.rows(draw), drawn, names).items():
                total[name] = total[name] + column if name in total else column
        means = {name: column / self.draws for name, column in total.items()}
        for name in means.keys() & contributions.keys():
            means[_VARIANCE + name] = _variances_of_means(contributions[name], takes)
        return means

    def by_source(self) -> SourceValues:
        """The values that are compared: means over the draws of as many windows as every source
        gives."""
        groups, seed = self.plan.groups, self.source.work.seed
        # The rows of all draws, side by side.
        draws = range(self.draws)
        self.cut |= dict(zip(draws, side_by_side(self.rows, draws, self.source.work.jobs)))

        def reduce_source(source: str) -> list[Values]:
            rng = generator(seed, f"match {source}")
            return self.values(groups[source], rng, self.windows, self.draws)

        of_sources = side_by_side(reduce_source, groups, self.source.work.jobs)
        self.by_draw = dict(zip(groups, of_sources))
        values = {
            source: {name: float(np.mean([values[name] for values in drawn])) for name in drawn[0]}
            for source, drawn in self.by_draw.items()
        }
        if not self.source.metric.stand_in:
            return SourceValues(values, values)
        stand_in = self.many(list(groups.values()), self.names, self.windows)
        drawn = {
            source: {name: float(column[n]) for name, column in stand_in.items()}
            for n, source in enumerate(groups)
        }
        return SourceValues(values, drawn)

    def halves(
        self, values: SourceValues, keys: Callable[[str, Take], Keys], advance: Advance
    ) -> dict[str, dict[str, Floats]]:
        """By source the values of half-samples of its texts, drawn by their keys."""
        work, halves = self.source.work, {}
        for source, take in self.plan.groups.items():
            scale = values.scale(source)
            drawn = draw_half_samples(
                lambda take, rng: {},
                take,
                keys(source, take),
                seed=work.seed,
                jobs=work.jobs,
                advance=advance,
                many=lambda takes: self.many(takes, self.names, self.windows),
            )
            halves[source] = {
                value.name: value.at_full_size(
                    scale[value.name] * drawn[value.name], values.values[source][value.name]
                )
                for value in self.source.metric.values(self.source.options)
                if value.name in drawn
            }
        return halves

    def test(
        self, source: str, reference: str, values: SourceValues, count: int, advance: Advance
    ) -> dict[str, PermutedTest]:
        """value(source) - value(reference), studentized, and that `count` times with the labels
        permuted.

        The draws are those of the test of all texts: both are corrected as one family.
        """
        work, canonical, plan = self.source.work, self.source.order.canonical, self.plan
        if not {source, reference} <= plan.groups.keys():
            return {}
        ours, theirs = (canonical(plan.groups[name]) for name in (source, reference))
        among = canonical(work.groups[source]), canonical(work.groups[reference])
        rng = generator(work.seed, f"choose {source} {reference}")
        pair = balance_groups(ours, theirs, work.strata, rng, among)
        windows = min(self.windows, *map(len, pair))
        exchange = make_exchange(*pair, work.strata, among)
        scale = values.scale(source, reference)
        metric, options = self.source.metric, self.source.options
        tested = tested_names(metric, options, self.source.rows) & set(self.names) & scale.keys()
        added: dict[str, Floats] = {}
        too_rare: set[str] = set()
        # Where every text has its partner, exchanging them leaves the spread as it is.
        if not len(shared_strata(*pair, work.strata)) == len(pair[0]) == len(pair[1]):
            added, too_rare = self.contributions(np.sort(np.concatenate(pair)), tested)

        def permuted(
            numbers: range, names: Collection[str], advance: Advance = lambda amount: None
        ) -> dict[str, Floats]:
            sides = draw_group_values(
                lambda takes: self.many(takes, names, windows, added),
                exchange,
                numbers=numbers,
                seed=work.seed,
                purpose=f"test {source} {reference}",
                jobs=work.jobs,
                advance=advance,
            )
            return {name: _studentized(name, *sides) for name in names if name in sides[0]}

        observed = self.many([np.sort(take) for take in pair], tested, windows, added)
        sides = [{name: column[n : n + 1] for name, column in observed.items()} for n in (0, 1)]
        least, wide = least_p(*pair, work.strata), permuted_variance(*pair, work.strata)
        tests = {}
        for name, column in permuted(range(count), tested, advance).items():
            deviation = _deviation(name, *sides)
            tests[name] = PermutedTest.of(
                f"{source} {reference}",
                float(_studentized(name, *sides)[0]),
                column,
                1.0 if name in too_rare else least,
                0.0 if _VARIANCE + name in observed else wide,
                unit=scale[name] * float(deviation[0]),
                more=lambda numbers, name=name: permuted(numbers, {name})[name],
            )
        return tests

    def table(
        self, by_source: SourceValues, estimates: Mapping[str, Mapping[str, ValueEstimate]]
    ) -> list[dict[str, Any]]:
        """The values of `by_source`, with their intervals over texts."""
        rows = []
        for source, values in by_source.values.items():
            for name, value in values.items():
                known = estimates.get(source, {}).get(name)
                low, high = known.ends if known else (math.nan, math.nan)
                windows = min(self.windows, len(self.plan.groups[source]))
                row = {"source": source, "value": name, **self.plan.row(source, windows)}
                row |= {"mean": value, "low": low, "high": high, "draws": self.plan.draws}
                rows.append(row)
        return rows

    def curve(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """These values over numbers of windows, for every source that has so many."""

        def point(source: str, windows: int) -> list[dict[str, Any]]:
            if windows == self.windows and source in self.by_draw:
                by_draw = self.by_draw[source]
            else:
                rng = generator(self.source.work.seed, f"curve {source} {windows}")
                take, draws = self.plan.groups[source], min(_CURVE_DRAWS, self.plan.draws)
                by_draw = self.values(take, rng, windows, draws)
            columns = {name: np.array([values[name] for values in by_draw]) for name in by_draw[0]}
            draws = len(by_draw)
            return [
                {"source": source, "value": name, **self.plan.row(source, windows)}
                | {"mean": float(columns[name].mean())}
                | {"sd": float(columns[name].std(ddof=1)) if draws > 1 else 0.0, "draws": draws}
                for name in names
                if name in columns
            ]

        points = [
            (source, windows)
            for source, take in self.plan.groups.items()
            for windows in self.plan.curve()
            if windows <= len(take)
        ]
        table = side_by_side(lambda at: point(*at), points, self.source.work.jobs)
        return [row for rows in table for row in rows]

    def notes(self) -> list[str]:
        """Which texts and sources are left out, and which settings fit no window."""
        if not self.compared:
            return []
        name, unit = self.source.metric.name, self.plan.unit
        notes = []
        short = {source: count for source, count in self.plan.left_out.items() if count}
        if short:
            listed = ", ".join(f"{source} {count:,}" for source, count in short.items())
            notes.append(
                f"{name} at equal length: windows of {self.plan.size:,} {unit}; shorter texts left "
                f"out: {listed}"
            )
        if self.plan.too_short:
            notes.append(_too_short_note(name, self.plan.too_short, unit))
        shorter = [
            f"{option} {words:,} in place of {requested:,}"
            for option, words in _windows(self.source.options).items()
            if words < (requested := _windows(self.requested)[option])
        ]
        return [*notes, f"{name} at equal length: {', '.join(shorter)}"] if shorter else notes

    def contributions(
        self, take: Take, names: Collection[str]
    ) -> tuple[dict[str, Floats], set[str]]:
        """By value what the window of each of these texts adds to it, as a mean over the draws, and
        nothing of others: numbers that vary as the value does, up to a factor, whatever the labels.
        And the values to which nearly all windows of a draw add the same: too few differ for a
        test.
        """
        metric, options, numbers = self.source.metric, self.source.options, self.number[take]
        total = {name: np.zeros(len(self.number)) for name in names}
        differing = dict.fromkeys(names, 0)
        for draw in range(self.draws):
            rows = self.rows(draw)
            if metric.contributions is not None:
                by_name = metric.contributions(rows, numbers, options)
            elif metric.per_text is not None:
                by_name = {n: c[numbers] for n, c in metric.per_text(rows, options).items()}
            else:
                by_name = {}
            total = {name: total[name] for name in total.keys() & by_name.keys()}
            for name, column in total.items():
                column[take] += by_name[name] / self.draws
                defined = by_name[name][~np.isnan(by_name[name])]
                counts = np.unique(defined, return_counts=True)[1]
                differing[name] += len(defined) - int(counts.max(initial=0))
        return total, {name for name in total if differing[name] < _LEAST_DIFFERING * self.draws}

    def _of_many(
        self, rows: Any, drawn: Sequence[Take], names: Collection[str]
    ) -> dict[str, Floats]:
        metric, options = self.source.metric, self.source.options
        if metric.many is not None:
            return metric.many(rows, drawn, names, options)
        reduce, rng = metric.resample or metric.reduce, generator(self.source.work.seed, "match")
        by_group = [reduce(rows, take, options, rng) for take in drawn]
        there = names & by_group[0].keys()
        return {name: np.array([values[name] for values in by_group]) for name in there}


def _studentized(name: str, left: Mapping[str, Floats], right: Mapping[str, Floats]) -> Floats:
    return np.asarray((left[name] - right[name]) / _deviation(name, left, right), np.float64)


def _deviation(name: str, left: Mapping[str, Floats], right: Mapping[str, Floats]) -> Floats:
    """By draw the standard deviation of a difference, up to a factor; 1 where none is known."""
    key = _VARIANCE + name
    if key not in left:
        return np.ones(len(left[name]))
    both = np.sqrt(left[key] + right[key])
    return np.where(both > 0, both, 1.0)


def _variances_of_means(values: Floats, takes: Sequence[Take]) -> Floats:
    """By group the variance of the mean of its texts' values, those that are defined; 0 of one."""
    every, membership = members(takes)
    column = values[every]
    membership[np.isnan(column)] = 0.0
    middle = np.nanmean(column) if membership.any() else np.nan
    column = np.nan_to_num(column - middle)
    counts, sums, squares = membership.sum(axis=0), column @ membership, column**2 @ membership
    scatter = np.maximum(squares - sums**2 / np.maximum(counts, 1), 0.0)
    return np.where(counts > 1, scatter / np.maximum(counts * (counts - 1), 1), 0.0)


def match_lengths(
    metric: Metric, options: Any, sample: Sample, rows: Any, work: Work, places: NDArray[np.int64]
) -> tuple[EqualLengths | None, list[str]]:
    """The measure at equal sizes; None where there is nothing to match, and why.

    `places` are those of the texts in an order that is not that of the input.
    """
    names = compared_names(metric, options)
    if metric.match is None or not names or not getattr(rows, "resamplable", True):
        return None, []
    sizes = _sizes(metric, options, sample, rows)
    plan = plan_sizes(work.groups, sizes, metric.match, metric.largest)
    compared = has_unequal_sizes(work.groups, sizes, metric.match)
    if plan is None:
        return None, [_no_windows_note(metric, work.groups, sizes)] if compared else []
    order = DrawOrder.of(places, work.strata, work.groups)
    source = WindowSource(metric, _fit_options(options, plan), sample, rows, work, sizes, order)
    return EqualLengths(source, plan, names, compared, options), []


def has_equal_length(
    metric: Metric, options: Any, sample: Sample, groups: Mapping[str, Take]
) -> bool:
    """Whether every tested value is compared at equal length, as far as it is known before the rows
    are."""
    tested = {value.name for value in metric.values(options) if value.tested}
    if metric.match is None or metric.sizes or not tested <= set(compared_names(metric, options)):
        return False
    sizes = _sizes(metric, options, sample, None)
    return (
        has_unequal_sizes(groups, sizes, metric.match)
        and plan_sizes(groups, sizes, metric.match, metric.largest) is not None
    )


def _fit_options(options: Any, plan: SizePlan) -> Any:
    """The options with no window of a value longer than those that are compared: nothing would
    have a value."""
    if plan.unit != "words" or plan.size is None:
        return options
    return replace(options, **{n: min(words, plan.size) for n, words in _windows(options).items()})


def _windows(options: Any) -> dict[str, int]:
    """The options that say how many words of a text a value needs."""
    return {f.name: getattr(options, f.name) for f in fields(options) if f.metadata.get("window")}


def tested_names(metric: Metric, options: Any, rows: Any) -> set[str]:
    """The values that are tested; rows may say of some that these texts do not allow it."""
    tested = {value.name for value in metric.values(options) if value.tested}
    return tested - set(getattr(rows, "untested", ()))


def compared_names(metric: Metric, options: Any) -> tuple[str, ...]:
    """The values that move with what is matched: the number of texts, or their length too."""

    def is_compared(value: Value) -> bool:
        return value.moves_with_texts or (metric.match != "texts" and value.moves_with_length)

    return tuple(v.name for v in metric.values(options) if is_compared(v) and not v.size)


def _sizes(metric: Metric, options: Any, sample: Sample, rows: Any) -> NDArray[np.int64]:
    """How long each text is, in the words (or sentences) that the measure counts."""
    if metric.sizes is not None:
        return metric.sizes(rows, options)
    need = metric.needs(options)[0]
    if metric.match != "words" or need.layer == "text":
        return sample.words
    layer = sample.layer(need)
    return layer.text_ends - layer.text_starts


def _no_windows_note(metric: Metric, groups: Mapping[str, Take], sizes: NDArray[np.int64]) -> str:
    name, unit = metric.name, metric.match or "words"
    if unit == "texts":
        return f"{name}: no values at equal size, which need {MIN_WINDOWS} texts per source"
    return _too_short_note(name, sources_too_short(groups, sizes, unit) or list(groups), unit)


def _too_short_note(name: str, short: Sequence[str], unit: str) -> str:
    length = several(MIN_WINDOW[unit], unit.removesuffix("s"))
    return (
        f"{name}: no usable equal length for {', '.join(short)}: more than a tenth of the texts "
        f"are shorter than {length}"
    )
