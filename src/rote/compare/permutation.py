"""Does a source differ from the reference? Labels are permuted, within a doc_id where both have it,
so that what prompts demand cannot look like a difference between sources; several answers to one
prompt keep together. What becomes of many such tests is in `multiple_testing`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rote.compare.resampling import ReduceMany, draw_group_values, draw_values, rank_in_groups
from rote.core.arrays import Flags, Floats, Integers
from rote.core.metric import Values
from rote.core.progress import Advance
from rote.core.sample import Take

Strata = Integers
"""For every text the number of its doc_id; -1 where it has none."""
Groups = tuple[Take, Take]
LEVEL = 0.05
"""Below this a corrected p is a difference; a test that cannot get there is none."""
MIN_SHARED = 10
"""Doc_ids that both sources have, from which on several texts of one keep together: fewer have too
few ways to be exchanged."""
_MANY_WAYS = 10**10


@dataclass(frozen=True, slots=True)
class PermutedTest:
    """One difference and the permuted ones, around their middle, until all of a panel are known.

    `source` is whose values are tested together: a source, or a source beside another.
    `least` is the smallest p that exchanging labels can give, however often it is done: because
    there are few ways to do it (`ways`, see `least_p`), or because so many of them make the same
    largest difference. `widening` is how much a difference widens the permuted ones.
    """

    source: str
    observed: float
    permuted: Floats
    least: float = 0.0
    middle: float = 0.0
    """What was taken off both."""
    widening: float = 0.0
    ways: float = 0.0
    unit: float = 1.0
    """What 1 is in units of the value, where differences are studentized."""
    headline: bool = False
    """Whether the verdict of an aspect rests on it."""
    more: Callable[[range], Floats] | None = None
    """The permuted differences of further draws, by their numbers, as they are found."""

    @classmethod
    def of(
        cls,
        source: str,
        observed: float,
        permuted: Floats,
        least: float,
        widening: float = 0.0,
        **rest: Any,
    ) -> PermutedTest:
        """A difference and permuted ones as they were found."""
        # What two groups of these sizes differ by if labels mean nothing: the middle of all.
        known = permuted[~np.isnan(permuted)]
        middle = float((known.sum() + observed) / (len(known) + 1))
        tied = max(least, _largest_share(np.append(permuted, observed) - middle))
        away = observed - middle, permuted - middle
        return cls(source, *away, tied, middle, widening, ways=least, **rest)

    def extended(self, count: int) -> PermutedTest:
        """The same test with so many draws; it stays as it is where there are no more."""
        if self.more is None or count <= len(self.permuted):
            return self
        further = self.more(range(len(self.permuted), count))
        permuted = np.concatenate((self.permuted + self.middle, further))
        rest: dict[str, Any] = {"unit": self.unit, "headline": self.headline, "more": self.more}
        observed = self.observed + self.middle
        return self.of(self.source, observed, permuted, self.ways, self.widening, **rest)

    @property
    def p(self) -> float:
        """Two-sided, not corrected."""
        return share_as_large(self.permuted[~np.isnan(self.permuted)], self.observed)


@dataclass(frozen=True, slots=True)
class SourceValues:
    """The values of each source, and what is computed of groups that are drawn from them.

    That is the values again, or a quicker stand-in, which is scaled to them.
    """

    values: Mapping[str, Values]
    drawn: Mapping[str, Values]

    def difference(self, name: str, source: str, reference: str) -> float:
        return self.values[source][name] - self.values[reference][name]

    def scale(self, *sources: str) -> Values:
        """By value: what turns numbers of the stand-in into values of these sources."""
        scale = {}
        for name in self.drawn[sources[0]]:
            value = sum(self.values[source][name] for source in sources)
            drawn = sum(self.drawn[source][name] for source in sources)
            scale[name] = 1.0 if value == drawn or not drawn else value / drawn
        return scale

    def tests(
        self,
        source: str,
        reference: str,
        permuted: Mapping[str, Floats],
        pair: Groups,
        strata: Strata,
        drawn: Sequence[Values] = (),
        more: Callable[[range, str], Floats] | None = None,
    ) -> dict[str, PermutedTest]:
        """By value: the test of a source against the reference, whose texts are the `pair`.

        `drawn`: what is computed of these two, where they are not all texts of their sources.
        `more`: the permuted differences of further draws, of one value.
        """
        least, wider = least_p(*pair, strata), permuted_variance(*pair, strata)
        scale = self.scale(source, reference)
        ours, theirs = drawn or (self.drawn[source], self.drawn[reference])

        def further(name: str) -> Callable[[range], Floats] | None:
            return (lambda numbers: scale[name] * more(numbers, name)) if more else None

        return {
            name: PermutedTest.of(
                f"{source} {reference}",
                scale[name] * (ours[name] - theirs[name]),
                scale[name] * column,
                least,
                wider,
                more=further(name),
            )
            for name, column in permuted.items()
        }


def shared_strata(a: Take, b: Take, strata: Strata) -> Integers:
    """The doc_ids that have texts in both groups."""
    common = np.intersect1d(strata[a], strata[b])
    return common[common >= 0]


def balance_groups(
    a: Take, b: Take, strata: Strata, rng: np.random.Generator, among: Groups | None = None
) -> Groups:
    """Of each doc_id that both groups have, as many texts of the one as of the other, by chance.

    All of them where they share fewer doc_ids than it takes to exchange such texts as wholes.
    `among`: groups that hold these, of which a part chooses as the whole does.
    """
    all_groups, pooled, ours = among or (a, b), np.concatenate((a, b)), _labels(a, b)
    key = rng.random(sum(map(len, all_groups)))[_places(pooled, all_groups)]
    stratum = strata[pooled]
    _, number = np.unique(stratum, return_inverse=True)
    count, of_a = np.bincount(number), np.bincount(number, weights=ours).astype(np.int64)
    fewer = np.minimum(of_a, count - of_a)[number]
    shared = (stratum >= 0) & (fewer > 0)
    if len(np.unique(stratum[shared])) < MIN_SHARED:
        return a, b
    side = 2 * number + ours
    chosen = ~shared | (rank_in_groups(np.lexsort((key, side)), side) < fewer)
    return a[chosen[: len(a)]], b[chosen[len(a) :]]


def permuted_differences(
    reduce: Callable[[Take, np.random.Generator], Values],
    a: Take,
    b: Take,
    *,
    strata: Strata,
    numbers: range,
    seed: int,
    purpose: str,
    jobs: int = 1,
    advance: Advance = lambda amount: None,
    among: Groups | None = None,
    many: ReduceMany | None = None,
) -> dict[str, Floats]:
    """value(a) - value(b) for every value, with the labels permuted as in the draws of these
    numbers.

    `many`: takes the place of `reduce`, and many groups at once.
    """
    exchange = make_exchange(a, b, strata, among)
    how: dict[str, Any] = {"numbers": numbers, "seed": seed, "purpose": purpose}
    if many is not None:
        sides = draw_group_values(many, exchange, **how, jobs=jobs, advance=advance)
        return {name: left - sides[1][name] for name, left in sides[0].items()} if sides else {}

    def draw(rng: np.random.Generator) -> Values:
        ours, theirs = exchange(rng)
        left, right = reduce(ours, rng), reduce(theirs, rng)
        return {name: left[name] - right[name] for name in left}

    return draw_values(draw, **how, jobs=jobs, advance=advance)


def make_exchange(
    a: Take, b: Take, strata: Strata, among: Groups | None = None
) -> Callable[[np.random.Generator], Groups]:
    """A function that gives two groups of the same sizes, with their labels permuted.

    Labels move within a doc_id that both groups share, and among all texts that share none.
    `among`: groups that hold these; what is drawn is drawn for all of them, so that tests of the
    whole and of a part belong together draw by draw.
    """
    pooled, labels = np.concatenate((a, b)), _labels(a, b)
    stratum, leader = _exchange_units(a, b, strata)
    all_groups = among or (a, b)
    place, count = _places(pooled, all_groups)[leader], sum(map(len, all_groups))
    ascending = np.argsort(pooled)
    texts, by_stratum = pooled[ascending], np.lexsort((leader, stratum))

    def exchange(rng: np.random.Generator) -> Groups:
        """Labels permuted among the texts of each stratum; those without one are a stratum too."""
        by_key = np.lexsort((rng.random(count)[place], stratum))
        shuffled = np.empty_like(labels)
        shuffled[by_stratum] = labels[by_key]
        ours = shuffled[ascending]
        return texts[ours], texts[~ours]

    return exchange


def tested_texts_note(tested: int, every: int) -> list[str]:
    """What a list says whose p-values are those of fewer texts than it shows."""
    if tested == every:
        return []
    chosen = "equal numbers from both sources for each doc_id or --cluster"
    return [f"p rests on {tested:,} of {every:,} texts: {chosen}"]


def balance_groups_by_id(
    a: Take, b: Take, strata: Strata, ids: Sequence[object], rng: np.random.Generator
) -> Groups:
    """`balance_groups`, by their names, so that what is chosen and exchanged does not depend on the
    order of the records."""

    def ordered(take: Take) -> Take:
        return take[np.argsort(np.array([ids[text] for text in take], object), kind="stable")]

    return balance_groups(ordered(a), ordered(b), strata, rng)


def least_p(a: Take, b: Take, strata: Strata) -> float:
    """The smallest p that two-sided exchange of labels can give: few texts have few labelings.

    Where both groups have as many texts in every stratum, each labeling has a twin with all labels
    turned round and the same difference, so that two of them are the least.
    """
    size, ours, _ = _stratum_sizes(a, b, strata)
    twins = 2 if len(size) and bool(np.all(2 * ours == size)) else 1
    ways = 1
    for n, k in zip(size.tolist(), ours.tolist()):
        # Beyond so many nothing changes, and the whole number may have thousands of digits.
        ways *= math.comb(n, min(k, n - k, 20))
        if ways > _MANY_WAYS:
            break
    return min(1.0, twins / ways)


def permuted_variance(a: Take, b: Take, strata: Strata) -> float:
    """The variance that a difference of 1 between the two groups gives to the permuted ones.

    Means of n pairs: 1 / n; of N texts without pairs: 1 / (N - 1).
    """
    size, ours, texts = (counts.astype(np.float64) for counts in _stratum_sizes(a, b, strata))
    moved = (texts * ours * (size - ours) / size) ** 2 / np.maximum(size - 1, 1)
    return float(moved.sum()) * (1 / len(a) + 1 / len(b)) ** 2 if len(a) and len(b) else 0.0


def _stratum_sizes(a: Take, b: Take, strata: Strata) -> tuple[Integers, Integers, Integers]:
    """By stratum: how many exchange labels, how many of them are of `a`, and of how many texts
    each consists that keep together."""
    stratum, leader = _exchange_units(a, b, strata)
    leads = np.flatnonzero(leader == np.arange(len(leader)))
    _, first, number = np.unique(stratum[leads], return_index=True, return_inverse=True)
    ours = np.bincount(number, weights=_labels(a, b)[leads]).astype(np.int64)
    return np.bincount(number), ours, np.bincount(leader)[leads[first]]


def share_as_large(permuted: Floats, observed: float) -> float:
    """How often a permuted difference is as large as the observed one, which counts as one."""
    if np.isnan(observed) or len(permuted) == 0:
        return float("nan")
    # Differences equal up to rounding count as equal, else p would depend on the order of sums.
    at_least = np.abs(permuted) >= abs(observed) - 1e-12 * max(1.0, abs(observed))
    return float((1 + at_least.sum()) / (1 + len(permuted)))


def _largest_share(differences: Floats) -> float:
    """How many of these are the largest: a value that few texts hold has few differences, and none
    of the draws that share the largest one can have a smaller p."""
    sizes = np.abs(differences[~np.isnan(differences)])
    if not len(sizes):
        return 0.0
    largest = sizes.max()
    return float((sizes >= largest - 1e-12 * max(1.0, largest)).mean())


def holm(p: Sequence[float]) -> list[float]:
    """Holm's step-down correction; undefined p-values stay undefined and do not count."""
    values = np.asarray(p, np.float64)
    corrected = np.full(len(values), np.nan)
    defined = np.flatnonzero(~np.isnan(values))
    order = defined[np.argsort(values[defined], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(factors * values[order]), 1.0)
    return corrected.tolist()


def _places(texts: Take, groups: Groups) -> Integers:
    """Where these texts are in the groups, one after the other."""
    all_texts = np.concatenate(groups)
    return np.argsort(all_texts)[np.searchsorted(np.sort(all_texts), texts)]


def _labels(a: Take, b: Take) -> Flags:
    return np.concatenate((np.ones(len(a), bool), np.zeros(len(b), bool)))


def _exchange_units(a: Take, b: Take, strata: Strata) -> tuple[Integers, Integers]:
    """For the texts of both groups, those of `a` first: among which of them labels move, and the
    text that each goes with (itself, where it goes alone).

    Several texts of a doc_id keep together. Where one group alone has it, they exchange labels with
    those of doc_ids that have as many texts; where both have as many texts of it, with those of the
    other group: first with first, second with second. Where both have it but not as many texts, or
    share too few doc_ids, labels of its texts are exchanged one by one.
    """
    doc_ids, ours = strata[np.concatenate((a, b))], _labels(a, b)
    common = shared_strata(a, b, strata)
    shared = np.isin(doc_ids, common)
    stratum, leader = np.where(shared, doc_ids, -1), np.arange(len(doc_ids))
    _, number = np.unique(doc_ids, return_inverse=True)
    count, of_a = np.bincount(number), np.bincount(number, weights=ours)
    alone = ~shared & (doc_ids >= 0) & (count[number] > 1)
    paired = shared & (2 * of_a == count)[number] & (count[number] > 2)
    if len(common) < MIN_SHARED:
        paired[:] = False
    several = np.flatnonzero(alone | paired)
    if len(several):
        block = np.where(paired & ours, doc_ids + doc_ids.max() + 1, doc_ids)
        together = several[np.argsort(block[several], kind="stable")]
        begins = np.append(True, np.diff(block[together]) != 0)
        first = np.flatnonzero(begins)[np.cumsum(begins) - 1]
        leader[together] = together[first]
        turn = np.arange(len(together)) - first
        # Doc_ids of one group by their size, those of both each by itself; no doc_id is below 0.
        kind = np.where(paired, len(doc_ids) + 1 + number, count[number])[together]
        stratum[together] = -2 - (kind * (len(doc_ids) + 1) + turn)
    return stratum, leader
