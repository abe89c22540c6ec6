"""One measure at equal sizes: its values on windows, their spread, a curve, and the test.

What is expensive is done once for the windows of all sources; a source, a draw of its windows and
a permuted group are then arrays of text numbers, as in `_study`. The test permutes what is
compared: windows, as many on each side as the values rest on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.compare._resample import generator
from rote.compare.matching import DRAWS, FEWEST, SHORTEST, Order, Plan, planned, unequal
from rote.compare.permutation import Found, PermutedTest, as_many, permuted_differences
from rote.core.metric import Metric, Value, Values, Work
from rote.core.progress import Advance, Silent, several
from rote.core.sample import Sample, Take
from rote.run import side_by_side


@dataclass(frozen=True, slots=True)
class Source:
    """What windows are cut from: the texts, how long they are, and what is known of them whole."""

    metric: Metric
    options: Any
    sample: Sample
    rows: Any
    work: Work
    sizes: NDArray[np.int64]
    order: Order

    def cut(self, plan: Plan, draw: int) -> Any:
        """The rows of one window of each text of a plan."""
        if plan.size is None:
            return self.rows
        texts = plan.texts
        cut = self.order.cut(texts, self.sizes, plan.size, draw)
        if self.metric.cut is not None:
            return self.metric.cut(self.rows, cut, self.options)
        work = replace(
            self.work,
            groups={s: np.searchsorted(texts, take) for s, take in plan.groups.items()},
            ids=[self.work.ids[text] for text in texts],
            strata=self.work.strata[texts],
            # Labels are exchanged with the reference's among the windows of the first draw alone.
            reference=None if draw else self.work.reference,
            each=self.work.each and not draw,
            permutations=0,
            progress=lambda share: None,
            reporter=Silent(),
        )
        return self.metric.rows(self.sample.windows(cut), self.options, work)


@dataclass(frozen=True, slots=True)
class Matched:
    """A measure on the windows of a plan; `rows` are those of the first draw of windows."""

    source: Source
    plan: Plan
    rows: Any
    names: tuple[str, ...]
    """The values that are compared at equal size."""
    compared: bool
    """Whether sources differ in size at all; if not, there is only a curve."""
    asked: Any
    """The options of whole texts: those of `source` fit the windows."""

    def values(self, take: Take, rng: np.random.Generator, *, drawn: bool = False) -> Values:
        """Mean over the draws of as many windows from these texts as every source gives.

        `drawn`: what is computed for groups that are drawn.
        """
        windows = self.plan.windows
        found = [
            self._of(self.rows, self.source.order.first(take, windows, draw), rng, drawn=drawn)
            for draw in range(self.plan.draws if len(take) > windows else 1)
        ]
        if len(found) == 1:
            return found[0]
        return {name: float(np.mean([one[name] for one in found])) for name in found[0]}

    def many(self, takes: Sequence[Take]) -> dict[str, NDArray[np.float64]]:
        """The same of many groups at once, and of the values that are tested alone."""
        metric, options, plan = self.source.metric, self.source.options, self.plan
        tested = tested_names(metric, options, self.source.rows)
        counts = [plan.draws if len(take) > plan.windows else 1 for take in takes]
        drawn = [
            self._numbers(self.source.order.first(take, plan.windows, draw))
            for take, count in zip(takes, counts)
            for draw in range(count)
        ]
        assert metric.many is not None
        found = metric.many(self.rows, drawn, tested & set(self.names), options)
        firsts = np.cumsum([0, *counts[:-1]])
        return {name: np.add.reduceat(column, firsts) / counts for name, column in found.items()}

    def by_source(self) -> Found:
        """The values that are compared."""
        groups, seed = self.plan.groups, self.source.work.seed

        def one(source: str, drawn: bool) -> Values:
            return self.values(groups[source], generator(seed, f"match {source}"), drawn=drawn)

        def every(drawn: bool) -> dict[str, Values]:
            each = side_by_side(partial(one, drawn=drawn), groups, self.source.work.jobs)
            return dict(zip(groups, each))

        values = every(drawn=False)
        return Found(values, every(drawn=True) if self.source.metric.stand_in else values)

    def test(
        self,
        source: str,
        reference: str,
        found: Found,
        count: int,
        advance: Advance,
    ) -> dict[str, PermutedTest]:
        """value(source) - value(reference), and that `count` times with the labels permuted.

        The draws are those of the test of all texts: both are corrected as one family.
        """
        work, canonical, plan = self.source.work, self.source.order.canonical, self.plan
        names = source, reference
        one, other = (canonical(plan.groups[name]) for name in names)
        among = canonical(work.groups[source]), canonical(work.groups[reference])
        rng = generator(work.seed, f"choose {source} {reference}")
        pair = as_many(one, other, work.strata, rng, among)
        fewer = sum(map(len, pair)) < len(one) + len(other)
        windows = min(plan.windows, *map(len, pair))
        this = replace(self, plan=replace(plan, windows=windows)) if fewer else self
        permuted = permuted_differences(
            partial(this.values, drawn=True),
            *pair,
            strata=work.strata,
            count=count,
            seed=work.seed,
            purpose=f"test {source} {reference}",
            jobs=work.jobs,
            advance=advance,
            many=this.many if self.source.metric.many else None,
            among=among,
        )
        drawn = [
            this.values(np.sort(take), generator(work.seed, f"match {name}"), drawn=True)
            for name, take in zip(names, pair)
            if fewer
        ]
        return found.tests(source, reference, permuted, pair, work.strata, drawn)

    def table(self, found: Found) -> list[dict[str, Any]]:
        """The values of `by_source`, and how far those of other draws spread."""
        drawn = self._drawn_again()
        rows = []
        for source, values in found.values.items():
            scale = found.scale(source)
            for name, value in values.items():
                spread = float(np.std([one[source][name] for one in drawn], ddof=1))
                rows.append(
                    {
                        "source": source,
                        "value": name,
                        **self.plan.row(source, self.plan.windows),
                        "mean": value,
                        "sd": scale[name] * spread,
                        "draws": len(drawn),
                    }
                )
        return rows

    def curve(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """These values over numbers of windows, for every source that has so many."""

        def point(source: str, windows: int) -> list[dict[str, Any]]:
            found = self._draws(source, windows)
            columns = {name: np.array([one[name] for one in found]) for name in found[0]}
            return [
                {
                    "source": source,
                    "value": name,
                    **self.plan.row(source, windows),
                    "mean": float(columns[name].mean()),
                    "sd": float(columns[name].std(ddof=1)),
                    "draws": DRAWS,
                }
                for name in names
                if name in columns
            ]

        points = [
            (source, windows)
            for source, take in self.plan.groups.items()
            for windows in self.plan.curve()
            if windows <= len(take)
        ]
        found = side_by_side(lambda at: point(*at), points, self.source.work.jobs)
        return [row for rows in found for row in rows]

    def notes(self) -> list[str]:
        """Which texts are left out, and which settings fit no window."""
        return [*self._left_out(), *self._shortened()] if self.compared else []

    def _shortened(self) -> list[str]:
        shorter = [
            f"{name} {words:,} in place of {asked:,}"
            for name, words in _windows(self.source.options).items()
            if words < (asked := _windows(self.asked)[name])
        ]
        where = f"{self.source.metric.name} at equal length"
        return [f"{where}: {', '.join(shorter)}"] if shorter else []

    def _left_out(self) -> list[str]:
        short = {source: count for source, count in self.plan.left_out.items() if count}
        if not short:
            return []
        listed = ", ".join(f"{source} {count:,}" for source, count in short.items())
        return [
            f"{self.source.metric.name} at equal length: windows of {self.plan.size:,} "
            f"{self.plan.unit}; texts left out because they are shorter: {listed}"
        ]

    def _numbers(self, take: Take) -> Take:
        """Of texts, as windows are numbered."""
        return np.searchsorted(self.plan.texts, take) if self.plan.size is not None else take

    def _draws(self, source: str, windows: int) -> list[Values]:
        """The values of several draws of so many windows of a source."""
        take = self.plan.groups[source]
        rng = generator(self.source.work.seed, f"curve {source} {windows}")
        fresh, found = rng.bit_generator.state, list[Values]()
        for draw in range(DRAWS):
            # Where all windows are drawn and nothing is left to chance, one draw is like the next.
            if found and windows >= len(take) and rng.bit_generator.state == fresh:
                return found * DRAWS
            drawn = self.source.order.first(take, windows, draw)
            found.append(self._of(self.rows, drawn, rng))
        return found

    def _of(
        self, rows: Any, take: Take, rng: np.random.Generator, *, drawn: bool = False
    ) -> Values:
        """The values of the windows of these texts, or (`drawn`) what stands in for them."""
        metric = self.source.metric
        own = metric.stand_in and not drawn
        reduce = metric.reduce if own else metric.resample or metric.reduce
        found = reduce(rows, self._numbers(take), self.source.options, rng)
        return {name: found[name] for name in self.names if name in found}

    def _drawn_again(self) -> list[dict[str, Values]]:
        """Every source's values in draws that take other windows of other texts each time."""
        work, order = self.source.work, self.source.order

        def drawn(draw: int) -> dict[str, Values]:
            rows = self.rows if draw == 0 else self.source.cut(self.plan, draw)
            return {
                source: self._of(
                    rows,
                    order.first(take, self.plan.windows, draw),
                    generator(work.seed, f"spread {source}", draw),
                    drawn=True,
                )
                for source, take in self.plan.groups.items()
            }

        return list(side_by_side(drawn, range(DRAWS), work.jobs))


def matched(
    metric: Metric,
    options: Any,
    sample: Sample,
    rows: Any,
    work: Work,
    places: NDArray[np.int64],
) -> tuple[Matched | None, list[str]]:
    """The measure at equal sizes; None where there is nothing to match, and why.

    `places` are those of the texts in an order that is not that of the input.
    """
    names = compared_names(metric, options)
    if metric.match is None or not names or not getattr(rows, "resamplable", True):
        return None, []
    sizes = _sizes(metric, options, sample, rows)
    order = Order.of(places, work.strata, work.groups, work.seed)
    plan = planned(work.groups, sizes, metric.match, order)
    if plan is None:
        return None, [_too_little(metric, work.groups, sizes)]
    source = Source(metric, _fitted(options, plan), sample, rows, work, sizes, order)
    compared = unequal(work.groups, sizes, metric.match)
    return Matched(source, plan, source.cut(plan, 0), names, compared, options), []


def _fitted(options: Any, plan: Plan) -> Any:
    """The options with no window of a value longer than those that are compared: nothing would
    have a value."""
    if plan.unit != "words" or plan.size is None:
        return options
    fitted = {name: min(words, plan.size) for name, words in _windows(options).items()}
    return replace(options, **fitted)


def _windows(options: Any) -> dict[str, int]:
    """The options that say how many words of a text a value needs."""
    return {f.name: getattr(options, f.name) for f in fields(options) if f.metadata.get("window")}


def tested_names(metric: Metric, options: Any, rows: Any) -> set[str]:
    """The values that are tested; rows may say of some that these texts do not allow it."""
    found = {value.name for value in metric.values(options) if value.tested}
    return found - set(getattr(rows, "untested", ()))


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


def _too_little(metric: Metric, groups: Mapping[str, Take], sizes: NDArray[np.int64]) -> str:
    if metric.match == "texts":
        return f"{metric.name}: no values at equal size, which take {FEWEST} texts of each source"
    least = SHORTEST[str(metric.match)]
    short = [s for s, take in groups.items() if (sizes[take] >= least).sum() < FEWEST]
    length = several(least, str(metric.match).removesuffix("s"))
    return (
        f"{metric.name}: no values at equal length, which take {FEWEST} texts of {length} or more; "
        f"too few in: {', '.join(short)}"
    )
